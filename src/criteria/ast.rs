//! The syntax tree of a request body: flat, in postfix order.
//!
//! `{"op":"$or","children":[a, b]}` is `a b $or(2)`: a complex criterion stands after its children and says how many they are. A walk
//! over the nodes in order with a stack meets children before parents and needs no other links.

use std::borrow::Cow;
use std::ops::Range;

use crate::operator::{Connective, Operator, Syntax};

/// A string of the request and its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Byte offset of the string's first character (its quote, where it has one).
    pub(crate) offset: usize,
}

/// The number of a string in its [`Body`].
pub(crate) type TextId = usize;

/// One criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// `{"op": "$and" | "$or", "children": […]}`.
    Complex {
        connective: Connective,
        /// The number of criteria just before it that are its children, at least one.
        children: usize,
    },
    /// `{"field": …, "op": …, "values": […]}`.
    Field {
        field: TextId,
        /// With its offset; `None` when there was an error in it, which was reported.
        operator: Option<(Operator, usize)>,
        /// A range of [`Body::texts`]; empty when there was an error in it, which was reported.
        values: Range<usize>,
    },
    /// A criterion with an error, which was reported.
    Broken,
}

/// A request body as written.
///
/// Invariant, of a body without errors: walked with a stack that complex criteria pop their children from, the nodes leave `criteria`
/// of them. A body with errors may have [broken](Criterion::Broken) nodes in the place of complex ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    /// The syntax that it is written in, for the spelling of operators in messages.
    pub(crate) syntax: Syntax,
    /// A range of `texts`; `None` when the key is absent.
    pub(crate) ids: Option<Range<usize>>,
    /// The number of the outermost criteria; `None` when the key is absent.
    pub(crate) criteria: Option<usize>,
    /// The criteria in postfix order.
    pub(crate) nodes: Vec<Criterion>,
    /// Names of fields, values and ids, in the order of the body.
    pub(crate) texts: Vec<Text<'a>>,
}

impl<'a> Body<'a> {
    pub(crate) fn texts(&self, range: &Range<usize>) -> &[Text<'a>] {
        self.texts.get(range.clone()).unwrap_or_default()
    }

    /// Returns a string; `None` for a number that no criterion of this body has.
    pub(crate) fn text(&self, id: TextId) -> Option<&Text<'a>> {
        self.texts.get(id)
    }

    /// Appends a string and returns its number.
    pub(crate) fn push_text(&mut self, text: Text<'a>) -> TextId {
        self.texts.push(text);
        self.texts.len().saturating_sub(1)
    }
}
