//! Tests of the text syntax: its trees compared with JSON bodies, and its errors with their suggestions.

use std::ops::Range;

use super::*;
use crate::catalog::Catalog;
use crate::criteria::{self, Body, Criterion};
use crate::filter::{Filter, FilterBuilder};
use crate::limits::Limits;
use crate::operator::Grammar;
use crate::value::Clock;

/// Prints a body as a readable tree, without offsets.
fn show(body: &Body<'_>) -> String {
    let texts = |range: &Range<usize>| {
        body.texts(range).iter().map(|text| format!("{:?}", text.text)).collect::<Vec<_>>().join(" ")
    };
    let mut shown: Vec<String> = Vec::new();
    for node in &body.nodes {
        let node = match node {
            Criterion::Complex { operator, array, children } => {
                let children = shown.split_off(shown.len() - children);
                let array =
                    array.map_or(String::new(), |array| format!(" {}", body.text(array).unwrap().text));
                format!("({}{array} {})", operator.name(), children.join(" "))
            }
            Criterion::Field { field, operator, values } => {
                format!("({} {} {})", body.text(*field).unwrap().text, operator.unwrap().0, texts(values))
            }
            Criterion::Broken => "broken".to_owned(),
        };
        shown.push(node);
    }
    let mut out = String::new();
    if let Some(ids) = &body.ids {
        out.push_str(&format!("ids[{}]", texts(ids)));
    }
    if let Some(criteria) = &body.criteria {
        assert_eq!(shown.len(), *criteria);
        out.push_str(&format!("criteria[{}]", shown.join(" ")));
    }
    out
}

fn body(text: &str) -> Body<'_> {
    match parse(text, Clock::default(), &Limits::default(), criteria::NO_FIELDS) {
        (Parsed::Body(body), errors) => {
            assert_eq!(errors, [], "{text}");
            body
        }
        (Parsed::Constant(value), _) => panic!("{text} is {value}"),
    }
}

#[track_caller]
fn same(text: &str, json: &str) {
    let from_json = criteria::read(json, Grammar::Extended, &Limits::default()).expect(json);
    assert_eq!(show(&body(text)), show(&from_json), "{text}");
}

fn errors_with(limits: &Limits, text: &str) -> Vec<String> {
    let errors =
        FilterBuilder::new(&Catalog::cases()).with_limits(limits.clone()).text(text).expect_err(text);
    assert!(errors.as_slice().iter().all(|error| error.path.is_empty()));
    errors
        .as_slice()
        .iter()
        .map(|error| format!("{} {}: {}", error.offset, error.kind.code(), error.message()))
        .collect()
}

#[track_caller]
fn fails(text: &str, expected: &[&str]) {
    assert_eq!(errors_with(&Limits::default(), text), expected, "{text}");
}

#[test]
fn the_tree_is_that_of_the_json_body() {
    same("a = b", r#"{"criteria":[{"field":"a","op":"=","values":["b"]}]}"#);
    same(
        "a = 1 and b <> 2 AND c > -3 And d >= 4.5 and e < 5 and f <= 6",
        r#"{"criteria":[{"field":"a","op":"=","values":["1"]},{"field":"b","op":"<>","values":["2"]},
            {"field":"c","op":">","values":["-3"]},{"field":"d","op":">=","values":["4.5"]},
            {"field":"e","op":"<","values":["5"]},{"field":"f","op":"<=","values":["6"]}]}"#,
    );
    same(
        "a in (b, c) and d all(e) and f CONTAINS (g,h) and i $contains (j) and k $all (l)",
        r#"{"criteria":[{"field":"a","op":"$contains","values":["b","c"]},{"field":"d","op":"$all","values":["e"]},
            {"field":"f","op":"$contains","values":["g","h"]},{"field":"i","op":"$contains","values":["j"]},
            {"field":"k","op":"$all","values":["l"]}]}"#,
    );
    same("ids ()", r#"{"ids":[]}"#);
    same("IDS (a, \"b c\")", r#"{"ids":["a","b c"]}"#);
    same(
        "ids (a) or b = c and d = e",
        r#"{"ids":["a"],"criteria":[{"field":"b","op":"=","values":["c"]},{"field":"d","op":"=","values":["e"]}]}"#,
    );
    same(
        "ids (a) or b = c or d = e",
        r#"{"ids":["a"],"criteria":[{"op":"$or","children":[{"field":"b","op":"=","values":["c"]},
            {"field":"d","op":"=","values":["e"]}]}]}"#,
    );
}

