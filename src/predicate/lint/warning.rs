//! Defines the type of the warnings on a filter, and their kinds.

use std::fmt;

/// The kind of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WarningKind {
    /// A value outside the known values of its field.
    UnknownValue,
    /// A criterion, or the whole filter, that is true for every document.
    AlwaysTrue,
    /// A criterion, or the whole filter, that is true for no document.
    AlwaysFalse,
    /// A criterion that does not change the result, because of the other criteria of its branch.
    Subsumed,
    /// A number that a double cannot represent. The filter uses the nearest double.
    RoundedNumber,
    /// Criteria joined by `$and` that two different elements of one array can satisfy.
    SeparateElements,
    /// A string such as `null`, or an empty string. Such a value does not test for absence.
    NotAbsence,
    /// A string with white space at the start or the end.
    BlanksAround,
    /// A string that is not in the composed form of Unicode (NFC).
    NotComposed,
    /// A value that no document has, although documents have a similar value; see [`Engine::hints`](crate::Engine::hints).
    #[cfg_attr(feature = "serde", serde(rename = "stored_otherwise"))]
    SimilarValue,
    /// A field in which no document has a value; see [`Engine::hints`](crate::Engine::hints).
    NoValues,
    /// A member of stored documents that is not a field, but whose name is similar to a field in the filter. Searches ignore this
    /// member; see `Store::unknown_members` (feature `store`).
    UnknownMember,
}

/// A part of a filter that is valid, but that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Warning {
    /// The kind of warning.
    pub kind: WarningKind,
    /// The path of the part in the body, such as `criteria[0].values[1]`; empty for the whole body.
    pub path: String,
    /// The text of the warning, for people.
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
