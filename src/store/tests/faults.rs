//! Runs random operations on disks that fail and on damaged files, and compares what is left with what could be on disk.

use super::*;

/// Runs operations until an operation fails. Returns the possible states of the disk: from the last synced state to the state after
/// the failed operation. The reader reads the events after each operation.
fn run(
    disk: &Disk,
    seed: u64,
    dice: &mut Dice,
    plain: &mut Plain,
    operations: u64,
    reader: &mut EventReader,
) -> Vec<Plain> {
    let mut possible = vec![plain.clone()];
    let Ok(store) = open(disk, seed) else { return possible };
    disk.watch(&store.bell);
    reader.look(&store);
    let mut shown = store.last_event();
    for _ in 0..operations {
        let mut next = plain.clone();
        let result = operate(&store, &mut next, dice);
        // Events that were shown do not disappear.
        shown = shown.max(store.last_event());
        reader.look(&store);
        match result {
            Ok(true) => possible.clear(),
            Ok(false) => {}
            Err(_) => {
                // Readers see all acknowledged writes. A write of records can return an error after it has reached the disk. Then
                // readers may also see its records. When the file is reopened, grouped writes are lost with their documents.
                let with_records = Plain(plain.0.clone(), next.1.clone(), plain.2.clone());
                if let Ok(seen) = all(&store) {
                    assert!(
                        [&*plain, &with_records].iter().any(|plain| plain.documents() == seen),
                        "{seen:#?}"
                    );
                }
                possible.push(next);
                possible.retain(|plain| plain.2.events.len() as u64 >= shown);
                go_on(&store, &mut possible, reader);
                return possible;
            }
        }
        *plain = next;
        possible.push(plain.clone());
    }
    possible.retain(|plain| plain.2.events.len() as u64 >= shown);
    possible
}

/// Writes two more cases after a failed write. All acknowledged writes, before and after the failed write, must be on disk.
fn go_on(store: &Store, possible: &mut Vec<Plain>, reader: &mut EventReader) {
    for id in ["late", "later"] {
        let case = format!("{{\"id\":\"{id}\"}}");
        let with = |plain: &Plain| {
            let mut plain = plain.clone();
            plain.upsert(id, &case);
            plain
        };
        let written = store.upsert(case.as_bytes(), Durability::Synced);
        reader.look(store);
        match written {
            Ok(_) => {
                reader.compare(store, "in the same process");
                *possible = possible.iter().map(with).collect();
                let seen = all(store).unwrap();
                possible.retain(|plain| plain.documents() == seen);
                assert!(!possible.is_empty(), "not what could be on disk: {seen:#?}");
                store.validate().unwrap();
            }
            Err(error) => {
                assert!([StoreErrorKind::Failed, StoreErrorKind::Io].contains(&error.kind()), "{error}");
                let more: Vec<Plain> = possible.iter().map(with).collect();
                possible.extend(more);
            }
        }
    }
}

#[test]
fn a_store_equals_a_list_under_every_fault() {
    for seed in seeds(30) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let mut plain = Plain::of(seed);
        let mut store = open(&disk, seed).unwrap();
        for step in 0..60 {
            let at = format!("seed {seed}, step {step}");
            match dice.below(12) {
                0 => {
                    drop(store);
                    store = open(&disk, seed).unwrap();
                }
                1 => assert!(store.compact().is_ok(), "{at}"),
                _ => assert!(operate(&store, &mut plain, &mut dice).is_ok(), "{at}"),
            }
            assert_eq!(all(&store).unwrap(), plain.documents(), "{at}");
            store.validate().unwrap_or_else(|fault| panic!("{at}: {fault}"));
        }
        drop(store);
        let file = File::in_backend(disk.clone(), &catalog()).unwrap();
        let verified = verify(file, &catalog()).unwrap();
        assert_eq!((verified.documents, verified.was_clean), (plain.0.len() as u64, true), "seed {seed}");
        assert_eq!(verified.records, plain.1.len() as u64, "seed {seed}");
        assert_eq!(verified.standing_filters, plain.2.filters.len() as u64, "seed {seed}");
        assert_eq!(verified.events, (plain.2.events.len() - plain.2.forgotten) as u64, "seed {seed}");
    }
}

/// Creates a disk on which a store was used for some time. Returns the contents of the disk and the expected cases.
fn used(seed: u64, dice: &mut Dice) -> (Vec<u8>, Plain) {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let mut plain = Plain::of(seed);
    run(&disk, seed, dice, &mut plain, 20, &mut EventReader::default());
    (disk.contents(), plain)
}

