use proptest::prelude::*;

use super::*;

type Outcome<'a> = Result<(Vec<(FieldId, Value<'a>)>, Vec<bool>, Vec<Error>), Error>;

/// What a reader leaves behind.
fn outcome<'a>(read: Result<(), Error>, row: &Row<'a>, catalog: &Catalog) -> Outcome<'a> {
    read.map(|()| {
        let own = catalog.field_ids().map(|field| row.has_own(field)).collect();
        (row.iter().map(|(field, value)| (field, value.clone())).collect(), own, row.faults().to_vec())
    })
}

/// Holds both readers together over documents in turn, and says which were read as usual.
#[track_caller]
fn check(catalog: &Catalog, limits: &Limits, documents: &[&str]) -> Vec<bool> {
    let mut habits = Habits::default();
    let mut were_usual = Vec::new();
    for text in documents {
        let (mut quick, mut slow) = (Row::default(), Row::default());
        let expected = read_case(text, catalog, limits, &mut slow);
        let expected = outcome(expected, &slow, catalog);
        let mut tried = Row::default();
        let is_usual = is_read_as_usual(text, catalog, limits, &mut habits, &mut tried);
        if is_usual {
            assert_eq!(outcome(Ok(()), &tried, catalog), expected, "{text}");
        }
        let read = read_usual_case(text, catalog, limits, &mut habits, &mut quick);
        assert_eq!(outcome(read, &quick, catalog), expected, "{text}");
        were_usual.push(is_usual);
    }
    were_usual
}

const WHOLE: &str = concat!(
    r#"{"id":"a1","name":"b","applicantReference":{"applicantId":"c","fullName":"é"},"applicantInfo":"#,
    r#"{"firstName":"f","dob":"-86400000","applicantTags":["t","u"]},"createdByRule":{"revision":3},"#,
    r#""createdAt":"2024-02-29 12:00:00+0530","caseReview":{"status":"open","checklistState":{"checklist":"#,
    r#"[{"name":"n","checked":true},{"checked":false,"name":"m"}]}},"amlCases":[{"amlCaseId":"x"}],"#,
    r#""totalAmountInDefaultCurrency":-1.5e2,"priority":"high","tags":[]}"#
);

