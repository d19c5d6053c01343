//! The tables of the file and its counters, and the bytes of documents, records, live rows and counters. The parts of batches are
//! written by `batch/codec.rs`, and cut into pieces by `store/batches.rs`. Standing filters and events are in
//! `store/standing_bytes.rs`, and the writes and the history in `store/history_bytes.rs`.
//!
//! These files write the counters: `store/commit.rs`, `store/erase.rs`, `store/erase_copy.rs` and `store/file/new.rs`.
//! `store/recover.rs` compares them.
//!
//! `FORMAT.md` in this folder describes all tables. A change of the format must also change `FORMAT.md`; `store/tests/format.rs`
//! tests both. [`FORMAT_VERSION`] is the latest version in `FORMAT.md`, which new files have. Files of earlier versions keep their
//! version; the first record turns a file of version 1 into version 2. A new optional key of `meta` needs no new version if a
//! library that ignores the key still reads the file correctly, as with `kept_events`. Every other change of these tables needs
//! version 4. A change of the parts of batches needs a new version in `batch/codec.rs` instead.

use std::collections::{HashMap, HashSet};

use redb::{ReadableTable, TableDefinition};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::checksum::{checked, with_checksum};
use super::error::{Fault, StoreErrorKind};
use super::history_bytes::WriteCounters;
use super::options::KeptEvents;
use super::standing_bytes::StandingCounters;
use crate::batch::BatchSummary;
use crate::catalog::{Catalog, FieldType, IdType, TimestampForm};
use crate::column::codec::{ByteReader, ByteWriter};
use crate::column::{Bitmap, LANES, Selection};

pub(super) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
pub(super) const DOCUMENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("documents");
pub(super) const RELEASED: TableDefinition<'static, u64, u64> = TableDefinition::new("released");
pub(super) const BATCHES: TableDefinition<'static, (u64, u16, u32), &[u8]> = TableDefinition::new("batches");
pub(super) const LIVE: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("live");
pub(super) const SUMMARIES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("summaries");
pub(super) const DICTIONARIES: TableDefinition<'static, u32, &[u8]> = TableDefinition::new("dictionaries");
pub(super) const RECORDS: TableDefinition<'static, (&str, &str), &[u8]> = TableDefinition::new("records");
pub(super) const STANDING: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("standing");
pub(super) const EVENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("events");
pub(super) const WRITES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("writes");
pub(super) const HISTORY: TableDefinition<'static, (u64, u64), &[u8]> = TableDefinition::new("history");

pub(super) const FORMAT: &str = "format";
pub(super) const CATALOGUE: &str = "catalogue";
pub(super) const DEFINITION: &str = "definition";
pub(super) const STATE: &str = "state";
pub(super) const RECORD_COUNT: &str = "records";
pub(super) const STANDING_COUNTERS: &str = "standing";
pub(super) const WRITE_COUNTERS: &str = "writes";

/// The format version of a file without records, summaries and compressed documents.
pub(super) const FIRST_FORMAT_VERSION: u32 = 1;
/// The format version of a file with records, and without summaries and compressed documents.
pub(super) const RECORDS_FORMAT_VERSION: u32 = 2;
/// The format version of new files: with summaries of the batches, with compressed documents and parts, and with or without
/// records.
pub(super) const FORMAT_VERSION: u32 = 3;

/// The maximum size of a piece of a part, in bytes. A piece of this size, with its key and the header of redb, fits into eight
/// pages. For a larger value, redb rounds the number of pages up to a power of two.
pub(super) const PIECE_BYTES: usize = (32 << 10) - 128;

/// The maximum size of a dictionary that is trained, in bytes. With its checksum, it has the size of a piece.
pub(super) const MOST_DICTIONARY_BYTES: usize = PIECE_BYTES - size_of::<u64>();

/// The counters of a store. They change with every write, in the transaction of the write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreCounters {
    /// The insertion-order number of the next new case.
    pub(super) next_place: u64,
    /// The document number of the next document.
    pub(super) next_document: u64,
    /// The batch number of the next batch.
    pub(super) next_batch: u64,
    /// The smallest document number of the log. Documents with this number or a greater number are in no stored batch.
    pub(super) checkpoint: u64,
    /// The number of cases. Each case has one document.
    pub(super) cases: u64,
    /// The number of stored batches.
    pub(super) batches: u64,
    /// The number of entries in the table `released`: the documents of cases that were replaced or deleted since the last
    /// checkpoint.
    pub(super) released: u64,
}

