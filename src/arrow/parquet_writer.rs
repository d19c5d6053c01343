//! Writes cases to a Parquet file.

use std::fmt;
use std::io::{self, Write};

use arrow_schema::{DataType, Fields};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;

use super::encode::DocumentEncoder;
use super::mark::mark;
use crate::catalog::{Catalog, FieldType};
use crate::filter::Order;
use crate::filter::order::SortKey;

/// The maximum number of cases per row group: two batches of an engine, which is about 100 MB of JSON.
const GROUP_ROWS: usize = 2 * 65_536;
/// The number of cases that are encoded as one record batch.
const BATCH_ROWS: usize = 8192;

/// A writer of Parquet files. The columns are those of [`schema_of`](super::schema_of), compressed with Zstandard.
///
/// Row groups and pages have statistics. If the documents are sorted by a timestamp, a reader can skip the row groups outside a
/// time range. If [`new`](Self::new) gets an order, the file also records it, up to the first field that Parquet sorts differently.
///
/// ```
/// use casefilter::{Catalog, Engine, ImportMode, Order, arrow::ParquetWriter};
/// let catalog = Catalog::cases();
/// let order = Order::parse(&catalog, "createdAt")?;
/// let mut writer = ParquetWriter::new(Vec::new(), &catalog, order.as_ref())?;
/// writer.push(r#"{"id":"b","createdAt":"2024-01-01 00:00:00"}"#)?;
/// writer.push(r#"{"id":"a","createdAt":"2024-01-02 00:00:00+0100"}"#)?;
/// let file = writer.finish()?;
///
/// let engine = Engine::new(catalog);
/// let mut import = engine.import(ImportMode::Strict);
/// import.parquet("cases.parquet", bytes::Bytes::from(file))?;
/// assert_eq!(import.commit()?.stored, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetWriter<W: Write + Send> {
    encoder: DocumentEncoder,
    writer: ArrowWriter<W>,
    /// The number of cases at which a row group is complete.
    group_rows: usize,
    /// The catalogue, if the caller has [promised](Self::with_unique_ids) that no id is repeated.
    unique: Option<Catalog>,
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("encoder", &self.encoder).finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a writer. If the documents will be written in a sorted order, `order` is this order.
    ///
    /// # Errors
    /// Returns the errors of `out`. Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if `order` belongs to another catalogue.
    pub fn new(out: W, catalog: &Catalog, order: Option<&Order>) -> io::Result<Self> {
        let encoder = DocumentEncoder::new(catalog);
        let schema = encoder.schema();
        let keys = order.map(|order| order.keys_in(catalog)).transpose();
        let keys = keys.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let sorting = |key: &SortKey| {
            let field = catalog.field(key.field);
            // Parquet orders some values differently from the engine: strings of a field with known values, absent values with a
            // default, and Unix times.
            let has_ranks = field.field_type() == FieldType::String && field.known_values().len() > 0;
            // In the order, an absent value is at the position of the default, but the column has a null.
            let is_natural = !has_ranks && field.default_value().is_none() && field.form().is_text();
            let column = leaf_number(schema.fields(), field.path()).filter(|_| is_natural)?;
            let column_idx = i32::try_from(column).ok()?;
            Some(SortingColumn { column_idx, descending: key.descending, nulls_first: false })
        };
        // Rows that are sorted by several columns are also sorted by the first of them. So the list ends before the first column
        // that Parquet orders differently.
        let sorting: Vec<SortingColumn> = keys.iter().flatten().map_while(sorting).collect();
        let sorting = Some(sorting).filter(|columns| !columns.is_empty());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_sorting_columns(sorting)
            .build();
        // The Arrow schema is left out of the metadata. Parquet's types are sufficient, and pyarrow treats the schema's zone
        // `+00:00` as different from `UTC`.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(out, schema, options)?;
        Ok(Self { encoder, writer, group_rows: GROUP_ROWS, unique: None })
    }

    /// Sets the number of documents per row group, at most 131,072, which is the default. A number above 8,192 is rounded up to a
    /// multiple of 8,192. With smaller row groups, readers can skip more cases, but the file is larger. Call this before the first
    /// document.
    ///
    /// ```
    /// use casefilter::{Catalog, arrow::ParquetWriter};
    /// let mut writer = ParquetWriter::new(Vec::new(), &Catalog::cases(), None)?.with_group_rows(20_000);
    /// writer.push(r#"{"id":"a"}"#)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn with_group_rows(self, rows: usize) -> Self {
        Self { group_rows: rows.clamp(1, GROUP_ROWS), ..self }
    }

    /// Promises that all documents of the file have different ids, as those of an engine or a store do.
    ///
    /// The footer of the file then has a mark, unless an import would make a note on a value. Because of the mark, a
    /// [scan](crate::Scan::parquet) of this file reads ids only if it needs them. The mark is no longer valid if another program
    /// writes the rows again. If the promise is broken, a scan counts repeated ids as different documents.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, SearchRequest, arrow::ParquetWriter};
    /// let cases = Catalog::cases();
    /// let mut writer = ParquetWriter::new(Vec::new(), &cases, None)?.with_unique_ids(&cases);
    /// for number in 0..1_000 {
    ///     writer.push(&format!(r#"{{"id":"case-{number}"}}"#))?;
    /// }
    /// let file = bytes::Bytes::from(writer.finish()?);
    /// let request = SearchRequest::new(Filter::all(&cases)).with_limit(0).with_count(true);
    /// let scan = Scan::new(&cases, &Limits::default(), ImportMode::Strict, &request)?;
    /// let found = scan.read_parquet(file)?;
    /// assert_eq!(found.selected, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_unique_ids(self, catalog: &Catalog) -> Self {
        Self { unique: Some(catalog.clone()), ..self }
    }

    /// Writes a document.
    ///
    /// # Errors
    /// Returns [`InvalidData`](io::ErrorKind::InvalidData) if a lenient import would reject the document. Returns the errors of the
    /// output. After an error of the output, the file is unusable.
    ///
    /// # Complexity
    /// Linear in the size of the document.
    pub fn push(&mut self, document: &str) -> io::Result<()> {
        if self.encoder.len() >= BATCH_ROWS.min(self.group_rows) || self.encoder.is_full() {
            self.write_batch()?;
        }
        self.encoder.push(document).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Writes the remaining documents and the footer, and returns the output.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_batch()?;
        if let Some(catalog) = &self.unique
            && !self.encoder.has_notes()
        {
            self.writer.flush()?;
            let mark = mark(catalog, self.writer.flushed_row_groups());
            self.writer.append_key_value_metadata(mark);
        }
        let mut out = self.writer.into_inner()?;
        out.flush()?;
        Ok(out)
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if !self.encoder.is_empty() {
            self.writer.write(&self.encoder.finish())?;
            if self.writer.in_progress_rows() >= self.group_rows {
                self.writer.flush()?;
            }
        }
        Ok(())
    }
}

/// Returns the index of the leaf column at `path`. Returns `None` if there is no such column, or if the path contains a list.
fn leaf_number(fields: &Fields, path: &str) -> Option<usize> {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let at = fields.iter().position(|field| field.name() == key)?;
    let before = fields.iter().take(at).map(|field| leaves(field.data_type())).sum::<usize>();
    match (fields.get(at)?.data_type(), rest) {
        (DataType::Struct(members), Some(rest)) => Some(before.saturating_add(leaf_number(members, rest)?)),
        (DataType::Struct(_), None) | (_, Some(_)) => None,
        (_, None) => Some(before),
    }
}

fn leaves(kind: &DataType) -> usize {
    match kind {
        DataType::Struct(members) => members.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(element) => leaves(element.data_type()),
        _ => 1,
    }
}
