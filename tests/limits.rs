//! Tests each limit: input of exactly the limit is accepted, and input of the limit plus one is rejected, in JSON bodies and texts.

use casefilter::{
    Catalog, Engine, Error, ErrorKind, Filter, FilterBuilder, ImportMode, Limits, SearchParams,
};

/// Checks that the limit accepts `n` and rejects `n + 1`.
#[track_caller]
fn check(
    kind: ErrorKind,
    n: usize,
    expected: &str,
    compile: impl Fn(usize) -> Result<Filter, casefilter::Errors>,
) {
    for fine in [1, n - 1, n] {
        if let Err(errors) = compile(fine) {
            panic!("{fine} of {n}: {errors}");
        }
    }
    for over in [n + 1, 2 * n] {
        let errors = compile(over).unwrap_err();
        let kinds: Vec<ErrorKind> = errors.as_slice().iter().map(|error| error.kind).collect();
        assert_eq!(kinds, [kind], "{over} of {n}: {errors}");
        let error: &Error = &errors.as_slice()[0];
        assert_eq!(error.expected, expected, "{over} of {n}");
    }
}

fn json(limits: &Limits, body: &str) -> Result<Filter, casefilter::Errors> {
    FilterBuilder::new(&Catalog::cases()).with_limits(limits.clone()).json(body.as_bytes())
}

fn text(limits: &Limits, text: &str) -> Result<Filter, casefilter::Errors> {
    FilterBuilder::new(&Catalog::cases()).with_limits(limits.clone()).text(text)
}

const LEAF: &str = r#"{"field":"name","op":"=","values":["x"]}"#;

/// Returns a criterion of this depth.
fn nested(depth: usize) -> String {
    let open = r#"{"op":"$or","children":["#.repeat(depth - 1);
    format!("{open}{LEAF}{}", "]}".repeat(depth - 1))
}

fn list(n: usize, item: &str) -> String {
    vec![item; n].join(",")
}

#[test]
fn the_defaults_are_those_of_the_specification() {
    let limits = Limits::default();
    assert_eq!(limits.body_bytes, 4 << 20);
    assert_eq!((limits.depth, limits.criteria, limits.values), (32, 4096, 65_536));
    assert_eq!((limits.ids, limits.string_bytes, limits.page), (65_536, 4096, 10_000));
    assert_eq!((limits.facets, limits.facet_values, limits.facet_buckets), (32, 10_000, 10_000));
}