#[test]
fn after_a_crash_every_acknowledged_write_is_there_and_none_is_there_in_half() {
    let (mut compared, mut shown) = (0, 0);
    for seed in seeds(400) {
        let mut dice = Dice::new(seed);
        let (contents, plain) = used(seed, &mut dice);
        // First, the test runs without faults, to count the operations.
        let calm = Disk::new(contents.clone(), Trouble::None, false);
        let script = dice.clone();
        run(&calm, seed, &mut script.clone(), &mut plain.clone(), 15, &mut EventReader::default());
        for _ in 0..5 {
            let at = dice.below(calm.operations());
            let trouble = match dice.below(8) {
                0 => Trouble::Once(at),
                1 => Trouble::Full(at),
                2 => Trouble::Unreadable(at),
                _ => Trouble::Crash(at),
            };
            let disk = Disk::new(contents.clone(), trouble, false);
            let mut reader = EventReader::default();
            let possible = run(&disk, seed, &mut script.clone(), &mut plain.clone(), 15, &mut reader);
            let found = disk.after_crash(&mut dice);
            let context = format!("seed {seed}, {trouble:?}");
            let again = Disk::new(found, Trouble::None, false);
            let store = open(&again, seed).unwrap_or_else(|error| panic!("{context}: {error}"));
            store.validate().unwrap_or_else(|fault| panic!("{context}: {fault}"));
            let (documents, cases) = (all(&store).unwrap(), store.len());
            assert!(
                possible.iter().any(|plain| plain.documents() == documents),
                "{context}: found {documents:#?}, possible {possible:#?}"
            );
            // The crash has undone no event that a reader could see during a write.
            assert!(disk.shown() <= store.last_event(), "{context}: shown up to {}", disk.shown());
            reader.compare(&store, &context);
            store.upsert(b"{\"id\":\"after\"}", Durability::Synced).unwrap();
            reader.look(&store);
            drop(store);
            let store = open(&again, seed).unwrap();
            assert_eq!(store.len(), cases + 1, "{context}");
            reader.compare(&store, &context);
            compared += reader.compared;
            shown = shown.max(disk.shown());
        }
    }
    assert!(compared > 1_000 && shown > 0, "{compared}, {shown}");
}

#[test]
fn after_a_read_that_failed_writes_go_on_and_lost_writes_are_not_shown() {
    for grouped in [false, true] {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, 0).unwrap();
        let text = "x".repeat(100_000);
        for id in 0..40 {
            let case = format!("{{\"id\":\"c{id}\",\"x\":\"{text}\"}}");
            store.upsert(case.as_bytes(), Durability::Synced).unwrap();
        }
        if grouped {
            store.upsert(b"{\"id\":\"c7\"}", Durability::Grouped).unwrap();
        }
        // The cache of 1 MiB contains only a part of the file, so this read needs the disk.
        disk.begin(Trouble::Once(disk.operations()));
        assert_eq!(all(&store).unwrap_err().kind(), StoreErrorKind::Io);
        disk.begin(Trouble::None);
        match grouped {
            // Grouped writes are lost when the file is closed. The cases that they replaced do not reappear.
            true => assert_eq!(all(&store).unwrap_err().kind(), StoreErrorKind::Failed),
            false => assert_eq!(all(&store).unwrap().len(), 40),
        }
        let written = store.upsert(b"{\"id\":\"late\"}", Durability::Synced);
        match grouped {
            true => assert_eq!(written.unwrap_err().kind(), StoreErrorKind::Failed),
            false => assert_eq!(written.unwrap(), UpsertOutcome::Stored),
        }
        drop(store);
        let store = open(&disk, 0).unwrap();
        assert_eq!(all(&store).unwrap().len(), if grouped { 40 } else { 41 });
        store.validate().unwrap();
    }
}

