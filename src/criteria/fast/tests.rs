//! Tests that the fast path and the strict parser agree on every body.

use proptest::prelude::*;

use crate::criteria::check_parsers;
use crate::limits::Limits;
use crate::operator::{Arity, Operator};

/// Checks that the two parsers agree on a text; returns true if they accept it.
#[track_caller]
fn accepts(text: &str, limits: &Limits) -> bool {
    check_parsers(text, limits).unwrap_or_else(|difference| panic!("{text}: {difference}"))
}

const BODY: &str = r#" { "ids" : [ "a" , "\u00e9\n" ] , "criteria": [
    {"op":"$or","children":[{"field":"status","op":"$contains","values":["open","s\"1"]},
      {"children":[{"values":["1.5"],"field":"totalAmountInDefaultCurrency","op":">="},
         {"field":"tags","op":"$all","values":["x","é"]}],"op":"$and"}]},
    {"field":"createdAt","op":"<","values":["2024-01-01 00:00:00+0200"]} ] } "#;

#[test]
fn bodies_without_errors_are_accepted() {
    let limits = Limits::default();
    for text in [BODY, r#"{"ids":[]}"#, r#"{"criteria":[]}"#, r#"{"criteria":[],"ids":["a"]}"#] {
        assert!(accepts(text, &limits), "{text}");
    }
}

#[test]
fn every_spelling_of_a_body_without_errors_is_accepted() {
    let limits = Limits::default();
    for text in [
        r#"{"ids":null,"criteria":[]}"#,
        r#"{"ids":[],"criteria": null }"#,
        r#"{"\u0069ds":["a"]}"#,
        r#"{"criteri\u0061":[{"\u006fp":"\u003d","fi\u0065ld":"n\u0061me","valu\u0065s":["\u0061"]}]}"#,
        r#"{"criteria":[{"field":"f","op":"=","values":["a"],"children":null}]}"#,
        r#"{"criteria":[{"children": null,"values":["a"] , "op" :"=","field":"f"}]}"#,
        r#"{"criteria":[{"values":null,"field":null,"op":"$and","children":[{"field":"f","op":"$all","values":["a","b"]}]}]}"#,
        r#"{"criteria":[{"childr\u0065n":[{"field":"f","op":"=","values":["a"]}],"op":"\u0024or"}]}"#,
        r#"{"criteria":[{"field":"","op":"=","values":[""]}]}"#,
    ] {
        assert!(accepts(text, &limits), "{text}");
    }
    for text in [
        "{}",
        "",
        "null",
        "[]",
        r#"{"ids":null}"#,
        r#"{"ids":null,"criteria":null}"#,
        r#"{"ids":null,"ids":[]}"#,
        r#"{"ids":[],"ids":null}"#,
        r#"{"ids":[],"\u0069ds":[]}"#,
        r#"{"ids":[null]}"#,
        r#"{"ids":[],"others":null}"#,
        r#"{"criteria":[null]}"#,
        r#"{"criteria":[{}]}"#,
        r#"{"criteria":[{"field":null,"op":null,"values":null}]}"#,
        r#"{"criteria":[{"field":"f","op":null,"op":"=","values":["a"]}]}"#,
        r#"{"criteria":[{"field":"f","op":"=","values":[null]}]}"#,
        r#"{"criteria":[{"field":"f","op":"=","values":null}]}"#,
        r#"{"criteria":[{"op":"$and","children":null}]}"#,
        r#"{"criteria":[{"op":"$and","children":[]}]}"#,
        r#"{"criteria":[{"op":"$and","children":[null]}]}"#,
        r#"{"criteria":[{"field":"f","op":"=","values":["a"],"children":nul}]}"#,
        r#"{"criteria":[{"field":"f","op":"=","values":["a"],"children":[]}]}"#,
    ] {
        assert!(!accepts(text, &limits), "{text}");
    }
}

