//! Tests that the file has the contents that `FORMAT.md` describes. Reads the file with redb only.

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use xxhash_rust::xxh3::xxh3_64_with_seed as xxh3;

use super::super::tables::{FIRST_FORMAT_VERSION, FORMAT_VERSION, PIECE_BYTES};
use super::*;

const FORMAT: &str = include_str!("../FORMAT.md");
const STATE_SEED: u64 = 0x0073_7461_7465;
const DEFINITION_SEED: u64 = 0x6465_6669_6e65;
const RECORDS_SEED: u64 = 0x7265_636f_7264;
const SUMMARY_SEED: u64 = 0x7375_6d6d_6172_7900;
const DICTIONARY_SEED: u64 = 0x6469_6374_0000_0000;

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const DOCUMENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("documents");
const RELEASED: TableDefinition<'_, u64, u64> = TableDefinition::new("released");
const BATCHES: TableDefinition<'_, (u64, u16, u32), &[u8]> = TableDefinition::new("batches");
const LIVE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("live");
const SUMMARIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("summaries");
const DICTIONARIES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("dictionaries");
const RECORDS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("records");

fn with_checksum(seed: u64, contents: &[u8]) -> Vec<u8> {
    [&xxh3(contents, seed).to_le_bytes(), contents].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the stored bytes of a part of a batch.
fn part(batch: u64, part: u64, contents: &[u8]) -> Vec<u8> {
    let seed = batch.rotate_left(16) ^ part;
    [&[1][..], &with_checksum(seed, contents)].concat()
}

fn catalog() -> Catalog {
    let fields = [
        Field::new("state", FieldType::String).with_default("new"),
        Field::new("amount", FieldType::Number),
        Field::new("secret", FieldType::Boolean),
        Field::new("at", FieldType::Timestamp).unix_millis(),
    ];
    Catalog::new(fields).unwrap().allow(["id", "state", "amount", "at"]).unwrap()
}

/// Writes three cases and a checkpoint, then deletes one of the cases.
fn write(path: &std::path::Path, has_record: bool) {
    let catalog = catalog();
    let store = Store::create(path, catalog.clone(), StoreOptions::default()).unwrap();
    let documents = [
        r#"{"id":"c","amount":2.5,"at":7}"#,
        r#"{"id":"a","state":"old","at":3}"#,
        r#"{"id":"b","amount":-1,"at":5}"#,
    ];
    let mut import = store.import(ImportMode::Strict).unwrap();
    for document in documents {
        import.push(document.as_bytes()).unwrap();
        import.push(b"\n").unwrap();
    }
    import.commit().unwrap();
    store.close().unwrap();
    // A few cases are stored only as documents. After the store is reopened, they are a batch.
    let store = Store::open(path, catalog, StoreOptions::default()).unwrap();
    store.checkpoint().unwrap();
    assert!(store.delete("a", Durability::Synced).unwrap());
    if has_record {
        store.write_records(|records| records.put("note", "n1", "text").map(drop)).unwrap();
    }
    // Closing the store would make another checkpoint.
    std::mem::forget(store);
}

#[test]
fn the_file_is_as_its_description_has_it() {
    for has_record in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        write(&path, has_record);
        // The store still has a lock on the file, so a copy of the file is read.
        let copy = folder.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        check(&Database::create(&copy).unwrap(), has_record);
    }
}

