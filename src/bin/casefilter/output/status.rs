//! The exit statuses of the program.

use std::process::ExitCode;

/// The exit status of a command that could not do its work.
pub(crate) const FAILED: u8 = 1;

/// The exit status for wrong arguments and for a filter that does not compile.
pub(crate) const BAD_REQUEST: u8 = 2;

/// The exit status for case data that was rejected or left out.
pub(crate) const REFUSED: u8 = 3;

/// The exit status of `check --deny-warnings` for a filter with warnings.
pub(crate) const WARNED: u8 = 4;

/// The outcome of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The command was completely successful.
    Fine,
    /// A filter did not compile. The errors have been printed on standard error.
    BadFilter,
    /// Some case data was left out.
    LeftOut,
    /// A filter has warnings, and --deny-warnings was given.
    Warned,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => Self::SUCCESS,
            Status::BadFilter => Self::from(BAD_REQUEST),
            Status::LeftOut => Self::from(REFUSED),
            Status::Warned => Self::from(WARNED),
        }
    }
}
