//! Reads the token file of a service, and follows its changes while the service runs.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use casefilter::service::{TokenFile, TokenUpdater};

use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The time between two looks at the file. A change is in force within a second.
const INTERVAL: Duration = Duration::from_millis(400);

/// A token file, and the state in which it was last read.
pub(super) struct TokenWatch {
    path: PathBuf,
    /// True if other users may be able to read the file.
    may_be_readable: bool,
    seen: Option<Stamp>,
}

/// The properties of a file that differ after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    bytes: u64,
    inode: u64,
    mode: u32,
}

impl TokenWatch {
    pub(super) fn new(path: &Path, may_be_readable: bool) -> Self {
        Self { seen: Stamp::of(path), path: path.to_owned(), may_be_readable }
    }

    /// Reads the file, and logs warnings about its tokens.
    ///
    /// # Errors
    /// Returns a message if the file cannot be read, is not a token file, or can be read by other users.
    pub(super) fn read(&self) -> Result<TokenFile, String> {
        let shown = escape(&self.path.display().to_string()).into_owned();
        let file = TokenFile::read(&self.path)
            .map_err(|error| format!("cannot read {shown}: {}", escape(&error.to_string())))?;
        if is_readable_by_others(&self.path) {
            if !self.may_be_readable {
                return Err(format!(
                    "other users of this machine can read the secrets in {shown}: chmod 600, or start the service with --allow-readable-tokens"
                ));
            }
            let (file, what) = (shown, "the secrets in it");
            tracing::warn!(file, "other users of this machine may read {what}: chmod 600 is enough");
        }
        let mut names = HashSet::new();
        for name in file.names() {
            if names.contains(&name) {
                tracing::warn!(name, "two tokens have this name: logs cannot tell them apart");
            }
            names.insert(name);
        }
        for warning in file.warnings() {
            tracing::warn!("{}", escape(&warning));
        }
        if file.entries().is_empty() {
            tracing::warn!("the file of tokens has no token: every request will be rejected");
        }
        Ok(file)
    }

    /// Starts a thread that reads the file again after each change, or when `asked` is set, and replaces the tokens. It runs until
    /// the process ends.
    pub(super) fn follow(mut self, updater: TokenUpdater, asked: Arc<AtomicBool>) -> Result<(), Failure> {
        let follow = move || {
            loop {
                thread::sleep(INTERVAL);
                self.look(&updater, &asked);
            }
        };
        let thread = thread::Builder::new().name("tokens".to_owned()).spawn(follow);
        thread.map(drop).map_err(|error| Failure::Failed(format!("cannot follow the token file: {error}")))
    }

    /// Replaces the tokens if the file has changed, or if that is asked for.
    fn look(&mut self, updater: &TokenUpdater, asked: &AtomicBool) {
        let stamp = Stamp::of(&self.path);
        if !asked.swap(false, Ordering::Relaxed) && stamp == self.seen {
            return;
        }
        // The stamp is taken before the file is read. So a change in between is seen the next time.
        self.seen = stamp;
        let replaced = self.read().and_then(|file| updater.replace(file).map_err(|error| error.to_string()));
        match replaced {
            Ok(tokens) => tracing::info!(tokens, "the token file has changed, and is in force"),
            Err(cause) => {
                tracing::error!(
                    cause,
                    "the token file has changed, but is not valid: the service keeps its tokens"
                );
            }
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let (inode, mode) = inode_and_mode(&found);
        Some(Self { changed: found.modified().ok(), bytes: found.len(), inode, mode })
    }
}

#[cfg(unix)]
fn inode_and_mode(found: &Metadata) -> (u64, u32) {
    use std::os::unix::fs::MetadataExt;
    (found.ino(), found.mode())
}

#[cfg(not(unix))]
fn inode_and_mode(_found: &Metadata) -> (u64, u32) {
    (0, 0)
}

/// Returns true if users other than the owner of a file can read it, by its mode. Files in `$CREDENTIALS_DIRECTORY`, where systemd
/// puts credentials, are protected by their folder.
#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    if std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder)) {
        return false;
    }
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_path: &Path) -> bool {
    false
}
