//! Erasures and compactions on a machine that fails: the new file replaces the old one, or nothing happens.

use super::erase::{has, readable_in};
use super::folder::Folder;
use super::lazy::removed::{keeping, sources};
use super::*;

/// A text that all cases of the person to erase have.
const SECRET: &str = "Quetzalcoatlus";

/// The conditions of a run of the tests.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// True if cases are erased, false if the file is compacted.
    erases: bool,
    has_history: bool,
    /// True if a write before the exchange is not synced.
    is_grouped: bool,
    /// True if the documents do not fit into the cache, so that the exchange reads the old file.
    is_large: bool,
}

/// The possible contents of the store.
struct States {
    synced: Vec<String>,
    /// The contents before the exchange. They include a write that is not synced, if [`Setting::is_grouped`] is true.
    grouped: Vec<String>,
    exchanged: Vec<String>,
    /// The contents of `grouped` after one more write. `exchanged_later` is the same for `exchanged`.
    grouped_later: Vec<String>,
    exchanged_later: Vec<String>,
}

fn document(id: &str, state: &str, setting: Setting) -> String {
    let filler = "x".repeat(if setting.is_large { 100_000 } else { 10 });
    format!(r#"{{"id":"{id}","state":"{state}","amount":900,"x":"{filler}"}}"#)
}

/// Returns the contents of a disk with cases of the person and of others.
fn filled(setting: Setting) -> Vec<u8> {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let store = Store::load("disk".to_owned(), file, &catalog(), options(0)).unwrap();
    if setting.has_history {
        store.set_history(Duration::from_secs(1 << 20)).unwrap();
    }
    store.insert_standing([standing("f", 1)]).unwrap();
    let both = (0..12).flat_map(|number| [("other", "s1", number), ("person", SECRET, number)]);
    let lines: Vec<String> =
        both.map(|(name, state, number)| document(&format!("{name}-{number}"), state, setting)).collect();
    store.upsert_many(lines.join("\n").as_bytes()).unwrap();
    for (id, state) in [("person-1", SECRET), ("other-2", "s2"), ("person-12", SECRET)] {
        store.upsert(document(id, state, setting).as_bytes(), Durability::Synced).unwrap();
    }
    store.delete("person-3", Durability::Synced).unwrap();
    for key in ["person", "other"] {
        store.write_records(|records| records.put("kind", key, key).map(drop)).unwrap();
    }
    store.close().unwrap();
    disk.contents()
}

fn open_in(folder: &Folder) -> Result<Store, StoreError> {
    let file = folder.open(&catalog()).map_err(|fault| fault.of_file("disk"))?;
    Store::load("disk".to_owned(), file, &catalog(), options(0))
}

/// Opens the store. If [`Setting::is_grouped`] is true, also makes a write that is not synced.
fn begin(contents: &[u8], setting: Setting) -> (Folder, Store) {
    let folder = Folder::new(&Disk::new(contents.to_vec(), Trouble::None, false));
    let store = open_in(&folder).unwrap();
    if setting.is_grouped {
        store.upsert(br#"{"id":"grouped"}"#, Durability::Grouped).unwrap();
    }
    (folder, store)
}

fn exchange(folder: &Folder, store: &Store, setting: Setting) -> Result<(), StoreError> {
    let new_file = || folder.new_file(&store.definition);
    if !setting.erases {
        return store.compact_into(new_file).map(drop);
    }
    let filter = Filter::compile_text(store.catalog(), &format!("state = {SECRET}")).unwrap();
    let erasure = Erasure::new()
        .with_cases(filter)
        .with_ids(["person-3"])
        .with_records(|kind, key, _| (kind, key) == ("kind", "person"));
    let erased = store.erase_into(&erasure, new_file)?;
    assert_eq!((erased.cases, erased.records, erased.history > 0), (12, 1, setting.has_history));
    Ok(())
}

fn write_later(store: &Store) -> Result<UpsertOutcome, StoreError> {
    store.upsert(br#"{"id":"later"}"#, Durability::Synced)
}

/// Returns the contents, and the cases as of each write that the history has.
fn contents(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut found = all(store)?;
    let last = store.snapshot().last_write().unwrap();
    for write in 0..=last {
        let snapshot = match store.as_of(AsOf::Write(write)) {
            Err(gone) if gone.kind() == StoreErrorKind::HistoryGone => continue,
            snapshot => snapshot?,
        };
        found.push(format!("as of {write}, {} cases", snapshot.len()));
        let request = SearchRequest::new(Filter::all(store.catalog())).with_limit(1000);
        for document in snapshot.documents(&request)? {
            found.push(document?.chars().take(50).collect());
        }
    }
    Ok(found)
}

/// Runs without faults. Returns all possible contents, the number of operations before the rename, and the number of all
/// operations.
fn calm(filled: &[u8], setting: Setting) -> (States, [u64; 2]) {
    let synced = contents(&begin(filled, Setting { is_grouped: false, ..setting }).1).unwrap();
    let (_, store) = begin(filled, setting);
    let grouped = contents(&store).unwrap();
    write_later(&store).unwrap();
    let grouped_later = contents(&store).unwrap();
    let (folder, store) = begin(filled, setting);
    let before = folder.disk().operations();
    exchange(&folder, &store, setting).unwrap();
    write_later(&store).unwrap();
    let operations = [folder.renamed_at() - before, folder.disk().operations() - before];
    let (folder, store) = begin(filled, setting);
    exchange(&folder, &store, setting).unwrap();
    let exchanged = contents(&store).unwrap();
    assert_eq!(has(&[exchanged.concat().into_bytes()], SECRET), !setting.erases);
    write_later(&store).unwrap();
    let exchanged_later = contents(&store).unwrap();
    (States { synced, grouped, exchanged, grouped_later, exchanged_later }, operations)
}

/// The number of times that each outcome occurred.
#[derive(Debug, Default)]
struct Outcomes {
    exchanged: u32,
    /// The number of exchanges that failed, after which the store could still be used.
    failed: u32,
    /// The number of exchanges after which writes are refused, because the name of the new file may not survive a crash.
    refused: u32,
    /// The number of crashes after which the old file was in place.
    old: u32,
    /// The number of crashes after which the new file was in place.
    new: u32,
}

/// Checks a store after an exchange, when the disk works again. The process has not crashed: `store` is the store that made the
/// exchange. Returns true if a later write was stored.
fn go_on(
    store: &Store,
    is_done: bool,
    states: &States,
    setting: Setting,
    (dice, outcomes): (&mut Dice, &mut Outcomes),
    at: &str,
) -> bool {
    let reads_first = dice.one_in(2);
    let is_refused = store.file.sync_failed().is_set();
    if is_done {
        outcomes.exchanged += 1;
        assert!(contents(store).unwrap() == states.exchanged, "{at}");
    } else if is_refused {
        outcomes.refused += 1;
        let found = contents(store).unwrap();
        assert!(found == states.grouped || found == states.exchanged, "{at}");
        assert_eq!(write_later(store).unwrap_err().kind(), StoreErrorKind::Failed, "{at}");
        return false;
    } else {
        // No read transaction stays open, which would keep the file from reusing pages.
        assert_eq!(keeping(&sources(store)), 0, "{at}");
        match if reads_first { contents(store) } else { Ok(states.grouped.clone()) } {
            Ok(found) => assert!(found == states.grouped, "{at}"),
            // The file was closed, and the write that was not synced is lost.
            Err(error) => {
                assert!(setting.is_grouped && error.kind() == StoreErrorKind::Failed, "{at}: {error}");
            }
        }
    }
    let (recovered, later) = (store.recover(), write_later(store));
    if let (true, Err(error)) = (setting.is_grouped && !is_done, &later) {
        assert!(recovered.is_err() && error.kind() == StoreErrorKind::Failed, "{at}: {error}");
        return false;
    }
    later.unwrap_or_else(|error| panic!("{at}: {error}"));
    outcomes.failed += u32::from(!is_done);
    let expected = if is_done { &states.exchanged_later } else { &states.grouped_later };
    assert!(contents(store).unwrap() == *expected, "{at}");
    store.validate().unwrap();
    true
}

/// Exchanges the file with a fault at some operation, and lets the machine crash in the end.
fn check(setting: Setting, runs: u64, outcomes: &mut Outcomes) {
    let filled = filled(setting);
    let (states, operations) = calm(&filled, setting);
    for seed in seeds(runs) {
        let mut dice = Dice::new(seed * 1_000 + operations[1]);
        let (folder, store) = begin(&filled, setting);
        let disk = folder.disk();
        // A third of the faults occur where the new file gets the name.
        let [renamed_at, all] = operations;
        let step = if dice.one_in(3) { renamed_at - 2 + dice.below(5) } else { dice.below(all) };
        let step = disk.operations() + step;
        let trouble = match dice.below(8) {
            0 | 1 => Trouble::Once(step),
            2 => Trouble::Full(step),
            3 => Trouble::Unreadable(step),
            4 => Trouble::NoRoom,
            _ => Trouble::Crash(step),
        };
        let at = format!("seed {seed}, {setting:?}, {trouble:?}");
        disk.begin(trouble);
        let is_done = exchange(&folder, &store, setting).is_ok();
        let is_later = if matches!(trouble, Trouble::Crash(_)) {
            write_later(&store).is_ok()
        } else {
            disk.begin(Trouble::None);
            go_on(&store, is_done, &states, setting, (&mut dice, outcomes), &at)
        };
        let possible: &[&Vec<String>] = match (is_done, is_later) {
            (true, true) => &[&states.exchanged_later],
            (true, false) => &[&states.exchanged, &states.exchanged_later],
            (false, true) => &[&states.grouped_later],
            (false, false) => &[&states.synced, &states.grouped, &states.exchanged, &states.grouped_later],
        };
        // The machine crashes before the store is closed.
        let last = disk.operations();
        disk.begin(Trouble::Crash(last));
        drop(store);
        for disk in folder.disks_after_crash() {
            let again = Disk::new(disk.after_crash(&mut dice), Trouble::None, false);
            let store = open_in(&Folder::new(&again)).unwrap_or_else(|error| panic!("{at}: {error}"));
            let found = contents(&store).unwrap();
            assert!(possible.contains(&&found), "{at}: found {found:#?}");
            store.validate().unwrap();
            drop(store);
            let verified = verify(File::in_backend(again.clone(), &catalog()).unwrap(), &catalog());
            verified.unwrap_or_else(|fault| panic!("{at}: {}", fault.detail));
            let is_new = found == states.exchanged || found == states.exchanged_later;
            *(if is_new { &mut outcomes.new } else { &mut outcomes.old }) += 1;
            if is_new && setting.erases {
                assert!(!has(&readable_in([again.contents()], &[]), SECRET), "{at}");
            }
        }
    }
}

#[test]
fn a_store_without_a_reader_of_documents_opens_its_file_again() {
    let setting = Setting { erases: true, has_history: true, is_grouped: false, is_large: false };
    let (_, store) = begin(&filled(setting), setting);
    let expected = contents(&store).unwrap();
    let request = SearchRequest::new(Filter::all(store.catalog())).with_limit(1000);
    // After an exchange, the engine has no reader of documents if the new file cannot be read at once.
    store.engine.detach();
    assert!(contents(&store).unwrap() == expected);
    store.engine.detach();
    let read: Result<Vec<String>, StoreError> = store.snapshot().documents(&request).unwrap().collect();
    assert!(read.unwrap() == expected[..store.len()]);
    write_later(&store).unwrap();
    store.validate().unwrap();
}

fn settings() -> impl Iterator<Item = Setting> {
    let all = (0..16_u32).map(|bits| bits.to_le_bytes()[0]);
    let bit = |bits: u8, place: u8| bits >> place & 1 == 1;
    let all = all.map(move |bits| Setting {
        erases: bit(bits, 0),
        is_grouped: bit(bits, 1),
        has_history: bit(bits, 2),
        is_large: bit(bits, 3),
    });
    // With many large documents, it takes long to compare the cases as of each write.
    all.filter(|setting| !(setting.is_large && setting.has_history))
}

#[test]
fn an_exchange_is_complete_or_has_no_effect_on_any_fault_of_the_disks() {
    for erases in [false, true] {
        let mut outcomes = Outcomes::default();
        for setting in settings().filter(|setting| setting.erases == erases) {
            check(setting, 40, &mut outcomes);
        }
        let Outcomes { exchanged, failed, refused, old, new } = outcomes;
        assert!([exchanged, failed, refused, new].iter().all(|count| *count > 4), "{outcomes:?}");
        // After a compaction, both files have the same cases.
        assert!(old > 4 || !erases, "{outcomes:?}");
    }
}
