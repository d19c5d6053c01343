//! Finds the rows of a row group that the filters may select, by the page index of the columns that the filters test.

use std::borrow::Cow;
use std::ops::Range;

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;

use super::parquet_reader::catch_panics;
use super::projection::LeafColumn;
use super::zones::{Values, Zone};
use crate::catalog::Catalog;
use crate::filter::Filter;

/// The maximum number of parts of a row group that are tested. Testing more parts probably takes more time than skipping rows
/// saves.
const MOST_PARTS: usize = 4096;

/// The maximum total size of the lists of pages in a file, in bytes.
const MOST_INDEX_BYTES: u64 = 64 << 20;

/// The writers that begin each page with a new row, each with the first version that does so. The format demands this of files that
/// contain the positions of pages. But other writers have begun pages of list columns within a row.
const CAREFUL_WRITERS: [(&str, u32); 3] =
    [("parquet-rs version ", 50), ("parquet-mr version ", 1), ("parquet-cpp-arrow version ", 13)];

/// Returns true if each page of a list column begins with a new row. Then the positions of pages can be used to read some rows of a
/// list column.
pub(super) fn begin_with_rows(file: &ParquetMetaData) -> bool {
    let Some(writer) = file.file_metadata().created_by() else { return false };
    CAREFUL_WRITERS.iter().any(|(name, first)| {
        let version = writer.strip_prefix(name).and_then(|rest| rest.split('.').next());
        version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version >= *first)
    })
}

/// Returns true if the list of pages of each column claims no more pages than its bytes can contain. The library reserves memory
/// for all claimed pages, which can be more memory than there is. Returns false if the lists cannot be read, or exceed
/// [`MOST_INDEX_BYTES`] together.
pub(super) fn have_fitting_lists(reader: &impl ChunkReader, file: &ParquetMetaData) -> bool {
    let columns = file.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let read = || Ok::<_, ParquetError>(columns.map(ColumnChunkMetaData::offset_index_range).collect());
    let Ok(ranges) = catch_panics(read) else { return false };
    let ranges: Vec<Option<Range<u64>>> = ranges;
    let ranges: Vec<Range<u64>> = ranges.into_iter().flatten().collect();
    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    if end > reader.len() || end.checked_sub(start).is_none_or(|bytes| bytes > MOST_INDEX_BYTES) {
        return false;
    }
    let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let Ok(bytes) = catch_panics(|| reader.get_bytes(start, length)) else { return false };
    ranges.iter().all(|range| {
        let from = usize::try_from(range.start.saturating_sub(start)).ok();
        let to = usize::try_from(range.end.saturating_sub(start)).ok();
        from.zip(to).and_then(|(from, to)| bytes.get(from..to)).is_some_and(has_fitting_list)
    })
}

/// Returns true if a list of pages claims at most as many pages as it has bytes.
fn has_fitting_list(bytes: &[u8]) -> bool {
    // The first field is a list (0x19) of structs. Its length is in the next byte, or after it.
    let [0x19, head, rest @ ..] = bytes else { return false };
    let claimed = match head >> 4 {
        15 => varint(rest),
        few => Some(u64::from(few)),
    };
    claimed.is_some_and(|claimed| claimed <= bytes.len() as u64)
}

