//! Counts the deleted rows of a batch per string. To get the number of live rows, these counts are subtracted from the counts of
//! the index.

use std::sync::OnceLock;

use crate::batch::Batch;
use crate::catalog::FieldId;
use crate::column::Selection;

/// Up to this number of distinct strings, the deleted rows of a column are counted per string. Columns with more strings have no
/// counts, because each deletion copies all counts.
const MOST_STRINGS: usize = 1 << 10;

/// The counts of the deleted rows of one batch per string, for each field whose counts a search has needed.
#[derive(Clone, Debug)]
pub(crate) struct Tombstones {
    /// The counts by field number.
    counts: Box<[OnceLock<Counts>]>,
}

/// The counts of one field, by string code. `None` if the field is not a string field, or if its column has too many strings.
#[derive(Clone, Debug)]
struct Counts {
    field: FieldId,
    by_code: Option<Box<[u32]>>,
}

impl Tombstones {
    pub(crate) fn new(batch: &Batch) -> Self {
        Self { counts: (0..batch.fields()).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the counts of a field by string code. Returns `None` if the field has no counts. The first call computes the counts.
    pub(crate) fn counts(&self, batch: &Batch, live: &Selection, field: FieldId) -> Option<&[u32]> {
        let count = || {
            let column = batch.column(field)?;
            let strings = column.strings().filter(|strings| *strings <= MOST_STRINGS)?;
            let mut counts = vec![0; strings];
            live.each_other(batch.rows(), |row| column.count_codes(row, &mut counts));
            Some(counts.into())
        };
        let counts = self.counts.get(field.index())?;
        counts.get_or_init(|| Counts { field, by_code: count() }).by_code.as_deref()
    }

    /// Returns the counts after the deletion of `rows`, which were live before.
    pub(crate) fn with(&self, batch: &Batch, rows: &[u16]) -> Self {
        let with = |counts: &Counts| {
            let mut counts = counts.clone();
            if let (Some(by_code), Some(column)) = (&mut counts.by_code, batch.column(counts.field)) {
                rows.iter().for_each(|row| column.count_codes(usize::from(*row), by_code));
            }
            OnceLock::from(counts)
        };
        Self { counts: self.counts.iter().map(|counts| counts.get().map(with).unwrap_or_default()).collect() }
    }

    /// Checks the counts by counting the deleted rows again.
    pub(crate) fn validate(&self, batch: &Batch, live: &Selection) -> Result<(), String> {
        let exact = Self::new(batch);
        for Counts { field, by_code } in self.counts.iter().filter_map(OnceLock::get) {
            if by_code.as_deref() != exact.counts(batch, live, *field) {
                return Err(format!("the counts of deleted rows of field {} are wrong", field.index()));
            }
        }
        Ok(())
    }
}