#[test]
fn usual_documents_are_read_as_usual() {
    let spaced =
        WHOLE.replace(',', " , ").replace(':', ": ").replace("2024-02-29 12: 00: 00", "2024-02-29 12:00:00");
    let unknown = r#" {"id":"a","x":{"y":[{"z":null}],"tags":1},"tags":["\u00e9\n"],"review":null,"w":[]} "#;
    let usual = [WHOLE, &spaced, WHOLE, unknown, r#"{"name":"b","id":"a"}"#, WHOLE];
    assert_eq!(check(&Catalog::cases(), &Limits::default(), &usual), [true; 6]);
}

#[test]
fn any_other_document_is_left_to_the_other_reader() {
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"id":""}"#,
        r#"{"id":1}"#,
        r#"{"id":"a"}x"#,
        r#"{"id":"a","id":"b"}"#,
        r#"{"id":"a","x":1,"x":2}"#,
        r#"{"id":"a","x":{"y":1,"y":2}}"#,
        r#"{"id":"a","tags":["b",]}"#,
        r#"{"id":"a",}"#,
        r#"{"id":"a","tags":[,]}"#,
        r#"{"id":"a" "name":"b"}"#,
        r#"{,"id":"a"}"#,
        r#"{"id":"a","tags":["b" "c"]}"#,
        r#"{"id":"a","tags":"b"}"#,
        r#"{"id":"a","name":["b"]}"#,
        r#"{"id":"a","name":{"b":1}}"#,
        r#"{"id":"a","name":true}"#,
        r#"{"id":"a","caseReview":"open"}"#,
        r#"{"id":"a","createdAt":"2024-02-30 00:00:00"}"#,
        r#"{"id":"a","createdAt":1}"#,
        r#"{"id":"a","totalAmountInDefaultCurrency":1e999}"#,
        r#"{"id":"a","totalAmountInDefaultCurrency":"1"}"#,
        r#"{"id":"a","totalAmountInDefaultCurrency":01}"#,
        r#"{"id":"a","name":nul}"#,
        r#"{"id":"a","x":"\ud800"}"#,
        r#"{"id":"a","applicantInfo":{"dob":"x"}}"#,
        "{\"id\":\"\u{1}\"}",
        r#"{"id":"a"]"#,
        r#"{"id":"a","tags":["b"}"#,
    ] {
        assert_eq!(
            check(&Catalog::cases(), &Limits::default(), &[WHOLE, text, WHOLE]),
            [true, false, true],
            "{text}"
        );
    }
    let deep = format!(r#"{{"id":"a","x":{}{}}}"#, "[".repeat(20), "]".repeat(20));
    assert_eq!(check(&Catalog::cases(), &Limits::default(), &[&deep]), [false]);
    let limits = Limits { case_depth: 3, ..Limits::default() };
    assert_eq!(check(&Catalog::cases(), &limits, &[WHOLE, r#"{"id":"a","tags":["b"]}"#]), [false, true]);
    let limits = Limits { case_bytes: 20, ..Limits::default() };
    assert_eq!(check(&Catalog::cases(), &limits, &[WHOLE, r#"{"id":"a"}"#]), [false, true]);
    let many: String = (0..40).map(|n| format!(r#","k{n}":{n}"#)).collect();
    let (many, again) = (format!(r#"{{"id":"a"{many}}}"#), format!(r#"{{"id":"a"{many},"k7":0}}"#));
    assert_eq!(check(&Catalog::cases(), &Limits::default(), &[&many, &again]), [false, false]);
}

#[test]
fn keys_that_json_escapes_are_never_guessed() {
    use crate::catalog::{Field, FieldType};
    let fields = ["a\":\"b", "a"].map(|name| Field::new(name, FieldType::String));
    let catalog = Catalog::cases().with(fields).unwrap();
    let sound = r#"{"id":"x","a\":\"b":"v","a":"w"}"#;
    let broken = r#"{"id":"x","a":"b":"v"}"#;
    assert_eq!(check(&catalog, &Limits::default(), &[sound, sound, broken]), [true, true, false]);
}

/// Pieces of documents, sound and not.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "null",
    "true",
    "1",
    "-0.5",
    "\"",
    "\\",
    "\\u00e9",
    "é",
    "\"id\":\"a\"",
    "\"id\"",
    "\"tags\":[\"x\",\"y\"]",
    "\"caseReview\":{\"status\":\"open\"}",
    "\"createdAt\":\"2024-01-01 00:00:00\"",
    "\"name\":",
    "\"x\":{\"y\":1}",
    "\"applicantInfo\":{\"dob\":\"5\"}",
    "2024-01-01 00:00:00",
    "\u{1}",
];

proptest! {
    #[test]
    fn the_two_readers_agree(
        documents in prop::collection::vec(
            (prop::collection::vec((0..1000_usize, 0..PIECES.len(), any::<bool>()), 0..4), any::<bool>()), 1..6,
        ),
    ) {
        // The sound document, or a small one, with pieces put in or over what stands there.
        let documents: Vec<String> = documents
            .iter()
            .map(|(edits, is_whole)| {
                let mut text = if *is_whole { WHOLE.to_owned() } else { r#"{"id":"a","tags":["b"]}"#.to_owned() };
                for (at, piece, is_over) in edits {
                    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                    let Some(start) = places.get(at % places.len().max(1)).copied() else { continue };
                    let piece = PIECES[*piece];
                    let end = start + text[start..].chars().take(piece.chars().count() * usize::from(*is_over)).map(char::len_utf8).sum::<usize>();
                    text.replace_range(start..end, piece);
                }
                text
            })
            .collect();
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        check(&Catalog::cases(), &Limits::default(), &documents);
    }
}
