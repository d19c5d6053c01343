//! Cases in a file, durably.
//!
//! One file holds everything: a [redb](https://docs.rs/redb) database with the documents and, as bytes, the sealed
//! batches of columns. `src/store/FORMAT.md` describes it: tables, keys, values, versions, and what is on disk when. One store at a time has it open to write, or any number, in any processes, for reading alone
//! ([`Store::open_read_only`]); any other opener gets [`StoreErrorKind::InUse`]. Columns and indexes are in memory, documents are read from the file by the page.
//!
//! **What is durable when.** A write is one transaction: its documents go in, those that no case has any more
//! go out, and the counters change. [`Durability::Synced`] returns when that is on disk; [`Durability::Grouped`] when
//! it is visible, and it is on disk with the next write that is synced, with [`Store::sync`], or with
//! the next checkpoint. After a crash the file holds every write up to some moment, that of the last one
//! acknowledged as synced or a later one, and no write in half. A write that fails is not
//! visible, though it may be on disk all the same.
//!
//! **What follows a fault.** redb does nothing more with a file once reading or writing it failed, such as for want of room. Reading goes
//! on: the first reader that finds this closes the file and opens it again, a few times at most. Writing goes on too: the next write, or
//! [`Store::recover`], opens the file again and tries. If the write that failed is on disk after all, the cases are loaded anew and
//! show it. Writes stay refused ([`StoreErrorKind::Failed`]) until the store is opened anew in two cases: grouped writes were
//! lost with the file that was closed, in which case reading ends as well; or a sync failed, after which the system may show what is
//! not on disk.
//!
//! **Imports.** An import is one write, however large: its documents are written as they come, and nothing of it
//! is there before [`StoreImport::commit`]. All this holds as far as the disk keeps what it says it has: one that lies
//! about syncs may lose acknowledged writes, which then shows as an earlier state or as damage, not as a mixture.
//!
//! **Records beside the cases.** What a host keeps beside its cases, such as applicants, are records: text
//! under a kind and a key ([`Store::records`], [`Store::write_records`]). Writes of records are always
//! synced, each is whole or not there, and they take their turn with the writes of cases. They have
//! checksums, are checked, copied and compacted as the cases are.
//!
//! **What a snapshot is.** A search sees the cases of one moment, and holds a transaction that reads the file as it
//! was then, so that it finds documents replaced meanwhile. The file cannot use their pages again as long
//! as such a search, or a walk over [`Store::documents`], goes on.
//!
//! **What checkpoints and merging cost.** A document is written once; it is the log at the same time. Those stored
//! since the last checkpoint are parsed again on opening. Every 16,384 cases
//! stored or deleted ([`StoreOptions::checkpoint_every`]), on [`Store::checkpoint`] and on closing, a
//! checkpoint stores the batches that the file does not have (those merged since, about 300 bytes a case), the live rows
//! that changed, and drops batches that are gone. Writes wait for it, searches do not. A case's columns are
//! stored again whenever its batch was merged or joined by newer cases, about four times on its way into a full
//! batch; the newest two thousand cases, whose batch still grows, at each checkpoint.
//! Batches are merged a little with every write, so that no write pays for a whole batch: for a column of one at most, or for
//! the keys of one that is put in its place (the slowest of 200,000 writes to a million cases took some 30 ms, for a column of
//! strings). So are the keys of all batches. Searches wait for none of it.
//!
//! **File growth and compaction.** What is replaced leaves free pages, which the writes after the next one use. An import is there beside
//! what it replaces until it ends, so that the same cases imported again and again take about twice the room of one import; redb
//! doubles the length of a file that is too short, of which the system stores only what was written. The pages that a reader may still
//! need (a search, a backup, a walk over [`Store::documents`]) stay until it ends. The file does not become shorter
//! by itself. [`Store::compact`] moves everything to the front and gives the rest back; it needs the store alone.
//! [`Store::compact_online`] puts a copy in the place of the file while searches go on and writes wait; it needs room for the copy.
//!
//! **Copies.** [`Store::backup`] copies one moment into a new file while searches and writes go on. Copying the
//! file itself is safe only while nobody has it open.
//!
//! **New files.** A new store or copy appears under its name whole and synced, or not at all ([`AtomicFile`]), and only its owner
//! can read it (mode 0600).
//!
//! **Bytes behind the end.** A file of redb is a whole number of pages of 4,096 bytes. Up to 4,095 bytes that something else
//! added at the end are passed over; whole pages that were added are taken for room, as after a crash.
//!
//! **What is detected.** Every document, part of a batch, bitmap and counter has a checksum bound to its place, and
//! counts must agree: of cases, documents, batches. What is read is checked even if its checksum is right. Damage
//! becomes [`StoreErrorKind::Corrupt`] with the file's name, when opening or when a page needs a damaged document;
//! redb panics over some damage, which is caught. A panic hook still runs ([`Store::catches_panics`] tells it), and a process that aborts
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
mod options;
#[cfg(feature = "service")]
mod page;
mod record_table;
mod records;
mod recover;
mod search;
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