const STATE_SEED: u64 = 0x0073_7461_7465;

impl StoreCounters {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { next_place, next_document, next_batch, checkpoint, cases, batches, released } = self;
        let mut out = ByteWriter::default();
        out.all(&[next_place, next_document, next_batch, checkpoint, cases, batches, released]);
        with_checksum(STATE_SEED, &out.into_bytes())
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let mut reader = ByteReader::new(
            checked(STATE_SEED, bytes).ok_or_else(|| Fault::corrupt("counters with a wrong checksum"))?,
        );
        let mut next = || reader.one::<u64>();
        let state = Self {
            next_place: next()?,
            next_document: next()?,
            next_batch: next()?,
            checkpoint: next()?,
            cases: next()?,
            batches: next()?,
            released: next()?,
        };
        reader.finish()?;
        Ok(state)
    }

    /// Returns an error for counters that no store can reach. Near the maximum of `u64`, increments saturate, so that a number
    /// would be assigned twice.
    fn check(&self) -> Result<(), Fault> {
        let Self { next_place, next_document, next_batch, .. } = *self;
        match [next_place, next_document, next_batch].into_iter().max() {
            Some(greatest) if greatest > LAST_NUMBER => {
                Err(Fault::corrupt(format!("a counter of {greatest}, expected at most {LAST_NUMBER}")))
            }
            _ => Ok(()),
        }
    }
}

/// The maximum value of the counters for insertion-order numbers, document numbers and batch numbers. A store that writes a billion
/// documents per second reaches it after 146 years.
const LAST_NUMBER: u64 = u64::MAX >> 2;

/// A stored document, and the insertion-order number of its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored<'b> {
    pub(super) place: u64,
    pub(super) body: Body<'b>,
}

/// The bytes of a document. They are not decompressed, and not checked to be UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body<'b> {
    Plain(&'b [u8]),
    Packed {
        /// The number of the dictionary, or 0 for none.
        dictionary: u32,
        /// A frame of zstd.
        frame: &'b [u8],
    },
}

/// The bit of the stored insertion-order number (`place`) that is set if the document is compressed. Insertion-order numbers are at
/// most [`LAST_NUMBER`], so they do not use this bit.
const PACKED: u64 = 1 << 63;

impl<'b> Stored<'b> {
    pub(super) fn to_bytes(self, number: u64) -> Vec<u8> {
        let mut contents = ByteWriter::default();
        match self.body {
            Body::Plain(bytes) => {
                contents.all(&[self.place]);
                contents.bytes(bytes);
            }
            Body::Packed { dictionary, frame } => {
                contents.all(&[self.place | PACKED]);
                contents.all(&[dictionary]);
                contents.bytes(frame);
            }
        }
        with_checksum(number, &contents.into_bytes())
    }

    /// Returns the checksum of a stored document if the document is marked as compressed, and otherwise `None`. Does not verify the
    /// checksum.
    pub(super) fn packed_checksum(bytes: &[u8]) -> Option<[u8; 8]> {
        let (checksum, contents) = bytes.split_first_chunk()?;
        (u64::from_le_bytes(*contents.first_chunk()?) & PACKED != 0).then_some(*checksum)
    }

    pub(super) fn from_bytes(number: u64, bytes: &'b [u8]) -> Result<Self, Fault> {
        let contents = checked(number, bytes)
            .ok_or_else(|| Fault::corrupt(format!("document {number} has a wrong checksum")))?;
        let mut reader = ByteReader::new(contents);
        let place: u64 = reader.one()?;
        let body = match place & PACKED {
            0 => Body::Plain(reader.rest()),
            _ => Body::Packed { dictionary: reader.one()?, frame: reader.rest() },
        };
        Ok(Self { place: place & !PACKED, body })
    }
}

