//! Zone maps of all batches: which batches may have a row, and which leaves are settled in a batch.

use smallvec::{SmallVec, smallvec};

use super::index_lookup::IndexLookup;
use super::query::Query;
use crate::index::{FieldDirectory, Zones, split};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test};
use crate::value::OrdinalRange;

impl Query<'_> {
    /// Whether zone maps may settle a leaf in a batch that [may have a row](Self::batches): one that every row must pass
    /// has ruled out the batches in which no row does.
    pub(super) fn has_zones(&self) -> bool {
        if self.predicate.nodes().len() == 1 {
            return false;
        }
        let has_zones = |leaf: &Leaf| matches!(self.directory.field(leaf.field), FieldDirectory::Ordered(_));
        let may_be_settled = |node: &Node<Leaf>| matches!(node, Node::Leaf(leaf) if has_zones(leaf));
        let has_ruled_out = |node: &&usize| match self.predicate.get(**node) {
            Some(Node::Leaf(leaf)) => has_zones(leaf) && matches!(leaf.test, Test::Any(_)),
            _ => false,
        };
        let root = self.covered_root().unwrap_or_default();
        let ruling_out = self.conjuncts(&root).iter().filter(has_ruled_out).count();
        self.predicate.nodes().iter().filter(|node| may_be_settled(node)).nth(ruling_out).is_some()
    }

    /// By node, what the zone maps of a batch settle, for no row or for every row; nodes that only settled ones lie above are of no
    /// interest, and count as settled. Nothing, where there are no zone maps.
    ///
    /// They lie one behind the other, apart from the batches: most batches that a range leaves out are
    /// never looked at for the criteria beside it.
    pub(super) fn settled_by_zones(&self, number: usize) -> SmallVec<[Option<bool>; 32]> {
        let mut settled: SmallVec<[Option<bool>; 32]> = SmallVec::new();
        if !self.has_zones || !self.directory.covers(number) {
            return settled;
        }
        for (id, node) in self.predicate.nodes().iter().enumerate() {
            let value = match node {
                _ if self.is_left_out(id) => Some(false),
                Node::Constant(value) => Some(*value),
                Node::Leaf(leaf) => self.settled_leaf(leaf, number),
                Node::Branch(connective, children) => {
                    let neutral = *connective == Connective::And;
                    let value = |child: &usize| settled.get(*child).copied().flatten();
                    if children.iter().any(|child| value(child) == Some(!neutral)) {
                        Some(!neutral)
                    } else {
                        children.iter().all(|child| value(child) == Some(neutral)).then_some(neutral)
                    }
                }
            };
            settled.push(value);
        }
        if settled.iter().all(Option::is_none) {
            return SmallVec::new();
        }
        // A node is of interest if one of its parents is that is not settled; parents stand behind their children.
        let mut is_needed: SmallVec<[bool; 32]> = smallvec![false; settled.len()];
        if let Some(root) = is_needed.last_mut() {
            *root = true;
        }
        for (id, node) in self.predicate.nodes().iter().enumerate().rev() {
            let Some(value) = settled.get_mut(id) else { continue };
            match node {
                _ if is_needed.get(id) != Some(&true) => *value = value.or(Some(false)),
                Node::Branch(_, children) if value.is_none() => {
                    for child in children {
                        if let Some(is_needed) = is_needed.get_mut(*child) {
                            *is_needed = true;
                        }
                    }
                }
                _ => {}
            }
        }
        settled
    }

    fn settled_leaf(&self, leaf: &Leaf, number: usize) -> Option<bool> {
        let (set, otherwise) = match &leaf.test {
            Test::Any(set) => (set, false),
            Test::None(set) => (set, true),
            Test::All(_) => return None,
        };
        let meets = match (self.directory.field(leaf.field), set) {
            (FieldDirectory::Ordered(zones), Set::Ordered(ranges)) => meets(zones, number, ranges.as_slice()),
            _ => true,
        };
        (!meets).then_some(otherwise)
    }

    /// The numbers of the covered batches that may have a row, ascending.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let batches = self.directory.numbers();
        let Some(root) = self.covered_root() else { return Vec::new() };
        if let Some(Node::Constant(false)) | None = self.predicate.get(root) {
            return Vec::new();
        }
        let mut kept: Option<Vec<usize>> = None;
        for id in self.conjuncts(&root) {
            let Some(Node::Leaf(leaf)) = self.predicate.get(*id) else { continue };
            self.retain(leaf, self.accesses.get(*id), batches, &mut kept);
        }
        kept.unwrap_or_else(|| (0..batches).collect())
    }

    /// Keeps the batches in which a leaf may select a row.
    fn retain(
        &self,
        leaf: &Leaf,
        access: Option<&IndexLookup<'_>>,
        batches: usize,
        kept: &mut Option<Vec<usize>>,
    ) {
        let Test::Any(set) = &leaf.test else { return };
        match (access, self.directory.field(leaf.field), set) {
            (Some(IndexLookup::Rows(rows)), _, _) => {
                let mut with_rows: Vec<usize> = rows.ascending().iter().map(|row| split(*row).0).collect();
                with_rows.dedup();
                if let Some(kept) = &kept {
                    with_rows.retain(|batch| kept.binary_search(batch).is_ok());
                }
                *kept = Some(with_rows);
            }
            (_, FieldDirectory::Ordered(zones), Set::Ordered(ranges)) => {
                retain_meeting(zones, batches, ranges.as_slice(), kept);
            }
            _ => {}
        }
    }
}

/// Keeps the batches, at first all of so many, whose zone has a value in one of the ranges.
fn retain_meeting(zones: &Zones, batches: usize, ranges: &[OrdinalRange], kept: &mut Option<Vec<usize>>) {
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
fn meets(zones: &Zones, batch: usize, ranges: &[OrdinalRange]) -> bool {
    let Some((least, greatest)) = zones.get(batch) else { return false };
    let at = ranges.partition_point(|(_, high)| *high < least);
    ranges.get(at).is_some_and(|(low, _)| *low <= greatest)
}
