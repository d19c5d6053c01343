//! Files with compressed documents: their size, all ways to read them, and damage.

use redb::{ReadableTable, ReadableTableMetadata};

use super::*;
use crate::store::backup::copy_into;
use crate::store::tables::{DICTIONARIES, DOCUMENTS};

/// The number of documents of an import that trains a dictionary.
const MANY: u64 = 1_100;

fn case(number: u64) -> String {
    let state = ["open", "closed", "waiting"][number as usize % 3];
    let text = "the text that all cases share, which is so long that its compression pays for each of them";
    format!(
        "{{\"id\":\"c{number}\",\"state\":\"{state}\",\"amount\":{number},\"x\":\"{text} {}\"}}",
        number * 7_919
    )
}

fn lines(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|number| case(number) + "\n").collect()
}

fn cases(count: u64) -> Vec<String> {
    (0..count).map(case).collect()
}

fn import(store: &Store, numbers: std::ops::Range<u64>) {
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(lines(numbers).as_bytes()).unwrap();
    import.commit().unwrap();
}

/// Returns the total size of the stored documents, and the number of dictionaries.
fn sizes(store: &Store) -> (usize, u64) {
    let read = store.file.read().unwrap();
    let documents = read.open_table(DOCUMENTS).unwrap();
    let bytes = documents.iter().unwrap().map(|entry| entry.unwrap().1.value().len()).sum();
    (bytes, read.open_table(DICTIONARIES).map_or(0, |table| table.len().unwrap()))
}

#[test]
fn an_import_trains_a_dictionary_and_every_path_reads_its_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    assert_eq!(sizes(&store), (0, 0));
    import(&store, 0..MANY);
    let plain = lines(0..MANY).len();
    let (bytes, dictionaries) = sizes(&store);
    assert!(
        bytes * 3 < plain * 2 && dictionaries == 1,
        "{bytes} bytes of {plain}, {dictionaries} dictionaries"
    );
    store.upsert(case(MANY).as_bytes(), Durability::Grouped).unwrap();
    assert!((sizes(&store).0 - bytes) * 3 < case(MANY).len() * 2, "a single write compresses its document");
    import(&store, MANY + 1..MANY + 3);
    assert_eq!(sizes(&store).1, 1, "there is a dictionary already");
    assert!(store.memory().documents_bytes > 0);

    let expected = cases(MANY + 3);
    let check = |store: &Store| {
        assert_eq!(all(store).unwrap(), expected);
        assert_eq!(store.get("c7").unwrap().as_deref(), Some(&*expected[7]));
        store.validate().unwrap();
    };
    check(&store);
    let copy = folder.path().join("copy.db");
    store.backup(&copy).unwrap();
    check(&Store::open_read_only(&copy, catalog(), StoreOptions::default()).unwrap());
    let before = store.snapshot();
    store.compact_online().unwrap();
    check(&store);
    drop(before);
    store.close().unwrap();
    for path in [&path, &copy] {
        let verified = Store::verify(path, &catalog(), &StoreOptions::default()).unwrap();
        assert_eq!(verified.documents, MANY + 3);
        check(&Store::open(path, catalog(), StoreOptions::default()).unwrap());
    }
}

#[test]
fn a_store_that_is_closed_trains_a_dictionary_for_later_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let open = || Store::open_or_create(&path, catalog(), StoreOptions::default()).unwrap();
    let store = open();
    let texts = cases(MANY);
    store.upsert_each(texts.iter().map(String::as_bytes), Durability::Grouped).unwrap();
    assert_eq!(sizes(&store).1, 0);
    store.close().unwrap();
    let store = open();
    let (bytes, dictionaries) = sizes(&store);
    assert_eq!(dictionaries, 1);
    store.upsert(case(MANY).as_bytes(), Durability::Synced).unwrap();
    assert!((sizes(&store).0 - bytes) * 3 < case(MANY).len() * 2);
    assert_eq!(all(&store).unwrap(), cases(MANY + 1));
    store.compact_online().unwrap();
    assert!(sizes(&store).0 * 3 < bytes * 2, "compaction compresses the earlier documents");
    for _ in 0..3 {
        assert_eq!(all(&store).unwrap(), cases(MANY + 1));
    }
    store.upsert(case(7).replace("share", "have").as_bytes(), Durability::Synced).unwrap();
    assert_eq!(store.get("c7").unwrap(), Some(case(7).replace("share", "have")));
}

