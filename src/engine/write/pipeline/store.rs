//! The store stage of an import: adds cases to the write transaction, in order.

use super::group::BuiltGroup;
use crate::batch::{Document, Row};
use crate::engine::handle::Engine;
use crate::engine::write::reading::{DocumentReader, ImportMode};
use crate::engine::write::report::{ImportError, ImportReport};
use crate::engine::write::transaction::WriteTxn;
use crate::error::Error;
use crate::ingest::{DocumentTemplate, Piece};

/// The destination of documents that are stored outside the engine. Documents are numbered from 0, and passed in the order of their
/// document numbers.
pub(crate) struct StoreDocument<'e> {
    next: u64,
    put: PutDocument<'e>,
}

/// A function that takes the document number and the text of a document.
type PutDocument<'e> = Box<dyn FnMut(u64, &str) + Send + 'e>;

impl<'e> StoreDocument<'e> {
    /// Creates a destination. Its first document gets the document number 0.
    #[cfg_attr(
        not(any(feature = "store", all(test, feature = "arrow", feature = "parallel"))),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn new(put: impl FnMut(u64, &str) + Send + 'e) -> Self {
        Self { next: 0, put: Box::new(put) }
    }
}

/// The cases of an import, which no search can see yet, and the report of the import.
pub(super) struct CaseStore<'e> {
    pub(super) mode: ImportMode,
    pub(super) txn: WriteTxn<'e>,
    documents: Option<StoreDocument<'e>>,
    pub(super) source: Box<str>,
    /// The number of documents that have been split off from the source.
    pub(super) split: u64,
    pub(super) report: ImportReport,
    /// The memory of the last row that was read on this thread. It is reused.
    spare: Row<'static>,
    /// The document template of the documents that are read on this thread.
    template: DocumentTemplate,
}

impl<'e> CaseStore<'e> {
    pub(super) fn new(engine: &'e Engine, mode: ImportMode, documents: Option<StoreDocument<'e>>) -> Self {
        Self {
            mode,
            txn: WriteTxn::detached(engine),
            documents,
            source: Box::default(),
            split: 0,
            report: ImportReport::default(),
            spare: Row::default(),
            template: DocumentTemplate::default(),
        }
    }

    /// Returns the reader of documents and rows on this thread.
    pub(super) fn reader(&self) -> DocumentReader<'e> {
        let engine = self.txn.engine();
        DocumentReader { catalog: &engine.catalog, limits: &engine.limits, mode: self.mode }
    }

    /// Reserves `count` document numbers, and returns the first number. Returns 0 if documents are not stored outside the engine.
    pub(super) fn take_numbers(&mut self, count: u64) -> u64 {
        let Some(documents) = &mut self.documents else { return 0 };
        let number = documents.next;
        documents.next = number.saturating_add(count);
        number
    }

    /// Reads a document, and stores or rejects it. `number` is the position of the document in its source, counted from 1.
    ///
    /// # Errors
    /// Returns the error that ends the import.
    pub(super) fn read(&mut self, piece: Piece<'_>, number: u64) -> Result<(), Box<ImportError>> {
        let line = piece.line;
        let mut row = std::mem::take(&mut self.spare).recycle();
        let reader = self.reader();
        let text =
            reader.read((piece, number), &self.source, &mut self.template, &mut row, &mut self.report)?;
        if let Some(text) = text {
            self.add((line, number), &row, text)?;
        }
        self.spare = row.recycle();
        Ok(())
    }

    /// Stores the case of a row.
    ///
    /// # Errors
    /// Returns an error if the engine cannot hold another batch. This error ends the import in both modes.
    pub(super) fn add(
        &mut self,
        (line, document_number): (u64, u64),
        row: &Row<'_>,
        text: &str,
    ) -> Result<(), Box<ImportError>> {
        let number = self.take_numbers(1);
        let document = match self.documents {
            None => Document::Text(text),
            Some(_) => Document::Number { number, size_bytes: text.len() },
        };
        let upserted = self.txn.upsert(row, document);
        let refused =
            |error: Box<Error>| ImportError::new(&self.source, line, *error).of_document(document_number);
        let upserted = upserted.map_err(|error| Box::new(refused(error)))?;
        if let Some(documents) = &mut self.documents {
            (documents.put)(number, text);
        }
        self.report.count(upserted);
        Ok(())
    }

    /// Stores the cases of a group that a worker thread has built. Returns the text buffer of the group.
    ///
    /// # Errors
    /// Returns the error that ended the import in this group, or an error if the engine cannot hold another batch.
    pub(super) fn push_group(&mut self, mut built: BuiltGroup<'_>) -> Result<Vec<u8>, Box<ImportError>> {
        if let Some(failed) = built.failed.take() {
            return Err(failed);
        }
        let Self { txn, documents, source, report, .. } = self;
        report.append(built.report);
        for group_batch in built.batches {
            let (known, kept) = (group_batch.known, group_batch.documents);
            let stored = |row: usize, upserted| {
                report.count(upserted);
                if let Some(documents) = documents
                    && let Some(kept) = row.checked_sub(known).and_then(|at| kept.get(at))
                    && let Some(text) = kept.text(&built.text)
                {
                    (documents.put)(kept.number, text);
                }
            };
            txn.push_batch(group_batch.batch, known, group_batch.lookup, stored)
                .map_err(|error| Box::new(ImportError::new(source, 0, *error)))?;
        }
        Ok(built.text)
    }
}
