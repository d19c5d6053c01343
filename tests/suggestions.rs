//! Tests the suggestions of errors: applying them must lead to a filter with the intended meaning.
//!
//! Each text in this file has an error. If the error has a suggestion, the test applies it, and compares the resulting filter with
//! an expected filter that is written in this file.

use casefilter::{Catalog, Error, ErrorKind, Field, FieldType, Filter, Order};

/// Returns the first error of a text.
#[track_caller]
fn error_of(text: &str) -> Error {
    let errors = Filter::compile_text(&Catalog::cases(), text).expect_err(text);
    let [error] = errors.as_slice() else { panic!("{text}: {errors}") };
    error.clone()
}

/// Returns the suggestion of an error as messages have it.
fn displayed(error: &Error) -> Option<String> {
    error.suggestion.as_ref().map(ToString::to_string)
}

/// Applies the suggestion of an error to its text.
fn applied(text: &str, error: &Error) -> Option<String> {
    let suggestion = displayed(error)?;
    // If the suggestion is a choice between two texts, the first one is applied.
    let suggested = suggestion.split('`').nth(1)?;
    if let Some(replacement) = error.suggestion.as_ref()?.replacement() {
        assert_eq!(replacement, suggested, "{error}");
    }
    // For a value in quotes, or a phrase of it, `found` is the text without the quotes.
    let found = error.found.to_string();
    let found = error.found.as_text().unwrap_or(&found);
    let (before, at) = text.split_at(error.offset);
    let raw_len = match at.chars().next() {
        _ if at.starts_with(found) => found.len(),
        Some(mark @ ('"' | '\'' | '`')) => at[1..].find(mark).unwrap() + 2,
        _ => found.len(),
    };
    let is_operator = |c: char| matches!(c, '<' | '>' | '=');
    Some(match error.kind {
        // The suggestion replaces the operator and the value.
        ErrorKind::BadTimestamp | ErrorKind::BadNumber | ErrorKind::BadBoolean
            if suggested.starts_with(is_operator) || suggested.starts_with("is ") =>
        {
            let before = before.trim_end().trim_end_matches(is_operator);
            let before = before.strip_suffix(" on").unwrap_or(before).trim_end();
            format!("{before} {suggested}{}", &at[raw_len..])
        }
        ErrorKind::TooManyOperands => {
            let before = before.trim_end().trim_end_matches(is_operator);
            format!("{} {suggested} {at}", before.strip_suffix(" on").unwrap_or(before))
        }
        // The suggestion includes the word before it.
        ErrorKind::Syntax if error.expected.starts_with("`(` after") => {
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
        ("tags:TRUE", "tags = TRUE"),
        (
            "caseReview.checklistState.checklist.checked:True",
            "caseReview.checklistState.checklist.checked = true",
        ),
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
        ("!name = x", "name <> x"),
        ("!(name = x)", "name <> x"),
        ("not caseReview.assignee", "caseReview.assignee is absent"),
        ("totalAmountInDefaultCurrency not > 5", "not totalAmountInDefaultCurrency > 5"),
        // Presence.
        ("caseReview.assignee is null", "caseReview.assignee is absent"),
        ("caseReview.assignee is not null", "caseReview.assignee is present"),
        ("caseReview.assignee exists", "caseReview.assignee is present"),
        ("caseReview.assignee:*", "caseReview.assignee is present"),
        ("totalAmountInDefaultCurrency = null", "totalAmountInDefaultCurrency is absent"),
        ("totalAmountInDefaultCurrency <> null", "totalAmountInDefaultCurrency is present"),
        ("createdAt = null", "createdAt is absent"),
        // Searches.
        ("name contains garcia", "name includes garcia"),
        ("name contains \"garcia\"", "name includes garcia"),
        ("name contains (garcia)", "name includes garcia"),
        ("name CONTAINS (garcia, lopez)", "name includes (garcia, lopez)"),
        ("status contains (open)", "status includes open"),
        ("name has substring garcia", "name includes garcia"),
        ("name like \"%garcia%\"", "name includes garcia"),
        ("name is not like \"garcia%\"", "not name starts with garcia"),
        ("name ilike %garcia%", "name matches garcia"),
        ("name ~ garcia", "name includes garcia"),
        ("name =~ garcia", "name includes garcia"),
        ("name ~= \"^garcia\"", "name starts with garcia"),
        ("name startsWith garcia", "name starts with garcia"),
        ("name has garcia", "name includes garcia"),
        ("name $regex garcia", "name includes garcia"),
        ("name = garcia*", "name starts with garcia"),
        ("name <> *garcia*", "not name includes garcia"),
        // Quotes.
        ("name = “Ann Lee”", "name = \"Ann Lee\""),
        ("name = ‘Ann’", "name = Ann"),
        ("name = `Ann`", "name = Ann"),
        ("name = Ann Lee Smith", "name = \"Ann Lee Smith\""),
        ("name = all", "name = \"all\""),
        // Dates: a minute means all of it.
        ("createdAt > \"2026-01-02 10:15\"", "createdAt >= \"2026-01-02 10:16:00\""),
        ("createdAt <= \"2026-01-02 10:15:00 +0000\"", "createdAt <= \"2026-01-02 10:15:00\""),
        ("createdAt:2026-01-02", "createdAt on 2026-01-02"),
        ("createdAt: 2026-01-02", "createdAt on 2026-01-02"),
        ("createdAt: 2026-01-02T00:00:00Z", "createdAt = \"2026-01-02 00:00:00\""),
        ("createdAt :2026-01-02", "createdAt on 2026-01-02"),
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
    for (text, note) in [
        ("name like garcia", SEARCH),
        ("name is like garcia", SEARCH),
        ("name is not like garcia", SEARCH),
        ("name like \"%garcia%lopez%\"", SEARCH),
        ("name ilike \"%garcia lopez%\"", SEARCH),
        ("name =~ /gar.ia/", SEARCH),
        ("name fuzzy garcia", SEARCH),
        ("name endsWith garcia", ENDING),
        ("name = *garcia", ENDING),
        ("totalAmountInDefaultCurrency like \"5%\"", "only strings can be searched"),
        ("totalAmountInDefaultCurrency > null", PRESENCE),
        ("name == \"\"", PRESENCE),
        ("name = x order by createdAt", "the order and the page are not part of a filter"),
        ("name = x limit 10", "the order and the page are not part of a filter"),
        ("createdAt = \"2026-01-02 10:15:00.5\"", "since `createdAt` is a timestamp field"),
        ("applicantInfo.dob > \"1980-02-29 00:00:00.5\"", "since `applicantInfo.dob` is a timestamp field"),
        ("totalAmountInDefaultCurrency > 1,00,000", "`and`, `or` or the end of the text"),
        ("totalAmountInDefaultCurrency > ten", "a finite number"),
    ] {
        let error = error_of(text);
        assert_eq!(error.suggestion, None, "{text}: {error}");
        assert!(error.expected.contains(note), "{text}: {error}");
    }
}

/// Spellings that are part of the language.
#[test]
fn texts_with_extended_operators_need_no_suggestion() {
    for (text, meant) in [
        ("not name = x", "name <> x"),
        ("NOT (name = x)", "name <> x"),
        ("not name <> x", "name = x"),
        ("not not name = x", "name = x"),
        ("not tags in (a, b)", "tags <> a and tags <> b"),
        ("not (tags contains (a, b))", "tags <> a and tags <> b"),
        ("not (name = x and tags = y)", "name <> x or tags <> y"),
        ("name = x or not status = open and amount > 5", "name = x or (status <> open and amount > 5)"),
        ("name = x and not (tags all (a, b))", "name = x and (tags <> a or tags <> b)"),
        ("tags includes (a, b)", "tags includes a or tags includes b"),
        ("not name is absent", "name is present"),
        ("name starts with x", "name STARTS WITH (x)"),
    ] {
        let [filter, meant] = [text, meant].map(|text| compile(text).unwrap());
        for document in [
            r#"{"id":"a"}"#,
            r#"{"id":"a","name":"x"}"#,
            r#"{"id":"a","name":"xy","status":"open","amount":6,"tags":["a"]}"#,
            r#"{"id":"a","name":"y","status":"closed","amount":6,"tags":["a","b"]}"#,
            r#"{"id":"a","name":"x","tags":["y","abc"]}"#,
        ] {
            let selects = |filter: &Filter| filter.matches(document.as_bytes()).unwrap();
            assert_eq!(selects(&filter), selects(&meant), "{text}: {document}");
        }
    }
}

#[test]
fn times_need_no_suggestion() {
    for (text, meant) in [
        ("at >= \"2026-01-02\"", "at >= \"2026-01-02 00:00:00\""),
        ("at < 2026-01-02", "at < \"2026-01-02 00:00:00\""),
        ("at <= 2026-02-28", "at < \"2026-03-01 00:00:00\""),
        ("at > 2026-01-02", "at >= \"2026-01-03 00:00:00\""),
        ("at in (2026-01-02)", "at >= \"2026-01-02 00:00:00\" and at < \"2026-01-03 00:00:00\""),
        ("at = 2026-01-02T10:15:00.000+01:00", "at = \"2026-01-02 09:15:00\""),
        ("at in (2026-01-02T10:15:00Z)", "at = \"2026-01-02 10:15:00\""),
        ("at <= today", "at < \"2026-01-11 00:00:00\""),
        ("at > now-7d", "at > \"2026-01-03 12:00:00\""),
    ] {
        assert_eq!(compile(text).unwrap(), compile(meant).unwrap(), "{text}");
    }
}

#[test]
fn an_extended_body_gets_the_operators_that_it_may_use() {
    let catalog = catalog().extended();
    type Row<'a> = (&'a str, &'a str, &'a [&'a str], Result<&'a str, &'a str>);
    let rows: &[Row<'_>] = &[
        ("name", "$exist", &["true"], Ok("`$exists`")),
        ("name", "isNull", &["true"], Ok("`$exists` with the value `\"false\"`")),
        ("name", "isNull", &["false"], Ok("`$exists` with the value `\"true\"`")),
        ("name", "==", &["null"], Ok("`$exists` with the value `\"false\"`")),
        ("name", "$ne", &["null"], Ok("`$exists` with the value `\"true\"`")),
        ("amount", "=", &["null"], Ok("`$exists` with the value `\"false\"`")),
        ("name", "$exist", &["x"], Err("`$exists` tests whether there is a value")),
        ("name", "$regex", &["x"], Ok("`$substring`")),
        ("name", "$regex", &["^x"], Ok("`$startsWith` with the value `\"x\"`")),
        ("name", "$like", &["%x%"], Ok("`$substring` with the value `\"x\"`")),
        ("name", "notLike", &["%x%"], Ok("`$substring` with the value `\"x\"` inside `$not`")),
        ("name", "contains", &["x", "y"], Ok("`$substring`")),
        ("tags", "contains", &["x"], Ok("`$contains`")),
        ("name", "$startswith", &["x"], Ok("`$startsWith`")),
        ("name", "$matches", &["x y"], Ok("`$match`")),
        ("name", "$not", &["x"], Ok("`<>`")),
        ("name", "$nin", &["x", "y"], Ok("`$contains` inside `$not`")),
        ("tags", "notAll", &["x", "y"], Ok("`$all` inside `$not`")),
        ("amount", "not >", &["5"], Ok("`>` inside `$not`, which also selects cases without a value")),
        ("amount", "$like", &["5%"], Err("only strings can be searched")),
    ];
    for (field, op, values, expected) in rows {
        let body =
            serde_json::json!({"criteria": [{"field": field, "op": op, "values": values}]}).to_string();
        let errors = Filter::compile(&catalog, body.as_bytes()).expect_err(&body);
        let first = &errors.as_slice()[0];
        assert_eq!(
            first.suggestion.as_ref().map(ToString::to_string).as_deref(),
            expected.ok(),
            "{body}: {first}"
        );
        if let Err(note) = expected {
            assert!(first.expected.ends_with(note), "{body}: {first}");
        }
    }
    let child = serde_json::json!({"field": "name", "op": "=", "values": ["x"]});
    let body = serde_json::json!({"criteria": [{"op": "not", "children": [child]}]}).to_string();
    let errors = Filter::compile(&catalog, body.as_bytes()).unwrap_err();
    assert_eq!(errors.as_slice()[0].suggestion.as_ref().map(ToString::to_string).as_deref(), Some("`$not`"));
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
        (
            "createdAt",
            "<=",
            "2026-01-02",
            Some("the comparison `< \"2026-01-03 00:00:00\"`, all of 2026-01-02 included"),
        ),
        (
            "createdAt",
            ">",
            "2026-01-02",
            Some("the comparison `>= \"2026-01-03 00:00:00\"`, all of 2026-01-02 left out"),
        ),
        ("createdAt", ">=", "2026-01-02", Some("`2026-01-02 00:00:00`")),
        ("createdAt", "<>", "2026-01-02", None),
        ("totalAmountInDefaultCurrency", ">", "10,000", Some("`10000`")),
    ] {
        let error = error(field, op, value);
        assert_eq!(displayed(&error).as_deref(), suggestion, "{field} {op} {value}: {error}");
    }
    assert!(error("name", "contains", "x").expected.contains("no search inside a string"));
    assert!(error("name", "$exists", "x").expected.contains("the language has no test for absence"));
    let many = br#"{"criteria":[{"field":"tags","op":"=","values":["a","b"]}]}"#;
    let errors = Filter::compile(&Catalog::cases(), many).unwrap_err();
    let both = "`$contains` for any of them, or `$all` for all of them";
    assert_eq!(displayed(&errors.as_slice()[0]).as_deref(), Some(both));
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
        assert_eq!((suggestion.replacement(), suggestion.explanation()), (Some(intended), None), "{text}");
        assert!(Order::parse(&catalog, intended).is_ok());
    }
    for text in ["createdAt,-id", "createdAt, updatedAt", "tags desc", "createdAt sideways", "nothing desc"] {
        let error = Order::parse(&catalog, text).unwrap_err();
        assert_eq!(error.suggestion, None, "{text}: {error}");
    }
    let several = Order::parse(&catalog, "createdAt,-id").unwrap_err();
    assert_eq!(several.expected, "one field; cases with equal values are in the order of `id`");
}

/// Compiles a text for [`catalog`] at 2026-01-10 12:00:00.
fn compile(text: &str) -> Result<Filter, casefilter::Errors> {
    let now = casefilter::Timestamp::parse("2026-01-10 12:00:00").unwrap();
    casefilter::FilterBuilder::new(&catalog()).now(now).text(text)
}

/// A catalogue with short names, one field of each type and a list.
fn catalog() -> Catalog {
    let fields = [
        ("name", FieldType::String),
        ("status", FieldType::String),
        ("amount", FieldType::Number),
        ("at", FieldType::Timestamp),
        ("seen", FieldType::Timestamp),
        ("checked", FieldType::Boolean),
        ("tags[]", FieldType::String),
    ];
    Catalog::new(fields.map(|(name, kind)| Field::new(name, kind))).unwrap()
}

const ABSENCE: &str = "the language has no test for absence";
const INSIDE: &str = "strings are compared whole, and there is no search inside a string";
/// The notes of texts, which have more operators than bodies of the interface.
const PRESENCE: &str = "`is absent` and `is present` test whether there is a value";
const SEARCH: &str =
    "`includes` searches inside a string, `starts with` at its start, and `matches` without case and accents";
const MOMENTS: &str = "write a time such as `now - 7d`, `today` or `2025-12-01`";
const ENDING: &str = "no operator tests the end of a string";
const ORDER: &str = "no operator negates a comparison such as `>`, and its opposite `<=` does not select cases without a value";
const ONLY: &str = "a test for the absence of other values is not in the language";
const COUNT: &str = "a test of the number of values is not in the language";
const TIMES: &str = "times are absolute: write the time itself";
const DAY: &str = "for a whole day or minute, write one criterion for its start and one for its end";
const BOUND: &str = "write `<=` to include the value, `<` to leave it out";
const FUNCTION: &str = "functions are not in the language";
const TWO_FIELDS: &str = "a field is compared with values, and not with another field";
const CONNECTIVE: &str = "`and` and `or` are the only connectives";

/// The answer to the writer of a text.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// The suggestion of the first error, and the filter that the suggestions make in the end.
    Meant(&'static str, &'static str),
    /// No suggestion. The text that says what was expected ends with this note.
    Cannot(&'static str),
    /// No suggestion, and no note that a test is not in the language.
    Nothing,
}
use Told::{Cannot, Meant, Nothing};

/// Operators of SQL, of MongoDB, of JavaScript, of Lucene and of English, on fields of all types.
const CORPUS: &[(&str, Told)] = &[
    // No value, or any.
    ("name == null", Meant("`is absent`", "name is absent")),
    ("name === null", Meant("`is absent`", "name is absent")),
    ("name != null", Meant("`is present`", "name is present")),
    ("name !== undefined", Meant("`is present`", "name is present")),
    ("name == NULL and status = open", Meant("`is absent`", "name is absent and status = open")),
    ("name is null", Meant("`is absent`", "name is absent")),
    ("name IS NOT NULL", Meant("`is present`", "name is present")),
    ("name is not nil", Meant("`is present`", "name is present")),
    ("name is none", Meant("`is absent`", "name is absent")),
    ("name is undefined", Meant("`is absent`", "name is absent")),
    ("name is \"\"", Cannot(PRESENCE)),
    ("name == ''", Cannot(PRESENCE)),
    ("name != \"\"", Cannot(PRESENCE)),
    ("name is empty", Meant("`is absent`", "name is absent")),
    ("name is not blank", Meant("`is present`", "name is present")),
    ("name is missing", Meant("`is absent`", "name is absent")),
    ("name isn't null", Meant("`is present`", "name is present")),
    ("name isn’t set", Meant("`is absent`", "name is absent")),
    ("name isnt null", Meant("`is present`", "name is present")),
    ("name is not set", Meant("`is absent`", "name is absent")),
    ("name is defined", Meant("`is present`", "name is present")),
    ("name is any", Meant("`is present`", "name is present")),
    ("name not null", Meant("`is present`", "name is present")),
    ("name notnull", Meant("`is present`", "name is present")),
    ("name isnull", Meant("`is absent`", "name is absent")),
    ("name exists", Meant("`is present`", "name is present")),
    ("name exists true", Meant("`is present`", "name is present")),
    ("name $exists false", Meant("`is absent`", "name is absent")),
    ("name does not exist", Meant("`is absent`", "name is absent")),
    ("name has value", Meant("`is present`", "name is present")),
    ("name has no value", Meant("`is absent`", "name is absent")),
    ("name = not null", Meant("`is present`", "name is present")),
    ("name = *", Meant("`is present`", "name is present")),
    ("name:*", Meant("`name is present`", "name is present")),
    ("name:null", Meant("`name is absent`", "name is absent")),
    ("name :null", Meant("`is absent`", "name is absent")),
    ("name: null", Cannot(PRESENCE)),
    ("name:\"\"", Cannot(PRESENCE)),
    ("_exists_:name", Meant("`name is present`", "name is present")),
    ("exists(name)", Meant("`name is present`", "name is present")),
    ("exists name", Meant("`name is present`", "name is present")),
    ("missing(name)", Meant("`name is absent`", "name is absent")),
    ("isnull(name)", Meant("`name is absent`", "name is absent")),
    ("not name", Meant("`name is absent`", "name is absent")),
    ("!name", Meant("`name is absent`", "name is absent")),
    ("not exists name", Meant("`name is present`", "not name is present")),
    ("not exists(name)", Meant("`name is present`", "not name is present")),
    ("not name is null", Meant("`is absent`", "not name is absent")),
    ("amount is null", Meant("`is absent`", "amount is absent")),
    ("amount = null", Meant("`is absent`", "amount is absent")),
    ("amount == null", Meant("`is absent`", "amount is absent")),
    ("amount > null", Cannot(PRESENCE)),
    ("at is null", Meant("`is absent`", "at is absent")),
    ("at != null", Meant("`is present`", "at is present")),
    ("at = \"\"", Cannot(PRESENCE)),
    ("checked is null", Meant("`is absent`", "checked is absent")),
    ("checked = null", Meant("`is absent`", "checked is absent")),
    ("tags is empty", Meant("`is absent`", "tags is absent")),
    ("tags == null", Meant("`is absent`", "tags is absent")),
    ("tags in null", Meant("`is absent`", "tags is absent")),
    ("tags not in (null)", Cannot(PRESENCE)),
    ("tags is in (a, null)", Cannot(PRESENCE)),
    ("tags:(a, null)", Cannot(PRESENCE)),
    ("name is \"null\"", Meant("`=`", "name = \"null\"")),
    // Equal or not.
    ("name == x", Meant("`=`", "name = x")),
    ("name === x", Meant("`=`", "name = x")),
    ("name = = x", Meant("`=`", "name = x")),
    ("name <=> x", Meant("`=`", "name = x")),
    ("name is x", Meant("`=`", "name = x")),
    ("name eq x", Meant("`=`", "name = x")),
    ("name -eq x", Meant("`=`", "name = x")),
    ("name equals x", Meant("`=`", "name = x")),
    ("name equal to x", Meant("`=`", "name = x")),
    ("name is equal to x", Meant("`=`", "name = x")),
    ("name != x", Meant("`<>`", "name <> x")),
    ("name !== x", Meant("`<>`", "name <> x")),
    ("name ≠ x", Meant("`<>`", "name <> x")),
    ("name < > x", Meant("`<>`", "name <> x")),
    ("name ! = x", Meant("`<>`", "name <> x")),
    ("name $ne x", Meant("`<>`", "name <> x")),
    ("name is not x", Meant("`<>`", "name <> x")),
    ("name isn't x", Meant("`<>`", "name <> x")),
    ("name not x", Meant("`<>`", "name <> x")),
    ("name not = x", Meant("`<>`", "name <> x")),
    ("name = not x", Meant("`<>`", "name <> x")),
    ("name not equal to x", Meant("`<>`", "name <> x")),
    ("name does not equal x", Meant("`<>`", "name <> x")),
    ("name doesn't equal x", Meant("`<>`", "name <> x")),
    ("name other than x", Meant("`<>`", "name <> x")),
    ("name differs from x", Meant("`<>`", "name <> x")),
    ("name is distinct from x", Meant("`<>`", "name <> x")),
    ("name is not distinct from x", Meant("`=`", "name = x")),
    ("checked is true", Meant("`=`", "checked = true")),
    ("checked is not true", Meant("`<>`", "checked <> true")),
    ("checked == false", Meant("`=`", "checked = false")),
    ("name <> not x", Nothing),
    ("name = not", Nothing),
    ("amount > not 5", Nothing),
    // Order.
    ("amount => 5", Meant("`>=`", "amount >= 5")),
    ("amount > = 5", Meant("`>=`", "amount >= 5")),
    ("amount is > 5", Meant("`>`", "amount > 5")),
    ("amount is >= 5", Meant("`>=`", "amount >= 5")),
    ("amount $gt 5", Meant("`>`", "amount > 5")),
    ("amount greater than 5", Meant("`>`", "amount > 5")),
    ("amount is greater than 5", Meant("`>`", "amount > 5")),
    ("amount is greater than or equal to 5", Meant("`>=`", "amount >= 5")),
    ("amount is less than 5", Meant("`<`", "amount < 5")),
    ("amount is less than or equal to 5", Meant("`<=`", "amount <= 5")),
    ("amount is more than 5", Meant("`>`", "amount > 5")),
    ("amount no more than 5", Meant("`<=`", "amount <= 5")),
    ("amount is at least 5", Meant("`>=`", "amount >= 5")),
    ("amount at most 5", Meant("`<=`", "amount <= 5")),
    ("amount exceeds 5", Meant("`>`", "amount > 5")),
    ("amount over 5", Meant("`>`", "amount > 5")),
    ("amount below 5", Meant("`<`", "amount < 5")),
    ("amount not > 5", Meant("`not amount > 5`, which also selects cases without a value", "not amount > 5")),
    (
        "amount is not > 5",
        Meant("`not amount > 5`, which also selects cases without a value", "not amount > 5"),
    ),
    (
        "amount not >= 5",
        Meant("`not amount >= 5`, which also selects cases without a value", "not amount >= 5"),
    ),
    (
        "amount is not greater than 5",
        Meant("`not amount > 5`, which also selects cases without a value", "not amount > 5"),
    ),
    ("!(amount < 5)", Meant("`not (`", "not (amount < 5)")),
    (
        "at not after \"2026-01-02 00:00:00\"",
        Meant(
            "`not at > \"2026-01-02 00:00:00\"`, which also selects cases without a value",
            "not at > \"2026-01-02 00:00:00\"",
        ),
    ),
    ("amount up to 5", Cannot(BOUND)),
    ("at until \"2026-01-02 00:00:00\"", Cannot(BOUND)),
    ("at by \"2026-01-02 00:00:00\"", Cannot(BOUND)),
    ("name is greater than x", Nothing),
    ("name gt x", Nothing),
    ("tags more than 2", Nothing),
    ("amount > otheramount", Nothing),
    ("at < seen", Cannot(TWO_FIELDS)),
    ("amount = at", Cannot(TWO_FIELDS)),
    // Ranges.
    ("amount between 1 and 5", Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5")),
    ("amount is between 1 and 5", Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5")),
    (
        "amount BETWEEN 1 AND 5 or name = x",
        Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5 or name = x"),
    ),
    ("amount between (1, 5)", Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5")),
    ("amount between 1, 5", Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5")),
    (
        "amount between 1 and 5 and name = x",
        Meant("`>= 1 and amount <= 5`", "amount >= 1 and amount <= 5 and name = x"),
    ),
    (
        "amount not between 1 and 5",
        Meant(
            "`not (amount >= 1 and amount <= 5)`, which also selects cases without a value",
            "not (amount >= 1 and amount <= 5)",
        ),
    ),
    (
        "not amount between 1 and 5",
        Meant("`(amount >= 1 and amount <= 5)`", "not (amount >= 1 and amount <= 5)"),
    ),
    (
        "amount outside (1, 5)",
        Meant(
            "`not (amount >= 1 and amount <= 5)`, which also selects cases without a value",
            "not (amount >= 1 and amount <= 5)",
        ),
    ),
    ("amount between 1", Nothing),
    ("tags between a and b", Nothing),
    ("name between a and b", Nothing),
    ("amount:[1 TO 5]", Nothing),
    ("amount:1..5", Nothing),
    // Times.
    ("at >= yesterday", Meant("`today - 1d`", "at >= today - 1d")),
    ("at > now()", Cannot(MOMENTS)),
    ("at > now() - interval '7 days'", Cannot(MOMENTS)),
    ("at > -7d", Meant("`now - 7d`", "at > now - 7d")),
    ("at >= current_date", Meant("`today`", "at >= today")),
    ("at >= CURRENT_TIMESTAMP", Meant("`now`", "at >= now")),
    ("at > 7 days ago", Cannot(MOMENTS)),
    ("at > last week", Cannot(MOMENTS)),
    ("at > today - 7", Cannot(MOMENTS)),
    ("at last 7 days", Cannot(MOMENTS)),
    ("at in last 7 days", Cannot(MOMENTS)),
    ("at in the last 7 days", Cannot(MOMENTS)),
    ("at within last 7 days", Cannot(MOMENTS)),
    ("at between yesterday and today", Cannot(MOMENTS)),
    ("at not in (today, yesterday)", Cannot(MOMENTS)),
    ("at:today", Meant("`at = today`", "at on today")),
    ("at >= date('2026-01-02')", Cannot(FUNCTION)),
    ("date(at) = 2026-01-02", Cannot(FUNCTION)),
    ("year(at) = 2026", Cannot(FUNCTION)),
    (
        "at != 2026-01-02",
        Meant("`<>`", "not (at >= \"2026-01-02 00:00:00\" and at < \"2026-01-03 00:00:00\")"),
    ),
    ("at not in (2026-01-02)", Meant("`<> 2026-01-02`", "at <> 2026-01-02")),
    ("at is one of (2026-01-02)", Meant("`in`", "at on 2026-01-02")),
    ("at == 2026-01-02", Meant("`=`", "at >= \"2026-01-02 00:00:00\" and at < \"2026-01-03 00:00:00\"")),
    ("at after 2026-01-02", Meant("`>`", "at >= \"2026-01-03 00:00:00\"")),
    ("at before 2026-01-02", Meant("`<`", "at < \"2026-01-02 00:00:00\"")),
    ("at is before 2026-01-02", Meant("`<`", "at < \"2026-01-02 00:00:00\"")),
    ("at since 2026-01-02", Meant("`>=`", "at >= \"2026-01-02 00:00:00\"")),
    ("at on or after 2026-01-02", Meant("`>=`", "at >= \"2026-01-02 00:00:00\"")),
    ("at no later than 2026-01-02", Meant("`<=`", "at < \"2026-01-03 00:00:00\"")),
    ("at newer than \"2026-01-02 00:00:00\"", Meant("`>`", "at > \"2026-01-02 00:00:00\"")),
    (
        "at between 2026-01-01 and 2026-01-31",
        Meant(
            "`>= 2026-01-01 and at <= 2026-01-31`",
            "at >= \"2026-01-01 00:00:00\" and at < \"2026-02-01 00:00:00\"",
        ),
    ),
    ("at after 2026-01-02 10:15:00", Meant("`>`", "at > \"2026-01-02 10:15:00\"")),
    ("at:2026-01-02", Meant("`at = 2026-01-02`", "at on 2026-01-02")),
    ("at:[2026-01-01 TO 2026-02-01]", Nothing),
    // A search inside a string.
    ("name like '%x%'", Meant("`includes x`", "name includes x")),
    ("name LIKE %x%", Meant("`includes x`", "name includes x")),
    ("name ilike 'x'", Cannot(SEARCH)),
    ("name not like 'x%'", Meant("`not name starts with x`", "not name starts with x")),
    ("name is not like x", Cannot(SEARCH)),
    ("name does not like x", Cannot(SEARCH)),
    ("not name like x", Cannot(SEARCH)),
    ("name ~ x", Meant("`includes x`", "name includes x")),
    ("name !~ x", Meant("`not name includes x`", "not name includes x")),
    ("name =~ /x/", Meant("`includes x`", "name includes x")),
    ("name == /x/", Meant("`includes x`", "name includes x")),
    ("name is /garcia/i", Meant("`matches garcia`", "name matches garcia")),
    ("name $regex x", Meant("`includes x`", "name includes x")),
    ("name similar to x", Cannot(SEARCH)),
    ("name contains x", Meant("`includes x`", "name includes x")),
    ("name contains (x, y)", Meant("`includes (x, y)`", "name includes (x, y)")),
    ("name contains any (x, y)", Meant("`includes (x, y)`", "name includes (x, y)")),
    ("name containing x", Meant("`includes x`", "name includes x")),
    ("name not containing x", Meant("`not name includes x`", "not name includes x")),
    ("name not contains x", Meant("`not name includes x`", "not name includes x")),
    ("name does not contain x", Meant("`not name includes x`", "not name includes x")),
    ("name doesn't contain x", Meant("`not name includes x`", "not name includes x")),
    ("name doesn't start with x", Meant("`not name starts with x`", "not name starts with x")),
    ("name starting with x", Meant("`starts with x`", "name starts with x")),
    ("name begins with x", Meant("`starts with x`", "name starts with x")),
    ("name endsWith x", Cannot(ENDING)),
    ("name has x", Meant("`includes x`", "name includes x")),
    ("name has prefix x", Meant("`starts with x`", "name starts with x")),
    ("name without x", Meant("`not name includes x`", "not name includes x")),
    ("name = gar*", Meant("`starts with gar`", "name starts with gar")),
    ("name = *garcia*", Meant("`includes garcia`", "name includes garcia")),
    ("name = gar%", Meant("`starts with gar`", "name starts with gar")),
    ("name = %garcia%", Meant("`includes garcia`", "name includes garcia")),
    ("name:gar*", Meant("`name starts with gar`", "name starts with gar")),
    ("name:*garcia*", Meant("`name includes garcia`", "name includes garcia")),
    ("name:/gar.*/", Cannot(SEARCH)),
    ("startswith(name, 'x')", Meant("`name starts with 'x'`", "name starts with 'x'")),
    ("lower(name) = x", Cannot(FUNCTION)),
    ("name = lower(X)", Cannot(FUNCTION)),
    ("contains(name, x)", Meant("`name includes x`", "name includes x")),
    // One of several values.
    ("status = (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status is (open, blocked)", Meant("`in (open, blocked)`", "status in (open, blocked)")),
    ("status is one of (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status one of (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status = one of (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status any of (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status = any (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status is in (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status = in (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status $in (open, blocked)", Meant("`in`", "status in (open, blocked)")),
    ("status is either open or blocked", Meant("`in (open, blocked)`", "status in (open, blocked)")),
    ("status either open or blocked", Meant("`in (open, blocked)`", "status in (open, blocked)")),
    ("status is open or blocked", Meant("`in (open, blocked)`", "status in (open, blocked)")),
    (
        "status is open or blocked and name = x",
        Meant("`in (open, blocked)`", "status in (open, blocked) and name = x"),
    ),
    ("status in open, blocked", Meant("`in (open, blocked)`", "status in (open, blocked)")),
    ("status in open", Meant("`in (open)`", "status = open")),
    ("status is open and name = x", Meant("`=`", "status = open and name = x")),
    ("status in any", Nothing),
    ("status in open or blocked", Nothing),
    ("status in (open or blocked)", Nothing),
    ("status = open or blocked", Nothing),
    ("status is not open or blocked", Nothing),
    ("status:(open or blocked)", Nothing),
    ("status:open,blocked", Nothing),
    (
        "status not in (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    ("status NOT IN (open)", Meant("`<> open`", "status <> open")),
    (
        "status !in (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status $nin (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status is not in ('a b', \"c d\")",
        Meant("`not status in ('a b', \"c d\")`", "status <> \"a b\" and status <> \"c d\""),
    ),
    (
        "status != (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status is not (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status <> all (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status none of (open, blocked)",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    (
        "status is neither open nor blocked",
        Meant("`not status in (open, blocked)`", "status <> open and status <> blocked"),
    ),
    ("status <> any (open, blocked)", Nothing),
    ("status != any (open, blocked)", Nothing),
    // Lists.
    ("tags contains vip", Meant("`contains (vip)`", "tags = vip")),
    ("tags contains vip, cash", Meant("`contains (vip, cash)`", "tags in (vip, cash)")),
    ("tags contains any (a, b)", Meant("`in`", "tags in (a, b)")),
    ("tags contains any of (a, b)", Meant("`in`", "tags in (a, b)")),
    ("tags contains any x", Meant("`in`", "tags = x")),
    ("tags contains any", Nothing),
    ("tags has any of (a, b)", Meant("`in`", "tags in (a, b)")),
    ("tags has a", Meant("`in`", "tags = a")),
    ("tags has a or b", Meant("`in (a, b)`", "tags in (a, b)")),
    ("tags has a and b", Meant("`all (a, b)`", "tags all (a, b)")),
    ("tags any (a, b)", Meant("`in`", "tags in (a, b)")),
    ("tags member of (a)", Meant("`in`", "tags = a")),
    ("tags contains all (a, b)", Meant("`all`", "tags all (a, b)")),
    ("tags contains all of (a, b)", Meant("`all`", "tags all (a, b)")),
    ("tags has all (a, b)", Meant("`all`", "tags all (a, b)")),
    ("tags all of (a, b)", Meant("`all`", "tags all (a, b)")),
    ("tags = all (a, b)", Meant("`all`", "tags all (a, b)")),
    ("tags all vip, cash", Meant("`all (vip, cash)`", "tags all (vip, cash)")),
    ("tags not contains a", Meant("`<>`", "tags <> a")),
    ("tags not contains (a)", Meant("`<> a`", "tags <> a")),
    ("tags not contains (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags does not contain (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags doesn't contain (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags does not contain any of (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags does not have a", Meant("`<>`", "tags <> a")),
    ("tags has no a", Meant("`<>`", "tags <> a")),
    ("tags contains not a", Meant("`<>`", "tags <> a")),
    ("tags contains none (a)", Meant("`<> a`", "tags <> a")),
    ("tags contains none of (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags none (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags without (a, b)", Meant("`not tags in (a, b)`", "tags <> a and tags <> b")),
    ("tags lacks a", Meant("`<>`", "tags <> a")),
    ("tags excluding a", Meant("`<>`", "tags <> a")),
    ("tags not all (a, b)", Meant("`not tags all (a, b)`", "not tags all (a, b)")),
    ("tags not all (a, b) and name = x", Meant("`not tags all (a, b)`", "not tags all (a, b) and name = x")),
    ("name = x and tags not all (a, b)", Meant("`not tags all (a, b)`", "name = x and not tags all (a, b)")),
    ("tags does not contain all of (a, b)", Meant("`not tags all (a, b)`", "not tags all (a, b)")),
    ("tags contains only (a)", Cannot(ONLY)),
    ("tags only (a)", Cannot(ONLY)),
    ("tags contains exactly (a)", Cannot(ONLY)),
    ("tags size 2", Cannot(COUNT)),
    ("tags count > 2", Cannot(COUNT)),
    ("count(tags) > 2", Cannot(COUNT)),
    ("tags intersects (a, b)", Nothing),
    ("tags has a and checked", Nothing),
    ("tags = [a]", Nothing),
    // Negation before a criterion.
    ("!name = x", Meant("`not name`", "name <> x")),
    ("!(name = x)", Meant("`not (`", "name <> x")),
    ("not name == x", Meant("`=`", "name <> x")),
    ("not name is x", Meant("`=`", "name <> x")),
    ("not checked", Meant("`checked <> true`", "checked <> true")),
    ("!!name = x", Nothing),
    // Connectives.
    ("name = x && status = open", Meant("`and`", "name = x and status = open")),
    ("name = x || status = open", Meant("`or`", "name = x or status = open")),
    ("name == x && status != open", Meant("`=`", "name = x and status <> open")),
    ("name = x xor status = open", Cannot(CONNECTIVE)),
    ("name = x nor status = open", Cannot(CONNECTIVE)),
    ("name = x unless status = open", Cannot(CONNECTIVE)),
    ("name = x except status = open", Cannot(CONNECTIVE)),
    ("name = x but not status = open", Cannot(CONNECTIVE)),
    ("name = x ^ status = open", Cannot(CONNECTIVE)),
    ("name = \"x y\" xor status = open", Cannot(CONNECTIVE)),
    ("name = Ann Lee status = open", Nothing),
    ("name = x unless", Nothing),
    ("name = Ann but Lee", Nothing),
    ("name = any x", Nothing),
    ("name == any x", Meant("`in`", "name = x")),
    ("name == x nor y", Nothing),
    ("name = x y z", Meant("`\"x y z\"`", "name = \"x y z\"")),
    // Search boxes.
    ("status:open", Meant("`status = open`", "status = open")),
    ("status: \"open\"", Meant("`status = \"open\"`", "status = open")),
    ("status :open", Meant("`= open`", "status = open")),
    ("tags:(a, b)", Meant("`tags in`", "tags in (a, b)")),
    ("tags:(a AND b)", Nothing),
    ("tags:(a b)", Nothing),
    ("status:any", Nothing),
    ("status:not open", Nothing),
    ("status: open or blocked", Nothing),
    ("amount:>5", Meant("`amount`", "amount > 5")),
    ("select * from cases where status = open", Nothing),
];

/// Applies suggestions until none is left. Returns the text and its first error, if there is one. Returns `Err` if a suggestion
/// does not move the first error on.
fn followed(text: &str) -> Result<(String, Option<Error>), String> {
    let mut made = text.to_owned();
    let mut read = 0;
    loop {
        let error = match compile(&made) {
            Ok(_) => return Ok((made, None)),
            Err(errors) => errors.as_slice()[0].clone(),
        };
        if error.offset < read {
            return Err(format!("{text}: {made}: {error}"));
        }
        let Some(next) = applied(&made, &error) else { return Ok((made, Some(error))) };
        // The number of steps is bounded, because each of them leaves a longer part without an error.
        read = error.offset + 1;
        made = next;
    }
}

#[test]
fn an_operator_of_another_language_gets_its_meaning_or_the_reason_why_it_has_none() {
    for (text, told) in CORPUS {
        let errors = compile(text).expect_err(text);
        let first = &errors.as_slice()[0];
        match told {
            Meant(suggestion, meant) => {
                assert_eq!(displayed(first).as_deref(), Some(*suggestion), "{text}: {errors}");
                let (made, error) = followed(text).unwrap();
                assert_eq!(error, None, "{text}: {made}");
                let [made, meant] = [&made, *meant].map(|text| compile(text).unwrap());
                assert_eq!(made, meant, "{text}");
            }
            Cannot(note) => {
                for error in errors.as_slice() {
                    assert_eq!(error.suggestion, None, "{text}: {error}");
                }
                assert!(first.expected.ends_with(note), "{text}: {first}");
            }
            Nothing => {
                for error in errors.as_slice() {
                    assert_eq!(error.suggestion, None, "{text}: {error}");
                }
                assert!(!first.expected.contains("not in the language"), "{text}: {first}");
            }
        }
    }
}

/// The values of a filter's criteria.
fn values(filter: &Filter) -> Vec<String> {
    fn collect(json: &serde_json::Value, values: &mut Vec<String>) {
        match json {
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, values)),
            serde_json::Value::Object(members) => {
                for (key, member) in members {
                    match member.as_array() {
                        Some(texts) if key == "values" => {
                            values.extend(texts.iter().map(|text| text.as_str().unwrap().to_owned()));
                        }
                        _ => collect(member, values),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::from_str(&filter.to_json()).unwrap(), &mut found);
    found
}

#[test]
fn no_suggestion_compares_with_a_keyword() {
    const OPERATORS: &[&str] = &[
        "==",
        "===",
        "!=",
        "!==",
        "≠",
        "=>",
        "=<",
        "~",
        "=~",
        "!~",
        "<=>",
        "> =",
        "! =",
        "&&",
        ":",
        "is",
        "is not",
        "isn't",
        "not",
        "= not",
        "<> not",
        "eq",
        "ne",
        "gt",
        "$gte",
        "equals",
        "does not equal",
        "is equal to",
        "differs from",
        "is distinct from",
        "is greater than",
        "greater than or equal to",
        "less than",
        "more than",
        "at least",
        "no more than",
        "not >",
        "not >=",
        "is <",
        "is not <",
        "before",
        "after",
        "not before",
        "since",
        "until",
        "on",
        "between",
        "not between",
        "in",
        "not in",
        "is in",
        "!in",
        "$in",
        "$nin",
        "= in",
        "in not",
        "all",
        "not all",
        "all of",
        "= all",
        "<> all",
        "any",
        "any of",
        "= any",
        "<> any",
        "!= any",
        "some",
        "one of",
        "is one of",
        "is either",
        "is neither",
        "none",
        "none of",
        "is none of",
        "contains",
        "contains any",
        "contains any of",
        "contains all",
        "contains none",
        "contains not",
        "contains only",
        "not contains",
        "does not contain",
        "does not contain any of",
        "does not contain all of",
        "doesn't contain",
        "containing",
        "includes",
        "has",
        "has any",
        "has all",
        "has no",
        "has not",
        "does not have",
        "without",
        "lacks",
        "only",
        "exactly",
        "like",
        "not like",
        "ilike",
        "starts with",
        "matches",
        "is null",
        "is not null",
        "exists",
        "size",
        "last",
        "in last",
        "xor",
        "nor",
        "unless",
        "and",
        "or",
    ];
    const OPERANDS: &[&str] = &[
        "",
        "x",
        "\"x\"",
        "'x y'",
        "5",
        "1,5",
        "true",
        "2026-01-02",
        "\"2026-01-02 00:00:00\"",
        "2026-01-02T00:00:00Z",
        "null",
        "NULL",
        "undefined",
        "\"\"",
        "''",
        "any",
        "all",
        "none",
        "not x",
        "not",
        "not null",
        "any x",
        "any (x, y)",
        "today",
        "now()",
        "7 days ago",
        "like x",
        "> 5",
        "(x)",
        "(x, y)",
        "(5, 6)",
        "()",
        "(null)",
        "(x, null)",
        "(x or y)",
        "(x y)",
        "[x]",
        "x, y",
        "x or y",
        "x and y",
        "x nor y",
        "x xor y",
        "1 and 5",
        "1 and 5 and name = x",
        "x or name = y",
        "x xor name = y",
        "x unless name = y",
        "x y z",
        "x name = y",
        "x*",
        "*",
        "%x%",
        "/x/",
        "x(y)",
    ];
    // `in` and `all` at the end of a criterion are suggested in quotes, as the codes of countries that they are.
    let keywords = [
        "null",
        "undefined",
        "any",
        "none",
        "not",
        "now",
        "like",
        "xor",
        "unless",
        "nor",
        "or",
        "and",
        "",
        "/x/",
        "one",
        "of",
    ];
    let mut made_filters = 0;
    let mut wrong = Vec::new();
    for field in ["name", "amount", "at", "checked", "tags"] {
        for operator in OPERATORS {
            for operand in OPERANDS {
                for text in [
                    format!("{field} {operator} {operand}"),
                    format!("not {field} {operator} {operand}"),
                    format!("(status = open or {field} {operator} {operand})"),
                    format!("{field}:{operand}"),
                ] {
                    if compile(&text).is_ok() {
                        continue;
                    }
                    let made = match followed(&text) {
                        Ok((made, None)) => made,
                        Ok((_, Some(_))) => continue,
                        Err(message) => {
                            wrong.push(message);
                            continue;
                        }
                    };
                    made_filters += 1;
                    let filter = compile(&made).unwrap();
                    for value in values(&filter) {
                        let words =
                            value.split_whitespace().filter(|_| !text.contains(&format!("\"{value}\"")));
                        let is_keyword =
                            |word: &str| keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(word));
                        // A constant is printed as a criterion with an empty value.
                        let is_empty = value.is_empty() && (made.contains("\"\"") || made.contains("''"));
                        for word in words.chain(is_empty.then_some("")) {
                            if is_keyword(word) {
                                wrong.push(format!("{text}: {made}"));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(made_filters > 2_000, "{made_filters}");
}

#[test]
fn a_json_body_gets_no_misleading_operator() {
    const MANY: &str = "one `<>` for each value, joined by `$and`";
    type Row<'a> = (&'a str, &'a str, &'a [&'a str], Result<&'a str, &'a str>);
    let rows: &[Row<'_>] = &[
        ("name", "==", &["x"], Ok("`=`")),
        ("name", "$ne", &["x"], Ok("`<>`")),
        ("name", "isNot", &["x"], Ok("`<>`")),
        ("name", "==", &["null"], Err(ABSENCE)),
        ("name", "!=", &[""], Err(ABSENCE)),
        ("name", "is null", &["true"], Err(ABSENCE)),
        ("name", "isNotNull", &["true"], Err(ABSENCE)),
        ("name", "$exists", &["false"], Err(ABSENCE)),
        ("name", "missing", &["true"], Err(ABSENCE)),
        ("name", "$in", &["x", "null"], Err(ABSENCE)),
        ("name", "$regex", &["x"], Err(INSIDE)),
        ("name", "$like", &["%x%"], Err(INSIDE)),
        ("name", "notLike", &["x"], Err(INSIDE)),
        ("name", "contains", &["x"], Err(INSIDE)),
        ("name", "containsAny", &["x"], Err(INSIDE)),
        ("name", "doesNotContain", &["x"], Err(INSIDE)),
        ("name", "starts_with", &["x"], Err(INSIDE)),
        ("name", "==", &["/x/i"], Err(INSIDE)),
        ("name", "==", &["x", "y"], Ok("`$contains`")),
        ("name", "!=", &["x", "y"], Ok(MANY)),
        ("name", "$not", &["x"], Ok("`<>`")),
        ("name", "$not", &["x", "y"], Ok(MANY)),
        ("name", "$nin", &["x"], Ok("`<>`")),
        ("name", "NOT IN", &["x", "y"], Ok(MANY)),
        ("name", "notIn", &["x", "y"], Ok(MANY)),
        ("name", "$gt", &["x"], Err("`$all` beside `field`")),
        ("name", "$nor", &["x"], Err("`$all` beside `field`")),
        ("name", "AND", &["x"], Err("`$all` beside `field`")),
        ("tags", "contains", &["x"], Ok("`$contains`")),
        ("tags", "containsAny", &["x", "y"], Ok("`$contains`")),
        ("tags", "containsAll", &["x", "y"], Ok("`$all`")),
        ("tags", "containsNone", &["x", "y"], Ok(MANY)),
        ("tags", "notContains", &["x"], Ok("`<>`")),
        ("tags", "notAll", &["x", "y"], Ok("one `<>` for each value, joined by `$or`")),
        ("tags", "==", &["x", "y"], Err("`$all` beside `field`")),
        ("tags", "containsOnly", &["x"], Err(ONLY)),
        ("tags", "$size", &["2"], Err(COUNT)),
        ("amount", "greaterThan", &["5"], Ok("`>`")),
        ("amount", "greaterThanOrEqual", &["5"], Ok("`>=`")),
        ("amount", "$gt", &["5", "6"], Err("`$all` beside `field`")),
        ("amount", "not >", &["5"], Err(ORDER)),
        ("amount", "between", &["1", "5"], Ok("`>=` and `<=` joined by `$and`")),
        ("amount", "between", &["1"], Err("`$all` beside `field`")),
        ("amount", "notBetween", &["1", "5"], Err(ORDER)),
        ("at", "after", &["2026-01-02"], Ok("`>`")),
        ("at", "!=", &["2026-01-02"], Err(DAY)),
        ("at", "until", &["2026-01-02"], Err(BOUND)),
        ("at", "between", &["yesterday", "today"], Err(TIMES)),
        ("at", ">=", &["today"], Err(TIMES)),
        ("at", "$contains", &["2026-01-02"], Err(DAY)),
    ];
    for (field, op, values, expected) in rows {
        let body =
            serde_json::json!({"criteria": [{"field": field, "op": op, "values": values}]}).to_string();
        let errors = Filter::compile(&catalog(), body.as_bytes()).expect_err(&body);
        let first = &errors.as_slice()[0];
        assert_eq!(displayed(first).as_deref(), expected.ok(), "{body}: {first}");
        if let Err(note) = expected {
            assert!(first.expected.ends_with(note), "{body}: {first}");
        }
    }
    for (op, expected, suggestion) in [
        ("$not", "`$and` or `$or` beside `children`; `<>` is the only negation", None),
        ("$nor", "`$and` or `$or` beside `children`", None),
        ("xor", "`$and` or `$or` beside `children`", None),
        ("&&", "`$and` or `$or` beside `children`", Some("`$and`")),
        ("OR", "`$and` or `$or` beside `children`", Some("`$or`")),
    ] {
        let child = serde_json::json!({"field": "name", "op": "=", "values": ["x"]});
        let body = serde_json::json!({"criteria": [{"op": op, "children": [child]}]}).to_string();
        let errors = Filter::compile(&catalog(), body.as_bytes()).expect_err(&body);
        let first = &errors.as_slice()[0];
        assert_eq!((first.expected.as_str(), displayed(first).as_deref()), (expected, suggestion), "{op}");
    }
    let null = br#"{"criteria":[{"field":"name","op":"=","values":[null]}]}"#;
    let errors = Filter::compile(&catalog(), null).unwrap_err();
    assert_eq!(errors.as_slice()[0].expected, format!("a string; {ABSENCE}"));
}
