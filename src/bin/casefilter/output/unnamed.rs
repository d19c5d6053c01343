//! Files without a name.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes a file without a name, beside another one if that can be, or else where temporary files lie. Only its owner can read it, and
/// the system removes it when the process ends.
pub(crate) fn unnamed_beside(other: Option<&Path>) -> io::Result<File> {
    let beside = other.map(|other| tempfile::tempfile_in(folder_of(other)));
    // There may be room beside the other file only, or permission elsewhere only.
    beside.unwrap_or_else(tempfile::tempfile).or_else(|_| tempfile::tempfile())
}

/// Returns the folder in which a file lies.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
