//! The durable store: keeps documents in a file, and their columns and indexes in memory.
//!
//! One file contains everything. It is a [redb](https://docs.rs/redb) database with the documents, and with the sealed batches of
//! columns as bytes. `src/store/FORMAT.md` describes its tables, keys, values and versions, and when a write is on disk. One store
//! may have the file open for writing. Alternatively, any number of stores, in any processes, may have it open for reading only
//! ([`Store::open_read_only`]). Any other attempt to open the file returns [`StoreErrorKind::InUse`]. A search reads only the
//! documents of its page from the file.
//!
//! **Opening.** Opening reads the list of batches and a small summary of each batch, but no columns. A column is read when a search
//! or a write first needs it, and an index is built when a search first needs it. Then they stay in memory. [`Store::warm`] reads
//! everything beforehand. Files of format versions 1 and 2 have no summaries, so opening reads all of their columns.
//!
//! **Durability.** A write is one transaction: it adds its documents, removes documents that were replaced or deleted, and changes
//! the counters. [`Durability::Synced`] returns when the write is on disk. [`Durability::Grouped`] returns when the write is
//! visible. It is on disk with the next synced write, with [`Store::sync`], or with the next checkpoint. After a crash, the file
//! has all writes up to some moment, and no part of a later write. This includes every write that was acknowledged as synced. A
//! failed write is not visible, but it may be on disk.
//!
//! **Faults.** redb stops using a file after a failed read or write, for example on a full disk. The first reader that notices this
//! closes the file and opens it again, so that reading continues. This happens a limited number of times. The next write, or
//! [`Store::recover`], also opens the file again, so that writing continues. If the failed write turns out to be on disk, the
//! documents are loaded again, and include that write. In two cases, writes fail with [`StoreErrorKind::Failed`] until the host
//! opens the store again. In the first case, the file was closed after a failed read or write, and grouped writes were lost. Then
//! reads fail as well. In the second case, a sync failed. After that, the system may show data that is not on disk.
//!
//! **Imports.** An import of any size is one write, which starts at [`StoreImport::commit`]. Until then, its documents are in a
//! temporary file in the folder of the database. Other writes continue, and nothing of the import is in the database.
//!
//! All this requires a disk that reports syncs truthfully. If a disk reports a sync that it did not make, acknowledged writes may
//! be lost. The store then finds an earlier state or damage, but never a mixture of states.
//!
//! **Records.** In addition to documents, a host may store other data as records, such as applicants. A record is a text under a
//! kind and a key ([`Store::records`], [`Store::write_records`]). Writes of records are always synced and atomic. They are
//! serialized with the writes of documents. Records have checksums, and are verified, copied and compacted like documents.
//!
//! **Standing filters.** A store keeps named filters ([`Store::insert_standing`]). Each write gives events that say which filters a
//! case enters and leaves ([`Store::events_after`]). The file contains the filters and the events. Each event is stored in the
//! transaction of the write that caused it. Readers get an event when it is on disk. So no event that a reader has seen disappears
//! in a crash or gets another number.
//!
//! **History.** Each write of documents has a number. A store can keep the documents that writes replace and delete, for a time
//! ([`Store::set_history`]). Then it answers searches as of an earlier write ([`Store::as_of`]): from the current batches without
//! newer documents, and from batches of the documents that were removed since then.
//!
//! **Erasure.** Deleted documents leave bytes in columns and free pages. [`Store::erase`] removes cases, also from the history. It
//! replaces the file with a new file, which is made from the remaining documents.
//!
//! **Snapshots.** A search sees a consistent snapshot of the documents. The search also holds a read transaction of the same
//! moment. So it can still read documents that were replaced after that moment. The file cannot reuse the pages of these documents
//! while the reader exists: a search, a [`StoreSnapshot`], or an iterator of [`Store::documents`].
//!
//! **Compression.** Documents are compressed one by one, with a dictionary of what they have in common. So a search decompresses
//! only the documents of its page. The first import of at least 512 documents trains the dictionary. In a store of at least 1,024
//! documents, [`Store::checkpoint`] or closing the store also trains it. The training uses copies of documents, in which random
//! characters replace all values that fewer than 20 documents share. So the dictionary contains no value of a person with fewer
//! than 20 documents, unless other documents have the value, too. Deletions do not change the dictionary; only [`Store::erase`]
//! makes a new one. Documents that are read repeatedly stay in memory, up to 16 MiB. Columns are compressed too. Files of earlier
//! versions stay uncompressed.
//!
//! **Checkpoints and merging.** A document is written once, and also serves as the log. When the store is opened, the documents
//! that were stored since the last checkpoint are parsed again. A checkpoint is made after every 16,384 stored or deleted documents
//! ([`StoreOptions::checkpoint_every`]), by [`Store::checkpoint`], and when the store is closed. It stores the new batches (about
//! 100 bytes per document) and the changed live rows, and removes batches that no longer exist. Writes wait for a checkpoint, but
//! searches do not. The columns of a document are stored again whenever its batch is merged or gets newer documents. This happens
//! about four times until the batch is full. The columns of the newest 2,000 documents, whose batch still grows, are stored at each
//! checkpoint.
//!
//! Each write merges only a part of a batch: at most one column, or the keys of a batch that replaces other batches. In a store of
//! a million documents, the slowest of 200,000 writes took about 30 ms, because it merged a column of strings. The keys of the
//! index are merged in the same way. Searches do not wait for merges.
//!
//! **File growth and compaction.** Replacing data leaves free pages. The second write after that can reuse them. During the commit
//! of an import, the file contains both the documents of the import and the documents that it replaces. So repeated imports of the
//! same documents need about twice the space of one import. In addition, the temporary file of an import takes up to the size of
//! its documents. If a file is too short, redb doubles its length, but the system stores only the part that was written. So the
//! length of the file may be twice the space that it takes. A file of [`Store::prepare`] gives the rest back when it is closed.
//! Pages that a reader may still need are kept until the reader ends. Readers are searches, backups, snapshots and iterators of
//! [`Store::documents`]. The file does not become shorter by itself. [`Store::compact`] moves all pages to the front and shortens
//! the file; it needs exclusive access to the store. [`Store::compact_online`] replaces the file with a copy while searches
//! continue and writes wait; it needs space for the copy.
//!
//! **Copies.** [`Store::backup`] copies a consistent state into a new file, while searches and writes continue. Copying the file by
//! other means is safe only while no store has the file open.
//!
//! **New files.** The file of a new store or copy gets its name only when it is complete and synced ([`AtomicFile`]). Only the
//! owner can read the file (mode 0600).
//!
//! **Bytes after the end.** A file of redb consists of whole pages of 4,096 bytes. Up to 4,095 additional bytes at the end are
//! ignored. Additional pages at the end are treated as free space, as after a crash.
//!
//! **Detection of damage.** Every document, part of a batch, bitmap and counter has a checksum that depends on its key. The counts
//! of rows, documents and batches must agree. Values are validated even if their checksum is right. Damage is reported as
//! [`StoreErrorKind::Corrupt`], with the name of the file. It is reported when the store is opened, when a search or a write needs
//! a damaged column, or when a page needs a damaged document. A column that cannot be read ends the search by unwinding, without
//! the panic hook; the store returns the error. redb panics on some damage. The store catches these panics, but the panic hook
//! still runs; the hook can call [`Store::catches_panics`]. A process that is compiled to abort on panics ends there.
//! [`Store::verify`] checks the whole file, and compares each document with its columns. After a crash, opening may have to read
//! the whole file once, to repair it. A forged file may cause wrong answers, but no worse harm.
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

