//! The syntax tree of a request body: flat, every node knowing its place.

use std::borrow::Cow;
use std::ops::Range;

use crate::operator::{Connective, Operator};

/// A string of the request and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Byte offset of the string's first character (its quote, where it has one).
    pub(crate) offset: usize,
}

/// The number of a criterion in its [`Body`].
pub(crate) type NodeId = usize;

/// One criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Criterion<'a> {
    /// `{"op": "$and" | "$or", "children": […]}`.
    Complex {
        connective: Connective,
        /// A range of [`Body::children`], not empty.
        children: Range<usize>,
    },
    /// `{"field": …, "op": …, "values": […]}`.
    Field {
        field: Text<'a>,
        /// With its offset; `None` when there was an error in it, which was reported.
        operator: Option<(Operator, usize)>,
        /// A range of [`Body::texts`]; empty when there was an error in it, which was reported.
        values: Range<usize>,
    },
    /// A criterion with an error, which was reported.
    Broken,
}

/// A request body as written. Invariant: the children of a criterion have smaller numbers than it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    /// A range of `texts`; `None` when the key is absent.
    pub(crate) ids: Option<Range<usize>>,
    /// A range of `children`; `None` when the key is absent.
    pub(crate) criteria: Option<Range<usize>>,
    pub(crate) nodes: Vec<Criterion<'a>>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) texts: Vec<Text<'a>>,
}

impl<'a> Body<'a> {
    pub(crate) fn texts(&self, range: &Range<usize>) -> &[Text<'a>] {
        self.texts.get(range.clone()).unwrap_or_default()
    }

    pub(crate) fn children(&self, range: &Range<usize>) -> &[NodeId] {
        self.children.get(range.clone()).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, criterion: Criterion<'a>) -> NodeId {
        self.nodes.push(criterion);
        self.nodes.len().saturating_sub(1)
    }

    /// Lays down values and gives their range.
    pub(crate) fn push_texts(&mut self, texts: &[Text<'a>]) -> Range<usize> {
        let start = self.texts.len();
        self.texts.extend_from_slice(texts);
        start..self.texts.len()
    }

    /// Lays down a list of children and gives its range.
    pub(crate) fn push_children(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> Range<usize> {
        let start = self.children.len();
        self.children.extend(nodes);
        start..self.children.len()
    }
}