/// Reads a number that is stored as groups of seven bits, the lowest group first. Returns `None` if it does not end within five
/// groups.
fn varint(bytes: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for (byte, shift) in bytes.iter().zip([0, 7, 14, 21, 28]) {
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The pages of one column.
struct Pages {
    leaf: usize,
    /// The row number of the first row of each page, in ascending order. The first of these numbers is 0.
    first_rows: Vec<usize>,
    index: ColumnIndexMetaData,
}

/// Returns the rows whose pages may have a case that one of the filters selects, as ascending ranges that do not touch. Returns
/// `None` if the statistics of the pages exclude only a few rows. Also returns `None` if the file has no page index, or too many
/// pages.
pub(super) fn possible_rows<'f>(
    reader: &impl ChunkReader,
    group: &RowGroupMetaData,
    (leaves, catalog): (&[LeafColumn], &Catalog),
    filters: impl Iterator<Item = &'f Filter> + Clone,
) -> Option<Vec<Range<usize>>> {
    let rows = usize::try_from(group.num_rows()).ok()?;
    let is_tested = |leaf: &&LeafColumn| {
        let mut filters = filters.clone();
        leaf.field.is_some_and(|field| filters.any(|filter| filter.predicate().fields().contains(&field)))
    };
    // Some writers end a page of a list column within a row, so the pages of such a column do not tell which values a row has.
    let tested = leaves.iter().filter(|leaf| !leaf.is_list).filter(is_tested);
    let columns: Vec<Pages> = tested.filter_map(|leaf| Pages::read(reader, group, leaf.leaf, rows)).collect();
    let mut bounds: Vec<usize> = columns.iter().flat_map(|pages| &pages.first_rows).copied().collect();
    bounds.sort_unstable();
    bounds.dedup();
    if bounds.len() > MOST_PARTS {
        return None;
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut possible = 0_usize;
    for (at, start) in bounds.iter().enumerate() {
        let end = bounds.get(at.saturating_add(1)).copied().unwrap_or(rows);
        let values = |leaf: usize| match columns.iter().find(|pages| pages.leaf == leaf) {
            Some(pages) => pages.values_at(*start),
            None => Values::of_column(group, leaf),
        };
        let zone = Zone { leaves, catalog, values: &values };
        if !filters.clone().any(|filter| zone.may_select(filter)) {
            continue;
        }
        possible = possible.saturating_add(end.saturating_sub(*start));
        match ranges.last_mut() {
            Some(last) if last.end == *start => last.end = end,
            _ => ranges.push(*start..end),
        }
    }
    // Reading the remaining rows in pieces takes extra time. If less than an eighth of the rows is excluded, skipping their pages
    // saves less time than that.
    let is_worth_it = !bounds.is_empty() && possible <= rows.saturating_sub(rows / 8);
    is_worth_it.then_some(ranges)
}

impl Pages {
    /// Reads the page index of a column. Returns `None` if the column has no page index, or a damaged one.
    fn read(reader: &impl ChunkReader, group: &RowGroupMetaData, leaf: usize, rows: usize) -> Option<Self> {
        let column = group.columns().get(leaf)?;
        let bytes = |range: Range<u64>| {
            let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            if range.end > reader.len() {
                return None;
            }
            catch_panics(|| reader.get_bytes(range.start, length)).ok()
        };
        let (values, offsets) = ranges(column)?;
        let (values, offsets) = (bytes(values)?, bytes(offsets)?);
        if !has_fitting_list(&offsets) {
            return None;
        }
        let index = catch_panics(|| decode_column_index(&values, column.column_type())).ok()?;
        let offsets = catch_panics(|| decode_offset_index(&offsets)).ok()?;
        let pages = offsets.page_locations();
        let first_rows = pages.iter().map(|page| usize::try_from(page.first_row_index).ok());
        let first_rows: Vec<usize> = first_rows.collect::<Option<_>>()?;
        let is_ascending = first_rows.iter().zip(first_rows.iter().skip(1)).all(|(one, next)| one < next);
        let is_whole = first_rows.first() == Some(&0) && first_rows.last().is_some_and(|last| *last < rows);
        let is_complete = index.num_pages() == first_rows.len() as u64;
        (is_ascending && is_whole && is_complete).then_some(Self { leaf, first_rows, index })
    }

    /// Returns the bounds of the values in the page that contains the given row.
    fn values_at(&self, row: usize) -> Values<'static> {
        let page = self.first_rows.partition_point(|first| *first <= row).saturating_sub(1);
        // The library's methods panic for a page that does not exist. This is not expected, because `read` has compared the numbers
        // of pages.
        let found = catch_panics(|| {
            if self.index.is_null_page(page) {
                return Ok::<_, ParquetError>(Values::None);
            }
            let statistics = match &self.index {
                ColumnIndexMetaData::INT32(pages) => {
                    let bounds = (pages.min_value(page).copied(), pages.max_value(page).copied());
                    Statistics::int32(bounds.0, bounds.1, None, None, false)
                }
                ColumnIndexMetaData::INT64(pages) => {
                    let bounds = (pages.min_value(page).copied(), pages.max_value(page).copied());
                    Statistics::int64(bounds.0, bounds.1, None, None, false)
                }
                ColumnIndexMetaData::DOUBLE(pages) => {
                    let bounds = (pages.min_value(page).copied(), pages.max_value(page).copied());
                    Statistics::double(bounds.0, bounds.1, None, None, false)
                }
                ColumnIndexMetaData::BYTE_ARRAY(pages) => {
                    let bound = |bytes: Option<&[u8]>| bytes.map(|bytes| ByteArray::from(bytes.to_vec()));
                    let bounds = (bound(pages.min_value(page)), bound(pages.max_value(page)));
                    Statistics::byte_array(bounds.0, bounds.1, None, None, false)
                }
                _ => return Ok(Values::Unknown),
            };
            Ok(Values::Of(Cow::Owned(statistics)))
        });
        found.unwrap_or(Values::Unknown)
    }
}

/// Returns two byte ranges of the page index of a column: the range of the extremes, and the range of the positions.
fn ranges(column: &ColumnChunkMetaData) -> Option<(Range<u64>, Range<u64>)> {
    // The library computes the ranges from signed numbers of the file, and may panic.
    let ranges = || Ok::<_, ParquetError>(column.column_index_range().zip(column.offset_index_range()));
    catch_panics(ranges).ok().flatten()
}
