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

/// The exit status of `audit replay` if the new answer differs from the recorded answer.
#[cfg(feature = "service")]
pub(crate) const DIFFERENT: u8 = 5;

/// The exit status of `audit replay` for a request that cannot be answered again.
#[cfg(feature = "service")]
pub(crate) const UNREPLAYABLE: u8 = 6;

/// The outcome of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The command was completely successful.
    Fine,
    /// A filter did not compile, or a request of a requests file is invalid or was stopped. The errors have been printed on
    /// standard output.
    BadFilter,
    /// Some case data was left out.
    LeftOut,
    /// A filter has warnings, and --deny-warnings was given.
    Warned,
    /// A recorded request was answered again, and the new answer differs from the recorded answer.
    #[cfg(feature = "service")]
    Different,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => Self::SUCCESS,
            Status::BadFilter => Self::from(BAD_REQUEST),
            Status::LeftOut => Self::from(REFUSED),
            Status::Warned => Self::from(WARNED),
            #[cfg(feature = "service")]
            Status::Different => Self::from(DIFFERENT),
        }
    }
}
