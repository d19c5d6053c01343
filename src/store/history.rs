//! The history of a store: the documents as of an earlier write.
//!
//! A snapshot as of an earlier write shares all batches of the current snapshot, without the rows of newer documents. The documents
//! that later writes replaced or deleted are read from the history, and become further batches. So the memory and time that the
//! snapshot takes depend on the number of later changes, and not on the number of all documents.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use redb::WriteTransaction;

use super::as_of::{AsOf, HistoryGoneError};
use super::database::Store;
use super::documents::{Documents, OldDocuments, no_documents};
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::history_bytes::{WriteCounters, WriteRow};
use super::history_tables::{History, forget, put_counters, set_time};
use super::log::Log;
use super::options::KeptEvents;
use super::snapshot::StoreSnapshot;
use super::tables::{KEPT_EVENTS, META};
use crate::batch::{Batch, BatchBuilder, Document, Keep, Row};
use crate::engine::EngineSnapshot;
use crate::error::{Error, ErrorKind};
use crate::ingest::{DocumentTemplate, read_by_template};
use crate::stop::StopConditions;
use crate::value::Timestamp;

/// A limit for the documents that a snapshot as of an earlier moment reads from the history. The default is no limit.
#[derive(Default)]
pub(crate) struct OldLimit {
    /// The maximum number of documents. If there are more, the request returns an error.
    pub(crate) most: Option<usize>,
    /// The maximum total length of the documents, in bytes. Only the last document may exceed it.
    pub(crate) most_bytes: Option<usize>,
    /// A value that is dropped together with the last snapshot or page that has such documents.
    pub(crate) guard: Option<Arc<dyn Any + Send + Sync>>,
}

impl Store {
    /// Sets the time for which the store keeps documents that a write replaced or deleted. Then [`as_of`](Self::as_of) returns the
    /// documents as they were at any moment within this time. The setting is on disk when the call returns.
    ///
    /// The file stores this setting: later writes keep replaced documents, even if another program makes these writes. If the store
    /// has no history yet, the history begins with this call. Zero ends the history, and removes all documents of the history. If
    /// the time is shorter than before, the call removes the documents that are now too old. A time between zero and one
    /// millisecond is rounded up to one millisecond.
    ///
    /// Documents are kept for at least this time. Each write and each checkpoint removes a bounded number of older documents. So
    /// older documents stay while nothing is written. [`compact`](Self::compact) and [`compact_online`](Self::compact_online)
    /// remove all older documents.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::{AsOf, Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.set_history(Duration::from_secs(7 * 24 * 3600))?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// store.delete("a", Durability::Synced)?;
    /// assert_eq!((store.as_of(AsOf::Write(1))?.len(), store.len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`OldFormat`](StoreErrorKind::OldFormat) if the file has an earlier version and `time` is not zero, even if the
    /// store was opened for reading only. Returns an error if the file cannot be written, as [`upsert`](Self::upsert) does.
    pub fn set_history(&self, time: Duration) -> Result<(), StoreError> {
        // The greatest time is far longer than any file will exist.
        let history_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(u64::MAX >> 3);
        let history_ms = if time.is_zero() { 0 } else { history_ms.max(1) };
        let mut log = self.lock_log();
        if !self.is_packed && log.writes.history_ms != history_ms {
            let detail =
                "its format version keeps no history; export the cases, and import them into a new file";
            return Err(self.error(Fault::new(StoreErrorKind::OldFormat, detail)));
        }
        self.ready(&mut log)?;
        if log.writes.history_ms == history_ms {
            return Ok(());
        }
        let (now, state) = ((self.clock)(), log.state);
        self.change_settings(&mut log, |transaction, writes| {
            set_time(transaction, writes, history_ms, now, &state)?;
            if writes.has_history() { forget(transaction, writes, now, u64::MAX) } else { Ok(()) }
        })
    }

    /// Removes all documents of the history that are older than the time for which documents are kept.
    pub(super) fn forget_old(&self, log: &mut Log) -> Result<(), StoreError> {
        if !log.writes.has_history() {
            return Ok(());
        }
        let now = (self.clock)();
        self.change_settings(log, |transaction, writes| forget(transaction, writes, now, u64::MAX))
    }

