//! Returns the criteria of a filter as written, before the optimiser changed them.
//!
//! A filter keeps its body or text, but not the tree of its criteria. Only warnings, `why`, hints and the reference evaluator need
//! that tree. The first call that needs the tree parses the text again, and the filter then keeps the tree.
//!
//! Joined filters form a graph: its depth is unlimited, and one filter may be part of many other filters. The functions here do
//! not recurse, and visit each filter once.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::builder::holds;
use super::compiled::{Filter, Inner, Origin, Written};
use super::limits::no_limits;
use super::program::Program;
use crate::catalog::Catalog;
use crate::criteria::text::Parsed;
use crate::criteria::{self, Body};
use crate::operator::{Complex, Grammar};
use crate::predicate::{self, Children, Comparison, Node, Tree};

impl Origin {
    fn joined(&self) -> &[Filter] {
        match self {
            Self::Joined(_, filters) => filters,
            Self::Json(_) | Self::Text(..) | Self::Constant(_) | Self::Apart(..) => &[],
        }
    }

    /// Parses the input that a filter was created from, and returns its criteria as written. The input must not be a
    /// [join](Self::Joined) of filters.
    fn parse(&self, catalog: &Catalog) -> Written {
        let constant = |value| Written { tree: Tree::constant(value), rounded: Vec::new() };
        let body = match self {
            Self::Constant(value) => return constant(*value),
            Self::Apart(filter, field) => {
                let tree = predicate::apart(&filter.written(), *field).tree;
                return Written { tree, rounded: Vec::new() };
            }
            // A grammar that allows more operators gives the same tree for a body without errors.
            Self::Json(text) => criteria::read(text, Grammar::Extended, &no_limits()),
            Self::Text(text, clock) => {
                // The meaning of times depends on the clock that the text was compiled with.
                let fields = |name: &str| holds(catalog, Grammar::Extended, name);
                match criteria::text::parse(text, *clock, &no_limits(), &fields) {
                    (Parsed::Body(body), _) => Some(body),
                    (Parsed::Constant(value), _) => return constant(value),
                }
            }
            Self::Joined(..) => None,
        };
        debug_assert!(body.is_some(), "an origin that was read within limits is read without them");
        Written::of_body(&body.unwrap_or_default(), catalog)
    }
}

impl Written {
    fn of_body(body: &Body<'_>, catalog: &Catalog) -> Self {
        let (tree, errors) = predicate::lower(body, catalog);
        debug_assert_eq!(errors, [], "an origin without errors has none the second time");
        Self { tree: tree.into_owned(), rounded: predicate::rounded_numbers(body, catalog) }
    }
}

