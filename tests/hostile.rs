//! Tests hostile input: each input must cause an error with a position, in a short time and on a stack of 256 KiB.

use std::time::{Duration, Instant};

use casefilter::{
    Catalog, Completions, Engine, ErrorKind, Errors, Filter, FilterBuilder, ImportMode, Limits,
    SearchRequest, reference,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Runs `work` on a stack that deep recursion would overflow.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

fn wide() -> Limits {
    Limits::default().with_body_bytes(usize::MAX).with_depth(usize::MAX)
}

/// Returns the errors of a body that must have some, under the default limits except for its size.
#[track_caller]
fn errors_of(body: impl AsRef<[u8]>) -> Errors {
    let limits = Limits::default().with_body_bytes(usize::MAX);
    FilterBuilder::new(&Catalog::cases())
        .with_limits(limits.clone())
        .json(body.as_ref())
        .expect_err("an error")
}

#[track_caller]
fn first(body: impl AsRef<[u8]>) -> (ErrorKind, String, usize) {
    let errors = errors_of(body);
    let error = &errors.as_slice()[0];
    (error.kind, error.path.clone(), error.offset)
}

const DEEP: usize = 1_000_000;

#[test]
fn a_million_levels_anywhere_are_an_error() {
    on_a_small_stack(|| {
        let arrays = "[".repeat(DEEP);
        let objects = "{\"a\":".repeat(DEEP);
        let closed = format!("{arrays}{}", "]".repeat(DEEP));
        let unit = r#"{"op":"$and","children":["#;
        let criteria = unit.repeat(DEEP / 10);
        for inner in [&arrays, &objects, &closed, &criteria] {
            for (before, behind, kind) in [
                ("", "", None),
                ("{\"criteria\":", "}", None),
                ("{\"criteria\":[", "]}", None),
                ("{\"ids\":", "}", None),
                ("{\"ids\":[", "]}", Some(ErrorKind::WrongType)),
                ("{\"x\":", "}", Some(ErrorKind::UnknownKey)),
                // A complete criterion: a missing key would be reported before the deep nesting.
                (
                    "{\"criteria\":[{\"op\":\"=\",\"values\":[\"a\"],\"field\":",
                    "}]}",
                    Some(ErrorKind::WrongType),
                ),
                ("{\"criteria\":[{\"op\":", "}]}", Some(ErrorKind::WrongType)),
                ("{\"criteria\":[{\"values\":", "}]}", None),
                ("{\"criteria\":[{\"values\":[", "]}]}", None),
                ("{\"criteria\":[{\"x\":", "}]}", Some(ErrorKind::UnknownKey)),
                ("{\"criteria\":[{\"children\":", "}]}", None),
            ] {
                let found = first(format!("{before}{inner}{behind}"));
                if let Some(kind) = kind {
                    assert_eq!(found.0, kind, "{before}");
                }
                assert!(found.1.len() < 2100, "{before}");
            }
        }
        // The body is well-formed. The error names the first criterion over the limit.
        let body = format!("{{\"criteria\":[{}{}]}}", unit.repeat(DEEP), "]}".repeat(DEEP));
        let (kind, path, offset) = first(body);
        assert_eq!((kind, offset), (ErrorKind::TooDeep, 13 + 32 * unit.len()));
        assert_eq!(path, format!("criteria[0]{}", ".children[0]".repeat(32)));
    });
}

#[test]
fn nesting_that_a_host_allows_takes_no_stack() {
    on_a_small_stack(|| {
        let levels = 2000;
        let leaf = r#"{"field":"name","op":"=","values":["x"]}"#;
        let mut body = String::from("{\"criteria\":[");
        for level in 0..levels {
            let op = if level % 2 == 0 { "$or" } else { "$and" };
            body +=
                &format!(r#"{{"op":"{op}","children":[{{"field":"tags","op":"=","values":["{level}"]}},"#);
        }
        body += leaf;
        body += &"]}".repeat(levels);
        body += "]}";
        let filter = FilterBuilder::new(&Catalog::cases()).with_limits(wide()).json(body.as_bytes()).unwrap();
        assert_eq!(filter.size(), 2 * levels + 1);
        let printed = (filter.to_json(), filter.to_text(), filter.plan(), filter.warnings().len());
        assert!(printed.0.len() > levels);
        assert_eq!(
            FilterBuilder::new(&Catalog::cases()).with_limits(wide()).json(printed.0.as_bytes()).unwrap(),
            filter
        );
        assert_eq!(
            FilterBuilder::new(&Catalog::cases()).with_limits(wide()).text(&printed.1).unwrap(),
            filter
        );
        let case = r#"{"id":"1","tags":["0"]}"#;
        assert_eq!(filter.unoptimized().matches(case.as_bytes()), Ok(true));
        let why = reference::why(&filter, case).unwrap();
        assert!(why.selected && why.criteria.len() == 2 * levels + 2 && !why.to_string().is_empty());
        let engine = Engine::new(Catalog::cases());
        engine.upsert(case.as_bytes()).unwrap();
        let explanation = engine.analyze(&SearchRequest::new(filter.clone()), &|| Duration::ZERO).unwrap();
        assert_eq!((explanation.nodes.len(), explanation.nodes[0].kept), (2 * levels + 1, Some(1)));
        assert!(!explanation.to_string().is_empty());
        drop(filter.clone());
    });
}

#[test]
fn repeated_keys_are_an_error_at_every_level() {
    for (body, path) in [
        (r#"{"ids":[],"ids":[]}"#, "ids"),
        (r#"{"ids":null,"ids":[]}"#, "ids"),
        (r#"{"ids":[],"\u0069ds":[]}"#, "ids"),
        (r#"{"criteria":[],"criteria":null}"#, "criteria"),
        (r#"{"criteria":[{"op":"$and","op":"$or","children":[]}]}"#, "criteria[0].op"),
        (r#"{"criteria":[{"op":"$and","children":[],"children":[]}]}"#, "criteria[0].children"),
        (r#"{"criteria":[{"field":"a","field":"a"}]}"#, "criteria[0].field"),
        (r#"{"criteria":[{"values":[],"values":[]}]}"#, "criteria[0].values"),
        (r#"{"criteria":[{"op":"$or","children":[{"op":null,"op":"="}]}]}"#, "criteria[0].children[0].op"),
    ] {
        let errors = errors_of(body);
        let repeated: Vec<&str> = errors
            .as_slice()
            .iter()
            .filter(|error| error.kind == ErrorKind::DuplicateKey)
            .map(|error| error.path.as_str())
            .collect();
        assert_eq!(repeated, [path], "{body}: {errors}");
    }
}

#[test]
fn every_key_rejects_every_other_type() {
    let values = ["{}", "[]", "\"x\"", "1", "true", "null"];
    for (template, path, fitting) in [
        ("{\"ids\":@}", "ids", [1, 5]),
        ("{\"criteria\":@}", "criteria", [1, 5]),
        ("{\"ids\":[@]}", "ids[0]", [2, 2]),
        ("{\"criteria\":[@]}", "criteria[0]", [0, 0]),
        ("{\"criteria\":[{\"field\":@,\"op\":\"=\",\"values\":[\"a\"]}]}", "criteria[0].field", [2, 5]),
        ("{\"criteria\":[{\"field\":\"name\",\"op\":@,\"values\":[\"a\"]}]}", "criteria[0].op", [2, 5]),
        ("{\"criteria\":[{\"field\":\"name\",\"op\":\"=\",\"values\":@}]}", "criteria[0].values", [1, 5]),
        (
            "{\"criteria\":[{\"field\":\"name\",\"op\":\"=\",\"values\":[@]}]}",
            "criteria[0].values[0]",
            [2, 2],
        ),
        ("{\"criteria\":[{\"op\":\"$or\",\"children\":@}]}", "criteria[0].children", [1, 5]),
        ("{\"criteria\":[{\"op\":\"$or\",\"children\":[@]}]}", "criteria[0].children[0]", [0, 0]),
    ] {
        for (number, value) in values.iter().enumerate() {
            if fitting.contains(&number) {
                continue;
            }
            let body = template.replace('@', value);
            let errors = errors_of(&body);
            let [error] = errors.as_slice() else { panic!("{body}: {errors}") };
            assert_eq!((error.kind, error.path.as_str()), (ErrorKind::WrongType, path), "{body}");
            assert_eq!(error.offset, template.find('@').unwrap(), "{body}");
        }
    }
}

#[test]
fn huge_numbers_are_skipped() {
    on_a_small_stack(|| {
        let digits = "9".repeat(1 << 20);
        for number in [digits.clone(), format!("-0.{digits}"), format!("1e{digits}"), format!("1e-{digits}")]
        {
            assert_eq!(first(format!("{{\"ids\":[{number}]}}")), (ErrorKind::WrongType, "ids[0]".into(), 8));
            let body =
                format!(r#"{{"criteria":[{{"field":"review.attemptCnt","op":"=","values":[{number}]}}]}}"#);
            let errors = errors_of(body);
            assert!(errors.to_string().len() < 2_000_000, "{}", errors.to_string().len());
            let text = format!("review.attemptCnt > {number}");
            assert!(Filter::compile_text(&Catalog::cases(), &text).is_err());
        }
        for number in ["9".repeat(4000), format!("1e{}", "9".repeat(4000))] {
            let body =
                format!(r#"{{"criteria":[{{"field":"review.attemptCnt","op":"=","values":["{number}"]}}]}}"#);
            assert_eq!(first(body).0, ErrorKind::BadNumber);
        }
        let tiny = format!(
            r#"{{"criteria":[{{"field":"review.attemptCnt","op":"=","values":["1e-{}"]}}]}}"#,
            "9".repeat(4000)
        );
        let filter = Filter::compile(&Catalog::cases(), tiny.as_bytes()).unwrap();
        assert_eq!(filter.to_text(), "review.attemptCnt = 0");
    });
}

#[test]
fn text_that_is_not_unicode_is_an_error_with_a_position() {
    for surrogate in
        ["\\ud800", "\\udfff", "\\ud800\\ud800", "\\udc00\\ud800", "\\ud800\\u0041", "\\ud83dx\\ude00"]
    {
        for (template, path) in [
            ("{\"ids\":[\"a\",\"@\"]}", "ids[1]"),
            ("{\"criteria\":[{\"field\":\"@\"}]}", "criteria[0].field"),
            ("{\"criteria\":[{\"values\":[\"@\"]}]}", "criteria[0].values[0]"),
            ("{\"criteria\":[{\"@\":1}]}", "criteria[0]"),
            ("{\"@\":1}", ""),
        ] {
            let errors = errors_of(template.replace('@', surrogate));
            let error = errors.as_slice().iter().find(|error| error.kind == ErrorKind::Syntax).unwrap();
            assert_eq!(error.path, path, "{template} {surrogate}");
        }
        assert!(Filter::compile_text(&Catalog::cases(), &format!("name = \"{surrogate}\"")).is_err());
    }
    for bytes in [&b"\xff"[..], b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"] {
        let body = [b"{\"ids\":[\"a\",\"b", bytes, b"\"]}"].concat();
        assert_eq!(first(&body), (ErrorKind::NotUtf8, "ids[1]".into(), 14));
        let body = [b"{\"criteria\":[{\"field\":\"name\"}, {\"op", bytes, b"\":1}]}"].concat();
        assert_eq!(first(&body), (ErrorKind::NotUtf8, "criteria[1]".into(), 35));
        assert_eq!(first(bytes), (ErrorKind::NotUtf8, String::new(), 0));
    }
}

#[test]
fn text_around_the_body_is_an_error() {
    let body = r#"{"ids":["a"]}"#;
    assert_eq!(first(format!("\u{feff}{body}")), (ErrorKind::Syntax, String::new(), 0));
    for (behind, offset) in [
        ("{}", 13),
        (" null", 14),
        (",", 13),
        ("}", 13),
        ("\0", 13),
        ("\u{a0}", 13),
        ("\u{feff}", 13),
        ("//", 13),
    ] {
        assert_eq!(
            first(format!("{body}{behind}")),
            (ErrorKind::Syntax, String::new(), offset),
            "{behind:?}"
        );
    }
    assert!(Filter::compile(&Catalog::cases(), format!("\t\r\n {body} \t\r\n").as_bytes()).is_ok());
    for end in 0..body.len() {
        assert_eq!(first(&body[..end]).0, ErrorKind::Syntax, "{}", &body[..end]);
    }
}

/// Returns the time to reject a body of about this size.
fn time(bytes: usize, make: &dyn Fn(usize) -> String) -> Duration {
    let body = make(bytes);
    let start = Instant::now();
    let errors = errors_of(body);
    let took = start.elapsed();
    assert!(errors.as_slice().len() <= 10);
    took
}

#[test]
fn time_is_linear_in_the_body() {
    let repeat = |bytes: usize, unit: &dyn Fn(usize) -> String| {
        let mut body = String::with_capacity(bytes + 100);
        let mut i = 0;
        while body.len() < bytes {
            body.push_str(&unit(i));
            i += 1;
        }
        body.pop();
        body
    };
    let makers: [(&str, &dyn Fn(usize) -> String); 7] = [
        ("unknown keys of the body", &|bytes| format!("{{{}}}", repeat(bytes, &|i| format!("\"k{i}\":1,")))),
        ("unknown keys of a criterion", &|bytes| {
            format!("{{\"criteria\":[{{{}}}]}}", repeat(bytes, &|i| format!("\"k{i}\":1,")))
        }),
        ("unknown keys of a value", &|bytes| {
            format!("{{\"x\":{{{}}}}}", repeat(bytes, &|i| format!("\"k{i}\":1,")))
        }),
        ("criteria of other types", &|bytes| {
            format!("{{\"criteria\":[{}]}}", repeat(bytes, &|i| format!("{i},")))
        }),
        ("criteria with an unknown key", &|bytes| {
            format!("{{\"criteria\":[{}]}}", repeat(bytes, &|i| format!("{{\"k{i}\":1}},")))
        }),
        ("unknown fields", &|bytes| {
            format!(
                "{{\"criteria\":[{}]}}",
                repeat(bytes, &|i| format!(r#"{{"field":"createdBy{i}","op":"=","values":["x"]}},"#))
            )
        }),
        ("ids that are numbers", &|bytes| format!("{{\"ids\":[{}]}}", repeat(bytes, &|i| format!("{i},")))),
    ];
    for (name, make) in makers {
        let (small, large) = (time(1 << 18, make), time(1 << 22, make));
        // The body is sixteen times larger. The bound allows for a busy machine.
        let bound = small * 16 * 6 + Duration::from_millis(500);
        assert!(large < bound, "{name}: {small:?} for 256 KiB, {large:?} for 4 MiB");
    }
}

#[test]
fn many_criteria_on_a_list_field_are_explained_quickly() {
    let tags: Vec<String> = (0..20_000).map(|tag| format!("\"t{tag}\"")).collect();
    let case = format!("{{\"id\":\"a\",\"tags\":[{}]}}", tags.join(","));
    let criteria: Vec<String> = (0..4000).map(|tag| format!("tags <> \"t{}\"", tag * 10)).collect();
    let filter = Filter::compile_text(&Catalog::cases(), &criteria.join(" and ")).unwrap();
    let engine = Engine::new(Catalog::cases());
    engine.upsert(case.as_bytes()).unwrap();
    let start = Instant::now();
    let why = reference::why(&filter, &case).unwrap();
    assert_eq!(why.criteria.iter().filter(|criterion| criterion.holds).count(), 2000);
    assert!(why.to_string().len() < 4000 * 500);
    #[cfg(feature = "serde")]
    assert!(serde_json::to_string(&why).unwrap().len() < 3_000_000);
    let unoptimized = SearchRequest::new(filter.unoptimized());
    let explanation = engine.analyze(&unoptimized, &|| Duration::ZERO).unwrap();
    assert_eq!((explanation.nodes.len(), explanation.nodes[0].kept), (4001, Some(0)));
    assert!(explanation.to_string().len() < 4000 * 500);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn time_is_linear_in_the_text() {
    for (name, unit) in [
        ("unknown operators", "name != x and "),
        ("words in a row", "name = x y z and "),
        ("criteria side by side", "name = \"x\" "),
        ("open parentheses", "("),
        ("quotes", "''"),
        ("escapes", "\"\\u0041\""),
        ("symbols", "<"),
    ] {
        let time = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            let start = Instant::now();
            assert!(Filter::compile_text(&Catalog::cases(), &text).is_err(), "{name}");
            start.elapsed()
        };
        let (small, large) = (time(1 << 18), time(1 << 22));
        let bound = small * 16 * 6 + Duration::from_millis(500);
        assert!(large < bound, "{name}: {small:?} for 256 KiB, {large:?} for 4 MiB");
    }
}

const JSON_PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\"",
    "\\",
    "null",
    "true",
    "1",
    "-0.5e3",
    "01",
    "nul",
    "\u{feff}",
    "é",
    "\"ids\"",
    "\"criteria\"",
    "\"op\"",
    "\"children\"",
    "\"field\"",
    "\"values\"",
    "\"name\"",
    "\"tags\"",
    "\"=\"",
    "\"$and\"",
    "\"$or\"",
    "\"$contains\"",
    "\"x\"",
    "\"\\u00e9\"",
    "\"\\n\"",
    "{\"ids\":[",
    "{\"criteria\":[",
    "{\"op\":\"$and\",\"children\":[",
    "{\"field\":\"name\",\"op\":\"=\",\"values\":[\"x\"]}",
    "]}",
    "\"field\":",
    "\"values\":[",
];
const TEXT_PIECES: [&str; 32] = [
    "(",
    ")",
    ",",
    " ",
    "\n",
    "'",
    "\"",
    "\"x y\"",
    "''",
    "and ",
    "or ",
    "in ",
    "all ",
    "not ",
    "ids ",
    "true ",
    "false ",
    "=",
    "<>",
    ">",
    "!=",
    "&&",
    "name ",
    "tags ",
    "status ",
    "open",
    "createdAt ",
    "2024-01-01 00:00:00",
    "name = x ",
    "tags in (a, b) ",
    "é",
    ";",
];

const BODIES: [&str; 4] = [
    r#"{"ids":["a","b"],"criteria":[]}"#,
    r#"{"criteria":[{"field":"name","op":"=","values":["x"]},{"field":"tags","op":"$all","values":["a","b"]}]}"#,
    r#"{ "criteria" : [ { "op" : "$or" , "children" : [ { "field" : "name" , "op" : "<>" , "values" : [ "\u00e9" ] } ] } ] }"#,
    r#"{"ids":null,"criteria":[{"op":"$and","children":[{"op":"$or","children":[{"field":"id","op":"=","values":[""]}]}]}]}"#,
];
const TEXTS: [&str; 5] = [
    "name = x and tags in (a, b) or status <> open",
    "ids (a, b) or name = 'it''s' and (tags all (\"x y\", é) or status = open)",
    "createdAt >= \"2024-01-01 00:00:00\" and ((name = x))",
    "(name = x or tags = y) and (name = x or tags = z)",
    "true",
];

/// Fragments in a row, or a valid input with a few fragments inserted or overwriting.
fn soup(sound: &'static [&'static str], pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), 0..8_usize, select(pieces)), 0..4);
    let edited = (select(sound), edits).prop_map(|(sound, edits)| {
        let mut chars: Vec<char> = sound.chars().collect();
        for (at, length, piece) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        chars.into_iter().collect()
    });
    let row = proptest::collection::vec(select(pieces), 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => edited, 1 => row]
}

/// Checks the invariants of a list of errors.
fn check(errors: &Errors, text: &str) {
    let errors = errors.as_slice();
    assert!((1..=10).contains(&errors.len()), "{text}");
    assert!(errors.is_sorted_by_key(|error| error.offset), "{text}");
    for error in errors {
        assert!(error.offset <= text.len() && text.is_char_boundary(error.offset), "{error} in {text}");
        assert!(!error.found.to_string().is_empty() && !error.expected.is_empty(), "{error}");
        assert!(!error.to_string().contains(['\n', '\u{1b}']), "{error}");
    }
}

proptest! {
    #[test]
    fn random_json_is_rejected_exactly_when_serde_json_rejects_it(body in soup(&BODIES, &JSON_PIECES)) {
        let is_json = serde_json::from_str::<serde_json::Value>(&body).is_ok();
        match Filter::compile(&Catalog::cases(), body.as_bytes()) {
            Ok(_) => prop_assert!(is_json, "{}", body),
            Err(errors) => {
                check(&errors, &body);
                if errors.as_slice().len() < 10 {
                    let syntax = errors.as_slice().iter().any(|error| error.kind == ErrorKind::Syntax);
                    prop_assert_eq!(syntax, !is_json, "{}: {}", errors, body);
                }
            }
        }
    }

    #[test]
    fn errors_of_random_text_are_in_order(text in soup(&TEXTS, &TEXT_PIECES)) {
        match Filter::compile_text(&Catalog::cases(), &text) {
            Ok(filter) => {
                let again = Filter::compile_text(&Catalog::cases(), &filter.to_text());
                prop_assert_eq!(again, Ok(filter));
            }
            Err(errors) => check(&errors, &text),
        }
    }
}

#[test]
fn only_the_first_of_very_many_faults_are_listed() {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Lenient);
    let faults = "1,".repeat(1_000_000);
    import
        .push(format!("{{\"id\":\"a\",\"tags\":[{faults}1],\"amlCases\":[{faults}1]}}\n").as_bytes())
        .unwrap();
    import.push("x\n".repeat(150_000).as_bytes()).unwrap();
    let report = import.commit().unwrap();
    assert_eq!((report.stored, report.incomplete, report.skipped), (1, 1, 150_000));
    let of_the_case = report.errors.iter().take_while(|refusal| refusal.kept).count();
    assert_eq!(of_the_case, 10);
    assert_eq!(report.errors.len() as u64 + report.unlisted, 150_010);
    assert!(report.unlisted > 0);
    // The fields are absent anyway.
    let answer = engine
        .search(&SearchRequest::new(Filter::compile_text(engine.catalog(), "tags <> x").unwrap()))
        .unwrap();
    assert_eq!(answer.ids().collect::<Vec<_>>(), ["a"]);
}

/// Imports a file in pieces of this size. Returns the outcome and the number of stored cases.
fn import(
    mode: ImportMode,
    file: &[u8],
    piece: usize,
) -> (Result<casefilter::ImportReport, casefilter::ImportError>, usize) {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(mode);
    let pushed = file.chunks(piece).try_for_each(|bytes| import.push(bytes));
    let outcome = pushed.and_then(|()| import.commit());
    (outcome, engine.len())
}

#[test]
fn an_array_with_a_fault_after_its_cases_stores_nothing() {
    // More than one batch, so that cases are stored long before the fault is found.
    let cases: Vec<String> = (0..70_000).map(|case| format!("{{\"id\":\"{case}\"}}")).collect();
    let cases = cases.join(",\n");
    for (file, line, kind) in [
        (format!("[{cases}"), 70_000, ErrorKind::Syntax),
        (format!("[{cases}]\n]"), 70_001, ErrorKind::Syntax),
        (format!("{{\"list\":{{\"items\":[{cases}]}}"), 70_000, ErrorKind::Syntax),
        (format!("{{\n\"list\":{{\"items\":[{cases}],\"items\":[]}}}}"), 70_001, ErrorKind::DuplicateKey),
        (
            format!("{{\n\"list\":{{\"items\":[{cases}],\"x\":\"{}\"}}}}", "x".repeat(17 << 20)),
            70_001,
            ErrorKind::DocumentTooLarge,
        ),
    ] {
        for mode in [ImportMode::Strict, ImportMode::Lenient] {
            for piece in [1 << 10, 1 << 16, file.len()] {
                let (outcome, cases) = import(mode, file.as_bytes(), piece);
                let refusal = outcome.unwrap_err();
                assert_eq!((refusal.line, refusal.error.kind, cases), (line, kind, 0), "{mode:?}, {piece}");
            }
        }
        let engine = Engine::new(Catalog::cases());
        let refusal = engine.upsert_many(file.as_bytes()).unwrap_err();
        assert_eq!((refusal.line, refusal.error.kind, engine.len()), (line, kind, 0));
        // A malformed case before the fault of the file is reported first.
        let broken = file.replacen("{\"id\":\"7\"}", "{\"id\":7}", 1);
        let refusal = import(ImportMode::Strict, broken.as_bytes(), 1 << 16).0.unwrap_err();
        assert_eq!(refusal.error.kind, ErrorKind::BadId);
    }
}

#[test]
fn an_element_over_the_limit_is_skipped_like_a_line() {
    let long = "x".repeat(17 << 20);
    let cases = ["{\"id\":\"a\"}", &format!("{{\"id\":\"b\",\"x\":[\"{long}\"]}}"), "{\"id\":\"c\"}"];
    for file in [cases.join("\n"), format!("[{}]", cases.join(",\n"))] {
        let (report, cases) = import(ImportMode::Lenient, file.as_bytes(), 1 << 16);
        let report = report.unwrap();
        let refusal = &report.errors[0];
        assert_eq!((report.stored, report.skipped, cases), (2, 1, 2));
        assert_eq!((refusal.line, refusal.error.kind), (2, ErrorKind::DocumentTooLarge));
        assert_eq!(import(ImportMode::Strict, file.as_bytes(), 1 << 16).0.unwrap_err(), *refusal);
    }
}

#[test]
fn a_byte_order_mark_affects_no_case() {
    for file in ["{\"id\":\"a\"}\n{\"id\":\"b\"}\n", "[{\"id\":\"a\"},{\"id\":\"b\"}]"] {
        for mode in [ImportMode::Strict, ImportMode::Lenient] {
            let file = format!("\u{feff}{file}");
            let (report, cases) = import(mode, file.as_bytes(), 1);
            assert_eq!((report.unwrap().skipped, cases), (0, 2));
            assert_eq!(Engine::new(Catalog::cases()).upsert_many(file.as_bytes()).unwrap().stored, 2);
        }
    }
}

/// Compiles an extended body whose strings may have any length.
#[track_caller]
fn extended(body: impl AsRef<[u8]>) -> Filter {
    let catalog = Catalog::cases().extended();
    let limits = wide().with_criteria(usize::MAX).with_string_bytes(usize::MAX);
    FilterBuilder::new(&catalog).with_limits(limits).json(body.as_ref()).unwrap()
}

fn on_name(op: &str, values: &[impl AsRef<str>]) -> String {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    let values = serde_json::to_string(&values).unwrap();
    format!(r#"{{"criteria":[{{"field":"name","op":"{op}","values":{values}}}]}}"#)
}

fn named(name: &str) -> String {
    format!(r#"{{"id":"1","name":{}}}"#, serde_json::to_string(name).unwrap())
}

#[test]
fn extended_criteria_need_an_extended_catalogue() {
    for (body, path) in [
        (on_name("$exists", &["true"]), "criteria[0].op"),
        (on_name("$startsWith", &["a"]), "criteria[0].op"),
        (on_name("$substring", &["a"]), "criteria[0].op"),
        (on_name("$match", &["a"]), "criteria[0].op"),
        (
            r#"{"criteria":[{"op":"$not","children":[{"field":"name","op":"=","values":["a"]}]}]}"#
                .to_owned(),
            "criteria[0].op",
        ),
    ] {
        let (kind, at, _) = first(&body);
        assert_eq!((kind, at.as_str()), (ErrorKind::UnknownOperator, path), "{body}");
        assert!(Filter::compile(&Catalog::cases().extended(), body.as_bytes()).is_ok(), "{body}");
    }
}

#[test]
fn operands_that_the_extended_operators_do_not_take_are_errors() {
    let empty: [&str; 0] = [];
    for (body, kind, path) in [
        (on_name("$exists", &["TRUE"]), ErrorKind::BadBoolean, "criteria[0].values[0]"),
        (on_name("$exists", &["true", "true"]), ErrorKind::TooManyOperands, "criteria[0].values"),
        (on_name("$startsWith", &["a", ""]), ErrorKind::EmptyText, "criteria[0].values[1]"),
        (on_name("$substring", &[""]), ErrorKind::EmptyText, "criteria[0].values[0]"),
        (on_name("$substring", &empty), ErrorKind::EmptyList, "criteria[0].values"),
        (on_name("$match", &["a", "b"]), ErrorKind::TooManyOperands, "criteria[0].values"),
        (on_name("$match", &[" \t\u{3000}"]), ErrorKind::EmptyText, "criteria[0].values[0]"),
        (
            on_name("$match", &["\u{301}\u{20dd}\u{300}".replace('\u{20dd}', "")]),
            ErrorKind::EmptyText,
            "criteria[0].values[0]",
        ),
        (
            on_name("$match", &["a"]).replace("\"name\"", "\"review.attemptCnt\""),
            ErrorKind::OperatorNotForType,
            "criteria[0].op",
        ),
        (
            r#"{"criteria":[{"op":"$not","children":[]}]}"#.to_owned(),
            ErrorKind::EmptyList,
            "criteria[0].children",
        ),
        (
            format!(
                r#"{{"criteria":[{{"op":"$not","children":[{0},{0}]}}]}}"#,
                r#"{"field":"name","op":"=","values":["a"]}"#
            ),
            ErrorKind::TooManyOperands,
            "criteria[0].children",
        ),
        (
            r#"{"criteria":[{"op":"$not","field":"name","values":["a"]}]}"#.to_owned(),
            ErrorKind::UnknownOperator,
            "criteria[0].op",
        ),
    ] {
        let errors = Filter::compile(&Catalog::cases().extended(), body.as_bytes()).expect_err(&body);
        let error = &errors.as_slice()[0];
        assert_eq!((error.kind, error.path.as_str()), (kind, path), "{body}: {errors}");
    }
    // A lone surrogate is no text.
    for op in ["$startsWith", "$substring", "$match"] {
        let body = on_name(op, &["@"]).replace('@', "a\\ud800");
        let errors = Filter::compile(&Catalog::cases().extended(), body.as_bytes()).unwrap_err();
        assert_eq!(errors.as_slice()[0].kind, ErrorKind::Syntax, "{body}");
    }
}

#[test]
fn criteria_on_elements_that_do_not_fit_are_errors() {
    const LIST: &str = "caseReview.checklistState.checklist";
    let elem = |array: &str, children: &str| {
        format!(r#"{{"criteria":[{{"op":"$elem","field":"{array}","children":[{children}]}}]}}"#)
    };
    let leaf = |field: &str| format!(r#"{{"field":"{field}","op":"=","values":["true"]}}"#);
    let (checked, name) = (leaf(&format!("{LIST}.checked")), leaf("name"));
    let nested = |array: &str| format!(r#"{{"op":"$elem","field":"{array}","children":[{checked}]}}"#);
    for (body, kind, path, part) in [
        (
            elem("nowhere", &checked),
            ErrorKind::UnknownField,
            "criteria[0].field",
            "an array of objects: `caseReview",
        ),
        (elem("amlCase", &checked), ErrorKind::UnknownField, "criteria[0].field", "did you mean `amlCases`?"),
        (elem("tags", &checked), ErrorKind::UnknownField, "criteria[0].field", "an array of objects"),
        (elem("", &checked), ErrorKind::UnknownField, "criteria[0].field", "an array of objects"),
        (
            elem(LIST, &name),
            ErrorKind::UnknownField,
            "criteria[0].children[0].field",
            "a field below `caseReview",
        ),
        (
            elem("amlCases", &checked),
            ErrorKind::UnknownField,
            "criteria[0].children[0].field",
            "a field below `amlCases`",
        ),
        (
            elem(LIST, &leaf("checked")),
            ErrorKind::UnknownField,
            "criteria[0].children[0].field",
            "checklist.checked`?",
        ),
        (
            elem(LIST, &nested(LIST)),
            ErrorKind::UnknownField,
            "criteria[0].children[0].field",
            "of which the catalogue has none",
        ),
        (
            elem(LIST, &nested("amlCases")),
            ErrorKind::UnknownField,
            "criteria[0].children[0].field",
            "below `caseReview",
        ),
        (elem(LIST, ""), ErrorKind::EmptyList, "criteria[0].children", "at least one child"),
        (
            format!(r#"{{"criteria":[{{"op":"$elem","children":[{checked}]}}]}}"#),
            ErrorKind::MissingKey,
            "criteria[0]",
            "`field`",
        ),
        (
            format!(r#"{{"criteria":[{{"op":"$elem","field":"{LIST}"}}]}}"#),
            ErrorKind::MissingKey,
            "criteria[0]",
            "`children`",
        ),
        (
            elem(LIST, &checked).replace("\"children\"", "\"values\":[\"a\"],\"children\""),
            ErrorKind::MixedCriterion,
            "criteria[0].values",
            "`values` beside `$elem`",
        ),
        (
            elem(LIST, &checked).replace("$elem", "$elemMatch"),
            ErrorKind::MixedCriterion,
            "criteria[0]",
            "did you mean `$elem`?",
        ),
        (
            elem(LIST, &format!("{checked},{}", leaf("nothing"))),
            ErrorKind::UnknownField,
            "criteria[0].children[1].field",
            "a field below",
        ),
    ] {
        let errors = Filter::compile(&Catalog::cases().extended(), body.as_bytes()).expect_err(&body);
        let error = &errors.as_slice()[0];
        assert_eq!((error.kind, error.path.as_str()), (kind, path), "{body}: {errors}");
        assert!(error.message().contains(part), "{body}: {errors}");
        assert!(Filter::compile(&Catalog::cases(), body.as_bytes()).is_err());
    }
    for (text, offset, part) in [
        ("nowhere has (name = x)", 0, "an array of objects"),
        ("amlCases has (name = x)", 14, "a field below `amlCases`"),
        ("amlCases has (id = x)", 14, "values of that element alone"),
        ("amlCases has (amlCaseID = x)", 14, "did you mean `amlCaseId`?"),
        ("amlCases has (not)", 17, "a criterion"),
        ("amlCases has (amlCaseId = x", 27, "`)`"),
        ("amlCases = x", 0, "`has (…)` tests an array"),
        ("amlCases has (amlCases has (amlCaseId = x))", 14, "of which the catalogue has none"),
    ] {
        let errors = Filter::compile_text(&Catalog::cases(), text).expect_err(text);
        let error = &errors.as_slice()[0];
        assert_eq!(error.offset, offset, "{text}: {errors}");
        assert!(error.message().contains(part), "{text}: {errors}");
    }
    // `has` before a list of values keeps its suggestion.
    let errors = Filter::compile_text(&Catalog::cases(), "tags has (a, b)").unwrap_err();
    assert!(errors.to_string().contains("`in`"), "{errors}");
}

#[test]
fn criteria_on_elements_of_any_number_take_linear_time_and_no_stack() {
    on_a_small_stack(|| {
        const LIST: &str = "caseReview.checklistState.checklist";
        // Parentheses, negations and alternatives of any depth within an element.
        let levels = 20_000;
        let open = r#"{"op":"$not","children":["#.repeat(levels);
        let leaf = format!(r#"{{"field":"{LIST}.name","op":"=","values":["x"]}}"#);
        let body = format!(
            r#"{{"criteria":[{{"op":"$elem","field":"{LIST}","children":[{open}{leaf}{}]}}]}}"#,
            "]}".repeat(levels)
        );
        let filter = extended(body);
        let items =
            |count: usize| vec![r#"{"name":"y"},{"name":null,"checked":true},null,{}"#; count].join(",");
        let with = |count: usize, last: &str| {
            let items = items(count);
            format!(r#"{{"id":"1","caseReview":{{"checklistState":{{"checklist":[{items}{last}]}}}}}}"#)
        };
        // Each criterion is tested on each element.
        let case = |last: &str| with(3, last);
        for (case, expected) in [(case(""), false), (case(r#",{"name":"x"}"#), true)] {
            assert_eq!(filter.matches(case.as_bytes()), Ok(expected));
            assert_eq!(filter.unoptimized().matches(case.as_bytes()), Ok(expected));
            assert_eq!(reference::matches(&filter, &case), Ok(expected));
            assert_eq!(reference::why(&filter, &case).unwrap().selected, expected);
        }
        let few = format!("{LIST} has (name = x or not checked = true and name is present and not name = y)");
        let few = Filter::compile_text(&Catalog::cases(), &few).unwrap();
        let long = with(20_000, "");
        assert_eq!(few.matches(long.as_bytes()), Ok(false));
        assert_eq!(reference::matches(&few, &long), Ok(false));
        // Many of them beside each other.
        let many: Vec<String> = (0..4000)
            .map(|number| {
                format!(
                    r#"{{"op":"$elem","field":"{LIST}","children":[{}]}}"#,
                    leaf.replace("\"x\"", &format!("\"{number}\""))
                )
            })
            .collect();
        for op in ["$and", "$or"] {
            let filter =
                extended(format!(r#"{{"criteria":[{{"op":"{op}","children":[{}]}}]}}"#, many.join(",")));
            assert_eq!(filter.size(), 4001);
            assert_eq!(filter.warnings().len(), 0);
            assert_eq!(filter.matches(case("").as_bytes()), Ok(false));
        }
        // A text that opens many arrays, none of which exists.
        let text = format!("{}x = 1{}", "a has (".repeat(20_000), ")".repeat(20_000));
        assert!(Filter::compile_text(&Catalog::cases(), &text).is_err());
        let _ = Completions::new(&Catalog::cases(), &text, 100_000);
    });
}

#[test]
fn negations_of_any_depth_take_no_stack() {
    on_a_small_stack(|| {
        let leaf = r#"{"field":"name","op":"=","values":["x"]}"#;
        let nested = |levels: usize| {
            let open = r#"{"op":"$not","children":["#.repeat(levels);
            format!("{{\"criteria\":[{open}{leaf}{}]}}", "]}".repeat(levels))
        };
        for levels in [1, 2, 31, 1000, 50_001] {
            let filter = extended(nested(levels));
            assert_eq!(filter.size(), 1);
            let selected = levels % 2 == 0;
            let case = named("x");
            assert_eq!(filter.matches(case.as_bytes()), Ok(selected), "{levels}");
            assert_eq!(filter.unoptimized().matches(case.as_bytes()), Ok(selected), "{levels}");
            assert_eq!(reference::matches(&filter, &case), Ok(selected), "{levels}");
            assert!(!filter.plan().is_empty());
            // The paths of all criteria together are quadratic in the depth.
            if levels <= 1000 {
                let why = reference::why(&filter, &case).unwrap();
                assert_eq!((why.selected, why.criteria.len()), (selected, levels + 2));
                assert!(filter.warnings().len() <= 100);
            }
            let text = format!("{}name = x", "not ".repeat(levels));
            assert_eq!(
                FilterBuilder::new(&Catalog::cases())
                    .with_limits(wide().with_criteria(usize::MAX))
                    .text(&text)
                    .unwrap(),
                filter,
                "{levels}"
            );
        }
        let errors = Filter::compile(&Catalog::cases().extended(), nested(DEEP).as_bytes()).unwrap_err();
        assert!([ErrorKind::TooDeep, ErrorKind::BodyTooLarge].contains(&errors.as_slice()[0].kind));
        let errors = Filter::compile(&Catalog::cases().extended(), nested(32).as_bytes()).unwrap_err();
        assert_eq!(errors.as_slice()[0].kind, ErrorKind::TooDeep);
        assert!(Filter::compile(&Catalog::cases().extended(), nested(31).as_bytes()).is_ok());
    });
}

/// Marks by the thousand, code points that no Unicode version has assigned, and a ligature that folds to a sentence.
#[test]
fn hostile_unicode_folds_by_the_rules() {
    let marked: String = "e\u{301}\u{316}".to_owned() + &"\u{301}\u{316}\u{334}".repeat(20_000);
    let unassigned = "\u{378}\u{e0fff}\u{10fffd}\u{fdd0}\u{ffff}\u{10ffff}";
    let ligature = "\u{fdfa}".repeat(1000);
    let sentence = "صلى الله عليه وسلم";
    for (name, value, matches) in [
        (marked.as_str(), "e", true),
        (&marked, "é", true),
        (&marked, "e\u{301}\u{301}\u{301}", true),
        (&marked, "ee", false),
        ("resume", &format!("r{marked}sum{marked}"), true),
        (unassigned, unassigned, true),
        (unassigned, "\u{379}", false),
        (&format!("x{unassigned}"), &format!("X{unassigned}"), true),
        (&ligature, sentence, true),
        (sentence, &ligature, false),
        (&ligature.repeat(2), &ligature, true),
        ("\u{1d1}\u{1d2}", "ǑO", true),
        ("ẞ", "ss", true),
        ("ﬀ", "FF", true),
        ("Å", "å", true),
        ("\u{1e9e}\u{301}", "SS", true),
    ] {
        let filter = extended(on_name("$match", &[value]));
        let case = named(name);
        assert_eq!(filter.matches(case.as_bytes()), Ok(matches), "{value:.40}");
        assert_eq!(reference::matches(&filter, &case), Ok(matches), "{value:.40}");
        let engine = Engine::new(Catalog::cases());
        engine.upsert(case.as_bytes()).unwrap();
        assert_eq!(engine.count(&filter).unwrap(), u64::from(matches), "{value:.40}");
    }
    // The printed form has the folded words: at most eleven times the bytes, however the value is written.
    let printed = extended(on_name("$match", &[&ligature])).to_text();
    assert!(printed.len() <= 11 * ligature.len() + 100, "{}", printed.len());
}

/// Returns the time to compile a body, to print it, and to ask an engine with some cases.
fn time_of_answer(engine: &Engine, body: &str) -> Duration {
    let start = Instant::now();
    let filter = extended(body);
    assert!(filter.to_json().len() <= 20 * body.len() && filter.warnings().len() <= 100);
    let count = engine.count(&filter).unwrap();
    assert!(count <= engine.len() as u64);
    start.elapsed()
}

#[test]
fn time_is_linear_in_extended_bodies() {
    type Maker<'m> = (&'m str, &'m dyn Fn(usize) -> String);
    let criteria = |all: Vec<String>| format!("{{\"criteria\":[{}]}}", all.join(","));
    let or =
        |all: Vec<String>| format!("{{\"criteria\":[{{\"op\":\"$or\",\"children\":[{}]}}]}}", all.join(","));
    let test = |field: &str, op: &str, values: Vec<String>| {
        let values = serde_json::to_string(&values).unwrap();
        format!(r#"{{"field":"{field}","op":"{op}","values":{values}}}"#)
    };
    let not = |child: String| format!(r#"{{"op":"$not","children":[{child}]}}"#);
    // Different numbers of eight digits, each followed by `x`: none begins with or contains another.
    let distinct =
        |count: usize| (0..count).map(|at| format!("{:08}x", at * 7919 % 99_999_989)).collect::<Vec<_>>();
    let nested = |bytes: usize| {
        let longest = ((2 * bytes) as f64).sqrt() as usize;
        (1..=longest).map(|length| "a".repeat(length)).collect::<Vec<_>>()
    };
    let makers: [Maker<'_>; 16] = [
        ("substrings", &|bytes| criteria(vec![test("name", "$substring", distinct(bytes / 12))])),
        ("nested substrings", &|bytes| criteria(vec![test("name", "$substring", nested(bytes))])),
        ("nested prefixes", &|bytes| criteria(vec![test("name", "$startsWith", nested(bytes))])),
        ("words", &|bytes| criteria(vec![test("name", "$match", vec![distinct(bytes / 12).join(" ")])])),
        ("nested words", &|bytes| criteria(vec![test("name", "$match", vec![nested(bytes).join(" ")])])),
        ("marks", &|bytes| {
            criteria(vec![test("name", "$match", vec![format!("e{}", "\u{301}\u{316}".repeat(bytes / 4))])])
        }),
        ("ligatures", &|bytes| criteria(vec![test("name", "$match", vec!["\u{fdfa}".repeat(bytes / 3)])])),
        ("a list and substrings", &|bytes| {
            let many = distinct(bytes / 24);
            criteria(vec![test("name", "$contains", many.clone()), not(test("name", "$substring", many))])
        }),
        ("many substrings in an or", &|bytes| {
            or(distinct(bytes / 60).into_iter().map(|text| test("name", "$substring", vec![text])).collect())
        }),
        ("many words in an or", &|bytes| {
            or(distinct(bytes / 60).into_iter().map(|text| test("name", "$match", vec![text])).collect())
        }),
        ("many substrings and lists", &|bytes| {
            criteria(
                distinct(bytes / 200)
                    .into_iter()
                    .flat_map(|text| {
                        [
                            test("tags", "$substring", vec![text.clone()]),
                            not(test("tags", "$startsWith", vec![format!("y{text}")])),
                            test("tags", "$contains", vec![format!("z{text}"), format!("u{text}")]),
                        ]
                    })
                    .collect(),
            )
        }),
        ("many negated lists", &|bytes| {
            criteria(
                distinct(bytes / 120)
                    .into_iter()
                    .map(|text| not(test("tags", "$all", vec![text.clone(), format!("z{text}")])))
                    .collect(),
            )
        }),
        ("negated lists in an or with others", &|bytes| {
            or(distinct(bytes / 240)
                .into_iter()
                .flat_map(|text| {
                    [
                        not(test("tags", "$all", vec![text.clone(), format!("z{text}")])),
                        test("tags", "$all", vec![format!("y{text}"), format!("z{text}")]),
                        not(test("tags", "$substring", vec![text])),
                    ]
                })
                .collect())
        }),
        ("one long list of substrings beside many tests", &|bytes| {
            let mut all = vec![test("tags", "$substring", distinct(bytes / 24))];
            all.extend(
                distinct(bytes / 200)
                    .into_iter()
                    .map(|text| not(test("tags", "$substring", vec![format!("y{text}")]))),
            );
            criteria(all)
        }),
        ("branches with substrings beside a long list", &|bytes| {
            let mut all = vec![test("tags", "$substring", distinct(bytes / 24))];
            all.extend(distinct(bytes / 600).into_iter().map(|text| {
                let some = (0..9).map(|at| format!("{at}{text}")).collect();
                let some = test("tags", "$substring", some);
                let other = test("name", "=", vec![text]);
                format!(r#"{{"op":"$and","children":[{some},{other}]}}"#)
            }));
            or(all)
        }),
        ("negations", &|bytes| {
            let levels = bytes / 32;
            let leaf = test("name", "=", vec!["x".to_owned()]);
            format!(
                "{{\"criteria\":[{}{leaf}{}]}}",
                r#"{"op":"$not","children":["#.repeat(levels),
                "]}".repeat(levels)
            )
        }),
    ];
    let engine = Engine::new(Catalog::cases());
    for id in 0..50 {
        let case =
            format!(r#"{{"id":"{id}","name":"00000000x {}","tags":["{id}","aaaa"]}}"#, "aé".repeat(200));
        engine.upsert(case.as_bytes()).unwrap();
    }
    for (name, make) in makers {
        let (small, large) =
            (time_of_answer(&engine, &make(1 << 14)), time_of_answer(&engine, &make(1 << 18)));
        // The body is sixteen times larger. The bound allows for a busy machine.
        let bound = small * 16 * 6 + Duration::from_millis(500);
        assert!(large < bound, "{name}: {small:?} for 16 KiB, {large:?} for 256 KiB");
    }
}

/// Values of any length are searched in linear time too.
#[test]
fn time_is_linear_in_the_values_of_a_case() {
    let filters = [
        on_name("$match", &["zz yy"]),
        on_name("$substring", &["aaab", "baaa", "é\u{301}x"]),
        on_name("$substring", &(0..10_000).map(|at| format!("{at}aab")).collect::<Vec<_>>()),
        on_name("$startsWith", &(0..10_000).map(|at| format!("aaaaa{at}")).collect::<Vec<_>>()),
    ];
    for body in filters {
        let filter = extended(body);
        for unit in ["a", "e\u{301}", "\u{301}", "\u{fdfa}", "\u{378}"] {
            let time = |bytes: usize| {
                let engine = Engine::new(Catalog::cases());
                engine.upsert(named(&unit.repeat(bytes / unit.len())).as_bytes()).unwrap();
                let start = Instant::now();
                assert_eq!(engine.count(&filter).unwrap(), 0);
                start.elapsed()
            };
            let (small, large) = (time(1 << 16), time(1 << 20));
            let bound = small * 16 * 6 + Duration::from_millis(500);
            assert!(large < bound, "{unit}: {small:?} for 64 KiB, {large:?} for 1 MiB");
        }
    }
}
