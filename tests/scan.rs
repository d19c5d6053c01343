//! Tests that a scan gives the answer, the errors and the report of an engine into which the same bytes were imported.

#[expect(dead_code, reason = "of the worlds, what is checked in them is checked elsewhere")]
mod world;

use std::io::Cursor as Reader;

use casefilter::{
    CancelToken, Catalog, Cursor, Deadline, Engine, Error, ErrorKind, Facet, FacetsRequest, Filter,
    FilterBuilder, ImportError, ImportMode, ImportReport, Limits, Order, Scan, ScanAnswer, ScanError,
    ScanOutcome, SearchAnswer, SearchParams, SearchRequest,
};
use proptest::prelude::*;

use world::choices::Choices;
use world::generate::{Size, World};

const MODES: [ImportMode; 2] = [ImportMode::Strict, ImportMode::Lenient];

/// Compiles only if scans are `Send`, as imports are.
const fn may_move<T: Send>() {}
const _: () = may_move::<Scan>();

/// The sources of a test: pairs of a name and the bytes.
type Sources<'s> = [(&'s str, Vec<u8>)];

/// Returns what an engine returns after an import of the sources. `chunk` is the number of bytes of a push.
fn by_engine(
    catalog: &Catalog,
    limits: &Limits,
    mode: ImportMode,
    sources: &Sources<'_>,
    chunk: usize,
) -> Result<(Engine, ImportReport), ImportError> {
    let engine = Engine::builder(catalog.clone()).limits(limits.clone()).build();
    let mut import = engine.import(mode);
    for (name, bytes) in sources {
        import.begin_source(name)?;
        bytes.chunks(chunk).try_for_each(|part| import.push(part))?;
    }
    let report = import.commit()?;
    Ok((engine, report))
}

/// Runs a scan on the sources. Returns the number of passes, too.
fn by_scan(mut scan: Scan, sources: &Sources<'_>, chunk: usize) -> Result<(ScanAnswer, usize), ScanError> {
    for pass in 1.. {
        for (name, bytes) in sources {
            scan.begin_source(name)?;
            bytes.chunks(chunk).try_for_each(|part| scan.push(part))?;
        }
        match scan.finish()? {
            ScanOutcome::Answer(answer) => return Ok((answer, pass)),
            ScanOutcome::ReadAgain(again) => scan = again,
        }
        assert!(pass < 3, "unchanged sources are read twice at most");
    }
    unreachable!()
}

/// Returns all parts of an answer but the number of examined rows.
fn parts(answer: &SearchAnswer) -> (Vec<&str>, Vec<&str>, Option<u64>, Option<&Cursor>, String) {
    (answer.ids().collect(), answer.documents().collect(), answer.total(), answer.next(), answer.to_json())
}

/// Checks that a scan gives what an engine gives. Returns the answer, unless a document was refused.
#[track_caller]
fn check(
    catalog: &Catalog,
    mode: ImportMode,
    sources: &Sources<'_>,
    request: &SearchRequest,
    chunk: usize,
) -> Option<ScanAnswer> {
    check_within(catalog, &Limits::default(), mode, sources, request, chunk)
}

