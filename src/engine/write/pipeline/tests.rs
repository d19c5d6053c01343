//! Tests imports of many cases, on several threads and on one thread.

use std::sync::Arc;
use std::time::Duration;

use super::documents::Documents;
use super::group::Settings;
use crate::catalog::Catalog;
#[cfg(feature = "arrow")]
use crate::engine::ImportError;
use crate::engine::write::threads::{Detached, Queue};
use crate::engine::{Engine, ImportMode, UpsertOutcome};
use crate::filter::{Filter, SearchRequest};
use crate::ingest::Piece;

/// Returns `count` cases, one on each line. Every ninth case replaces an earlier case. Some cases have whitespace around them.
fn lines(count: u32) -> String {
    let line = |n: u32| {
        let id = if n % 9 == 8 { n / 2 } else { n };
        let space = " ".repeat(n as usize % 3);
        format!("{space}{{\"id\":\"{id}\",\"name\":\"n° {n}\",\"tags\":[\"é\",\"{}\"]}}{space}\n", n % 7)
    };
    (0..count).map(line).collect()
}

fn documents(engine: &Engine) -> Vec<String> {
    let answer =
        engine.search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000)).unwrap();
    answer.documents().map(str::to_owned).collect()
}

#[test]
fn errors_have_the_numbers_of_their_documents_on_any_number_of_threads() {
    let document =
        |n: u32| if n % 700 == 3 { "{\"id\":7}".to_owned() } else { format!("{{\"id\":\"{n}\"}}") };
    let texts: Vec<String> = (0..4000).map(document).collect();
    let (lines, array) = (texts.join("\n\n"), format!("[{}]", texts.join(",")));
    let expected: Vec<(&str, u64)> = ["lines", "array", "again"]
        .into_iter()
        .flat_map(|name| (0..6).map(move |at| (name, at * 700 + 4)))
        .collect();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for rows in [300, 65_536] {
                let engine = Engine::builder(Catalog::cases()).batch_rows(rows).build();
                let mut import = engine.import(ImportMode::Lenient);
                for (name, text) in [("lines", &lines), ("array", &array), ("again", &lines)] {
                    import.begin_source(name).unwrap();
                    text.as_bytes().chunks(10_000).for_each(|part| import.push(part).unwrap());
                }
                let report = import.commit().unwrap();
                let found: Vec<(&str, u64)> =
                    report.errors.iter().map(|error| (error.source.as_str(), error.document)).collect();
                assert_eq!(found, expected, "{threads} threads, {rows} rows");
                let error = engine.upsert_many(array.as_bytes()).unwrap_err();
                assert_eq!((error.line, error.document), (1, 4));
            }
        });
    }
}

#[test]
fn an_import_stores_the_same_on_any_number_of_threads() {
    let text = lines(5000);
    let engine = |rows| Engine::builder(Catalog::cases()).batch_rows(rows).build();
    let expected = engine(1000);
    text.lines().for_each(|line| assert!(expected.upsert(line.as_bytes()).is_ok()));
    let array = format!("[{}]", text.trim_end().replace('\n', ",\n"));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for rows in [64, 300, 4096] {
                for body in [&text, &array] {
                    let all = engine(rows);
                    let report = all.upsert_many(body.as_bytes()).unwrap();
                    assert_eq!(report.stored + report.replaced, 5000);
                    all.validate().unwrap();
                    assert_eq!(documents(&all), documents(&expected), "{threads} threads, {rows} rows");
                    for size in [1000, 100_000] {
                        let parts = engine(rows);
                        let mut import = parts.import(ImportMode::Strict);
                        body.as_bytes().chunks(size).for_each(|part| import.push(part).unwrap());
                        assert_eq!(import.commit().unwrap(), report);
                        assert_eq!(documents(&parts), documents(&expected), "in parts of {size}");
                    }
                }
                let bad = format!("{text}{{\"id\":7}}\n{text}");
                let refusal = engine(rows).upsert_many(bad.as_bytes()).unwrap_err();
                assert_eq!((refusal.line, refusal.error.path.as_str()), (5001, "id"));
                // The error of the document is reported, although the array also has no closing bracket.
                let listed = text.trim_end().replace('\n', ",\n");
                let broken = format!("[{listed},\n{{\"id\":7}},\n{listed}");
                let refusal = engine(rows).upsert_many(broken.as_bytes()).unwrap_err();
                assert_eq!((refusal.line, refusal.error.path.as_str()), (5001, "id"));
                let parts = engine(rows);
                let mut import = parts.import(ImportMode::Strict);
                let pushed = broken.as_bytes().chunks(1000).try_for_each(|part| import.push(part));
                let refusal = pushed.and_then(|()| import.commit().map(drop)).unwrap_err();
                assert_eq!((refusal.line, refusal.error.path.as_str()), (5001, "id"));
            }
        });
    }
}

