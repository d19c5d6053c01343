//! The name `-`, which stands for standard input or output.

use std::path::Path;

use crate::output::failure::Failure;

/// Returns whether the name of an output stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses `-` for what has to be a file; `why` says that.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    match is_stdout(path) {
        true => Err(Failure::Usage(format!("`-` is no file: {why}"))),
        false => Ok(()),
    }
}

/// Returns whether a name stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What is wrong when cases and filter are both to come from standard input.
pub(crate) const ONE_STDIN: &str =
    "standard input cannot be both the cases and the filter: give one of them as a file";
