//! The table of records: read, counted, checked and copied.

use std::ops::Bound;

use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata, TableError, WriteTransaction};

use super::error::Fault;
use super::file::{File, Reading};
use super::tables::{
    FORMAT, FORMAT_VERSION, META, RECORD_COUNT, RECORDS, record_from_bytes, records_to_bytes,
};

pub(super) type Key = (&'static str, &'static str);
pub(super) type Bytes = &'static [u8];

/// Counts the records, and marks a file that has some as one of the version that knows them: an older
/// library would leave them out of its copies.
pub(super) fn commit(transaction: WriteTransaction) -> Result<(), Fault> {
    let count = transaction.open_table(RECORDS)?.len()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, FORMAT_VERSION.to_le_bytes().as_slice())?;
        meta.insert(RECORD_COUNT, records_to_bytes(count).as_slice())?;
    }
    Ok(transaction.commit()?)
}

/// The table of a transaction; none in a file that never had a record.
pub(super) fn open(reading: &Reading) -> Result<Option<ReadOnlyTable<Key, Bytes>>, Fault> {
    match reading.open_table(RECORDS) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says whether there are as many records as `counted`, reading none.
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

/// Reads every record, and gives how many there are.
pub(super) fn verify(file: &File) -> Result<u64, Fault> {
    let reading = file.read()?;
    let Some(table) = open(&reading)? else { return Ok(0) };
    let mut last: Option<(String, String)> = None;
    for entry in table.iter()? {
        let (key, bytes) = entry?;
        let (kind, key) = key.value();
        record_from_bytes(kind, key, bytes.value())?;
        let own = Some((kind.to_owned(), key.to_owned()));
        // Damage may lead in circles.
        if last >= own {
            return Err(Fault::corrupt(format!("the {kind} {key} is not in its place")));
        }
        last = own;
    }
    Ok(table.len()?)
}

/// Copies the records of a moment.
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
    let bytes = table.get((kind, key))?;
    bytes.map(|bytes| record_from_bytes(kind, key, bytes.value()).map(str::to_owned)).transpose()
}

pub(super) fn with_prefix(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    prefix: &str,
) -> Result<Vec<(String, String)>, Fault> {
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    // Damage may lead in circles.
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

/// Hands over every record of a kind in the order of the keys, holding one at a time.
#[cfg(feature = "service")]
pub(super) fn each(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    mut take: impl FnMut(&str),
) -> Result<(), Fault> {
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    // Damage may lead in circles.
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

pub(super) fn page(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<(String, String)>, Fault> {
    let start = after.map_or(Bound::Included((kind, "")), |after| Bound::Excluded((kind, after)));
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in table.range::<(&str, &str)>((start, Bound::Unbounded))?.take(most) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind {
            break;
        }
        // Damage may lead in circles.
        let last = found.last().map(|(last, _)| &**last).or(after);
        if last.is_some_and(|last| last >= key) {
            return Err(Fault::corrupt(format!("the {kind} {key:?} is not in its place")));
        }
        found.push((key.to_owned(), record_from_bytes(kind, key, bytes.value())?.to_owned()));
    }
    Ok(found)
}