#[test]
fn a_refusal_names_its_source_where_one_group_has_several() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(ImportMode::Lenient);
        let text = lines(1500);
        // The errors are in four documents: the last document of a source, the first document of the next source, the only document
        // of another source, and a document in the middle.
        let sources = [
            ("a", format!("{text}{{\"id\":7}}\n"), 1501),
            ("b", format!("{{\"id\":7}}\n{text}"), 1),
            ("c", "{\"id\":7}\n".to_owned(), 1),
            ("d", format!("{text}{{\"id\":7}}\n{text}"), 1501),
        ];
        for (name, text, _) in &sources {
            import.begin_source(name).unwrap();
            import.push(text.as_bytes()).unwrap();
        }
        let report = import.commit().unwrap();
        let found: Vec<(&str, u64)> =
            report.errors.iter().map(|refusal| (refusal.source.as_str(), refusal.line)).collect();
        assert_eq!(found, sources.each_ref().map(|(name, _, line)| (*name, *line)));
    });
}

/// A snapshot of a durable store keeps its file open, and a file in use cannot be compacted.
#[test]
fn workers_of_a_dropped_import_hold_no_snapshot() {
    let engine = Engine::new(Catalog::cases());
    let mut documents = Documents::new(1, 3);
    let mut queue = Queue::new(3);
    // No worker reads until this is dropped.
    let held = queue.hold(Detached);
    let group = documents.push((Piece { line: 1, bytes: Ok(br#"{"id":"a"}"#) }, 1), 0).unwrap();
    let settings = Settings::new(&engine, ImportMode::Strict);
    queue.start(Detached, move || group.build(settings));
    drop(queue);
    let before = Arc::downgrade(&engine.current.load());
    engine.upsert(br#"{"id":"b"}"#).unwrap();
    assert!(before.upgrade().is_none(), "the snapshot of before the write is still held");
    drop(held);
}

#[test]
fn an_import_sees_small_writes_since_the_head_was_sealed() {
    let text = lines(5000);
    let small_writes = |engine: &Engine| {
        // Case 3007 is replaced and then deleted, case 3009 is deleted, case 3011 is replaced, and case 6001 is new.
        assert_eq!(engine.upsert(br#"{"id":"3007","name":"small"}"#).unwrap(), UpsertOutcome::Replaced);
        assert!(engine.delete("3007") && engine.delete("3009"));
        assert_eq!(engine.upsert(br#"{"id":"3011","name":"small"}"#).unwrap(), UpsertOutcome::Replaced);
        assert_eq!(engine.upsert(br#"{"id":"6001","name":"small"}"#).unwrap(), UpsertOutcome::Stored);
    };
    let engine = || Engine::builder(Catalog::cases()).batch_rows(8192).build();
    let expected = engine();
    text.lines().for_each(|line| assert!(expected.upsert(line.as_bytes()).is_ok()));
    small_writes(&expected);
    text.lines().for_each(|line| assert!(expected.upsert(line.as_bytes()).is_ok()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        let all = engine();
        let first = all.upsert_many(text.as_bytes()).unwrap();
        small_writes(&all);
        let again = all.upsert_many(text.as_bytes()).unwrap();
        assert_eq!((again.stored, again.replaced), (2, 4998), "{} stored at first", first.stored);
        all.validate().unwrap();
        assert_eq!(documents(&all), documents(&expected));
    });
}

/// While a rayon thread waits, it may run other tasks of its pool. A large write must not run another write in this way, because
/// the other write would wait for the large write.
#[test]
fn writes_by_threads_of_one_pool_do_not_wait_for_themselves() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let engine = Engine::builder(Catalog::cases()).batch_rows(2000).build();
        let text = lines(40_000);
        let write = |id: &str| assert!(engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()).is_ok());
        let many = || assert!(engine.upsert_many(text.as_bytes()).is_ok());
        let few = || {
            // After this time, the third thread works on a part of the large write.
            std::thread::sleep(Duration::from_millis(5));
            rayon::join(|| write("a"), || write("b"));
        };
        pool.install(|| rayon::join(many, few));
        done.send(engine.len()).unwrap();
    });
    assert!(is_done.recv_timeout(Duration::from_secs(60)).is_ok(), "the writes hold each other up");
}

#[cfg(feature = "arrow")]
mod rows {
    use super::super::{RowBound, RowGroup, StoreDocument};
    use super::*;
    use crate::batch::Row;
    use crate::error::{Error, ErrorKind};

    fn fault(found: &'static str) -> Error {
        Error::new(ErrorKind::BadFile, 0, found, "a sound file")
    }

    fn document(number: u64) -> String {
        let id = if number % 9 == 8 { number / 2 } else { number };
        format!("{{\"id\":\"{id}\",\"name\":\"n° {number}\"}}")
    }

    /// A document that an import of rows has passed to the store: its document number, its text and its insertion-order number.
    type Put = (u64, String, u64);

    /// Imports groups of 150 rows into an engine that keeps no documents. Each row counts as one byte for the bound.
    fn import(
        threads: usize,
        groups: u64,
        bound: u64,
        refused: Option<u64>,
    ) -> Result<Vec<Put>, ImportError> {
        let engine = Engine::builder(Catalog::cases()).batch_rows(64).numbered_documents().build();
        let put = std::sync::Mutex::new(Vec::new());
        let store = |number, text: &str| put.lock().unwrap().push((number, text.to_owned()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut import = engine.import_numbered(ImportMode::Strict, StoreDocument::new(store));
            let all = (0..groups).map(|group| RowGroup { rows: 150, group });
            let bound = RowBound { bytes: bound, too_much: || fault("too much") };
            import.push_rows(all, bound, |group, line, cases| {
                for (line, number) in (line..).zip(group * 150..(group + 1) * 150) {
                    cases.count(line, 1)?;
                    if Some(line) == refused {
                        cases.refuse(line, fault("no case"))?;
                    }
                    let text = document(number);
                    let mut row = Row::default();
                    engine.read(text.as_bytes(), &mut row).unwrap();
                    cases.row(line, &mut row, &text)?;
                }
                Ok(())
            })?;
            let mut import = import.finish()?;
            import.number_from(7);
            let (txn, report) = import.attach()?;
            let documents: Vec<(u64, u64)> = txn.documents().collect();
            txn.stage().publish();
            assert_eq!(report.stored + report.replaced, groups * 150);
            engine.validate().unwrap();
            assert_eq!(engine.len() as u64, report.stored);
            let put = std::mem::take(&mut *put.lock().unwrap());
            assert_eq!(put.len(), documents.len());
            let all = put.into_iter().zip(documents).map(|((own, text), (number, place))| {
                assert_eq!(
                    number,
                    own + 7,
                    "documents are numbered in the order in which they were handed over"
                );
                (number, text, place)
            });
            Ok(all.collect())
        })
    }

    #[test]
    fn rows_are_stored_the_same_on_any_number_of_threads() {
        for groups in [1, 2, 9] {
            let expected = import(1, groups, u64::MAX, None).unwrap();
            assert_eq!(expected.len() as u64, groups * 150);
            assert_eq!(expected[8], (15, document(8), 4), "it replaces the fifth case");
            for threads in [2, 5] {
                assert_eq!(import(threads, groups, u64::MAX, None).unwrap(), expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn the_first_fault_is_reported_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            for (bound, refused, expected) in [
                (333, None, (334, "too much")),
                (333, Some(334), (334, "too much")),
                (333, Some(333), (333, "no case")),
                (u64::MAX, Some(1200), (1200, "no case")),
            ] {
                let refusal = import(threads, 9, bound, refused).unwrap_err();
                let found = refusal.error.found.to_string();
                assert_eq!((refusal.line, found.as_str()), expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn faults_of_pending_documents_come_before_those_of_the_next_source() {
        let text = format!("{}{{\"id\":7}}\n", lines(2000));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            let engine = Engine::new(Catalog::cases());
            let begin = |mode| {
                let mut import = engine.import(mode);
                import.begin_source("a").unwrap();
                import.push(text.as_bytes()).unwrap();
                import.begin_source("b").unwrap();
                import
            };
            let refusal = begin(ImportMode::Strict).fail(0, fault("a file that is none")).unwrap_err();
            assert_eq!((refusal.source.as_str(), refusal.line), ("a", 2001));
            let mut import = begin(ImportMode::Lenient);
            import.leave_out(&fault("a column")).unwrap();
            let refusals = import.commit().unwrap().errors;
            let found: Vec<(&str, u64)> =
                refusals.iter().map(|refusal| (refusal.source.as_str(), refusal.line)).collect();
            assert_eq!(found, [("a", 2001), ("b", 0)]);
        });
    }
}
