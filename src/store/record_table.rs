//! Reads, counts, checks and copies records in the table of records. The first record raises the format version of a file of
//! version 1.

use std::ops::Bound;

use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata, TableError, WriteTransaction};

use super::error::Fault;
use super::file::{File, Reading};
use super::tables::{
    FORMAT, META, RECORD_COUNT, RECORDS, RECORDS_FORMAT_VERSION, read_version, record_from_bytes,
    records_to_bytes,
};

pub(super) type Key = (&'static str, &'static str);
pub(super) type Bytes = &'static [u8];

/// The sizes of a set of records, in bytes.
#[cfg(feature = "service")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordSizes {
    /// The total size of the records.
    pub(crate) all: usize,
    pub(crate) largest: usize,
    /// The number of records.
    pub(crate) count: usize,
}

/// Stores the count of records, and commits. If the format version of the file is lower than that of files with records, raises it
/// to that version. Older libraries, which would not include the records in their copies, reject this version.
pub(super) fn commit(transaction: WriteTransaction) -> Result<(), Fault> {
    let count = transaction.open_table(RECORDS)?.len()?;
    {
        let mut meta = transaction.open_table(META)?;
        if read_version(&meta)? < RECORDS_FORMAT_VERSION {
            meta.insert(FORMAT, RECORDS_FORMAT_VERSION.to_le_bytes().as_slice())?;
        }
        meta.insert(RECORD_COUNT, records_to_bytes(count).as_slice())?;
    }
    Ok(transaction.commit()?)
}

/// Opens the table of records in a transaction. Returns `None` if the file has never had a record.
pub(super) fn open(reading: &Reading) -> Result<Option<ReadOnlyTable<Key, Bytes>>, Fault> {
    match reading.open_table(RECORDS) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Checks that the table has exactly `counted` records, without reading the records.
pub(super) fn check_count(file: &File, counted: u64) -> Result<(), Fault> {
    let found = match open(&file.read()?)? {
        Some(table) => table.len()?,
        None => 0,
    };
    if found != counted {
        return Err(Fault::corrupt(format!("{found} records, counted as {counted}")));
    }
    Ok(())
}

/// Reads and checks every record. Returns the count of records.
pub(super) fn verify(file: &File) -> Result<u64, Fault> {
    let reading = file.read()?;
    let Some(table) = open(&reading)? else { return Ok(0) };
    let mut last: Option<(String, String)> = None;
    for entry in table.iter()? {
        let (key, bytes) = entry?;
        let (kind, key) = key.value();
        record_from_bytes(kind, key, bytes.value())?;
        let own = Some((kind.to_owned(), key.to_owned()));
        // The pages of a damaged file may form a cycle, so the keys must ascend.
        if last >= own {
            return Err(Fault::corrupt(format!("the {kind} {key} is not in its place")));
        }
        last = own;
    }
    Ok(table.len()?)
}

/// Copies all records.
pub(super) fn copy(from: &redb::ReadTransaction, to: &WriteTransaction) -> Result<(), Fault> {
    let from = match from.open_table(RECORDS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut to = to.open_table(RECORDS)?;
    for entry in from.iter()? {
        let (key, bytes) = entry?;
        to.insert(key.value(), bytes.value())?;
    }
    Ok(())
}

pub(super) fn get(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    key: &str,
) -> Result<Option<String>, Fault> {
    #[cfg(all(test, feature = "service"))]
    reads::note("get", kind, key);
    let bytes = table.get((kind, key))?;
    bytes.map(|bytes| record_from_bytes(kind, key, bytes.value()).map(str::to_owned)).transpose()
}

pub(super) fn with_prefix(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    prefix: &str,
) -> Result<Vec<(String, String)>, Fault> {
    #[cfg(all(test, feature = "service"))]
    reads::note("with_prefix", kind, prefix);
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    // The pages of a damaged file may form a cycle, so the count of entries bounds the loop.
    for entry in table.range((kind, prefix)..)?.take(count) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind || !key.starts_with(prefix) {
            break;
        }
        found.push((key.to_owned(), record_from_bytes(kind, key, bytes.value())?.to_owned()));
    }
    Ok(found)
}

/// Passes every record of a kind to `take`, in key order. Only one record at a time is in memory.
#[cfg(feature = "service")]
pub(super) fn each(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    mut take: impl FnMut(&str),
) -> Result<(), Fault> {
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    // The pages of a damaged file may form a cycle, so the count of entries bounds the loop.
    for entry in table.range((kind, "")..)?.take(count) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind {
            break;
        }
        take(record_from_bytes(kind, key, bytes.value())?);
    }
    Ok(())
}

/// Returns the size of a stored record in bytes, including its checksum. Returns 0 if the record does not exist.
#[cfg(feature = "service")]
pub(super) fn size(table: &impl ReadableTable<Key, Bytes>, kind: &str, key: &str) -> Result<usize, Fault> {
    #[cfg(all(test, feature = "service"))]
    reads::note("size", kind, key);
    Ok(table.get((kind, key))?.map_or(0, |bytes| bytes.value().len()))
}

/// Returns the sizes of the records whose keys begin with `prefix`, without copying the records.
#[cfg(feature = "service")]
pub(super) fn sizes(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    prefix: &str,
) -> Result<RecordSizes, Fault> {
    #[cfg(all(test, feature = "service"))]
    reads::note("sizes", kind, prefix);
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    let mut sizes = RecordSizes::default();
    // The pages of a damaged file may form a cycle, so the count of entries bounds the loop.
    for entry in table.range((kind, prefix)..)?.take(count) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind || !key.starts_with(prefix) {
            break;
        }
        let size = bytes.value().len();
        sizes.all = sizes.all.saturating_add(size);
        sizes.largest = sizes.largest.max(size);
        sizes.count = sizes.count.saturating_add(1);
    }
    Ok(sizes)
}

pub(super) fn page(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    after: Option<&str>,
    (most, most_bytes): (usize, usize),
) -> Result<Vec<(String, String)>, Fault> {
    #[cfg(all(test, feature = "service"))]
    reads::note("page", kind, after.unwrap_or_default());
    let mut bytes_left = most_bytes;
    let start = after.map_or(Bound::Included((kind, "")), |after| Bound::Excluded((kind, after)));
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in table.range::<(&str, &str)>((start, Bound::Unbounded))?.take(most) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind {
            break;
        }
        // The pages of a damaged file may form a cycle, so the keys must ascend.
        let last = found.last().map(|(last, _)| &**last).or(after);
        if last.is_some_and(|last| last >= key) {
            return Err(Fault::corrupt(format!("the {kind} {key:?} is not in its place")));
        }
        let text = record_from_bytes(kind, key, bytes.value())?;
        // The first record is always returned.
        bytes_left = match bytes_left.checked_sub(text.len()) {
            Some(left) => left,
            None if found.is_empty() => 0,
            None => break,
        };
        found.push((key.to_owned(), text.to_owned()));
    }
    Ok(found)
}

/// The reads of records by this thread, for tests that compare them.
#[cfg(all(test, feature = "service"))]
pub(crate) mod reads {
    use std::cell::RefCell;

    thread_local! {
        static READS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(name: &str, kind: &str, key: &str) {
        READS.with_borrow_mut(|reads| reads.push(format!("{name} {kind} {key:?}")));
    }

    /// Returns the reads since the last call.
    pub(crate) fn take() -> Vec<String> {
        READS.take()
    }
}
