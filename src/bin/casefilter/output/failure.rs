//! Why a command could not do its work.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::output::escape::escape;

/// The exit status when something could not be done.
pub(crate) const FAILED: u8 = 1;
/// The exit status for wrong usage and for a filter that does not compile.
pub(crate) const BAD_REQUEST: u8 = 2;
/// The exit status when case data was refused or left out.
pub(crate) const REFUSED: u8 = 3;

/// The exit status of `check --deny-warnings` for a filter with warnings.
pub(crate) const WARNED: u8 = 4;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads standard output any more, which is no fault.
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
    /// A failed operation on something with a name, such as `cannot read` a file.
    pub(crate) fn io(doing: &str, name: &str, error: &io::Error) -> Self {
        let advice = if error.kind() == io::ErrorKind::NotFound { windows_path(name) } else { None };
        Self::Failed(format!("{doing} {}: {}{}", escape(name), reason(error), advice.unwrap_or_default()))
    }

    /// A failed write to standard output.
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

fn say(text: &str, status: u8) -> ExitCode {
    note(text);
    ExitCode::from(status)
}

/// Writes to standard error; when that is closed there is nobody left to tell.
pub(crate) fn note(text: impl Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// As [`note`], what only those want to know who watch a terminal.
pub(crate) fn mention(text: impl Display) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// What to write in place of a path as Windows has them, on systems that have others.
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

/// What the system says, without the number of the error.
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