fn check(database: &Database, has_record: bool) {
    let read = database.begin_read().unwrap();
    let meta = read.open_table(META).unwrap();
    let meta = |name: &str| meta.get(name).unwrap().map(|bytes| bytes.value().to_vec());
    assert_eq!(meta("format").unwrap(), 3_u32.to_le_bytes());
    let fields = "id string key\nstate string default \"new\"\namount number\nsecret boolean hidden\nat timestamp unix_millis\n";
    assert_eq!(String::from_utf8(meta("catalogue").unwrap()).unwrap(), fields);
    let definition = catalog().to_json();
    assert_eq!(
        meta("definition").unwrap(),
        with_checksum(DEFINITION_SEED, definition.as_bytes()),
        "{definition}"
    );
    // The import assigned the insertion-order numbers 0 to 2 and the document numbers 0 to 2.
    let state = meta("state").unwrap();
    let next_batch = u64::from_le_bytes(state[24..32].try_into().unwrap());
    assert_eq!(state, with_checksum(STATE_SEED, &words(&[3, 3, next_batch, 3, 2, 1, 1])));
    let count = has_record.then(|| with_checksum(RECORDS_SEED, &words(&[1])));
    assert_eq!(meta("records"), count);

    let documents = read.open_table(DOCUMENTS).unwrap();
    let document = |number: u64| documents.get(number).unwrap().map(|bytes| bytes.value().to_vec());
    let contents = [&words(&[2])[..], br#"{"id":"b","amount":-1,"at":5}"#].concat();
    assert_eq!(document(2).unwrap(), with_checksum(2, &contents));
    assert_eq!((documents.len().unwrap(), document(1)), (2, None));
    // So few documents train no dictionary.
    assert_eq!(read.open_table(DICTIONARIES).unwrap().len().unwrap(), 0);
    let released = read.open_table(RELEASED).unwrap();
    let all: Vec<(u64, u64)> = released
        .iter()
        .unwrap()
        .map(Result::unwrap)
        .map(|(number, sum)| (number.value(), sum.value()))
        .collect();
    assert_eq!(all, [(1, xxh3(&words(&[1]), STATE_SEED))]);

    let live = read.open_table(LIVE).unwrap();
    let (number, bytes) = live.first().unwrap().unwrap();
    let batch = number.value();
    assert!(batch < next_batch && live.len().unwrap() == 1);
    // The case of row 1 was deleted after the checkpoint. Its bit in `live` is still set, because only the table `released` records
    // the deletion.
    assert_eq!(bytes.value(), with_checksum(!batch, &words(&[3, 0b111])));

    // The sizes of the strings of `id` and `state`, and the least and the greatest value of `amount` and `at`. A double is stored
    // as its bits. A negative double is stored as the negated bits of its absolute value.
    let bits = |double: f64| double.to_bits();
    let amounts = words(&[bits(1.0).wrapping_neg(), bits(2.5)]);
    let summary = [&words(&[3, 3, 6])[..], &[1], &amounts, &[1], &words(&[3, 7])].concat();
    let summaries = read.open_table(SUMMARIES).unwrap();
    assert_eq!(summaries.get(batch).unwrap().unwrap().value(), with_checksum(batch ^ SUMMARY_SEED, &summary));
    assert_eq!(summaries.len().unwrap(), 1);

    let pieces = read.open_table(BATCHES).unwrap();
    let mut found = Vec::new();
    for piece in pieces.iter().unwrap() {
        let (key, bytes) = piece.unwrap();
        found.push((key.value(), bytes.value().to_vec()));
    }
    let rows = [&words(&[3])[..], &[0], &words(&[0]), &[0], &words(&[0])].concat();
    let ids = [&[1][..], &words(&[3, 3]), b"abc", &[1, 1, 1, 1], &[2, 0, 1]].concat();
    let states = [&[1][..], &words(&[2, 6]), b"newold", &[1, 3, 3], &[0, 1, 0]].concat();
    let sorted = |rows: &[u16]| -> Vec<u8> {
        let rows: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        [&[1][..], &words(&[(rows.len() / 2) as u64]), &rows].concat()
    };
    let doubles: Vec<u8> = [2.5_f64, 0.0, -1.0].iter().flat_map(|double| double.to_le_bytes()).collect();
    let amounts = [&[2][..], &words(&[0b101]), &doubles, &sorted(&[2, 0])].concat();
    // The least value, the step in milliseconds, and the count of steps for each row.
    let steps: Vec<u8> = [1_u32, 4, 0, 2].iter().flat_map(|word| word.to_le_bytes()).collect();
    let times = [&[1, 1][..], &words(&[3]), &steps, &sorted(&[1, 2, 0])].concat();
    let keys = bloom_filter(&["a", "b", "c"]);
    let expected = [(0, rows), (1, ids), (2, states), (3, amounts), (5, times), (32_769, keys)]
        .map(|(number, contents)| ((batch, number, 0), part(batch, u64::from(number), &contents)));
    assert_eq!(found, expected);

    if has_record {
        let seed = xxh3(b"n1", xxh3(b"note", RECORDS_SEED));
        let records = read.open_table(RECORDS).unwrap();
        assert_eq!(records.get(("note", "n1")).unwrap().unwrap().value(), with_checksum(seed, b"text"));
    } else {
        assert!(read.open_table(RECORDS).is_err());
    }
}

/// Returns a split-block Bloom filter of one block. The salts are those of Parquet's description.
fn bloom_filter(strings: &[&str]) -> Vec<u8> {
    const SALTS: [u32; 8] =
        [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
    let mut block = [0_u32; 8];
    for string in strings {
        let key = (xxh3(string.as_bytes(), 0) & 0xffff_ffff) as u32;
        for (word, salt) in block.iter_mut().zip(SALTS) {
            *word |= 1 << (key.wrapping_mul(salt) >> 27);
        }
    }
    block.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A file of an import that trains a dictionary.
#[test]
fn compressed_documents_are_as_the_description_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    let document = |number: u64| {
        format!(
            "{{\"id\":\"c{number}\",\"state\":\"new\",\"the name of this member is long\":{}}}",
            number * 7_919
        )
    };
    let lines: String = (0..1_024).map(|number| document(number) + "\n").collect();
    store.upsert_many(lines.as_bytes()).unwrap();
    store.close().unwrap();
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    let dictionaries = read.open_table(DICTIONARIES).unwrap();
    let (number, dictionary) = dictionaries.last().unwrap().unwrap();
    assert_eq!(number.value(), 1);
    let (checksum, dictionary) = dictionary.value().split_at(8);
    assert_eq!(xxh3(dictionary, DICTIONARY_SEED ^ 1).to_le_bytes(), checksum);
    assert!(dictionary.len() + 8 <= PIECE_BYTES);
    let documents = read.open_table(DOCUMENTS).unwrap();
    let bytes = documents.get(7).unwrap().unwrap();
    let (checksum, contents) = bytes.value().split_at(8);
    assert_eq!(xxh3(contents, 7).to_le_bytes(), checksum);
    let (head, frame) = contents.split_at(12);
    assert_eq!(head, [&words(&[7 | 1 << 63])[..], &1_u32.to_le_bytes()].concat());
    let mut decompressor = zstd::bulk::Decompressor::with_dictionary(dictionary).unwrap();
    assert_eq!(decompressor.decompress(frame, 1_000).unwrap(), document(7).as_bytes());
}

#[test]
fn standing_filters_and_events_are_as_the_description_has_them() {
    const STANDING_SEED: u64 = 0x7374_616e_6469_6e67;
    const EVENTS_SEED: u64 = 0x6576_656e_7473;
    const STANDING: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("standing");
    const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    let filter = Filter::compile_text(&catalog(), "amount > 1").unwrap();
    let fields = ["state", "amount"].map(|name| catalog().find(name).unwrap());
    let filter = StandingFilter::new("more", &filter).with_fields(fields);
    store.insert_standing([filter.clone()]).unwrap();
    for document in [r#"{"id":"a","amount":2}"#, r#"{"id":"a","amount":3}"#, r#"{"id":"a"}"#] {
        store.upsert(document.as_bytes(), Durability::Synced).unwrap();
    }
    let times: Vec<i64> =
        store.events_after(0, 9).unwrap().iter().map(|event| event.time.as_millis()).collect();
    store.forget_events(1).unwrap();
    store.close().unwrap();
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    let counters = words(&[1, 2, 2, 4, 2]);
    let meta = read.open_table(META).unwrap();
    assert_eq!(meta.get("standing").unwrap().unwrap().value(), with_checksum(STANDING_SEED, &counters));
    let standing = read.open_table(STANDING).unwrap();
    let contents = [&[2, 0, 1, 0, 2, 0][..], filter.filter().to_text().as_bytes()].concat();
    let expected = with_checksum(xxh3(b"more", STANDING_SEED), &contents);
    assert_eq!(standing.get("more").unwrap().unwrap().value(), expected);
    let events = read.open_table(EVENTS).unwrap();
    assert_eq!(events.len().unwrap(), 2);
    let ends: [&[u8]; 2] = [&[2, 4, b'm', b'o', b'r', b'e', 1, 0, 2, 0], &[1, 4, b'm', b'o', b'r', b'e']];
    for ((number, time), end) in (2_u64..).zip(&times[1..]).zip(ends) {
        let contents = [&time.to_le_bytes()[..], &[1, 0, 0, 0, 1, 0, 0, 0], b"a", end].concat();
        let expected = with_checksum(number ^ EVENTS_SEED, &contents);
        assert_eq!(events.get(number).unwrap().unwrap().value(), expected, "{number}");
    }
}

#[test]
fn the_history_is_as_the_description_has_it() {
    const WRITES_SEED: u64 = 0x7772_6974_6573;
    const ROW_SEED: u64 = 0x7772_6974_6500;
    const KEY_SEED: u64 = 0x0068_6973_746f_7279;
    const WRITES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("writes");
    const HISTORY: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("history");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let mut store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    store.clock = std::sync::Arc::new(|| crate::value::Timestamp::from_millis(77));
    let first = r#"{"id":"a","amount":2}"#;
    store.upsert(first.as_bytes(), Durability::Synced).unwrap();
    store.set_history(std::time::Duration::from_millis(500)).unwrap();
    // This write stores two documents, and the second one replaces the first. The history does not keep the first one.
    store.upsert_each([&br#"{"id":"a","amount":3}"#[..], br#"{"id":"a"}"#], Durability::Synced).unwrap();
    store.delete("a", Durability::Synced).unwrap();
    store.close().unwrap();
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    let meta = read.open_table(META).unwrap();
    let counters = with_checksum(WRITES_SEED, &words(&[3, 500, 1, 2]));
    assert_eq!(meta.get("writes").unwrap().unwrap().value(), counters);
    let rows = read.open_table(WRITES).unwrap();
    assert_eq!(rows.len().unwrap(), 3);
    for (write, next_document, cases) in [(1_u64, 1, 1), (2, 3, 1), (3, 3, 0)] {
        let expected = with_checksum(write ^ ROW_SEED, &words(&[77, next_document, cases]));
        assert_eq!(rows.get(write).unwrap().unwrap().value(), expected, "{write}");
    }
    let history = read.open_table(HISTORY).unwrap();
    assert_eq!(history.len().unwrap(), 2);
    for (key, document) in [((2, 0), first), ((3, 2), r#"{"id":"a"}"#)] {
        let contents = [&words(&[0])[..], document.as_bytes()].concat();
        let key_checksum = xxh3(&words(&[key.0, key.1]), KEY_SEED).to_le_bytes();
        let expected = [&key_checksum[..], &with_checksum(key.1, &contents)].concat();
        assert_eq!(history.get(key).unwrap().unwrap().value(), expected);
    }
}

#[test]
fn the_description_names_what_there_is() {
    for table in [
        "meta",
        "documents",
        "released",
        "batches",
        "summaries",
        "live",
        "dictionaries",
        "records",
        "standing",
        "events",
        "writes",
        "history",
    ] {
        assert!(FORMAT.contains(&format!("| `{table}` |")), "{table}");
    }
    for key in ["format", "catalogue", "definition", "state", "records", "standing", "writes"] {
        assert!(FORMAT.contains(&format!("| `{key}` |")), "{key}");
    }
    let pieces = PIECE_BYTES.to_string();
    assert!(FORMAT.contains(&format!("{},{} bytes", &pieces[..2], &pieces[2..])), "{pieces}");
    for version in FIRST_FORMAT_VERSION..=FORMAT_VERSION {
        assert!(FORMAT.contains(&format!("\n| {version} | ")), "{version}");
    }
    assert!(!FORMAT.contains(&format!("\n| {} | ", FORMAT_VERSION + 1)));
}
