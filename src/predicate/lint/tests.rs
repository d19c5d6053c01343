//! Tests of the warnings of filters.

use super::WarningKind;
use crate::catalog::{Catalog, Field, FieldType};
use crate::filter::Filter;

/// Returns the warnings for a JSON body, one per line.
fn of_json(body: &str) -> Vec<String> {
    let filter = Filter::compile(&Catalog::cases(), body.as_bytes()).unwrap();
    filter.warnings().iter().map(|warning| format!("{:?} {warning}", warning.kind)).collect()
}

#[track_caller]
fn warns(text: &str, expected: &[&str]) {
    let filter = Filter::compile_text(&Catalog::cases(), text).unwrap();
    let warnings: Vec<String> =
        filter.warnings().iter().map(|warning| format!("{:?} {warning}", warning.kind)).collect();
    assert_eq!(warnings, expected, "{text}");
}

#[test]
fn ordinary_filters_have_no_warning() {
    for text in [
        "status in (open, blocked) and createdAt >= \"2024-01-01 00:00:00\"",
        "tags = a and tags = b and tags <> c",
        "totalAmountInDefaultCurrency > 1 and totalAmountInDefaultCurrency < 5",
        "ids (a, b) or priority = high",
        "name <> a and name <> b",
    ] {
        warns(text, &[]);
    }
}

#[test]
fn unknown_values_are_reported() {
    warns(
        "status in (open, Blocked) and (name = x or priority <> urgent)",
        &[
            "UnknownValue criteria[0].values[1]: `Blocked` is not among the known values of `caseReview.status`: \
             `open`, `awaitingUser`, `blocked`, `resolvedFalsePositive`, `resolvedPotentialThreat`; \
             did you mean `blocked`?",
            "UnknownValue criteria[1].children[1].values[0]: `urgent` is not among the known values of `priority`: \
             `low`, `medium`, `high`",
        ],
    );
}

#[test]
fn rounded_numbers_are_reported() {
    let message = |written, number| {
        format!(
            "`{written}` has more digits than a double holds, and is rounded to `{number}`, like all numbers nearest to this \
             double"
        )
    };
    let of_first = message("9007199254740993", "9007199254740992");
    warns(
        "createdByRule.revision in (9007199254740992, 9007199254740993, 0.1)",
        &[&format!("RoundedNumber criteria[0].values[1]: {of_first}")],
    );
    assert_eq!(
        of_json(
            r#"{"criteria":[{"op":"$or","children":[{"field":"name","op":"=","values":["9007199254740993"]},
            {"field":"createdByRule.revision","op":"=","values":["9007199254740993"]}]}]}"#
        ),
        [format!("RoundedNumber criteria[0].children[1].values[0]: {of_first}")]
    );
}

#[test]
fn criteria_that_two_elements_can_satisfy_are_reported() {
    const LIST: &str = "caseReview.checklistState.checklist";
    let warning = |path: &str, other: &str| {
        format!(
            "SeparateElements {path}: this and the criterion on `{LIST}.{other}` may be satisfied by two different elements of \
             `{LIST}`: each criterion is tested separately on all elements; `{LIST} has (…)` tests one element"
        )
    };
    let (name, checked) = (format!("{LIST}.name = ID"), format!("{LIST}.checked = true"));
    warns(&format!("{name} and {checked}"), &[&warning("criteria[1]", "name")]);
    warns(
        &format!("{name} and priority = high and (id = a or {checked})"),
        &[&warning("criteria[2].children[1]", "name")],
    );
    warns(
        &format!("priority = high and ({checked} and ({name} and id = a) or id = b)"),
        &[&warning("criteria[1].children[0].children[1].children[0]", "checked")],
    );
    warns(&format!("({name} or {checked}) and id = a"), &[]);
    warns(&format!("{LIST} has (name = ID and checked = true)"), &[]);
    warns(
        &format!("{LIST} has (name = ID and checked = true) and {name} and {LIST} has (checked = true)"),
        &[],
    );
    let body = format!(
        r#"{{"criteria":[{{"field":"{LIST}.name","op":"=","values":["ID"]}},{{"field":"{LIST}.checked","op":"=","values":["true"]}}]}}"#
    );
    let warned =
        |catalog: Catalog| Filter::compile(&catalog, body.as_bytes()).unwrap().warnings()[0].message.clone();
    assert!(warned(Catalog::cases()).ends_with("separately on all elements"));
    assert!(
        warned(Catalog::cases().extended())
            .ends_with(&format!("`$elem` with the field `{LIST}` tests one element"))
    );
    warns(&format!("{name} or {checked} and id = a"), &[]);
    warns(&format!("{name} and {LIST}.name = Other and tags = a and sourceKeys = b"), &[]);
}

