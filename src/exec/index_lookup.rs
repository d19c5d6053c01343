//! Looks up the leaves of a query in the index over all batches, once per query.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "places among some rows, and the number of the string that a key was found by; the work of strings in memory"
)]

use std::sync::OnceLock;

use super::access_path::prefetch_code;
use super::pattern_codes::{PatternSearch, work_of_matching};
use crate::batch::Batch;
use crate::catalog::FieldId;
use crate::column::{Codes, Dictionary};
use crate::index::{BatchIndex, FieldIndex, GlobalRow, StringPostings, ZoneIndex, places_of_batch, split};
use crate::kernels;
use crate::predicate::{Leaf, Matcher, Set, TextPattern};
use crate::stop::{PART, Pace, StopCheck, sort_window};
use crate::value::OrdinalRange;

/// The result of looking up a leaf in the index over all batches.
pub(super) enum IndexLookup<'q> {
    /// The leaf is part of a branch that is [left out](super::query::Query::without_indexed_branches). It selects no row, so it is
    /// not evaluated.
    Nowhere,
    /// The index has no rows for the leaf, so the column of each batch is read.
    Column,
    /// The index has no rows for the pattern of the leaf, so the dictionary of each batch is searched.
    Pattern(Box<PatternSearch<'q>>),
    /// The postings of the strings of the leaf that occur in covered batches, and the number of strings that the leaf tests.
    Strings(Vec<&'q StringPostings>, /* the number of strings of the leaf */ usize),
    /// The rows that have one of the strings of the leaf.
    Rows(KeyRows<'q>),
}

/// A leaf that tests ranges of a field with zone maps.
#[derive(Clone, Copy)]
pub(super) struct ZonedLeaf<'q> {
    pub(super) node: usize,
    pub(super) zones: &'q ZoneIndex,
    pub(super) ranges: &'q [OrdinalRange],
    /// True if the leaf selects the rows without a value in the ranges.
    pub(super) is_negated: bool,
}

/// Rows that were found in the key index. They are sorted on first use.
pub(super) struct KeyRows<'q> {
    found: Vec<GlobalRow>,
    ascending: OnceLock<Ascending>,
    /// The stop check, which may end the sort early.
    stop: Option<&'q StopCheck<'q>>,
}

/// Rows of all batches in ascending order, and for each row its index in its batch.
struct Ascending {
    rows: Vec<GlobalRow>,
    in_batch: Vec<u16>,
}

impl KeyRows<'_> {
    /// Returns the rows, in any order.
    pub(super) fn found(&self) -> &[GlobalRow] {
        &self.found
    }

    fn sorted(&self) -> &Ascending {
        self.ascending.get_or_init(|| {
            let mut rows = self.found.clone();
            let pace = Pace::new(self.stop);
            if pace.can_stop() && rows.len() > PART {
                let all = 0..rows.len();
                sort_window(&mut rows, all, &pace, Ord::cmp);
                if pace.is_stopped() {
                    // The sort is incomplete, so the rows may be in any order.
                    rows.clear();
                }
            } else {
                rows.sort_unstable();
            }
            let in_batch = rows.iter().map(|row| split(*row).1).collect();
            Ascending { rows, in_batch }
        })
    }

    /// Returns the rows in ascending order.
    pub(super) fn ascending(&self) -> &[GlobalRow] {
        &self.sorted().rows
    }

    /// Returns the rows of batch `number` in ascending order.
    pub(super) fn of_batch(&self, number: usize) -> &[u16] {
        let Ascending { rows, in_batch } = self.sorted();
        &in_batch[places_of_batch(rows, number)]
    }
}

/// The estimated work of looking up one string (about 100 ns), in units of [`Pace::spend`].
const WORK_OF_A_LOOKUP: usize = 400;

/// Returns the items until the search must stop. Adds the work of one lookup for each item.
pub(super) fn unstopped<'t, T>(items: &'t [T], pace: &'t Pace<'_>) -> impl Iterator<Item = &'t T> {
    items.iter().take_while(|_| !pace.spend(WORK_OF_A_LOOKUP))
}

