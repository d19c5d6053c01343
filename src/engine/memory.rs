//! What the cases take in memory.

use serde::Serialize;

use super::import::Writer;
use super::snapshot::Snapshot;
use crate::catalog::Catalog;

/// What the cases of an engine take in memory, in bytes of heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// How many cases there are.
    pub cases: u64,
    /// All columns together, identifiers included.
    pub columns_bytes: u64,
    /// The index from ids to rows, places and live rows.
    pub index_bytes: u64,
    /// The documents as given, and where each ends.
    pub documents_bytes: u64,
    /// Each column, in the order of the catalogue.
    pub fields: Vec<FieldMemory>,
}

/// What the column of one field takes in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldMemory {
    /// The field's name.
    pub name: String,
    /// Its column in all batches together, in bytes of heap.
    pub bytes: u64,
}

impl Memory {
    pub(super) fn new(snapshot: &Snapshot, catalog: &Catalog, writer: &Writer) -> Self {
        let sum = |size: &dyn Fn(&super::snapshot::Slot) -> usize| -> u64 {
            snapshot.slots().iter().map(|slot| size(slot) as u64).sum()
        };
        let fields: Vec<FieldMemory> = catalog
            .visible_fields()
            .map(|(id, field)| FieldMemory {
                name: field.name().to_owned(),
                bytes: sum(&|slot| slot.batch.column(id).map_or(0, crate::column::Column::size_bytes)),
            })
            .collect();
        Self {
            cases: snapshot.cases() as u64,
            columns_bytes: sum(&|slot| {
                slot.batch.columns().iter().flatten().map(crate::column::Column::size_bytes).sum()
            }),
            index_bytes: sum(&|slot| slot.batch.places_bytes().saturating_add(slot.live_bytes()))
                .saturating_add(writer.size_bytes() as u64),
            documents_bytes: sum(&|slot| slot.batch.documents_bytes()),
            fields,
        }
    }

    /// Columns and index, without documents, for each case; 0 without cases.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub fn bytes_per_case(&self) -> f64 {
        if self.cases == 0 {
            return 0.0;
        }
        self.columns_bytes.saturating_add(self.index_bytes) as f64 / self.cases as f64
    }
}
