//! What the cases take in memory.

use serde::Serialize;

use crate::catalog::Catalog;
use crate::column::Column;
use crate::engine::handle::Engine;
use crate::engine::snapshot::{Slot, View};

/// What the cases of an engine take in memory, in bytes of heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// How many cases there are.
    pub cases: u64,
    /// How many batches they lie in.
    pub batches: u64,
    /// All columns together, identifiers included.
    pub columns_bytes: u64,
    /// All indexes together, the places of cases and the live rows, and what leads writers to cases written
    /// of late.
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
    pub column_bytes: u64,
    /// Its indexes, in all batches and over them, in bytes of heap.
    pub index_bytes: u64,
}

impl Engine {
    /// What the cases take in memory.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let memory = Engine::new(Catalog::cases()).memory();
    /// assert_eq!(memory.fields[0].name, "id");
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        let waiting_bytes = self.current.write().size_bytes();
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        Memory::new(view, waiting_bytes, &self.catalog)
    }
}

impl Memory {
    fn new(view: &View, waiting_bytes: usize, catalog: &Catalog) -> Self {
        let sum = |size: &dyn Fn(&Slot) -> usize| -> u64 {
            view.slots().map(|slot| size(slot) as u64).fold(0, u64::saturating_add)
        };
        let directory = |field| view.directory().size_bytes(field) as u64;
        let fields: Vec<FieldMemory> = catalog
            .visible_fields()
            .map(|(id, field)| FieldMemory {
                name: field.name().to_owned(),
                column_bytes: sum(&|slot| slot.batch.column(id).map_or(0, Column::data_bytes)),
                index_bytes: sum(&|slot| slot.batch.column(id).map_or(0, Column::index_bytes))
                    .saturating_add(directory(id)),
            })
            .collect();
        Self {
            cases: view.cases() as u64,
            batches: view.slots().count() as u64,
            columns_bytes: sum(&|slot| {
                let columns = slot.batch.columns().map(Column::data_bytes);
                columns.fold(slot.batch.waiting_bytes(), usize::saturating_add)
            }),
            index_bytes: sum(&|slot| {
                let columns = slot.batch.columns().map(Column::index_bytes).sum::<usize>();
                columns.saturating_add(slot.batch.places_bytes()).saturating_add(slot.live.size_bytes())
            })
            .saturating_add(catalog.field_ids().map(directory).fold(0, u64::saturating_add))
            .saturating_add(waiting_bytes as u64),
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
