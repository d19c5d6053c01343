//! Runs the conformance vectors of `tests/data` on the library: requests with the expected ids in order, the expected totals, and
//! the expected errors.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use casefilter::{
    Catalog, Engine, Filter, FilterBuilder, ImportMode, Operator, Scan, SearchParams, SearchRequest,
    reference,
};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns a parameter of a request as the text of a query string.
fn param(request: &Value, name: &str) -> Option<String> {
    match &request[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn request(catalog: &Catalog, line: &Value) -> Result<SearchRequest, casefilter::Errors> {
    let body = match &line["body"] {
        Value::String(raw) => raw.clone(),
        body => body.to_string(),
    };
    let [order, offset, limit, count] =
        ["order", "offset", "limit", "countTotalItems"].map(|name| param(line, name));
    let params = SearchParams::new()
        .order(order.as_deref())
        .offset(offset.as_deref())
        .limit(limit.as_deref())
        .count(count.as_deref());
    FilterBuilder::new(catalog).request(body.as_bytes(), &params)
}

/// Returns the cases as a Parquet file whose row groups are small.
#[cfg(feature = "arrow")]
fn columns_of(catalog: &Catalog, documents: &[&str]) -> bytes::Bytes {
    let writer = casefilter::arrow::ParquetWriter::new(Vec::new(), catalog, None).unwrap();
    let mut writer = writer.with_group_rows(documents.len().div_ceil(3));
    documents.iter().for_each(|document| writer.push(document).unwrap());
    writer.finish().unwrap().into()
}

/// Checks that a scan of the Parquet file finds the cases of an answer.
#[cfg(feature = "arrow")]
fn check_columns(file: &bytes::Bytes, request: &SearchRequest, answer: &casefilter::SearchAnswer) {
    let catalog = request.filter.catalog();
    let scan = Scan::new(catalog, &casefilter::Limits::default(), ImportMode::Strict, request).unwrap();
    let scanned = scan.read_parquet(file.clone()).unwrap().answer;
    assert_eq!(scanned.ids().collect::<Vec<_>>(), answer.ids().collect::<Vec<_>>(), "{request:?}");
    assert_eq!(scanned.total(), answer.total(), "{request:?}");
}

/// Runs the requests of a file on the cases `name`.
fn check(name: &str, requests: &str, catalog: &Catalog, wanted_requests: usize) {
    let cases = fs::read_to_string(data(&format!("{name}.cases.ndjson"))).unwrap();
    let documents: Vec<&str> = cases.lines().collect();
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Strict);
    import.begin_source(name).unwrap();
    for piece in cases.as_bytes().chunks(1000) {
        import.push(piece).unwrap();
    }
    import.commit().unwrap();
    engine.validate().unwrap();
    assert_eq!(engine.len(), documents.len());

    let requests = fs::read_to_string(data(&format!("{name}.{requests}.ndjson"))).unwrap();
    #[cfg(feature = "arrow")]
    let columns = columns_of(catalog, &documents);
    let mut seen = 0;
    for (number, line) in requests.lines().enumerate() {
        let note = || format!("{name}, line {}: {line}", number + 1);
        let line: Value = serde_json::from_str(line).unwrap();
        let expect = &line["expect"];
        seen += 1;
        let request = match request(catalog, &line["request"]) {
            Ok(request) => request,
            Err(errors) => {
                assert_eq!(expect["error"], true, "{errors}\n{}", note());
                assert!(errors.message().starts_with("Invalid parameters: "), "{}", note());
                continue;
            }
        };
        assert_ne!(expect["error"], true, "no error: {}", note());
        let answer = engine.search(&request).unwrap();
        let ids: Vec<&str> = answer.ids().collect();
        assert_eq!(Value::from(ids.clone()), expect["ids"], "{}", note());
        assert_eq!(answer.total(), expect["totalItems"].as_u64(), "{}", note());

        let scan = Scan::new(catalog, engine.limits(), ImportMode::Strict, &request).unwrap();
        let scanned = scan.read(Cursor::new(&cases)).unwrap();
        assert_eq!(scanned.answer.to_json(), answer.to_json(), "by a scan: {}", note());

        #[cfg(feature = "arrow")]
        check_columns(&columns, &request, &answer);

        let (page, total) = reference::search(&documents, &request).unwrap();
        assert_eq!(
            answer.documents().collect::<Vec<_>>(),
            page.iter().map(|at| documents[*at]).collect::<Vec<_>>()
        );
        assert_eq!(total, engine.count(&request.filter).unwrap(), "{}", note());
    }
    assert_eq!(seen, wanted_requests);
}

#[test]
fn the_plain_vectors_pass() {
    check("plain", "requests", &Catalog::cases(), 250);
}

#[test]
fn the_weird_vectors_pass() {
    check("weird", "requests", &Catalog::cases(), 414);
}

/// Requests with the extended operators, answered by a program in Python.
#[test]
fn the_extended_vectors_pass() {
    for name in ["plain", "weird"] {
        check(name, "extended", &Catalog::cases().extended(), 120);
    }
}

/// Folding of strings as in `tests/data/folding.tsv`: code points of a string, a tab, and those of its folding. The file was made
/// with the `unicodedata` of Python, which shares no code with the library.
#[test]
fn strings_fold_as_another_implementation_folds_them() {
    let text = |codes: &str| -> String {
        let codes = codes.split(' ').filter(|code| !code.is_empty());
        codes.map(|code| char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap()).collect()
    };
    let catalog = Catalog::cases();
    let matches = |value: &str, name: &str| {
        let filter = Filter::test(&catalog, "name", Operator::Match, [value])?;
        let document = serde_json::json!({"id": "1", "name": name}).to_string();
        Ok::<_, casefilter::Errors>(filter.matches(document.as_bytes()).unwrap())
    };
    let (mut seen, mut empty) = (0, 0);
    for line in fs::read_to_string(data("folding.tsv")).unwrap().lines() {
        let (original, folded) = line.split_once('\t').unwrap();
        let (original, folded) = (text(original), text(folded));
        seen += 1;
        if folded.trim().is_empty() {
            // It has no word to search for.
            assert!(matches(&original, "x").is_err(), "{line}");
            empty += 1;
            continue;
        }
        // The string and its folding match each other. They are not compared for equality, since there may be blanks around the
        // words.
        for (value, name) in [(&original, &folded), (&folded, &original)] {
            assert_eq!(matches(value, name), Ok(true), "{line}: {value} in {name}");
        }
    }
    assert!(seen > 2000 && empty > 50, "{seen} {empty}");
}