#[test]
fn a_new_file_and_a_backup_have_no_free_space_at_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let [prepared, created, backup] = ["prepared", "created", "backup"].map(|name| folder.path().join(name));
    let store = Store::prepare(&prepared, catalog(), StoreOptions::default()).unwrap();
    import(&store, 0..20 * MANY);
    store.close().unwrap();
    let mut store = Store::create(&created, catalog(), StoreOptions::default()).unwrap();
    import(&store, 0..20 * MANY);
    store.backup(&backup).unwrap();
    store.compact().unwrap();
    store.close().unwrap();
    let length = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    for copy in [&prepared, &backup] {
        assert!(length(copy) * 10 < length(&created) * 12, "{}: {}", copy.display(), length(copy));
        let verified = Store::verify(copy, &catalog(), &StoreOptions::default()).unwrap();
        assert_eq!((verified.documents, verified.was_clean), (20 * MANY, true));
    }
}

#[test]
fn parts_are_compressed_and_damage_of_them_is_found() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 1).unwrap();
    import(&store, 0..MANY);
    let read = store.file.read().unwrap();
    let pieces = read.open_table(crate::store::tables::BATCHES).unwrap();
    let packed = pieces.iter().unwrap().filter(|entry| entry.as_ref().unwrap().1.value()[0] == 0x80).count();
    assert!(packed > 0 && packed < pieces.len().unwrap() as usize);
    drop((pieces, read));
    store.close().unwrap();
    let expected = cases(MANY);
    assert_eq!(all(&open(&disk, 1).unwrap()).unwrap(), expected);
}

#[test]
fn imports_that_train_dictionaries_at_the_same_time_keep_both() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let mut first = store.import(ImportMode::Strict).unwrap();
    let mut second = store.import(ImportMode::Strict).unwrap();
    first.push(lines(0..MANY).as_bytes()).unwrap();
    second.push(lines(MANY..2 * MANY).replace("share", "have").as_bytes()).unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    assert_eq!(sizes(&store).1, 2);
    drop(store);
    let store = open(&disk, 0).unwrap();
    assert_eq!(all(&store).unwrap().len() as u64, 2 * MANY);
    assert_eq!(store.get("c7").unwrap(), Some(case(7)));
    assert_eq!(store.get(&format!("c{MANY}")).unwrap(), Some(case(MANY).replace("share", "have")));
}

#[test]
fn files_of_earlier_versions_get_no_compressed_documents() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["v1", "v2"] {
        let path = folder.path().join(version);
        let kept = format!("{}/tests/data/store/{version}.redb", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(kept, &path).unwrap();
        let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        import(&store, 0..MANY);
        let (bytes, dictionaries) = sizes(&store);
        assert!(bytes > lines(0..MANY).len() && dictionaries == 0);
        store.close().unwrap();
        let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        store.compact_online().unwrap();
        assert_eq!(store.get("c7").unwrap(), Some(case(7)));
        assert_eq!(sizes(&store), (bytes, 0));
    }
}

/// Returns the bytes of the file of a store with compressed documents.
fn packed() -> Vec<u8> {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 1).unwrap();
    import(&store, 0..MANY);
    store.close().unwrap();
    let file = File::in_backend(Disk::new(disk.contents(), Trouble::None, false), &catalog()).unwrap();
    let copy = Disk::new(Vec::new(), Trouble::None, false);
    let mut to = File::in_backend(copy.clone(), &catalog()).unwrap();
    copy_into(&file, &to, None, &|| true).unwrap();
    to.close().unwrap();
    copy.contents()
}

#[test]
fn damage_of_any_byte_gives_the_right_documents_or_an_error() {
    let contents = packed();
    let expected = cases(MANY);
    let taken: Vec<usize> = (0..contents.len()).filter(|at| contents[*at] != 0).collect();
    let mut dice = Dice::new(7);
    let mut outcomes = [0_u32; 2];
    for round in 0..120 {
        let mut damaged = contents.clone();
        damaged[taken[dice.below(taken.len() as u64) as usize]] ^= 1 << dice.below(8);
        let disk = Disk::new(damaged, Trouble::None, false);
        let read = catch_unwind(AssertUnwindSafe(|| all(&open(&disk, 1)?)));
        match read.unwrap_or_else(|_| panic!("round {round}: a panic")) {
            Ok(documents) => assert!(documents == expected, "round {round}: a wrong answer"),
            Err(_) => outcomes[0] += 1,
        }
        outcomes[1] += 1;
    }
    assert!(outcomes[0] > 0 && outcomes[0] < outcomes[1], "{outcomes:?}");
}

#[test]
fn a_file_without_its_dictionary_is_corrupt() {
    let disk = Disk::new(packed(), Trouble::None, false);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let write = file.write(true).unwrap();
    write.open_table(DICTIONARIES).unwrap().remove(1).unwrap();
    write.commit().unwrap();
    drop(file);
    let store = open(&disk, 1).unwrap();
    let error = store.get("c7").unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("no dictionary 1 of document 7"), "{error}");
}
