//! Imports with concurrent writes, imports on failing disks, and the space that imports take.

use super::*;
use crate::store::StoreImport;
use crate::store::spool::Spool;

fn line(id: impl std::fmt::Display, text: impl std::fmt::Display) -> String {
    format!("{{\"id\":\"{id}\",\"x\":\"{text}\"}}\n")
}

fn upsert(store: &Store, id: &str, text: &str) {
    store.upsert(line(id, text).as_bytes(), Durability::Synced).unwrap();
}

/// Creates a store with small batches, on a simulated disk.
fn new() -> (Disk, Store) {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    (disk, store)
}

fn documents(store: &Store) -> Vec<String> {
    all(store).unwrap()
}

/// Returns the documents for these pairs of id and text.
fn lines(cases: &[(&str, &str)]) -> Vec<String> {
    cases.iter().map(|(id, text)| line(id, text).trim_end().to_owned()).collect()
}

#[test]
fn other_writes_do_not_wait_for_an_open_import() {
    let (disk, store) = new();
    upsert(&store, "a", "before");
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(line("a", "imported").as_bytes()).unwrap();
    // These writes run on the same thread as the import. If they waited for the import, the test would deadlock.
    upsert(&store, "b", "single");
    upsert(&store, "c", "single");
    assert!(store.delete("a", Durability::Grouped).unwrap());
    store.checkpoint().unwrap();
    store.write_records(|records| records.put("kind", "key", "text").map(drop)).unwrap();
    import.push(line("c", "imported").as_bytes()).unwrap();
    let before = documents(&store);
    assert_eq!(before, [lines(&[("b", "single"), ("c", "single")]), vec!["key: text".to_owned()]].concat());
    let report = import.commit().unwrap();
    assert_eq!((report.stored, report.replaced), (1, 1), "what is there at the commit is replaced");
    let expected = [("b", "single"), ("c", "imported"), ("a", "imported")];
    let expected = [lines(&expected), vec!["key: text".to_owned()]].concat();
    assert_eq!(documents(&store), expected);
    store.validate().unwrap();
    drop(store);
    assert_eq!(documents(&open(&disk, 0).unwrap()), expected);
}

#[test]
fn an_import_on_another_thread_holds_up_no_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path().join("cases.db"), catalog(), StoreOptions::default()).unwrap();
    let (begun, is_begun) = std::sync::mpsc::channel();
    let (go_on, goes_on) = std::sync::mpsc::channel();
    let report = std::thread::scope(|scope| {
        let store = &store;
        let import = scope.spawn(move || {
            let mut import = store.import(ImportMode::Strict).unwrap();
            (0..3_000).for_each(|id| import.push(line(id, "imported").as_bytes()).unwrap());
            begun.send(()).unwrap();
            goes_on.recv().unwrap();
            import.commit().unwrap()
        });
        is_begun.recv().unwrap();
        (0..100).for_each(|id| upsert(store, &id.to_string(), "single"));
        assert_eq!(store.len(), 100);
        go_on.send(()).unwrap();
        import.join().unwrap()
    });
    assert_eq!((report.stored, report.replaced), (2_900, 100));
    store.validate().unwrap();
}

#[test]
fn an_import_that_is_leaked_holds_up_no_write() {
    let (_, store) = new();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(line("a", "never committed").as_bytes()).unwrap();
    std::mem::forget(import);
    upsert(&store, "b", "single");
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(line("c", "imported").as_bytes()).unwrap();
    import.commit().unwrap();
    assert_eq!(documents(&store), lines(&[("b", "single"), ("c", "imported")]));
}

#[test]
fn of_two_open_imports_the_one_that_is_committed_later_wins() {
    let (disk, store) = new();
    let mut first = store.import(ImportMode::Strict).unwrap();
    let mut second = store.import(ImportMode::Strict).unwrap();
    first.push(line("a", "of the first").as_bytes()).unwrap();
    second.push(line("a", "of the second").as_bytes()).unwrap();
    second.push(line("b", "of the second").as_bytes()).unwrap();
    assert_eq!(second.commit().unwrap().stored, 2);
    let report = first.commit().unwrap();
    assert_eq!((report.stored, report.replaced), (0, 1));
    drop(store);
    let expected = lines(&[("a", "of the first"), ("b", "of the second")]);
    assert_eq!(documents(&open(&disk, 0).unwrap()), expected);
}

