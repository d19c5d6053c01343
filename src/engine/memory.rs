//! Measures the memory of an engine (`MemoryUsage`): columns, indexes and documents, and the memory of each field.

#![expect(clippy::arithmetic_side_effects, reason = "sizes of allocated memory")]

use std::sync::atomic::Ordering;

use crate::catalog::{Catalog, FieldId};
use crate::column::Column;
use crate::engine::handle::Engine;
use crate::engine::snapshot::{Slot, View};

/// The heap memory of an engine's documents, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MemoryUsage {
    /// The number of documents.
    #[cfg_attr(feature = "serde", serde(rename = "cases"))]
    pub documents: u64,
    /// The number of batches.
    pub batches: u64,
    /// The size of all columns, including ids.
    pub columns_bytes: u64,
    /// The size of all indexes, the insertion-order numbers, the sets of live rows, and the writer's table of the rows that are in
    /// no index.
    pub index_bytes: u64,
    /// The size of the documents and of their offsets.
    pub documents_bytes: u64,
    /// The size of the [standing filters](Engine::standing), with their texts and their index.
    #[cfg_attr(feature = "serde", serde(default))]
    pub standing_bytes: u64,
    /// The memory of each field that requests may name, in the order of the catalogue.
    pub fields: Vec<FieldMemory>,
}

/// The memory of one field, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FieldMemory {
    /// The name of the field.
    pub name: String,
    /// The size of its column in all batches.
    pub column_bytes: u64,
    /// The total size of its indexes: the indexes of the single batches, and the index over all batches.
    pub index_bytes: u64,
}

impl Engine {
    /// Returns the memory that the documents use.
    ///
    /// Does not wait for writes. While a write is in progress, the size of the writer's table of rows that are in no index is taken
    /// from an earlier call.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let memory = Engine::new(Catalog::cases()).memory();
    /// assert_eq!(memory.fields[0].name, "id");
    /// ```
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        let writer_bytes = match self.current.try_write() {
            Some(writer) => {
                let bytes = writer.size_bytes();
                self.writer_bytes.store(bytes, Ordering::Relaxed);
                bytes
            }
            None => self.writer_bytes.load(Ordering::Relaxed),
        };
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        let standing = self.standing().map(|filters| filters.memory());
        let standing_bytes =
            standing.map_or(0, |memory| memory.texts_bytes.saturating_add(memory.index_bytes));
        MemoryUsage { standing_bytes, ..MemoryUsage::new(view, writer_bytes, &self.catalog) }
    }
}

impl MemoryUsage {
    fn new(view: &View, writer_bytes: usize, catalog: &Catalog) -> Self {
        let sum = |size: &dyn Fn(&Slot) -> usize| -> u64 { view.slots().map(|slot| size(slot) as u64).sum() };
        let index = |field| view.index().size_bytes(field) as u64;
        let fields: Vec<FieldMemory> = catalog
            .visible_fields()
            .map(|(id, field)| FieldMemory {
                name: field.name().to_owned(),
                column_bytes: sum(&|slot| slot.batch.read_column(id).map_or(0, Column::data_bytes)),
                index_bytes: sum(&|slot| {
                    let by_id = if id == FieldId::ID { slot.batch.rows_by_id_bytes() } else { 0 };
                    slot.batch.read_column(id).map_or(0, Column::index_bytes) + by_id
                })
                .saturating_add(index(id)),
            })
            .collect();
        Self {
            documents: view.cases() as u64,
            batches: view.slots().count() as u64,
            columns_bytes: sum(&|slot| {
                let columns = slot.batch.columns().map(Column::data_bytes);
                columns.fold(slot.batch.lazy_bytes(), usize::saturating_add)
            }),
            index_bytes: sum(&|slot| {
                let columns = slot.batch.columns().map(Column::index_bytes).sum::<usize>();
                columns + slot.batch.places_bytes() + slot.batch.rows_by_id_bytes() + slot.live.size_bytes()
            })
            .saturating_add(catalog.field_ids().map(index).sum::<u64>())
            .saturating_add(writer_bytes as u64),
            documents_bytes: sum(&|slot| slot.batch.documents_bytes()),
            standing_bytes: 0,
            fields,
        }
    }

    /// Returns the size in bytes of columns and indexes, divided by the number of documents. Does not count the documents
    /// themselves. Returns 0 for an empty engine.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub fn bytes_per_document(&self) -> f64 {
        if self.documents == 0 {
            return 0.0;
        }
        (self.columns_bytes + self.index_bytes) as f64 / self.documents as f64
    }
}

#[cfg(all(test, feature = "sample"))]
mod tests {
    use crate::catalog::Catalog;
    use crate::column::Column;
    use crate::engine::handle::Engine;

    /// Returns two results. The first is the memory for elements, in bytes per case, of the columns `name` and `checked` of the
    /// checklists. The second is the number of elements per case.
    fn elements_per_case(documents: &str) -> ([f64; 2], f64) {
        let catalog = Catalog::cases();
        let engine = Engine::new(catalog.clone());
        engine.upsert_many(documents.as_bytes()).unwrap();
        let snapshot = engine.current_snapshot();
        let view = snapshot.view(&engine.catalog, engine.keep);
        let per_case = |bytes: usize| bytes as f64 / engine.len() as f64;
        let bytes = ["name", "checked"].map(|name| {
            let field = catalog.find(&format!("caseReview.checklistState.checklist.{name}")).unwrap();
            let columns = view.slots().filter_map(|slot| slot.batch.column(field));
            per_case(columns.map(Column::elements_bytes).sum())
        });
        (bytes, per_case(documents.matches("\"checked\":").count()))
    }

    /// The guide states these figures.
    #[test]
    fn elements_take_the_bytes_that_the_guide_states() {
        let mut documents = Vec::new();
        for number in 0..20_000 {
            crate::sample::write_case(number, 1, &mut documents);
            documents.push(b'\n');
        }
        let documents = String::from_utf8(documents).unwrap();
        // Each item has a value in both columns. So the columns need no memory for elements.
        let (plain, items) = elements_per_case(&documents);
        assert_eq!(plain, [0.0, 0.0]);
        // The first item of each list is neither checked nor unchecked.
        let first = |value: &str| format!("{{\"name\":\"Screenshots attached\",\"checked\":{value}}}");
        let absent = "{\"name\":\"Screenshots attached\"}";
        let gaps = documents.replace(&first("true"), absent).replace(&first("false"), absent);
        let (with_gaps, _) = elements_per_case(&gaps);
        assert_eq!(with_gaps[0], 0.0);
        // 4 bytes for each case and for each item.
        assert!((with_gaps[1] - 4.0 * (1.0 + items)).abs() < 0.01, "{with_gaps:?} {items}");
        assert!((8.25..8.35).contains(&with_gaps[1]), "{with_gaps:?}");
    }
}