#[track_caller]
fn check_within(
    catalog: &Catalog,
    limits: &Limits,
    mode: ImportMode,
    sources: &Sources<'_>,
    request: &SearchRequest,
    chunk: usize,
) -> Option<ScanAnswer> {
    let scan = Scan::new(catalog, limits, mode, request).unwrap();
    let scanned = by_scan(scan, sources, chunk);
    let (engine, report) = match by_engine(catalog, limits, mode, sources, chunk) {
        Ok(loaded) => loaded,
        Err(refusal) => {
            match scanned {
                Err(ScanError::Refused(own)) => assert_eq!(own, refusal),
                other => panic!("{other:?}, expected {refusal}"),
            }
            return None;
        }
    };
    let (own, passes) = match (scanned, engine.search(request)) {
        (Ok((own, passes)), Ok(expected)) => {
            assert_eq!(parts(&own.answer), parts(&expected), "{request:?}");
            (own, passes)
        }
        (Err(ScanError::Search(own)), Err(expected)) => {
            assert_eq!(own, expected);
            return None;
        }
        (own, expected) => panic!("{own:?}, expected {expected:?}"),
    };
    assert_eq!(own.report, report);
    assert_eq!(own.documents, engine.len() as u64);
    assert_eq!(own.selected, engine.count(&request.filter).unwrap());
    assert_eq!(own.bytes, sources.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
    assert_eq!(passes > 1, report.replaced > 0, "sources are read twice only for repeated ids");
    Some(own)
}

/// Checks a request, and up to three pages after its page.
#[track_caller]
fn check_pages(
    catalog: &Catalog,
    mode: ImportMode,
    sources: &Sources<'_>,
    request: &SearchRequest,
    chunk: usize,
) {
    let mut request = request.clone();
    for _ in 0..4 {
        let Some(found) = check(catalog, mode, sources, &request, chunk) else { return };
        let Some(next) = found.answer.next() else { return };
        request = request.with_after(next.clone()).with_offset(0);
    }
}

/// The layouts of a file.
const LAYOUTS: usize = 4;

/// Returns the text of a file with these documents.
fn file(documents: &[String], layout: usize) -> Vec<u8> {
    match layout {
        0 => documents.iter().flat_map(|text| [text.as_str(), "\n"]).collect::<String>(),
        1 => format!("[{}]", documents.join(",\n")),
        2 => format!("{{\"list\":{{\"items\":[{}],\"totalItems\":7}}}}", documents.join(", ")),
        _ => documents.iter().map(|text| format!("{}\n", text.replacen('{', "{\n  ", 1))).collect(),
    }
    .into_bytes()
}

fn check_world(world: &World, choices: &mut Choices<'_>) {
    let documents = &world.documents;
    let (first, second) = documents.split_at(choices.below(documents.len() + 1));
    let layouts = if world.is_faulty { 1 } else { LAYOUTS };
    let sources =
        [("", file(first, choices.below(layouts))), ("b.json", file(second, choices.below(layouts)))];
    for query in &world.requests {
        let params = SearchParams::new()
            .order(query.params.order.as_deref())
            .offset(query.params.offset.as_deref())
            .limit(query.params.limit.as_deref())
            .count(query.params.count.as_deref());
        let Ok(request) =
            FilterBuilder::new(&query.catalog).request(query.body.to_string().as_bytes(), &params)
        else {
            continue;
        };
        let counts = FacetsRequest::new(request.filter.clone()).with_facets(facets(&query.catalog, choices));
        for mode in MODES {
            check_counts(&world.catalog, mode, &sources, (&request, &counts));
        }
        let chunk = [1, 7, 1 << 16][choices.below(3)];
        for mode in MODES {
            let request = request.clone().with_cursor(choices.chance(1, 2));
            check_pages(&world.catalog, mode, &sources, &request, chunk);
            if choices.chance(1, 3) {
                check_pages(
                    &world.catalog,
                    mode,
                    &sources,
                    &request.with_limit(1).with_offset(0).with_cursor(true),
                    chunk,
                );
            }
        }
    }
}

/// Returns facets of all forms that fit fields of a catalogue.
fn facets(catalog: &Catalog, choices: &mut Choices<'_>) -> Vec<Facet> {
    const FORMS: [&str; 11] = [
        "",
        ":limit=1",
        ":limit=1000",
        ":stats",
        ":month",
        ":hour",
        ":width=10",
        ":width=0.5",
        ":edges=0",
        ":edges=-1,0,100",
        ":width=1e-300",
    ];
    let mut facets = Vec::new();
    for field in catalog.fields() {
        let form = FORMS[choices.below(FORMS.len())];
        if let Ok(facet) = Facet::parse(catalog, &format!("{}{form}", field.name()))
            && choices.chance(1, 3)
        {
            facets.push(facet.with_own_criteria_apart(choices.chance(1, 2)));
        }
    }
    facets.truncate(Limits::default().facets);
    facets
}

/// Checks that a scan counts what an engine counts.
#[track_caller]
fn check_counts(
    catalog: &Catalog,
    mode: ImportMode,
    sources: &Sources<'_>,
    (request, counts): (&SearchRequest, &FacetsRequest),
) {
    let limits = Limits::default();
    let scan = Scan::new(catalog, &limits, mode, request).unwrap().with_facets(counts).unwrap();
    let scanned = by_scan(scan, sources, 1 << 16);
    let Ok((engine, _)) = by_engine(catalog, &limits, mode, sources, 1 << 16) else {
        assert!(matches!(scanned, Err(ScanError::Refused(_))), "{scanned:?}");
        return;
    };
    match (scanned, engine.search_with_facets(request, counts)) {
        (Ok((own, _)), Ok((page, expected))) => {
            assert_eq!(own.facets.unwrap(), expected, "{counts:?}");
            assert_eq!(parts(&own.answer), parts(&page));
        }
        (Err(ScanError::Search(own)), Err(expected)) => assert_eq!(own, expected),
        (own, expected) => panic!("{own:?}, expected {expected:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_and_engines_agree_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut choices = Choices::new(&bytes);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }

    #[test]
    fn scans_and_engines_agree_in_full_worlds(seed in any::<u64>()) {
        let mut choices = Choices::seeded(seed);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }
}

/// Worlds of several blocks, with and without faults and repeated ids.
#[test]
fn scans_and_engines_agree_on_many_documents() {
    for (seed, (repeats, faults)) in (0..).zip([(false, false), (true, false), (true, true), (false, true)]) {
        let mut choices = Choices::seeded(seed);
        let size = Size { documents: 10_000, requests: 5, repeats, faults };
        let world = World::new(&mut choices, size);
        check_world(&world, &mut choices);
    }
}

fn line(id: impl std::fmt::Display, amount: i64) -> String {
    format!("{{\"id\":\"{id}\",\"totalAmountInDefaultCurrency\":{amount},\"tags\":[\"t{}\"]}}", amount % 3)
}

/// Returns requests of all kinds of orders and pages.
fn requests(catalog: &Catalog) -> Vec<SearchRequest> {
    let mut all = Vec::new();
    for filter in ["true", "tags = t1", "totalAmountInDefaultCurrency > 3", "false"] {
        let filter = Filter::compile_text(catalog, filter).unwrap();
        for order in [
            "",
            "totalAmountInDefaultCurrency",
            "-totalAmountInDefaultCurrency",
            "-id",
            "name,-totalAmountInDefaultCurrency",
        ] {
            let order = Order::parse_list(catalog, order).unwrap();
            for (offset, limit) in [(0, 3), (2, 2), (0, 0), (0, 100), (100, 3)] {
                let request = SearchRequest::new(filter.clone()).with_order(order.clone());
                all.push(
                    request
                        .with_offset(offset)
                        .with_limit(limit)
                        .with_count(limit != 2)
                        .with_cursor(limit == 2),
                );
            }
        }
    }
    all
}

#[test]
fn repeated_ids_are_replaced_in_every_position() {
    let catalog = Catalog::cases();
    let requests = requests(&catalog);
    const IDS: usize = 7;
    for first in 0..IDS {
        for second in 0..IDS {
            // The documents at these positions have the same id, and the last but one of another id is repeated at the end.
            let mut lines: Vec<String> =
                (0..IDS).map(|at| line(if at == second { first } else { at }, at as i64)).collect();
            if first == 2 {
                lines.push(line(5, -1));
                lines.push(line(5, 9));
            }
            let sources = [("a", file(&lines[..4], 0)), ("b", file(&lines[4..], 1))];
            for request in &requests {
                check_pages(&catalog, ImportMode::Strict, &sources, request, 1 << 16);
            }
        }
    }
}

#[test]
fn repeated_ids_are_replaced_across_blocks() {
    let catalog = Catalog::cases();
    let mut lines: Vec<String> = (0..9_000).map(|at| line(at, at * 7 % 1_000)).collect();
    for (at, amount) in [(0, 5_000), (1, -5), (4_096, 5_001), (8_999, -6), (4_096, 2), (0, 1), (4_000, 999)] {
        lines.push(line(at, amount));
    }
    lines.extend((9_000..9_100).map(|at| line(at, at)));
    let sources = [("a", file(&lines, 0))];
    for request in requests(&catalog) {
        check_pages(&catalog, ImportMode::Strict, &sources, &request, 1 << 16);
    }
    let all: Vec<String> =
        (0..3).flat_map(|round| (0..3_000).map(move |at| line(at, at * (round + 1) % 997))).collect();
    let sources = [("a", file(&all, 0))];
    for request in requests(&catalog) {
        check_pages(&catalog, ImportMode::Strict, &sources, &request, 1 << 16);
    }
}

#[test]
fn values_of_replaced_documents_do_not_count() {
    let catalog = Catalog::cases();
    let mut lines: Vec<String> = (0..9_000).map(|at| line(at, at * 7 % 1_000)).collect();
    lines.extend([(0, 5_000), (4_096, 5_001), (4_096, 2), (8_999, 1)].map(|(at, amount)| line(at, amount)));
    let amount = "totalAmountInDefaultCurrency";
    for filter in ["true", "tags = t1", "tags = t1 and totalAmountInDefaultCurrency < 700", "false"] {
        let filter = Filter::compile_text(&catalog, filter).unwrap();
        let forms = ["tags", "tags:limit=1", "id:limit=2"].map(str::to_owned).into_iter();
        let forms =
            forms.chain(["", ":stats", ":width=100", ":edges=10,5000"].map(|form| format!("{amount}{form}")));
        let facets = forms.flat_map(|form| {
            let facet = Facet::parse(&catalog, &form).unwrap();
            [facet.clone(), facet.with_own_criteria_apart(true)]
        });
        let counts = FacetsRequest::new(filter.clone()).with_facets(facets);
        let request = SearchRequest::new(filter).with_limit(2).with_count(true);
        check_counts(&catalog, ImportMode::Strict, &[("a", file(&lines, 0))], (&request, &counts));
    }
}

#[test]
fn malformed_documents_refuse_the_file_wherever_they_are() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::compile_text(&catalog, "id = 3").unwrap()).with_limit(1);
    let lines: Vec<String> = (0..9_000).map(|at| line(at, at)).collect();
    let faults = [
        "{\"id\":7}",
        "{}",
        "{\"id\":\"x\",\"tags\":3}",
        "{\"id\":\"x\",\"name\":1,\"tags\":true}",
        "{",
        "\u{1}",
        "{\"id\":\"x\",\"a\":1,\"a\":2}",
        "{\"id\":\"3\",\"createdAt\":\"yesterday\"}",
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        for at in [0, 1, 4_095, 4_096, 8_999] {
            let mut lines = lines.clone();
            lines[at] = fault.to_owned();
            // A second fault, which comes later.
            lines.push("{\"id\":1}".to_owned());
            for layout in 0..2 {
                let sources = [("a", file(&lines, layout)), ("b", Vec::new())];
                if number > 2 && at > 4_095 {
                    continue;
                }
                for mode in MODES {
                    check(&catalog, mode, &sources, &request, 1 << 16);
                }
            }
        }
    }
}

#[test]
fn errors_of_files_come_after_those_of_their_documents() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::all(&catalog));
    for text in [
        "[{\"id\":\"a\"},{\"id\":2}",
        "[{\"id\":\"a\"}",
        "[{\"id\":\"a\"}] x",
        "{\"list\":{\"items\":[{\"id\":\"a\"}]",
        "\u{1f}\u{8b}",
        "PK\u{3}\u{4}",
        "",
        " ",
        "[]",
        "\u{feff}{\"id\":\"a\"}",
        "{\"id\":\"a\"",
        "{\"id\":\n\"a\"}\n{\"id\":\n\"b\"} x {\"id\":\"c\"}",
        "{\"items\":1}",
    ] {
        for chunk in [1, 1 << 16] {
            for mode in MODES {
                check(
                    &catalog,
                    mode,
                    &[("a", text.into()), ("b", b"{\"id\":\"b\"}".to_vec())],
                    &request,
                    chunk,
                );
            }
        }
    }
}

