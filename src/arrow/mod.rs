//! Cases as Arrow record batches and Parquet files, in and out.
//!
//! - In: [`Import::record_batches`] and [`Import::parquet`].
//! - Out: [`CaseEncoder`] for record batches, [`ParquetWriter`] for files, both from documents, such as those of an
//!   [`Answer`](crate::Answer). Documents rather than columns, since a column is a set: it has lost the order of
//!   an array, and which name stood beside which value in its objects.
//! - Neither: [`Filter::mask`](crate::Filter::mask) filters record batches where they lie.
//!
//! # How a case is a row
//!
//! | in a document | out | in, beside that |
//! |---|---|---|
//! | an object | `Struct` | a column for each member, named by its path: `caseReview.status` |
//! | an array | `List` | `LargeList`, `FixedSizeList`; for arrays of objects a list for each member: `amlCases.amlCaseId` |
//! | a string | `Utf8` | `LargeUtf8`, `Utf8View`, dictionaries of them |
//! | a number | `Float64` | any integer, float or decimal of up to 38 digits |
//! | a boolean | `Boolean` | |
//! | a timestamp | `Timestamp(Millisecond, "+00:00")` | any unit and zone, dates, text in the text form |
//! | Unix milliseconds in a string | `Utf8` | integers, timestamps, dates |
//! | absent, `null`, or a field at fault | null | `Null` columns |
//!
//! Numbers become doubles, and timestamps lose their offset, and parts of a second where a case has them in the text form, which
//! has whole seconds alone. Members outside of the catalogue are not
//! written; columns that are no field are read into the document, and those that JSON has no form for end a strict import.
//! In a file the zone of timestamps is Parquet's own, UTC, under whatever name its reader gives that.
//!
//! With the feature `parallel` a thread decodes and the others fill batches, so many at once as there are threads and one more, 128 MiB of
//! columns for each at most. What an import makes of a source, and the line where it fails, is the same on any number of threads.
//!
//! An engine's columns are narrower than Arrow's (codes of a byte, dictionaries, offsets from a common base), so
//! nothing is shared with it; [`Filter::mask`](crate::Filter::mask) copies no values of columns whose type is one of
//! those "out", or `Utf8View`.

mod bind;
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
mod view;

pub use encode::{CaseEncoder, schema};
pub use parquet_writer::ParquetWriter;
pub use types::TABLE_KEY;

use arrow_array::RecordBatchReader;
use parquet::file::reader::ChunkReader;

use crate::engine::{Import, Refusal};

/// Parquet files; with the feature `arrow`.
impl Import<'_> {
    /// Takes in the cases of a Parquet file, from [`bytes::Bytes`], a [`std::fs::File`] or what else
    /// the `parquet` crate reads from.
    ///
    /// A column is a member of the case. Structs and lists nest as the case does; a column named by a
    /// path, such as `caseReview.status` or, as a list, `amlCases.amlCaseId`, lies where the path leads.
    /// Both may occur in one file. Fields may be
    ///
    /// - strings: any sort of string column, dictionaries too,
    /// - numbers: any integer, float or decimal of up to 38 digits,
    /// - timestamps: timestamps of any unit and time zone, dates, or strings in the text form; fields
    ///   [in Unix milliseconds](crate::Field::unix_millis) also integers and strings of them,
    /// - booleans: booleans,
    ///
    /// and lists of these where they have many values. Nulls are absent. Documents are rebuilt from
    /// all columns, those that are no field too, in the order of the columns: absent members left out,
    /// timestamps in the text form with `+0000`. That has whole seconds alone: a part of one is cut off, in the document and in the
    /// field. Columns that are no field and of bytes, times, maps or another type that JSON has not end a strict
    /// import; a lenient one leaves them out and lists them. So does a column under another name of a field, such as
    /// `status`, unless there is one for the field itself: its values would not be found.
    ///
    /// Columns may be compressed with Snappy, Zstandard, gzip or LZ4.
    ///
    /// Rows are cases under the same rules as documents. The [`line`](Refusal::line) of a refusal is the
    /// row, counted from 1, or 0 for the file; a number that is not finite is a fault of its field.
    ///
    /// The `parquet` crate panics over some damage; such a panic is caught and becomes an error like the
    /// others, but a process that aborts on panics ends there. Damage inside of values is not found.
    ///
    /// A file can hold many more rows than bytes, and decompresses to far more than its size. One whose
    /// documents take a thousand times its own bytes, and more than 64 MiB, is refused. What the `parquet`
    /// crate itself takes for a page, up to 2 GiB, is as the file says: a host that takes files from
    /// strangers bounds the memory of the process that reads them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{RecordBatch, StringArray};
    /// use casefilter::{Catalog, Engine, Filter, Mode};
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
    /// let mut import = engine.import(Mode::Strict);
    /// import.parquet("cases.parquet", file)?;
    /// assert_eq!(import.commit()?.stored, 2);
    /// let open = Filter::compile_text(engine.catalog(), "status = open")?;
    /// let answer = engine.search(&casefilter::Request::new(open))?;
    /// let document = r#"{"id":"a","caseReview":{"status":"open"}}"#;
    /// assert_eq!(answer.documents().collect::<Vec<_>>(), [document]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`push`](Self::push). A file that is no Parquet file or is damaged, one with [`TABLE_KEY`] in its schema, and a
    /// field whose column has another type than those above, end the import in either mode.
    ///
    /// Complexity: linear in the values of the file.
    pub fn parquet(&mut self, name: &str, reader: impl ChunkReader + 'static) -> Result<(), Refusal> {
        self.source(name)?;
        read::read(self, reader)?;
        self.source("")
    }

    /// Takes in the cases of record batches, under the rules of [`parquet`](Self::parquet).
    ///
    /// Strings of other types than `Utf8View`, dictionaries and large lists are cast first; all else is read where it lies.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{RecordBatch, RecordBatchIterator, StringArray};
    /// use casefilter::{Catalog, Engine, Mode};
    ///
    /// let ids = Arc::new(StringArray::from(vec!["a", "b"])) as _;
    /// let batch = RecordBatch::try_from_iter([("id", ids)])?;
    /// let schema = batch.schema();
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(Mode::Strict);
    /// import.record_batches("a stream", RecordBatchIterator::new([Ok(batch)], schema))?;
    /// assert_eq!(import.commit()?.stored, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`push`](Self::push). A field whose column has a type that it cannot have, [`TABLE_KEY`] in the schema, an error of
    /// the reader, and a batch of another schema than the reader's end the import in either mode; the path is that of the column.
    ///
    /// Complexity: linear in the values of the batches.
    pub fn record_batches(&mut self, name: &str, batches: impl RecordBatchReader) -> Result<(), Refusal> {
        self.source(name)?;
        read::read_batches(self, batches)?;
        self.source("")
    }
}
