//! Tests of filters that are created in Rust: from values, and from other filters.

mod times;

use proptest::prelude::*;

use super::*;
use crate::catalog::{Catalog, Field, FieldType};
use crate::error::{ErrorKind, Errors};
use crate::operator::Operator;
use crate::predicate::{self, Node};
use crate::value::{Number, Timestamp, Value};

fn cases() -> Catalog {
    Catalog::cases()
}

fn text(text: &str) -> Filter {
    Filter::compile_text(&cases(), text).unwrap()
}

fn errors(result: Result<Filter, Errors>) -> Vec<(ErrorKind, String)> {
    let errors = result.unwrap_err();
    errors.as_slice().iter().map(|error| (error.kind, error.path.clone())).collect()
}

#[test]
fn filters_are_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Filter>();
}

#[test]
fn a_test_equals_the_filter_of_a_body_with_it() {
    let test = |field, operator, values: &[&str]| {
        Filter::test(&cases(), field, operator, values.iter().copied()).unwrap()
    };
    assert_eq!(test("status", Operator::Equal, &["open"]), text("status = open"));
    assert_eq!(test("tags", Operator::All, &["a", "b"]), text("tags all (a, b)"));
    assert_eq!(test("tags", Operator::NotEqual, &["a"]), text("tags <> a"));
    let created = "2024-01-01 00:00:00";
    for (operator, sign) in [
        (Operator::Greater, ">"),
        (Operator::GreaterOrEqual, ">="),
        (Operator::Less, "<"),
        (Operator::LessOrEqual, "<="),
    ] {
        assert_eq!(test("createdAt", operator, &[created]), text(&format!("createdAt {sign} '{created}'")));
        let at = Timestamp::parse(created).unwrap();
        let typed = Filter::test(&cases(), "createdAt", operator, [at]).unwrap();
        assert_eq!(typed, test("createdAt", operator, &[created]));
    }
    let amount = |value: Value<'static>| {
        Filter::test(&cases(), "totalAmountInDefaultCurrency", Operator::Equal, [value]).unwrap()
    };
    assert_eq!(amount(7.into()), text("totalAmountInDefaultCurrency = 7"));
    assert_eq!(amount("7".into()), amount(7_u32.into()));
    assert_eq!(amount(Number::new(0.1).unwrap().into()), text("totalAmountInDefaultCurrency = 0.1"));
    // A filter from values has the same warnings as a body.
    assert_eq!(test("status", Operator::Equal, &["opened"]).warnings().len(), 1);
}

#[test]
fn a_test_has_the_errors_of_a_body() {
    let catalog = cases();
    let none: [&str; 0] = [];
    let test = |field: &str, operator, values: &[Value<'static>]| {
        errors(Filter::test(&catalog, field, operator, values.iter().cloned()))
    };
    let at = |path: &str, kind| vec![(kind, path.to_owned())];
    assert_eq!(test("statu", Operator::Equal, &["a".into()]), at("field", ErrorKind::UnknownField));
    assert_eq!(test("name", Operator::Less, &["a".into()]), at("op", ErrorKind::OperatorNotForType));
    assert_eq!(
        errors(Filter::test(&catalog, "name", Operator::Equal, none)),
        at("values", ErrorKind::EmptyList)
    );
    assert_eq!(
        test("name", Operator::Equal, &["a".into(), "b".into()]),
        at("values", ErrorKind::TooManyOperands)
    );
    assert_eq!(
        test("createdAt", Operator::Equal, &["soon".into()]),
        at("values[0]", ErrorKind::BadTimestamp)
    );
    assert_eq!(
        test("name", Operator::Contains, &["a".into(), 5.into()]),
        at("values[1]", ErrorKind::WrongType)
    );
    assert_eq!(test("name", Operator::Equal, &[true.into()]), at("values[0]", ErrorKind::WrongType));
    assert_eq!(test("createdAt", Operator::Equal, &[5.into()]), at("values[0]", ErrorKind::WrongType));
    // Only extended catalogues accept criteria with a fraction of a second, so the printed filter would not compile for this
    // catalogue.
    let between = Timestamp::from_millis(1_500);
    assert_eq!(
        test("createdAt", Operator::Equal, &[between.into()]),
        at("values[0]", ErrorKind::BadTimestamp)
    );
    let error = Filter::test(&catalog, "name", Operator::Equal, [5]).unwrap_err();
    assert_eq!(
        error.as_slice()[0].message(),
        "found the number `5`, expected a string, since `name` is a string field"
    );
    // No limits apply to filters that the host creates.
    let long = "x".repeat(1 << 20);
    assert!(Filter::test(&catalog, "name", Operator::Equal, [&long]).is_ok());
    let many = (0..100_000).map(|number: u32| number.to_string());
    assert!(Filter::test(&catalog, "name", Operator::Contains, many).is_ok());
    let hidden = catalog.allow(["tags"]).unwrap();
    assert_eq!(
        errors(Filter::test(&hidden, "name", Operator::Equal, ["a"])),
        at("field", ErrorKind::UnknownField)
    );
}