#[test]
fn documents_over_the_limit_are_refused() {
    let catalog = Catalog::cases();
    let limits = Limits::default().with_document_bytes(60);
    let request = SearchRequest::new(Filter::all(&catalog));
    let lines = [line("a", 1), line("x".repeat(100), 1), line("b", 2)];
    for layout in 0..LAYOUTS {
        for mode in MODES {
            check_within(&catalog, &limits, mode, &[("a", file(&lines, layout))], &request, 13);
        }
    }
}

#[test]
fn a_request_that_does_not_fit_is_an_error() {
    let catalog = Catalog::cases();
    let all = SearchRequest::new(Filter::all(&catalog));
    let new = |request: &SearchRequest| {
        Scan::new(&catalog, &Limits::default(), ImportMode::Strict, request).map(|_| ())
    };
    let kind = |request: &SearchRequest| new(request).unwrap_err().kind;
    assert_eq!(kind(&all.clone().with_limit(u64::MAX)), ErrorKind::PageTooLarge);
    let other = SearchRequest::new(Filter::all(
        &Catalog::new([])
            .unwrap()
            .with([casefilter::Field::new("x", casefilter::FieldType::Number)])
            .unwrap(),
    ));
    assert_eq!(kind(&other), ErrorKind::CatalogMismatch);
    let by_name =
        all.clone().with_order(Order::parse(&catalog, "name").unwrap()).with_limit(1).with_cursor(true);
    let scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &by_name).unwrap();
    let next = scan.read(Reader::new("{\"id\":\"a\"}\n{\"id\":\"b\"}")).unwrap().answer.next().cloned();
    assert_eq!(kind(&all.clone().with_after(next.clone())), ErrorKind::BadCursor);
    assert_eq!(kind(&by_name.with_after(next).with_offset(1)), ErrorKind::BadValue);
}

