//! Reads and writes Arrow record batches and Parquet files.
//!
//! - Import: [`Import::record_batches`] and [`Import::parquet`].
//! - Export: [`DocumentEncoder`] for record batches, and [`ParquetWriter`] for files. Both convert documents, such as those of a
//!   [`SearchAnswer`](crate::SearchAnswer). Neither can use the columns of an engine: they do not distinguish empty arrays and
//!   `null` elements from absent values, and they contain default values.
//! - Filtering without an engine: [`Filter::mask`](crate::Filter::mask), and [`Scan::parquet`](crate::Scan::parquet) for one request.
//!
//! # Mapping
//!
//! | in a document | exported as | also imported from |
//! |---|---|---|
//! | an object | `Struct` | a column for each member, named by its path: `caseReview.status` |
//! | an array | `List` | `LargeList`, `FixedSizeList`; an array of objects also from one list column for each member: `amlCases.amlCaseId` |
//! | a string | `Utf8` | `LargeUtf8`, `Utf8View`, and dictionaries of these |
//! | a number | `Float64` | any integer, any float, a decimal of up to 38 digits |
//! | an integer | `Int64` | any integer type |
//! | a decimal | `Decimal128(19, s)`, where `s` is the scale of the field | any integer, a decimal of up to 38 digits, strings |
//! | a boolean | `Boolean` | |
//! | a timestamp in a text form | `Timestamp(Millisecond, "+00:00")` | timestamps of any unit and zone, dates, strings in the form of the field |
//! | a timestamp in Unix seconds or milliseconds | `Utf8` | integers, timestamps, dates |
//! | absent, `null`, or an invalid value | null | `Null` columns |
//!
//! A value of a number field becomes a double. A timestamp loses its offset from UTC. An import also truncates a timestamp to the
//! precision of its field's form, such as whole seconds. An export omits members that are not fields of the catalogue. If a column
//! is not a field, an import adds its values to the documents. If JSON cannot represent the type of such a column, this is an error
//! in strict mode. In an exported Parquet file, the time zone of timestamps is `UTC` instead of `+00:00`.
//!
//! With the feature `parallel`, one thread decodes batches, and the other threads import them in groups. The number of groups in
//! memory is at most the number of threads plus one. A group is complete as soon as its columns have at least 128 MiB. So it
//! exceeds this size by less than one batch. The result of an import, and the line of an error, do not depend on the number of
//! threads.
//!
//! An import copies all values into the columns of the engine, which are more compact than Arrow's.
//! [`Filter::mask`](crate::Filter::mask) reads a column without copying its values if the type of the column is `Utf8View` or a
//! type under "exported as". Exceptions are decimals, and `Utf8` strings of at most 12 bytes.

mod bind;
mod cast;
mod columns;
mod dictionaries;
mod encode;
mod footer;
mod json;
mod leaf;
mod mark;
mod mask;
mod memo;
mod noted;
mod pages;
mod parquet_reader;
mod parquet_writer;
mod plan;
mod projection;
mod read;
mod row_group;
mod rows;
mod scalar;
mod scan;
mod scan_batch;
mod scan_file;
mod scan_group;
mod types;
mod value;
mod values;
mod zones;

// The crates whose types are in the interface of this module. They are re-exported so that a host uses the same versions.
pub use arrow_array;
pub use arrow_schema;
pub use parquet;

pub use encode::{DocumentEncoder, schema_of};
pub use parquet_writer::ParquetWriter;
pub use types::SQL_TABLE_KEY;

use arrow_array::RecordBatchReader;
use parquet::file::reader::ChunkReader;

use crate::engine::{Import, ImportError};

/// Import of Arrow record batches and Parquet files. Requires the feature `arrow`.
impl Import<'_> {
    /// Imports the documents of a Parquet file, from [`bytes::Bytes`], a [`std::fs::File`] or any other [`ChunkReader`].
    ///
    /// Each column is a member of the document. Structs and lists nest as objects and arrays do in JSON. The name of a column may
    /// also be a path: `caseReview.status`, or `amlCases.amlCaseId` as a list. One file may use both kinds of columns. The types of
    /// columns are:
    ///
    /// | field | column |
    /// |---|---|
    /// | string | any string type, also in dictionaries |
    /// | number | any integer, any float, a decimal of up to 38 digits |
    /// | integer | any integer type |
    /// | decimal | any integer, a decimal of up to 38 digits, any string type |
    /// | timestamp | timestamps of any unit and time zone, dates, strings in the form of the field; for fields in Unix seconds or [milliseconds](crate::Field::unix_millis) also integers, and strings that contain one integer |
    /// | boolean | booleans |
    ///
    /// The column of a multi-valued field is a list of one of these types. A null is treated as absent.
    ///
    /// The document of a case is built from all columns in their order, including columns that are not fields. Absent members are
    /// omitted. A timestamp is written in the form of its field. In the default form, it ends in `+0000` and has no fraction of a
    /// second. The fraction is cut off, both in the document and in the field.
    ///
    /// The documents contain most columns that are not fields. But two kinds of such columns are errors in a strict import. A
    /// lenient import reports them:
    ///
    /// - Columns whose type JSON cannot represent, such as bytes, times and maps. A lenient import omits them.
    /// - Columns named by an alias of a field, such as `status`, if the field has no other column. A lenient import adds their
    ///   values to the documents, but searches do not find these values.
    ///
    /// Columns may be compressed with Snappy, Zstandard, gzip or LZ4.
    ///
    /// The rules for documents also apply to rows. The [`line`](ImportError::line) of a rejected row is the position of the row,
    /// counted from 1. For an error about the file as a whole, it is 0. A number that is not finite is an invalid value.
    ///
    /// # Untrusted files
    ///
    /// The `parquet` crate panics on some damaged files. The panic is caught and converted to an error, unless the process aborts
    /// on panics. Damage inside values is not detected.
    ///
    /// A small file can decompress to a huge number of rows. A file is rejected if the total size of its documents exceeds both 64
    /// MiB and 1000 times the size of the file. The `parquet` crate itself allocates up to 2 GiB for a page if the file declares
    /// this size. If you import untrusted files, limit the memory of the process.
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
    /// Returns the same errors as [`push`](Self::push). The following errors fail the import in both modes:
    ///
    /// - a damaged file, or a file of another format;
    /// - [`SQL_TABLE_KEY`] in the metadata of the schema;
    /// - a field whose column has a type that is not listed above.
    ///
    /// # Complexity
    /// Linear in the number of values of the file.
    pub fn parquet(&mut self, name: &str, reader: impl ChunkReader + 'static) -> Result<(), ImportError> {
        self.begin_source(name)?;
        read::read(self, reader)?;
        self.begin_source("")
    }

    /// Imports the documents of record batches, by the same rules as [`parquet`](Self::parquet).
    ///
    /// Dictionaries, run-end-encoded columns, all list types except `List`, and all string types except `Utf8View` are cast first.
    /// Decimals, and numbers and dates of less than 64 bits, are then copied. All other columns are read without a copy.
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
    /// Returns the same errors as [`push`](Self::push). The following errors fail the import in both modes:
    ///
    /// - a field whose column has an invalid type; the path of the error is the column;
    /// - [`SQL_TABLE_KEY`] in the metadata of the schema;
    /// - an error of the reader, or a batch whose schema differs from the reader's schema.
    ///
    /// # Complexity
    /// Linear in the number of values of the batches.
    pub fn record_batches(&mut self, name: &str, batches: impl RecordBatchReader) -> Result<(), ImportError> {
        self.begin_source(name)?;
        read::read_batches(self, batches)?;
        self.begin_source("")
    }
}