/// Looks a leaf up in the index over all batches. `batch` returns the covered batch with the given batch number.
pub(super) fn look_up<'q, 'b>(
    leaf: &'q Leaf,
    index: &'q BatchIndex,
    batch: &impl Fn(usize) -> Option<&'b Batch>,
    pace: &Pace<'q>,
) -> IndexLookup<'q> {
    let texts = match leaf.test.set() {
        Some(Set::Strings(points)) => points.as_slice(),
        Some(Set::Matching(pattern)) => return look_up_pattern(leaf.field, pattern, index, pace),
        Some(Set::Ordered(_) | Set::Booleans(_)) | None => return IndexLookup::Column,
    };
    if let Some(found) = index.find_unindexed(leaf.field, texts) {
        return IndexLookup::Rows(KeyRows { found, ascending: OnceLock::new(), stop: pace.check() });
    }
    match index.field(leaf.field) {
        FieldIndex::Strings(strings) => {
            let found = unstopped(texts, pace).filter_map(|text| strings.get(text));
            IndexLookup::Strings(found.collect(), texts.len())
        }
        FieldIndex::Keys(_) => {
            /// The minimum initial capacity in rows. Several rows may have the same string of a key field.
            const LIKELY: usize = 4;
            let mut found = Vec::with_capacity(texts.len().max(LIKELY));
            // If keys are looked up together, their cache misses overlap.
            let together = if pace.can_stop() { KEYS_OF_A_CHECK } else { texts.len().max(1) };
            for texts in texts.chunks(together) {
                if pace.spend(texts.len() * WORK_OF_A_LOOKUP) {
                    break;
                }
                find_keys(index, leaf.field, texts, batch, |row, _| found.push(row));
            }
            IndexLookup::Rows(KeyRows { found, ascending: OnceLock::new(), stop: pace.check() })
        }
        _ => IndexLookup::Column,
    }
}

/// Looks a pattern up in the strings of all batches. The result is the same as for a list of all strings that the pattern matches.
fn look_up_pattern<'q>(
    field: FieldId,
    pattern: &'q TextPattern,
    index: &'q BatchIndex,
    pace: &Pace<'_>,
) -> IndexLookup<'q> {
    match index.strings(field) {
        // `Every` needs no lookup: it selects the rows for which the column has a value.
        Some(strings) if *pattern != TextPattern::Every => {
            let matcher = Matcher::new(pattern);
            let strings = strings.iter().take_while(|(text, _)| !pace.spend(work_of_matching(text)));
            let found = strings.filter(|(text, _)| matcher.is_match(text));
            let found: Vec<&StringPostings> = found.map(|(_, postings)| postings).collect();
            let wanted = found.len();
            IndexLookup::Strings(found, wanted)
        }
        _ if *pattern == TextPattern::Every => IndexLookup::Column,
        _ => IndexLookup::Pattern(Box::new(PatternSearch::new(pattern))),
    }
}

/// The number of keys that are looked up between two stop checks.
const KEYS_OF_A_CHECK: usize = 1 << 12;

/// The number of rows whose strings are compared together.
const TOGETHER: usize = 32;

/// Calls `take` for each row of covered batches that has one of `texts` in a key field. Passes the row, and the index of its string
/// in `texts`. Deleted rows are included. `batch` returns the covered batch with the given batch number.
///
/// Each row needs three loads: the code, the end of the string, and the string. Each load needs the result of the load before it.
/// Each loop over the rows prefetches one of these loads for all rows, so that the cache misses of the rows overlap.
pub(crate) fn find_keys<'b>(
    index: &BatchIndex,
    field: FieldId,
    texts: &[impl AsRef<str>],
    batch: &impl Fn(usize) -> Option<&'b Batch>,
    mut take: impl FnMut(GlobalRow, u32),
) {
    let FieldIndex::Keys(keys) = index.field(field) else { return };
    let column = |row| {
        let (batch_number, row) = split(row);
        Some((batch(batch_number)?.column(field)?, usize::from(row)))
    };
    if let [text] = texts {
        for found in index.probe(keys, text.as_ref()) {
            if column(found).and_then(|(column, row)| column.string(row)) == Some(text.as_ref()) {
                take(found, 0);
            }
        }
        return;
    }
    let found = index.probe_all(keys, texts, kernels::prefetch);
    // If there are more rows than batch numbers, the columns are cached by batch number.
    let batches = if found.len() > index.numbers() { index.numbers() } else { 0 };
    let mut known: Vec<Option<Option<(&Dictionary, &Codes)>>> = vec![None; batches];
    let mut strings = |number: usize| {
        let strings = || batch(number)?.column(field)?.dictionary();
        match known.get_mut(number) {
            Some(known) => *known.get_or_insert_with(strings),
            None => strings(),
        }
    };
    for found in found.chunks(TOGETHER) {
        let mut places = [None; TOGETHER];
        for (place, (row, _)) in places.iter_mut().zip(found) {
            let (number, row) = split(*row);
            *place = strings(number).map(|(dictionary, codes)| {
                prefetch_code(codes, usize::from(row));
                (dictionary, codes, usize::from(row))
            });
        }
        let mut coded = [None; TOGETHER];
        for (coded, place) in coded.iter_mut().zip(&places) {
            // A row with a key entry has a value.
            *coded = place.map(|(dictionary, codes, row)| {
                let code = codes.get(row);
                kernels::prefetch(dictionary.ends(), code);
                (dictionary, code)
            });
        }
        let mut texts_found = [None; TOGETHER];
        for (text, coded) in texts_found.iter_mut().zip(&coded) {
            *text = coded.map(|(dictionary, code)| {
                let text = dictionary.bytes(code);
                kernels::prefetch(text, 0);
                text
            });
        }
        for ((row, number), text) in found.iter().zip(&texts_found) {
            if *text == Some(texts[*number as usize].as_ref().as_bytes()) {
                take(*row, *number);
            }
        }
    }
}
