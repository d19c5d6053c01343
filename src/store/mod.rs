//! The durable store: documents in a file.
//!
//! One file contains everything: a [redb](https://docs.rs/redb) database with the documents and, as bytes, the sealed batches of columns.
//! `src/store/FORMAT.md` describes it: tables, keys, values, versions, and what is on disk when. Either one store has the file open for
//! writing, or any number of stores, in any processes, have it open for reading only ([`Store::open_read_only`]). Any other opener gets
//! [`StoreErrorKind::InUse`]. Columns and indexes are in memory. Documents are read from the file, those of one page at a time.
//!
//! **Durability.** A write is one transaction: it adds its documents, removes documents that were replaced or deleted, and changes the
//! counters. [`Durability::Synced`] returns when the write is on disk. [`Durability::Grouped`] returns when the write is visible; it is on
//! disk with the next synced write, with [`Store::sync`], or with the next checkpoint. After a crash the file has every write up to some
//! moment, and no part of a later write. That moment is not before the last write that was acknowledged as synced. A failed write is not
//! visible, but it may be on disk.
//!
//! **Faults.** redb stops using a file after a failed read or write, for example on a full disk. Reading continues: the first reader that
//! notices this closes the file and opens it again, a limited number of times. Writing continues too: the next write, or
//! [`Store::recover`], opens the file again and tries. If the failed write is on disk after all, the documents are loaded again and include
//! it. In two cases writes fail with [`StoreErrorKind::Failed`] until the store is opened again: grouped writes were lost with the closed
//! file, in which case reads fail as well; or a sync failed, after which the system may show data that is not on disk.
//!
//! **Imports.** An import of any size is one write, which starts at [`StoreImport::commit`]. Until then its documents are in a temporary
//! file in the folder of the database, other writes continue, and nothing of the import is in the database.
//!
//! All this requires a disk that reports syncs truthfully. A disk that reports a sync which it did not make may lose acknowledged writes.
//! The store then finds an earlier state or damage, but no mixture of states.
//!
//! **Records.** In addition to documents, a host may store other data, such as applicants, as records: text under a kind and a key
//! ([`Store::records`], [`Store::write_records`]). Writes of records are always synced and atomic, and are serialized with the writes of
//! documents. Records have checksums, and are verified, copied and compacted like the documents.
//!
//! **Snapshots.** A search sees a consistent snapshot of the documents. It holds a read transaction of the same moment, so it also finds
//! documents that were replaced since. The file cannot reuse their pages while such a search, or an iterator of [`Store::documents`],
//! exists.
//!
//! **Checkpoints and merging.** A document is written once and also serves as the log. Documents stored since the last checkpoint are
//! parsed again on opening. A checkpoint is made every 16,384 stored or deleted documents ([`StoreOptions::checkpoint_every`]), by
//! [`Store::checkpoint`], and on closing. It stores the new batches (about 300 bytes a document) and the changed live rows, and removes
//! batches that no longer exist. Writes wait for it, searches do not. The columns of a document are stored again whenever its batch is
//! merged or gets newer documents, about four times until the batch is full. The columns of the newest 2,000 documents, whose batch still
//! grows, are stored at each checkpoint.
//!
//! Each write merges only a part of a batch: at most one column, or the keys of a batch that replaces others. The slowest of 200,000 writes
//! to a million documents took some 30 ms, for a column of strings. The keys of the index are merged in the same way. Searches do not wait
//! for merges.
//!
//! **File growth and compaction.** Replaced data leave free pages, which can be reused from the second write after that. Until an import
//! ends, both its documents and the documents that it replaces are in the file. So repeated imports of the same documents take about twice
//! the space of one import, and the size of their texts once more while they run. redb doubles the length of a file that is too short, and
//! the system stores only the written part: the length may be twice the space that the file takes. Pages that a reader may still need (a
//! search, a backup, an iterator of [`Store::documents`]) are kept until it ends. The file does not become shorter by itself.
//! [`Store::compact`] moves all pages to the front and cuts the file; it needs exclusive access to the store. [`Store::compact_online`]
//! replaces the file with a copy while searches continue and writes wait; it needs space for the copy.
//!
//! **Copies.** [`Store::backup`] copies a consistent state into a new file while searches and writes continue. Copying the file by other
//! means is safe only while no store has it open.
//!
//! **New files.** A new store or copy appears under its name whole and synced, or not at all ([`AtomicFile`]). Only its owner can read
//! it (mode 0600).
//!
//! **Bytes after the end.** A file of redb consists of whole pages of 4,096 bytes. Up to 4,095 more bytes at the end are ignored. More
//! pages at the end count as free space, as after a crash.
//!
//! **Detection of damage.** Every document, part of a batch, bitmap and counter has a checksum that is bound to its key. The counts of
//! rows, documents and batches must agree. Values are validated even if their checksum is right. Damage is [`StoreErrorKind::Corrupt`]
//! with the name of the file, on opening or when a page needs a damaged document. redb panics on some damage. The store catches these
//! panics, but a panic hook still runs; it can call [`Store::catches_panics`]. A process that aborts on panics ends there.
//! [`Store::verify`] checks everything, and each document against its columns. After a crash, opening may have to read the whole file once,
//! to repair it. A forged file may lead to wrong answers, but to nothing worse.
//!
//! ```
//! use casefilter::{Catalog, Durability, Filter, SearchRequest, Store, StoreOptions};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cases.db");
//! let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
//! store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
//! store.close()?;
//!
//! let store = Store::open(&path, Catalog::cases(), StoreOptions::default())?;
//! let vip = Filter::compile_text(store.catalog(), "tags in (vip)")?;
//! let answer = store.search(&SearchRequest::new(vip))?;
//! assert_eq!(answer.documents().collect::<Vec<_>>(), [r#"{"id":"a","tags":["vip"]}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod backend;
mod backup;
mod batches;
mod commit;
mod compact;
mod database;
mod documents;
mod error;
mod file;
mod import;
mod load;
mod log;
mod members;
mod options;
#[cfg(feature = "service")]
mod page;
mod record_table;
mod records;
mod recover;
mod search;
mod spool;
mod tables;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use atomic::AtomicFile;
#[cfg(feature = "service")]
pub(crate) use atomic::unnamed_in;
pub use compact::CompactReport;
pub use database::Store;
pub use error::{StoreError, StoreErrorKind};
pub use import::StoreImport;
pub use options::{Durability, StoreOptions};
#[cfg(feature = "service")]
pub(crate) use page::FoundPage;
pub use records::{RecordWrite, Records};
pub use search::StoredDocuments;
#[doc(hidden)]
pub use tables::check_same_columns;
pub use verify::VerifyReport;
