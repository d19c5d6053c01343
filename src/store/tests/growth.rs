//! File growth, compaction with concurrent readers, and writes after a failed sync.

use std::fs;

use super::*;
use crate::store::commit::{Added, put_documents};
use crate::store::error::Guarded;
use disk::{Disk, Trouble};

fn lines(version: u32) -> String {
    let text = "x".repeat(400);
    (0..4_000).map(|id| format!("{{\"id\":\"c{id}\",\"x\":\"{version} {text}\"}}\n")).collect()
}

fn import(store: &Store, version: u32) {
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(lines(version).as_bytes()).unwrap();
    import.commit().unwrap();
}

#[test]
fn imports_of_the_same_cases_use_the_pages_of_those_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    let size = || fs::metadata(&path).unwrap().len();
    let sizes: Vec<u64> = (0..8)
        .map(|version| {
            import(&store, version);
            size()
        })
        .collect();
    // During the commit of an import, both its cases and the cases that it replaces are in the file. redb doubles the length of a
    // file that is too short.
    assert!(sizes[1..].iter().all(|size| *size <= 2 * sizes[0]), "{sizes:?}");
}

#[test]
fn a_write_that_panics_keeps_no_pages_and_stops_no_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), StoreOptions::default()).unwrap();
    let text = "x".repeat(1 << 20);
    let write = |panics: bool| {
        let write = |records: &mut RecordWriter<'_>| {
            records.put("kind", "key", &text)?;
            assert!(!panics, "as a host may");
            Ok::<_, StoreError>(())
        };
        catch_unwind(AssertUnwindSafe(|| store.write_records(write)))
    };
    write(false).unwrap().unwrap();
    let size = fs::metadata(&path).unwrap().len();
    for number in 0..20 {
        assert!(write(true).is_err());
        // These steps are those of an import whose staging panics.
        let transaction = Guarded::new(store.file.write(true).unwrap());
        let added = [Added { number, place: number, text: &text }];
        put_documents(transaction.get().unwrap(), &added, None).unwrap();
        let staged =
            catch_unwind(AssertUnwindSafe(|| transaction.beside(|| -> u8 { panic!("as a fault may") })));
        assert!(staged.map(drop).is_err());
    }
    store.upsert(b"{\"id\":\"a\"}", Durability::Synced).unwrap();
    write(false).unwrap().unwrap();
    let found = fs::metadata(&path).unwrap().len();
    assert!(found <= 4 * size, "{found} bytes, {size} before");
    store.close().unwrap();
    assert!(Store::verify(&path, &catalog(), &StoreOptions::default()).unwrap().was_clean);
}

/// A synced write makes the grouped writes before it durable, even if the write is reported as failed.
#[test]
fn writes_that_were_synced_are_not_reported_as_lost() {
    let begin = || {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, 0).unwrap();
        store.upsert(b"{\"id\":\"a\"}", Durability::Grouped).unwrap();
        (disk, store)
    };
    let synced = |store: &Store, imports: bool| match imports {
        true => store.upsert_many(b"{\"id\":\"b\"}").map(drop),
        false => store.upsert(b"{\"id\":\"b\"}", Durability::Synced).map(drop),
    };
    for imports in [false, true] {
        let (calm, store) = begin();
        let first = calm.operations();
        synced(&store, imports).unwrap();
        assert!(!store.lock_log().is_unsynced);
        for at in 0..calm.operations() - first {
            let (disk, store) = begin();
            disk.begin(Trouble::Once(disk.operations() + at));
            let _ = synced(&store, imports);
            disk.begin(Trouble::None);
            let recovered = store.recover();
            if !recovered.as_ref().is_err_and(|error| error.to_string().contains("not synced are lost")) {
                continue;
            }
            drop(store);
            let found = all(&open(&disk, 0).unwrap()).unwrap();
            assert!(!found.iter().any(|text| text.contains("\"a\"")), "operation {at}: {found:?}");
        }
    }
}

#[cfg(feature = "service")]
#[test]
fn a_page_of_records_ends_after_its_bytes_but_has_at_least_one_record() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let sizes = [10, 10, 500, 10, 0];
    store
        .write_records(|records| {
            for (key, size) in (0..).zip(sizes) {
                records.put("kind", &format!("k{key}"), &"x".repeat(size))?;
            }
            Ok::<_, StoreError>(())
        })
        .unwrap();
    let records = store.records().unwrap();
    let keys = |after: Option<&str>, most: usize, bytes: usize| {
        let page = records.page_within("kind", after, most, bytes).unwrap();
        page.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys(None, 9, 20), ["k0", "k1"]);
    assert_eq!(keys(None, 1, 20), ["k0"]);
    assert_eq!(keys(Some("k1"), 9, 20), ["k2"], "a record is not divided");
    assert_eq!(keys(Some("k2"), 9, 20), ["k3", "k4"]);
    assert_eq!(keys(None, 9, 0), ["k0"]);
    assert_eq!(keys(Some("k4"), 9, 20), [""; 0]);
}

