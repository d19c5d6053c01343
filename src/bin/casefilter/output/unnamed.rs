//! Creates unnamed files, for temporary data.

use std::fs::File;
use std::io;
use std::path::Path;

/// Creates an unnamed file in the folder of another file if possible, or else in the folder for temporary files. Only its owner can
/// read it. The system removes it when the process ends.
pub(crate) fn unnamed_beside(other: Option<&Path>) -> io::Result<File> {
    // Perhaps only one of the two folders has enough space, or permits writing.
    match other.map(|other| unnamed_in(folder_of(other))) {
        Some(Ok(file)) => Ok(file),
        Some(Err(_)) | None => unnamed_in(&std::env::temp_dir()),
    }
}

/// Creates an unnamed file in a folder. The file has mode 0600 as soon as it exists.
#[cfg(target_os = "linux")]
fn unnamed_in(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(flags);
    // Some file systems do not support unnamed files. For these, a named file is created and its name is removed immediately.
    options.open(folder).or_else(|_| tempfile::tempfile_in(folder))
}

#[cfg(not(target_os = "linux"))]
fn unnamed_in(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}

/// Returns the folder that contains a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
