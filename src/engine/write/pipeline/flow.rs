//! Connects the stages of an import: all on one thread, or with worker threads for the build stage.

use super::documents::{DocumentGroup, Documents};
use super::group::{BuiltGroup, Settings};
use super::store::{CaseStore, StoreDocument};
use crate::engine::handle::Engine;
use crate::engine::write::reading::ImportMode;
use crate::engine::write::report::{ImportError, ImportReport};
use crate::engine::write::threads::{Detached, Queue, Spawn, available_workers, scope};
use crate::engine::write::transaction::WriteTxn;
use crate::ingest::{FileFault, Piece};

/// The number of cases that an import reads on the caller's thread. If more cases follow, it uses worker threads for them. For
/// fewer cases, starting threads would take longer than it saves.
const WORTH_WORKERS: usize = 1024;

/// The error that ended the reading of a source.
pub(crate) enum SourceError {
    /// An error of a document, which ends the import.
    Refused(Box<ImportError>),
    /// An error of the file itself, such as a missing bracket.
    File(FileFault),
}

impl From<FileFault> for SourceError {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<Box<ImportError>> for SourceError {
    fn from(refusal: Box<ImportError>) -> Self {
        Self::Refused(refusal)
    }
}

/// A function that receives the pieces of a source, which are mostly documents.
pub(crate) type TakePiece<'s> = dyn FnMut(Piece<'_>) -> Result<(), SourceError> + 's;

/// The state of an import in progress, except its splitter.
pub(crate) struct Pipeline<'e> {
    pub(super) store: CaseStore<'e>,
    stages: Stages<'static, 'static, Detached>,
}

/// The stages between the splitter and the store. Documents have the lifetime `'t`, and worker threads end within `'s`.
struct Stages<'t, 's, S> {
    documents: Documents<'t>,
    queue: Queue<'s, BuiltGroup<'t>>,
    spawn: S,
}

impl<'e> Pipeline<'e> {
    /// Creates the pipeline of an import. `documents` is the destination of documents that are stored outside the engine.
    pub(crate) fn new(engine: &'e Engine, mode: ImportMode, documents: Option<StoreDocument<'e>>) -> Self {
        let workers = available_workers();
        let stages = Stages {
            documents: Documents::new(engine.sizes.batch, workers),
            queue: Queue::new(workers),
            spawn: Detached,
        };
        Self { store: CaseStore::new(engine, mode, documents), stages }
    }

    pub(crate) fn engine(&self) -> &'e Engine {
        self.store.txn.engine()
    }

    pub(crate) fn mode(&self) -> ImportMode {
        self.store.mode
    }

    /// Returns the name of the source.
    pub(crate) fn source(&self) -> &str {
        &self.store.source
    }

    /// Starts another source.
    pub(crate) fn begin_source(&mut self, name: &str) {
        self.store.source = name.into();
        self.store.split = 0;
        self.stages.documents.source(name);
    }

    /// Returns the number of groups that are built concurrently. Returns 1 if no worker threads are used.
    #[cfg(feature = "arrow")]
    pub(super) fn workers(&self) -> usize {
        self.stages.queue.workers()
    }

    /// Imports the documents that `split` finds. An unfinished group is kept for the next call.
    ///
    /// # Errors
    /// Returns the first error that ends the import, which is an error of a document or of the file. Worker threads may still be
    /// reading a document when this function returns. If this document has an error that ends the import, a later call returns the
    /// error.
    pub(crate) fn push(
        &mut self,
        split: impl FnOnce(&mut TakePiece<'_>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        self.stages.run(&mut self.store, 0, split)
    }

    /// Imports the documents that `split` finds in `bytes`, which are all bytes of the import. The documents borrow from `bytes`.
    ///
    /// # Errors
    /// Returns the first error that ends the import.
    pub(crate) fn push_all(
        &mut self,
        bytes: &[u8],
        split: impl FnOnce(&mut TakePiece<'_>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let Self { store, stages: Stages { documents, queue, .. } } = self;
        scope(|spawn| {
            let (documents, queue) = (documents.over(bytes), Queue::new(queue.workers()));
            let mut stages = Stages { documents, queue, spawn };
            stages.run(store, bytes.len(), split)?;
            Ok(stages.drain(store)?)
        })
    }

    /// Stores all remaining documents.
    ///
    /// # Errors
    /// Returns the first error that ends the import.
    pub(crate) fn drain(&mut self) -> Result<(), Box<ImportError>> {
        self.stages.drain(&mut self.store)
    }

    /// Returns the transaction and the report. The caller must have stored all documents before.
    pub(crate) fn into_parts(self) -> (WriteTxn<'e>, ImportReport) {
        (self.store.txn, self.store.report)
    }
}

impl<'t: 's, 's, S: Spawn<'s>> Stages<'t, 's, S> {
    /// Processes the pieces that `split` finds. `rest` is the total size, in bytes, of the pieces that follow, or 0 if it is
    /// unknown.
    fn run(
        &mut self,
        store: &mut CaseStore<'_>,
        mut rest: usize,
        split: impl FnOnce(&mut TakePiece<'_>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let outcome = split(&mut |piece| {
            let size = piece.bytes.as_ref().map_or(0, |bytes| bytes.len());
            store.split = store.split.saturating_add(1);
            self.take(store, piece, rest)?;
            rest = rest.saturating_sub(size);
            Ok(())
        });
        // A document before the file error may have an error of its own, which must be reported first.
        if let Err(SourceError::File(_)) = outcome {
            self.drain(store)?;
        }
        outcome
    }

    /// Stores a document immediately, or adds it to the current group.
    fn take(
        &mut self,
        store: &mut CaseStore<'_>,
        piece: Piece<'_>,
        rest: usize,
    ) -> Result<(), Box<ImportError>> {
        let split = store.split;
        if self.queue.workers() == 1 {
            return store.read(piece, split);
        }
        if self.documents.is_empty() && self.queue.is_empty() {
            let Some(filling) = store.txn.take_filling(WORTH_WORKERS) else {
                return store.read(piece, split);
            };
            // This estimates the number of further documents from the size of the first ones.
            let known = filling.rows();
            let more = rest.saturating_mul(known).checked_div(filling.document_bytes()).unwrap_or(0);
            if more > 0 {
                let (workers, batch_rows) = (self.queue.workers(), store.txn.engine().sizes.batch);
                self.documents.share(known + more, workers, batch_rows);
            }
            self.documents.begin(filling);
        }
        let number = store.take_numbers(1);
        if let Some(group) = self.documents.push((piece, split), number) {
            self.start(store, group);
            if let Some(built) = self.queue.next_if_full() {
                self.documents.recycle(store.push_group(built)?);
            }
        }
        Ok(())
    }

    /// Starts the build of a group on a worker thread.
    fn start(&mut self, store: &CaseStore<'_>, group: DocumentGroup<'t>) {
        let settings = Settings::new(store.txn.engine(), store.mode);
        self.queue.start(self.spawn, move || group.build(settings));
    }

    /// Builds the unfinished group, and stores all groups in the queue.
    fn drain(&mut self, store: &mut CaseStore<'_>) -> Result<(), Box<ImportError>> {
        if let Some(group) = self.documents.take() {
            self.start(store, group);
        }
        // No group follows soon, so the text buffers are not kept.
        while let Some(built) = self.queue.next() {
            store.push_group(built)?;
        }
        Ok(())
    }
}