/// Runs imports of every size together with single writes. Compares the store with a list that is changed in the order of the
/// commits, and verifies the file.
#[test]
fn imports_replace_what_is_there_when_they_are_committed() {
    for seed in seeds(12) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, seed).unwrap();
        let mut plain = Plain::default();
        let mut imports: Vec<(StoreImport<'_>, Vec<(String, String)>)> = Vec::new();
        for step in 0..80 {
            let range = 30 + step * 4;
            let mut case = |text: &str| {
                let id = format!("c{}", dice.below(range));
                (id.clone(), line(id, text).trim_end().to_owned())
            };
            let text = step.to_string();
            match step % 7 {
                0 => imports.push((store.import(ImportMode::Strict).unwrap(), Vec::new())),
                1..4 => {
                    let count = [1, 9, 70, 400][(step % 4) as usize];
                    let cases: Vec<(String, String)> = (0..count).map(|_| case(&text)).collect();
                    let at = dice.below(imports.len() as u64) as usize;
                    let Some((import, own)) = imports.get_mut(at) else { continue };
                    cases.iter().for_each(|(_, line)| import.push(format!("{line}\n").as_bytes()).unwrap());
                    own.extend(cases);
                }
                4 => {
                    let (id, line) = case(&text);
                    plain.upsert(&id, &line);
                    store.upsert(line.as_bytes(), Durability::Grouped).unwrap();
                }
                5 => {
                    let (id, _) = case(&text);
                    plain.delete(&id);
                    store.delete(&id, Durability::Grouped).unwrap();
                }
                _ if !imports.is_empty() => {
                    let (import, own) = imports.swap_remove(dice.below(imports.len() as u64) as usize);
                    let (before, cases) = (plain.0.len(), own.len() as u64);
                    own.iter().for_each(|(id, line)| plain.upsert(id, line));
                    let report = import.commit().unwrap();
                    let stored = (plain.0.len() - before) as u64;
                    assert_eq!((report.stored, report.replaced), (stored, cases - stored), "seed {seed}");
                }
                _ => {}
            }
            assert_eq!(documents(&store), plain.documents(), "seed {seed}, step {step}");
        }
        store.validate().unwrap();
        drop(imports);
        drop(store);
        let verified = verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();
        assert_eq!((verified.documents, verified.was_clean), (plain.0.len() as u64, true), "seed {seed}");
    }
}

