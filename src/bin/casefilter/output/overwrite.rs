//! Checks that a report does not overwrite a file that the command uses.

use std::fs::{self, Metadata};
use std::path::Path;

use casefilter::AtomicFile;

use crate::output::dash::{is_stdin, refuse_stdout};
use crate::output::ending::Contents;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::unnamed::folder_of;

/// Rejects a report that would overwrite a file that the command reads or writes. A report is JSON. So this function also rejects a
/// file name with the extension of another format, such as `.csv`.
pub(crate) fn check_report<'p>(
    report: Option<&Path>,
    used: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(report) = report else { return Ok(()) };
    refuse_stdout(report, "standard output has the answer, not the report")?;
    // Writing to a terminal or a pipe does not overwrite a file.
    if fs::metadata(report).is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    for used in used {
        let (file, name) = match is_stdin(used) {
            true => (Path::new("/dev/stdin"), "standard input".to_owned()),
            false => (used, used.display().to_string()),
        };
        if is_same(report, file) {
            let (report, name) = (report.display().to_string(), escape(&name).into_owned());
            let message =
                format!("--report {} would be written over {name}, which this command uses", escape(&report));
            return Err(Failure::Usage(message));
        }
    }
    Contents::Report.check_output(report)
}

/// Returns true if two paths refer to the same file, even through hard or symbolic links. A file that does not exist yet is
/// compared by its path.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (AtomicFile::target_of(one), AtomicFile::target_of(other)) else {
        return false;
    };
    if let (Ok(one), Ok(other)) = (fs::metadata(&one), fs::metadata(&other))
        && is_same_inode(&one, &other)
    {
        return true;
    }
    let whole = |path: &Path| Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
    whole(&one).is_some_and(|one| whole(&other) == Some(one))
}

/// Returns true if two files are the same file, by device and inode number.
#[cfg(unix)]
pub(crate) fn is_same_inode(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
pub(crate) fn is_same_inode(_one: &Metadata, _other: &Metadata) -> bool {
    false
}