#[test]
fn limits_allow_exactly_their_number() {
    let exact = Limits { depth: 3, criteria: 6, values: 6, ids: 2, string_bytes: 28, ..Limits::default() };
    assert!(accepts(BODY, &exact));
    let flat = r#"{"criteria":[{"field":"f","op":"=","values":["a"]}]}"#;
    for (depth, is_read) in [(0, false), (1, true)] {
        let limits = Limits { depth, ..Limits::default() };
        assert_eq!(accepts(flat, &limits), is_read);
    }
    for less in [
        Limits { depth: 2, ..exact.clone() },
        Limits { criteria: 5, ..exact.clone() },
        Limits { values: 5, ..exact.clone() },
        Limits { ids: 1, ..exact.clone() },
        Limits { string_bytes: 27, ..exact.clone() },
    ] {
        assert!(!accepts(BODY, &less), "{less:?}");
    }
}

#[test]
fn keys_that_do_not_belong_together_are_rejected() {
    let field = r#"{"field":"f","op":"=","values":["a"]}"#;
    for criterion in [
        r#"{"values":["a"],"children":[{"field":"f","op":"="}],"op":"$and"}"#.to_owned(),
        r#"{"values":["a"],"children":[{"field":"f","op":"$contains"}],"op":"$and"}"#.to_owned(),
        format!(r#"{{"values":["a"],"children":[{field}],"op":"$and"}}"#),
        format!(r#"{{"children":[{field}],"values":["a"],"op":"$and"}}"#),
        format!(r#"{{"children":[{field}],"op":"$and","field":"f"}}"#),
        format!(r#"{{"children":[{field}],"values":["a"],"op":"=","field":"f"}}"#),
        format!(r#"{{"children":[{field}],"children":[{field}],"op":"$and"}}"#),
        r#"{"field":"f","op":"=","values":["a"],"values":["b"]}"#.to_owned(),
        r#"{"field":"f","op":"$all","values":["a"],"values":["b"]}"#.to_owned(),
        r#"{"field":"f","op":"=","values":["a","b"]}"#.to_owned(),
        r#"{"field":"f","op":"$all","values":[]}"#.to_owned(),
        r#"{"field":"f","field":"f","op":"=","values":["a"]}"#.to_owned(),
        r#"{"field":"f","op":"=","op":"=","values":["a"]}"#.to_owned(),
        r#"{"field":"f","op":"$and","values":["a"]}"#.to_owned(),
        r#"{"op":"$and"}"#.to_owned(),
    ] {
        for text in [
            format!(r#"{{"criteria":[{criterion}]}}"#),
            format!(r#"{{"criteria":[{field},{criterion}]}}"#),
            format!(r#"{{"criteria":[{{"op":"$or","children":[{criterion},{field}]}}]}}"#),
        ] {
            assert!(!accepts(&text, &Limits::default()), "{text}");
        }
    }
}

#[test]
fn the_parsers_agree_after_every_change_of_one_byte() {
    let limits = Limits::default();
    for at in 0..BODY.len() {
        if !BODY.is_char_boundary(at) || !BODY.is_char_boundary(at + 1) {
            continue;
        }
        let (before, after) = (&BODY[..at], &BODY[at + 1..]);
        for put in
            ["", " ", "\"", ",", ":", "{", "}", "[", "]", "\\", "a", "1", "\u{1}", "null", "[]", "{}", ",,"]
        {
            accepts(&format!("{before}{put}{after}"), &limits);
            accepts(&format!("{before}{put}{}", &BODY[at..]), &limits);
        }
        accepts(before, &limits);
    }
}

/// A strategy for pieces of bodies in random order.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = proptest::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\"op\"",
        "\"field\"",
        "\"values\"",
        "\"children\"",
        "\"ids\"",
        "\"criteria\"",
        "\"$and\"",
        "\"=\"",
        "\"$all\"",
        "\"x\"",
        "null",
        "\"op\":null",
        "\"values\":null",
        "\"children\":null",
        "\"ids\":null",
        "\"\\u006fp\":\"=\"",
        "{\"criteria\":[",
        "{\"field\":\"x\",\"op\":\"=\",\"values\":[\"y\"]}",
        "{\"op\":\"$or\",\"children\":[",
        "\"values\":[\"a\",\"b\"]",
        "\"op\":\"$and\"",
        "\"field\":\"f\"",
        "\"op\":\"$contains\"",
        "]}",
        "]}]}",
        "\"children\":[",
    ]);
    proptest::collection::vec(scrap, 0..24).prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn the_parsers_agree_on_pieces_of_bodies(inner in scraps()) {
        let limits = Limits::default();
        accepts(&inner, &limits);
        accepts(&format!("{{\"criteria\":[{{{inner}}}]}}"), &limits);
        accepts(&format!("{{\"criteria\":[{inner}]}}"), &limits);
        accepts(&format!("{{{inner}}}"), &limits);
    }
}

/// A strategy for a JSON string, plain or with its first character escaped.
fn spelled(text: &'static str) -> impl Strategy<Value = String> {
    any::<bool>().prop_map(move |escaped| match text.chars().next().filter(|_| escaped) {
        Some(first) => format!("\"\\u{:04x}{}\"", u32::from(first), &text[first.len_utf8()..]),
        None => format!("\"{text}\""),
    })
}

/// A strategy for a member `key: value`.
fn member(key: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (spelled(key), value).prop_map(|(key, value)| format!("{key} :{value}"))
}

/// A strategy for an object of these members in random order, with or without an additional member that is `null`.
fn object(members: Vec<String>, absent: &'static str) -> impl Strategy<Value = String> {
    (Just(members), any::<bool>()).prop_flat_map(move |(mut members, has_null)| {
        if has_null {
            members.push(format!("\"{absent}\": null"));
        }
        Just(members).prop_shuffle().prop_map(|members| format!("{{ {} }}", members.join(" , ")))
    })
}

/// A strategy for a criterion without errors, apart from errors that only a catalogue reveals.
fn criterion() -> impl Strategy<Value = String> {
    let operator = proptest::sample::select(Operator::ALL.to_vec());
    let field = operator
        .prop_flat_map(|operator| {
            let count = if operator.arity() == Arity::One { 1..2 } else { 1..4_usize };
            let values = proptest::collection::vec(spelled("é x"), count);
            let values = values.prop_map(|values| format!("[{}]", values.join(", ")));
            (member("field", spelled("f")), member("op", spelled(operator.name())), member("values", values))
        })
        .prop_flat_map(|(field, op, values)| object(vec![field, op, values], "children"));
    field.prop_recursive(4, 24, 4, |inner| {
        let children = proptest::collection::vec(inner, 1..4);
        let children = children.prop_map(|children| format!("[{}]", children.join(",")));
        let op = prop_oneof![spelled("$and"), spelled("$or")];
        (member("op", op), member("children", children))
            .prop_flat_map(|(op, children)| object(vec![op, children], "values"))
    })
}

/// A strategy for a body without errors, apart from errors that only a catalogue reveals.
fn body() -> impl Strategy<Value = String> {
    let list = |items: Vec<String>| format!("[{}]", items.join(" ,"));
    let ids = move || proptest::collection::vec(spelled("id"), 0..3).prop_map(list);
    let criteria = move || proptest::collection::vec(criterion(), 0..4).prop_map(list);
    prop_oneof![
        member("ids", ids()).prop_flat_map(|ids| object(vec![ids], "criteria")),
        member("criteria", criteria()).prop_flat_map(|criteria| object(vec![criteria], "ids")),
        (member("ids", ids()), member("criteria", criteria()))
            .prop_map(|(ids, criteria)| format!("{{{criteria},{ids}}}")),
    ]
}

proptest! {
    #[test]
    fn every_body_without_errors_is_accepted(body in body()) {
        prop_assert!(accepts(&body, &Limits::default()), "{}", body);
    }
}
