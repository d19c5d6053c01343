//! Collects the errors that are found in a catalogue file.

use crate::error::{Error, ErrorKind, Errors, Found, REPORTED_ERRORS, Suggestion};

/// The errors found so far.
#[derive(Default)]
pub(super) struct Faults {
    errors: Vec<Error>,
}

impl Faults {
    pub(super) fn report(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Reports an error at an offset and a path. Returns `None`, so that the caller can continue without the value.
    pub(super) fn add<T>(
        &mut self,
        (kind, at, path): (ErrorKind, usize, String),
        found: impl Into<Found>,
        expected: impl Into<String>,
        suggestion: Option<Suggestion>,
    ) -> Option<T> {
        self.report(Error::new(kind, at, found, expected).at(path).suggest(suggestion));
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns true if no further error would be reported, because the maximum number of errors has been reached.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= REPORTED_ERRORS
    }

    /// Returns the value if there are no errors.
    pub(super) fn or<T>(self, value: T) -> Result<T, Errors> {
        match Errors::from_unsorted(self.errors) {
            None => Ok(value),
            Some(errors) => Err(errors),
        }
    }
}
