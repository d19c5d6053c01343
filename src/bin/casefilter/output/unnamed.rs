//! Creates unnamed files.

use std::fs::File;
use std::io;
use std::path::Path;

/// Creates an unnamed file in the folder of another file if possible, or else in the folder of temporary files. Only its owner can read it,
/// and the system removes it when the process ends.
pub(crate) fn unnamed_beside(other: Option<&Path>) -> io::Result<File> {
    let beside = other.map(|other| tempfile::tempfile_in(folder_of(other)));
    // There may be space only in the one folder, or permission only in the other.
    beside.unwrap_or_else(tempfile::tempfile).or_else(|_| tempfile::tempfile())
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
