//! What a filter was made from: texts, or other filters.
//!
//! Filters that are joined one after the other make sources of any depth, and one filter may stand in many of them. So nothing here
//! recurses, and each filter is visited once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Filter, Inner};
use crate::catalog::Catalog;
use crate::criteria::{self, Body};
use crate::limits::Limits;
use crate::operator::Connective;
use crate::predicate::{self, Children, Comparison, Node, Tree};

/// What a filter was made from.
#[derive(Clone)]
pub(super) enum Source {
    /// A body that has no errors.
    Json(Box<str>),
    /// The text syntax, without errors.
    Text(Box<str>),
    Constant(bool),
    /// What all of these select, or any of them; at least one filter.
    Joined(Connective, Vec<Filter>),
}

/// Limits for what the host itself wrote, or was read within limits before.
pub(super) fn no_limits() -> Limits {
    Limits {
        body_bytes: usize::MAX,
        depth: usize::MAX,
        criteria: usize::MAX,
        values: usize::MAX,
        ids: usize::MAX,
        string_bytes: usize::MAX,
        ..Limits::default()
    }
}

impl Source {
    pub(super) fn is_joined(&self) -> bool {
        matches!(self, Self::Joined(..))
    }

    fn joined(&self) -> &[Filter] {
        match self {
            Self::Joined(_, filters) => filters,
            Self::Json(_) | Self::Text(_) | Self::Constant(_) => &[],
        }
    }

    /// The tree as written, of a source that is not joined.
    fn read(&self, catalog: &Catalog) -> Tree<Comparison<'static>> {
        self.read_with(catalog, |_, _| ()).0
    }

    /// As [`read`](Self::read), and what `look` finds in the body; a constant has none.
    pub(super) fn read_with<T: Default>(
        &self,
        catalog: &Catalog,
        look: impl FnOnce(&Body<'_>, &Catalog) -> T,
    ) -> (Tree<Comparison<'static>>, T) {
        let constant = |value| (Tree::constant(value), T::default());
        let body = match self {
            Self::Joined(..) => return constant(false),
            Self::Constant(value) => return constant(*value),
            Self::Json(text) => criteria::parse(text, &no_limits()).0,
            Self::Text(text) => match criteria::text::parse(text, &no_limits()) {
                (criteria::text::Parsed::Body(body), _) => body,
                (criteria::text::Parsed::Constant(value), _) => return constant(value),
            },
        };
        let (written, errors) = predicate::lower(&body, catalog);
        debug_assert_eq!(errors, [], "a source without errors has none the second time");
        let found = look(&body, catalog);
        (written.into_owned(), found)
    }
}

impl Filter {
    /// The filters that this one was joined from, each once and before those that it is in; this one last.
    pub(super) fn parts(&self) -> Vec<&Self> {
        let mut seen = HashSet::new();
        let mut parts = Vec::new();
        let mut open = vec![(self, false)];
        while let Some((filter, is_expanded)) = open.pop() {
            if is_expanded {
                parts.push(filter);
            } else if seen.insert(Arc::as_ptr(&filter.inner)) {
                open.push((filter, true));
                open.extend(filter.inner.source.joined().iter().rev().map(|part| (part, false)));
            }
        }
        parts
    }

    /// The criteria as written, read anew.
    pub(crate) fn written(&self) -> Tree<Comparison<'static>> {
        if !self.inner.source.is_joined() {
            return self.inner.source.read(self.catalog());
        }
        let mut nodes: Vec<Node<Comparison<'static>>> = Vec::new();
        let mut roots = HashMap::new();
        for part in self.parts() {
            match &part.inner.source {
                Source::Joined(connective, filters) => {
                    let root = |filter: &Self| roots.get(&Arc::as_ptr(&filter.inner)).copied();
                    let children: Children = filters.iter().filter_map(root).collect();
                    nodes.push(Node::Branch(*connective, children));
                }
                source => source.read(part.catalog()).append_to(&mut nodes),
            }
            roots.insert(Arc::as_ptr(&part.inner), nodes.len().saturating_sub(1));
        }
        Tree::from_nodes(nodes)
    }

    /// The body that the filter was compiled from, if it was one; of joined filters, that of the first.
    pub(crate) fn body(&self) -> Option<&[u8]> {
        let mut filter = self;
        loop {
            match &filter.inner.source {
                Source::Json(text) => return Some(text.as_bytes()),
                Source::Text(_) | Source::Constant(_) => return None,
                Source::Joined(_, filters) => filter = filters.first()?,
            }
        }
    }

    /// About how many bytes of memory the filter takes, the catalogue apart.
    pub(crate) fn size_bytes(&self) -> usize {
        if self.inner.source.is_joined() {
            return self.parts().into_iter().map(Self::own_bytes).fold(0, usize::saturating_add);
        }
        self.own_bytes()
    }

    /// As [`size_bytes`](Self::size_bytes), without the filters that it was joined from.
    fn own_bytes(&self) -> usize {
        let source = match &self.inner.source {
            Source::Json(text) | Source::Text(text) => text.len(),
            Source::Constant(_) => 0,
            Source::Joined(_, filters) => size_of_val(filters.as_slice()),
        };
        size_of::<Inner>().saturating_add(source).saturating_add(self.inner.predicate.size_bytes())
    }
}

/// Takes joined filters apart one by one, however deep they lie.
impl Drop for Inner {
    fn drop(&mut self) {
        let take = |source: &mut Source| match source {
            Source::Joined(_, filters) => std::mem::take(filters),
            Source::Json(_) | Source::Text(_) | Source::Constant(_) => Vec::new(),
        };
        let mut open = take(&mut self.source);
        while let Some(filter) = open.pop() {
            if let Some(mut inner) = Arc::into_inner(filter.inner) {
                open.append(&mut take(&mut inner.source));
            }
        }
    }
}