#[test]
fn body_bytes() {
    for n in [100, Limits::default().body_bytes] {
        let limits = Limits::default().with_body_bytes(n);
        let expected = format!("at most {n} bytes");
        let padded =
            |text: &str, size: usize| format!("{text}{}", " ".repeat(size.saturating_sub(text.len())));
        check(ErrorKind::BodyTooLarge, n, &expected, |size| json(&limits, &padded(r#"{"ids":[]}"#, size)));
        check(ErrorKind::BodyTooLarge, n, &expected, |size| text(&limits, &padded("true", size)));
    }
}

#[test]
fn depth() {
    for n in [2, Limits::default().depth] {
        let limits = Limits::default().with_depth(n);
        let expected = format!("criteria nested at most {n} deep");
        check(ErrorKind::TooDeep, n, &expected, |depth| {
            json(&limits, &format!(r#"{{"criteria":[{LEAF},{}]}}"#, nested(depth)))
        });
        // Redundant parentheses count.
        check(ErrorKind::TooDeep, n, &expected, |depth| {
            text(&limits, &format!("{}name = x{}", "(".repeat(depth), ")".repeat(depth)))
        });
    }
    // Branches count also without parentheses: here are three levels.
    let three = "name = x or name = y and tags = z";
    assert!(text(&Limits::default().with_depth(3), three).is_ok());
    let errors = text(&Limits::default().with_depth(2), three).unwrap_err();
    let offsets: Vec<_> = errors.as_slice().iter().map(|error| (error.kind, error.offset)).collect();
    assert_eq!(offsets, [(ErrorKind::TooDeep, 12), (ErrorKind::TooDeep, 25)]);
}

#[test]
fn criteria() {
    for n in [3, Limits::default().criteria] {
        let limits = Limits::default().with_criteria(n);
        let expected = format!("at most {n}");
        check(ErrorKind::TooManyCriteria, n, &expected, |count| {
            json(&limits, &format!(r#"{{"criteria":[{}]}}"#, list(count, LEAF)))
        });
        check(ErrorKind::TooManyCriteria, n, &expected, |count| {
            text(&limits, &vec!["name = x"; count].join(" and "))
        });
        // Complex criteria count, too.
        check(ErrorKind::TooManyCriteria, n, &expected, |count| match count {
            1 => json(&limits, &format!(r#"{{"criteria":[{LEAF}]}}"#)),
            _ => json(
                &limits,
                &format!(r#"{{"criteria":[{{"op":"$or","children":[{}]}}]}}"#, list(count - 1, LEAF)),
            ),
        });
        check(ErrorKind::TooManyCriteria, n, &expected, |count| match count {
            1 => text(&limits, "name = x"),
            _ => text(&limits, &format!("(name = y{})", " and name = x".repeat(count - 2))),
        });
    }
}

#[test]
fn values() {
    for n in [4, Limits::default().values] {
        let limits = Limits::default().with_values(n);
        let expected = format!("at most {n}");
        check(ErrorKind::TooManyValues, n, &expected, |count| {
            // Two criteria, since the limit applies to the values of all criteria together.
            let rest = match count {
                1 => String::new(),
                _ => {
                    format!(r#",{{"field":"tags","op":"$contains","values":[{}]}}"#, list(count - 1, "\"y\""))
                }
            };
            json(&limits, &format!(r#"{{"criteria":[{LEAF}{rest}]}}"#))
        });
        check(ErrorKind::TooManyValues, n, &expected, |count| match count {
            1 => text(&limits, "name = x"),
            _ => text(&limits, &format!("name = x and tags all ({})", list(count - 1, "y"))),
        });
    }
}

#[test]
fn known_values_of_order_comparisons() {
    let known: Vec<String> = (0..1 << 12).map(|rank| rank.to_string()).collect();
    let field = casefilter::Field::new("grade", casefilter::FieldType::String);
    let field = field.with_known(known.iter().map(String::as_str));
    let catalog = Catalog::new([field]).unwrap().extended();
    let body = |n: usize| {
        let criterion = r#"{"field":"grade","op":">=","values":["4095"]}"#;
        let body = format!(r#"{{"criteria":[{{"op":"$or","children":[{}]}}]}}"#, list(n, criterion));
        FilterBuilder::new(&catalog).json(body.as_bytes())
    };
    let text = |n: usize| FilterBuilder::new(&catalog).text(&vec!["grade >= \"4095\""; n].join(" or "));
    let expected = "order comparisons with at most 1048576 known values in all";
    check(ErrorKind::TooManyValues, 256, expected, body);
    check(ErrorKind::TooManyValues, 256, expected, text);
    let errors = body(300).unwrap_err();
    assert_eq!(errors.as_slice()[0].path, "criteria[0].children[256].op");
    // Other comparisons are not counted.
    let others = format!("grade in ({})", list(60_000, "x"));
    assert!(FilterBuilder::new(&catalog).text(&others).is_ok());
}

#[test]
fn ids() {
    for n in [2, Limits::default().ids] {
        let limits = Limits::default().with_ids(n);
        let expected = format!("at most {n}");
        check(ErrorKind::TooManyIds, n, &expected, |count| {
            json(&limits, &format!(r#"{{"ids":[{}]}}"#, list(count, "\"x\"")))
        });
        check(ErrorKind::TooManyIds, n, &expected, |count| {
            text(&limits, &format!("ids ({})", list(count, "x")))
        });
    }
}

#[test]
fn string_bytes() {
    for n in [16, Limits::default().string_bytes] {
        let limits = Limits::default().with_string_bytes(n);
        let expected = format!("at most {n} bytes in a string");
        let check = |compile: &dyn Fn(&str) -> Result<Filter, casefilter::Errors>| {
            check(ErrorKind::StringTooLong, n, &expected, |size| compile(&"x".repeat(size)));
        };
        check(&|word| json(&limits, &format!(r#"{{"ids":["{word}"]}}"#)));
        check(&|word| {
            json(&limits, &format!(r#"{{"criteria":[{{"field":"name","op":"=","values":["{word}"]}}]}}"#))
        });
        check(&|word| text(&limits, &format!("name = {word}")));
        check(&|word| text(&limits, &format!("tags in ('{word}')")));
        check(&|word| text(&limits, &format!("ids (\"{word}\")")));
        // A name of that length is unknown anyway.
        for (size, kind) in [(n, ErrorKind::UnknownField), (n + 1, ErrorKind::StringTooLong)] {
            let name = "x".repeat(size);
            let body = format!(r#"{{"criteria":[{{"field":"{name}","op":"=","values":["x"]}}]}}"#);
            assert_eq!(json(&limits, &body).unwrap_err().as_slice()[0].kind, kind);
            assert_eq!(text(&limits, &format!("{name} = x")).unwrap_err().as_slice()[0].kind, kind);
            let body = format!(r#"{{"criteria":[{{"field":"name","op":"{name}","values":["x"]}}]}}"#);
            let kind = if size > n { kind } else { ErrorKind::UnknownOperator };
            assert_eq!(json(&limits, &body).unwrap_err().as_slice()[0].kind, kind);
        }
        // The limit is in bytes of UTF-8, after unescaping.
        let escaped = format!(r#"{{"ids":["{}"]}}"#, "\\ud83d\\ude00".repeat(n / 4));
        assert!(json(&limits, &escaped).is_ok());
        let escaped = format!(r#"{{"ids":["{}x"]}}"#, "\\ud83d\\ude00".repeat(n / 4));
        assert!(json(&limits, &escaped).is_err());
    }
}

#[test]
fn page() {
    let catalog = Catalog::cases();
    let limits = Limits::default().with_page(7);
    for (limit, fine) in [("0", true), ("7", true), ("8", false), ("99999999999999999999", false)] {
        let params = SearchParams::new().limit(Some(limit));
        let request =
            FilterBuilder::new(&catalog).with_limits(limits.clone()).request(br#"{"ids":["x"]}"#, &params);
        match request {
            Ok(request) => assert!(fine && request.limit.to_string() == limit, "{limit}"),
            Err(errors) => {
                assert!(!fine, "{limit}: {errors}");
                assert_eq!(errors.as_slice()[0].kind, ErrorKind::PageTooLarge);
            }
        }
    }
    // The default page is reduced to the largest page.
    assert_eq!(
        FilterBuilder::new(&catalog)
            .with_limits(limits.clone())
            .request(br#"{"ids":["x"]}"#, &SearchParams::new())
            .unwrap()
            .limit,
        7
    );
}

#[test]
fn batches() {
    let limits = Limits::default().with_batches(3);
    for mode in [ImportMode::Strict, ImportMode::Lenient] {
        let engine = Engine::builder(Catalog::cases()).limits(limits.clone()).batch_rows(2).build();
        let store = |documents: std::ops::Range<usize>| {
            let mut import = engine.import(mode);
            let lines: String = documents.map(|id| format!("{{\"id\":\"{id}\"}}\n")).collect();
            import.push(lines.as_bytes())?;
            import.commit()
        };
        // Three full batches, then one more case, by an import that also stores others.
        assert_eq!(store(0..4).unwrap().stored, 4);
        let refusal = store(4..7).unwrap_err();
        assert_eq!((refusal.line, refusal.error.kind), (3, ErrorKind::TooManyBatches));
        assert!(refusal.error.expected.starts_with("at most 3 batches"), "{refusal}");
        assert_eq!(engine.len(), 4);
        assert_eq!(store(4..6).unwrap().stored, 2);
        assert_eq!(store(0..1).unwrap_err().error.kind, ErrorKind::TooManyBatches);
        assert_eq!(engine.len(), 6);
        engine.validate().unwrap();
    }
}
