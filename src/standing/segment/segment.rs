//! An immutable set of named filters that finds the filters that select a case.

use std::ops::Range;
use std::sync::Arc;

use super::super::hasher::Hasher;
use super::super::reads::Reads;
use super::atoms::Atoms;
use super::lookup::Lookup;
use super::names::Names;
use super::patterns::FieldPatterns;
use super::program;
use super::truths::Truths;
use crate::batch::OwnedRow;
use crate::catalog::{Catalog, FieldId};
use crate::filter::PreparedFilter;

/// A flag of [`Segment::rule_expressions`]: the look-up for one case may find the expression more than once.
pub(super) const REPEATED: u32 = 1 << 31;

/// An immutable set of named filters.
pub(in crate::standing) struct Segment {
    pub(super) atoms: Atoms,
    /// The patterns of each field that has patterns, ascending by field.
    pub(super) patterns: Vec<FieldPatterns>,
    /// The fields of the steps, ascending.
    pub(super) fields: Vec<FieldId>,
    /// The fields that the filters read from a case, including the fields whose changes they report.
    pub(in crate::standing) reads: Reads,
    /// The tests that the evaluator of documents evaluates.
    pub(super) others: Vec<Arc<PreparedFilter>>,
    pub(super) lookup: Lookup,
    /// The steps of all rules.
    pub(super) words: Vec<u32>,
    /// The end of each rule in `words`.
    pub(super) rule_ends: Vec<u32>,
    /// The expression of each rule, ascending, with the flag [`REPEATED`].
    pub(super) rule_expressions: Vec<u32>,
    /// The end of the names of each expression.
    pub(super) name_ends: Vec<u32>,
    pub(in crate::standing) names: Names,
}

/// Scratch space for matching a case. It is reused for the next case.
#[derive(Debug, Default)]
pub(in crate::standing) struct Scratch {
    truths: Truths,
    /// The results of the other tests, each with the stamp of the case and segment that it belongs to.
    results: Vec<(u32, bool)>,
    stamp: u32,
    open: Vec<u32>,
    /// The expressions that hold for the case, without those that are in `repeated`.
    found: Vec<u32>,
    /// Expressions that hold for the case. The list may contain an expression more than once.
    repeated: Vec<u32>,
}

impl Scratch {
    /// Begins the matching of a case with a segment that has `others` other tests. Earlier results are not used any more.
    fn begin(&mut self, others: usize) {
        if let Some(stamp) = self.stamp.checked_add(1) {
            self.stamp = stamp;
        } else {
            self.results.clear();
            self.stamp = 1;
        }
        if self.results.len() < others {
            self.results.resize(others, (0, false));
        }
        self.found.clear();
        self.repeated.clear();
    }
}

impl Segment {
    /// Returns the number of expressions.
    pub(super) fn expressions(&self) -> u32 {
        super::count::count(self.name_ends.len())
    }

    /// Returns the ids of the names of an expression.
    #[inline]
    pub(super) fn names_of(&self, expression: u32) -> Range<u32> {
        let end = |at: usize| self.name_ends.get(at).copied().unwrap_or_default();
        let at = expression as usize;
        at.checked_sub(1).map_or(0, end)..end(at)
    }

    /// Returns the rules of an expression.
    pub(super) fn rules_of(&self, expression: u32) -> Range<u32> {
        let before = |end: u32| self.rule_expressions.partition_point(|own| *own & !REPEATED < end);
        let (start, end) = (before(expression), before(expression.saturating_add(1)));
        super::count::count(start)..super::count::count(end)
    }

    /// Returns the words of a rule.
    #[inline]
    pub(super) fn rule(&self, rule: u32) -> &[u32] {
        let end = |at: usize| self.rule_ends.get(at).map_or(0, |end| *end as usize);
        let at = rule as usize;
        self.words.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default()
    }

    /// Calls `found` for the id of each name whose filter selects a case. `catalog` is the catalogue with which the row was read.
    pub(in crate::standing) fn matching(
        &self,
        row: &OwnedRow,
        catalog: &Catalog,
        hasher: &Hasher,
        scratch: &mut Scratch,
        mut found: impl FnMut(u32),
    ) {
        scratch.begin(self.others.len());
        let Scratch { truths, results, stamp, open, found: holding, repeated } = scratch;
        truths.read(row, &self.fields, (&self.atoms, hasher), &self.patterns);
        let truths = &*truths;
        let mut other = |index: u32| {
            let Some(other) = self.others.get(index as usize) else { return false };
            match results.get_mut(index as usize) {
                Some((own, result)) if own == stamp => *result,
                Some(place) => {
                    let result = other.selects(row, catalog);
                    *place = (*stamp, result);
                    result
                }
                None => other.selects(row, catalog),
            }
        };
        self.lookup.find(truths, &self.fields, open, |rule, is_repeated| {
            if program::holds(self.rule(rule), truths, &mut other) {
                let expression = self.rule_expressions.get(rule as usize).copied().unwrap_or_default();
                if is_repeated || expression & REPEATED != 0 {
                    repeated.push(expression & !REPEATED);
                } else {
                    holding.push(expression);
                }
            }
        });
        repeated.sort_unstable();
        repeated.dedup();
        for expression in holding.iter().chain(repeated.iter()) {
            self.names_of(*expression).for_each(&mut found);
        }
    }

    /// Returns the number of rules that are evaluated for a case. Only unit tests call this method.
    #[cfg(test)]
    pub(in crate::standing) fn evaluated(&self, row: &OwnedRow, hasher: &Hasher) -> usize {
        let mut scratch = Scratch::default();
        scratch.truths.read(row, &self.fields, (&self.atoms, hasher), &self.patterns);
        let mut rules = 0;
        self.lookup.find(&scratch.truths, &self.fields, &mut scratch.open, |_, _| rules += 1);
        rules
    }

    /// Returns the memory in bytes, without the names and the texts of the filters.
    pub(in crate::standing) fn size_bytes(&self) -> usize {
        let words = |words: &Vec<u32>| words.capacity().saturating_mul(size_of::<u32>());
        let patterns = self.patterns.iter().map(FieldPatterns::size_bytes);
        let others = self.others.iter().map(|other| other.filter().size_bytes());
        [
            size_of::<Self>(),
            self.atoms.size_bytes(),
            self.lookup.size_bytes(),
            words(&self.words),
            words(&self.rule_ends),
            words(&self.rule_expressions),
            words(&self.name_ends),
            self.names.size_bytes(),
            self.reads.size_bytes(),
        ]
        .into_iter()
        .chain(patterns)
        .chain(others)
        .fold(0, usize::saturating_add)
    }
}