#[test]
fn warnings_name_the_array_in_every_catalogue() {
    let catalog = Catalog::new([
        Field::new("legs[].bank", FieldType::String),
        Field::new("legs[].fees[].amount", FieldType::Number),
        Field::new("sizes[]", FieldType::Number),
    ]);
    let catalog = catalog.unwrap();
    let of = |text: &str| Filter::compile_text(&catalog, text).unwrap().warnings();
    let warnings = of("legs.bank = a and legs.fees.amount > 5");
    assert_eq!((warnings.len(), warnings[0].kind), (1, WarningKind::SeparateElements));
    assert!(warnings[0].message.ends_with("`legs has (…)` tests one element"), "{warnings:?}");
    assert_eq!(of("legs has (bank = a and fees.amount > 5)").len(), 0);
    let warnings = of("legs has (bank = a and fees.amount > 5 and fees.amount < 9)");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.ends_with("`legs.fees has (…)` tests one element"), "{warnings:?}");
    assert_eq!(of("legs has (bank = a and fees has (amount > 5 and amount < 9))").len(), 0);
    let warnings = of("sizes > 5 and sizes < 10");
    assert!(
        warnings[0].message.starts_with("the two bounds on `sizes` may be satisfied by two different"),
        "{warnings:?}"
    );
    assert_eq!(of("sizes > 5 or sizes < 3").len(), 0);
    assert_eq!(of("sizes = 5 and sizes = 10").len(), 0);
}

#[test]
fn unusual_values_are_reported() {
    const ABSENCE: &str =
        "is an ordinary value, which a case without `name` does not have: `is absent` tests for absence";
    let body = r#"{"criteria":[{"field":"name","op":"=","values":["null"]}]}"#;
    for (catalog, why) in [
        (Catalog::cases(), "the language has no test for absence"),
        (Catalog::cases().extended(), "`$exists` tests for absence"),
    ] {
        let warnings = Filter::compile(&catalog, body.as_bytes()).unwrap().warnings();
        assert!(warnings[0].message.ends_with(why), "{warnings:?}");
    }
    for word in ["null", "None", "nil"] {
        warns(
            &format!("name = {word}"),
            &[&format!("NotAbsence criteria[0].values[0]: the string `{word}` {ABSENCE}")],
        );
    }
    warns(
        "name in (a, \"\")",
        &[&format!("NotAbsence criteria[0].values[1]: an empty or blank string {ABSENCE}")],
    );
    warns(
        "name = \" Ann\"",
        &[
            "BlanksAround criteria[0].values[0]: `\" Ann\"` has spaces around it, which are compared like other characters; \
         did you mean `Ann`?",
        ],
    );
    warns(
        "ids (a, \"b \")",
        &[
            "BlanksAround ids[1]: `\"b \"` has spaces around it, which are compared like other characters; did you mean `b`?",
        ],
    );
    let (composed, decomposed) = ("Jos\u{e9}", "Jose\u{301}");
    warns(&format!("name = {composed}"), &[]);
    warns(
        &format!("name = '{decomposed}'"),
        &[&format!(
            "NotComposed criteria[0].values[0]: `{decomposed}` has 5 code points and 4 in the composed form of Unicode (NFC), \
         which most documents have: strings are compared by code points"
        )],
    );
}

