//! Warnings and their kinds.

use std::fmt;

use serde::Serialize;

/// The kind of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// A value outside the known values of its field.
    UnknownValue,
    /// A criterion, or the whole filter, that is true for every case.
    AlwaysTrue,
    /// A criterion, or the whole filter, that is true for no case.
    AlwaysFalse,
    /// A criterion that its neighbours make superfluous.
    Subsumed,
    /// A number that a double cannot hold, so that it stands for another one.
    RoundedNumber,
    /// Criteria joined by and that two different elements of one array may meet.
    SeparateElements,
    /// A string such as `null`, or without letters, which is no test for absence.
    NotAbsence,
    /// A string with blanks in front or at the end.
    BlanksAround,
    /// A string that is not in the composed form of Unicode (NFC).
    NotComposed,
    /// A value that no case has, in a form in which cases have it; see [`Engine::hints`](crate::Engine::hints).
    StoredOtherwise,
    /// A field of which no case has a value; see [`Engine::hints`](crate::Engine::hints).
    NoValues,
    /// A member of stored cases that is no field, and so is not searched, but looks like a field that the filter names; see
    /// `Store::unknown_members` (feature `store`).
    UnknownMember,
}

/// A part of a filter without errors that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The kind.
    pub kind: WarningKind,
    /// The place as a path into the body, such as `criteria[0].values[1]`; empty for the whole of it.
    pub path: String,
    /// The description.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
