//! The exit status.

use std::process::ExitCode;

/// The exit status when something could not be done.
pub(crate) const FAILED: u8 = 1;

/// The exit status for wrong usage and for a filter that does not compile.
pub(crate) const BAD_REQUEST: u8 = 2;

/// The exit status when case data was refused or left out.
pub(crate) const REFUSED: u8 = 3;

/// The exit status of `check --deny-warnings` for a filter with warnings.
pub(crate) const WARNED: u8 = 4;

/// What the process says when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// All well.
    Fine,
    /// A filter did not compile; standard output says so.
    BadFilter,
    /// Case data was left out.
    LeftOut,
    /// A filter has warnings, and they were to be denied.
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
