//! The name `-`, which means standard input or output.

use std::path::Path;

use crate::output::failure::Failure;

/// Returns true if the name of an output means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Rejects `-` if a file is required. `why` is the reason.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    match is_stdout(path) {
        true => Err(Failure::Usage(format!("`-` is no file: {why}"))),
        false => Ok(()),
    }
}

/// Returns true if the name of an input means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The message for cases and filter that are both read from standard input.
pub(crate) const ONE_STDIN: &str =
    "standard input cannot be both the cases and the filter: give one of them as a file";
