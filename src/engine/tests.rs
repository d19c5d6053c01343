//! Tests whole engines, and the functions that only the durable store uses.

use std::sync::Arc;

use super::handle::EngineBuilder;
use super::snapshot::BatchId;
use super::*;
use crate::batch::{BatchBuilder, BufferedRow, Document, Keep, Row};
use crate::catalog::Catalog;
use crate::engine::snapshot::StoredAddr;
use crate::engine::write::{Parts, WriteTxn};
use crate::filter::{Filter, Order, SearchRequest};
use crate::rows::Selection;

fn numbered(batch_rows: usize) -> EngineBuilder {
    Engine::builder(Catalog::cases()).batch_rows(batch_rows).numbered_documents()
}

/// Stores cases under document numbers. Publishes the write if `publish` is true, otherwise drops it. Returns the released document
/// numbers.
fn store(engine: &Engine, cases: &[(&str, u64)], publish: bool) -> Vec<u64> {
    let mut txn = WriteTxn::new(engine);
    for (id, number) in cases {
        let text = format!("{{\"id\":\"{id}\",\"name\":\"{number}\"}}");
        let mut row = Row::default();
        engine.read(text.as_bytes(), &mut row).unwrap();
        txn.upsert(&row, Document::Number { number: *number, size_bytes: text.len() }).unwrap();
    }
    let staged = txn.stage();
    let released = staged.released().to_vec();
    if publish {
        staged.publish();
    }
    released
}

fn all(engine: &Engine) -> Vec<(String, Option<u64>)> {
    let rows = engine.find(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000)).unwrap();
    (0..rows.len()).map(|place| (rows.id(place).to_owned(), rows.document_number(place))).collect()
}

/// Returns the parts that a store would have on disk: the complete snapshot, with its head as rows.
fn parts(engine: &Engine) -> Parts {
    let txn = WriteTxn::new(engine);
    let staged = txn.stage();
    let snapshot = staged.after();
    let batches =
        snapshot.base.slots().map(|slot| (slot.id, Arc::clone(&slot.batch), (*slot.live).clone())).collect();
    let edits = snapshot.head.edits();
    let rows = edits.iter().filter_map(|edit| {
        let row = edit.stored.as_ref()?;
        let mut copy = Row::default();
        for field in engine.catalog.field_ids() {
            row.values(field).for_each(|value| copy.push(field, value));
        }
        Some(BufferedRow::new(&copy, row.document(), row.place))
    });
    let deleted = edits.iter().filter_map(|edit| {
        edit.deleted.map(|at| match at {
            StoredAddr::Uncovered(id, row) => (id, row),
            StoredAddr::Covered(..) => {
                let (slot, row) = snapshot.base.slot_of(at).unwrap();
                (slot.id, row)
            }
        })
    });
    Parts {
        batches,
        head: snapshot.head.id,
        rows: rows.collect(),
        deleted: deleted.collect(),
        next_place: staged.next_place(),
        next_batch: staged.next_batch(),
        write: snapshot.write(),
        hasher: None,
    }
}

#[test]
fn a_write_that_is_not_published_has_no_effect() {
    for batch_rows in [1, 4, 65_536] {
        let engine = numbered(batch_rows).build();
        store(&engine, &[("a", 1), ("b", 2), ("a", 3)], true);
        let before = all(&engine);
        assert_eq!(before, [("a".to_owned(), Some(3)), ("b".to_owned(), Some(2))]);
        assert_eq!(store(&engine, &[("a", 4), ("c", 5), ("c", 6)], false), [3, 5]);
        let many: Vec<(String, u64)> = (0..300).map(|n| (n.to_string(), n)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(id, n)| (id.as_str(), *n)).collect();
        store(&engine, &many, false);
        let mut txn = WriteTxn::new(&engine);
        assert!(txn.delete("a") && !txn.delete("a"));
        drop(txn);
        engine.validate().unwrap();
        assert_eq!(all(&engine), before);
        store(&engine, &many, true);
        assert_eq!(engine.len(), 302);
        engine.validate().unwrap();
    }
}

