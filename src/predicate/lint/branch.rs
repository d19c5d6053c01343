//! Warns about several criteria on one field in one branch: contradictions, tautologies and superfluous criteria.

use super::super::optimize::{decides, implies, test};
use super::super::tree::{Leaf, Node, NodeId, Test, Written};
use super::warning::WarningKind;
use crate::catalog::Catalog;
use crate::error::quote;
use crate::operator::Connective;

/// The maximum number of criteria on one field in one branch that are compared in pairs. For more criteria, superfluous criteria
/// are not reported, because comparing all pairs takes quadratic time.
const PAIRWISE: usize = 64;

/// Finds contradictions, tautologies and superfluous criteria among the children of a branch. Compares only children on the same
/// field.
pub(super) fn branch(
    connective: Connective,
    children: &[NodeId],
    tree: &Written<'_>,
    catalog: &Catalog,
    warn: &mut impl FnMut(Option<NodeId>, WarningKind, String),
) {
    let mut tests: Vec<(NodeId, Leaf)> = children
        .iter()
        .filter_map(|child| match tree.get(*child) {
            Some(Node::Leaf(comparison)) => {
                let test = test(comparison, catalog).ok()?;
                Some((*child, Leaf { field: comparison.field, test }))
            }
            _ => None,
        })
        .collect();
    tests.sort_by_key(|(_, leaf)| leaf.field);
    for group in tests.chunk_by(|(_, a), (_, b)| a.field == b.field) {
        let [(_, leaf), _, ..] = group else { continue };
        let field = catalog.field(leaf.field);
        let name = quote(field.name());
        if let Some(kind) = decided(connective, field.is_many(), group) {
            let message = match kind {
                WarningKind::AlwaysFalse => {
                    format!("never true: its criteria on {name} contradict each other")
                }
                _ => format!("always true: its criteria on {name} cover every case"),
            };
            warn(None, kind, message);
            continue;
        }
        if group.len() > PAIRWISE {
            continue;
        }
        for (at, (id, leaf)) in group.iter().enumerate() {
            let superfluous = group.iter().enumerate().any(|(other_at, (_, other))| {
                let (implied, implies_back) = match connective {
                    Connective::And => (implies(&other.test, &leaf.test), implies(&leaf.test, &other.test)),
                    Connective::Or => (implies(&leaf.test, &other.test), implies(&other.test, &leaf.test)),
                };
                // Of two equivalent criteria, the second is superfluous.
                other_at != at && implied && (!implies_back || other_at < at)
            });
            if superfluous {
                let why = match connective {
                    Connective::And => "another criterion on the same field already requires this",
                    Connective::Or => "another criterion on the same field already includes this",
                };
                warn(Some(*id), WarningKind::Subsumed, format!("makes no difference: {why}"));
            }
        }
    }
}

fn decided(connective: Connective, many: bool, group: &[(NodeId, Leaf)]) -> Option<WarningKind> {
    let tests: Vec<&Test> = group.iter().map(|(_, leaf)| &leaf.test).collect();
    decides(connective, many, &tests).then_some(match connective {
        Connective::And => WarningKind::AlwaysFalse,
        Connective::Or => WarningKind::AlwaysTrue,
    })
}