    /// Stores the maximum number and the maximum age of kept events. Files of format versions before 3 have no events.
    pub(super) fn store_kept_events(&self, kept: KeptEvents) -> Result<(), StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        self.change_settings(&mut log, |transaction, _| {
            transaction.open_table(META)?.insert(KEPT_EVENTS, kept.to_bytes().as_slice())?;
            Ok(())
        })
    }

    /// Changes the settings of the history or of the kept events, but no cases. The change is on disk when the call returns.
    fn change_settings(
        &self,
        log: &mut Log,
        change: impl FnOnce(&WriteTransaction, &mut WriteCounters) -> Result<(), Fault>,
    ) -> Result<(), StoreError> {
        let mut writes = log.writes;
        let committed = guarded(|| {
            let transaction = self.file.write(true)?;
            change(&transaction, &mut writes)?;
            put_counters(&transaction, writes)?;
            transaction.commit()?;
            // The commit synced all writes before it, even if the next step fails.
            log.writes = writes;
            log.synced();
            // The reader of the current snapshot has the tables of the previous state.
            self.engine.attach(Arc::new(Documents::of(&self.file)?));
            Ok(())
        });
        self.settle(log, committed)
    }

    /// Returns the time for which the store keeps documents that a write replaced or deleted. Returns zero if it keeps no history.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let day = Duration::from_secs(24 * 3600);
    /// Store::create(&path, Catalog::cases(), StoreOptions::default().history(day))?.close()?;
    /// assert_eq!(Store::open(&path, Catalog::cases(), StoreOptions::default())?.history(), day);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn history(&self) -> Duration {
        Duration::from_millis(self.lock_log().writes.history_ms)
    }

    /// Returns the documents as they were at an earlier moment, for any number of searches. The moment is the number of a write, as
    /// [`StoreSnapshot::last_write`] and [`SearchAnswer::last_write`](crate::SearchAnswer::last_write) return it, or a time.
    ///
    /// If the file counts writes, the moment may always be the number of the last write. An earlier write, or a time, needs a
    /// [history](Self::set_history) that goes back to this moment. A search of the returned snapshot gives the answer that the same
    /// search gave at that moment.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::{AsOf, Catalog, Durability, Filter, SearchRequest, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let options = StoreOptions::default().history(Duration::from_secs(3600));
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), options)?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
    /// let vip = SearchRequest::new(Filter::compile_text(store.catalog(), "tags = vip")?);
    /// let before = store.search(&vip)?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// assert!(store.search(&vip)?.is_empty());
    /// let moment = AsOf::Write(before.last_write().unwrap_or_default());
    /// assert_eq!(store.as_of(moment)?.search(&vip)?.to_json(), before.to_json());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`HistoryGone`](StoreErrorKind::HistoryGone) if the moment is not kept, or has not come yet. If the store keeps no
    /// history, it returns this error for every moment that is a time. [`StoreError::history_gone`] names the oldest moment. Returns
    /// an error if the file cannot be read or is damaged.
    ///
    /// # Complexity
    /// Parses each document that was replaced or deleted since the moment, and keeps its columns in memory while the result exists.
    pub fn as_of(&self, moment: AsOf) -> Result<StoreSnapshot<'_>, StoreError> {
        self.as_of_with(moment, &StopConditions::default(), OldLimit::default())
    }

    /// Like [`as_of`](Self::as_of), but also returns an error if the stop conditions say that the search must stop, or if the old
    /// documents exceed `limit`.
    pub(crate) fn as_of_with(
        &self,
        moment: AsOf,
        stop: &StopConditions,
        limit: OldLimit,
    ) -> Result<StoreSnapshot<'_>, StoreError> {
        let find = || self.find_moment(moment, stop, &limit);
        let snapshot = self.reading(self.file.generation(), find, find)?;
        Ok(StoreSnapshot::new(self, snapshot))
    }

    fn find_moment(
        &self,
        moment: AsOf,
        stop: &StopConditions,
        limit: &OldLimit,
    ) -> Result<EngineSnapshot, Fault> {
        let now = self.engine.snapshot();
        let last = now.last_write();
        if self.is_packed && moment == AsOf::Write(last) {
            return Ok(now);
        }
        let attachment = now.inner().attached();
        let documents = attachment.as_deref().and_then(|own| own.downcast_ref::<Documents>());
        let documents = documents.ok_or_else(no_documents)?;
        let (counters, history) =
            documents.history().map_err(|fault| fault.of_generation(documents.generation))?;
        if self.is_packed && counters.last != last {
            return Err(Fault::corrupt("the counters of writes do not match the last write"));
        }
        let write = find_write(moment, (last, (self.clock)()), history.as_ref())?;
        let Some(history) = history.filter(|_| write != last) else { return Ok(now) };
        let WriteRow { next_document, cases, .. } = history.row(write)?;
        let (old, batches) = self.read_old(&history, documents, (write, next_document), (stop, limit))?;
        let attachment = Arc::new(documents.with_old(old.guarded_by(limit.guard.clone())));
        let earlier = self.engine.earlier_snapshot(&now, write, next_document, batches, attachment);
        // If the counts differ, an entry of the history was lost, doubled, or stored under another write.
        let found = earlier.inner().len() as u64;
        if found != cases {
            return Err(Fault::corrupt(format!("{found} cases after write {write}, counted as {cases}")));
        }
        Ok(earlier)
    }

    /// Reads the documents that existed after the write `write`, and that later writes removed. Builds batches from these
    /// documents.
    fn read_old(
        &self,
        history: &History,
        documents: &Documents,
        (write, next_document): (u64, u64),
        (stop, limit): (&StopConditions, &OldLimit),
    ) -> Result<(OldDocuments, Vec<Batch>), Fault> {
        let catalog = self.engine.catalog();
        let limits = self.options.limits.clone().for_stored_documents();
        let mut template = DocumentTemplate::default();
        let mut builder = BatchBuilder::new(catalog, Keep::Numbers, 0);
        let (mut removed, mut batches) = (Vec::new(), Vec::new());
        let mut bytes_read = 0_usize;
        history.each_after(Some(write), next_document, |write, number, bytes| {
            stop.verdict_now().map_err(Fault::stopped)?;
            let is_over = |most: Option<usize>, count: usize| most.is_some_and(|most| count >= most);
            if is_over(limit.most, removed.len()) || is_over(limit.most_bytes, bytes_read) {
                let (documents, bytes) = (removed.len(), bytes_read);
                let found = format!(
                    "too many documents that were replaced or deleted since (over {documents}, with {bytes} bytes)"
                );
                let expected = "a later moment, since which fewer documents have changed";
                return Err(Fault::stopped(Error::new(ErrorKind::BadValue, 0, found, expected)));
            }
            if builder.is_full() || builder.rows() >= self.options.batch_rows {
                batches.push(builder.seal());
            }
            removed.push((number, write));
            documents.dictionaries().decode(number, bytes, |place, text| {
                let mut row = Row::default();
                read_by_template(text, catalog, &limits, &mut template, &mut row)
                    .map_err(|error| Fault::corrupt(format!("document {number} of the history: {error}")))?;
                bytes_read = bytes_read.saturating_add(text.len());
                builder.push(&row, Document::Number { number, size_bytes: text.len() }, place);
                Ok(())
            })?
        })?;
        if builder.rows() > 0 {
            batches.push(builder.seal());
        }
        Ok((OldDocuments::new(removed)?, batches))
    }
}

/// Returns the number of the last write that is not later than a moment.
fn find_write(moment: AsOf, (last, now): (u64, Timestamp), history: Option<&History>) -> Result<u64, Fault> {
    let gone = |is_future| {
        let oldest = history.map(|history| {
            let WriteCounters { oldest, .. } = *history.counters();
            Ok::<_, Fault>((oldest, history.row(oldest)?.time))
        });
        match oldest.transpose() {
            Ok(oldest) => Fault::history_gone(HistoryGoneError { asked: moment, oldest, last, is_future }),
            Err(fault) => fault,
        }
    };
    match (moment, history) {
        (AsOf::Write(write), _) if write > last => Err(gone(true)),
        (AsOf::Time(time), _) if time > now => Err(gone(true)),
        (AsOf::Write(write), Some(history)) if write >= history.counters().oldest => Ok(write),
        (AsOf::Time(time), Some(history)) => history.write_at(time)?.ok_or_else(|| gone(false)),
        (AsOf::Write(_), _) | (AsOf::Time(_), None) => Err(gone(false)),
    }
}
