//! Reads and writes Arrow record batches and Parquet files.
//!
//! - Import: [`Import::record_batches`] and [`Import::parquet`].
//! - Export: [`DocumentEncoder`] for record batches, [`ParquetWriter`] for files. Both take documents, such as the documents of a
//!   [`SearchAnswer`](crate::SearchAnswer). An engine's columns would not be enough: they are sets, so they lose the order of arrays and
//!   the pairing of members in arrays of objects.
//! - Filtering without an engine: [`Filter::mask`](crate::Filter::mask).
//!
//! # Mapping
//!
//! | in a document | exported as | also imported from |
//! |---|---|---|
//! | an object | `Struct` | a column for each member, named by its path: `caseReview.status` |
//! | an array | `List` | `LargeList`, `FixedSizeList`; for arrays of objects one list column for each member: `amlCases.amlCaseId` |
//! | a string | `Utf8` | `LargeUtf8`, `Utf8View`, dictionaries of them |
//! | a number | `Float64` | any integer, float or decimal of up to 38 digits |
//! | a boolean | `Boolean` | |
//! | a timestamp | `Timestamp(Millisecond, "+00:00")` | any unit and zone, dates, text in the text form |
//! | Unix milliseconds in a string | `Utf8` | integers, timestamps, dates |
//! | absent, `null`, or an invalid value | null | `Null` columns |
//!
//! Numbers become doubles. Timestamps lose their offset; timestamps in the text form, which has whole seconds, also lose fractions of a
//! second. An export omits members outside of the catalogue. An import adds columns that are not fields to the document; in strict mode, a
//! column whose type JSON has no form for is an error. In a Parquet file the time zone is UTC.
//!
//! With the feature `parallel`, one thread decodes batches and the other threads import them. At most one group per thread and one more are
//! in memory at a time, each with at most 128 MiB of columns. The result of an import, and the line of an error, do not depend on the
//! number of threads.
//!
//! An import copies all values, because an engine's columns are more compact than Arrow's.
//! [`Filter::mask`](crate::Filter::mask) copies no values of columns with an "exported as" type or `Utf8View`.

mod bind;
mod cast;
mod columns;
mod encode;
mod footer;
mod json;
mod leaf;
mod mask;
mod parquet_reader;
mod parquet_writer;
mod plan;
mod read;
mod rows;
mod types;
mod value;
mod values;

// The crates whose types are in the interface of this module, so that a host uses the same versions.
pub use arrow_array;
pub use arrow_schema;
pub use parquet;

pub use encode::{DocumentEncoder, schema_of};
pub use parquet_writer::ParquetWriter;
pub use types::SQL_TABLE_KEY;

use arrow_array::RecordBatchReader;
use parquet::file::reader::ChunkReader;

use crate::engine::{Import, ImportError};

