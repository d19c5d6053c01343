//! Encodes JSON documents as Arrow record batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::columns::{Member, Members};
use crate::batch::{MAX_DOCUMENT_BYTES, Remark, Row};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind};
use crate::ingest::read_case;
use crate::json::Reader;
use crate::limits::Limits;

/// Returns the Arrow schema for the documents of a catalogue. Structs and lists nest as objects and arrays do in documents. Columns
/// are in the order of the catalogue.
///
/// Strings are `Utf8`, numbers `Float64`, integers `Int64`, decimals `Decimal128(19, scale)`, booleans `Boolean`, timestamps
/// `Timestamp(Millisecond, "+00:00")`. Timestamps in Unix seconds or [milliseconds](crate::Field::unix_millis) are `Utf8`: they
/// remain text. All columns are nullable.
///
/// ```
/// use casefilter::{Catalog, arrow};
/// let catalog = Catalog::cases().allow(["status", "amlCases.amlCaseId"])?;
/// let schema = arrow::schema_of(&catalog);
/// let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
/// assert_eq!(names, ["caseReview", "amlCases"]);
/// # Ok::<(), casefilter::CatalogError>(())
/// ```
#[must_use]
pub fn schema_of(catalog: &Catalog) -> SchemaRef {
    let members = Members::new(catalog).list;
    Arc::new(Schema::new(members.iter().map(Member::field).collect::<Vec<_>>()))
}

/// An encoder that converts documents to record batches with the [schema](schema_of) of a catalogue.
///
/// Arrays keep their order and their `null` elements. A field with an invalid value is null, like an absent field. Members that are
/// not fields are omitted.
///
/// ```
/// use arrow_array::cast::AsArray;
/// use casefilter::{Catalog, arrow::DocumentEncoder};
/// let mut encoder = DocumentEncoder::new(&Catalog::cases());
/// encoder.push(r#"{"id":"a","name":"first","unknown":1}"#)?;
/// encoder.push(r#"{"id":"b","name":5}"#)?;
/// let batch = encoder.finish();
/// let names = batch.column_by_name("name").unwrap().as_string::<i32>();
/// assert_eq!(names.iter().collect::<Vec<_>>(), [Some("first"), None]);
/// # Ok::<(), casefilter::Error>(())
/// ```
pub struct DocumentEncoder {
    catalog: Catalog,
    limits: Limits,
    schema: SchemaRef,
    members: Members,
    rows: usize,
    /// The total size in bytes of the documents in the current batch. In each column of the batch, the number of elements and the
    /// bytes of text are at most this size.
    bytes: usize,
    spare: Row<'static>,
    /// For each field, by its id: true if the current document has a valid value.
    has_value: Vec<bool>,
    /// True if an import of the batches would make a note on a value that has been pushed so far.
    has_notes: bool,
}

impl std::fmt::Debug for DocumentEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentEncoder").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl DocumentEncoder {
    /// Creates an encoder whose current batch is empty.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        // Documents have no limits here, because they usually come from an engine, which has checked its own limits.
        let limits = Limits::default().for_stored_documents();
        Self {
            catalog: catalog.clone(),
            limits,
            schema: schema_of(catalog),
            members: Members::new(catalog),
            rows: 0,
            bytes: 0,
            spare: Row::default(),
            has_value: vec![false; catalog.field_ids().count()],
            has_notes: false,
        }
    }

    /// Returns the schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the number of documents in the current batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if the current batch contains no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns true if an import of the batches would make a note on a value that has been pushed so far.
    pub(super) fn has_notes(&self) -> bool {
        self.has_notes
    }

    /// Returns true if the total size of the documents in the current batch is at least 1 GiB. Then call [`finish`](Self::finish)
    /// before the next `push`.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= MAX_DOCUMENT_BYTES
    }

    /// Adds a document to the current batch.
    ///
    /// # Errors
    /// Returns an error, and adds nothing, if a lenient import would reject the document, or if the batch [is full](Self::is_full).
    ///
    /// # Complexity
    /// Linear in the size of the document.
    pub fn push(&mut self, document: &str) -> Result<(), Error> {
        if self.is_full() {
            let found = format!("documents of {} bytes in one batch", self.bytes);
            return Err(Error::new(ErrorKind::DocumentTooLarge, 0, found, "a call of `finish` first"));
        }
        let mut row = std::mem::take(&mut self.spare).recycle();
        let read = read_case(document, &self.catalog, &self.limits, &mut row);
        // Without faults, every value of the document is valid, so every field is set to true. With faults, only the fields that
        // have a value in the document are set to true. If one value of a field is invalid, the row has no value of this field, or
        // only its default.
        self.has_value.fill(row.faults().is_empty());
        for (field, _) in row.iter_own() {
            if let Some(has_value) = self.has_value.get_mut(field.index()) {
                *has_value = true;
            }
        }
        // An import of the batch makes no other remarks: its timestamps have a zone, its numbers are doubles, and all of its
        // columns are fields.
        self.has_notes |= row.remarks().iter().any(|remark| matches!(remark, Remark::Mistaken(..)));
        self.spare = row.recycle();
        read?;
        let mut reader = Reader::new(document);
        // This cannot fail, because `read_case` has accepted the same text.
        self.members.read(&mut reader, &self.has_value).map_err(|error| *error)?;
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(document.len());
        Ok(())
    }

    /// Returns the current batch, and starts a new batch.
    pub fn finish(&mut self) -> RecordBatch {
        let columns = self.members.list.iter_mut().map(|member| member.column.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes, self.members.count) = (0, 0, 0);
        // This cannot fail: the columns and the schema come from the same members, and each column has one entry per case.
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(self.schema()))
    }
}
