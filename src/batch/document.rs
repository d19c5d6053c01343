//! The document of one case as it comes in, and what an engine does with documents.

/// The way in which an engine keeps the documents of its cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    /// It forgets them.
    Nothing,
    /// It keeps their texts.
    #[default]
    Text,
    /// They are kept elsewhere, each under a number.
    Numbers,
}

/// The document of one case, as it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document<'d> {
    Text(&'d str),
    /// One that is kept elsewhere.
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
