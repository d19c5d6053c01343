//! A Parquet file as some writers make it: pages of a list column begin within a row, although the file has positions of pages.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::column::page::Page;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

/// The number of rows.
pub(crate) const ROWS: usize = 3000;

/// The number of rows in a page of the plain columns. As many rows begin in each page of `tags` except the first.
const PAGE_ROWS: usize = 500;

/// Returns a file with the columns `id`, `totalAmountInDefaultCurrency` (the number of the row) and `tags`. Each page of `tags` but
/// the first begins with the last value of a row.
pub(crate) fn file(writer: &str) -> Bytes {
    let amounts: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("{row:04}"))));
    let plain = source(&[("id", ids), ("totalAmountInDefaultCurrency", amounts)], PAGE_ROWS);
    // The first list of each page except the first page becomes the end of the list before. So the source has one more list for
    // each of these pages.
    let pages = ROWS / PAGE_ROWS;
    let mut tags = ListBuilder::new(StringBuilder::new());
    for list in 0..ROWS + pages - 1 {
        // Lists of different lengths, because then the levels of a page are stored as single bits.
        let values = 1 + list % 2;
        (0..values).for_each(|at| tags.values().append_value(format!("t{:02}{at}", list % 50)));
        tags.append(true);
    }
    let mut lists = source(&[("tags", Arc::new(tags.finish()))], PAGE_ROWS + 1).to_vec();
    let index = locations(&metadata(&lists.clone().into()), 0);
    assert_eq!(index.len(), pages);
    for (location, page) in index.iter().zip(pages_of(&lists.clone().into())).skip(1) {
        let end = usize::try_from(location.offset).unwrap() + location.compressed_page_size as usize;
        let levels = end - page.buffer().len();
        // The length of the levels, the head of a run of single bits, the bits from the lowest on.
        assert_eq!((lists[levels + 4] & 1, lists[levels + 5] & 1), (1, 0));
        lists[levels + 5] |= 1;
    }
    let rows_before = |page: usize| if page == 0 { 0 } else { page * PAGE_ROWS + 1 };
    let moved = index.iter().enumerate().map(|(page, location)| PageLocation {
        first_row_index: rows_before(page) as i64,
        ..location.clone()
    });
    joined(writer, &plain, &lists.into(), moved.collect())
}

/// Writes columns without compression, so that the levels can be found.
fn source(columns: &[(&str, ArrayRef)], page_rows: usize) -> Bytes {
    let columns = columns.iter().map(|(name, array)| (*name, Arc::clone(array), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(1)
        .set_statistics_enabled(EnabledStatistics::Page)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

fn metadata(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(file)
        .unwrap()
}

fn locations(metadata: &ParquetMetaData, column: usize) -> Vec<PageLocation> {
    metadata.page_index_for_row_group(0).page_locations(column).unwrap().clone()
}

/// Returns the data pages of the first column.
fn pages_of(file: &Bytes) -> Vec<Page> {
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let pages = reader.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
    pages.map(Result::unwrap).collect()
}

/// Joins the columns of two files into one row group. The lists get other positions.
fn joined(writer: &str, plain: &Bytes, lists: &Bytes, positions: Vec<PageLocation>) -> Bytes {
    let sources = [(plain, metadata(plain)), (lists, metadata(lists))];
    let fields = sources.iter().flat_map(|(_, file)| {
        let root = file.file_metadata().schema_descr().root_schema();
        root.get_fields().to_vec()
    });
    let schema = parquet::schema::types::Type::group_type_builder("schema").with_fields(fields.collect());
    let properties = WriterProperties::builder().set_created_by(writer.to_owned()).build();
    let schema = Arc::new(schema.build().unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut positions = Some(positions);
    for (bytes, metadata) in &sources {
        for (column, chunk) in metadata.row_group(0).columns().iter().enumerate() {
            let is_list = chunk.column_descr().max_rep_level() > 0;
            let page_locations =
                if is_list { positions.take().unwrap() } else { locations(metadata, column) };
            let index = OffsetIndexMetaData { page_locations, unencoded_byte_array_data_bytes: None };
            let close = ColumnCloseResult {
                bytes_written: chunk.compressed_size() as u64,
                rows_written: ROWS as u64,
                metadata: chunk.clone(),
                bloom_filter: None,
                column_index: metadata.page_index_for_row_group(0).column_index(column).cloned(),
                offset_index: Some(index),
            };
            group.append_column(*bytes, close).unwrap();
        }
    }
    group.close().unwrap();
    file.into_inner().unwrap().into()
}
