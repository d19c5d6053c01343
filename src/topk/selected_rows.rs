//! Lists the selected rows of one batch that have a value, in sort order. Tests rows one by one at first, and collects all selected
//! rows as soon as that is cheaper.
#![expect(clippy::indexing_slicing, reason = "indexes into the sorted rows of the batch")]

use std::ops::Range;

use crate::column::Sorted;
use crate::exec::Selected;
use crate::rows::RowSet;

/// The selected rows of a batch, tested on demand or collected into a set.
pub(super) enum SelectedRows<'s, 'q> {
    /// Rows are tested one by one. The number is the count of tests left until this becomes [`Gathered`](Self::Gathered).
    Tested(&'s Selected<'q>, usize),
    /// The set of all selected rows.
    Gathered(RowSet<'q>),
}

impl<'s, 'q> SelectedRows<'s, 'q> {
    /// Returns `Tested` if testing about `expected` rows costs less than collecting all selected rows.
    pub(super) fn new(selected: &'s Selected<'q>, expected: usize) -> Self {
        let affordable = selected.questions();
        if expected <= affordable {
            Self::Tested(selected, affordable.saturating_mul(2))
        } else {
            Self::Gathered(selected.rows())
        }
    }

    /// Replaces the contents of `list` by the selected rows whose index in the sort order is in `steps`.
    pub(super) fn list(
        &mut self,
        sorted: Sorted<'_>,
        steps: Range<usize>,
        descending: bool,
        list: &mut Vec<u16>,
    ) {
        let places = sorted.places(steps, descending);
        list.clear();
        if let Self::Tested(_, left) = self {
            match left.checked_sub(places.len()) {
                Some(fewer) => *left = fewer,
                None => {
                    self.gathered();
                }
            }
        }
        match (&*self, sorted) {
            // If rows are sorted as stored, the index of a row in the sort order is its row number.
            (Self::Gathered(rows), Sorted::AsStored(_)) => rows.list_within(places, list),
            (Self::Tested(selected, _), Sorted::AsStored(_)) => {
                RowSet::All.list_within(places, list);
                selected.retain(list);
            }
            (_, Sorted::Listed(sorted)) => {
                list.extend_from_slice(&sorted.rows()[places]);
                match self {
                    Self::Tested(selected, _) => selected.retain(list),
                    Self::Gathered(rows) => rows.retain(list),
                }
            }
        }
        if descending {
            list.reverse();
        }
    }

    /// Returns the set of all selected rows. Collects them first if necessary.
    pub(super) fn gathered(&mut self) -> &RowSet<'q> {
        if let Self::Tested(selected, _) = self {
            *self = Self::Gathered(selected.rows());
        }
        match self {
            Self::Gathered(rows) => rows,
            Self::Tested(..) => &RowSet::None,
        }
    }
}