#[test]
fn after_a_write_that_found_no_room_all_is_read_and_written_when_there_is_room() {
    for seed in seeds(10) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, seed).unwrap();
        let mut plain = Plain::of(seed);
        for _ in 0..12 {
            operate(&store, &mut plain, &mut dice).unwrap();
        }
        // These documents do not fit into the cache of 1 MiB.
        for id in 0..20 {
            let (id, text) = (format!("large{id}"), "x".repeat(100_000));
            let case = format!("{{\"id\":\"{id}\",\"x\":\"{text}\"}}");
            store.upsert(case.as_bytes(), Durability::Grouped).unwrap();
            plain.upsert(&id, &case);
        }
        store.sync().unwrap();
        // For odd seeds, uses a store that was not closed, whose last documents are parsed again.
        let (disk, store) = match seed.is_multiple_of(2) {
            true => (disk, store),
            false => {
                let disk = Disk::new(disk.contents(), Trouble::None, false);
                (disk.clone(), open(&disk, seed).unwrap())
            }
        };
        let records = store.records().unwrap();
        disk.begin(Trouble::NoRoom);
        let large = format!("{{\"id\":\"large\",\"tags\":[\"{}\"]}}", "x".repeat(1 << 20));
        let error = store.upsert(large.as_bytes(), Durability::Synced).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Io, "{error}");
        for _ in 0..2 {
            assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
            assert_eq!(records.with_prefix("kind", "").unwrap().len(), plain.1.len(), "seed {seed}");
            let ids = SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000);
            let documents: Vec<String> = store.documents(&ids).unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(documents.len(), plain.0.len(), "seed {seed}");
            let refused = store.upsert(large.as_bytes(), Durability::Synced).unwrap_err();
            assert!([StoreErrorKind::Failed, StoreErrorKind::Io].contains(&refused.kind()), "{refused}");
        }
        disk.begin(Trouble::None);
        // The same store continues. Between two recovery attempts, it returns an error.
        while let Err(refused) = store.recover() {
            assert!(refused.to_string().contains("in a moment"), "{refused}");
        }
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
        assert_eq!(records.with_prefix("kind", "").unwrap().len(), plain.1.len(), "seed {seed}");
        for (id, case) in [("late", "{\"id\":\"late\"}"), ("large", &large)] {
            store.upsert(case.as_bytes(), Durability::Synced).unwrap();
            plain.upsert(id, case);
        }
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
        store.validate().unwrap();
        drop(records);
        drop(store);
        let store = open(&disk, seed).unwrap();
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
    }
}

#[test]
fn a_disk_that_lies_about_syncs_loses_writes_but_shows_no_mixture() {
    for seed in seeds(150) {
        let mut dice = Dice::new(seed);
        let (contents, plain) = used(seed, &mut dice);
        let script = dice.clone();
        let at = 20 + dice.below(400);
        let disk = Disk::new(contents, Trouble::Crash(at), true);
        let mut states = vec![plain.clone()];
        let mut now = plain;
        if let Ok(store) = open(&disk, seed) {
            let mut script = script;
            for _ in 0..20 {
                let mut next = now.clone();
                let result = operate(&store, &mut next, &mut script);
                states.push(next.clone());
                if result.is_err() {
                    break;
                }
                now = next;
            }
        }
        let again = Disk::new(disk.after_crash(&mut dice), Trouble::None, false);
        let found = open(&again, seed).and_then(|store| all(&store));
        match found {
            Ok(documents) => {
                assert!(
                    states.iter().any(|plain| plain.documents() == documents),
                    "seed {seed}: {documents:#?}"
                );
            }
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "seed {seed}: {error}"),
        }
    }
}

#[test]
fn a_damaged_file_gives_the_right_answer_or_an_error() {
    let mut outcomes = [0_u32; 3];
    for seed in seeds(1500) {
        let mut dice = Dice::new(seed / 25);
        let (mut contents, plain) = used(seed / 25, &mut dice);
        let mut dice = Dice::new(seed + 1_000_000);
        match dice.below(8) {
            0 => contents.truncate(dice.below(contents.len() as u64) as usize),
            1 => {
                let at = dice.below(contents.len() as u64 / 512) as usize * 512;
                contents[at..at + 512].fill(dice.below(2) as u8 * 255);
            }
            2 => contents[dice.below(320) as usize] ^= 1 << dice.below(8),
            // A large part of a small file is free space. So the damage is placed in bytes that are not zero.
            _ => {
                let taken: Vec<usize> = (0..contents.len()).filter(|at| contents[*at] != 0).collect();
                contents[taken[dice.below(taken.len() as u64) as usize]] ^= 1 << dice.below(8);
            }
        }
        let copy = Disk::new(contents.clone(), Trouble::None, false);
        let verified = catch_unwind(AssertUnwindSafe(|| {
            let file = File::in_backend(copy, &catalog())?;
            verify(file, &catalog())
        }));
        match verified.unwrap_or_else(|_| panic!("seed {seed}: a panic of verify")) {
            Ok(verified) => assert_eq!(verified.documents, plain.0.len() as u64, "seed {seed}"),
            Err(fault) => assert!(!fault.detail.is_empty()),
        }
        let disk = Disk::new(contents, Trouble::None, false);
        let used = catch_unwind(AssertUnwindSafe(|| {
            let store = open(&disk, seed / 25)?;
            let documents = all(&store)?;
            store.upsert(b"{\"id\":\"after\"}", Durability::Synced)?;
            Ok::<_, StoreError>(documents)
        }));
        match used.unwrap_or_else(|_| panic!("seed {seed}: a panic")) {
            Ok(documents) => {
                assert!(documents == plain.documents(), "seed {seed}: a wrong answer");
                outcomes[0] += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("disk: "), "seed {seed}: {error}");
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
}