#[test]
fn contradictions_are_reported() {
    warns(
        "name = x or name all (a, b)",
        &["AlwaysFalse criteria[0].children[1]: never true: `name` cannot have such a value"],
    );
    warns(
        "name = x or (tags = a and tags <> a)",
        &["AlwaysFalse criteria[0].children[1]: never true: its criteria on `tags` contradict each other"],
    );
    warns(
        "name = a and name = b",
        &[
            "AlwaysFalse criteria: never true: its criteria on `name` contradict each other",
            "AlwaysFalse the filter selects no case",
        ],
    );
    assert_eq!(of_json(r#"{"criteria":[]}"#), ["AlwaysFalse the filter selects no case"]);
    assert_eq!(of_json(r#"{"ids":[]}"#), ["AlwaysFalse the filter selects no case"]);
    warns("false", &["AlwaysFalse the filter selects no case"]);
}

#[test]
fn tautologies_are_reported() {
    warns(
        "tags = a and (name = x or name <> x)",
        &["AlwaysTrue criteria[1]: always true: its criteria on `name` cover every case"],
    );
    warns(
        "name = x or name <> x",
        &[
            "AlwaysTrue criteria[0]: always true: its criteria on `name` cover every case",
            "AlwaysTrue the filter selects every case",
        ],
    );
    warns("true", &["AlwaysTrue the filter selects every case"]);
}

#[test]
fn superfluous_criteria_are_reported() {
    const DEMANDS: &str = "makes no difference: another criterion on the same field already requires this";
    const ADMITS: &str = "makes no difference: another criterion on the same field already includes this";
    warns("name = a and name in (a, b)", &[&format!("Subsumed criteria[1]: {DEMANDS}")]);
    warns("name in (a, b) and name = a", &[&format!("Subsumed criteria[0]: {DEMANDS}")]);
    warns("tags = a and name = x and tags = a", &[&format!("Subsumed criteria[2]: {DEMANDS}")]);
    warns("tags all (a, b) and tags = b", &[&format!("Subsumed criteria[1]: {DEMANDS}")]);
    warns(
        "totalAmountInDefaultCurrency > 1 or totalAmountInDefaultCurrency > 2",
        &[&format!("Subsumed criteria[0].children[1]: {ADMITS}")],
    );
}

#[test]
fn criteria_on_an_element_have_warnings_and_paths() {
    const LIST: &str = "caseReview.checklistState.checklist";
    warns(
        &format!("name = x or {LIST} has (name = \" a\" and checked = true)"),
        &[
            "BlanksAround criteria[0].children[1].children[0].values[0]: `\" a\"` has spaces around it, which are compared like \
           other characters; did you mean `a`?",
        ],
    );
}

#[test]
fn paths_are_those_of_the_body() {
    let never = r#"{"field":"name","op":"$all","values":["a","b"]}"#;
    let body =
        format!(r#"{{"ids":["x"],"criteria":[{{"op":"$and","children":[{never},{never}]}},{never}]}}"#);
    assert_eq!(
        of_json(&body),
        [
            "AlwaysFalse criteria[0].children[0]: never true: `name` cannot have such a value",
            "AlwaysFalse criteria[0].children[1]: never true: `name` cannot have such a value",
            "AlwaysFalse criteria[1]: never true: `name` cannot have such a value",
        ]
    );
    // The warning on a branch comes before the warnings on its children.
    warns(
        "(name = a and name = b and status <> gone) or name = c",
        &[
            "AlwaysFalse criteria[0].children[0]: never true: its criteria on `name` contradict each other",
            "UnknownValue criteria[0].children[0].children[2].values[0]: `gone` is not among the known values of \
             `caseReview.status`: `open`, `awaitingUser`, `blocked`, `resolvedFalsePositive`, `resolvedPotentialThreat`",
        ],
    );
}

#[test]
fn a_filter_has_at_most_a_hundred_warnings() {
    let many = vec!["priority = urgent"; 500].join(" or ");
    let filter = Filter::compile_text(&Catalog::cases(), &many).unwrap();
    assert_eq!(filter.warnings().len(), 100);
    let values = vec!["urgent"; 500].join(", ");
    let filter = Filter::compile_text(&Catalog::cases(), &format!("priority in ({values})")).unwrap();
    assert_eq!(filter.warnings().len(), 100);
}
