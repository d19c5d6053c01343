//! Looks for the bytes of erased cases: in the file, in its free pages, and in everything that zstd compressed there.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::super::tables::{BATCHES, DICTIONARIES, DOCUMENTS, HISTORY};
use super::lazy::removed::{keeping, sources};
use super::*;
use crate::facet::{Facet, FacetsRequest};

/// The first bytes of a frame of zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the dictionaries of a closed file.
fn dictionaries(path: &Path) -> Vec<Vec<u8>> {
    let database = Database::open(path).unwrap();
    let table = database.begin_read().unwrap().open_table(DICTIONARIES).unwrap();
    table.iter().unwrap().map(|entry| entry.unwrap().1.value()[8..].to_vec()).collect()
}

/// Returns the texts of the compressed documents in a table. Each value of the table begins with `skipped` bytes and the checksum
/// of the document.
fn compressed<K: redb::Key + 'static>(
    path: &Path,
    table: TableDefinition<'_, K, &'static [u8]>,
    skipped: usize,
    dictionary: &[u8],
) -> Vec<Vec<u8>> {
    let database = Database::open(path).unwrap();
    let table = database.begin_read().unwrap().open_table(table).unwrap();
    let values = table.iter().unwrap().map(|entry| entry.unwrap().1.value()[skipped..].to_vec());
    let values = values.filter(|value| value[15] & 0x80 != 0 && value[16..20] == [1, 0, 0, 0]);
    let mut decoder = zstd::bulk::Decompressor::with_dictionary(dictionary).unwrap();
    values.map(|value| decoder.decompress(&value[20..], 1 << 20).unwrap()).collect()
}

/// Returns the pieces of the key filters of all batches (`KeyFilter`).
fn filters_of_keys(path: &Path) -> Vec<Vec<u8>> {
    let database = Database::open(path).unwrap();
    let table = database.begin_read().unwrap().open_table(BATCHES).unwrap();
    let pieces = table.iter().unwrap().map(Result::unwrap);
    pieces.filter(|(key, _)| key.value().1 > 32_768).map(|(_, piece)| piece.value().to_vec()).collect()
}

/// Returns the readable bytes of all files of a folder: the bytes themselves, and the decompressed contents of all frames of zstd
/// in them. Tries every dictionary. Also reads frames that are cut off.
fn readable(folder: &Path, dictionaries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).unwrap();
    readable_in(files.map(|entry| fs::read(entry.unwrap().path()).unwrap()), dictionaries)
}

/// Like `readable`, for files with these contents.
pub(super) fn readable_in(
    files: impl IntoIterator<Item = Vec<u8>>,
    dictionaries: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for bytes in files {
        for start in memchr::memmem::find_iter(&bytes, &MAGIC) {
            let none: &[u8] = &[];
            for dictionary in dictionaries.iter().map(Vec::as_slice).chain([none]) {
                let frame = &bytes[start..bytes.len().min(start + (1 << 20))];
                let decoder = zstd::stream::read::Decoder::with_dictionary(frame, dictionary);
                let mut decoder = decoder.unwrap().single_frame();
                let mut text = Vec::new();
                let mut part = [0; 512];
                while let Ok(read @ 1..) = decoder.read(&mut part) {
                    text.extend_from_slice(&part[..read]);
                }
                all.push(text);
            }
        }
        all.push(bytes);
    }
    all
}

pub(super) fn has(readable: &[Vec<u8>], text: &str) -> bool {
    readable.iter().any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
}

/// Texts of the person to erase: a value in all documents, one in the newest documents, one in replaced documents, the text of a
/// record, and the id of a case.
const SECRETS: [&str; 5] =
    ["Quetzalcoatlus", "Xylophonist", "Zwiebelkuchen", "Rhabarbergruetze", "person-17"];

/// Returns the number of cases of the person.
fn owned(is_large: bool) -> u64 {
    if is_large { 200 } else { 40 }
}

fn fill(path: &Path, is_large: bool, history: Duration) {
    let options = StoreOptions::default().history(history).batch_rows(512);
    let store = Store::create(path, catalog(), options).unwrap();
    store.insert_standing([standing("f", 1)]).unwrap();
    let others = if is_large { 1500 } else { 40 };
    // Many cases, so that the dictionary has their texts.
    let owned = owned(is_large);
    let other = |number: u64| {
        format!(
            "{{\"id\":\"other-{number}\",\"state\":\"s{}\",\"amount\":{number},\"tags\":[\"a long tag of many cases\",\"t{}\"],\"note\":\"some text that many documents have\"}}\n",
            number % 5,
            number % 7
        )
    };
    let own = |number: u64, secret: &str| {
        format!(
            "{{\"id\":\"person-{number}\",\"state\":\"Quetzalcoatlus\",\"amount\":900,\"tags\":[\"{secret}\"],\"note\":\"some text that many documents have, by Quetzalcoatlus\"}}\n"
        )
    };
    let mut lines = String::new();
    for number in 0..others {
        lines += &other(number);
        if number < owned {
            lines += &own(number, "Zwiebelkuchen");
        }
    }
    store.upsert_many(lines.as_bytes()).unwrap();
    store.checkpoint().unwrap();
    for number in 0..30 {
        store.upsert(own(number, "Xylophonist").trim().as_bytes(), Durability::Grouped).unwrap();
    }
    store.delete("person-39", Durability::Synced).unwrap();
    store.write_records(|records| records.put("kind", "person", "Rhabarbergruetze")).unwrap();
    store.write_records(|records| records.put("kind", "other", "Other")).unwrap();
    store.close().unwrap();
}

