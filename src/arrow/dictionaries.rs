//! Reads the texts of a column of a row group from the dictionary of the column.

use std::str;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::parquet_reader::catch_panics;

/// The maximum stored size of a dictionary that is read, in bytes. Testing the texts of a larger dictionary probably takes more
/// time than skipping the row group saves.
const MOST_BYTES: u64 = 64 << 10;

/// Returns the texts of a column of strings, if all of them are in a dictionary. Returns `None` if other pages may have further
/// texts, or if the dictionary is large or damaged.
pub(super) fn texts_of<R: ChunkReader + Clone + 'static>(
    reader: &R,
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> Option<Vec<Box<str>>> {
    if !has_only_codes(chunk) {
        return None;
    }
    let start = u64::try_from(chunk.dictionary_page_offset()?).ok()?;
    let end = u64::try_from(chunk.data_page_offset()).ok()?;
    if end > reader.len() || end.checked_sub(start)? > MOST_BYTES {
        return None;
    }
    let page = catch_panics(|| {
        let reader = Arc::new(reader.clone());
        SerializedPageReader::new(reader, chunk, rows, None)?.get_next_page()
    });
    let Some(Page::DictionaryPage { buf, num_values, .. }) = page.ok()? else { return None };
    // A column has at least as many values as its dictionary. Even an empty text takes four bytes of the page, so the page limits
    // the number of texts.
    if i64::from(num_values) > chunk.num_values() {
        return None;
    }
    let mut rest: &[u8] = &buf;
    let mut texts = Vec::new();
    for _ in 0..num_values {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (text, after) = after.split_at_checked(length)?;
        texts.push(str::from_utf8(text).ok()?.into());
        rest = after;
    }
    Some(texts)
}

/// Returns true if all data pages of a column contain codes of the dictionary. A writer that finds too many different values writes
/// further pages without the dictionary.
fn has_only_codes(chunk: &ColumnChunkMetaData) -> bool {
    // `PLAIN_DICTIONARY` is the older name of the same encoding.
    let encodings = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
    chunk.page_encoding_stats_mask().is_some_and(|mask| encodings.iter().any(|own| mask.is_only(*own)))
}