#[test]
fn and_binds_tighter_than_or() {
    for (text, shown) in [
        ("a=1 or b=2 and c=3", r#"criteria[($or (a = "1") ($and (b = "2") (c = "3")))]"#),
        ("a=1 and b=2 or c=3", r#"criteria[($or ($and (a = "1") (b = "2")) (c = "3"))]"#),
        ("a=1 and (b=2 or c=3)", r#"criteria[(a = "1") ($or (b = "2") (c = "3"))]"#),
        ("(a=1 or b=2) and c=3", r#"criteria[($or (a = "1") (b = "2")) (c = "3")]"#),
        ("a=1 or b=2 or c=3", r#"criteria[($or (a = "1") (b = "2") (c = "3"))]"#),
        ("((a=1))", r#"criteria[(a = "1")]"#),
        ("(a=1 and b=2)", r#"criteria[($and (a = "1") (b = "2"))]"#),
        ("(a=1 or b=2) or c=3", r#"criteria[($or ($or (a = "1") (b = "2")) (c = "3"))]"#),
        (
            "a=1 and (b=2 or c=3 and (d=4 or e=5)) or f=6",
            r#"criteria[($or ($and (a = "1") ($or (b = "2") ($and (c = "3") ($or (d = "4") (e = "5"))))) (f = "6"))]"#,
        ),
        ("(a=1)or(b=2)and(c=3)", r#"criteria[($or (a = "1") ($and (b = "2") (c = "3")))]"#),
    ] {
        assert_eq!(show(&body(text)), shown, "{text}");
    }
}

#[test]
fn words_and_strings_are_values() {
    for (text, value) in [
        (r#"a = "x y""#, "x y"),
        (r#"a = """#, ""),
        (r#"a = "\"\\\u00e9\ud83d\ude00\n""#, "\"\\é😀\n"),
        ("a = 'it''s'", "it's"),
        ("a = ''", ""),
        ("a = ''''", "'"),
        ("a = '\"'", "\""),
        ("a=café", "café"),
        ("a = 王小明", "王小明"),
        ("a = محمد", "محمد"),
        ("a = user2@corp.example", "user2@corp.example"),
        ("a = -1.5e+3", "-1.5e+3"),
        ("a = $5/#1_a:b", "$5/#1_a:b"),
        ("a = true", "true"),
        ("a = FALSE", "FALSE"),
        (r#"a = "and""#, "and"),
        ("a\t=\r\n\"b\" ", "b"),
    ] {
        let body = body(text);
        let texts: Vec<&str> = body.texts.iter().map(|text| &*text.text).collect();
        assert_eq!(texts, ["a", value], "{text}");
    }
    assert_eq!(
        show(&body(r#""and" = x and 'my field' in (y)"#)),
        r#"criteria[(and = "x") (my field $contains "y")]"#
    );
}

#[test]
fn constants_stand_alone() {
    let catalog = Catalog::cases();
    for text in ["true", " TRUE\n"] {
        assert_eq!(Filter::compile_text(&catalog, text), Ok(Filter::all(&catalog)));
    }
    assert_eq!(Filter::compile_text(&catalog, "false"), Ok(Filter::none(&catalog)));
    fails(
        "true and name = x",
        &["0 syntax: found `true`, expected a criterion; `true` and `false` stand alone"],
    );
    fails("(false)", &["1 syntax: found `false`, expected a criterion; `true` and `false` stand alone"]);
}

#[test]
fn an_error_for_an_empty_text_shows_an_example() {
    for text in ["", " \n\t"] {
        fails(
            text,
            &[
                "0 empty_body: found an empty text, expected a criterion such as `status = open`, or `true` for every case",
            ],
        );
    }
}

/// The operators that messages list for a string field. The next constants are for a timestamp field and an unknown field.
const OF_STRING: &str =
    "`=`, `<>`, `in`, `all`, `is present`, `is absent`, `starts with`, `includes`, `matches`";
const OF_TIMESTAMP: &str = "`=`, `<>`, `>`, `>=`, `<`, `<=`, `in`, `all`, `is present`, `is absent`";
const ALL: &str = "`=`, `<>`, `>`, `>=`, `<`, `<=`, `in`, `all`, `is present`, `is absent`, `starts with`, `includes`, \
                   `matches`";

#[test]
fn an_operator_of_another_language_is_recognised() {
    let error = |offset: usize, written: &str, ops: &str, meant: &str| {
        format!("{offset} unknown_operator: found `{written}`, expected one of {ops}; did you mean {meant}?")
    };
    for (text, offset, written, meant) in [
        ("name != x", 5, "!=", "`<>`"),
        ("name == x", 5, "==", "`=`"),
        ("name=== x", 4, "===", "`=`"),
        ("name≠x", 4, "≠", "`<>`"),
        ("name is x", 5, "is", "`=`"),
        ("name EQ x", 5, "EQ", "`=`"),
        ("name $ne x", 5, "$ne", "`<>`"),
        ("tags has vip", 5, "has", "`in`"),
        ("tags any (vip)", 5, "any", "`in`"),
        ("tags containsAll (vip)", 5, "containsAll", "`all`"),
        ("name not in (a, b)", 0, "name not in (a, b)", "`not name in (a, b)`"),
        ("name not x", 5, "not", "`<>`"),
        ("name like \"%x%\"", 5, "like \"%x%\"", "`includes x`"),
        ("name not like 'x y%'", 0, "name not like 'x y%'", "`not name starts with \"x y\"`"),
        ("name has x", 5, "has x", "`includes x`"),
        ("name is null", 5, "is null", "`is absent`"),
        ("name is not null and tags = a", 5, "is not null", "`is present`"),
        ("name IS EMPTY", 5, "IS EMPTY", "`is absent`"),
        ("name exists", 5, "exists", "`is present`"),
        ("name $exists false or tags = a", 5, "$exists false", "`is absent`"),
        ("name = x*", 5, "= x*", "`starts with x`"),
    ] {
        assert_eq!(
            errors_with(&Limits::default(), text),
            [error(offset, written, OF_STRING, meant)],
            "{text}"
        );
    }
    assert_eq!(
        errors_with(&Limits::default(), "createdAt => \"2024-01-01 00:00:00\""),
        [error(10, "=>", OF_TIMESTAMP, "`>=`")]
    );
    // For an unknown field, the message lists all operators.
    assert_eq!(
        errors_with(&Limits::default(), "nme == x"),
        [
            "0 unknown_field: found `nme`, expected a field of the catalogue; did you mean `name`?"
                .to_owned(),
            error(4, "==", ALL, "`=`")
        ]
    );
    const INSIDE: &str = "`includes` searches inside a string, `starts with` at its start, and `matches` without case and \
                          accents";
    for (text, written, note) in [
        ("name like x", "like x", INSIDE),
        ("name fuzzy x and tags = a", "fuzzy", INSIDE),
        ("name is \"\"", "is", "`is absent` and `is present` test whether there is a value"),
    ] {
        let errors = errors_with(&Limits::default(), text);
        assert_eq!(
            errors,
            [format!("5 unknown_operator: found `{written}`, expected one of {OF_STRING}; {note}")]
        );
    }
    fails(
        "tags  (vip)",
        &[&format!(
            "6 syntax: found `(`, expected one of {OF_STRING}; in double quotes, a shell replaces `$contains` and `$all` as its variables: write `in` or `all`"
        )],
    );
    fails(
        "name = x and clientId",
        &[&format!("21 syntax: found the end of the text, expected one of {OF_STRING}")],
    );
    // Known values compare by rank.
    fails("status and name = x", &[&format!("7 syntax: found `and`, expected one of {ALL}")]);
    fails("name \"x\"", &[&format!("5 syntax: found `\"x\"`, expected one of {OF_STRING}")]);
}

#[test]
fn syntax_errors_name_the_token_and_the_expectation() {
    const JOIN: &str = "expected `and`, `or` or the end of the text";
    fails("name = x && tags in (a)", &[&format!("9 syntax: found `&&`, {JOIN}; did you mean `and`?")]);
    fails("name = x || tags in (a)", &[&format!("9 syntax: found `||`, {JOIN}; did you mean `or`?")]);
    fails("name = \"x\" tags in (a)", &[&format!("11 syntax: found `tags`, {JOIN}")]);
    fails("name = x tags in (a)", &[&format!("9 syntax: found `tags`, {JOIN}")]);
    fails("name = x, y", &[&format!("8 syntax: found `,`, {JOIN}")]);
    fails("name = x)", &[&format!("8 syntax: found `)`, {JOIN}")]);
    fails("name = x; drop", &[&format!("8 syntax: found `;`, {JOIN}")]);
    fails("(name = x", &["9 syntax: found the end of the text, expected `and`, `or` or `)`"]);
    fails(
        "name = x and",
        &["12 syntax: found the end of the text, expected a criterion such as `status = open`, or `(`"],
    );
    fails(
        "name = x and or name = y",
        &["13 syntax: found `or`, expected a criterion such as `status = open`, or `(`"],
    );
    fails("()", &["1 syntax: found `)`, expected a criterion such as `status = open`, or `(`"]);
    fails(
        "!name = x",
        &["0 syntax: found `!name`, expected a criterion, or `not` before one; did you mean `not name`?"],
    );
    fails(
        "tags = a and !(name = x)",
        &["13 syntax: found `!(`, expected a criterion, or `not` before one; did you mean `not (`?"],
    );
    fails(
        "not name",
        &[&format!(
            "0 syntax: found `not name`, expected a field and one of {OF_STRING}; did you mean `name is absent`?"
        )],
    );
    fails(
        "exists(name)",
        &[
            "0 syntax: found `exists(name)`, expected a field before its test; did you mean `name is present`?",
        ],
    );
    fails(
        "{\"criteria\":[]}",
        &["0 syntax: found `{`, expected a criterion such as `status = open`, not a JSON body"],
    );
    fails(
        "\u{feff}name = x",
        &["0 syntax: found a byte-order mark, expected a criterion such as `status = open`, or `(`"],
    );
    fails(
        "name = x or ids (a)",
        &[
            "12 syntax: found `ids`, expected a criterion; `ids (…)` stands at the start; did you mean `id in (…)`?",
        ],
    );
    fails(
        "ids (a) and name = x",
        &["8 syntax: found `and`, expected `or` after `ids (…)`; did you mean `id in (…) and`?"],
    );
    fails("ids a", &["4 syntax: found `a`, expected `(` after `ids`; did you mean `ids (a)`?"]);
    fails("ids (a) name = x", &["8 syntax: found `name`, expected `or` or the end of the text"]);
}

#[test]
fn invalid_values_are_named() {
    fails(
        "createdAt >= 2024-01-01 00:00:00 and name = x",
        &["13 syntax: found `2024-01-01 00:00:00`, expected a value with spaces in double quotes; \
           did you mean `\"2024-01-01 00:00:00\"`?"],
    );
    fails(
        "(name = Ann Lee Smith) or name = x",
        &[
            "8 syntax: found `Ann Lee Smith`, expected a value with spaces in double quotes; did you mean `\"Ann Lee Smith\"`?",
        ],
    );
    fails("tags in vip", &["8 syntax: found `vip`, expected `(` after `in`; did you mean `in (vip)`?"]);
    fails(
        "tags all \"a b\"",
        &["9 syntax: found `\"a b\"`, expected `(` after `all`; did you mean `all (\"a b\")`?"],
    );
    fails(
        "tags contains vip",
        &["14 syntax: found `vip`, expected `(` after `contains`; did you mean `contains (vip)`?"],
    );
    fails("tags IN vip", &["8 syntax: found `vip`, expected `(` after `IN`; did you mean `IN (vip)`?"]);
    fails("tags in [vip]", &["8 syntax: found `[`, expected `(` after `in`"]);
    fails("tags in ()", &["8 empty_list: found an empty list, expected at least one value"]);
    fails("tags in (a, )", &["12 syntax: found `)`, expected `)` or a value"]);
    fails("tags in (a b)", &["11 syntax: found `b`, expected `,` or `)`"]);
    fails("tags in (a", &["10 syntax: found the end of the text, expected `,` or `)`"]);
    fails(
        "status = (open, blocked)",
        &[
            "9 too_many_operands: found a list of values, expected exactly one value for `=`, without parentheses; \
           did you mean `in`?",
        ],
    );
    fails(
        "name = all",
        &[
            "7 syntax: found `all`, expected a value; this word belongs to the syntax, so put it in quotes; did you mean `\"all\"`?",
        ],
    );
    fails(
        "name = and tags in (a)",
        &["7 syntax: found `and`, expected a value; this word belongs to the syntax, so put it in quotes"],
    );
    for (text, offset, word) in [
        ("name = and", 7, "and"),
        ("name = OR", 7, "OR"),
        ("(name = or)", 8, "or"),
        ("name = and and tags in (a)", 7, "and"),
        ("name in (and)", 9, "and"),
        ("name in (or, a)", 9, "or"),
    ] {
        fails(
            text,
            &[&format!(
                "{offset} syntax: found `{word}`, expected a value; this word belongs to the syntax, so put it in quotes; \
                 did you mean `\"{word}\"`?"
            )],
        );
    }
    fails("name =", &["6 syntax: found the end of the text, expected a value"]);
    fails(
        "name = = x",
        &[&format!("5 unknown_operator: found `= =`, expected one of {OF_STRING}; did you mean `=`?")],
    );
    fails(
        "name = ! x",
        &[&format!("5 unknown_operator: found `= !`, expected one of {OF_STRING}; did you mean `<>`?")],
    );
    fails("name = \"x", &["9 syntax: found the end of the text, expected `\"` at the end of the string"]);
    fails("name = 'x", &["9 syntax: found the end of the text, expected `'` at the end of the string"]);
    fails(
        "name = \"\\ud800\"",
        &["8 syntax: found the lone surrogate `\\ud800`, expected a pair of surrogates, high before low"],
    );
    fails(
        "name = \"a\nb\"",
        &["9 syntax: found `\\u{a}`, expected an escape such as `\\n` for a control character"],
    );
}

/// The part of a message that lists the valid values of a timestamp field.
const TIMES: &str =
    "a time such as `\"2025-12-01 10:00:00\"`, `2025-12-01T10:00:00Z`, `2025-12-01`, `today` or `now - 7d`";

#[test]
fn independent_errors_are_reported_together_in_order() {
    fails(
        "nme != x && createdAt >= yesterday and tags in vip and totalAmountInDefaultCurrency > 1,5",
        &[
            "0 unknown_field: found `nme`, expected a field of the catalogue; did you mean `name`?",
            &format!("4 unknown_operator: found `!=`, expected one of {ALL}; did you mean `<>`?"),
            "9 syntax: found `&&`, expected `and`, `or` or the end of the text; did you mean `and`?",
            &format!(
                "25 bad_timestamp: found `yesterday`, expected {TIMES}, since `createdAt` is a timestamp field"
            ),
            "47 syntax: found `vip`, expected `(` after `in`; did you mean `in (vip)`?",
            "86 bad_number: found `1,5`, expected a number without commas; did you mean `1.5`?",
        ],
    );
    let many = vec!["name != x"; 200].join(" and ");
    assert_eq!(errors_with(&Limits::default(), &many).len(), 10);
    assert!(errors_with(&Limits::default(), &many)[9].starts_with("131 "));
}

#[test]
fn one_item_beyond_a_limit_is_an_error() {
    let catalog = Catalog::cases();
    let limits = Limits { depth: 3, criteria: 5, values: 4, ids: 2, string_bytes: 6, ..Limits::default() };
    let sound = |text: &str| {
        assert!(FilterBuilder::new(&catalog).with_limits(limits.clone()).text(text).is_ok(), "{text}");
    };
    let fails = |text: &str, expected: &[&str]| assert_eq!(errors_with(&limits, text), expected, "{text}");
    sound("(((name = a)))");
    fails(
        "((((name = a))))",
        &["3 too_deep: found parentheses at depth 4, expected criteria nested at most 3 deep"],
    );
    sound("name = a or tags = b and (name = c)");
    let deeper = Limits { criteria: 7, ..limits.clone() };
    assert_eq!(
        errors_with(&deeper, "id = a or (id = b and (id = c or id = d))"),
        [
            "23 too_deep: found a criterion at depth 4, expected criteria nested at most 3 deep",
            "33 too_deep: found a criterion at depth 4, expected criteria nested at most 3 deep",
        ]
    );
    sound("id = a or (id = b and name = c)");
    sound("(id = a or id = b) and id = c and id = d");
    fails(
        "(id = a or id = b) and id = c and id = d and id = e",
        &[
            "45 too_many_criteria: found too many criteria, expected at most 5",
            "50 too_many_values: found too many values, expected at most 4",
        ],
    );
    fails(
        "id = a and id = b and id = c and (id = d or id = e)",
        &[
            "34 too_many_criteria: found too many criteria, expected at most 5",
            "49 too_many_values: found too many values, expected at most 4",
        ],
    );
    sound("tags in (a, b, c, d)");
    sound("tags in (a, b) and tags all (c) and name = d");
    fails(
        "tags in (a, b, c) and tags in (d, e)",
        &["34 too_many_values: found too many values, expected at most 4"],
    );
    sound("ids (a, b)");
    fails("ids (a, b, c)", &["11 too_many_ids: found too many ids, expected at most 2"]);
    sound("name = abcdef");
    fails(
        "name = abcdefg",
        &["7 string_too_long: found a string of 7 bytes, expected at most 6 bytes in a string"],
    );
    fails(
        "\"abcdefg\" = a",
        &["0 string_too_long: found a string of 7 bytes, expected at most 6 bytes in a string"],
    );
    fails(
        "tags in (a, ééé, \"éééé\")",
        &["20 string_too_long: found a string of 8 bytes, expected at most 6 bytes in a string"],
    );
    fails(
        "ids (abcdefg)",
        &["5 string_too_long: found a string of 7 bytes, expected at most 6 bytes in a string"],
    );
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let work = || {
        let deep = 1_000_000;
        let wide = Limits { depth: usize::MAX, ..Limits::default() };
        let levels = "(".repeat(deep);
        for (text, limits) in [
            (levels.clone(), Limits::default()),
            (levels.clone() + "name = x" + &")".repeat(deep), Limits::default()),
            (levels.clone(), wide.clone()),
            ("(name = x or ".repeat(100_000), wide.clone()),
            ("name = x and (name = y or (".repeat(100_000), wide),
        ] {
            assert!(FilterBuilder::new(&Catalog::cases()).with_limits(limits.clone()).text(&text).is_err());
        }
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn messages_spell_operators_as_in_a_text() {
    fails(
        "name > open",
        &[&format!(
            "5 operator_not_for_type: found `>` on `name`, a string field, expected one of {OF_STRING}"
        )],
    );
}

#[test]
fn a_timestamp_in_another_format_is_suggested_in_the_right_one() {
    const FRACTION: &str = "a fraction of a second with at most three digits";
    for (written, expected, meant) in [
        ("2024-01-01T10:30Z", TIMES, "`>= \"2024-01-01 10:31:00\"`, all of 2024-01-01T10:30Z left out"),
        ("2024-01-01T10:30:00", TIMES, "`\"2024-01-01 10:30:00\"`"),
        ("2024-01-01T10:30:00.2505+02:00", FRACTION, "`> \"2024-01-01 10:30:00+02:00\"`"),
    ] {
        fails(
            &format!("createdAt > {written}"),
            &[&format!(
                "12 bad_timestamp: found `{written}`, expected {expected}, since `createdAt` is a timestamp field; \
                 did you mean {meant}?"
            )],
        );
    }
}

#[test]
fn a_field_is_suggested_by_its_object_and_by_its_words() {
    for (name, meant) in [
        ("amount", "`totalAmountInDefaultCurrency`"),
        ("caseReview", "`caseReview.status`, `caseReview.stage` or `caseReview.assignee`"),
        ("amlcases", "`amlCases.amlCaseId`"),
        ("createdByRule", "`createdByRule.id`, `createdByRule.name` or `createdByRule.title`"),
        ("statis", "`status`"),
    ] {
        fails(
            &format!("{name} = x"),
            &[&format!(
                "0 unknown_field: found `{name}`, expected a field of the catalogue; did you mean {meant}?"
            )],
        );
    }
    fails(
        "name = x and currencies = y",
        &["13 unknown_field: found `currencies`, expected a field of the catalogue"],
    );
}