#[test]
fn documents_without_a_case_are_released() {
    for batch_rows in [1, 4, 65_536] {
        let engine = numbered(batch_rows).build();
        assert_eq!(store(&engine, &[("a", 10), ("a", 11), ("b", 12)], true), [10]);
        assert_eq!(store(&engine, &[("b", 13), ("b", 14)], true), [12, 13]);
        let mut txn = WriteTxn::new(&engine);
        assert!(txn.delete("a") && txn.delete("b") && !txn.delete("unknown"));
        let staged = txn.stage();
        assert_eq!(staged.released(), [11, 14]);
        staged.publish();
        assert!(engine.is_empty());
        engine.validate().unwrap();
    }
}

#[test]
fn a_restored_engine_takes_further_writes() {
    for batch_rows in [1, 8, 64, 65_536] {
        let engine = numbered(batch_rows).build();
        let mut number = 0;
        for round in 0..120_u64 {
            let ids: Vec<String> =
                (0..round % 7 + 1).map(|n| ((round * 5 + n * n) % 97).to_string()).collect();
            let cases: Vec<(&str, u64)> = ids
                .iter()
                .map(|id| {
                    (id.as_str(), {
                        number += 1;
                        number
                    })
                })
                .collect();
            store(&engine, &cases, true);
            engine.delete(&(round * 3 % 101).to_string());
            if round % 10 != 9 {
                continue;
            }
            let restored = numbered(batch_rows).restore(parts(&engine)).unwrap();
            restored.validate().unwrap();
            assert_eq!(all(&restored), all(&engine));
            for engine in [&engine, &restored] {
                store(engine, &[("x", 1), ("3", 2)], true);
                engine.delete("7");
                engine.validate().unwrap();
            }
            assert_eq!(all(&restored), all(&engine));
        }
    }
}

#[test]
fn inconsistent_parts_are_rejected() {
    let engine = numbered(1).build();
    store(&engine, &[("a", 1), ("b", 2)], true);
    store(&engine, &[("c", 3), ("d", 3)], true);
    let mut twice = parts(&engine);
    let (id, batch, live) = &twice.batches[0];
    twice.batches.push((*id, Arc::clone(batch), live.clone()));
    assert!(numbered(1).restore(twice).is_err());
    let mut newer = parts(&engine);
    newer.head = BatchId(0);
    assert!(numbered(1).restore(newer).is_err());
    let mut late = parts(&engine);
    late.next_batch = 1 << 48;
    assert!(numbered(1).restore(late).is_err());
    let mut late = parts(&engine);
    late.next_place = u64::MAX;
    assert!(numbered(1).restore(late).is_err());
    assert!(numbered(1).restore(parts(&engine)).is_ok());
}

#[test]
fn batches_stay_few_and_nothing_is_lost_when_they_merge() {
    let engine = Engine::builder(Catalog::cases()).batch_rows(256).build();
    for n in 0..6000_u32 {
        let id = n.wrapping_mul(0x9e37_79b1) % 3000;
        engine.upsert(format!("{{\"id\":\"{id}\",\"name\":\"{n}\"}}").as_bytes()).unwrap();
        if n % 500 == 0 {
            engine.validate().unwrap();
        }
    }
    engine.validate().unwrap();
    let snapshot = engine.current.load();
    let batches = snapshot.base.slots().count();
    assert!(batches <= 3000 / 128 + 40, "{batches} batches of {} cases", engine.len());
    let by_id = SearchRequest::new(Filter::all(engine.catalog()))
        .with_order(Order::parse(engine.catalog(), "id").unwrap())
        .with_limit(10_000);
    assert_eq!(engine.search(&by_id).unwrap().len(), engine.len());
}

