//! Why a command could not do its work.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use casefilter::{StoreError, StoreErrorKind};

use crate::output::escape::escape;
use crate::output::status::{BAD_REQUEST, FAILED, REFUSED};

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of standard output went away, which is no fault.
    ClosedPipe,
    /// Arguments that contradict each other.
    Usage(String),
    /// Something could not be done: no such file, disk full.
    Failed(String),
    /// Errors of a filter, rendered.
    BadFilter(String),
    /// Case data was refused.
    Refused(String),
}

impl Failure {
    /// Returns the failure of an operation on something with a name, such as `cannot read` a file.
    pub(crate) fn io(doing: &str, name: &str, error: &io::Error) -> Self {
        let advice = if error.kind() == io::ErrorKind::NotFound { windows_path(name) } else { None };
        Self::Failed(format!("{doing} {}: {}{}", escape(name), reason(error), advice.unwrap_or_default()))
    }

    /// Returns the failure to write to standard output.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::io("cannot write to", "standard output", error),
        }
    }

    /// Says on standard error what was wrong, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Usage(message) => say(&format!("error: {message}\n"), BAD_REQUEST),
            Self::Failed(message) => say(&format!("error: {message}\n"), FAILED),
            Self::BadFilter(rendered) => say(&rendered, BAD_REQUEST),
            Self::Refused(message) => say(&format!("error: {message}\n"), REFUSED),
        }
    }
}

/// A request that does not fit the cases that it is asked of.
impl From<casefilter::Error> for Failure {
    fn from(error: casefilter::Error) -> Self {
        Self::Failed(escape(&error.to_string()).into_owned())
    }
}

/// Returns the failure of a database.
pub(crate) fn failed(error: &StoreError) -> Failure {
    match error.kind() {
        StoreErrorKind::NotFound => {
            let text = error.to_string();
            let advice = text.rsplit_once(": ").and_then(|(name, _)| windows_path(name));
            Failure::Failed(format!("{}{}", escape(&text), advice.unwrap_or_default()))
        }
        StoreErrorKind::Refused => Failure::Refused(escape(&error.to_string()).into_owned()),
        StoreErrorKind::InUse => Failure::Failed(format!(
            "{}; stop it, or, if it is a service, ask that or take a copy by `casefilter backup`",
            escape(&error.to_string())
        )),
        _ => Failure::Failed(escape(&error.to_string()).into_owned()),
    }
}

fn say(text: &str, status: u8) -> ExitCode {
    note(text);
    ExitCode::from(status)
}

/// Writes to standard error, and passes over that it is closed.
pub(crate) fn note(text: impl Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// As [`note`], what only those want to know who watch a terminal.
pub(crate) fn mention(text: impl Display) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Returns what to write in place of a path as Windows has them, on systems that have others.
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
        // A shell takes unquoted backslashes away, and what parted the folders is lost with them.
        None => format!(
            "; if it is a path of Windows, write it as /mnt/{drive}/… with / between folders, as under WSL"
        ),
    })
}

/// Returns what the system says, without the number of the error.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    escape(text.split(" (os error").next().unwrap_or(&text)).into_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_windows_is_told_as_one() {
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
