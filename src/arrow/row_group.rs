//! A row group of a scanned Parquet file: its compressed columns in memory, and the parts in which threads read them.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use crate::catalog::FieldId;

/// The minimum number of rows of a part, if a row group has several parts.
const LEAST_PART_ROWS: usize = 1 << 15;

/// The compressed columns of a row group that a scan needs.
pub(super) struct Group {
    pub(super) chunks: Chunks,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) number: usize,
    /// The number of rows.
    pub(super) rows: usize,
    /// True if the filters select no row.
    pub(super) is_skipped: bool,
    /// The rows that the filters may select, by the statistics of the pages. `None` if no rows are skipped by these statistics.
    pub(super) possible: Option<Vec<Range<usize>>>,
    /// The leaf columns that are read.
    pub(super) leaves: Vec<usize>,
    /// The leaf columns that are also read in rows that the filters do not select: the columns of the ids, of doubtful values and
    /// of unknown members.
    pub(super) always: Vec<usize>,
    /// The fields whose values have to be checked.
    pub(super) doubtful: Vec<FieldId>,
    /// The fields for which an import makes a note on every value, and whose values need not be read. Each comes with the number of
    /// rows that have a value in the field.
    pub(super) noted: Vec<(FieldId, u64)>,
    /// True if the rows need no check: their ids are unique, and their values are valid.
    pub(super) is_checked: bool,
}

impl Group {
    /// Returns the number of rows that the statistics of pages exclude.
    pub(super) fn excluded_rows(&self) -> u64 {
        let Some(possible) = &self.possible else { return 0 };
        let possible: usize = possible.iter().map(ExactSizeIterator::len).sum();
        self.rows.saturating_sub(possible) as u64
    }

    /// Splits the rows into at most `most` parts of nearly the same size, which threads can read at the same time.
    ///
    /// A thread skips the pages of a column that its part does not need. But for each part, the dictionary of the column and the
    /// lengths of lists are decoded again. So small row groups have a single part.
    pub(super) fn into_parts(self, most: usize) -> Vec<GroupPart> {
        let parts = self.rows.checked_div(LEAST_PART_ROWS).unwrap_or(0).min(most).max(1);
        let size = self.rows.div_ceil(parts);
        let group = Arc::new(self);
        let part = |part: usize| {
            let start = part.saturating_mul(size).min(group.rows);
            let rows = start..start.saturating_add(size).min(group.rows);
            GroupPart { group: Arc::clone(&group), rows }
        };
        (0..parts).map(part).collect()
    }
}

/// Consecutive rows of a row group.
pub(super) struct GroupPart {
    pub(super) group: Arc<Group>,
    pub(super) rows: Range<usize>,
}

impl GroupPart {
    /// Returns the rows of the part that the filters may select, by the statistics of the pages. Returns `None` if no rows are
    /// skipped by these statistics.
    pub(super) fn possible(&self) -> Option<Vec<Range<usize>>> {
        let clip = |range: &Range<usize>| range.start.max(self.rows.start)..range.end.min(self.rows.end);
        let possible = self.group.possible.as_ref()?;
        Some(possible.iter().map(clip).filter(|range| !range.is_empty()).collect())
    }

    /// Returns the rows of the part outside `ranges`, which are ascending.
    pub(super) fn complement(&self, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
        let starts = [self.rows.start].into_iter().chain(ranges.iter().map(|range| range.end));
        let ends = ranges.iter().map(|range| range.start).chain([self.rows.end]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }
}

/// Parts of a file in memory. Threads can read them at the same time, which they cannot do with a [`File`](std::fs::File).
#[derive(Clone)]
pub(super) struct Chunks {
    /// The length of the file.
    pub(super) length: u64,
    /// The parts with their offsets in the file.
    pub(super) parts: Arc<[(u64, Bytes)]>,
}

impl Chunks {
    /// Returns the bytes from `start`, an offset in the file, to the end of the part that contains this offset.
    fn at(&self, start: u64) -> ParquetResult<Bytes> {
        let rest = self.parts.iter().find_map(|(first, bytes)| {
            let before = usize::try_from(start.checked_sub(*first)?).ok()?;
            (before < bytes.len()).then(|| bytes.slice(before..))
        });
        rest.ok_or_else(|| {
            ParquetError::EOF(format!("byte {start} of the file is outside the parts that were read"))
        })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.at(start).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let rest = self.at(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF(format!(
                "a page of {length} bytes is longer than the rest of its column"
            )));
        }
        Ok(rest.slice(..length))
    }
}