const DICTIONARY_SEED: u64 = 0x6469_6374_0000_0000;

/// Returns the checksum of a dictionary, with which its stored value begins.
pub(super) fn checksum_of(number: u32, bytes: &[u8]) -> [u8; 8] {
    xxh3_64_with_seed(bytes, DICTIONARY_SEED ^ u64::from(number)).to_le_bytes()
}

pub(super) fn dictionary_to_bytes(number: u32, bytes: &[u8]) -> Vec<u8> {
    with_checksum(DICTIONARY_SEED ^ u64::from(number), bytes)
}

pub(super) fn dictionary_from_bytes(number: u32, bytes: &[u8]) -> Result<&[u8], Fault> {
    let contents = checked(DICTIONARY_SEED ^ u64::from(number), bytes);
    contents.ok_or_else(|| Fault::corrupt(format!("the dictionary {number} has a wrong checksum")))
}

const RECORDS_SEED: u64 = 0x7265_636f_7264;

/// Returns the seed of the checksum of a record: a hash of its kind and its key.
fn record_seed(kind: &str, key: &str) -> u64 {
    xxh3_64_with_seed(key.as_bytes(), xxh3_64_with_seed(kind.as_bytes(), RECORDS_SEED))
}

pub(super) fn record_to_bytes(kind: &str, key: &str, text: &str) -> Vec<u8> {
    with_checksum(record_seed(kind, key), text.as_bytes())
}

pub(super) fn record_from_bytes<'b>(kind: &str, key: &str, bytes: &'b [u8]) -> Result<&'b str, Fault> {
    let wrong = |what: &str| Fault::corrupt(format!("the record {kind} {key:?} {what}"));
    let text = checked(record_seed(kind, key), bytes).ok_or_else(|| wrong("has a wrong checksum"))?;
    str::from_utf8(text).map_err(|_| wrong("is not UTF-8"))
}

/// Encodes the count of records.
pub(super) fn records_to_bytes(count: u64) -> Vec<u8> {
    with_checksum(RECORDS_SEED, &count.to_le_bytes())
}

/// Decodes the count of records.
fn records_from_bytes(bytes: &[u8]) -> Result<u64, Fault> {
    let contents = checked(RECORDS_SEED, bytes);
    let mut reader =
        ByteReader::new(contents.ok_or_else(|| Fault::corrupt("the count of records has a wrong checksum"))?);
    let count = reader.one()?;
    reader.finish()?;
    Ok(count)
}

const DEFINITION_SEED: u64 = 0x6465_6669_6e65;

/// Encodes a complete catalogue, as a catalogue file in JSON.
pub(super) fn definition_to_bytes(catalog: &Catalog) -> Vec<u8> {
    with_checksum(DEFINITION_SEED, catalog.to_json().as_bytes())
}

