//! The insertion order of the rows of a batch.
#![expect(clippy::indexing_slicing, reason = "a row of the batch")]

/// The place of each row in the order in which cases were first stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InsertionOrder {
    /// The first row's place; each row has the next one.
    From(u64),
    /// Each row's place, and a summary of all for searches.
    Each { places: Box<[u64]>, least: u64, greatest: u64, ordered: bool },
}

impl InsertionOrder {
    /// Makes the insertion order from the place of each row.
    pub(crate) fn new(places: Vec<u64>) -> Self {
        let first = places.first().copied().unwrap_or(0);
        let mut rows = (0_u64..).zip(&places);
        // Places read from a forged file may be at the end of all numbers.
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
            // A forged file may have places at the end of all numbers.
            Self::From(first) => first.saturating_add(row as u64),
            Self::Each { places, .. } => places[row],
        }
    }

    /// True when places ascend with the rows.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::From(_) => true,
            Self::Each { ordered, .. } => *ordered,
        }
    }

    /// Returns the least and the greatest of `rows` places.
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

    /// Says which invariant does not hold in a batch of `rows` rows.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), String> {
        match self {
            Self::Each { places, .. } if places.len() != rows => Err("places for other rows".into()),
            Self::Each { places, .. } if Self::new(places.to_vec()) != *self => {
                Err("a range of places that is not theirs".into())
            }
            _ => Ok(()),
        }
    }
}