#[test]
fn heads_with_lazy_columns_are_joined() {
    let engine = Engine::new(Catalog::cases());
    let document = |number: u32| {
        let tags = ["[]", "[\"a\",\"b\",\"a\"]", "[\"b\"]"][number as usize % 3];
        format!(
            "{{\"id\":\"{number}\",\"priority\":\"low\",\"tags\":{tags},\"totalAmountInDefaultCurrency\":{number}}}"
        )
    };
    let filter = |text: &str| Filter::compile_text(engine.catalog(), text).unwrap();
    let (tagged, small) =
        (filter("tags in (b)"), filter("priority = low and totalAmountInDefaultCurrency < 100"));
    let mut joins = Vec::new();
    for number in 0..6000_u32 {
        engine.upsert(document(number).as_bytes()).unwrap();
        // Some of the joined cases are deleted: some while they are in the head, others later.
        if number % 10 == 9 {
            assert!(engine.delete(&(number - 5 * (number % 3)).to_string()));
            engine.upsert(document(number - 5 * (number % 3)).as_bytes()).unwrap();
        }
        if number.is_multiple_of(777) {
            engine.validate().unwrap();
        }
        // The batch to which heads are joined, before a search runs.
        let snapshot = engine.current.load();
        let newest = snapshot.base.slots().filter(|slot| slot.batch.is_lazy()).max_by_key(|slot| slot.id);
        let (rows, columns) = newest.map_or((0, 0), |slot| (slot.batch.rows(), slot.batch.columns().count()));
        joins.push((rows, columns));
        // Searches read the columns until 5,000 cases are stored, and not afterwards. So the columns are first merged with each
        // join, and later they are not created.
        if number.is_multiple_of(7) && number < 5000 {
            let cases = u64::from(number) + 1;
            let untagged = u64::from(number / 3) + 1;
            assert_eq!(engine.count(&tagged).unwrap(), cases - untagged, "after {number}");
            assert_eq!(engine.count(&small).unwrap(), cases.min(100));
        }
    }
    joins.dedup();
    let carried = joins.windows(2).filter(|pair| pair[0].0 < pair[1].0 && pair[0].1 == 3 && pair[1].1 == 3);
    assert!(carried.count() > 60, "{joins:?}");
    assert_eq!(joins.last().map(|(_, columns)| *columns), Some(0), "no search needs columns any more");
    engine.validate().unwrap();
    let snapshot = engine.current.load();
    let rows: Vec<usize> = snapshot.base.slots().map(|slot| slot.batch.rows()).collect();
    assert!(rows.len() <= 5 && rows.iter().all(|rows| *rows <= 2048), "{rows:?}");
    assert_eq!(engine.len(), 6000);
}

#[test]
fn deleted_rows_do_not_accumulate() {
    let engine = Engine::new(Catalog::cases());
    let (mut most, mut dice) = (0, 1_u64);
    for _ in 0..60_000 {
        // Cases are replaced repeatedly, in random order (Knuth's MMIX generator).
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = dice >> 53;
        engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()).unwrap();
        let snapshot = engine.current.load();
        most = most.max(snapshot.base.slots().map(|slot| slot.batch.rows()).sum());
    }
    engine.validate().unwrap();
    // At most, the engine holds the sources of a merge, the cases that were written meanwhile, and the result of the previous
    // merge.
    assert!(engine.len() == 2048 && most < 8192 + 2048, "{} cases, {most} rows", engine.len());
}

#[test]
fn a_completely_replaced_batch_is_dropped() {
    let engine = Engine::builder(Catalog::cases()).batch_rows(64).build();
    let lines: String = (0..640).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    for _ in 0..20 {
        engine.upsert_many(lines.as_bytes()).unwrap();
        engine.validate().unwrap();
        assert!(engine.current.load().base.slots().count() <= 12);
    }
}

/// Returns the ids that a search finds, sorted. Checks the counts.
fn ids(engine: &Engine) -> Vec<String> {
    engine.validate().unwrap();
    let filter = Filter::all(engine.catalog());
    let answer =
        engine.search(&SearchRequest::new(filter.clone()).with_limit(10_000).with_count(true)).unwrap();
    let mut ids: Vec<String> = answer.ids().map(str::to_owned).collect();
    ids.sort();
    let count = ids.len();
    assert_eq!(
        (answer.total(), engine.count(&filter).unwrap(), engine.len()),
        (Some(count as u64), count as u64, count)
    );
    ids
}

fn lines(ids: impl IntoIterator<Item = u32>) -> Vec<u8> {
    ids.into_iter().flat_map(|id| format!("{{\"id\":\"{id:04}\"}}\n").into_bytes()).collect()
}

fn named(ids: impl IntoIterator<Item = u32>) -> Vec<String> {
    ids.into_iter().map(|id| format!("{id:04}")).collect()
}