#[test]
fn joining_filters_joins_their_criteria() {
    let parts = ["tags = a", "status = open", "name <> x"].map(text);
    let all = Filter::all_of(&cases(), parts.clone()).unwrap();
    let any = Filter::any_of(&cases(), parts.clone()).unwrap();
    assert_eq!(all, text("tags = a and status = open and name <> x"));
    assert_eq!(any, text("tags = a or status = open or name <> x"));
    let [a, b, c] = &parts;
    assert_eq!(a.and(b).unwrap().and(c).unwrap(), all);
    assert_eq!(a.or(b).unwrap().or(c).unwrap(), any);
    for filter in [&all, &any] {
        assert_eq!(filter.unoptimized().size(), 7, "every criterion of a body and its root, and the branch");
        assert_eq!(Filter::compile(&cases(), filter.to_json().as_bytes()).unwrap(), *filter);
    }
    assert_eq!(Filter::all_of(&cases(), []).unwrap(), Filter::all(&cases()));
    assert_eq!(Filter::any_of(&cases(), []).unwrap(), Filter::none(&cases()));
    assert_eq!(a.and(&Filter::all(&cases())).unwrap(), *a);
    assert_eq!(a.or(&Filter::all(&cases())).unwrap(), Filter::all(&cases()));
    let other = Catalog::new([Field::new("tags[]", FieldType::String)]).unwrap();
    let foreign = Filter::compile_text(&other, "tags = a").unwrap();
    for joined in [a.or(&foreign), Filter::all_of(&other, parts.clone()), Filter::any_of(&cases(), [foreign])]
    {
        assert_eq!(joined.unwrap_err().kind, ErrorKind::CatalogMismatch);
    }
}

