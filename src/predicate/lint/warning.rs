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
    /// A criterion that changes nothing, given the other criteria of its branch.
    Subsumed,
    /// A number that a double cannot represent. The filter uses the nearest double.
    RoundedNumber,
    /// Criteria joined by `$and` that two different elements of one array can satisfy.
    SeparateElements,
    /// A string such as `null`, or an empty one. It does not test for absence.
    NotAbsence,
    /// A string with blanks at the start or the end.
    BlanksAround,
    /// A string that is not in the composed form of Unicode (NFC).
    NotComposed,
    /// A value that no case has, while cases have it in a similar form; see [`Engine::hints`](crate::Engine::hints).
    StoredOtherwise,
    /// A field in which no case has a value; see [`Engine::hints`](crate::Engine::hints).
    NoValues,
    /// A member of stored cases that is not a field, but that looks like a field in the filter. It is not searched; see
    /// `Store::unknown_members` (feature `store`).
    UnknownMember,
}

/// A part of a filter that is valid, but that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The kind.
    pub kind: WarningKind,
    /// The path of the part in the body, such as `criteria[0].values[1]`; empty for the whole body.
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