#[test]
fn a_case_replaced_by_the_write_that_stored_it_is_found_once() {
    // The cases are in the head, then in one batch, then in several batches.
    for cases in [2_u32, 40, 300] {
        let engine = Engine::builder(Catalog::cases()).batch_rows(128).build();
        engine.upsert_many(&lines((0..cases).chain([0, cases / 2, 0]))).unwrap();
        assert_eq!(ids(&engine), named(0..cases));
    }
}

#[test]
fn a_case_replaced_or_deleted_later_is_gone_from_its_batch() {
    // The case is in the head, then in an uncovered batch, then in a covered batch.
    for cases in [3_u32, 70, 9_000] {
        let engine = Engine::new(Catalog::cases());
        engine.upsert_many(&lines(0..cases)).unwrap();
        let last = cases - 1;
        assert!(engine.delete("0001"));
        assert_eq!(engine.upsert(&lines([last])), Ok(UpsertOutcome::Replaced));
        assert_eq!(ids(&engine), named((0..=last).filter(|id| *id != 1)));
        // The head is sealed, which creates new selections of live rows.
        engine.upsert_many(&lines((0..100).map(|id| id + 9_100))).unwrap();
        assert_eq!(ids(&engine).len(), last as usize + 100);
    }
}

#[test]
fn a_case_deleted_while_its_batch_is_merged_stays_deleted() {
    let engine = Engine::new(Catalog::cases());
    let mut stored = 0;
    let mut is_merging = |engine: &Engine| {
        engine.upsert(&lines([stored])).unwrap();
        stored += 1;
        engine.current.write().merge.is_some()
    };
    while !is_merging(&engine) {}
    // The deleted rows are in the first and in the last of the heads that are being merged. One of them is then replaced.
    let batches = engine.current.load().base.slots().count();
    assert!(engine.delete("0000") && engine.delete("0001") && engine.delete("0500"));
    assert_eq!(engine.upsert(&lines([2])), Ok(UpsertOutcome::Replaced));
    while is_merging(&engine) {}
    assert!(engine.current.load().base.slots().count() < batches, "merged");
    assert_eq!(ids(&engine), named((0..stored).filter(|id| ![0, 1, 500].contains(id))));
}

#[test]
fn many_keys_are_found_in_all_batches() {
    let engine = Engine::builder(Catalog::cases()).batch_rows(64).build();
    let person = |n: u32| (!n.is_multiple_of(11)).then_some(n * 7 % 150);
    let document = |n: u32| match person(n) {
        Some(person) => {
            format!("{{\"id\":\"{n}\",\"applicantReference\":{{\"applicantId\":\"p{person}\"}}}}\n")
        }
        None => format!("{{\"id\":\"{n}\"}}\n"),
    };
    engine.upsert_many((0..500).map(document).collect::<String>().as_bytes()).unwrap();
    for count in [1, 15, 16, 17, 33, 200] {
        // The search wants every third case, and some cases that do not exist.
        let wanted: Vec<u32> = (0..count).map(|n| n * 3).collect();
        let list: Vec<String> = wanted.iter().map(|person| format!("p{person}")).collect();
        let text = format!("applicantReference.applicantId in ({})", list.join(", "));
        let filter = Filter::compile_text(engine.catalog(), &text).unwrap();
        let found = engine.search(&SearchRequest::new(filter).with_limit(1000).with_count(true)).unwrap();
        let expected = (0..500).filter(|n| person(*n).is_some_and(|person| wanted.contains(&person)));
        assert_eq!(
            found.ids().map(|id| id.parse().unwrap()).collect::<Vec<u32>>(),
            expected.collect::<Vec<u32>>()
        );
        assert_eq!(found.total(), Some(found.len() as u64), "{count}");
    }
}

