//! How many rows of all batches a query selects, on several threads when that takes long.

use super::search::visits;
use super::view::View;
use crate::exec::{self, Query, Selected};

/// What counting came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// The selected live rows.
    pub(super) selected: u64,
    /// The rows of the batches that were asked.
    pub(super) examined: u64,
}

impl Counted {
    fn and(self, other: Self) -> Self {
        Self {
            selected: self.selected.saturating_add(other.selected),
            examined: self.examined.saturating_add(other.examined),
        }
    }
}

/// Counts in the batches of these numbers.
///
/// The first ones tell what the others will take; if that is long, all threads of rayon's pool share them.
pub(super) fn count(query: &Query<'_>, view: &View, numbers: &[usize]) -> Counted {
    #[cfg(feature = "parallel")]
    if let Some((first, rest)) = numbers.split_at_checked(SAMPLE)
        && !rest.is_empty()
        && let Some(fork) = query.fork()
        && rayon::current_num_threads() > 1
    {
        let mut effort: usize = 0;
        let counted = count_here(query, view, first, |selected| {
            effort = effort.saturating_add(selected.effort());
        });
        let expected = (effort / SAMPLE).saturating_mul(rest.len());
        let others = if expected < LONG {
            count_here(query, view, rest, |_| {})
        } else {
            use rayon::iter::ParallelIterator;
            use rayon::slice::ParallelSlice;
            let each = |numbers: &[usize]| count_here(&fork(), view, numbers, |_| {});
            rest.par_chunks(CHUNK).map(each).reduce(Counted::default, Counted::and)
        };
        return counted.and(others);
    }
    count_here(query, view, numbers, |_| {})
}

/// So many batches are counted before it is known whether to share the others.
#[cfg(feature = "parallel")]
const SAMPLE: usize = 8;
/// Batches that a thread takes at a time.
#[cfg(feature = "parallel")]
const CHUNK: usize = 8;
/// From this effort on, about half a millisecond, threads are woken.
#[cfg(feature = "parallel")]
const LONG: usize = 2_000_000;

fn count_here(
    query: &Query<'_>,
    view: &View,
    numbers: &[usize],
    mut look: impl FnMut(&Selected<'_>),
) -> Counted {
    let mut counted = Counted::default();
    let mut add = |selected: Option<Selected<'_>>| {
        let rows = selected.map_or(0, |selected| selected.count() as u64);
        counted.selected = counted.selected.saturating_add(rows);
    };
    // What the next batch is counted from is on its way while the one before it is counted.
    let (mut next, mut examined) = (None, 0_u64);
    for visit in visits(view, numbers) {
        let selected = exec::select(query, visit.number, visit.batch, visit.live);
        examined = examined.saturating_add(visit.batch.rows() as u64);
        look(&selected);
        selected.announce();
        add(next.replace(selected));
    }
    add(next);
    Counted { examined, ..counted }
}
