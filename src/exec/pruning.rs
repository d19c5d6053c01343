//! Uses zone maps to exclude batches in which no row can be selected (pruning). Also uses them to find leaves that have the same
//! result for every row of a batch, including deleted rows.
#![expect(clippy::indexing_slicing, reason = "a value for each node, children before their parents")]

use smallvec::{SmallVec, smallvec};

use super::index_lookup::{IndexLookup, ZonedLeaf};
use super::query::Query;
use crate::index::{FieldIndex, ZoneIndex, split};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test};
use crate::value::OrdinalRange;

impl<'q> Query<'q> {
    /// Returns the leaves that may be constant in some of the [remaining batches](Self::batches), in ascending order of node id. A
    /// leaf is constant in a batch if the zone map of the batch overlaps none of the leaf's ranges.
    ///
    /// Returns no leaves if the predicate has only one node, or if all such leaves are conjuncts that are not negated. If such a
    /// conjunct is constant in a batch, it is false, so this batch has already been excluded.
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

    /// Returns the leaf of a node, if it tests ranges of a field with zone maps.
    fn zoned_leaf(&self, node: usize, leaf: &'q Node<Leaf>) -> Option<ZonedLeaf<'q>> {
        let Node::Leaf(leaf) = leaf else { return None };
        let (Test::Any(Set::Ordered(ranges)) | Test::None(Set::Ordered(ranges))) = &leaf.test else {
            return None;
        };
        let FieldIndex::Ordered(zones) = self.index.field(leaf.field) else { return None };
        Some(ZonedLeaf { node, zones, ranges: ranges.as_slice(), is_negated: leaf.test.is_negated() })
    }

    /// Returns an entry for each node: its constant value in this batch, or `None` if the zone maps do not determine it. `false`
    /// selects no row, and `true` selects every row. A branch is constant if its children determine its value. A node whose parents
    /// are all constant is not evaluated. If the zone maps do not determine the value of such a node, its entry is `Some(false)`.
    /// Returns an empty list if no node is constant.
    ///
    /// The zone maps of all batches are contiguous in memory, so reading them is fast. If they determine the result for the root,
    /// no leaf reads the batch.
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
        // A node is needed if one of its parents is needed and not constant. Parents come after their children.
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

    /// Returns the batch numbers of the covered batches that may have a selected row, in ascending order.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let batches = self.index.numbers();
        let Some(root) = self.covered_root() else { return Vec::new() };
        if let Node::Constant(false) = self.predicate.node(root) {
            return Vec::new();
        }
        let mut kept: Option<Vec<usize>> = None;
        /// The estimated work of a leaf on the zone map of one batch, in units of [`Pace::spend`](crate::stop::Pace::spend).
        const WORK_OF_A_ZONE: usize = 32;
        for id in self.conjuncts(&root) {
            if self.pace.spend(batches.saturating_mul(WORK_OF_A_ZONE)) {
                break;
            }
            if let Node::Leaf(leaf) = self.predicate.node(*id) {
                self.retain(leaf, &self.lookups[*id], batches, &mut kept);
            }
        }
        kept.unwrap_or_else(|| (0..batches).collect())
    }

    /// Retains the batches in which a leaf may select a row. `kept` is `None` as long as no leaf has excluded batches.
    fn retain(&self, leaf: &Leaf, lookup: &IndexLookup<'_>, batches: usize, kept: &mut Option<Vec<usize>>) {
        let Test::Any(set) = &leaf.test else { return };
        match (lookup, set) {
            (IndexLookup::Rows(rows), _) => {
                let mut with_rows: Vec<usize> = rows.ascending().iter().map(|row| split(*row).0).collect();
                with_rows.dedup();
                if let Some(kept) = &kept {
                    with_rows.retain(|batch| kept.binary_search(batch).is_ok());
                }
                *kept = Some(with_rows);
            }
            (_, Set::Ordered(ranges)) => {
                if let FieldIndex::Ordered(zones) = self.index.field(leaf.field) {
                    retain_meeting(zones, batches, ranges.as_slice(), kept);
                }
            }
            _ => {}
        }
    }
}

/// Retains the batches whose zone map overlaps one of the ranges. If `kept` is `None`, starts with all of `batches` batches.
fn retain_meeting(zones: &ZoneIndex, batches: usize, ranges: &[OrdinalRange], kept: &mut Option<Vec<usize>>) {
    match (kept, ranges) {
        (Some(kept), _) => kept.retain(|batch| meets(zones, *batch, ranges)),
        // Most leaves have a single range.
        (none, [range]) => {
            *none = Some(zones.overlapping(*range).take_while(|batch| *batch < batches).collect());
        }
        (none, _) => *none = Some((0..batches).filter(|batch| meets(zones, *batch, ranges)).collect()),
    }
}

/// Returns true if the zone map of a batch overlaps one of the ranges.
fn meets(zones: &ZoneIndex, batch: usize, ranges: &[OrdinalRange]) -> bool {
    let Some((least, greatest)) = zones.get(batch) else { return false };
    let at = ranges.partition_point(|(_, high)| *high < least);
    ranges.get(at).is_some_and(|(low, _)| *low <= greatest)
}