#[test]
fn criteria_are_parsed_once_for_a_filter_and_its_clones_and_kept_out_of_the_cache() {
    let body = br#"{"criteria":[{"field":"status","op":"=","values":["opened"]}]}"#;
    let cache =
        FilterCache::new(FilterBuilder::new(&cases()).with_limits(crate::limits::Limits::default()), 1 << 20);
    let bound = cache.compile(body).unwrap().and(&text("tags = a")).unwrap();
    for filter in [cache.compile(body).unwrap(), text("status = opened"), bound] {
        assert!(filter.written.get().is_none());
        assert_eq!(filter.warnings().len(), 1);
        let kept = filter.written.get().unwrap().clone();
        let clone = filter.clone();
        assert_eq!(clone.warnings(), filter.warnings());
        assert!(crate::reference::matches(&clone, r#"{"id":"1"}"#).is_ok_and(|matches| !matches));
        for same in [&filter, &clone, &filter.unoptimized()] {
            assert!(std::sync::Arc::ptr_eq(&kept, same.written.get().unwrap()));
        }
        for (part, _) in filter.written_parts().filter(|_| filter.is_joined()) {
            assert!(part.written.get().is_none());
        }
    }
    let size = cache.stats().size_bytes;
    assert!(cache.compile(body).unwrap().written.get().is_none());
    assert_eq!(cache.stats().size_bytes, size);
}

#[test]
fn joined_filters_have_each_warning_of_their_parts_once() {
    let doubtful = text("status = opened");
    let kinds =
        |filter: &Filter| filter.warnings().into_iter().map(|warning| warning.kind).collect::<Vec<_>>();
    let one = kinds(&doubtful);
    assert_eq!(one.len(), 1);
    let twice = doubtful.and(&text("name = a")).unwrap().or(&doubtful).unwrap();
    assert_eq!(kinds(&twice), one);
    let many = (0..2 * predicate::MOST_WARNINGS).map(|number| text(&format!("status = opened{number}")));
    assert_eq!(Filter::any_of(&cases(), many).unwrap().warnings().len(), predicate::MOST_WARNINGS);
}

/// Runs on a small stack. The stack would overflow if a function recursed once for each level of a filter.
#[test]
fn filters_joined_ever_deeper_neither_overflow_nor_explode() {
    let work = || {
        let (tag, name) = (text("tags = a"), text("name = b"));
        // The optimiser absorbs each addition. The normal form stays small, while the origins are 60,000 levels deep.
        let mut deep = tag.clone();
        for _ in 0..30_000 {
            deep = deep.or(&name.and(&tag).unwrap()).unwrap().and(&tag).unwrap();
        }
        assert_eq!(deep, tag);
        assert_eq!(deep.warnings(), []);
        assert!(deep.size_bytes() > 60_000 && deep.unoptimized().size() > 60_000);
        assert!(crate::reference::matches(&deep, r#"{"id":"1","tags":["a"]}"#).unwrap());
        drop(deep);
        // Each step joins the filter with itself. Without shared parts, the tree would have 2^100 leaves.
        let mut doubled = name.clone();
        for _ in 0..100 {
            doubled = doubled.and(&doubled).unwrap();
        }
        assert!(doubled.warnings().is_empty() && doubled.unoptimized().size() < 1_000);
        assert!(doubled.size_bytes() < 1 << 20);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_printed_value_without_letters_is_parsed_back() {
    for value in ["-", "--", "+", ".", "- -", "-a"] {
        for operator in ["matches", "includes", "starts with", "=", "<>"] {
            let filter = Filter::compile_text(&cases(), &format!("name {operator} '{value}'")).unwrap();
            let text = filter.to_text();
            assert_eq!(Filter::compile_text(&cases(), &text), Ok(filter), "{text}");
        }
    }
}

fn any_value() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        ".*[\"'\\\\() ,=].*".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", Number::new).prop_map(Value::from),
        (-62_135_596_800_i64..253_402_300_800).prop_map(|s| Timestamp::from_millis(s * 1_000).into()),
    ]
}

proptest! {
    #[test]
    fn quoted_strings_are_parsed_back(value in any::<String>(), odd in "[\\\\\"'\u{0}-\u{1f}\u{7f}\u{2028}\u{feff}a ]*") {
        for value in [value, odd] {
            let quoted = Filter::quote(&value);
            let expected = Filter::test(&cases(), "clientId", Operator::Equal, [&value]).unwrap();
            let read = FilterBuilder::new(&cases()).with_limits(limits::no_limits()).text(&format!("clientId = {quoted}"));
            prop_assert_eq!(read.unwrap(), expected.clone());
            let listed = format!("(clientId in ({quoted}, {quoted}) and name = x) or clientId = {quoted}");
            prop_assert_eq!(Filter::compile_text(&cases(), &listed).unwrap(), expected);
        }
    }

    #[test]
    fn a_quoted_name_is_that_field(name in "[^.\\[\\]]+") {
        prop_assume!(name != "id");
        let catalog = Catalog::new([Field::new(&name, FieldType::String), Field::new("other.x", FieldType::String)]).unwrap();
        let read = Filter::compile_text(&catalog, &format!("{} = a", Filter::quote(&name)));
        prop_assert_eq!(read.unwrap(), Filter::test(&catalog, &name, Operator::Equal, ["a"]).unwrap());
    }

    #[test]
    fn a_typed_value_is_the_one_that_is_tested(value in any_value()) {
        let kind = value.field_type();
        let catalog = Catalog::new([Field::new("f", kind)]).unwrap();
        let filter = Filter::test(&catalog, "f", Operator::Equal, [value.clone()]).unwrap();
        let written = filter.written();
        let is_it = written.nodes().iter().any(|node| matches!(node, Node::Leaf(test) if *test.values == [value.clone().into()]));
        prop_assert!(is_it, "{} from {value:?}", filter);
    }
}

/// Returns the letters of the documents that a filter selects: `l`, `m` and `h` have a known priority, `x` has another priority,
/// and `-` has no priority.
fn selected_by_rank(filter: &Filter) -> String {
    let document = |letter: char| match letter {
        'l' => r#"{"id":"l","level":"low"}"#,
        'm' => r#"{"id":"m","level":"medium"}"#,
        'h' => r#"{"id":"h","level":"high"}"#,
        'x' => r#"{"id":"x","level":"zzz"}"#,
        _ => r#"{"id":"-"}"#,
    };
    "lmhx-"
        .chars()
        .filter(|letter| {
            let holds = filter.matches(document(*letter).as_bytes()).unwrap();
            assert_eq!(crate::reference::matches(filter, document(*letter)), Ok(holds), "{letter}");
            holds
        })
        .collect()
}

fn levels() -> Catalog {
    let level = Field::new("level", FieldType::String).with_known(["low", "medium", "high"]);
    Catalog::new([level, Field::new("other", FieldType::String)]).unwrap()
}

#[test]
fn known_values_compare_by_rank() {
    let catalog = levels();
    for (text, selected, printed) in [
        ("level >= medium", "mh", "level in (high, medium)"),
        ("level > medium", "h", "level = high"),
        ("level <= medium", "lm", "level in (low, medium)"),
        ("level < medium", "l", "level = low"),
        ("level < low", "", "false"),
        ("level > high", "", "false"),
        ("level >= low", "lmh", "level in (high, low, medium)"),
        ("not level >= medium", "lx-", "level <> high and level <> medium"),
        ("not level < low", "lmhx-", "true"),
        ("level > low and level < high", "m", "level = medium"),
    ] {
        let filter = Filter::compile_text(&catalog, text).unwrap();
        assert_eq!(selected_by_rank(&filter), selected, "{text}");
        assert_eq!(filter.to_text(), printed, "{text}");
        assert_eq!(Filter::compile_text(&catalog, &filter.to_text()), Ok(filter.clone()), "{text}");
        assert_eq!(Filter::compile(&catalog.extended(), filter.to_json().as_bytes()), Ok(filter), "{text}");
    }
    let built = crate::field("level").at_least("medium").compile(&catalog).unwrap();
    assert_eq!(selected_by_rank(&built), "mh");
    let tested = Filter::test(&catalog, "level", Operator::Less, ["high"]).unwrap();
    assert_eq!(selected_by_rank(&tested), "lm");
}

#[test]
fn comparisons_by_rank_need_the_extended_operators_and_a_known_value() {
    let catalog = levels();
    let body = br#"{"criteria":[{"field":"level","op":">=","values":["medium"]}]}"#;
    let first = |errors: Errors| errors.as_slice()[0].to_string();
    assert_eq!(
        first(Filter::compile(&catalog, body).unwrap_err()),
        "criteria[0].op (byte 35): found `>=` on `level`, a string field, expected one of `=`, `<>`, `$contains`, `$all`"
    );
    let unknown = br#"{"criteria":[{"field":"level","op":">=","values":["none"]}]}"#;
    assert_eq!(Filter::compile(&catalog, unknown).unwrap_err().as_slice().len(), 1);
    assert_eq!(selected_by_rank(&Filter::compile(&catalog.extended(), body).unwrap()), "mh");
    for (text, error) in [
        (
            "level >= hihg",
            "found `hihg`, expected one of `low`, `medium`, `high`, since `>=` compares `level` by the order of its known values; did you mean `high`?",
        ),
        (
            "level < null",
            "found `null`, expected one of `low`, `medium`, `high`, since `<` compares `level` by the order of its known values; ",
        ),
        ("other > a", "found `>` on `other`, a string field, expected one of `=`, `<>`, `in`, `all`, "),
    ] {
        let found = first(Filter::compile_text(&catalog, text).unwrap_err());
        assert!(found.contains(error), "{text}: {found}");
    }
    let texts = |text: &str| {
        let found = crate::Completions::new(&catalog, text, text.len());
        found.candidates.into_iter().map(|candidate| candidate.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("level >= "), ["low", "medium", "high"]);
    assert_eq!(texts("level >"), [">", ">="]);
    assert!(texts("other >").is_empty());
    let warned = Filter::compile_text(&catalog, "level < low").unwrap().warnings();
    let kinds: Vec<_> = warned.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [predicate::WarningKind::AlwaysFalse; 2]);
}
