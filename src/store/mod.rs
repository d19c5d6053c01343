//! The durable store: cases in a file.
//!
//! One file holds everything: a [redb](https://docs.rs/redb) database with the documents and, as bytes, the sealed batches of columns.
//! `src/store/FORMAT.md` describes it: tables, keys, values, versions, and what is on disk when. One store at a time has the file open
//! for writing, or any number of stores, in any processes, for reading alone ([`Store::open_read_only`]). Any other opener gets
//! [`StoreErrorKind::InUse`]. Columns and indexes are in memory. Documents are read from the file, those of a page at a time.
//!
//! **Durability.** A write is one transaction: it adds its documents, removes those that no case has any more, and changes the counters.
//! [`Durability::Synced`] returns when the write is on disk. [`Durability::Grouped`] returns when the write is visible; it is on disk with
//! the next synced write, with [`Store::sync`], or with the next checkpoint. After a crash the file holds every write up to some moment,
//! and no part of a later one. That moment is not before the last write that was acknowledged as synced. A failed write is not
//! visible, but it may be on disk.
//!
//! **Faults.** redb stops using a file once a read or a write failed, for example for want of room. Readers go on: the first reader that
//! finds this closes the file and opens it again, a few times at most. Writers go on too: the next write, or [`Store::recover`],
//! opens the file again and tries. If the failed write is on disk after all, the cases are loaded anew and show it. In two
//! cases writes fail with [`StoreErrorKind::Failed`] until the store is opened anew: grouped writes were lost with the closed file,
//! in which case reading ends as well; or a sync failed, after which the system may show data that is not on disk.
//!
//! **Imports.** An import is one write, however large, which begins at [`StoreImport::commit`]. Until then its documents are in
//! a temporary file beside the database, other writes go on, and nothing of the import is in the database.
//!
//! All this holds if the disk keeps its promises. A disk that reports syncs which it did not make may lose acknowledged writes. The
//! store then finds an earlier state or damage, but no mixture of states.
//!
//! **Records beside the cases.** A host may keep other data, such as applicants, as records: text under a kind and a key
//! ([`Store::records`], [`Store::write_records`]). Writes of records are always synced and atomic, and take turns with the writes of
//! cases. Records have checksums, and are verified, copied and compacted like the cases.
//!
//! **Snapshots.** A search sees the cases of one moment. It holds a read transaction of that moment, and so finds documents that were
//! replaced meanwhile. The file cannot reuse their pages as long as such a search, or an iterator of [`Store::documents`], lives.
//!
//! **Checkpoints and merging.** A document is written once; it is the log at the same time. Documents stored since the last checkpoint
//! are parsed again on opening. A checkpoint is made every 16,384 stored or deleted cases
//! ([`StoreOptions::checkpoint_every`]), by [`Store::checkpoint`], and on closing. It stores the batches that were made since
//! (about 300 bytes a case) and the live rows that changed, and removes batches that no longer exist. Writes wait for it,
//! searches do not. The columns of a case are stored again whenever its batch is merged or newer cases join it, about four times until
//! the batch is full. Those of the newest two thousand cases, whose batch still grows, are stored at each checkpoint.
//!
//! Each write merges a part of a batch, so that no write pays for a whole one: at most one column, or the keys of a batch that replaces
//! others. The slowest of 200,000 writes to a million cases took some 30 ms, for a column of strings. The keys of the index are merged
//! likewise. Searches wait for none of it.
//!
//! **File growth and compaction.** Replaced data leave free pages, which the writes after the next one use. An import is in the file
//! beside the cases that it replaces until it ends. So repeated imports of the same cases take about twice the room of one import,
//! and their documents once more while they run. redb doubles the length of a file that is too short, and the system stores only
//! the written part: the length may be twice the space that the file takes. Pages that a reader may still need (a search, a backup,
//! an iterator of [`Store::documents`]) are kept until it ends. The file does not become shorter by itself. [`Store::compact`] moves all pages to the front
//! and cuts the file; it needs exclusive access to the store. [`Store::compact_online`] replaces the file with a copy while
//! searches go on and writes wait; it needs room for the copy.
//!
//! **Copies.** [`Store::backup`] copies one moment into a new file while searches and writes go on. Copying the file by other means is
//! safe only while no store has it open.
//!
//! **New files.** A new store or copy appears under its name whole and synced, or not at all ([`AtomicFile`]). Only its owner can read
//! it (mode 0600).
//!
//! **Bytes after the end.** A file of redb is a whole number of pages of 4,096 bytes. Up to 4,095 more bytes at the end are ignored. More
//! pages at the end are taken for free space, as after a crash.
//!
//! **Detection of damage.** Every document, part of a batch, bitmap and counter has a checksum that is bound to its key, and counts must
//! agree: of cases, documents, batches. Values are validated even if their checksum is right. Damage is
//! [`StoreErrorKind::Corrupt`] with the name of the file, on opening or when a page needs a damaged document. redb panics on some
//! damage. The store catches these panics; a panic hook still runs ([`Store::catches_panics`] tells it), and a process that aborts
//! on panics ends there. [`Store::verify`] checks everything, and each document against its columns. After a crash,
//! opening may have to read the whole file once, to repair it. A file forged on purpose may hold wrong answers, but does no harm.
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
pub use compact::CompactReport;
pub use database::Store;
pub use error::{StoreError, StoreErrorKind};
pub use import::StoreImport;
pub use options::{Durability, StoreOptions};
#[cfg(feature = "service")]
pub(crate) use page::FoundPage;
pub use records::{RecordWrite, Records};
pub use search::StoredDocuments;
pub use verify::VerifyReport;
