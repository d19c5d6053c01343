//! The failures of commands: converts errors to messages and exit statuses.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use casefilter::{StoreError, StoreErrorKind};

use crate::output::escape::escape;
#[cfg(feature = "service")]
use crate::output::status::UNREPLAYABLE;
use crate::output::status::{BAD_REQUEST, FAILED, REFUSED};

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of standard output closed it. This is not an error.
    ClosedPipe,
    /// The arguments contradict each other or are wrong.
    Usage(String),
    /// An operation failed, for example because a file does not exist or the disk is full.
    Failed(String),
    /// A filter or another input, such as a catalogue file, has errors. Contains the errors as text.
    BadFilter(String),
    /// Case data was rejected.
    Refused(String),
    /// A search was stopped at its timeout.
    Stopped(String),
    /// The history of the database does not go back to the moment that a search asks for.
    MomentGone(String),
    /// A recorded request cannot be answered again.
    #[cfg(feature = "service")]
    Unreplayable(String),
}

impl Failure {
    /// Returns the failure of an operation on a named object. `doing` describes the operation, such as `cannot read`.
    pub(crate) fn io(doing: &str, name: &str, error: &io::Error) -> Self {
        let advice = if error.kind() == io::ErrorKind::NotFound { windows_path(name) } else { None };
        Self::Failed(format!("{doing} {}: {}{}", escape(name), reason(error), advice.unwrap_or_default()))
    }

    /// Returns the failure for an error that occurred while writing to standard output.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::io("cannot write to", "standard output", error),
        }
    }

    /// Returns the text of the failure, as [`report`](Self::report) prints it.
    #[cfg(feature = "service")]
    pub(crate) fn text(&self) -> String {
        match self {
            Self::ClosedPipe => String::new(),
            Self::BadFilter(rendered) => rendered.clone(),
            Self::Usage(message)
            | Self::Failed(message)
            | Self::Stopped(message)
            | Self::MomentGone(message)
            | Self::Refused(message) => {
                format!("error: {message}\n")
            }
            Self::Unreplayable(message) => format!("error: {message}\n"),
        }
    }

    /// Prints the failure on standard error. Returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Usage(message) => say(&format!("error: {message}\n"), BAD_REQUEST),
            Self::Failed(message) | Self::Stopped(message) | Self::MomentGone(message) => {
                say(&format!("error: {message}\n"), FAILED)
            }
            Self::BadFilter(rendered) => say(&rendered, BAD_REQUEST),
            Self::Refused(message) => say(&format!("error: {message}\n"), REFUSED),
            #[cfg(feature = "service")]
            Self::Unreplayable(message) => say(&format!("error: {message}\n"), UNREPLAYABLE),
        }
    }
}

/// Converts the error of a request that does not fit the catalogue of the cases, or of a search that was stopped.
impl From<casefilter::Error> for Failure {
    fn from(error: casefilter::Error) -> Self {
        let message = escape(&error.to_string()).into_owned();
        if error.is_stop() { Self::Stopped(message) } else { Self::Failed(message) }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        failed(&error)
    }
}

/// Advice for a catalogue that differs from the catalogue of the database.
pub(crate) const KEPT: &str =
    "; a database keeps the catalogue that it was made with, which commands use without --catalog";

/// Returns the failure for an error of a database.
pub(crate) fn failed(error: &StoreError) -> Failure {
    if let Some(error) = error.request_error() {
        return error.clone().into();
    }
    match error.kind() {
        StoreErrorKind::NotFound => {
            let text = error.to_string();
            let advice = text.rsplit_once(": ").and_then(|(name, _)| windows_path(name));
            Failure::Failed(format!("{}{}", escape(&text), advice.unwrap_or_default()))
        }
        StoreErrorKind::OtherCatalog => Failure::Failed(format!("{}{KEPT}", escape(&error.to_string()))),
        StoreErrorKind::HistoryGone => Failure::MomentGone(escape(&error.to_string()).into_owned()),
        StoreErrorKind::RejectedDocument => Failure::Refused(escape(&error.to_string()).into_owned()),
        StoreErrorKind::InUse => Failure::Failed(format!(
            "{}; stop that process, or, if it is a service, send it the request or copy the file by `casefilter backup`",
            escape(&error.to_string())
        )),
        _ => Failure::Failed(escape(&error.to_string()).into_owned()),
    }
}

fn say(text: &str, status: u8) -> ExitCode {
    note(text);
    ExitCode::from(status)
}

/// Writes to standard error. Write errors are ignored.
pub(crate) fn note(text: impl Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Does the same as [`note`], but only if standard error is a terminal.
pub(crate) fn note_on_terminal(text: impl Display) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Returns advice for a path in Windows form, on systems with other paths. Returns `None` for any other path.
pub(crate) fn windows_path(name: &str) -> Option<String> {
    let (drive, path) = name.split_once(':')?;
    let is_drive = matches!(drive.as_bytes(), [letter] if letter.is_ascii_alphabetic());
    if cfg!(windows) || !is_drive || path.starts_with("//") {
        return None;
    }
    let drive = drive.to_lowercase();
    let path = path.replace('\\', "/");
    Some(match path.strip_prefix('/') {
        Some(path) => {
            format!("; it is a path of Windows: under WSL write {}", escape(&format!("/mnt/{drive}/{path}")))
        }
        // A shell removes unquoted backslashes, so it is unknown where the names of the folders end.
        None => format!(
            "; if it is a path of Windows, write it as /mnt/{drive}/… with / between folders, as under WSL"
        ),
    })
}

/// Returns the message of the operating system, without the number of the error.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    escape(text.split(" (os error").next().unwrap_or(&text)).into_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_windows_path_gets_advice() {
        for (name, advice) in [
            ("C:\\data\\cases.ndjson", Some("/mnt/c/data/cases.ndjson")),
            ("d:/data/cases.ndjson", Some("/mnt/d/data/cases.ndjson")),
            ("C:datacases.ndjson", Some("/mnt/c/… with / between folders")),
            ("data/cases.ndjson", None),
            ("http://host/cases.ndjson", None),
            ("ab:cases", None),
            ("", None),
        ] {
            let told = windows_path(name);
            assert_eq!(told.is_some(), advice.is_some(), "{name}: {told:?}");
            assert!(told.unwrap_or_default().contains(advice.unwrap_or_default()), "{name}");
        }
    }
}
