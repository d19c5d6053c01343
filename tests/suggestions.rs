//! Every suggestion of an error leads to a filter with the intended meaning.
//!
//! Each text has an error. If the error has a suggestion, the test applies it, and compares the resulting filter with one written
//! by hand.

use casefilter::{Catalog, Error, ErrorKind, Filter, Order};

/// Returns the first error of a text.
#[track_caller]
fn error_of(text: &str) -> Error {
    let errors = Filter::compile_text(&Catalog::cases(), text).expect_err(text);
    let [error] = errors.as_slice() else { panic!("{text}: {errors}") };
    error.clone()
}

/// Applies the suggestion of an error to its text.
fn applied(text: &str, error: &Error) -> Option<String> {
    let suggestion = error.suggestion.as_deref()?;
    let suggested = suggestion.split('`').nth(1)?;
    let found = error.found.trim_matches('`');
    let (before, at) = text.split_at(error.offset);
    let raw_len = match at.chars().next() {
        Some(mark @ ('"' | '`')) => at[1..].find(mark).unwrap() + 2,
        _ => found.len(),
    };
    let is_operator = |c: char| matches!(c, '<' | '>' | '=');
    Some(match error.kind {
        // The suggestion replaces the operator and the value.
        ErrorKind::BadTimestamp if suggested.starts_with(is_operator) => {
            format!("{}{suggested}{}", before.trim_end().trim_end_matches(is_operator), &at[raw_len..])
        }
        ErrorKind::TooManyOperands => {
            format!("{} {suggested} {at}", before.trim_end().trim_end_matches(is_operator))
        }
        // The suggestion replaces the whole criterion.
        ErrorKind::UnknownOperator if found == "between" => format!("{before}{suggested}"),
        ErrorKind::Syntax if matches!(found, "not" | "!") => format!("{before}{suggested}"),
        // The suggestion includes the word before it.
        ErrorKind::Syntax if suggested.ends_with(')') => {
            let before = before.trim_end().rsplit_once(' ').unwrap().0;
            format!("{before} {suggested}{}", &at[raw_len..])
        }
        _ => format!("{before}{suggested}{}", &at[raw_len..]),
    })
}

