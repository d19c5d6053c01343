//! The document of a new case, and the policy that says which documents an engine keeps.

/// A policy that says what an engine keeps of its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    /// The engine drops documents.
    Nothing,
    /// The engine keeps the text of each document.
    #[default]
    Text,
    /// Documents are stored outside the engine. The engine keeps the document number of each.
    Numbers,
}

/// The document of a new case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document<'d> {
    Text(&'d str),
    /// A document that is stored outside the engine, under this document number.
    Number {
        number: u64,
        size_bytes: usize,
    },
}

impl Document<'_> {
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number { size_bytes, .. } => *size_bytes,
        }
    }
}
