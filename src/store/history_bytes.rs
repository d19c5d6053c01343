//! The bytes of the counters of writes, of the rows of the table `writes`, and of the entries of the table `history`.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::checksum::{checked, with_checksum};
use super::error::Fault;
use crate::column::codec::{ByteReader, ByteWriter};
use crate::value::Timestamp;

const WRITES_SEED: u64 = 0x7772_6974_6573;
const ROW_SEED: u64 = 0x7772_6974_6500;
const KEY_SEED: u64 = 0x0068_6973_746f_7279;

/// The counters of writes and of the history. They change in the transaction of the write that they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WriteCounters {
    /// The number of the last write that stored or deleted cases. Writes are numbered from 1.
    pub(super) last: u64,
    /// The time for which the history keeps documents, in milliseconds. 0 if there is no history.
    pub(super) history_ms: u64,
    /// The number of the oldest write after which the documents are known, or 0 if there is no history.
    pub(super) oldest: u64,
    /// The number of documents in the history.
    pub(super) documents: u64,
}

impl WriteCounters {
    pub(super) fn has_history(&self) -> bool {
        self.history_ms > 0
    }

    /// Returns the number of rows of the table `writes`.
    pub(super) fn rows(&self) -> u64 {
        if self.has_history() { self.last.saturating_sub(self.oldest).saturating_add(1) } else { 0 }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { last, history_ms, oldest, documents } = self;
        let mut out = ByteWriter::default();
        out.all(&[last, history_ms, oldest, documents]);
        with_checksum(WRITES_SEED, &out.into_bytes())
    }

    /// Decodes counters. Returns an error if a counter is greater than `most`, because a greater counter could saturate.
    pub(super) fn from_bytes(bytes: &[u8], most: u64) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::corrupt(format!("the counters of writes {what}"));
        let contents = checked(WRITES_SEED, bytes).ok_or_else(|| wrong("have a wrong checksum"))?;
        let mut reader = ByteReader::new(contents);
        let mut next = || reader.one::<u64>();
        let own = Self { last: next()?, history_ms: next()?, oldest: next()?, documents: next()? };
        reader.finish()?;
        if [own.last, own.history_ms, own.documents].into_iter().any(|counter| counter > most) {
            return Err(wrong(&format!("exceed {most}")));
        }
        let is_consistent = match own.has_history() {
            true => own.oldest <= own.last,
            false => own.oldest == 0 && own.documents == 0,
        };
        if is_consistent { Ok(own) } else { Err(wrong("contradict each other")) }
    }
}

/// A row of the table `writes`, which describes one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteRow {
    /// The time of the write. It is never earlier than the time of the previous write.
    pub(super) time: Timestamp,
    /// The number that the next document after the write gets. All documents that exist after the write have smaller numbers.
    pub(super) next_document: u64,
    /// The number of cases after the write.
    pub(super) cases: u64,
}

/// Returns the checksum of a key of the table `history`.
fn key_checksum((write, number): (u64, u64)) -> [u8; 8] {
    let mut key = write.to_le_bytes().to_vec();
    key.extend_from_slice(&number.to_le_bytes());
    xxh3_64_with_seed(&key, KEY_SEED).to_le_bytes()
}

/// Encodes an entry of the table `history`. `document` is the entry of the document in the table of documents. The checksum in this
/// entry depends on the number of the document, but not on the write that removed the document.
pub(super) fn entry_to_bytes(key: (u64, u64), document: &[u8]) -> Vec<u8> {
    let mut bytes = key_checksum(key).to_vec();
    bytes.extend_from_slice(document);
    bytes
}

/// Returns the bytes of the document of an entry of the table `history`.
pub(super) fn entry_from_bytes(key: (u64, u64), bytes: &[u8]) -> Result<&[u8], Fault> {
    let document = bytes.strip_prefix(&key_checksum(key));
    document.ok_or_else(|| Fault::corrupt(format!("the document {} of the history has a wrong key", key.1)))
}

impl WriteRow {
    pub(super) fn to_bytes(self, write: u64) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.all(&[self.time.as_millis()]);
        out.all(&[self.next_document, self.cases]);
        with_checksum(write ^ ROW_SEED, &out.into_bytes())
    }

    pub(super) fn from_bytes(write: u64, bytes: &[u8]) -> Result<Self, Fault> {
        let wrong = || Fault::corrupt(format!("the row of write {write} has a wrong checksum"));
        let mut reader = ByteReader::new(checked(write ^ ROW_SEED, bytes).ok_or_else(wrong)?);
        let time = Timestamp::from_millis(reader.one()?);
        let (next_document, cases) = (reader.one()?, reader.one()?);
        reader.finish()?;
        Ok(Self { time, next_document, cases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = u64::MAX >> 2;

    #[test]
    fn every_damaged_bit_of_a_counter_or_a_row_is_found() {
        let counters = WriteCounters { last: 7, history_ms: 1000, oldest: 3, documents: 9 };
        let row = WriteRow { time: Timestamp::from_millis(-5), next_document: 40, cases: 30 };
        let (counters_bytes, row_bytes) = (counters.to_bytes(), row.to_bytes(7));
        assert_eq!(WriteCounters::from_bytes(&counters_bytes, MOST).unwrap(), counters);
        assert_eq!(WriteRow::from_bytes(7, &row_bytes).unwrap(), row);
        assert!(WriteRow::from_bytes(8, &row_bytes).is_err());
        for bit in 0..counters_bytes.len() * 8 {
            let mut damaged = counters_bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(WriteCounters::from_bytes(&damaged, MOST).is_err(), "{bit}");
        }
        for bit in 0..row_bytes.len() * 8 {
            let mut damaged = row_bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(WriteRow::from_bytes(7, &damaged).is_err(), "{bit}");
        }
    }

    #[test]
    fn an_entry_of_the_history_belongs_to_one_key() {
        let entry = entry_to_bytes((5, 9), b"document");
        assert_eq!(entry_from_bytes((5, 9), &entry).unwrap(), b"document");
        for bit in 0..64 {
            assert!(entry_from_bytes((5 ^ (1 << bit), 9), &entry).is_err(), "{bit}");
            assert!(entry_from_bytes((5, 9 ^ (1 << bit)), &entry).is_err(), "{bit}");
        }
        assert!(entry_from_bytes((9, 5), &entry).is_err());
        assert!(entry_from_bytes((5, 9), &entry[..7]).is_err());
    }

    #[test]
    fn counters_that_no_store_can_reach_are_rejected() {
        let known = WriteCounters { last: 7, history_ms: 1000, oldest: 7, documents: 0 };
        let wrong = [
            WriteCounters { oldest: 8, ..known },
            WriteCounters { history_ms: 0, ..known },
            WriteCounters { history_ms: 0, oldest: 0, documents: 1, ..known },
            WriteCounters { last: MOST + 1, ..known },
            WriteCounters { history_ms: u64::MAX, ..known },
        ];
        for counters in wrong {
            assert!(WriteCounters::from_bytes(&counters.to_bytes(), MOST).is_err(), "{counters:?}");
        }
        assert_eq!((known.rows(), WriteCounters::default().rows()), (1, 0));
    }
}