#[test]
fn numbers_of_dropped_batches_are_reused() {
    let engine = Engine::builder(Catalog::cases()).batch_rows(4).build();
    for round in 0..300_u64 {
        // Each round replaces half of the cases of the round before.
        let cases = (0..80).map(|number| format!(r#"{{"id":"{}"}}"#, (round * 40 + number) % 400));
        engine.upsert_many(format!("[{}]", cases.collect::<Vec<_>>().join(",")).as_bytes()).unwrap();
        if round % 16 == 0 {
            engine.validate().unwrap();
        }
        let found = (0..400).filter(|id| {
            let filter = Filter::compile_text(engine.catalog(), &format!("id = {id}")).unwrap();
            engine.count(&filter).unwrap() == 1
        });
        assert_eq!(found.count() as u64, (round * 40 + 80).min(400));
    }
    engine.validate().unwrap();
    let numbers = engine.current.load().base.index().numbers();
    // At least a hundred batches exist at a time, and 6,000 batches in total.
    assert!(numbers < 400, "{numbers} numbers");
}

/// Filters over single-valued and multi-valued fields of every type. The first searches evaluate rows; later searches build
/// columns.
#[test]
fn the_head_selects_the_same_by_rows_and_by_columns() {
    const FILTERS: [&str; 10] = [
        "status = open",
        "status <> open",
        "status in (open, blocked) and priority = high",
        "tags all (a, b)",
        "tags in (b, c) or tags <> a",
        "totalAmountInDefaultCurrency > 20 and totalAmountInDefaultCurrency <= 40",
        "createdAt >= '2024-01-10 00:00:00' and createdAt < '2024-01-20 00:00:00' or id in (3, 4, 90)",
        "caseReview.checklistState.checklist.checked = 'true'",
        "applicantReference.applicantId in (7, 8, unknown) or status = resolved and priority = medium",
        "status = closed",
    ];
    let case = |number: u64| {
        let member =
            |divisor: u64, text: String| if number.is_multiple_of(divisor) { text } else { String::new() };
        let status = ["open", "blocked", "resolved"][(number % 3) as usize];
        [
            format!(r#"{{"id":"{number}","applicantReference":{{"applicantId":"{number}"}}"#),
            member(2, format!(r#","caseReview":{{"status":"{status}"}}"#)),
            member(5, r#","priority":"high""#.to_owned()),
            member(3, format!(r#","tags":["a","{}","a"]"#, ["b", "c"][(number % 2) as usize])),
            member(4, format!(r#","totalAmountInDefaultCurrency":{number}.5"#)),
            format!(r#","createdAt":"2024-01-{:02} 00:00:00"}}"#, number % 28 + 1),
        ]
        .concat()
    };
    for rows in [1, 2, 63, 64] {
        let documents: Vec<String> = (0..rows).map(case).collect();
        let engine = Engine::new(Catalog::cases());
        documents.iter().for_each(|document| assert!(engine.upsert(document.as_bytes()).is_ok()));
        let columns_built = || {
            let snapshot = engine.current.load();
            let view = snapshot.view(&engine.catalog, engine.keep);
            view.slots().map(|slot| slot.batch.columns().count()).sum::<usize>()
        };
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        let requests = FILTERS.map(|text| {
            SearchRequest::new(Filter::compile_text(engine.catalog(), text).unwrap())
                .with_limit(100)
                .with_count(true)
        });
        let expected = requests.each_ref().map(|request| {
            let (at, total) = crate::reference::search(&texts, request).unwrap();
            (at.iter().map(usize::to_string).collect::<Vec<_>>(), Some(total))
        });
        let answers = || {
            requests.each_ref().map(|request| {
                let answer = engine.search(request).unwrap();
                (answer.ids().map(str::to_owned).collect::<Vec<_>>(), answer.total())
            })
        };
        assert_eq!(answers(), expected, "{rows} rows, by rows");
        assert_eq!(columns_built(), 0);
        for _ in 0..10 {
            assert_eq!(answers(), expected, "{rows} rows, by columns");
        }
        assert!(columns_built() > 0, "no column was built");
        engine.validate().unwrap();
    }
}

#[test]
fn an_answer_without_cases_holds_no_snapshot() {
    let engine = Engine::new(Catalog::cases());
    engine.upsert_many(br#"[{"id":"a"},{"id":"b","priority":"high"}]"#).unwrap();
    let snapshot = engine.current.load();
    let view = snapshot.view(&engine.catalog, engine.keep);
    let holders = Arc::strong_count(view);
    let request = |text: &str| {
        SearchRequest::new(Filter::compile_text(engine.catalog(), text).unwrap()).with_count(true)
    };
    let counted = engine.search(&request("priority = high").with_limit(0)).unwrap();
    let behind = engine.search(&request("id in (a, b)").with_offset(2)).unwrap();
    assert_eq!((counted.total(), behind.total(), Arc::strong_count(view)), (Some(1), Some(2), holders));
    let page = engine.search(&request("priority = high")).unwrap();
    assert_eq!((page.len(), Arc::strong_count(view)), (1, holders + 1));
}

#[test]
fn a_batch_without_rows_selects_nothing() {
    // A store rejects an empty batch as damaged. An engine that is restored from such a batch still answers.
    let engine = numbered(64).build();
    let mut parts = parts(&engine);
    let empty = BatchBuilder::new(&engine.catalog, Keep::Numbers, 0).seal();
    parts.batches.push((BatchId(0), Arc::new(empty), Selection::All));
    (parts.head, parts.next_batch) = (BatchId(1), 2);
    let engine = numbered(64).restore(parts).unwrap();
    let checked = "caseReview.checklistState.checklist.checked all (true, false)";
    for text in [
        format!("priority <> low and ({checked} or name = a) and ({checked} or tags = b)"),
        format!("{checked} and name <> a"),
        "priority <> low or totalAmountInDefaultCurrency > 5".to_owned(),
    ] {
        let filter = Filter::compile_text(engine.catalog(), &text).unwrap();
        let request = SearchRequest::new(filter.clone()).with_count(true);
        assert_eq!(engine.search(&request).unwrap().total(), Some(0), "{text}");
        assert!(engine.explain(&request).is_ok(), "{text}");
    }
}

#[test]
fn memory_waits_for_no_write() {
    let engine = numbered(64).build();
    let cases: Vec<(String, u64)> = (0..500).map(|n| (format!("case {n}"), n)).collect();
    let cases: Vec<(&str, u64)> = cases.iter().map(|(id, n)| (id.as_str(), *n)).collect();
    store(&engine, &cases, true);
    let before = engine.memory();
    let txn = WriteTxn::new(&engine);
    assert_eq!(engine.memory(), before);
    drop(txn);
}

/// The index over all batches knows which values a document has, but not which element of an array has which value.
#[test]
fn tests_of_elements_skip_the_batches_that_cannot_have_such_an_element() {
    use crate::catalog::{Field, FieldType};
    let fields =
        [Field::new("legs[].bank", FieldType::String), Field::new("legs[].amount", FieldType::Number)];
    let catalog = Catalog::new(fields).unwrap();
    let engine = Engine::builder(catalog.clone()).batch_rows(100).build();
    let documents: Vec<String> = (0..1000)
        .map(|n| {
            let bank = if n % 50 == 7 { "rare" } else { "usual" };
            format!(
                r#"{{"id":"{n}","legs":[{{"bank":"{bank}","amount":{n}}},{{"bank":"usual","amount":{}}}]}}"#,
                n + 1
            )
        })
        .collect();
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
    for (text, most_batches, total) in [
        ("legs has (amount >= 250 and amount < 260 and bank = usual)", 2, 11),
        ("legs has (amount >= 250 and amount < 260 and bank = rare)", 2, 1),
        ("legs has (bank = rare and amount = 8)", 2, 0),
        ("legs has (bank = nowhere and amount > 5)", 20, 0),
        ("legs has (bank = rare and not amount > 60)", 20, 2),
        ("legs has (bank = rare or amount < 5)", 20, 25),
        ("not legs has (bank = rare and amount >= 0)", 20, 980),
    ] {
        let filter = Filter::compile_text(&catalog, text).unwrap();
        let request = SearchRequest::new(filter).with_count(true);
        let (_, expected) = crate::reference::search(&texts, &request).unwrap();
        assert_eq!(engine.search(&request).unwrap().total(), Some(expected), "{text}");
        assert_eq!(expected, total, "{text}");
        let batches = engine.explain(&request).unwrap().batches;
        assert!(batches.all >= 10 && batches.all - batches.ruled_out <= most_batches, "{text}: {batches:?}");
    }
}