#[test]
fn a_cursor_that_is_too_long_is_an_error() {
    let catalog = Catalog::cases();
    let text = format!("{{\"id\":\"a\",\"name\":\"{}\"}}\n{{\"id\":\"b\"}}\n", "x".repeat(70_000));
    let request =
        SearchRequest::new(Filter::all(&catalog)).with_order(Order::parse(&catalog, "name").unwrap());
    for limit in [1, 2] {
        let request = request.clone().with_limit(limit).with_cursor(true);
        let found =
            check(&catalog, ImportMode::Strict, &[("", text.clone().into_bytes())], &request, 1 << 16);
        assert_eq!(found.is_some(), limit == 2);
    }
}

#[test]
fn scans_stop() {
    let catalog = Catalog::cases();
    let lines: Vec<String> = (0..20_000).map(|at| line(at, at)).collect();
    let text = file(&lines, 0);
    let request = SearchRequest::new(Filter::all(&catalog));
    let run = |request: &SearchRequest| -> Result<ScanAnswer, Error> {
        let scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, request)?;
        scan.read(Reader::new(&text)).map_err(|error| match error {
            ScanError::Search(error) => error,
            other => panic!("{other}"),
        })
    };
    let token = CancelToken::new();
    assert_eq!(run(&request.clone().with_cancel(token.clone())).unwrap().documents, 20_000);
    token.cancel();
    assert_eq!(run(&request.clone().with_cancel(token)).unwrap_err().kind, ErrorKind::SearchCancelled);
    assert!(run(&request.clone().with_deadline(Deadline::new(|| false))).is_ok());
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for most in [0, 1, 2] {
        asked.store(0, std::sync::atomic::Ordering::Relaxed);
        let own = std::sync::Arc::clone(&asked);
        let deadline = Deadline::new(move || own.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= most);
        assert_eq!(
            run(&request.clone().with_deadline(deadline)).unwrap_err().kind,
            ErrorKind::DeadlineExceeded
        );
        assert_eq!(
            asked.load(std::sync::atomic::Ordering::Relaxed),
            most + 1,
            "a stopped scan stays stopped"
        );
    }
}

