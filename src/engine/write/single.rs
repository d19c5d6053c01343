//! The write API of an engine: single documents, many documents at once, and imports.

use super::import::Import;
use super::pipeline::StoreDocument;
use super::reading::ImportMode;
use super::report::{ImportError, ImportReport, UpsertOutcome};
use super::transaction::WriteTxn;
use crate::batch::{Document, Keep, Row};
use crate::engine::handle::Engine;
use crate::error::{Error, ErrorKind, Errors};
use crate::filter::{Document as ParsedDocument, utf8};
use crate::ingest::{case_limit, read_by_template, read_case, trim, trim_start};

impl Engine {
    /// Starts an import. Other writes and imports can run until it is [committed](Import::commit).
    #[must_use]
    pub fn import(&self, mode: ImportMode) -> Import<'_> {
        Import::new(self, mode, None)
    }

    /// Starts an import that passes its documents to `store`, for an engine with numbered documents.
    #[cfg_attr(
        not(any(feature = "store", all(test, feature = "arrow", feature = "parallel"))),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn import_numbered<'e>(&'e self, mode: ImportMode, store: StoreDocument<'e>) -> Import<'e> {
        Import::new(self, mode, Some(store))
    }

    /// Stores one JSON document. If a document with the same `id` exists, replaces it, and keeps its position in the insertion
    /// order.
    ///
    /// Searches that start later see the document. The `id` is unique in the engine. If several tenants write, see
    /// [the guide](crate::guide::embedding#writes).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, UpsertOutcome};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.upsert(br#"{"id":"a"}"#)?, UpsertOutcome::Stored);
    /// assert_eq!(engine.upsert(br#"{"id":"a","tags":["vip"]}"#)?, UpsertOutcome::Replaced);
    /// let errors = engine.upsert(br#"{"id":"a","tags":"vip"}"#).unwrap_err();
    /// assert_eq!((errors.as_slice()[0].path.as_str(), errors.as_slice()[0].offset), ("tags", 17));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of the document, or an error if the engine cannot hold another batch. In both cases, nothing is stored.
    ///
    /// # Complexity
    /// Linear in the size of the document. Some writes also do a step of a merge, which takes milliseconds (`benches/live.rs`).
    ///
    /// Only one call at a time uses the fast path of the parser. Concurrent calls use the strict parser, which takes about 2.4
    /// times as many instructions. To store from many threads, use [`upsert_many`](Self::upsert_many).
    pub fn upsert(&self, document: &[u8]) -> Result<UpsertOutcome, Errors> {
        let mut row = Row::default();
        let text = self.read(document, &mut row)?;
        let mut txn = WriteTxn::new(self);
        let upserted = txn.upsert(&row, Document::Text(text)).map_err(|error| Errors::from(*error))?;
        txn.stage().publish();
        Ok(upserted)
    }

    /// Stores a document that was parsed before, without parsing it again. See [`upsert`](Self::upsert).
    ///
    /// Parse it under the limits of the engine ([`Document::parse_within`](crate::Document::parse_within)): only the size of its
    /// text is checked again.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Engine, Filter, UpsertOutcome};
    /// let engine = Engine::new(Catalog::cases());
    /// let alert = Filter::compile_text(engine.catalog(), "tags = cash")?;
    /// let document = Document::parse(engine.catalog(), br#"{"id":"a","tags":["cash"]}"#)?;
    /// assert!(alert.selects(&document)?);
    /// assert_eq!(engine.upsert_document(&document)?, UpsertOutcome::Stored);
    /// assert_eq!(engine.count(&alert)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::CatalogMismatch`] if the catalogue of the document is not equal to that of the engine.
    /// - [`ErrorKind::BadValue`] if the engine keeps documents and this document has no [text](crate::Document::text).
    /// - [`ErrorKind::DocumentTooLarge`] if its text is longer than [`Limits::document_bytes`](crate::Limits::document_bytes).
    /// - [`ErrorKind::TooManyBatches`] if the engine cannot hold another batch.
    pub fn upsert_document(&self, document: &ParsedDocument) -> Result<UpsertOutcome, Error> {
        let text = self.text_to_store(document)?;
        let mut txn = WriteTxn::new(self);
        let upserted = txn.upsert(&document.row().to_row(), Document::Text(text)).map_err(|error| *error)?;
        txn.stage().publish();
        Ok(upserted)
    }

    /// Checks that the engine can store a parsed document. Returns its text, which is empty if the engine does not keep documents.
    ///
    /// # Errors
    /// Returns the errors of [`upsert_document`](Self::upsert_document).
    pub(crate) fn text_to_store<'d>(&self, document: &'d ParsedDocument) -> Result<&'d str, Error> {
        if document.catalog() != &self.catalog {
            let expected = "one parsed for the catalogue of the engine";
            let found = "a document of another catalogue";
            return Err(Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("document"));
        }
        let Some(text) = document.text() else {
            if self.keep == Keep::Nothing {
                return Ok("");
            }
            let expected = "one with its text, made by `Document::parse` or `Document::of_with_text`";
            return Err(Error::new(ErrorKind::BadValue, 0, "a document without its text", expected));
        };
        let limit = case_limit(&self.limits);
        if text.len() > limit {
            let found = format!("a document of {} bytes", text.len());
            let expected = format!("at most {limit} bytes");
            return Err(Error::new(ErrorKind::DocumentTooLarge, 0, found, expected));
        }
        Ok(text)
    }

    /// Stores all of these documents, or none. The format is NDJSON, a JSON array or a search answer, as in a strict
    /// [import](Self::import).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?.stored, 2);
    /// assert_eq!(engine.upsert_many(b"{\"id\":\"c\"}\n{\"id\":7}").unwrap_err().line, 2);
    /// assert_eq!(engine.len(), 2);
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of the first malformed document, or an error if the source has another format. Then nothing is stored.
    pub fn upsert_many(&self, documents: &[u8]) -> Result<ImportReport, ImportError> {
        self.import(ImportMode::Strict).commit_all(documents)
    }

    /// Stores several JSON documents: all, or none. Returns the outcome of each document.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, UpsertOutcome::{Replaced, Stored}};
    /// let engine = Engine::new(Catalog::cases());
    /// let documents = [r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"a"}"#];
    /// assert_eq!(engine.upsert_each(documents.map(str::as_bytes))?, [Stored, Stored, Replaced]);
    /// assert_eq!(engine.upsert_each([&b"{\"id\":\"c\"}"[..], b"{}"]).unwrap_err().document, 2);
    /// assert_eq!(engine.len(), 2);
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the first error of the first malformed document. The `document` and the `line` of the error are both the position of
    /// the document, where the first document has position 1. Then nothing is stored.
    pub fn upsert_each<D: AsRef<[u8]>>(
        &self,
        documents: impl IntoIterator<Item = D>,
    ) -> Result<Vec<UpsertOutcome>, ImportError> {
        let mut txn = WriteTxn::new(self);
        let mut outcomes = Vec::new();
        for (line, document) in (1_u64..).zip(documents) {
            let malformed = |error: Error| ImportError::new("", line, error).of_document(line);
            let mut row = Row::default();
            let text =
                self.read(document.as_ref(), &mut row).map_err(|errors| malformed(errors.into_first()))?;
            let outcome = txn.upsert(&row, Document::Text(text));
            outcomes.push(outcome.map_err(|error| malformed(*error))?);
        }
        if !outcomes.is_empty() {
            txn.stage().publish();
        }
        Ok(outcomes)
    }

    /// Deletes a document. Returns false if there is no document with this `id`. If a document with the same `id` is stored later,
    /// it gets a new position in the insertion order.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// assert!(engine.delete("a") && !engine.delete("a"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    pub fn delete(&self, id: &str) -> bool {
        self.delete_many([id]) == 1
    }

    /// Deletes documents atomically. Returns the number of deleted documents.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)?;
    /// assert_eq!(engine.delete_many(["a", "c", "a", "unknown"]), 2);
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    pub fn delete_many<I: AsRef<str>>(&self, ids: impl IntoIterator<Item = I>) -> usize {
        let mut txn = WriteTxn::new(self);
        let deleted = ids.into_iter().filter(|id| txn.delete(id.as_ref())).count();
        if deleted > 0 {
            txn.stage().publish();
        }
        deleted
    }

    /// Reads one document into `row`, in the same way as a strict import. Returns its text without the whitespace around it.
    pub(crate) fn read<'a>(&self, document: &'a [u8], row: &mut Row<'a>) -> Result<&'a str, Errors> {
        let bytes = trim(document);
        // Offsets in errors refer to the whole `document`.
        let before = document.len() - trim_start(document).len();
        let moved = |error: Error| Error { offset: error.offset + before, ..error };
        let text = utf8(bytes).map_err(|error| Errors::from(moved(error)))?;
        self.read_text(text, row).map_err(|error| Errors::from(moved(error)))?;
        let faults = row.take_faults().into_iter().map(moved).collect();
        match Errors::in_order(faults) {
            Some(errors) => Err(errors),
            None => Ok(text),
        }
    }

    /// Reads one document within the engine's limits.
    pub(crate) fn read_text<'a>(&self, text: &'a str, row: &mut Row<'a>) -> Result<(), Error> {
        match self.template.try_lock() {
            Ok(mut template) => read_by_template(text, &self.catalog, &self.limits, &mut template, row),
            // Another thread uses the template, so this thread uses the strict parser.
            Err(_) => read_case(text, &self.catalog, &self.limits, row),
        }
    }
}