#[test]
fn compacting_takes_no_reader_its_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let options = StoreOptions::default().limits(Limits { page: u64::MAX, ..Limits::default() });
    let store = Store::create(&path, catalog(), options).unwrap();
    (0..3).for_each(|version| import(&store, version));
    store.write_records(|records| records.put("kind", "key", "before").map(drop)).unwrap();

    let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(u64::MAX);
    let mut reader = store.documents(&all).unwrap();
    let records = store.records().unwrap();
    assert!(reader.next().unwrap().unwrap().contains("\"2 x"));
    let compacted = store.compact_online().unwrap();
    assert!(compacted.bytes_after * 3 < compacted.bytes_before * 2, "{compacted:?}");
    assert_eq!(compacted.bytes_after, fs::metadata(&path).unwrap().len());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    store.validate().unwrap();

    // Readers that started earlier read the contents of the moment at which they started. Later writes do not change these
    // contents.
    import(&store, 3);
    store.write_records(|records| records.put("kind", "key", "after").map(drop)).unwrap();
    for document in reader {
        assert!(document.unwrap().contains("\"2 x"));
    }
    assert_eq!(records.get("kind", "key").unwrap().as_deref(), Some("before"));
    assert!(store.search(&all).unwrap().documents().all(|document| document.contains("\"3 x")));
    assert_eq!(store.records().unwrap().get("kind", "key").unwrap().as_deref(), Some("after"));
    store.compact_online().unwrap();
    store.upsert(b"{\"id\":\"more\"}", Durability::Synced).unwrap();
    store.close().unwrap();
    let verified = Store::verify(&path, &catalog(), &StoreOptions::default()).unwrap();
    assert_eq!((verified.documents, verified.records, verified.was_clean), (4_001, 1, true));
}

#[cfg(unix)]
#[test]
fn a_compacted_file_keeps_its_permissions_and_its_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let link = folder.path().join("link.db");
    Store::create(&path, catalog(), StoreOptions::default()).unwrap().close().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let store = Store::open(&link, catalog(), StoreOptions::default()).unwrap();
    store.upsert(b"{\"id\":\"a\"}", Durability::Grouped).unwrap();
    store.compact_online().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    // The store has locked the new file.
    let other = Store::open(&path, catalog(), StoreOptions::default());
    assert_eq!(other.unwrap_err().kind(), StoreErrorKind::InUse);
    fs::hard_link(&path, folder.path().join("second.db")).unwrap();
    assert!(store.compact_online().unwrap_err().to_string().contains("a hard link"));
    store.upsert(b"{\"id\":\"b\"}", Durability::Synced).unwrap();
    assert_eq!(store.len(), 2);
}

/// Creates a store on a simulated disk, with one synced case.
fn on(disk: &Disk) -> Store {
    let store = open(disk, 0).unwrap();
    store.upsert(b"{\"id\":\"first\"}", Durability::Synced).unwrap();
    store
}

#[test]
fn after_a_sync_that_failed_nothing_is_acknowledged() {
    let calm = Disk::new(Vec::new(), Trouble::None, false);
    let store = on(&calm);
    let start = calm.operations();
    store.upsert(b"{\"id\":\"second\"}", Durability::Synced).unwrap();
    let operations = calm.operations() - start;
    let (mut refused, mut recovered) = (0, 0);
    for at in 0..operations {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = on(&disk);
        disk.begin(Trouble::Once(disk.operations() + at));
        let second = store.upsert(b"{\"id\":\"second\"}", Durability::Synced);
        let third = store.upsert(b"{\"id\":\"third\"}", Durability::Synced);
        match &third {
            Ok(_) => recovered += 1,
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Failed);
                assert!(error.to_string().contains("a sync failed"), "operation {at}: {error}");
                refused += 1;
            }
        }
        // If the machine stops now, the disk has all acknowledged writes.
        let mut dice = Dice::new(at + 1);
        let found = open(&Disk::new(disk.after_crash(&mut dice), Trouble::None, false), 0).unwrap();
        let ids = found.ids(&SearchRequest::new(Filter::all(found.catalog()))).unwrap();
        let has = |id: &str| ids.iter().any(|own| own == id);
        assert!(has("first"), "operation {at}");
        assert!(third.is_err() || has("third"), "operation {at}");
        assert!(second.is_err() || has("second"), "operation {at}");
    }
    assert!(refused > 0 && recovered > 0, "{refused} refused, {recovered} recovered");
}
