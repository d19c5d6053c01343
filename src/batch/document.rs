//! The document of an incoming case, and the policy for keeping documents.

/// A policy for the documents of an engine: what it keeps of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    /// Documents are dropped.
    Nothing,
    /// The engine keeps the texts.
    #[default]
    Text,
    /// Documents are stored outside the engine. The engine keeps a number for each.
    Numbers,
}

/// The document of an incoming case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document<'d> {
    Text(&'d str),
    /// A document that is stored outside the engine, under this number.
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
