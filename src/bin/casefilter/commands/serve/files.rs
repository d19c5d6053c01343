//! Formats the names of files for messages. Warns of files that other users can read, and of files whose changes cannot be
//! followed.

use std::path::Path;

use crate::output::escape::escape;

/// Warns if other users of this machine can read a file that contains secrets or cases.
#[cfg(unix)]
pub(super) fn warn_of_readers(path: &Path, what: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o077);
    if mode.is_ok_and(|others| others != 0) {
        let file = shown(path);
        tracing::warn!(file, "other users of this machine may read {what}: chmod 600 is enough");
    }
}

#[cfg(not(unix))]
pub(super) fn warn_of_readers(_path: &Path, _what: &str) {}

/// Returns a path for a message.
pub(super) fn shown(path: &Path) -> String {
    escape(&path.display().to_string()).into_owned()
}

/// Returns true if the changes of a file can be followed. Logs a warning if they cannot: a pipe can be read only once.
pub(super) fn is_followed(path: &Path) -> bool {
    let is_other = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_other {
        tracing::warn!(file = shown(path), "this is not a regular file, so its changes are not followed");
    }
    !is_other
}
