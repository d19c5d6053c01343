//! Sample cases as a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use casefilter::{Catalog, FieldType};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// Cases in a row group: two batches of the engine, some 100 MB of JSON.
const GROUP_ROWS: usize = 2 * 65_536;
/// Cases that become columns at once.
const BATCH_ROWS: usize = 8_192;

/// A Parquet file of cases, written as NDJSON.
///
/// Structs and lists nest as in the documents, in the order of the catalogue. Timestamps are
/// timestamps in UTC, so that other engines can pass over row groups by their statistics; Unix
/// milliseconds stay the strings that documents have. Members outside the catalogue, which sample
/// cases have not, are left out.
pub(crate) struct ParquetFile<W: Write + Send> {
    decoder: Decoder,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> ParquetFile<W> {
    pub(crate) fn new(out: W) -> io::Result<Self> {
        let schema = Arc::new(schema(&Catalog::cases()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let decoder = ReaderBuilder::new(Arc::clone(&schema)).with_batch_size(BATCH_ROWS).build_decoder();
        Ok(Self {
            decoder: decoder.map_err(io::Error::other)?,
            writer: ArrowWriter::try_new(out, schema, Some(properties))?,
        })
    }

    /// Writes what is left, and what a Parquet file ends with.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_batch()?;
        self.writer.into_inner()?.flush()
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if let Some(batch) = self.decoder.flush().map_err(io::Error::other)? {
            self.writer.write(&batch)?;
        }
        Ok(())
    }
}

/// Takes NDJSON.
impl<W: Write + Send> Write for ParquetFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let read = self.decoder.decode(bytes).map_err(io::Error::other)?;
        if read == bytes.len() {
            return Ok(read);
        }
        // The decoder has a batch, and may have had it before.
        self.write_batch()?;
        if read == 0 { self.decoder.decode(bytes).map_err(io::Error::other) } else { Ok(read) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A key of a document and what lies below it.
struct Key<'p> {
    name: &'p str,
    is_list: bool,
    below: Vec<Key<'p>>,
    value: Option<DataType>,
}

/// The columns of cases.
fn schema(catalog: &Catalog) -> Schema {
    let mut keys = Vec::new();
    for (_, field) in catalog.visible_fields() {
        let kind = match field.kind() {
            FieldType::Timestamp if !field.is_unix_millis() => {
                DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into()))
            }
            FieldType::String | FieldType::Timestamp => DataType::Utf8,
            FieldType::Number => DataType::Float64,
            FieldType::Boolean => DataType::Boolean,
        };
        let path: Vec<&str> = field.path().split('.').collect();
        insert(&mut keys, &path, kind);
    }
    Schema::new(keys.into_iter().map(Key::field).collect::<Vec<_>>())
}

fn insert<'p>(keys: &mut Vec<Key<'p>>, path: &[&'p str], kind: DataType) {
    let Some((segment, rest)) = path.split_first() else { return };
    let name = segment.trim_end_matches("[]");
    let at = keys.iter().position(|key| key.name == name).unwrap_or(keys.len());
    if at == keys.len() {
        keys.push(Key { name, is_list: name != *segment, below: Vec::new(), value: None });
    }
    if let Some(key) = keys.get_mut(at) {
        if rest.is_empty() {
            key.value = Some(kind);
        } else {
            insert(&mut key.below, rest, kind);
        }
    }
}

impl Key<'_> {
    fn field(self) -> Field {
        let below = self.below.into_iter().map(Key::field).collect();
        let kind = self.value.unwrap_or(DataType::Struct(below));
        if self.is_list {
            Field::new_list(self.name, Field::new_list_field(kind, true), true)
        } else {
            Field::new(self.name, kind, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use casefilter::{Engine, Mode, sample};

    #[test]
    fn a_batch_may_end_where_a_write_does() {
        let mut file = Vec::new();
        let mut writer = ParquetFile::new(&mut file).unwrap();
        let count = 2 * BATCH_ROWS as u64 + 1;
        for case in sample::Cases::new(count, 1) {
            writer.write_all(&case).unwrap();
            writer.write_all(b"\n").unwrap();
        }
        writer.finish().unwrap();
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(Mode::Strict);
        import.parquet("", bytes::Bytes::from(file)).unwrap();
        assert_eq!(import.commit().unwrap().stored, count);
    }
}
