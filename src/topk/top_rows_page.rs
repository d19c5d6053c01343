//! A page from selected rows of all batches that are known together.

use super::heap::Best;
use super::key::{Key, Keys, SortBy, key_range};
use super::sorted::Visit;
use super::stored::first_page;
use crate::batch::Batch;
use crate::batch::RowAddr;
use crate::column::LANES;
use crate::exec::Selected;
use crate::index::{Leader, split};

/// The batches whose order is known, and their first rows.
pub(crate) struct Covered<'c, 'b, I> {
    /// Those that may have a selected row, in the order of their first keys.
    pub(crate) in_order: I,
    /// How many these are.
    pub(crate) kept: usize,
    /// How many there are.
    pub(crate) all: usize,
    /// The first rows of all of them, in order; empty where they are not known.
    pub(crate) leaders: &'c [Leader],
    /// The batch of a number.
    pub(crate) batch: &'c dyn Fn(usize) -> Option<&'b Batch>,
    /// Of the leaders from 64 times a number on, at most 64, those that are live and selected, a bit each.
    pub(crate) select_leaders: &'c dyn Fn(usize, &[Leader]) -> u64,
}

/// Finding the first rows of a batch takes as long as asking so many rows by themselves.
const ROWS_OF_A_BATCH: usize = 128;
/// So many leaders tell in how many batches they lie.
const SAMPLE: usize = 64;
/// So many selected rows may be missing by chance.
const CHANCE: usize = 16;

/// The best rows of all batches; `None` when they are sooner found batch by batch, or are not all known.
pub(super) fn ranked<'b, 's>(
    covered: &Covered<'_, 'b, impl Iterator<Item = Visit<'b>> + Clone>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'s>,
    wanted: usize,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Option<Best<'b, 's>> {
    let leaders = covered.leaders;
    if batches(leaders.get(..wanted.max(SAMPLE))?) < 2 {
        return None;
    }
    // As if the batches were like the first, and those that were ruled out had no row.
    let first = covered.in_order.clone().next()?;
    let likely = select(&first).likely().saturating_mul(covered.kept);
    let rows = first.batch.rows().saturating_mul(covered.all);
    let expected = wanted.saturating_mul(rows).checked_div(likely)?;
    if batches(leaders.get(..expected)?).saturating_mul(ROWS_OF_A_BATCH) < expected {
        return None;
    }
    let SortBy::Field { descending, .. } = by else { return None };
    // What their ranks tell need not be read in the batches.
    let keyed = first_selected(covered, leaders, wanted, expected)?
        .into_iter()
        .map(|(rank, batch, at)| (Key::Ordinal(if descending { !rank } else { rank }), batch, at));
    Some(best_of(keyed, others, by, wanted, select))
}

/// Sorts selected rows together with those of other batches, and gives those from `offset`, at most `limit`.
pub(crate) fn listed_page<'b>(
    listed: impl Iterator<Item = (&'b Batch, RowAddr)>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'_>,
    (offset, limit): (usize, usize),
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Vec<RowAddr> {
    let keyed = listed.map(|(batch, at)| (Keys::new(batch, by).key(usize::from(at.row), by), batch, at));
    best_of(keyed, others, by, offset.saturating_add(limit), select).page(offset, limit)
}

/// Puts selected rows before those of other batches, which lie behind them, and gives those from `offset`, at most `limit`, as they
/// are stored.
pub(crate) fn listed_page_as_stored<'b>(
    mut listed: Vec<RowAddr>,
    others: impl Iterator<Item = Visit<'b>>,
    (offset, limit): (usize, usize),
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Vec<RowAddr> {
    listed.sort_unstable_by_key(|at| (at.batch, at.row));
    let passed = offset.min(listed.len());
    listed.drain(..passed);
    listed.truncate(limit);
    let rest = (offset.saturating_sub(passed), limit.saturating_sub(listed.len()));
    listed.extend(first_page(others, rest, None, select));
    listed
}

/// The best of some selected rows and those of other batches.
fn best_of<'b, 's>(
    rows: impl Iterator<Item = (Key<'b>, &'b Batch, RowAddr)>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'s>,
    wanted: usize,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Best<'b, 's> {
    let mut best = Best::new(by);
    best.wanted = wanted;
    best.take_in_rows(rows);
    for visit in others {
        if !best.is_behind(&key_range(visit.batch, by).0) {
            best.take_in(&visit, &select(&visit), &mut 0);
        }
    }
    best
}

/// In about how many batches some leaders lie, if these are not many.
fn batches(leaders: &[Leader]) -> usize {
    /// Numbers that leave the same rest count as one.
    const WORDS: usize = 16;
    let mut seen = [0_u64; WORDS];
    for leader in leaders.iter().step_by(leaders.len().div_ceil(SAMPLE).max(1)) {
        let (number, _) = split(leader.row);
        if let Some(word) = seen.get_mut(number / LANES % WORDS) {
            *word |= 1 << (number % LANES);
        }
    }
    seen.iter().map(|word| word.count_ones() as usize).sum()
}

/// The first so many leaders that are selected, each with its rank, with all of the last one's rank; `None` when there are fewer, or by far
/// fewer than `wanted` among `expected`.
fn first_selected<'b, I>(
    covered: &Covered<'_, 'b, I>,
    leaders: &[Leader],
    wanted: usize,
    expected: usize,
) -> Option<Vec<(i64, &'b Batch, RowAddr)>> {
    let mut found: Vec<(i64, &'b Batch, RowAddr)> = Vec::with_capacity(wanted.saturating_add(LANES));
    // The rank of the last one wanted: of rows of one rank, ids decide.
    let mut last = None;
    let mut asked: usize = 0;
    for (chunk, leaders) in leaders.chunks(LANES).enumerate() {
        let is_behind = |rank| last.is_some_and(|last| rank > last);
        if leaders.first().is_some_and(|leader| is_behind(leader.rank)) {
            break;
        }
        let mut selected = (covered.select_leaders)(chunk, leaders);
        while selected != 0 {
            let at = selected.trailing_zeros() as usize;
            selected &= selected.wrapping_sub(1);
            let leader = leaders.get(at)?;
            let (number, row) = split(leader.row);
            let at = RowAddr { batch: u32::try_from(number).ok()?, row };
            found.push((leader.rank, (covered.batch)(number)?, at));
            if found.len() == wanted {
                last = Some(leader.rank);
            }
        }
        asked = asked.saturating_add(leaders.len());
        let due = asked.saturating_mul(wanted).checked_div(expected).unwrap_or(0);
        if found.len().saturating_add(CHANCE) < due / 4 {
            return None;
        }
    }
    let last = last?;
    found.truncate(found.partition_point(|(rank, ..)| *rank <= last));
    Some(found)
}