mod as_of;
mod atomic;
mod backend;
mod backup;
mod batches;
mod bell;
mod checksum;
mod claim;
mod columns;
mod commit;
mod compact;
mod database;
mod dictionary;
mod documents;
mod erase;
mod erase_copy;
mod erasure;
mod error;
mod exchange;
mod file;
mod history;
mod history_bytes;
mod history_check;
mod history_tables;
mod hot_documents;
mod import;
mod load;
mod log;
mod members;
mod options;
#[cfg(feature = "service")]
mod owned_standing;
mod packed_part;
#[cfg(feature = "service")]
mod page;
mod record_table;
mod records;
mod recover;
mod search;
mod snapshot;
mod spool;
mod standing;
mod standing_bytes;
mod standing_check;
mod standing_naming;
mod standing_tables;
mod tables;
#[cfg(test)]
mod tests;
mod training;
mod verify;
mod write;

pub use as_of::{AsOf, HistoryGoneError, ParseAsOfError};
pub use atomic::AtomicFile;
#[cfg(feature = "service")]
pub(crate) use atomic::unnamed_in;
pub use compact::CompactReport;
pub use database::Store;
pub use erasure::{Erasure, ErasureReport};
pub use error::{StoreError, StoreErrorKind};
#[cfg(feature = "service")]
pub(crate) use history::OldLimit;
pub use import::StoreImport;
pub use options::{Durability, StoreOptions};
#[cfg(feature = "service")]
pub(crate) use owned_standing::{Exchange, NewOwnedFilter, OwnedEvents, OwnedFilter};
#[cfg(feature = "service")]
pub(crate) use page::FoundPage;
#[cfg(all(test, feature = "service"))]
pub(crate) use record_table::reads;
pub use records::{RecordWriter, Records};
pub use search::StoredDocuments;
pub use snapshot::StoreSnapshot;
#[doc(hidden)]
pub use standing_check::check_stored_standing;
#[doc(hidden)]
pub use tables::check_same_columns;
pub use verify::VerifyReport;
