//! Tests imports concurrent with other writes, and imports that move between threads.

use casefilter::{Catalog, Engine, Filter, Import, ImportMode, SearchRequest};

/// Compiles only if imports are `Send`. An async host needs that when it reads a request body into one.
const fn may_move<T: Send>() {}
const _: () = may_move::<Import<'static>>();
#[cfg(feature = "store")]
const _: () = may_move::<casefilter::StoreImport<'static>>();

/// Returns the ids and documents in insertion order.
fn all(engine: &Engine) -> Vec<(String, String)> {
    let answer =
        engine.search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000)).unwrap();
    answer.ids().map(str::to_owned).zip(answer.documents().map(str::to_owned)).collect()
}

fn ids(engine: &Engine) -> Vec<String> {
    all(engine).into_iter().map(|(id, _)| id).collect()
}

fn case(id: impl std::fmt::Display, name: impl std::fmt::Display) -> String {
    format!("{{\"id\":\"{id}\",\"name\":\"{name}\"}}\n")
}

#[test]
fn single_writes_do_not_wait_for_an_import() {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Strict);
    import.push(case("a", "imported").as_bytes()).unwrap();
    // The write is on the thread of the import, so waiting would be a deadlock.
    engine.upsert(case("a", "single").as_bytes()).unwrap();
    engine.upsert(case("b", "single").as_bytes()).unwrap();
    let mut other = engine.import(ImportMode::Strict);
    other.push(case("c", "other").as_bytes()).unwrap();
    import.push(case("d", "imported").as_bytes()).unwrap();
    other.commit().unwrap();
    assert!(engine.delete("b"));
    let report = import.commit().unwrap();
    assert_eq!((report.stored, report.replaced), (1, 1), "what is there at the commit is replaced");
    assert_eq!(ids(&engine), ["a", "c", "d"], "new cases come after those stored before the commit");
    assert!(all(&engine)[0].1.contains("imported"));
    engine.validate().unwrap();
}

#[test]
fn a_leaked_import_blocks_no_write() {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Strict);
    import.push(case("a", "never committed").as_bytes()).unwrap();
    std::mem::forget(import);
    engine.upsert(case("b", "single").as_bytes()).unwrap();
    engine.upsert_many(case("c", "many").as_bytes()).unwrap();
    assert_eq!(ids(&engine), ["b", "c"]);
}

#[test]
fn an_import_can_end_on_another_thread() {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Lenient);
    import.push(b"[{\"id\":\"a\"},").unwrap();
    std::thread::scope(|scope| {
        let import = &mut import;
        scope.spawn(move || import.push(b"{\"id\":\"b\"},").unwrap());
    });
    let report = std::thread::scope(|scope| {
        scope
            .spawn(move || {
                import.push(b"{\"id\":\"c\"}]").unwrap();
                import.commit().unwrap()
            })
            .join()
            .unwrap()
    });
    assert_eq!((report.stored, ids(&engine)), (3, vec!["a".into(), "b".into(), "c".into()]));
}

/// Imports of every size, between writes of every kind. A list of cases, changed at each commit, is the oracle.
#[test]
fn imports_replace_the_cases_stored_at_their_commit() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let put =
        |model: &mut Vec<(u64, u64)>, id: u64, name: u64| match model.iter_mut().find(|case| case.0 == id) {
            Some(case) => case.1 = name,
            None => model.push((id, name)),
        };
    for batch_rows in [8, 64, 4096] {
        let engine = Engine::builder(Catalog::cases()).batch_rows(batch_rows).build();
        let mut model: Vec<(u64, u64)> = Vec::new();
        let mut open: Vec<(Import<'_>, Vec<(u64, u64)>)> = Vec::new();
        for name in 0..150 {
            let range = 50 + name * 10;
            match random(8) {
                0 | 1 if open.len() < 4 => open.push((engine.import(ImportMode::Strict), Vec::new())),
                2 | 3 if !open.is_empty() => {
                    let at = usize::try_from(random(open.len() as u64)).unwrap();
                    let (import, pending) = &mut open[at];
                    let count = [1, 10, 70, 2_500][usize::try_from(random(4)).unwrap()];
                    let cases: Vec<(u64, u64)> = (0..count).map(|_| (random(range), name)).collect();
                    let text: String = cases.iter().map(|(id, name)| case(id, name)).collect();
                    import.push(text.as_bytes()).unwrap();
                    pending.extend(cases);
                }
                4 if !open.is_empty() => {
                    let at = usize::try_from(random(open.len() as u64)).unwrap();
                    let (import, pending) = open.swap_remove(at);
                    if random(4) == 0 {
                        continue;
                    }
                    let (cases, before) = (pending.len() as u64, model.len());
                    pending.into_iter().for_each(|(id, name)| put(&mut model, id, name));
                    let report = import.commit().unwrap();
                    let stored = (model.len() - before) as u64;
                    assert_eq!((report.stored, report.replaced), (stored, cases - stored));
                }
                5 => {
                    let id = random(range);
                    let was_there = model.iter().any(|case| case.0 == id);
                    model.retain(|case| case.0 != id);
                    assert_eq!(engine.delete(&id.to_string()), was_there);
                }
                _ => {
                    let id = random(range);
                    put(&mut model, id, name);
                    engine.upsert(case(id, name).as_bytes()).unwrap();
                }
            }
        }
        let expected: Vec<(String, String)> =
            model.iter().map(|(id, name)| (id.to_string(), case(id, name).trim_end().to_owned())).collect();
        assert!(all(&engine) == expected, "{batch_rows} rows a batch");
        engine.validate().unwrap();
    }
}