#[test]
fn a_failed_scan_stays_failed() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::all(&catalog));
    let mut scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &request).unwrap();
    scan.push(b"{\"id\":1}\n").unwrap();
    let refused = scan
        .begin_source("b")
        .and_then(|()| scan.push(b"[]"))
        .and_then(|()| scan.push(b" and more"))
        .unwrap_err();
    let again = scan.push(b"{}").unwrap_err();
    assert_eq!(refused.to_string(), again.to_string());
    assert!(refused.to_string().contains("line 1: id"), "{refused}");
    assert_eq!(scan.finish().unwrap_err().to_string(), again.to_string());
}

#[test]
fn documents_that_the_caller_splits_are_scanned() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::all(&catalog)).with_count(true);
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Lenient);
    let mut scan = Scan::new(&catalog, &Limits::default(), ImportMode::Lenient, &request).unwrap();
    import.begin_source("x.csv").unwrap();
    scan.begin_source("x.csv").unwrap();
    let documents = [
        Ok(&b"{\"id\":\"a\"}"[..]),
        Err(Error::new(ErrorKind::Syntax, 0, "3 cells", "1 cell")),
        Ok(b"{\"id\":\"b\",\"tags\":1}"),
    ];
    for (line, document) in (2..).zip(documents) {
        import.push_document(line * 3, document.clone()).unwrap();
        scan.push_document(line * 3, document).unwrap();
    }
    let report = import.commit().unwrap();
    let ScanOutcome::Answer(found) = scan.finish().unwrap() else { panic!("no id is repeated") };
    assert_eq!(found.report, report);
    assert_eq!(parts(&found.answer), parts(&engine.search(&request).unwrap()));
}

