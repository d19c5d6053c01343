//! Cases into record batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::columns::{Member, Members};
use crate::batch::{MAX_DOCUMENT_BYTES, Row};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind};
use crate::ingest::read_case;
use crate::json::Reader;
use crate::limits::Limits;

/// The columns of cases: structs and lists nest as in the documents, in the order of the catalogue.
///
/// Strings are `Utf8`, numbers `Float64`, booleans `Boolean`, timestamps `Timestamp(Millisecond, "+00:00")`. Fields
/// [in Unix milliseconds](crate::Field::unix_millis) stay the text that documents have. All can be null.
///
/// ```
/// use casefilter::{Catalog, arrow};
/// let catalog = Catalog::cases().allow(["status", "amlCases.amlCaseId"])?;
/// let schema = arrow::schema(&catalog);
/// let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
/// assert_eq!(names, ["caseReview", "amlCases"]);
/// # Ok::<(), casefilter::CatalogError>(())
/// ```
#[must_use]
pub fn schema(catalog: &Catalog) -> SchemaRef {
    let members = Members::new(catalog).list;
    Arc::new(Schema::new(members.iter().map(Member::field).collect::<Vec<_>>()))
}

/// Documents in, record batches out, of the [schema] of a catalogue.
///
/// Arrays keep their order and their elements that are `null`. A field that counts as absent, because one of its
/// values is at fault, is null. Members that are no fields are left out.
///
/// ```
/// use arrow_array::cast::AsArray;
/// use casefilter::{Catalog, arrow::CaseEncoder};
/// let mut encoder = CaseEncoder::new(&Catalog::cases());
/// encoder.push(r#"{"id":"a","name":"first","unknown":1}"#)?;
/// encoder.push(r#"{"id":"b","name":5}"#)?;
/// let batch = encoder.finish();
/// let names = batch.column_by_name("name").unwrap().as_string::<i32>();
/// assert_eq!(names.iter().collect::<Vec<_>>(), [Some("first"), None]);
/// # Ok::<(), casefilter::Error>(())
/// ```
pub struct CaseEncoder {
    catalog: Catalog,
    limits: Limits,
    schema: SchemaRef,
    members: Members,
    rows: usize,
    /// Of all documents so far, which bounds what every column holds.
    bytes: usize,
    spare: Row<'static>,
    /// By field number: whether values of the case being added count.
    has_value: Vec<bool>,
}

impl std::fmt::Debug for CaseEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaseEncoder").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl CaseEncoder {
    /// An encoder without cases.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        // Documents come from an engine, whatever bounds its host set.
        let limits = Limits { case_bytes: usize::MAX, case_depth: usize::MAX, ..Limits::default() };
        Self {
            catalog: catalog.clone(),
            limits,
            schema: schema(catalog),
            members: Members::new(catalog),
            rows: 0,
            bytes: 0,
            spare: Row::default(),
            has_value: vec![false; catalog.field_ids().count()],
        }
    }

    /// The columns of its batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// How many cases the next batch has so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the next batch has no case so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the batch has to be finished before it takes another case, because its texts reach 1 GiB.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= MAX_DOCUMENT_BYTES
    }

    /// Adds a case.
    ///
    /// # Errors
    /// What no lenient import takes in as a case, and any case once the batch [is full](Self::is_full). Nothing is
    /// added then.
    ///
    /// Complexity: linear in the document.
    pub fn push(&mut self, document: &str) -> Result<(), Error> {
        if self.is_full() {
            let found = format!("texts of {} bytes in one batch", self.bytes);
            return Err(Error::new(ErrorKind::CaseTooLarge, 0, found, "the batch to be finished before"));
        }
        let mut row = std::mem::take(&mut self.spare).recycle();
        let read = read_case(document, &self.catalog, &self.limits, &mut row);
        // Without faults every value counts. With some, a field at fault is one that has no value left.
        self.has_value.fill(row.faults().is_empty());
        for (field, _) in row.iter() {
            if let Some(has_value) = self.has_value.get_mut(field.index()) {
                *has_value = true;
            }
        }
        self.spare = row.recycle();
        read?;
        let mut reader = Reader::new(document);
        // The text was read as a case a moment ago, so nothing of it is a surprise.
        self.members.read(&mut reader, &self.has_value).map_err(|error| *error)?;
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(document.len());
        Ok(())
    }

    /// The batch of the cases so far; the next one starts without any.
    pub fn finish(&mut self) -> RecordBatch {
        let columns = self.members.list.iter_mut().map(|member| member.column.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes, self.members.count) = (0, 0, 0);
        // The columns are made of the same members as the schema, each with an entry for each case.
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(self.schema()))
    }
}