/// After a crash, the disk has one of three states: neither the import nor the concurrent write, only the write, or both.
#[test]
fn a_crash_at_any_operation_of_the_commit_leaves_all_of_an_import_or_nothing() {
    let begin = |trouble| {
        let (disk, store) = new();
        (0..30).for_each(|id| upsert(&store, &format!("c{id}"), "before"));
        disk.begin(trouble);
        (disk, store)
    };
    let run = |store: &Store| {
        let mut import = store.import(ImportMode::Strict)?;
        (20..60).try_for_each(|id| import.push(line(format!("c{id}"), "imported").as_bytes()))?;
        store.upsert(line("beside", "single").as_bytes(), Durability::Synced)?;
        import.commit()
    };
    let (calm, store) = begin(Trouble::None);
    let first = calm.operations();
    run(&store).unwrap();
    let operations = calm.operations() - first;
    let mut seen = [0; 3];
    // In the last iteration, the crash comes after all operations.
    for at in 0..=operations {
        let (disk, store) = begin(Trouble::None);
        disk.begin(Trouble::Crash(disk.operations() + at));
        let outcome = run(&store);
        std::mem::forget(store);
        let found = Disk::new(disk.after_crash(&mut Dice::new(at + 1)), Trouble::None, false);
        let store = open(&found, 0).unwrap();
        store.validate().unwrap();
        let imported = documents(&store).iter().filter(|text| text.contains("imported")).count();
        match (store.len(), imported) {
            (30, 0) => seen[0] += 1,
            (31, 0) => seen[1] += 1,
            (61, 40) => seen[2] += 1,
            found => panic!("operation {at}: {found:?}"),
        }
        assert!(outcome.is_err() || imported == 40, "operation {at}: what was acknowledged is lost");
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// A write was reported as failed but is on disk. So the cases are loaded again while an import is open.
#[test]
fn an_import_that_is_open_while_the_cases_are_loaded_anew_replaces_the_right_ones() {
    let begin = || {
        let (disk, store) = new();
        (0..50).for_each(|id| upsert(&store, &format!("c{id}"), "before"));
        (disk, store)
    };
    let (calm, store) = begin();
    let first = calm.operations();
    upsert(&store, "c7", "single");
    let operations = calm.operations() - first;
    let mut anew = 0;
    for at in 0..operations {
        let (disk, store) = begin();
        let mut import = store.import(ImportMode::Strict).unwrap();
        (30..90).for_each(|id| import.push(line(format!("c{id}"), "imported").as_bytes()).unwrap());
        disk.begin(Trouble::Once(disk.operations() + at));
        let single = store.upsert(line("c7", "single").as_bytes(), Durability::Synced);
        disk.begin(Trouble::None);
        let Ok(report) = import.commit() else { continue };
        assert_eq!((report.stored, report.replaced), (40, 20), "operation {at}");
        let is_there = documents(&store)[7].contains("single");
        assert!(is_there || single.is_err(), "operation {at}");
        anew += u32::from(is_there && single.is_err());
        assert_eq!(store.len(), 90, "operation {at}");
        store.validate().unwrap_or_else(|fault| panic!("operation {at}: {fault}"));
    }
    assert!(anew > 0, "no write failed and was on disk all the same");
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_that_finds_no_room_to_put_its_cases_aside_loses_nothing() {
    let (_, store) = new();
    upsert(&store, "a", "before");
    let full = || Spool::over(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let mut import = store.import_over(ImportMode::Strict, full());
    let large = "x".repeat(1 << 20);
    let error = import.push(line("b", &large).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TemporaryFile);
    assert!(error.to_string().contains("cannot be written to a temporary file: No space left"), "{error}");
    assert_eq!(import.commit().unwrap_err().kind(), StoreErrorKind::TemporaryFile);
    // If documents are added through `import_mut`, `check` and the commit return the errors.
    let mut import = store.import_over(ImportMode::Strict, full());
    import.import_mut().push(line("b", &large).as_bytes()).unwrap();
    assert_eq!(import.check().unwrap_err().kind(), StoreErrorKind::TemporaryFile);
    upsert(&store, "c", "single");
    assert_eq!(import.commit().unwrap_err().kind(), StoreErrorKind::TemporaryFile);
    assert_eq!(documents(&store), lines(&[("a", "before"), ("c", "single")]));
    upsert(&store, "d", "later");
}

/// The spool cannot be read at the commit, or has other bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_spool_that_cannot_be_read_at_the_commit_is_no_fault_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let (_, store) = new();
    upsert(&store, "a", "before");
    let large = "x".repeat(1 << 20);
    for is_writable_alone in [false, true] {
        std::fs::write(&path, "").unwrap();
        let mut options = std::fs::File::options();
        let file = options.read(!is_writable_alone).write(true).open(&path).unwrap();
        let mut import = store.import_over(ImportMode::Strict, Spool::over(file));
        import.push(line("b", &large).as_bytes()).unwrap();
        std::fs::write(&path, "not what was put aside").unwrap();
        let error = import.commit().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::TemporaryFile, "{error}");
        assert!(!store.lock_log().failed, "the database accepts writes");
        upsert(&store, "c", "after");
        assert_eq!(documents(&store), lines(&[("a", "before"), ("c", "after")]));
    }
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(line("b", "imported").as_bytes()).unwrap();
    import.commit().unwrap();
    store.validate().unwrap();
}

/// Returns the number of unnamed files in a folder that this process has open.
#[cfg(target_os = "linux")]
fn unnamed(folder: &std::path::Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    targets.filter(|path| path.starts_with(folder) && path.to_string_lossy().ends_with(" (deleted)")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn the_temporary_file_of_an_import_has_no_name_and_is_freed() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let text = line("a", "x".repeat(3_000));
    for is_new in [false, true] {
        let store = match is_new {
            false => Store::create(&path, catalog(), StoreOptions::default()).unwrap(),
            true => Store::prepare(folder.path().join("new.db"), catalog(), StoreOptions::default()).unwrap(),
        };
        let before = unnamed(folder.path());
        for is_committed in [false, true] {
            let mut import = store.import(ImportMode::Strict).unwrap();
            (0..2_000).for_each(|_| import.push(text.as_bytes()).unwrap());
            // A store without a name has a file that claims the name.
            let names_then = 1 + usize::from(is_new);
            assert_eq!((names(), unnamed(folder.path())), (names_then, before + 1));
            for file in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
                let is_own =
                    std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(folder.path()));
                assert!(!is_own || std::fs::metadata(file.path()).unwrap().mode() & 0o777 == 0o600);
            }
            if is_committed {
                import.commit().unwrap();
            } else {
                drop(import);
            }
            assert_eq!((names(), unnamed(folder.path())), (names_then, before));
        }
        store.validate().unwrap();
        assert_eq!(store.len(), 1);
    }
}