/// The body or text that a [`Filter`] was compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterSource<'f> {
    /// A JSON body.
    Json(&'f str),
    /// A text in the text syntax. Its relative times, such as `now - 7d`, are as written.
    Text(&'f str),
}

impl Filter {
    /// Returns the body or text that the filter was compiled from, byte for byte. For [criteria](crate::Criteria) made in Rust, it
    /// is the body that they stand for.
    ///
    /// Returns `None` for a filter that was joined or negated, and for [`all`](Self::all) and [`none`](Self::none). To store any
    /// filter, store this source, or [`to_json`](Self::to_json) if there is no source.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterSource};
    /// let filter = Filter::compile_text(&Catalog::cases(), "status  = open or status = blocked")?;
    /// assert_eq!(filter.source(), Some(FilterSource::Text("status  = open or status = blocked")));
    /// assert_eq!(filter.to_text(), "caseReview.status in (blocked, open)");
    /// assert_eq!((!filter).source(), None);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn source(&self) -> Option<FilterSource<'_>> {
        match &self.inner.origin {
            Origin::Json(text) => Some(FilterSource::Json(text)),
            Origin::Text(text, _) => Some(FilterSource::Text(text)),
            Origin::Constant(_) | Origin::Joined(..) | Origin::Apart(..) => None,
        }
    }

    pub(super) fn is_joined(&self) -> bool {
        matches!(self.inner.origin, Origin::Joined(..))
    }

    /// Returns this filter and all filters that it was joined from, each filter once. Parts come before the filters that contain
    /// them.
    pub(super) fn parts(&self) -> Vec<&Self> {
        let mut seen = HashSet::new();
        let mut parts = Vec::new();
        let mut open = vec![(self, false)];
        while let Some((filter, is_expanded)) = open.pop() {
            if is_expanded {
                parts.push(filter);
            } else if seen.insert(Arc::as_ptr(&filter.inner)) {
                open.push((filter, true));
                open.extend(filter.inner.origin.joined().iter().rev().map(|part| (part, false)));
            }
        }
        parts
    }

    /// Returns the [parts](Self::parts) that are not themselves joined, each with its criteria as written.
    pub(super) fn written_parts(&self) -> impl Iterator<Item = (&Self, &Written)> {
        let parts: Vec<&Self> = self.parts().into_iter().filter(|part| !part.is_joined()).collect();
        let written = self.written.get_or_init(|| parts.iter().map(|part| part.own_written()).collect());
        parts.into_iter().zip(written.iter().map(|written| &**written))
    }

    /// Returns the criteria of this filter as written. Parses them unless the filter already has them. The filter must not be
    /// joined.
    fn own_written(&self) -> Arc<Written> {
        let kept = self.written.get().and_then(|written| written.first());
        kept.map_or_else(|| Arc::new(self.inner.origin.parse(self.catalog())), Arc::clone)
    }

    /// Returns the criteria as written. For a joined filter, joins the criteria of its parts.
    pub(crate) fn written(&self) -> Cow<'_, predicate::Written<'static>> {
        let mut parts = self.written_parts();
        if !self.is_joined() {
            let tree = parts.next().map(|(_, written)| Cow::Borrowed(&written.tree));
            return tree.unwrap_or_else(|| Cow::Owned(Tree::constant(false)));
        }
        let mut nodes: Vec<Node<Comparison<'static>, Complex>> = Vec::new();
        let mut roots = HashMap::new();
        for part in self.parts() {
            match &part.inner.origin {
                Origin::Joined(operator, filters) => {
                    let root = |filter: &Self| roots.get(&Arc::as_ptr(&filter.inner)).copied();
                    let children: Children = filters.iter().filter_map(root).collect();
                    nodes.push(Node::Branch(*operator, children));
                }
                // `written_parts` has the same order as `parts`.
                _ => {
                    if let Some((_, written)) = parts.next() {
                        written.tree.clone().append_to(&mut nodes);
                    }
                }
            }
            roots.insert(Arc::as_ptr(&part.inner), nodes.len().saturating_sub(1));
        }
        Cow::Owned(Tree::from_nodes(nodes))
    }

    /// Returns the JSON body that the filter was compiled from, if any. For a joined filter, returns the body of its first part.
    pub(crate) fn body(&self) -> Option<&[u8]> {
        let mut filter = self;
        loop {
            match &filter.inner.origin {
                Origin::Json(text) => return Some(text.as_bytes()),
                Origin::Text(..) | Origin::Constant(_) | Origin::Apart(..) => return None,
                Origin::Joined(_, filters) => filter = filters.first()?,
            }
        }
    }

    /// Returns the approximate memory of the filter in bytes, without its catalogue and its criteria as written.
    pub(crate) fn size_bytes(&self) -> usize {
        // The filter makes its program later, when it first tests a document.
        let program = Program::size_bytes_of(self.predicate()).saturating_add(self.searched_bytes());
        let own = match self.is_joined() {
            true => self.parts().into_iter().map(Self::own_bytes).fold(0, usize::saturating_add),
            false => self.own_bytes(),
        };
        own.saturating_add(program)
    }

    /// Returns the maximum memory of the [tree that searches evaluate](Self::searched), in bytes. The first search creates this
    /// tree.
    fn searched_bytes(&self) -> usize {
        let nodes = self.predicate().nodes();
        let has_elements =
            |node: &Node<predicate::Leaf>| matches!(node, Node::Leaf(leaf) if leaf.test.elements().is_some());
        // Each test of an element is copied twice, with at most one more node.
        let of_node = size_of::<Node<predicate::Leaf>>();
        let of_nodes = nodes.len().saturating_add(1).saturating_mul(2).saturating_mul(of_node);
        let copies = self.predicate().size_bytes().saturating_mul(3).saturating_add(of_nodes);
        if nodes.iter().any(has_elements) { copies } else { 0 }
    }

    /// Returns the memory of this filter alone, which is a part of [`size_bytes`](Self::size_bytes). Leaves out the filters that it
    /// was joined from, its program, and the tree that searches evaluate.
    fn own_bytes(&self) -> usize {
        let origin = match &self.inner.origin {
            Origin::Json(text) | Origin::Text(text, _) => text.len(),
            Origin::Constant(_) => 0,
            Origin::Apart(filter, _) => filter.size_bytes(),
            Origin::Joined(_, filters) => size_of_val(filters.as_slice()),
        };
        size_of::<Inner>().saturating_add(origin).saturating_add(self.inner.predicate.size_bytes())
    }
}

/// Drops joined filters one by one in a loop. The default recursion could overflow the stack.
impl Drop for Inner {
    fn drop(&mut self) {
        let take = |origin: &mut Origin| match origin {
            Origin::Joined(_, filters) => std::mem::take(filters),
            Origin::Json(_) | Origin::Text(..) | Origin::Constant(_) | Origin::Apart(..) => Vec::new(),
        };
        let mut open = take(&mut self.origin);
        while let Some(filter) = open.pop() {
            if let Some(mut inner) = Arc::into_inner(filter.inner) {
                open.append(&mut take(&mut inner.origin));
            }
        }
    }
}
