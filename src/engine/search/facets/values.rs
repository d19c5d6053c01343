//! Counts the documents of each value of a field.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "counts of documents, in 64 bits, and of rows of one batch; codes of a batch, which has a slot for each of them"
)]

use std::borrow::Cow;
use std::collections::HashMap;

use smallvec::SmallVec;

use super::rows::Selected;
use super::strategy::FacetStrategy;
use crate::catalog::FieldId;
use crate::column::{Codes, Column, ColumnData, ColumnLayout, Dictionary, Postings};
use crate::engine::snapshot::View;
use crate::facet::{ValueCounts, ranked};
use crate::rows::RowSet;
use crate::stop::Pace;
use crate::value::{OrderedType, Value, ValueClass};

type Hasher = foldhash::quality::RandomState;

/// The counts of the values of one field so far.
pub(super) enum ValueTally<'v> {
    Strings(StringTally<'v>),
    Ordered(OrderedType, HashMap<i64, u64, Hasher>),
    /// The number of documents with `false`, and with `true`.
    Booleans([u64; 2]),
}

/// The counts of strings.
#[derive(Default)]
pub(super) struct StringTally<'v> {
    /// The slot of each string.
    slots: HashMap<&'v str, u32, Hasher>,
    /// The string and the count of each slot.
    counts: Vec<(&'v str, u64)>,
    /// The last dictionary, with the slot of each code. Most batches of a field with few strings have equal dictionaries.
    last: Option<(&'v Dictionary, Vec<u32>)>,
    /// The count of each code in the current batch.
    by_code: Vec<u32>,
}

/// The estimated work to read and count one value, in units of [`Pace::spend`].
const WORK_OF_A_VALUE: usize = 6;
/// The estimated work to find the slot of a string.
const WORK_OF_A_STRING: usize = 150;

impl<'v> ValueTally<'v> {
    pub(super) fn new(class: ValueClass) -> Self {
        match class {
            ValueClass::Strings => Self::Strings(StringTally::default()),
            ValueClass::Ordered(kind) => Self::Ordered(kind, HashMap::default()),
            ValueClass::Booleans => Self::Booleans([0; 2]),
        }
    }

    /// Adds the counts of all covered batches from the index. Returns the number of documents with a value. Returns `None`, and
    /// adds nothing, if the index does not have the counts.
    pub(super) fn add_index(&mut self, field: FieldId, view: &'v View, pace: &Pace<'_>) -> Option<u64> {
        let Self::Strings(tally) = self else { return None };
        let index = view.index().strings(field)?;
        if !index.is_single() {
            return None;
        }
        let mut deleted: Vec<(usize, &[u32])> = Vec::new();
        for (number, slot) in view.covered_with_tombstones() {
            deleted.push((number, slot.deleted_counts(field)?));
        }
        let mut documents = 0;
        for (text, postings) in index.iter() {
            if pace.spend(WORK_OF_A_VALUE.saturating_mul(deleted.len() + 10)) {
                break;
            }
            let gone = deleted.iter().filter_map(|(number, counts)| {
                counts.get(postings.code(*number)? as usize).copied().map(u64::from)
            });
            let count = postings.rows.saturating_sub(gone.sum());
            documents += count;
            tally.add(text, count);
        }
        Some(documents)
    }

    /// Adds the counts of a batch. Returns the strategy, and the number of selected rows with a value.
    pub(super) fn add(
        &mut self,
        column: &'v Column,
        selected: &Selected<'_>,
        pace: &Pace<'_>,
    ) -> (FacetStrategy, usize) {
        if let (Self::Strings(tally), ColumnData::Strings { dictionary, codes, postings, .. }) =
            (&mut *self, &column.data)
        {
            return tally.add_batch((column, dictionary, codes), postings.as_ref(), selected, pace);
        }
        let with_value = selected.with_value(column);
        if with_value == 0 {
            return (FacetStrategy::Zone, 0);
        }
        let strategy = match (self, &column.data) {
            (Self::Ordered(_, counts), ColumnData::Ordered { values, .. }) => {
                let mut own: SmallVec<[i64; 8]> = SmallVec::new();
                for row in selected.rows.iter(selected.all) {
                    let places = column.places(row);
                    if pace.spend(WORK_OF_A_VALUE.saturating_mul(4 * (places.len() + 1))) {
                        break;
                    }
                    own.clear();
                    own.extend(places.map(|at| values.get(at)));
                    own.sort_unstable();
                    own.dedup();
                    own.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
                }
                FacetStrategy::Values
            }
            (Self::Booleans(counts), ColumnData::Booleans { holders, .. }) => {
                for (count, holder) in counts.iter_mut().zip(&**holders) {
                    *count += selected.rows.count_both(&holder.set(), selected.all) as u64;
                }
                FacetStrategy::Postings
            }
            // The column has the type of the field.
            _ => FacetStrategy::Values,
        };
        (strategy, with_value)
    }

    /// Returns the counts by value. If the search must stop, they are incomplete.
    pub(super) fn finish(self, field: &crate::catalog::Field, limit: u64, pace: &Pace<'_>) -> ValueCounts {
        let unstopped = |_: &(Value<'_>, u64)| !pace.spend(WORK_OF_A_STRING);
        match self {
            Self::Strings(tally) => {
                let counted = tally.counts.into_iter().filter(|(_, count)| *count > 0);
                let counted = counted.map(|(text, count)| (Value::String(Cow::Borrowed(text)), count));
                ranked(field, limit, counted.take_while(unstopped))
            }
            Self::Ordered(kind, counts) => {
                let counted = counts.into_iter().map(|(ordinal, count)| (kind.value(ordinal), count));
                ranked(field, limit, counted.take_while(unstopped))
            }
            Self::Booleans(counts) => {
                let counted = [false, true].map(Value::Boolean).into_iter().zip(counts);
                ranked(field, limit, counted.filter(|(_, count)| *count > 0))
            }
        }
    }
}

impl<'v> StringTally<'v> {
    /// Returns the slot of a string.
    fn slot(&mut self, text: &'v str) -> u32 {
        *self.slots.entry(text).or_insert_with(|| {
            self.counts.push((text, 0));
            // 2^32 distinct strings would need more than 200 GB in `slots` and `counts`.
            u32::try_from(self.counts.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn add(&mut self, text: &'v str, count: u64) {
        if count > 0 {
            let slot = self.slot(text) as usize;
            self.counts[slot].1 += count;
        }
    }

    /// Adds the counts of a batch. Returns the strategy, and the number of selected rows with a value.
    fn add_batch(
        &mut self,
        (column, dictionary, codes): (&'v Column, &'v Dictionary, &'v Codes),
        postings: Option<&Postings>,
        selected: &Selected<'_>,
        pace: &Pace<'_>,
    ) -> (FacetStrategy, usize) {
        if dictionary.len() == 0 {
            return (FacetStrategy::Zone, 0);
        }
        let mut by_code = std::mem::take(&mut self.by_code);
        by_code.clear();
        by_code.resize(dictionary.len(), 0);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a count of rows of one batch, and a code, which has 32 bits"
        )]
        let (strategy, with_value) = match postings {
            Some(postings) if selected.is_all() => {
                let counts = by_code.iter_mut().zip(0..);
                counts.for_each(|(count, code)| *count = postings.count(code) as u32);
                (FacetStrategy::Lengths, selected.with_value(column))
            }
            Some(postings) if prefers_postings(postings, dictionary.len(), selected) => {
                for (count, code) in by_code.iter_mut().zip(0..) {
                    if pace.spend(selected.all / 64) {
                        break;
                    }
                    *count = postings.get(code).count_both(selected.rows, selected.all) as u32;
                }
                (FacetStrategy::Postings, selected.with_value(column))
            }
            _ => {
                pace.spend(WORK_OF_A_VALUE.saturating_mul(selected.count));
                // The type of the codes is chosen outside of the loop.
                let with_value = match codes {
                    Codes::U8(codes) => count_codes(column, codes, selected, &mut by_code),
                    Codes::U16(codes) => count_codes(column, codes, selected, &mut by_code),
                    Codes::U32(codes) => count_codes(column, codes, selected, &mut by_code),
                };
                (FacetStrategy::Codes, with_value)
            }
        };
        self.merge(dictionary, &by_code, pace);
        self.by_code = by_code;
        (strategy, with_value)
    }

    /// Adds the counts of the codes of a dictionary.
    fn merge(&mut self, dictionary: &'v Dictionary, by_code: &[u32], pace: &Pace<'_>) {
        /// Up to this number of strings, a dictionary is compared with the last dictionary.
        const MOST_COMPARED: usize = 1 << 14;
        let is_small = dictionary.len() <= MOST_COMPARED;
        if let Some((last, slots)) = &self.last
            && is_small
            && *last == dictionary
        {
            for (slot, count) in slots.iter().zip(by_code) {
                self.counts[*slot as usize].1 += u64::from(*count);
            }
            return;
        }
        let mut slots = Vec::with_capacity(if is_small { dictionary.len() } else { 0 });
        for (code, count) in by_code.iter().enumerate() {
            if pace.spend(WORK_OF_A_STRING) {
                return;
            }
            // In a small dictionary, a string without a selected row also gets a slot.
            if is_small {
                let slot = self.slot(dictionary.get(code));
                self.counts[slot as usize].1 += u64::from(*count);
                slots.push(slot);
            } else {
                self.add(dictionary.get(code), u64::from(*count));
            }
        }
        self.last = is_small.then_some((dictionary, slots));
    }
}

/// Returns true if intersecting the postings of each string with the selected rows costs less than reading the codes of these rows.
fn prefers_postings(postings: &Postings, strings: usize, selected: &Selected<'_>) -> bool {
    /// Above this number of strings, codes are read without a comparison of the costs.
    const MOST_STRINGS: usize = 256;
    /// The cost of reading and counting the code of a row. The unit is the cost of one 64-bit word of a bitmap.
    const COST_OF_A_CODE: usize = 8;
    /// The cost of testing a listed row, in the same unit.
    const COST_OF_A_TEST: usize = 4;
    if strings > MOST_STRINGS || !matches!(selected.rows, RowSet::Bitmap(_) | RowSet::Range(_)) {
        return false;
    }
    let words = selected.all / 64;
    let costs = (0..).take(strings).map(|code| match postings.get(code) {
        RowSet::List(list) => list.len() * COST_OF_A_TEST,
        _ => words,
    });
    costs.sum::<usize>() < selected.count * COST_OF_A_CODE
}

/// For each selected row, adds 1 to the count of each of its distinct codes. Returns the number of selected rows with a value.
fn count_codes<C: Copy + PartialEq + Into<u32>>(
    column: &Column,
    codes: &[C],
    selected: &Selected<'_>,
    by_code: &mut [u32],
) -> usize {
    /// Up to this number of values in a row, each value is compared with all values before it.
    const FEW_VALUES: usize = 16;
    let count = |by_code: &mut [u32], code: C| by_code[code.into() as usize] += 1;
    match &column.layout {
        ColumnLayout::Single(present) => {
            let present = present.set();
            let mut with_value = 0;
            selected.rows.iter_both(&present, selected.all).for_each(|row| {
                count(by_code, codes[row]);
                with_value += 1;
            });
            with_value
        }
        ColumnLayout::Many(ends) => {
            let mut with_value = 0;
            selected.rows.iter(selected.all).for_each(|row| {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                match &codes[start as usize..ends[row] as usize] {
                    [] => return,
                    [one] => count(by_code, *one),
                    few if few.len() <= FEW_VALUES => {
                        for (at, code) in few.iter().enumerate() {
                            if !few[..at].contains(code) {
                                count(by_code, *code);
                            }
                        }
                    }
                    many => {
                        let mut distinct: Vec<u32> = many.iter().map(|code| (*code).into()).collect();
                        distinct.sort_unstable();
                        distinct.dedup();
                        distinct.into_iter().for_each(|code| by_code[code as usize] += 1);
                    }
                }
                with_value += 1;
            });
            with_value
        }
    }
}