#[test]
fn suggestions_have_the_intended_meaning() {
    let rows: &[(&str, &str)] = &[
        // Operators of other languages.
        ("name == x", "name = x"),
        ("name is x", "name = x"),
        ("name EQ x", "name = x"),
        ("name != x", "name <> x"),
        ("name is not x", "name <> x"),
        ("name not x", "name <> x"),
        ("name $ne x", "name <> x"),
        ("createdAt => \"2024-01-01 00:00:00\"", "createdAt >= \"2024-01-01 00:00:00\""),
        ("createdAt after \"2024-01-01 00:00:00\"", "createdAt > \"2024-01-01 00:00:00\""),
        ("createdAt before \"2024-01-01 00:00:00\"", "createdAt < \"2024-01-01 00:00:00\""),
        ("createdAt ≤ \"2024-01-01 00:00:00\"", "createdAt <= \"2024-01-01 00:00:00\""),
        ("name any (a, b)", "name = a or name = b"),
        ("tags has (a, b)", "tags = a or tags = b"),
        ("tags not contains x", "tags <> x"),
        ("tags containsAll (a, b)", "tags = a and tags = b"),
        (
            "createdAt between \"2024-01-01 00:00:00\" and \"2024-01-31 00:00:00\"",
            "createdAt >= \"2024-01-01 00:00:00\" and createdAt <= \"2024-01-31 00:00:00\"",
        ),
        (
            "createdAt between 2024-01-01 and 2024-01-31",
            "createdAt >= \"2024-01-01 00:00:00\" and createdAt < \"2024-02-01 00:00:00\"",
        ),
        (
            "totalAmountInDefaultCurrency between 1 and 5",
            "totalAmountInDefaultCurrency >= 1 and totalAmountInDefaultCurrency <= 5",
        ),
        // Search boxes.
        ("status:open", "status = open"),
        ("caseReview.status:open", "caseReview.status = open"),
        ("tags:vip", "tags = vip"),
        ("tags:and", "tags = \"and\""),
        ("status: open", "status = open"),
        ("name: \"Ann Lee\"", "name = \"Ann Lee\""),
        ("status :open", "status = open"),
        ("status : open", "status = open"),
        ("totalAmountInDefaultCurrency:>5", "totalAmountInDefaultCurrency > 5"),
        ("totalAmountInDefaultCurrency:5", "totalAmountInDefaultCurrency = 5"),
        ("tags:(vip, cash)", "tags in (vip, cash)"),
        ("status:=open", "status = open"),
        // Lists.
        ("tags contains vip", "tags = vip"),
        ("tags in vip", "tags = vip"),
        ("status in open", "status = open"),
        ("tags all \"a b\"", "tags = \"a b\""),
        ("status = (open, blocked)", "status = open or status = blocked"),
        // Negation.
        ("not name = x", "name <> x"),
        ("not (tags = x)", "tags <> x"),
        ("!(name = x)", "name <> x"),
        // Quotes.
        ("name = “Ann Lee”", "name = \"Ann Lee\""),
        ("name = ‘Ann’", "name = Ann"),
        ("name = `Ann`", "name = Ann"),
        ("name = Ann Lee Smith", "name = \"Ann Lee Smith\""),
        ("name = all", "name = \"all\""),
        // Dates: a day or minute means all of it.
        ("createdAt >= \"2026-01-02\"", "createdAt >= \"2026-01-02 00:00:00\""),
        ("createdAt < \"2026-01-02\"", "createdAt < \"2026-01-02 00:00:00\""),
        ("createdAt <= \"2026-01-02\"", "createdAt < \"2026-01-03 00:00:00\""),
        ("createdAt <= 2026-02-28", "createdAt < \"2026-03-01 00:00:00\""),
        ("createdAt > \"2026-01-02\"", "createdAt >= \"2026-01-03 00:00:00\""),
        ("createdAt > \"2026-01-02 10:15\"", "createdAt >= \"2026-01-02 10:16:00\""),
        (
            "createdAt = \"2026-01-02\"",
            "createdAt >= \"2026-01-02 00:00:00\" and createdAt < \"2026-01-03 00:00:00\"",
        ),
        ("createdAt <= \"2026-01-02T10:15:00Z\"", "createdAt <= \"2026-01-02 10:15:00\""),
        ("createdAt = \"2026-01-02T10:15:00.000+01:00\"", "createdAt = \"2026-01-02 09:15:00\""),
        ("createdAt >= \"2026-01-02T10:15:00.5Z\"", "createdAt >= \"2026-01-02 10:15:01\""),
        ("createdAt <= \"2026-01-02T10:15:00.5Z\"", "createdAt < \"2026-01-02 10:15:01\""),
        ("applicantInfo.dob <= \"1980-02-29\"", "applicantInfo.dob < \"1980-03-01 00:00:00\""),
        // Numbers.
        ("totalAmountInDefaultCurrency > 10,000", "totalAmountInDefaultCurrency > 10000"),
        ("totalAmountInDefaultCurrency > 1,234,567.50", "totalAmountInDefaultCurrency > 1234567.50"),
        ("totalAmountInDefaultCurrency > 1,5", "totalAmountInDefaultCurrency > 1.5"),
        ("totalAmountInDefaultCurrency > 10 000", "totalAmountInDefaultCurrency > 10000"),
        ("totalAmountInDefaultCurrency > 10k", "totalAmountInDefaultCurrency > 10000"),
        ("totalAmountInDefaultCurrency > $10", "totalAmountInDefaultCurrency > 10"),
        ("totalAmountInDefaultCurrency > \"1'000\"", "totalAmountInDefaultCurrency > 1000"),
        // Fields and booleans.
        ("assignee = x", "caseReview.assignee = x"),
        ("creatdAt > \"2026-01-02 00:00:00\"", "createdAt > \"2026-01-02 00:00:00\""),
        (
            "caseReview.checklistState.checklist.checked = TRUE",
            "caseReview.checklistState.checklist.checked = true",
        ),
    ];
    let catalog = Catalog::cases();
    for (text, intended) in rows {
        let error = error_of(text);
        let made = applied(text, &error).unwrap_or_else(|| panic!("{text}: nothing suggested: {error}"));
        let filter =
            Filter::compile_text(&catalog, &made).unwrap_or_else(|errors| panic!("{text}: {made}: {errors}"));
        let expected = Filter::compile_text(&catalog, intended).unwrap();
        // Documents have whole seconds, so these two filters are equivalent.
        let is_same_second =
            made.contains("> \"2026-01-02 10:15:00\"") || made.contains("<= \"2026-01-02 10:15:00\"");
        if is_same_second {
            for second in ["10:14:59", "10:15:00", "10:15:01"] {
                let document = format!(r#"{{"id":"a","createdAt":"2026-01-02 {second}+0000"}}"#);
                let selects = |filter: &Filter| filter.matches(document.as_bytes()).unwrap();
                assert_eq!(selects(&filter), selects(&expected), "{text}: {made}: {second}");
            }
        } else {
            assert_eq!(filter, expected, "{text}: {made}");
        }
    }
}

#[test]
fn unsupported_tests_are_named_without_a_suggestion() {
    const INSIDE: &str = "no search inside a string";
    const ABSENCE: &str = "a test for absence is not in the language";
    for (text, note) in [
        ("name contains garcia", INSIDE),
        ("name contains \"garcia\"", INSIDE),
        ("name contains (garcia)", INSIDE),
        ("name CONTAINS (garcia, lopez)", INSIDE),
        ("status contains (open)", INSIDE),
        ("name like garcia", INSIDE),
        ("name is like garcia", INSIDE),
        ("name is not like garcia", INSIDE),
        ("name has substring garcia", INSIDE),
        ("name ~ garcia", INSIDE),
        ("name =~ garcia", INSIDE),
        ("name ~= garcia", INSIDE),
        ("name startsWith garcia", INSIDE),
        ("name has garcia", INSIDE),
        ("name $regex garcia", INSIDE),
        ("caseReview.assignee is null", ABSENCE),
        ("caseReview.assignee is not null", ABSENCE),
        ("caseReview.assignee exists", ABSENCE),
        ("totalAmountInDefaultCurrency = null", ABSENCE),
        ("createdAt = null", ABSENCE),
        ("name = x order by createdAt", "the order and the page are no part of a filter"),
        ("name = x limit 10", "the order and the page are no part of a filter"),
        ("not (name = x and tags = y)", "`<>` is the only negation"),
        ("not totalAmountInDefaultCurrency > 5", "`<>` is the only negation"),
        ("createdAt <> \"2026-01-02\"", "since `createdAt` is a timestamp field"),
        ("createdAt = \"2026-01-02 10:15:00.5\"", "since `createdAt` is a timestamp field"),
        ("applicantInfo.dob > \"1980-02-29 00:00:00.5\"", "since `applicantInfo.dob` is a timestamp field"),
        ("createdAt in (\"2026-01-02\", \"2026-01-02 00:00:00\")", "since `createdAt` is a timestamp field"),
        ("totalAmountInDefaultCurrency > 1,00,000", "`and`, `or` or the end of the text"),
        ("totalAmountInDefaultCurrency > ten", "a finite number"),
        ("createdAt:2026-01-02", "a field and, after a space, one of `=`"),
        ("createdAt: 2026-01-02", "a field and, after a space, one of `=`"),
        ("createdAt: 2026-01-02T00:00:00Z", "a field and, after a space, one of `=`"),
        ("createdAt :2026-01-02", "one of `=`"),
    ] {
        let error = error_of(text);
        assert_eq!(error.suggestion, None, "{text}: {error}");
        assert!(error.expected.contains(note), "{text}: {error}");
    }
}

#[test]
fn a_json_body_gets_the_same_advice() {
    let error = |field: &str, op: &str, value: &str| {
        let body =
            serde_json::json!({"criteria": [{"field": field, "op": op, "values": [value]}]}).to_string();
        let errors = Filter::compile(&Catalog::cases(), body.as_bytes()).unwrap_err();
        errors.as_slice()[0].clone()
    };
    for (field, op, value, suggestion) in [
        ("name", "contains", "garcia", None),
        ("tags", "contains", "vip", Some("`$contains`")),
        ("name", "$regex", "garcia", None),
        ("name", "$exists", "true", None),
        ("name", "!=", "x", Some("`<>`")),
        ("createdAt", "<=", "2026-01-02", Some("`< \"2026-01-03 00:00:00\"`, all of 2026-01-02 included")),
        ("createdAt", ">", "2026-01-02", Some("`>= \"2026-01-03 00:00:00\"`, all of 2026-01-02 left out")),
        ("createdAt", ">=", "2026-01-02", Some("`\"2026-01-02 00:00:00\"`")),
        ("createdAt", "<>", "2026-01-02", None),
        ("totalAmountInDefaultCurrency", ">", "10,000", Some("`10000`")),
    ] {
        let error = error(field, op, value);
        assert_eq!(error.suggestion.as_deref(), suggestion, "{field} {op} {value}: {error}");
    }
    assert!(error("name", "contains", "x").expected.contains("no search inside a string"));
    assert!(error("name", "$exists", "x").expected.contains("a test for absence is not in the language"));
    let many = br#"{"criteria":[{"field":"tags","op":"=","values":["a","b"]}]}"#;
    let errors = Filter::compile(&Catalog::cases(), many).unwrap_err();
    let both = "`$contains` for any of them, or `$all` for all of them";
    assert_eq!(errors.as_slice()[0].suggestion.as_deref(), Some(both));
}

#[test]
fn an_order_in_another_syntax_gets_a_suggestion() {
    let catalog = Catalog::cases();
    for (text, intended) in [
        ("createdAt desc", "-createdAt"),
        ("createdAt DESC", "-createdAt"),
        ("createdAt descending", "-createdAt"),
        ("createdAt:desc", "-createdAt"),
        ("desc(createdAt)", "-createdAt"),
        ("createdAt-", "-createdAt"),
        ("createdAt asc", "createdAt"),
        ("+createdAt", "createdAt"),
        ("createdat desc", "-createdAt"),
    ] {
        let error = Order::parse(&catalog, text).unwrap_err();
        let suggestion = error.suggestion.clone().unwrap_or_else(|| panic!("{text}: {error}"));
        assert_eq!(suggestion, format!("`{intended}`"), "{text}");
        assert!(Order::parse(&catalog, intended).is_ok());
    }
    for text in ["createdAt,-id", "createdAt, updatedAt", "tags desc", "createdAt sideways", "nothing desc"] {
        let error = Order::parse(&catalog, text).unwrap_err();
        assert_eq!(error.suggestion, None, "{text}: {error}");
    }
    let several = Order::parse(&catalog, "createdAt,-id").unwrap_err();
    assert_eq!(several.expected, "one field, ties being in the order of `id`");
}
