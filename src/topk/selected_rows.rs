//! The selected rows of one batch, in sorted order: tested as they come, or gathered once that is cheaper.
#![expect(clippy::indexing_slicing, reason = "places among the sorted rows of the batch")]

use std::ops::Range;

use crate::column::Sorted;
use crate::exec::Selected;
use crate::rows::RowSet;

/// The selected rows of a batch, tested some together or gathered.
pub(super) enum SelectedRows<'s, 'q> {
    /// This many more rows are tested before all are gathered.
    Tested(&'s Selected<'q>, usize),
    Gathered(RowSet<'q>),
}

impl<'s, 'q> SelectedRows<'s, 'q> {
    /// Begins with tests if about `expected` of them cost less than gathering.
    pub(super) fn new(selected: &'s Selected<'q>, expected: usize) -> Self {
        let affordable = selected.questions();
        if expected <= affordable {
            Self::Tested(selected, affordable.saturating_mul(2))
        } else {
            Self::Gathered(selected.rows())
        }
    }

    /// Lists the selected rows at these steps in sorted order.
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
            // Their places are their rows.
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
