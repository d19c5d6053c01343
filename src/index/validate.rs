//! Validates the index over all batches: compares it with the columns of all covered batches.

use super::batch_index::{BatchIndex, Use, number_of};
use super::field_index::FieldIndex;
use super::global_row::{join, split};
use crate::batch::Batch;
use crate::catalog::Catalog;
use crate::column::{Column, ColumnData};

impl BatchIndex {
    /// Checks the invariants. `batches` are the covered batches by number. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self, catalog: &Catalog, batches: &[Option<&Batch>]) -> Result<(), String> {
        let covered: Vec<bool> = self.numbers.iter().map(|number| *number == Use::Covered).collect();
        if !batches.iter().map(Option::is_some).eq(covered) {
            return Err("the covered batches of the index differ from those of the view".into());
        }
        for ((at, index), field) in self.fields.iter().enumerate().zip(catalog.field_ids()) {
            let columns = || {
                let numbered = (0_u32..).zip(batches);
                numbered.filter_map(|(number, batch)| Some((number, batch.as_ref()?.column(field)?)))
            };
            // An unbuilt index will be built from the batches.
            let Some(index) = index.built() else { continue };
            let sound = match index {
                FieldIndex::Unknown => true,
                FieldIndex::Ordered(zones) => (0..zones.len().max(batches.len())).all(|number| {
                    let own = columns().find(|(other, _)| *other as usize == number);
                    let zone = own.and_then(|(_, column)| match &column.data {
                        ColumnData::Ordered { zone, .. } => *zone,
                        _ => None,
                    });
                    zones.get(number) == zone
                }),
                FieldIndex::Strings(strings) => {
                    strings.validate(columns().map(|(number, column)| (number as usize, column)))
                }
                FieldIndex::Keys(keys) => {
                    keys.rows().all(|row| {
                        // A batch number must not be free while an entry refers to it, because a new batch could get this number.
                        matches!(self.numbers.get(split(row).0), Some(Use::Covered | Use::Retired(_)))
                    }) && columns().all(|(number, column)| {
                        (0..column.rows()).all(|row| match column.string(row) {
                            None => true,
                            Some(text) => {
                                let own = join(number as usize, row);
                                self.probe(keys, text).filter(|found| Some(*found) == own).count() == 1
                            }
                        })
                    })
                }
            };
            if !sound {
                return Err(format!("the index of field {at} differs from the columns"));
            }
            if let FieldIndex::Ordered(_) = index {
                let columns: Vec<(usize, &Column)> =
                    columns().map(|(number, column)| (number as usize, column)).collect();
                if !self.top_rows.get(at).is_some_and(|rows| rows.validate(&columns)) {
                    return Err(format!("the top rows of field {at} are not the first rows in its order"));
                }
                let string = |field, row| match self.field(field) {
                    FieldIndex::Strings(strings) => {
                        let batch = |number: usize| batches.get(number).copied().flatten();
                        Some(number_of(strings, field, row, batch))
                    }
                    // A field with too many strings has no string index, so searches do not use its string numbers.
                    _ => None,
                };
                if !self.top_rows.get(at).is_some_and(|rows| rows.validate_strings(catalog, string)) {
                    return Err(format!("the top rows of field {at} have wrong string numbers"));
                }
            }
        }
        Ok(())
    }
}
