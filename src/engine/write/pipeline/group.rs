//! The build stage of an import: a worker thread fills batches with the cases of one group.

use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::batch::{Batch, BatchBuilder, Document, Keep, Row};
use crate::catalog::Catalog;
use crate::engine::handle::Engine;
use crate::engine::snapshot::View;
use crate::engine::write::lookup::Lookup;
use crate::engine::write::reading::{DocumentReader, ImportMode};
use crate::engine::write::report::{ImportError, ImportReport};
use crate::engine::write::sizes::Sizes;
use crate::ingest::trim;
use crate::limits::Limits;

/// The settings of the engine and of the import, for a worker thread. They hold no snapshot.
pub(super) struct Settings {
    pub(super) catalog: Catalog,
    pub(super) limits: Limits,
    mode: ImportMode,
    sizes: Sizes,
    keep: Keep,
    hasher: foldhash::quality::RandomState,
    /// The base at the time when the group was started. If another write has replaced it, the transaction looks the ids up again.
    base: Weak<View>,
}

impl Settings {
    pub(super) fn new(engine: &Engine, mode: ImportMode) -> Self {
        let base = &engine.current.load().base;
        Self {
            catalog: engine.catalog.clone(),
            limits: engine.limits.clone(),
            mode,
            sizes: engine.sizes,
            keep: engine.keep,
            hasher: base.index().hasher().clone(),
            base: Arc::downgrade(base),
        }
    }

    pub(super) fn reader(&self) -> DocumentReader<'_> {
        DocumentReader { catalog: &self.catalog, limits: &self.limits, mode: self.mode }
    }
}

/// A document of a group, for the durable store.
pub(super) struct KeptDocument<'t> {
    pub(super) number: u64,
    text: Text<'t>,
}

impl KeptDocument<'_> {
    /// Returns the document without surrounding whitespace. `copied` is the text buffer of its group.
    pub(super) fn text<'s>(&'s self, copied: &'s [u8]) -> Option<&'s str> {
        // The document has already been read as a case, so it is valid UTF-8.
        std::str::from_utf8(trim(self.text.bytes(copied))).ok()
    }
}

/// The location of a document's text.
#[derive(Clone)]
pub(super) enum Text<'t> {
    /// A slice of bytes that the caller keeps until the import ends.
    Borrowed(&'t [u8]),
    /// A range of the text buffer of the document's group.
    Copied(Range<usize>),
}

impl Text<'_> {
    pub(super) fn bytes<'s>(&'s self, copied: &'s [u8]) -> &'s [u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Copied(range) => copied.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// A sealed batch. So far, only its first `known` rows have insertion-order numbers.
pub(super) struct BuiltBatch<'t> {
    pub(super) batch: Batch,
    /// The number of rows that the transaction has already registered. They are the first rows of the batch.
    pub(super) known: usize,
    pub(super) lookup: Lookup,
    /// The document of each row after the first `known` rows. Empty unless documents are stored outside the engine.
    pub(super) documents: Vec<KeptDocument<'t>>,
}

/// The output of the build stage for one group.
pub(super) struct BuiltGroup<'t> {
    pub(super) batches: Vec<BuiltBatch<'t>>,
    pub(super) report: ImportReport,
    /// The error that ends the import after this group.
    pub(super) failed: Option<Box<ImportError>>,
    /// The text buffer that [`Text::Copied`] refers to.
    pub(super) text: Vec<u8>,
}

/// A builder that fills batches with the cases of a group.
pub(super) struct GroupBuilder<'t> {
    pub(super) settings: Settings,
    pub(super) report: ImportReport,
    filling: BatchBuilder,
    /// The number of rows that the transaction has already registered. They are the first rows of `filling`.
    known: usize,
    next_number: u64,
    documents: Vec<KeptDocument<'t>>,
    batches: Vec<BuiltBatch<'t>>,
}

impl<'t> GroupBuilder<'t> {
    /// Creates a builder for a group with about `rows` rows and `text_bytes` bytes of documents. Both are estimates.
    ///
    /// `filling` is the batch to continue, if there is such a batch. `first_number` is the document number of the first document.
    pub(super) fn new(
        settings: Settings,
        filling: Option<Box<BatchBuilder>>,
        first_number: u64,
        rows: usize,
        text_bytes: usize,
    ) -> Self {
        let capacity = rows.min(settings.sizes.batch);
        let filling = filling.map(|filling| *filling).filter(|filling| filling.rows() > 0);
        let mut filling =
            filling.unwrap_or_else(|| BatchBuilder::new(&settings.catalog, settings.keep, capacity));
        let known = filling.rows();
        let rows_in_all = (known + capacity).min(settings.sizes.batch.max(known));
        filling.reserve(rows_in_all, filling.document_bytes() + text_bytes);
        let keeps_numbers = settings.keep == Keep::Numbers;
        Self {
            settings,
            report: ImportReport::default(),
            filling,
            known,
            next_number: first_number,
            documents: Vec::with_capacity(if keeps_numbers { capacity } else { 0 }),
            batches: Vec::new(),
        }
    }

    /// Returns the document number of the next document, and increments the counter. If the document turns out to be malformed, its
    /// number stays unused.
    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        number
    }

    /// Adds the case of a row, with its document. The function `text` returns the location of the document.
    pub(super) fn push(
        &mut self,
        row: &Row<'_>,
        number: u64,
        document: &str,
        text: impl FnOnce() -> Text<'t>,
    ) {
        if self.filling.is_full() || self.filling.rows() >= self.settings.sizes.batch {
            self.seal();
        }
        let stored = match self.settings.keep {
            Keep::Nothing | Keep::Text => Document::Text(document),
            Keep::Numbers => {
                self.documents.push(KeptDocument { number, text: text() });
                Document::Number { number, size_bytes: document.len() }
            }
        };
        // The transaction sets the insertion-order number later, when it knows which ids exist.
        self.filling.push(row, stored, 0);
    }

    /// Seals the batch that is being filled, and looks up its ids and keys.
    fn seal(&mut self) {
        if self.filling.rows() == 0 {
            return;
        }
        let Settings { catalog, sizes, hasher, base, .. } = &self.settings;
        let batch = self.filling.seal();
        let lookup = Lookup::new(catalog, *sizes, hasher, base.upgrade().as_ref(), &batch);
        let (known, documents) = (std::mem::take(&mut self.known), std::mem::take(&mut self.documents));
        self.batches.push(BuiltBatch { batch, known, lookup, documents });
    }

    /// Ends the group. `text` is the text buffer of its documents. `failed` is the error that ends the import.
    pub(super) fn finish(mut self, text: Vec<u8>, failed: Option<Box<ImportError>>) -> BuiltGroup<'t> {
        // A failed import stores no batch.
        if failed.is_none() {
            self.seal();
        }
        BuiltGroup { batches: self.batches, report: self.report, failed, text }
    }
}