#[test]
fn no_byte_of_an_erased_case_is_left_in_any_file() {
    for (is_large, history) in
        [(false, Duration::ZERO), (true, Duration::ZERO), (true, Duration::from_secs(900))]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        fill(&path, is_large, history);
        let mut known = dictionaries(&path);
        assert_eq!(known.len(), usize::from(is_large));
        let before = readable(folder.path(), &known);
        for secret in SECRETS {
            assert!(has(&before, secret), "{secret}");
        }
        // Each place has bytes of the person, and the search finds them there.
        if is_large {
            assert!(has(&known, "Quetzalcoatlus"));
            assert!(has(&compressed(&path, DOCUMENTS, 0, &known[0]), "Xylophonist"));
        }
        if !history.is_zero() {
            assert!(has(&compressed(&path, HISTORY, 8, &known[0]), "Zwiebelkuchen"));
        }
        let filters = filters_of_keys(&path);
        assert!(!filters.is_empty());
        let gone = owned(is_large) as usize - 1;
        // Neither deleting nor compacting is enough: the dictionary stays in the file, with a text of the person.
        if is_large {
            let copies = tempfile::tempdir().unwrap();
            let copy = copies.path().join("cases.db");
            fs::copy(&path, &copy).unwrap();
            let store = Store::open(&copy, catalog(), StoreOptions::default()).unwrap();
            let ids = (0..owned(is_large)).map(|number| format!("person-{number}"));
            assert_eq!(store.delete_many(ids, Durability::Synced).unwrap(), gone);
            store.compact_online().unwrap();
            store.close().unwrap();
            assert!(has(&dictionaries(&copy), "Quetzalcoatlus"));
        }
        // The case `person-39` has been deleted already, but its texts may still be in the file. So the erasure names its id.
        let store = Store::open(&path, catalog(), StoreOptions::default()).unwrap();
        let held = store.snapshot();
        let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000);
        let cases = store.len();
        let filter = Filter::compile_text(store.catalog(), "state = Quetzalcoatlus").unwrap();
        let erasure = Erasure::new()
            .with_cases(filter)
            .with_ids(["person-39"])
            .with_records(|kind, key, _| (kind, key) == ("kind", "person"));
        let erased = store.erase(&erasure).unwrap();
        assert_eq!((erased.cases, erased.records), (gone as u64, 1));
        // Each case of the person entered the filter, 30 of them changed, and one left it.
        assert_eq!(erased.events, owned(is_large) + 31);
        assert_eq!(erased.history, if history.is_zero() { 0 } else { 31 });
        // A snapshot that was taken before still has its cases.
        assert_eq!(held.search(&all).unwrap().len(), cases);
        drop(held);
        let check = |store: &Store| {
            assert_eq!(store.len(), cases - gone);
            let found = store.search(&all).unwrap();
            assert!(found.ids().all(|id| id.starts_with("other-")));
            let facets = FacetsRequest::new(Filter::all(store.catalog()))
                .with_facet(Facet::values(store.catalog(), "state").unwrap());
            assert!(!store.facets(&facets).unwrap().to_json().contains("Quetz"));
            assert_eq!(store.records().unwrap().with_prefix("kind", "").unwrap().len(), 1);
            let events = store.events_after(0, 10_000).unwrap();
            assert_eq!(
                events.iter().filter(|event| event.id.is_empty()).count() as u64,
                owned(is_large) + 31
            );
            assert!(events.iter().all(|event| !event.id.starts_with("person")));
            store.validate().unwrap();
        };
        check(&store);
        // A backup after the erasure is clean, too. `readable` also reads this backup.
        store.backup(folder.path().join("backup.db")).unwrap();
        store.close().unwrap();
        // The first call of `erase` has removed everything.
        known.extend(dictionaries(&path));
        let after = readable(folder.path(), &known);
        assert!(has(&after, "other-7") && has(&after, "some text that many documents have"));
        for secret in SECRETS {
            assert!(!has(&after, secret), "{secret} is still there, large: {is_large}");
        }
        // The key filters contain hashes of ids. So no new filter may equal an old one.
        let new = filters_of_keys(&path);
        assert!(!new.is_empty() && new.iter().all(|piece| !filters.contains(piece)));
        let store = Store::open(&path, catalog(), StoreOptions::default()).unwrap();
        let again = store.erase(&erasure).unwrap();
        assert_eq!(again, ErasureReport::default());
        store.upsert(br#"{"id":"later","amount":1000}"#, Durability::Synced).unwrap();
        store.delete("later", Durability::Synced).unwrap();
        if !history.is_zero() {
            let early = store.as_of(AsOf::Write(1)).unwrap();
            assert_eq!(early.len(), cases - gone);
        }
        store.close().unwrap();
        Store::verify(&path, &catalog(), &StoreOptions::default()).unwrap();
        check(&Store::open_read_only(&path, catalog(), StoreOptions::default()).unwrap());
        known.extend(dictionaries(&path));
        let after = readable(folder.path(), &known);
        assert!(SECRETS.iter().all(|secret| !has(&after, secret)));
        // The database and its backup.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn an_erasure_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["cases.db", "other.db"].map(|name| folder.path().join(name));
    fill(&path, true, Duration::ZERO);
    // The other name would still refer to the old file.
    fs::hard_link(&path, &other).unwrap();
    let store = Store::open(&path, catalog(), StoreOptions::default()).unwrap();
    let write = store.snapshot().last_write();
    let erasure = Erasure::new().with_ids(["person-1"]);
    assert_eq!(store.erase(&erasure).unwrap_err().kind(), StoreErrorKind::Exists);
    // No read transaction stays open, which would keep the file from reusing pages.
    assert_eq!(keeping(&sources(&store)), 0);
    let before = all(&store).unwrap();
    assert_eq!(store.erase(&erasure).unwrap_err().kind(), StoreErrorKind::Exists);
    assert_eq!((all(&store).unwrap(), store.snapshot().last_write()), (before, write));
    fs::remove_file(&other).unwrap();
    assert_eq!(store.erase(&erasure).unwrap().cases, 1);
    assert_eq!(store.snapshot().last_write(), write.map(|write| write + 1));
    store.upsert(br#"{"id":"person-1"}"#, Durability::Synced).unwrap();
    store.validate().unwrap();
}

#[test]
fn cases_of_files_of_earlier_versions_are_erased() {
    for version in [1, 2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let kept = format!("tests/data/store/v{version}.redb");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(kept), &path).unwrap();
        let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        assert_eq!(store.erase(&Erasure::new().with_ids(["c"])).unwrap().cases, 1);
        assert_eq!(store.len(), 2);
        store.validate().unwrap();
        store.close().unwrap();
        Store::verify(&path, &Catalog::cases(), &StoreOptions::default()).unwrap();
        assert!(!has(&[fs::read(&path).unwrap()], "Neil"), "version {version}");
        let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        assert_eq!((store.len(), store.is_packed), (2, version > 2));
    }
}

