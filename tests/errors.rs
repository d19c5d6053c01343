//! Tests every kind of error, with position and message, by the cases in `tests/data/errors.txt`.
//!
//! Each case in the file is a block of lines: one input (`body`, `extended`, `text` or `case`; `extended` is a body that may use
//! all operators), optionally `limits` and `params`, then one line for each error: `> kind path @offset: message`, where `-` is the
//! empty path. In an input, `‹FF›` is the byte 0xFF, `‹x*9›` is `x` nine times, and `‹nl›` is a line feed. With `BLESS=1`, the test
//! writes the actual errors to the file. Review the changes of the file before you commit them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use casefilter::{Catalog, Error, Errors, Filter, FilterBuilder, Limits, SearchParams};

const FILE: &str = "tests/data/errors.txt";

/// Returns the bytes of an input, with its escapes replaced.
fn expand(input: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = input;
    while let Some((before, behind)) = rest.split_once('‹') {
        bytes.extend_from_slice(before.as_bytes());
        let (code, behind) = behind.split_once('›').expect("a closing ›");
        match code.split_once('*') {
            Some((unit, count)) => bytes.extend_from_slice(unit.repeat(count.parse().unwrap()).as_bytes()),
            None if code == "nl" => bytes.push(b'\n'),
            None => bytes.push(u8::from_str_radix(code, 16).unwrap()),
        }
        rest = behind;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// Returns the name and value of each `name=value` word.
fn settings(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split_whitespace().map(|word| word.split_once('=').expect("name=value"))
}

fn limits(line: &str) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in settings(line) {
        let value: usize = value.parse().unwrap();
        match name {
            "body_bytes" => limits.body_bytes = value,
            "depth" => limits.depth = value,
            "criteria" => limits.criteria = value,
            "values" => limits.values = value,
            "ids" => limits.ids = value,
            "string_bytes" => limits.string_bytes = value,
            "page" => limits.page = value as u64,
            _ => panic!("no limit `{name}`"),
        }
    }
    limits
}

fn params(line: &str) -> SearchParams<'_> {
    let mut params = SearchParams::new();
    for (name, value) in settings(line) {
        match name {
            "offset" => params = params.offset(value),
            "limit" => params = params.limit(value),
            "order" => params = params.order(value),
            "countTotalItems" => params = params.count(value),
            "pageCursor" => params = params.cursor(value),
            "after" => params = params.after(value),
            _ => panic!("no parameter `{name}`"),
        }
    }
    params
}

fn show(error: &Error) -> String {
    let path = if error.path.is_empty() { "-" } else { &error.path };
    format!("> {} {path} @{}: {}", error.kind.code(), error.offset, error.message())
}

/// Returns the errors of one case, in the format of its lines.
fn errors(block: &[&str]) -> Vec<String> {
    let line = |name: &str| {
        block.iter().find_map(|line| {
            line.strip_prefix(name)?.strip_prefix(' ').or(Some("").filter(|_| *line == name))
        })
    };
    let catalog = Catalog::cases();
    let limits = limits(line("limits").unwrap_or_default());
    let params = params(line("params").unwrap_or_default());
    let filter = if let Some(case) = line("case") {
        let error = Filter::all(&catalog).matches(&expand(case)).expect_err(case);
        return vec![show(&error)];
    } else if let Some(text) = line("text") {
        FilterBuilder::new(&catalog)
            .with_limits(limits.clone())
            .text(std::str::from_utf8(&expand(text)).unwrap())
    } else if let Some(body) = line("extended") {
        FilterBuilder::new(&catalog.extended()).with_limits(limits.clone()).json(&expand(body))
    } else {
        let body = expand(line("body").expect("an input"));
        FilterBuilder::new(&catalog).with_limits(limits.clone()).json(&body)
    };
    let catalog = if line("extended").is_some() { catalog.extended() } else { catalog };
    match Errors::both(filter, params.parse(&catalog, &limits)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.as_slice().iter().map(show).collect(),
    }
}

