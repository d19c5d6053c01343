//! Tests of times in filter texts: days, relative times and RFC 3339. Also tests the printed forms of times.

use chrono::FixedOffset;

use crate::catalog::{Catalog, Field, FieldType};
use crate::error::ErrorKind;
use crate::exec::reference;
use crate::filter::{Filter, FilterBuilder, SearchRequest};
use crate::value::Timestamp;

fn catalog() -> Catalog {
    let fields = [
        Field::new("at", FieldType::Timestamp),
        Field::new("seen[]", FieldType::Timestamp),
        Field::new("born", FieldType::Timestamp).unix_millis(),
        Field::new("name", FieldType::String),
        Field::new("tags[]", FieldType::String),
    ];
    Catalog::new(fields).unwrap()
}

/// Compiles a text. The current time is 2025-12-03 01:30:00 at the offset +02:00.
fn at_offset(text: &str) -> Filter {
    let now = Timestamp::parse("2025-12-02 23:30:00").unwrap();
    let offset = FixedOffset::east_opt(2 * 3600).unwrap();
    let builder = FilterBuilder::new(&catalog()).now(now).utc_offset(offset);
    builder.text(text).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

fn in_utc(text: &str) -> Filter {
    Filter::compile_text(&catalog(), text).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn a_day_is_the_range_of_its_instants() {
    for (text, meant) in [
        ("at = 2025-12-01", "at >= '2025-12-01 00:00:00' and at < '2025-12-02 00:00:00'"),
        ("at on 2025-12-01", "at >= '2025-12-01 00:00:00' and at < '2025-12-02 00:00:00'"),
        ("at ON '2025-12-01'", "at >= '2025-12-01 00:00:00' and at < '2025-12-02 00:00:00'"),
        ("at <> 2025-12-01", "not (at >= '2025-12-01 00:00:00' and at < '2025-12-02 00:00:00')"),
        ("at < 2025-12-01", "at < '2025-12-01 00:00:00'"),
        ("at >= 2025-12-01", "at >= '2025-12-01 00:00:00'"),
        ("at <= 2025-12-01", "at < '2025-12-02 00:00:00'"),
        ("at > 2025-12-01", "at >= '2025-12-02 00:00:00'"),
        (
            "at in (2025-12-01, '2025-12-05 10:00:00', 2025-12-02)",
            "at >= '2025-12-01 00:00:00' and at < '2025-12-03 00:00:00' or at = '2025-12-05 10:00:00'",
        ),
        ("at all (2025-12-01)", "at on 2025-12-01"),
        ("at all (2025-12-01, '2025-12-01 10:00:00')", "at = '2025-12-01 10:00:00'"),
        ("at all (2025-12-01, 2025-12-02)", "false"),
        ("at >= 2025-12-01T10:00:00Z", "at >= '2025-12-01 10:00:00'"),
        ("at >= 2025-12-01T10:00:00.000+01:00", "at >= '2025-12-01 09:00:00'"),
        ("at > 2025-12-01 + 1w", "at > 2025-12-08"),
        ("at > 2025-12-01+1d and at < 2025-12-01 + 36h", "false"),
    ] {
        assert_eq!(in_utc(text), in_utc(meant), "{text}");
    }
}

#[test]
fn relative_times_and_days_refer_to_the_clock() {
    for (text, meant) in [
        ("at >= now", "at >= '2025-12-02 23:30:00'"),
        ("at >= now - 7d", "at >= '2025-11-25 23:30:00'"),
        ("at >= now-90m and at < now +2h", "at >= '2025-12-02 22:00:00' and at < '2025-12-03 01:30:00'"),
        ("at on today", "at >= '2025-12-02 22:00:00' and at < '2025-12-03 22:00:00'"),
        ("at = today - 1d", "at >= '2025-12-01 22:00:00' and at < '2025-12-02 22:00:00'"),
        ("at < today + 8h", "at < '2025-12-03 06:00:00'"),
        ("at in (today, today - 1d)", "at >= '2025-12-01 22:00:00' and at < '2025-12-03 22:00:00'"),
        ("not at <= 2025-12-01", "not at < '2025-12-01 22:00:00'"),
    ] {
        let filter = at_offset(text);
        assert_eq!(filter, in_utc(meant), "{text}");
        // This call parses the text again, without the builder.
        let written = filter.unoptimized();
        for minute in 0..4000_i64 {
            let ms = Timestamp::parse("2025-12-01 12:00:00").unwrap().as_millis() + minute * 60_000;
            let document = format!(r#"{{"id":"a","at":"{}"}}"#, Timestamp::from_millis(ms));
            let document = document.as_bytes();
            assert_eq!(filter.matches(document), written.matches(document), "{text}");
        }
    }
}

#[test]
fn every_evaluator_and_printer_agrees_on_days() {
    let texts = [
        ("seen = 2025-12-02", "bce"),
        ("seen <> 2025-12-02", "adf"),
        ("seen in (2025-12-01, 2025-12-03)", "ade"),
        ("seen = 2025-12-01 or seen = 2025-12-02", "abcde"),
        ("not seen in (2025-12-01, 2025-12-02)", "f"),
        ("seen all (2025-12-01, 2025-12-03)", "de"),
        ("seen all (2025-12-02, '2025-12-02 10:00:00')", "b"),
        ("not seen all (2025-12-01, 2025-12-03)", "abcf"),
        ("seen = 2025-12-02 and seen <> '2025-12-02 10:00:00'", "ce"),
        ("seen < 2025-12-02", "ade"),
        ("seen <= 2025-12-02", "abcde"),
        ("seen > 2025-12-02", "de"),
        ("seen >= 2025-12-02", "bcde"),
        ("born > 1970-01-01T00:00:01.250Z", "b"),
        ("born >= 1970-01-01T00:00:01.250Z", "ab"),
        ("born <> 1970-01-01T00:00:01.250Z", "bcdef"),
        ("born = 1970-01-01T00:00:01.250Z", "a"),
        ("born = 1970-01-01", "ab"),
        ("seen = 2025-12-02T00:00:00Z/2025-12-02T10:00:00.001Z", "b"),
    ];
    // `d` has a value before and a value after the second day, but no value on that day. `f` has no value.
    let documents = [
        r#"{"id":"a","seen":["2025-12-01 00:00:00"],"born":"1250"}"#,
        r#"{"id":"b","seen":["2025-12-02 10:00:00"],"born":"1251"}"#,
        r#"{"id":"c","seen":["2025-12-02 23:59:59"]}"#,
        r#"{"id":"d","seen":["2025-12-01 23:59:59","2025-12-03 00:00:00"]}"#,
        r#"{"id":"e","seen":["2025-12-01 23:59:59","2025-12-02 23:59:59","2025-12-03 23:59:59"]}"#,
        r#"{"id":"f"}"#,
    ];
    let ids = ["a", "b", "c", "d", "e", "f"];
    for (text, expected) in texts {
        let filter = in_utc(text);
        let selected = |filter: &Filter| {
            let is_selected = |document: &&str| filter.matches(document.as_bytes()).unwrap();
            let all = documents.iter().zip(ids).filter(|(document, _)| is_selected(document));
            all.map(|(_, id)| id).collect::<String>()
        };
        assert_eq!(selected(&filter), expected, "{text}");
        assert_eq!(selected(&filter.unoptimized()), expected, "{text}");
        let (rows, _) = reference::search(&documents, &SearchRequest::new(filter.clone())).unwrap();
        assert_eq!(rows.into_iter().map(|row| ids[row]).collect::<String>(), expected, "{text}");
        for document in documents {
            let why = reference::why(&filter, document).unwrap();
            assert_eq!(why.selected, filter.matches(document.as_bytes()).unwrap(), "{text}");
        }
        let printed = filter.to_text();
        assert_eq!(in_utc(&printed), filter, "{text}: {printed}");
        let body = filter.to_json();
        let read = Filter::compile(&catalog().extended(), body.as_bytes());
        assert_eq!(read.as_ref(), Ok(&filter), "{text}: {body}");
    }
}

#[test]
fn a_printed_day_does_not_depend_on_the_clock() {
    let filter = at_offset("seen on today or at > 2025-12-01");
    assert_eq!(
        filter.to_text(),
        "at >= \"2025-12-01 22:00:00\" or seen = 2025-12-02T22:00:00Z/2025-12-03T22:00:00Z"
    );
    assert_eq!(in_utc(&filter.to_text()), filter);
    assert_eq!(at_offset(&filter.to_text()), filter);
}

#[test]
fn a_time_that_cannot_be_read_is_an_error_with_its_reason() {
    for (text, found, expected) in [
        ("at >= now - 7d", "`now - 7d`", "the program sets no current time for `now` and `today`"),
        ("at on today", "`today`", "the program sets no current time for `now` and `today`"),
        ("at > 2025-12-01T10:00:00.1234Z", "`2025-12-01T10:00:00.1234Z`", "at most three digits"),
        ("at > 2025-02-29", "`2025-02-29`", "a date that exists in the calendar"),
        ("at > soon", "`soon`", "`2025-12-01T10:00:00Z`, `2025-12-01`, `today` or `now - 7d`"),
    ] {
        let errors = Filter::compile_text(&catalog(), text).unwrap_err();
        let [error] = errors.as_slice() else { panic!("{text}: {errors}") };
        assert_eq!(
            (error.kind, error.found.to_string().as_str()),
            (ErrorKind::BadTimestamp, found),
            "{text}"
        );
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
    for (text, meant) in [("at > yesterday", "`today - 1d`"), ("at > -7d", "`now - 7d`")] {
        let builder = FilterBuilder::new(&catalog()).now(Timestamp::from_millis(0));
        let errors = builder.text(text).unwrap_err();
        assert_eq!(
            errors.as_slice()[0].suggestion.as_ref().map(ToString::to_string).as_deref(),
            Some(meant),
            "{text}"
        );
        // Without a current time, the suggested text would be an error, so there is no suggestion.
        let errors = Filter::compile_text(&catalog(), text).unwrap_err();
        assert_eq!(errors.as_slice()[0].suggestion, None, "{text}");
    }
}

#[test]
fn bodies_take_only_the_form_of_the_interface() {
    let values =
        ["2025-12-01", "now", "today", "now - 7d", "2025-12-01T10:00:00Z", "2025-12-01T10:00:00.000Z"];
    for catalog in [catalog(), catalog().extended()] {
        for value in values {
            let body = format!(r#"{{"criteria":[{{"field":"at","op":">=","values":["{value}"]}}]}}"#);
            let builder = FilterBuilder::new(&catalog).now(Timestamp::from_millis(0));
            let errors = builder.json(body.as_bytes()).unwrap_err();
            assert_eq!(errors.as_slice()[0].kind, ErrorKind::BadTimestamp, "{body}");
        }
    }
    // Only extended catalogues accept fractions of a second and spans. This library writes both when it prints a filter as JSON.
    // `$all` accepts no spans.
    for (value, op, is_extended) in [
        ("2025-12-01T10:00:00.250Z", ">=", true),
        ("2025-12-01T00:00:00Z/2025-12-02T00:00:00Z", "=", true),
        ("2025-12-01T00:00:00Z/2025-12-02T00:00:00Z", "$all", false),
    ] {
        let body = format!(r#"{{"criteria":[{{"field":"at","op":"{op}","values":["{value}"]}}]}}"#);
        assert!(Filter::compile(&catalog(), body.as_bytes()).is_err(), "{body}");
        let read = Filter::compile(&catalog().extended(), body.as_bytes());
        assert_eq!(read.is_ok(), is_extended, "{body}");
    }
}

#[test]
fn other_fields_have_no_times() {
    for (text, meant) in [
        ("name = today", "name = \"today\""),
        ("name in (now, 2025-12-01)", "name = now or name = \"2025-12-01\""),
        ("tags all (2025-12-01, today)", "tags = today and tags = \"2025-12-01\""),
    ] {
        assert_eq!(in_utc(text), in_utc(meant), "{text}");
    }
    for text in ["name = now - 7d", "name on 2025-12-01"] {
        assert!(Filter::compile_text(&catalog(), text).is_err(), "{text}");
    }
}