/// Returns the document of a case that does not belong to the person to erase, in the form that `fill` stores.
fn line(id: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"state\":\"s1\",\"amount\":1,\"tags\":[\"a long tag of many cases\",\"t1\"],\"note\":\"some text that many documents have\"}}"
    )
}

fn erase_person(store: &Store) {
    let filter = Filter::compile_text(store.catalog(), "state = Quetzalcoatlus").unwrap();
    assert_eq!(store.erase(&Erasure::new().with_cases(filter)).unwrap().cases, owned(true) - 1);
}

#[test]
fn an_import_that_is_open_during_an_erasure_is_stored_after_it() {
    for history in [Duration::ZERO, Duration::from_secs(900)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        fill(&path, true, history);
        let store = Store::open(&path, catalog(), StoreOptions::default()).unwrap();
        let before = store.get("other-1").unwrap().unwrap();
        let mut import = store.import(ImportMode::Strict).unwrap();
        let ids = ["other-1", "person-1", "new"];
        let lines = ids.map(line);
        import.push(lines.join("\n").as_bytes()).unwrap();
        erase_person(&store);
        let write = store.snapshot().last_write().unwrap();
        let report = import.commit().unwrap();
        assert_eq!((report.stored, report.replaced), (2, 1));
        let check = |store: &Store| {
            for (id, line) in ids.iter().zip(&lines) {
                assert_eq!(store.get(id).unwrap().as_ref(), Some(line));
            }
            // The documents were compressed with two dictionaries.
            let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000);
            assert_eq!((store.search(&all).unwrap().len(), store.len()), (1502, 1502));
            if !history.is_zero() {
                let early = store.as_of(AsOf::Write(write)).unwrap().search(&all).unwrap();
                assert!(early.len() == 1500 && early.documents().any(|document| document == before));
            }
            store.validate().unwrap();
        };
        check(&store);
        store.close().unwrap();
        Store::verify(&path, &catalog(), &StoreOptions::default()).unwrap();
        check(&Store::open(&path, catalog(), StoreOptions::default()).unwrap());
        assert_eq!(dictionaries(&path).len(), 2);
    }
}

#[test]
fn a_reader_of_the_old_file_does_not_bring_its_dictionaries_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    fill(&path, true, Duration::ZERO);
    let store = Store::open(&path, catalog(), StoreOptions::default()).unwrap();
    let reading = store.file.read().unwrap();
    erase_person(&store);
    assert!(store.file.dictionaries(&reading).is_ok());
    drop(reading);
    store.upsert(line("later").as_bytes(), Durability::Synced).unwrap();
    assert_eq!(store.get("later").unwrap(), Some(line("later")));
    store.close().unwrap();
    Store::verify(&path, &catalog(), &StoreOptions::default()).unwrap();
}
