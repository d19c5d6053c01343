//! The searchers for the patterns of a filter. A searcher ([`Matcher`]) is a pattern that is prepared for many strings.

use crate::predicate::{Leaf, Matcher, Node, Set, Test, Tree};

/// The searchers for all patterns of a tree, including the patterns in tests of elements.
#[derive(Default)]
pub(super) struct Patterns {
    /// The address of each leaf with a pattern, ascending, and its searcher.
    matchers: Vec<(usize, Matcher<'static>)>,
}

impl Patterns {
    /// No searchers: each string is tested by [`TextPattern::contains`](crate::predicate::TextPattern::contains) instead.
    pub(super) const NONE: Self = Self { matchers: Vec::new() };

    /// Builds the searchers of a tree. The tree must not be moved while the searchers are used.
    pub(super) fn of(tree: &Tree<Leaf>) -> Self {
        let mut matchers = Vec::new();
        let mut open = vec![tree];
        while let Some(tree) = open.pop() {
            for node in tree.nodes() {
                let Node::Leaf(leaf) = node else { continue };
                open.extend(leaf.test.elements().map(|elements| &elements.tree));
                if let Test::Any(Set::Matching(pattern)) | Test::None(Set::Matching(pattern)) = &leaf.test {
                    matchers.push((address(leaf), Matcher::new(pattern).into_owned()));
                }
            }
        }
        matchers.sort_unstable_by_key(|(address, _)| *address);
        Self { matchers }
    }

    /// Returns the searcher of a leaf. Returns `None` if it has no pattern, or if it is not a leaf of the tree.
    #[inline]
    pub(super) fn of_leaf(&self, leaf: &Leaf) -> Option<&Matcher<'static>> {
        if self.matchers.is_empty() {
            return None;
        }
        let at = self.matchers.binary_search_by_key(&address(leaf), |(address, _)| *address).ok()?;
        self.matchers.get(at).map(|(_, matcher)| matcher)
    }
}

fn address(leaf: &Leaf) -> usize {
    std::ptr::from_ref(leaf).addr()
}