#[test]
fn a_scan_without_documents_has_the_same_ids() {
    let catalog = Catalog::cases();
    let mut lines: Vec<String> = (0..9_000).map(|at| line(at, at * 7 % 1_000)).collect();
    for repeats in [0, 2] {
        lines.extend((0..repeats).map(|at| line(at, 2_000 + at)));
        let sources = [("a", file(&lines, 0))];
        let engine = Engine::builder(catalog.clone()).without_documents().build();
        engine.upsert_many(&sources[0].1).unwrap();
        for request in requests(&catalog) {
            let scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &request).unwrap();
            let (found, _) = by_scan(scan.without_documents(), &sources, 1 << 16).unwrap();
            assert_eq!(parts(&found.answer), parts(&engine.search(&request).unwrap()));
        }
    }
}

#[test]
fn unknown_ids_are_those_that_no_document_has() {
    let catalog = Catalog::cases();
    let request = SearchRequest::new(Filter::none(&catalog));
    let scan = Scan::new(&catalog, &Limits::default(), ImportMode::Strict, &request).unwrap();
    let scan = scan.seek_ids(["z", "a", "y", "b"]);
    let found = scan
        .read(Reader::new("{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\",\"name\":\"again\"}\n"))
        .unwrap();
    assert_eq!(found.unknown_ids, ["z", "y"]);
    assert_eq!((found.documents, found.selected, found.report.replaced), (2, 0, 1));
}
