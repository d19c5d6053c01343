//! Splits a normal form into rules, which are conjunctions. The normal form is true if and only if at least one rule holds.
//!
//! ```text
//! status = open and priority = high           one rule
//! status = open or amount > 5                 two rules
//! (a = x or b = y) and c <> z                 two rules: a = x and c <> z; b = y and c <> z
//! name <> x and (a <> x or b = y)             one rule, which no key finds
//! ```

use crate::operator::Connective;
use crate::predicate::{Children, Leaf, Node, Set, Test, TextPattern, Tree};

/// Nodes of a tree. The rule holds if all of them are true.
pub(super) type Conjunction = Children;

/// A conjunction without a key is split by a disjunction of at most this number of branches, into a rule for each branch.
const MOST_BRANCHES: usize = 16;
/// Only a conjunction of at most this number of nodes is split.
const MOST_NODES: usize = 64;

/// The maximum number of values in a set that is compiled to atoms or ranges, and so can be a key.
pub(super) const MOST_VALUES: usize = 1 << 16;

/// Returns the rules of a normal form. There are none if it is the constant false.
pub(super) fn rules(tree: &Tree<Leaf>) -> Vec<Conjunction> {
    let root = tree.root();
    let mut rules = Vec::new();
    match tree.get(root) {
        Some(Node::Constant(true)) => rules.push(Conjunction::new()),
        Some(Node::Constant(false)) | None => {}
        Some(Node::Branch(Connective::Or, children)) => {
            for child in children {
                split(tree, conjuncts(tree, *child), &mut rules);
            }
        }
        Some(Node::Leaf(_) | Node::Branch(Connective::And, _)) => {
            split(tree, conjuncts(tree, root), &mut rules);
        }
    }
    rules
}

/// Returns the nodes whose conjunction is equal to `node`.
fn conjuncts(tree: &Tree<Leaf>, node: usize) -> Conjunction {
    match tree.get(node) {
        Some(Node::Branch(Connective::And, children)) => children.clone(),
        _ => Conjunction::from_slice(&[node]),
    }
}

/// Adds a conjunction to the rules. Splits it by a disjunction if none of its leaves can be a key.
fn split(tree: &Tree<Leaf>, conjunction: Conjunction, rules: &mut Vec<Conjunction>) {
    let has_key = |nodes: &[usize]| {
        nodes.iter().any(|node| matches!(tree.get(*node), Some(Node::Leaf(leaf)) if can_be_key(leaf)))
    };
    if !has_key(&conjunction) && conjunction.len() <= MOST_NODES {
        for node in &conjunction {
            let Some(Node::Branch(Connective::Or, branches)) = tree.get(*node) else { continue };
            if branches.len() > MOST_BRANCHES {
                continue;
            }
            let own: Vec<Conjunction> = branches.iter().map(|branch| conjuncts(tree, *branch)).collect();
            if !own.iter().all(|own| has_key(own)) {
                continue;
            }
            rules.extend(own.into_iter().map(|mut own| {
                own.extend(conjunction.iter().copied().filter(|other| other != node));
                own
            }));
            return;
        }
    }
    rules.push(conjunction);
}

/// Returns true if cases that pass the leaf can be found by a value.
fn can_be_key(leaf: &Leaf) -> bool {
    match &leaf.test {
        Test::Any(Set::Matching(pattern)) => {
            **pattern != TextPattern::Every && pattern.values().len() <= MOST_VALUES
        }
        Test::Any(Set::Booleans(points)) => points.as_slice().len() == 1,
        Test::Any(set) => set.len() <= MOST_VALUES,
        Test::All(_) => true,
        Test::None(_) | Test::NotAll(_) | Test::Elem(_) | Test::NoElem(_) => false,
    }
}
