//! Recognises the name `-`, which stands for standard input or standard output.

use std::path::Path;

use crate::output::failure::Failure;

/// Returns true if an output with this name is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Rejects `-` where a file is required. `why` is the reason in the error message.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    match is_stdout(path) {
        true => Err(Failure::Usage(format!("found `-`, expected a file: {why}"))),
        false => Ok(()),
    }
}

/// Returns true if an input with this name is standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The error message if both the cases and the filter would be read from standard input.
pub(crate) const ONE_STDIN: &str =
    "standard input cannot be both the cases and the filter: give one of them as a file";