/// Arrow and Parquet; with the feature `arrow`.
impl Import<'_> {
    /// Imports the documents of a Parquet file, from [`bytes::Bytes`], a [`std::fs::File`] or any other
    /// [`ChunkReader`].
    ///
    /// Each column is a member of the document. Structs and lists nest as in documents. A column may also be named by a path:
    /// `caseReview.status`, or `amlCases.amlCaseId` as a list. One file may use both. The types of columns are:
    ///
    /// | field | column |
    /// |---|---|
    /// | string | any string type, also in dictionaries |
    /// | number | any integer, float or decimal of up to 38 digits |
    /// | timestamp | timestamps of any unit and time zone, dates, strings in the text form; for fields [in Unix milliseconds](crate::Field::unix_millis) also integers, and strings of integers |
    /// | boolean | booleans |
    ///
    /// Multi-valued fields are lists of these types. A null is absent.
    ///
    /// Documents are rebuilt from all columns, including columns that are not fields, in the order of the columns. Absent members are
    /// omitted. Timestamps are written in the text form with `+0000`; fractions of a second are cut off, in the document and in the field.
    ///
    /// Two kinds of columns that are not fields are errors in a strict import. A lenient import reports them.
    ///
    /// - Columns whose type JSON has no form for, such as bytes, times and maps. A lenient import omits them.
    /// - Columns named by an alias of a field, such as `status`, if the field itself has no column. A lenient import adds them
    ///   to the documents, but searches do not find their values.
    ///
    /// Columns may be compressed with Snappy, Zstandard, gzip or LZ4.
    ///
    /// Rows follow the same rules as documents. The [`line`](ImportError::line) of a refusal is the number of the row, counted from 1, or 0
    /// for the file. A number that is not finite is an invalid value.
    ///
    /// # Untrusted files
    ///
    /// The `parquet` crate panics on some damaged files. The panic is caught and becomes an error, unless the process aborts on
    /// panics. Damage inside values is not detected.
    ///
    /// A small file can decompress to a huge number of rows. If the documents have more than 1000 times the size of the file, and more than
    /// 64 MiB, the file is rejected. The `parquet` crate itself allocates up to 2 GiB for a page if the file declares that size. If you
    /// import untrusted files, limit the memory of the process.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{RecordBatch, StringArray};
    /// use casefilter::{Catalog, Engine, Filter, ImportMode};
    /// use parquet::arrow::ArrowWriter;
    ///
    /// let ids = Arc::new(StringArray::from(vec!["a", "b"])) as _;
    /// let states = Arc::new(StringArray::from(vec![Some("open"), None])) as _;
    /// let batch = RecordBatch::try_from_iter([("id", ids), ("caseReview.status", states)])?;
    /// let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
    /// writer.write(&batch)?;
    /// let file = bytes::Bytes::from(writer.into_inner()?);
    ///
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(ImportMode::Strict);
    /// import.parquet("cases.parquet", file)?;
    /// assert_eq!(import.commit()?.stored, 2);
    /// let open = Filter::compile_text(engine.catalog(), "status = open")?;
    /// let answer = engine.search(&casefilter::SearchRequest::new(open))?;
    /// let document = r#"{"id":"a","caseReview":{"status":"open"}}"#;
    /// assert_eq!(answer.documents().collect::<Vec<_>>(), [document]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push). The following errors fail the import in both modes:
    ///
    /// - a damaged file, or a file of another format;
    /// - [`SQL_TABLE_KEY`] in the schema;
    /// - a field whose column has a type that is not listed above.
    ///
    /// # Complexity
    /// Linear in the values of the file.
    pub fn parquet(&mut self, name: &str, reader: impl ChunkReader + 'static) -> Result<(), ImportError> {
        self.begin_source(name)?;
        read::read(self, reader)?;
        self.begin_source("")
    }

    /// Imports the documents of record batches, with the rules of [`parquet`](Self::parquet).
    ///
    /// Dictionaries, large lists, and strings of other types than `Utf8View` are cast first. All other columns are read without
    /// a copy.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{RecordBatch, RecordBatchIterator, StringArray};
    /// use casefilter::{Catalog, Engine, ImportMode};
    ///
    /// let ids = Arc::new(StringArray::from(vec!["a", "b"])) as _;
    /// let batch = RecordBatch::try_from_iter([("id", ids)])?;
    /// let schema = batch.schema();
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(ImportMode::Strict);
    /// import.record_batches("a stream", RecordBatchIterator::new([Ok(batch)], schema))?;
    /// assert_eq!(import.commit()?.stored, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push). The following errors fail the import in both modes:
    ///
    /// - a field whose column has an invalid type; the path of the error is the column;
    /// - [`SQL_TABLE_KEY`] in the schema;
    /// - an error of the reader, or a batch whose schema differs from the reader's.
    ///
    /// # Complexity
    /// Linear in the values of the batches.
    pub fn record_batches(&mut self, name: &str, batches: impl RecordBatchReader) -> Result<(), ImportError> {
        self.begin_source(name)?;
        read::read_batches(self, batches)?;
        self.begin_source("")
    }
}
