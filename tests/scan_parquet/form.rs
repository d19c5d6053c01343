//! Writes Parquet files in the forms of several writers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field as ArrowField};
use bytes::Bytes;
use casefilter::arrow::{DocumentEncoder, ParquetWriter};
use casefilter::{Catalog, ImportMode};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::compare::by_engine;
use crate::world::choices::Choices;

/// The properties of the files of a test.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) group_rows: usize,
    pub(crate) is_flat: bool,
    pub(crate) has_statistics: bool,
    pub(crate) has_dictionaries: bool,
    /// If true and no id is repeated, the file has the mark of this library. Of the other properties, such a file uses only
    /// `group_rows`.
    pub(crate) is_marked: bool,
    /// True if timestamps have no time zone.
    pub(crate) is_local: bool,
    /// True if the file has columns that are no fields, but look like fields.
    pub(crate) has_strays: bool,
}

impl Form {
    pub(crate) fn any(choices: &mut Choices<'_>, documents: usize) -> Self {
        Self {
            group_rows: [1, 2, 3, 7, 50, 100_000][choices.below(6)].max(documents / 20),
            is_flat: choices.chance(1, 3),
            has_statistics: choices.chance(2, 3),
            has_dictionaries: choices.chance(1, 2),
            is_marked: choices.chance(1, 2),
            is_local: choices.chance(1, 3),
            has_strays: choices.chance(1, 3),
        }
    }

    pub(crate) fn write(self, batches: &[RecordBatch]) -> Bytes {
        let statistics = if self.has_statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(self.group_rows))
            .set_data_page_row_count_limit(self.group_rows.div_ceil(3))
            .set_write_batch_size(2)
            .set_statistics_enabled(statistics)
            .set_offset_index_disabled(!self.has_statistics)
            .set_dictionary_enabled(self.has_dictionaries)
            .build();
        let schema = batches[0].schema();
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        Bytes::from(writer.into_inner().unwrap())
    }

    /// Writes documents. Documents that are no JSON objects are left out.
    pub(crate) fn file(self, catalog: &Catalog, documents: &[String]) -> Bytes {
        if self.is_marked {
            let plain = Self { is_marked: false, is_local: false, has_strays: false, ..self };
            if has_repeated_ids(catalog, &plain.file(catalog, documents)) {
                return Self { is_marked: false, ..self }.file(catalog, documents);
            }
            let writer = ParquetWriter::new(Vec::new(), catalog, None).unwrap();
            let mut writer = writer.with_unique_ids(catalog).with_group_rows(self.group_rows);
            for document in documents {
                let _ = writer.push(document);
            }
            return writer.finish().unwrap().into();
        }
        let mut encoder = DocumentEncoder::new(catalog);
        let mut batches = Vec::new();
        for document in documents {
            let _ = encoder.push(document);
            if encoder.len() >= 1000 {
                batches.push(encoder.finish());
            }
        }
        batches.push(encoder.finish());
        if self.is_flat {
            batches = batches.iter().map(flat).collect();
        }
        if self.is_local {
            batches = batches.iter().map(without_zones).collect();
        }
        if self.has_strays {
            batches = batches.iter().map(with_strays).collect();
        }
        self.write(&batches)
    }
}

fn has_repeated_ids(catalog: &Catalog, file: &Bytes) -> bool {
    let (_, report) = by_engine(catalog, ImportMode::Lenient, std::slice::from_ref(file)).unwrap();
    report.replaced > 0
}

/// Returns the same cases with timestamps that have no time zone.
fn without_zones(batch: &RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    RecordBatch::try_from_iter_with_nullable(
        columns.map(|(field, column)| (field.name(), without_zone(column), true)),
    )
    .unwrap()
}

fn without_zone(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Timestamp(..) => {
            let local =
                column.as_primitive::<TimestampMillisecondType>().clone().with_timezone_opt(None::<&str>);
            Arc::new(local)
        }
        DataType::Struct(members) => {
            let columns: Vec<ArrayRef> = column.as_struct().columns().iter().map(without_zone).collect();
            let members = members.iter().zip(&columns);
            let members =
                members.map(|(member, own)| ArrowField::new(member.name(), own.data_type().clone(), true));
            Arc::new(StructArray::new(members.collect(), columns.clone(), column.nulls().cloned()))
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let values = without_zone(list.values());
            let element = Arc::new(ArrowField::new_list_field(values.data_type().clone(), true));
            Arc::new(ListArray::new(element, list.offsets().clone(), values, list.nulls().cloned()))
        }
        _ => Arc::clone(column),
    }
}

/// Adds columns whose names are those of fields in other case. They have values in some rows.
fn with_strays(batch: &RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let known: Vec<String> = schema.fields().iter().map(|field| field.name().to_lowercase()).collect();
    let mut columns: Vec<(String, ArrayRef)> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .zip(batch.columns().iter().cloned())
        .collect();
    for (number, name) in
        known.iter().enumerate().filter(|(number, name)| number % 3 == 1 && !name.contains('.'))
    {
        let values = (0..batch.num_rows()).map(|row| ((row * 7 + number) % 3 == 0).then_some("x"));
        columns.push((name.to_uppercase(), Arc::new(values.collect::<StringArray>())));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns the same cases with one column for each leaf.
fn flat(batch: &RecordBatch) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let schema = batch.schema();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        flatten(field.name().clone(), column, &mut columns);
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn flatten(name: String, column: &ArrayRef, columns: &mut Vec<(String, ArrayRef)>) {
    match column.data_type() {
        DataType::Struct(members) => {
            for (member, child) in members.iter().zip(column.as_struct().columns()) {
                flatten(format!("{name}.{}", member.name()), child, columns);
            }
        }
        DataType::List(element) => match element.data_type() {
            DataType::Struct(members) => {
                let list = column.as_list::<i32>();
                let children = list.values().as_struct().columns().iter();
                // A list of structs with nested members stays as it is, because each column made here has only one level of lists.
                if members.iter().any(|member| member.data_type().is_nested()) {
                    columns.push((name, Arc::clone(column)));
                    return;
                }
                for (member, child) in members.iter().zip(children) {
                    let element = Arc::new(ArrowField::new_list_field(member.data_type().clone(), true));
                    let lane = ListArray::new(
                        element,
                        list.offsets().clone(),
                        Arc::clone(child),
                        list.nulls().cloned(),
                    );
                    columns.push((format!("{name}.{}", member.name()), Arc::new(lane)));
                }
            }
            _ => columns.push((name, Arc::clone(column))),
        },
        _ => columns.push((name, Arc::clone(column))),
    }
}

pub(crate) const FORM: Form = Form {
    group_rows: 100,
    is_flat: false,
    has_statistics: true,
    has_dictionaries: true,
    is_marked: false,
    is_local: false,
    has_strays: false,
};

pub(crate) fn line(id: impl std::fmt::Display, amount: i64) -> String {
    format!("{{\"id\":\"{id}\",\"totalAmountInDefaultCurrency\":{amount},\"tags\":[\"t{}\"]}}", amount % 3)
}

pub(crate) fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

pub(crate) fn texts<const N: usize>(texts: [Option<&str>; N]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}
