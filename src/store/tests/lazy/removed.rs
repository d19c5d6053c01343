//! Tests of columns of batches that a checkpoint has removed, or is about to remove.

use super::*;

/// Returns `words` times 8 characters that can hardly be compressed.
pub(super) fn noise(seed: u64, words: usize) -> String {
    let mut dice = Dice::new(seed + 1);
    (0..words).map(|_| format!("{:08x}", dice.below(1 << 32))).collect()
}

/// Creates a store on a simulated disk, with six batches. Each column of strings has several pieces, so that opening the store does
/// not bring the column into the cache.
fn on_disk() -> Vec<u8> {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let documents: Vec<String> = (0..CASES).map(large).collect();
    store.upsert_many(documents.join("\n").as_bytes()).unwrap();
    store.close().unwrap();
    disk.contents()
}

fn large(number: u64) -> String {
    let (state, tag) = (noise(number, 3200), noise(number + CASES, 3200));
    format!(
        "{{\"id\":\"c{number}\",\"state\":\"s{} {state}\",\"amount\":{number},\"tags\":[\"t{} {tag}\"]}}",
        number % 4,
        number % 3
    )
}

fn starts_with(field: &str, text: &str) -> Filter {
    Filter::test(&catalog(), field, Operator::StartsWith, [text]).unwrap()
}

/// Returns the number of sources that keep a transaction.
pub(in super::super) fn keeping(sources: &[std::sync::Weak<BatchSource>]) -> usize {
    sources.iter().filter_map(std::sync::Weak::upgrade).filter(|source| source.is_keeping()).count()
}

pub(in super::super) fn sources(store: &Store) -> Vec<std::sync::Weak<BatchSource>> {
    store.lock_log().stored.values().map(|batch| batch.source.clone()).collect()
}

#[test]
fn searches_go_on_after_a_checkpoint_that_removes_batches_fails() {
    let contents = on_disk();
    let (mut same, mut is_done) = (0, false);
    for step in 0..2000 {
        let disk = Disk::new(contents.clone(), Trouble::None, false);
        let store = open(&disk, 0).unwrap();
        let own = sources(&store);
        assert_eq!(own.len(), 6);
        disk.begin(Trouble::Full(disk.operations() + step));
        // The checkpoint of this write removes two batches.
        let deleted = store.delete_many((0..16).map(|number| format!("c{number}")), Durability::Synced);
        disk.begin(Trouble::None);
        if deleted.is_ok() {
            is_done = true;
            break;
        }
        assert_eq!(keeping(&own), 0, "step {step}");
        let counts =
            || Ok([store.count(&starts_with("state", "s1"))?, store.count(&starts_with("tags", "t1"))?]);
        let found: Result<[u64; 2], StoreError> = counts();
        match found {
            Ok(found) => {
                same += 1;
                assert_eq!(found, [12, 16], "step {step}");
            }
            // The write is on disk nevertheless, or a sync failed.
            Err(_) if store.recover().is_err() => {}
            Err(_) => assert!([[12, 16], [8, 11]].contains(&counts().unwrap()), "step {step}"),
        }
    }
    assert!(is_done && same > 3, "{same}");
}

#[test]
fn a_snapshot_that_lost_its_batches_closes_no_healthy_file() {
    let contents = on_disk();
    let disk = Disk::new(contents, Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let own = sources(&store);
    let snapshot = store.snapshot();
    store.delete_many((0..16).map(|number| format!("c{number}")), Durability::Synced).unwrap();
    assert_eq!(keeping(&own), 2);
    let found =
        snapshot.search(&SearchRequest::new(starts_with("state", "s1")).with_limit(0).with_count(true));
    assert_eq!(found.unwrap().total(), Some(12));
    // One fault of the disk, so that the file is opened again.
    disk.begin(Trouble::Once(disk.operations()));
    let count = || store.count(&starts_with("tags", "t1"));
    assert_eq!(count().unwrap_err().kind(), StoreErrorKind::Io);
    disk.begin(Trouble::None);
    assert_eq!(count().unwrap(), 11);
    let generation = store.file.generation();
    let held = store.snapshot();
    for _ in 0..20 {
        let lost = snapshot.search(&SearchRequest::new(starts_with("tags", "t1")).with_count(true));
        let error = lost.unwrap_err();
        assert!(error.to_string().ends_with("search again"), "{error}");
        assert_eq!(error.kind(), StoreErrorKind::Failed);
    }
    assert_eq!(store.file.generation(), generation);
    assert_eq!(held.search(&SearchRequest::new(starts_with("tags", "t1"))).unwrap().len(), 11);
    store.upsert(large(0).as_bytes(), Durability::Synced).unwrap();
    assert_eq!((count().unwrap(), store.len()), (11, 33));
    store.validate().unwrap();
}

#[test]
fn a_transaction_is_kept_until_all_columns_are_read() {
    let disk = Disk::new(on_disk(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let own = sources(&store);
    let snapshot = store.engine.current_snapshot();
    store.delete_many((0..16).map(|number| format!("c{number}")), Durability::Synced).unwrap();
    for (field, expected) in catalog().field_ids().zip([2, 2, 2, 2, 0]) {
        for slot in store.engine.view_of(&snapshot).slots() {
            assert!(slot.batch.try_read(field).is_ok());
        }
        assert_eq!(keeping(&own), expected);
    }
}
