//! Builds the tree by which the rules of a segment are found.

use super::count::count;
use super::keys::{First, Keys};
use super::lookup::{Edge, Group, Lookup, Node, Range, bit};
use super::program;

/// A node of at most this number of rules has no children: evaluating its rules is faster than finding fewer of them.
const FEW_RULES: usize = 8;

/// A tree, and its rules in the order of their places in the tree.
pub(super) struct Filed {
    pub(super) lookup: Lookup,
    pub(super) order: Vec<u32>,
    /// The rules with several places in the tree.
    pub(super) repeated: Vec<u32>,
}

/// Builds the tree of the rules. `rule` returns the words of a rule, and `field_of` the index of the field of an atom.
pub(super) fn file<'w>(
    keys: &Keys,
    rule: impl Fn(u32) -> &'w [u32],
    field_of: impl Fn(u32) -> usize,
) -> Filed {
    let mut filed = Filed { lookup: Lookup::default(), order: Vec::new(), repeated: Vec::new() };
    filed.lookup.nodes.push(Node::default());
    let all = (0..count(keys.rules.len())).map(|rule| (rule, 0)).collect();
    // Nodes whose rules are not in the tree yet, each with its rules and the number of their keys on the path to the node.
    let mut open: Vec<(u32, Vec<(u32, u32)>)> = vec![(super::lookup::ROOT, all)];
    let mut edges: Vec<(u32, u32, u32)> = Vec::new();
    let mut ranges: Vec<(u16, Range)> = Vec::new();
    while let Some((node, rules)) = open.pop() {
        edges.clear();
        ranges.clear();
        let is_small = rules.len() <= FEW_RULES;
        let start = count(filed.lookup.postings.len());
        for (own, used) in rules {
            let Some(key) = keys.rules.get(own as usize) else { continue };
            let is_first = used == 0;
            let next = used.saturating_add(1);
            let step_at = |offset: u32| program::read(rule(own), offset as usize).map(|(step, _)| step);
            let add_ranges = |offset: u32, ranges: &mut Vec<(u16, Range)>| {
                let Some(step) = step_at(offset) else { return 0 };
                let own = |(low, high)| (step.field, Range { low, high, rule: own });
                ranges.extend(program::ranges(step.arguments).map(own));
                program::ranges(step.arguments).len()
            };
            match key.first {
                First::Atoms(offset) if is_first && !is_small => {
                    let atoms = step_at(offset).map(|step| step.arguments).unwrap_or_default();
                    edges.extend(atoms.iter().map(|atom| (*atom, own, next)));
                    if atoms.len() > 1 {
                        filed.repeated.push(own);
                    }
                    continue;
                }
                First::Ranges(offset) if is_first && !is_small => {
                    if add_ranges(offset, &mut ranges) > 1 {
                        filed.repeated.push(own);
                    }
                    continue;
                }
                _ => {}
            }
            // With `First::Atom`, the first key is the first of the atoms. Any other first key is not one of the atoms.
            let skipped = u32::from(key.first != First::Atom);
            let at = key.atoms.0.saturating_add(used.saturating_sub(skipped));
            let atom = if at < key.atoms.1 { keys.atoms.get(at as usize) } else { None };
            match (atom, key.range) {
                _ if is_small => filed.lookup.postings.push(own),
                (Some(atom), _) => edges.push((*atom, own, next)),
                (None, Some(offset)) => {
                    add_ranges(offset, &mut ranges);
                }
                (None, None) => filed.lookup.postings.push(own),
            }
        }
        let end = count(filed.lookup.postings.len());
        filed.order.extend_from_slice(filed.lookup.postings.get(start as usize..).unwrap_or_default());
        let first_group = count(filed.lookup.groups.len());
        ranges.sort_unstable_by_key(|(field, range)| (*field, range.low, range.high, range.rule));
        for group in ranges.chunk_by(|(a, _), (b, _)| a == b) {
            let from = count(filed.lookup.ranges.len());
            filed.lookup.ranges.extend(group.iter().map(|(_, range)| *range));
            filed.order.extend(group.iter().map(|(_, range)| range.rule));
            let ranges = (from, count(filed.lookup.ranges.len()));
            filed.lookup.groups.extend(group.first().map(|(field, _)| Group { field: *field, ranges }));
        }
        let groups = (first_group, count(filed.lookup.groups.len()));
        let mut fields = 0;
        edges.sort_unstable();
        for of_atom in edges.chunk_by(|(a, ..), (b, ..)| a == b) {
            let Some((atom, ..)) = of_atom.first() else { continue };
            fields |= bit(field_of(*atom));
            let child = count(filed.lookup.nodes.len());
            filed.lookup.nodes.push(Node::default());
            let hash = |edge: &Edge| Edge::hash(edge.node, edge.atom);
            let edge = Edge { node, atom: *atom, child };
            filed.lookup.edges.insert_unique(hash(&edge), edge, hash);
            open.push((child, of_atom.iter().map(|(_, rule, used)| (*rule, *used)).collect()));
        }
        if let Some(own) = filed.lookup.nodes.get_mut(node as usize) {
            *own = Node { rules: (start, end), groups, edges: fields };
        }
    }
    filed
}
