//! Stores the insertion order of the rows of a batch.
#![expect(clippy::indexing_slicing, reason = "a row of the batch")]

/// The insertion order of each row, as a number. A case with a smaller number was inserted before a case with a greater number. A
/// case keeps its number when it is replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InsertionOrder {
    /// Consecutive numbers. The value is the insertion-order number of the first row.
    From(u64),
    /// Arbitrary numbers: the insertion-order number of each row, and the minimum and the maximum. A flag is true if the numbers
    /// ascend with the rows.
    Each { places: Box<[u64]>, least: u64, greatest: u64, ordered: bool },
}

impl InsertionOrder {
    /// Creates the insertion order from the insertion-order number of each row.
    pub(crate) fn new(places: Vec<u64>) -> Self {
        let first = places.first().copied().unwrap_or(0);
        let mut rows = (0_u64..).zip(&places);
        // Numbers from a forged file may be close to `u64::MAX`.
        if rows.all(|(row, place)| first.checked_add(row) == Some(*place)) {
            return Self::From(first);
        }
        Self::Each {
            least: places.iter().min().copied().unwrap_or(0),
            greatest: places.iter().max().copied().unwrap_or(0),
            ordered: places.is_sorted(),
            places: places.into(),
        }
    }

    pub(crate) fn get(&self, row: usize) -> u64 {
        match self {
            // Numbers from a forged file may be close to `u64::MAX`.
            Self::From(first) => first.saturating_add(row as u64),
            Self::Each { places, .. } => places[row],
        }
    }

    /// Returns true if the numbers ascend with the rows.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::From(_) => true,
            Self::Each { ordered, .. } => *ordered,
        }
    }

    /// Returns the smallest and the greatest insertion-order number of the batch, which has `rows` rows. Returns `None` if there
    /// are no rows.
    pub(crate) fn range(&self, rows: usize) -> Option<(u64, u64)> {
        let last = rows.checked_sub(1)?;
        match self {
            Self::From(first) => Some((*first, first.saturating_add(last as u64))),
            Self::Each { least, greatest, .. } => Some((*least, *greatest)),
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::From(_) => 0,
            Self::Each { places, .. } => size_of_val::<[u64]>(places),
        }
    }

    /// Checks the invariants for a batch of `rows` rows. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), String> {
        match self {
            Self::Each { places, .. } if places.len() != rows => {
                Err("another number of places than rows".into())
            }
            Self::Each { places, .. } if Self::new(places.to_vec()) != *self => {
                Err("a range of places that does not match the places".into())
            }
            _ => Ok(()),
        }
    }
}
