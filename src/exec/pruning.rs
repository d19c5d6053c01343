//! Zone maps of all batches: which batches may have a row, and which leaves are settled in a batch.
#![expect(clippy::indexing_slicing, reason = "a value for each node, children before their parents")]

use smallvec::{SmallVec, smallvec};

use super::index_lookup::{IndexLookup, ZonedLeaf};
use super::query::Query;
use crate::index::{FieldIndex, ZoneIndex, split};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test};
use crate::value::OrdinalRange;

impl<'q> Query<'q> {
    /// Returns the leaves, ascending by node, that zone maps may settle in a batch that [may have a row](Self::batches); none where a leaf that every
    /// row must pass has ruled out all batches in which another could be settled.
    pub(super) fn zoned_leaves(&self) -> Vec<ZonedLeaf<'q>> {
        let nodes = self.predicate.nodes();
        let zoned: SmallVec<[ZonedLeaf<'q>; 4]> =
            (0..).zip(nodes).filter_map(|(id, node)| self.zoned_leaf(id, node)).collect();
        let has_ruled_out = |id: &&usize| {
            matches!(self.predicate.node(**id), Node::Leaf(Leaf { test: Test::Any(_), .. }))
                && zoned.iter().any(|leaf| leaf.node == **id)
        };
        let root = self.covered_root().unwrap_or_default();
        let ruling_out = self.conjuncts(&root).iter().filter(has_ruled_out).count();
        if nodes.len() > 1 && zoned.len() > ruling_out { zoned.to_vec() } else { Vec::new() }
    }

    fn zoned_leaf(&self, node: usize, leaf: &'q Node<Leaf>) -> Option<ZonedLeaf<'q>> {
        let Node::Leaf(leaf) = leaf else { return None };
        let (Test::Any(Set::Ordered(ranges)) | Test::None(Set::Ordered(ranges))) = &leaf.test else {
            return None;
        };
        let FieldIndex::Ordered(zones) = self.index.field(leaf.field) else { return None };
        Some(ZonedLeaf { node, zones, ranges: ranges.as_slice(), is_negated: leaf.test.is_negated() })
    }

    /// By node, the value that the zone maps of a batch settle it to, for no row or for every row; nodes above which only settled
    /// ones lie count as settled. Empty where zone maps settle nothing.
    ///
    /// The zone maps of all batches are side by side: most batches that a range rules out are never read for the criteria beside
    /// it.
    pub(super) fn settled_by_zones(&self, number: usize) -> SmallVec<[Option<bool>; 32]> {
        let mut settled: SmallVec<[Option<bool>; 32]> = SmallVec::new();
        let is_settled = |leaf: &ZonedLeaf<'_>| !meets(leaf.zones, number, leaf.ranges);
        if !self.index.covers(number) || !(self.leaves_out() || self.zoned.iter().any(is_settled)) {
            return settled;
        }
        let nodes = self.predicate.nodes();
        let mut zoned = self.zoned.iter().peekable();
        for (id, node) in nodes.iter().enumerate() {
            let zoned = zoned.next_if(|leaf| leaf.node == id);
            settled.push(match node {
                _ if self.is_left_out(id) => Some(false),
                Node::Constant(value) => Some(*value),
                Node::Leaf(_) => zoned.filter(|leaf| is_settled(leaf)).map(|leaf| leaf.is_negated),
                Node::Branch(connective, children) => {
                    let neutral = *connective == Connective::And;
                    if children.iter().any(|child| settled[*child] == Some(!neutral)) {
                        Some(!neutral)
                    } else {
                        children.iter().all(|child| settled[*child] == Some(neutral)).then_some(neutral)
                    }
                }
            });
        }
        // A node is needed if one of its parents is that is not settled; parents come after their children.
        let mut is_needed: SmallVec<[bool; 32]> = smallvec![false; nodes.len()];
        is_needed[self.predicate.root()] = true;
        for (id, node) in nodes.iter().enumerate().rev() {
            match node {
                _ if !is_needed[id] => settled[id] = settled[id].or(Some(false)),
                Node::Branch(_, children) if settled[id].is_none() => {
                    children.iter().for_each(|child| is_needed[*child] = true);
                }
                _ => {}
            }
        }
        settled
    }

    /// The numbers of the covered batches that may have a row, ascending.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let batches = self.index.numbers();
        let Some(root) = self.covered_root() else { return Vec::new() };
        if let Node::Constant(false) = self.predicate.node(root) {
            return Vec::new();
        }
        let mut kept: Option<Vec<usize>> = None;
        for id in self.conjuncts(&root) {
            if let Node::Leaf(leaf) = self.predicate.node(*id) {
                self.retain(leaf, &self.lookups[*id], batches, &mut kept);
            }
        }
        kept.unwrap_or_else(|| (0..batches).collect())
    }

    /// Keeps the batches in which a leaf may select a row.
    fn retain(&self, leaf: &Leaf, lookup: &IndexLookup<'_>, batches: usize, kept: &mut Option<Vec<usize>>) {
        let Test::Any(set) = &leaf.test else { return };
        match (lookup, self.index.field(leaf.field), set) {
            (IndexLookup::Rows(rows), _, _) => {
                let mut with_rows: Vec<usize> = rows.ascending().iter().map(|row| split(*row).0).collect();
                with_rows.dedup();
                if let Some(kept) = &kept {
                    with_rows.retain(|batch| kept.binary_search(batch).is_ok());
                }
                *kept = Some(with_rows);
            }
            (_, FieldIndex::Ordered(zones), Set::Ordered(ranges)) => {
                retain_meeting(zones, batches, ranges.as_slice(), kept);
            }
            _ => {}
        }
    }
}

/// Keeps the batches whose zone map overlaps one of the ranges; `kept` is at first all of `batches` batches.
fn retain_meeting(zones: &ZoneIndex, batches: usize, ranges: &[OrdinalRange], kept: &mut Option<Vec<usize>>) {
    match (kept, ranges) {
        (Some(kept), _) => kept.retain(|batch| meets(zones, *batch, ranges)),
        // One range, as a rule.
        (none, [range]) => {
            *none = Some(zones.overlapping(*range).take_while(|batch| *batch < batches).collect());
        }
        (none, _) => *none = Some((0..batches).filter(|batch| meets(zones, *batch, ranges)).collect()),
    }
}

/// True when the zone of a batch and one of the ranges have a value in common.
fn meets(zones: &ZoneIndex, batch: usize, ranges: &[OrdinalRange]) -> bool {
    let Some((least, greatest)) = zones.get(batch) else { return false };
    let at = ranges.partition_point(|(_, high)| *high < least);
    ranges.get(at).is_some_and(|(low, _)| *low <= greatest)
}
