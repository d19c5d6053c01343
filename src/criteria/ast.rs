//! The syntax tree of a request body: flat, in postfix order.
//!
//! `{"op":"$or","children":[a, b]}` is `a b $or(2)`: a complex criterion follows its children and stores their count. A loop over
//! the nodes in order visits children before their parent. It needs a stack, but no links between the nodes.

use std::borrow::Cow;
use std::ops::Range;

use crate::operator::{Complex, Grammar, Operator, Syntax};
use crate::value::Clock;

/// A string of the request, with its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The byte offset of the string: of its opening quote, or of its first character if it has no quotes.
    pub(crate) offset: usize,
}

/// The index of a string in [`Body::texts`].
pub(crate) type TextId = usize;

/// One criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// `{"op": "$and" | "$or" | "$not", "children": […]}`, or `{"op": "$elem", "field": …, "children": […]}`.
    Complex {
        operator: Complex,
        /// The path of the array, only for `$elem`. The path has not been looked up yet, so `operator` is the placeholder
        /// [`Complex::ELEM`], which stands for any array.
        array: Option<TextId>,
        /// The count of children: at least one, and exactly one for a negation. The children are the subtrees directly before
        /// this criterion.
        children: usize,
    },
    /// `{"field": …, "op": …, "values": […]}`.
    Field {
        field: TextId,
        /// The operator and its offset. `None` if the operator had an error, which was reported.
        operator: Option<(Operator, usize)>,
        /// A range of [`Body::texts`]. Empty if the values had an error, which was reported.
        values: Range<usize>,
    },
    /// A criterion with an error, which was reported.
    Broken,
}

/// A request body as written.
///
/// `nodes` is in postfix order: the children of a complex criterion are directly before it. In a body without errors, `criteria` is
/// the number of criteria that are not children of another criterion. In a body with errors, the children of a
/// [broken](Criterion::Broken) complex criterion have no parent, but are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    /// The syntax of the request, which decides how messages spell operators.
    pub(crate) syntax: Syntax,
    /// The operators that the request was allowed to use.
    pub(crate) grammar: Grammar,
    /// The clock for relative times and days in a filter text.
    pub(crate) clock: Clock,
    /// The ids, as a range of `texts`. `None` if the key is absent or `null`.
    pub(crate) ids: Option<Range<usize>>,
    /// The count of criteria at the top level. `None` if the key is absent or `null`.
    pub(crate) criteria: Option<usize>,
    /// The criteria in postfix order.
    pub(crate) nodes: Vec<Criterion>,
    /// The names of fields and arrays, the values and the ids, in the order of the body.
    pub(crate) texts: Vec<Text<'a>>,
}

impl<'a> Body<'a> {
    pub(crate) fn texts(&self, range: &Range<usize>) -> &[Text<'a>] {
        self.texts.get(range.clone()).unwrap_or_default()
    }

    /// Returns the string with this index, or `None` if the body has no such string.
    pub(crate) fn text(&self, id: TextId) -> Option<&Text<'a>> {
        self.texts.get(id)
    }

    /// Appends a string and returns its index.
    pub(crate) fn push_text(&mut self, text: Text<'a>) -> TextId {
        self.texts.push(text);
        self.texts.len().saturating_sub(1)
    }
}