#[test]
fn every_case_gives_exactly_its_errors() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut found = String::new();
    let mut wrong = Vec::new();
    for block in text.split("\n\n") {
        let block: Vec<&str> = block.trim_matches('\n').lines().collect();
        let (expected, given): (Vec<&str>, Vec<&str>) = block.iter().partition(|line| line.starts_with('>'));
        if !found.is_empty() {
            found.push('\n');
        }
        for line in &given {
            writeln!(found, "{line}").unwrap();
        }
        if given.iter().all(|line| line.starts_with('#')) {
            continue;
        }
        let errors = errors(&given);
        for error in &errors {
            writeln!(found, "{error}").unwrap();
        }
        if errors != expected {
            wrong.push(format!(
                "{}\nexpected\n{}\nfound\n{}",
                given.join("\n"),
                expected.join("\n"),
                errors.join("\n")
            ));
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(FILE, found).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_kind_has_a_case() {
    // All kinds, from `ErrorKind::code`, so that none is forgotten.
    let source = std::fs::read_to_string("src/error.rs").unwrap();
    let codes = source.split_once("fn code(self)").unwrap().1.split_once("/// An error in").unwrap().0;
    let kinds: BTreeSet<&str> = codes
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.split_once('"'))
        .map(|(code, _)| code)
        .collect();
    assert!(kinds.len() >= 28, "{kinds:?}");
    let text = std::fs::read_to_string(FILE).unwrap();
    let covered: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("> ")?.split_once(' '))
        .map(|(code, _)| code)
        .collect();
    // Kinds that no input text can cause, and the tests that cover them.
    let elsewhere = [
        ("bad_file", "tests/parquet.rs", "ErrorKind::BadFile"),
        ("catalog_mismatch", "tests/misuse.rs", "ErrorKind::CatalogMismatch"),
        ("no_folded_column", "tests/sql.rs", "ErrorKind::NoFoldedColumn"),
        ("not_in_sql", "tests/sql.rs", "ErrorKind::NotInSql"),
        ("bad_value", "src/domain/tests/mod.rs", "ErrorKind::BadValue"),
        ("search_cancelled", "src/engine/search/strategy.rs", "ErrorKind::SearchCancelled"),
        ("deadline_exceeded", "src/engine/search/strategy.rs", "ErrorKind::DeadlineExceeded"),
        ("too_many_batches", "tests/limits.rs", "ErrorKind::TooManyBatches"),
        ("too_many_facets", "tests/facets.rs", "ErrorKind::TooManyFacets"),
        ("too_many_filters", "tests/standing.rs", "ErrorKind::TooManyFilters"),
        ("too_many_buckets", "tests/facets.rs", "ErrorKind::TooManyBuckets"),
    ];
    let is_tested = |kind: &str| {
        elsewhere.iter().any(|(code, file, name)| {
            *code == kind && std::fs::read_to_string(file).is_ok_and(|test| test.contains(name))
        })
    };
    let missing: Vec<_> = kinds.difference(&covered).filter(|kind| !is_tested(kind)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    let unknown: Vec<_> = covered.difference(&kinds).collect();
    assert!(unknown.is_empty(), "no such kinds: {unknown:?}");
}

#[test]
fn errors_show_place_and_message_in_one_line() {
    let errors =
        Filter::compile(&Catalog::cases(), br#"{"criteria":[{"field":"nme","op":"!=","values":["a"]}]}"#)
            .unwrap_err();
    assert_eq!(
        errors.to_string(),
        "criteria[0].field (byte 22): found `nme`, expected a field of the catalogue; did you mean `name`?; \
         criteria[0].op (byte 33): found `!=`, expected one of `=`, `<>`, `>`, `>=`, `<`, `<=`, `$contains`, `$all` \
         beside `field`; did you mean `<>`?"
    );
    assert!(errors.message().starts_with("Invalid parameters: criteria[0].field"));
}
