//! The write API of an engine: single cases, many at once, and imports.

use super::import::Import;
use super::pipeline::StoreDocument;
use super::reading::ImportMode;
use super::report::{ImportError, ImportReport, UpsertOutcome};
use super::transaction::WriteTxn;
use crate::batch::{Document, Row};
use crate::engine::handle::Engine;
use crate::error::{Error, Errors};
use crate::filter::utf8;
use crate::ingest::{read_by_template, read_case, trim, trim_start};

impl Engine {
    /// Starts an import. Other writes and imports do not wait for it until it is [committed](Import::commit).
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

    /// Stores one case, a JSON document. If a case with the same `id` exists, replaces it, and keeps its place in the insertion order.
    ///
    /// Searches that start later see the case.
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
    /// Returns every error that a strict import would report. Nothing is stored then.
    ///
    /// # Complexity
    /// Linear in the size of the document. Some writes also do a step of a merge, which takes milliseconds (`benches/live.rs`).
    ///
    /// Only one call at a time uses the fast path of the parser. Concurrent calls use the strict parser, which takes about 2.4 times
    /// as many instructions. To store from many threads, use [`upsert_many`](Self::upsert_many).
    pub fn upsert(&self, document: &[u8]) -> Result<UpsertOutcome, Errors> {
        let mut row = Row::default();
        let text = self.read(document, &mut row)?;
        let mut txn = WriteTxn::new(self);
        let upserted = txn.upsert(&row, Document::Text(text)).map_err(|error| Errors::from(*error))?;
        txn.stage().publish();
        Ok(upserted)
    }

    /// Stores all cases of `documents`, or none. The format is NDJSON, a JSON array or a search answer, as in a strict
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
    /// Returns the error of the first malformed case, or an error if the source has another format. Nothing is stored then.
    pub fn upsert_many(&self, documents: &[u8]) -> Result<ImportReport, ImportError> {
        self.import(ImportMode::Strict).commit_all(documents)
    }

    /// Deletes a case. Returns false if there is no case with this `id`. A later case with the same `id` gets a new place in the
    /// insertion order.
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

    /// Deletes cases atomically. Returns the number of deleted cases.
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

    /// Reads one document like a strict import. Returns its text.
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
            // Another thread uses the template.
            Err(_) => read_case(text, &self.catalog, &self.limits, row),
        }
    }
}
