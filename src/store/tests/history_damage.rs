//! Changes the history of a file through redb, with right checksums. A search as of an earlier write must then give the right
//! answer or an error. There is one exception: if a change keeps all counts, the answer may be wrong. `verify` must find each
//! change.

use std::collections::BTreeMap;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use xxhash_rust::xxh3::xxh3_64_with_seed as xxh3;

use super::*;

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const WRITES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("writes");
const HISTORY: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("history");

/// The last write of the file.
const LAST: u64 = 6;

/// The history of a file.
#[derive(Clone)]
struct Contents {
    /// For each write, the numbers in its row: its time, the number of the next document, and the count of cases.
    rows: BTreeMap<u64, Vec<u64>>,
    /// The bytes of the entries.
    entries: BTreeMap<(u64, u64), Vec<u8>>,
    /// The number of the last write, the time for which documents are kept, the number of the oldest write, and the count of
    /// entries.
    counters: Vec<u64>,
}

impl Contents {
    fn read(path: &Path) -> Self {
        let read = Database::open(path).unwrap().begin_read().unwrap();
        let words = |bytes: &[u8]| {
            bytes[8..].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
        };
        let counters = words(read.open_table(META).unwrap().get("writes").unwrap().unwrap().value());
        let rows = read.open_table(WRITES).unwrap();
        let rows = rows.iter().unwrap().map(Result::unwrap);
        let rows = rows.map(|(write, bytes)| (write.value(), words(bytes.value()))).collect();
        let entries = read.open_table(HISTORY).unwrap();
        let entries = entries.iter().unwrap().map(Result::unwrap);
        let entries = entries.map(|(key, bytes)| (key.value(), bytes.value().to_vec())).collect();
        Self { rows, entries, counters }
    }

    /// Writes the history. Sets the counter of entries to the number of entries.
    fn write(&self, path: &Path) {
        let bytes = |seed, numbers: &[u64]| {
            let contents: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            [&xxh3(&contents, seed).to_le_bytes()[..], &contents].concat()
        };
        let database = Database::open(path).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut counters = self.counters.clone();
        counters[3] = self.entries.len() as u64;
        let counters = bytes(0x7772_6974_6573, &counters);
        transaction.open_table(META).unwrap().insert("writes", counters.as_slice()).unwrap();
        transaction.delete_table(WRITES).unwrap();
        let mut rows = transaction.open_table(WRITES).unwrap();
        for (write, numbers) in &self.rows {
            rows.insert(write, bytes(write ^ 0x7772_6974_6500, numbers).as_slice()).unwrap();
        }
        drop(rows);
        transaction.delete_table(HISTORY).unwrap();
        let mut entries = transaction.open_table(HISTORY).unwrap();
        for (key, bytes) in &self.entries {
            entries.insert(key, bytes.as_slice()).unwrap();
        }
        drop(entries);
        transaction.commit().unwrap();
    }

    fn take(&mut self, key: (u64, u64)) -> Vec<u8> {
        self.entries.remove(&key).unwrap()
    }

    /// Puts an entry with the right checksum of its key.
    fn forge(&mut self, key: (u64, u64), mut bytes: Vec<u8>) {
        let own = [key.0.to_le_bytes(), key.1.to_le_bytes()].concat();
        bytes[..8].copy_from_slice(&xxh3(&own, 0x0068_6973_746f_7279).to_le_bytes());
        self.entries.insert(key, bytes);
    }
}

/// Returns the documents as of each write, or the kind of the error.
fn answers(path: &Path) -> Result<Vec<Result<Vec<String>, StoreErrorKind>>, StoreError> {
    let store = Store::open(path, catalog(), StoreOptions::default())?;
    let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(100);
    let read = |write| {
        let answer = store.as_of(AsOf::Write(write))?.search(&all)?;
        Ok(answer.documents().map(str::to_owned).collect())
    };
    Ok((0..=LAST).map(|write| read(write).map_err(|error: StoreError| error.kind())).collect())
}

#[test]
fn a_changed_history_gives_the_right_answer_or_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let [path, changed] = ["cases.db", "changed.db"].map(|name| folder.path().join(name));
    let options = StoreOptions::default().history(Duration::from_secs(1 << 30));
    let store = Store::create(&path, catalog(), options).unwrap();
    let put = |text: &str| store.upsert(text.as_bytes(), Durability::Synced).unwrap();
    put(r#"{"id":"a"}"#);
    put(r#"{"id":"b"}"#);
    put(r#"{"id":"a","state":"s1"}"#);
    store.delete("b", Durability::Synced).unwrap();
    put(r#"{"id":"a","state":"s2"}"#);
    put(r#"{"id":"d"}"#);
    store.close().unwrap();
    let expected = answers(&path).unwrap();
    let lens: Vec<usize> = expected.iter().map(|found| found.as_ref().unwrap().len()).collect();
    assert_eq!(lens, [0, 1, 2, 2, 1, 1, 2]);
    let sound = Contents::read(&path);
    assert!(sound.entries.keys().eq(&[(3, 0), (4, 1), (5, 2)]));
    type Change = fn(&mut Contents);
    let changes: [(&str, Change); 10] = [
        ("under a later write", |own| {
            let bytes = own.take((3, 0));
            own.entries.insert((4, 0), bytes);
        }),
        ("under a later write, forged", |own| {
            let bytes = own.take((3, 0));
            own.forge((4, 0), bytes);
        }),
        ("under an earlier write, forged", |own| {
            let bytes = own.take((5, 2));
            own.forge((3, 2), bytes);
        }),
        ("removed", |own| drop(own.take((3, 0)))),
        ("doubled", |own| own.forge((5, 0), own.entries[&(3, 0)].clone())),
        ("doubled instead of another one", |own| {
            own.take((4, 1));
            own.forge((5, 0), own.entries[&(3, 0)].clone());
        }),
        ("of a write that has not come", |own| {
            let bytes = own.take((3, 0));
            own.forge((LAST + 1, 0), bytes);
        }),
        ("a row is missing", |own| drop(own.rows.remove(&4).unwrap())),
        ("another count of cases", |own| own.rows.get_mut(&4).unwrap()[2] += 1),
        ("rows without a history", |own| own.counters = vec![LAST, 0, 0, 0]),
    ];
    for (name, change) in changes {
        let mut own = sound.clone();
        change(&mut own);
        std::fs::copy(&path, &changed).unwrap();
        if name == "rows without a history" {
            own.entries.clear();
            own.write(&changed);
            let database = Database::open(&changed).unwrap();
            let transaction = database.begin_write().unwrap();
            transaction.delete_table(HISTORY).unwrap();
            transaction.commit().unwrap();
        } else {
            own.write(&changed);
        }
        // A forgery that keeps the count of cases at a moment is found only by `verify`, and by searches as of other moments.
        let keeps_count = name == "doubled instead of another one";
        match answers(&changed) {
            Ok(found) => {
                for (write, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let is_right = found == expected || *found == Err(StoreErrorKind::Corrupt);
                    assert!(is_right || keeps_count, "{name}, as of {write}: {found:?}");
                }
                assert!(found.contains(&Err(StoreErrorKind::Corrupt)), "{name}: {found:?}");
            }
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{name}"),
        }
        let verified = Store::verify(&changed, &catalog(), &StoreOptions::default());
        assert_eq!(verified.unwrap_err().kind(), StoreErrorKind::Corrupt, "{name}");
    }
}
