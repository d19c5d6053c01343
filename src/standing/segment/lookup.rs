//! Finds the rules that may hold for a case: a tree of nodes, whose edges are atoms.
//!
//! ```text
//! root ── status = open ──▶ node ── clientId = a ──▶ node: rules with both
//!   │                         └─ rules with status = open and no second key
//!   ├── amount in a range: rules, by their ranges
//!   └─ rules without a key
//! ```
//!
//! The look-up for a case follows the edges whose atoms hold for the case. It finds a rule if every atom on the path to the rule
//! holds, so no rule that holds is missed. Each rule is then evaluated as a whole.

use hashbrown::HashTable;

use super::truths::Truths;
use crate::catalog::FieldId;

/// The id of the root.
pub(super) const ROOT: u32 = 0;

/// A node of the tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    /// The start and the end of its rules in `postings`.
    pub(super) rules: (u32, u32),
    /// The start and the end of its groups of ranges in `groups`.
    pub(super) groups: (u32, u32),
    /// A bit for each field with an edge to a child: bit `index % 32`.
    pub(super) edges: u32,
}

/// An edge: the child of a node for an atom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) node: u32,
    pub(super) atom: u32,
    pub(super) child: u32,
}

impl Edge {
    /// Returns the hash of an edge. The segment numbers nodes and atoms itself, so users cannot choose numbers whose hashes
    /// collide. The hash needs no random seed.
    #[inline]
    pub(super) fn hash(node: u32, atom: u32) -> u64 {
        let mixed = (u64::from(node) << 32 | u64::from(atom)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }
}

/// Rules of a node that are found by the range of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The index of the field.
    pub(super) field: u16,
    /// The start and the end of its ranges.
    pub(super) ranges: (u32, u32),
}

/// A range and its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: i64,
    pub(super) high: i64,
    pub(super) rule: u32,
}

/// The number of ranges in a block.
const BLOCK: usize = 64;

/// The tree of a segment.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: HashTable<Edge>,
    pub(super) postings: Vec<u32>,
    pub(super) groups: Vec<Group>,
    /// The ranges of each group, sorted by their lower bound.
    pub(super) ranges: Vec<Range>,
    /// The greatest upper bound of each block of `ranges`. A block may have ranges of several groups.
    highs: Vec<i64>,
}

/// Returns the bit of a field in [`Node::edges`].
pub(super) fn bit(field: usize) -> u32 {
    1 << (field % 32)
}

impl Lookup {
    /// Prepares the tree for searches, after all of its parts have been added.
    pub(super) fn finish(&mut self) {
        let high = |block: &[Range]| block.iter().map(|range| range.high).max().unwrap_or(i64::MIN);
        self.highs = self.ranges.chunks(BLOCK).map(high).collect();
        self.nodes.shrink_to_fit();
        self.postings.shrink_to_fit();
        self.groups.shrink_to_fit();
        self.ranges.shrink_to_fit();
    }

    /// Calls `found` for each rule that may hold for a case. The second argument is true if the case has several values in the
    /// field of the rule's range. In that case, the same range may be found again. A rule with several places in the tree may be
    /// found at each of them. `fields` are the fields of the rules. `open` is scratch space for the nodes to visit.
    #[inline]
    pub(super) fn find(
        &self,
        truths: &Truths,
        fields: &[FieldId],
        open: &mut Vec<u32>,
        mut found: impl FnMut(u32, bool),
    ) {
        open.clear();
        open.push(ROOT);
        while let Some(id) = open.pop() {
            let Some(node) = self.nodes.get(id as usize) else { continue };
            for rule in slice(&self.postings, node.rules) {
                found(*rule, false);
            }
            for group in slice(&self.groups, node.groups) {
                let ordinals = truths.ordinals(usize::from(group.field));
                for ordinal in ordinals {
                    self.find_ranges(group.ranges, *ordinal, |rule| found(rule, ordinals.len() > 1));
                }
            }
            if node.edges == 0 {
                continue;
            }
            let mut walk = |atoms: &[u32]| {
                for atom in atoms {
                    let is_same = |edge: &Edge| (edge.node, edge.atom) == (id, *atom);
                    open.extend(self.edges.find(Edge::hash(id, *atom), is_same).map(|edge| edge.child));
                }
            };
            if id == ROOT {
                walk(truths.all_atoms());
                continue;
            }
            for field in fields {
                if node.edges & bit(field.index()) != 0 {
                    walk(truths.atoms(field.index()));
                }
            }
        }
    }

    /// Calls `found` for each rule of a group whose range contains an ordinal.
    fn find_ranges(&self, (start, end): (u32, u32), ordinal: i64, mut found: impl FnMut(u32)) {
        let (start, end) = (start as usize, end as usize);
        let own = self.ranges.get(start..end).unwrap_or_default();
        let end = start.saturating_add(own.partition_point(|range| range.low <= ordinal));
        let mut at = start;
        while at < end {
            let block = at / BLOCK;
            let next = block.saturating_add(1).saturating_mul(BLOCK).min(end);
            if self.highs.get(block).is_some_and(|high| *high >= ordinal) {
                for range in self.ranges.get(at..next).unwrap_or_default() {
                    if range.high >= ordinal {
                        found(range.rule);
                    }
                }
            }
            at = next;
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        fn of<T>(items: &Vec<T>) -> usize {
            items.capacity().saturating_mul(size_of::<T>())
        }
        [
            of(&self.nodes),
            of(&self.postings),
            of(&self.groups),
            of(&self.ranges),
            of(&self.highs),
            self.edges.allocation_size(),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

fn slice<T>(items: &[T], (start, end): (u32, u32)) -> &[T] {
    items.get(start as usize..end as usize).unwrap_or_default()
}
