//! Finds the rows of a row group whose pages may have a selected case, by the page index of the columns that the filters test.

use std::borrow::Cow;
use std::ops::Range;

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;

use super::parquet_reader::catch_panics;
use super::projection::LeafColumn;
use super::zones::{Values, Zone};
use crate::catalog::Catalog;
use crate::filter::Filter;

/// The pages of one column.
struct Pages {
    leaf: usize,
    /// The number of the first row of each page, ascending. The first one is 0.
    first_rows: Vec<usize>,
    index: ColumnIndexMetaData,
}

/// Returns the rows whose pages may have a case that one of the filters selects, as ascending ranges that do not touch. Returns `None`
/// if the pages exclude few rows, or none because the file has no page index.
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
    // If fewer rows are excluded, the pages that are not read save less time than reading the rest in pieces takes.
    let is_worth_it = !bounds.is_empty() && possible <= rows.saturating_sub(rows / 8);
    is_worth_it.then_some(ranges)
}

impl Pages {
    /// Reads the page index of a column. Returns `None` if it has none, or if the index is damaged.
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

    /// Returns what the page that has a row says about its values.
    fn values_at(&self, row: usize) -> Values<'static> {
        let page = self.first_rows.partition_point(|first| *first <= row).saturating_sub(1);
        // The library's methods panic for a page that is not there, and `read` has compared the numbers of pages.
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

/// Returns the byte ranges of the page index of a column: those of the extremes, and those of the positions.
fn ranges(column: &ColumnChunkMetaData) -> Option<(Range<u64>, Range<u64>)> {
    // The library computes the ranges from signed numbers of the file, and may panic.
    let ranges = || Ok::<_, ParquetError>(column.column_index_range().zip(column.offset_index_range()));
    catch_panics(ranges).ok().flatten()
}