/// Reads the format version. Rejects unknown versions.
pub(super) fn read_version(meta: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<u32, Fault> {
    let format = meta.get(FORMAT)?.ok_or_else(|| Fault::corrupt("no format version in it"))?;
    let mut reader = ByteReader::new(format.value());
    let version: u32 = reader.one()?;
    if !(FIRST_FORMAT_VERSION..=FORMAT_VERSION).contains(&version) {
        let known = format!("this library knows {FIRST_FORMAT_VERSION} to {FORMAT_VERSION}");
        return Err(Fault::new(StoreErrorKind::UnknownVersion, format!("format version {version}, {known}")));
    }
    Ok(version)
}

/// Reads the catalogue that a file was made with. Returns `None` for a file of a version that did not store it.
pub(super) fn read_definition(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<Option<Catalog>, Fault> {
    let Some(bytes) = meta.get(DEFINITION)? else { return Ok(None) };
    let wrong = |what: &str| Fault::corrupt(format!("the definition of the catalogue {what}"));
    let text = checked(DEFINITION_SEED, bytes.value()).ok_or_else(|| wrong("has a wrong checksum"))?;
    let text = str::from_utf8(text).map_err(|_| wrong("is not UTF-8"))?;
    let catalog = Catalog::from_own_json(text).map_err(|errors| wrong(&format!("is invalid: {errors}")))?;
    let stored = meta.get(CATALOGUE)?.ok_or_else(|| Fault::corrupt("no catalogue in it"))?;
    if stored.value() != describe(&catalog).as_bytes() {
        return Err(wrong("does not match the fields of the file"));
    }
    Ok(Some(catalog))
}

/// Returns the checksum of the document number of a released document.
pub(super) fn released_checksum(number: u64) -> u64 {
    xxh3_64_with_seed(&number.to_le_bytes(), STATE_SEED)
}

/// Encodes the live rows of a batch that has `rows` rows.
pub(super) fn live_to_bytes(batch: u64, live: &Selection, rows: usize) -> Vec<u8> {
    let mut contents = ByteWriter::default();
    contents.all(&[rows as u64]);
    match live {
        Selection::All => contents.all(Bitmap::ones(rows).words()),
        Selection::None => contents.all(Bitmap::zeros(rows).words()),
        Selection::Bitmap(bitmap) => contents.all(bitmap.words()),
    }
    with_checksum(!batch, &contents.into_bytes())
}

const SUMMARY_SEED: u64 = 0x7375_6d6d_6172_7900;

/// Encodes the summary of a batch.
pub(super) fn summary_to_bytes(catalog: &Catalog, batch: u64, summary: &BatchSummary) -> Vec<u8> {
    with_checksum(batch ^ SUMMARY_SEED, &summary.to_bytes(catalog))
}

/// Decodes the summary of a batch that has `rows` rows.
pub(super) fn summary_from_bytes(
    catalog: &Catalog,
    (batch, rows): (u64, usize),
    bytes: &[u8],
) -> Result<BatchSummary, Fault> {
    let wrong = |what: &str| Fault::corrupt(format!("summary of batch {batch}: {what}"));
    let contents = checked(batch ^ SUMMARY_SEED, bytes).ok_or_else(|| wrong("a wrong checksum"))?;
    let summary = BatchSummary::from_bytes(catalog, contents).map_err(|fault| wrong(&fault))?;
    let found = summary.rows();
    if found == rows { Ok(summary) } else { Err(wrong(&format!("{found} rows, expected {rows}"))) }
}

/// Decodes the live rows of a batch that has `rows` rows.
pub(super) fn live_from_bytes(batch: u64, rows: usize, bytes: &[u8]) -> Result<Bitmap, Fault> {
    let wrong = |what: &str| Fault::corrupt(format!("live rows of batch {batch}: {what}"));
    let contents = checked(!batch, bytes).ok_or_else(|| wrong("a wrong checksum"))?;
    let mut reader = ByteReader::new(contents);
    let found: u64 = reader.one()?;
    if found != rows as u64 {
        return Err(wrong(&format!("{found} rows, expected {rows}")));
    }
    let words: Vec<u64> = reader.all(rows.div_ceil(LANES))?;
    reader.finish()?;
    let live = Bitmap::filled_by(rows, |own| own.copy_from_slice(&words));
    if live.words() == words { Ok(live) } else { Err(wrong("bits after the last row")) }
}

/// Describes the fields of a catalogue in order, one line for each field. The description includes all properties that determine
/// the columns.
pub(super) fn describe(catalog: &Catalog) -> String {
    let mut text = String::new();
    for id in catalog.field_ids() {
        let field = catalog.field(id);
        // An id whose type is not `String` is described by the name of its type. Only a catalogue of the host program can have such
        // an id.
        let kind = match field.id_type() {
            IdType::String => field.field_type().to_string(),
            id_type => id_type.name().to_owned(),
        };
        text.push_str(&format!("{} {kind}", field.path()));
        if field.field_type() == FieldType::Timestamp && field.form() != TimestampForm::Interface {
            text.push_str(&format!(" {}", field.form().name()));
        }
        for (is_so, word) in [(field.is_key(), " key"), (!catalog.is_visible(id), " hidden")] {
            if is_so {
                text.push_str(word);
            }
        }
        if let Some(default) = field.default_value() {
            text.push_str(&format!(" default {default:?}"));
        }
        text.push('\n');
    }
    text
}

/// Compares the description of the stored catalogue with the description of the caller's own catalogue. Returns a message about the
/// first field that differs.
fn difference(stored: &str, own: &str) -> String {
    let path = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let own_lines: HashMap<String, &str> = own.lines().map(|line| (path(line), line)).collect();
    for there in stored.lines() {
        match own_lines.get(&path(there)) {
            Some(here) if *here == there => {}
            Some(here) => return format!("found the field `{there}`, expected `{here}`"),
            None => return format!("it has the field `{there}`, which is not expected"),
        }
    }
    let stored_lines: HashSet<&str> = stored.lines().collect();
    match own.lines().find(|line| !stored_lines.contains(line)) {
        Some(here) => format!("it lacks the field `{here}`"),
        None => "its fields are in another order".to_owned(),
    }
}

/// Compares two catalogues: checks that documents have the same columns with both catalogues.
///
/// # Errors
/// Returns a message that describes the first field that differs, in `other` and in `own`.
#[doc(hidden)]
pub fn check_same_columns(own: &Catalog, other: &Catalog) -> Result<(), String> {
    let (own, other) = (describe(own), describe(other));
    if own == other { Ok(()) } else { Err(difference(&other, &own)) }
}

/// The counters of a file, its format version, and its count of records.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) version: u32,
    pub(super) state: StoreCounters,
    /// The number of records.
    pub(super) records: u64,
    pub(super) standing: StandingCounters,
    pub(super) writes: WriteCounters,
    /// The maximum number and the maximum age of kept events, if a program has set these limits.
    pub(super) kept_events: Option<KeptEvents>,
}

/// The key of the [kept events](KeptEvents) in `meta`.
pub(super) const KEPT_EVENTS: &str = "kept_events";

/// Reads the maximum number and the maximum age of kept events. Returns `None` if no program has set these limits.
fn read_kept_events(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<Option<KeptEvents>, Fault> {
    meta.get(KEPT_EVENTS)?.map(|bytes| KeptEvents::from_bytes(bytes.value())).transpose()
}

/// Reads the counters of writes. They are missing in a file in which no write was counted.
pub(super) fn read_writes(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<WriteCounters, Fault> {
    let bytes = meta.get(WRITE_COUNTERS)?;
    bytes.map_or(Ok(WriteCounters::default()), |bytes| WriteCounters::from_bytes(bytes.value(), LAST_NUMBER))
}

/// Reads the counters of standing filters and events. If they are missing, returns the counters of a file that has never had a
/// standing filter.
pub(super) fn read_standing(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<StandingCounters, Fault> {
    let bytes = meta.get(STANDING_COUNTERS)?;
    bytes.map_or(Ok(StandingCounters::default()), |bytes| {
        StandingCounters::from_bytes(bytes.value(), LAST_NUMBER)
    })
}

/// Reads the counters. Returns an error if the file has an unknown format version or another catalogue.
pub(super) fn check_meta(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    catalog: &Catalog,
) -> Result<Counted, Fault> {
    let missing = |what: &str| Fault::corrupt(format!("no {what} in it"));
    let version = read_version(meta)?;
    let stored = meta.get(CATALOGUE)?.ok_or_else(|| missing("catalogue"))?;
    let stored = String::from_utf8_lossy(stored.value()).into_owned();
    let own = describe(catalog);
    if stored != own {
        let detail = format!("made for another catalogue: {}", difference(&stored, &own));
        return Err(Fault::new(StoreErrorKind::OtherCatalog, detail));
    }
    let state = meta.get(STATE)?.ok_or_else(|| missing("counters"))?;
    let state = StoreCounters::from_bytes(state.value())?;
    state.check()?;
    let records = match (version, meta.get(RECORD_COUNT)?) {
        (FIRST_FORMAT_VERSION, Some(_)) => return Err(Fault::corrupt("records in a file of version 1")),
        (RECORDS_FORMAT_VERSION, None) => return Err(missing("count of records")),
        (_, None) => 0,
        (_, Some(count)) => records_from_bytes(count.value())?,
    };
    if version < FORMAT_VERSION && meta.get(STANDING_COUNTERS)?.is_some() {
        return Err(Fault::corrupt(format!("standing filters in a file of version {version}")));
    }
    if version < FORMAT_VERSION && meta.get(WRITE_COUNTERS)?.is_some() {
        return Err(Fault::corrupt(format!("counted writes in a file of version {version}")));
    }
    let (standing, writes, kept_events) = (read_standing(meta)?, read_writes(meta)?, read_kept_events(meta)?);
    Ok(Counted { version, state, records, standing, writes, kept_events })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back_and_changed_bytes_are_rejected() {
        let state = StoreCounters { next_place: 3, cases: 1, released: u64::MAX, ..StoreCounters::default() };
        let document = Stored { place: 9, body: Body::Plain("{\"id\":\"é\"}".as_bytes()) };
        let packed = Stored { place: 9, body: Body::Packed { dictionary: 3, frame: b"frame" } };
        let live = Bitmap::filled_by(70, |words| words.copy_from_slice(&[5, 33]));
        let state_bytes = state.to_bytes();
        let document_bytes = document.to_bytes(7);
        let packed_bytes = packed.to_bytes(7);
        let live_bytes = live_to_bytes(4, &Selection::Bitmap(live.clone()), 70);
        assert_eq!(StoreCounters::from_bytes(&state_bytes).unwrap(), state);
        assert!(state.check().is_ok());
        for next in [LAST_NUMBER + 1, u64::MAX] {
            assert!(StoreCounters { next_document: next, ..state }.check().is_err());
            assert!(StoreCounters { next_place: next, ..state }.check().is_err());
            assert!(StoreCounters { next_batch: next, ..state }.check().is_err());
        }
        assert_eq!(Stored::from_bytes(7, &document_bytes).unwrap(), document);
        assert_eq!(Stored::from_bytes(7, &packed_bytes).unwrap(), packed);
        assert_eq!(live_from_bytes(4, 70, &live_bytes).unwrap(), live);
        assert!(Stored::from_bytes(8, &document_bytes).is_err());
        assert!(live_from_bytes(5, 70, &live_bytes).is_err());
        assert!(live_from_bytes(4, 71, &live_bytes).is_err());
        let damaged = |bytes: &[u8], at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 4;
            bytes
        };
        for at in 0..state_bytes.len() {
            assert!(StoreCounters::from_bytes(&damaged(&state_bytes, at)).is_err());
        }
        assert_eq!(Stored::packed_checksum(&document_bytes), None);
        assert_eq!(Stored::packed_checksum(&packed_bytes).unwrap(), packed_bytes[..8]);
        assert_eq!(Stored::packed_checksum(&packed_bytes[..15]), None);
        for bytes in [document_bytes, packed_bytes] {
            for at in 0..bytes.len() {
                assert!(Stored::from_bytes(7, &damaged(&bytes, at)).is_err());
                assert!(Stored::from_bytes(7, &bytes[..at]).is_err());
            }
        }
        let dictionary_bytes = dictionary_to_bytes(2, b"dictionary");
        assert_eq!(dictionary_from_bytes(2, &dictionary_bytes).unwrap(), b"dictionary");
        assert!(dictionary_bytes.starts_with(&checksum_of(2, b"dictionary")));
        assert!(dictionary_from_bytes(3, &dictionary_bytes).is_err());
        for at in 0..dictionary_bytes.len() {
            assert!(dictionary_from_bytes(2, &damaged(&dictionary_bytes, at)).is_err());
        }
        let record_bytes = record_to_bytes("kind", "key", "text");
        assert_eq!(record_from_bytes("kind", "key", &record_bytes).unwrap(), "text");
        assert!(record_from_bytes("kin", "dkey", &record_bytes).is_err());
        let count_bytes = records_to_bytes(3);
        assert_eq!(records_from_bytes(&count_bytes).unwrap(), 3);
        for at in 0..record_bytes.len() {
            assert!(record_from_bytes("kind", "key", &damaged(&record_bytes, at)).is_err());
        }
        for at in 0..count_bytes.len() {
            assert!(records_from_bytes(&damaged(&count_bytes, at)).is_err());
        }
        for at in 0..live_bytes.len() {
            assert!(live_from_bytes(4, 70, &damaged(&live_bytes, at)).is_err());
        }
    }
}
