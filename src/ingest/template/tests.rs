//! Tests that the template reader and the strict parser agree on every document.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::read_case;
use super::*;
use crate::catalog::FieldId;

type Outcome<'a> = Result<(Vec<(FieldId, Value<'a>)>, Vec<bool>, Vec<Error>, BTreeSet<String>), Error>;

/// Converts the result and the row of a reader to a form that can be compared.
fn outcome<'a>(read: Result<(), Error>, row: &Row<'a>, catalog: &Catalog) -> Outcome<'a> {
    read.map(|()| {
        let own = catalog.field_ids().map(|field| row.has_own(field)).collect();
        let values = row.iter().map(|(field, value)| (field, value.clone())).collect();
        let remarks = row.remarks().iter().map(|remark| format!("{remark:?}")).collect();
        (values, own, row.faults().to_vec(), remarks)
    })
}

/// Checks that both readers agree on these documents, in this order. Returns for each document whether it matched the template.
#[track_caller]
fn check(catalog: &Catalog, limits: &Limits, documents: &[&str]) -> Vec<bool> {
    let (mut template, mut members) = (DocumentTemplate::default(), Members::default());
    let mut matched = Vec::new();
    for text in documents {
        let (mut quick, mut slow) = (Row::default(), Row::default());
        let expected = read_case_with(text, catalog, limits, &mut slow, Some(&mut members));
        let expected = outcome(expected, &slow, catalog);
        let mut tried = Row::default();
        let matches = matches_template(text, catalog, limits, &mut template, &mut tried);
        if matches {
            assert_eq!(outcome(Ok(()), &tried, catalog), expected, "{text}");
        }
        let read = read_by_template(text, catalog, limits, &mut template, &mut quick);
        assert_eq!(outcome(read, &quick, catalog), expected, "{text}");
        matched.push(matches);
    }
    matched
}

const WHOLE: &str = concat!(
    r#"{"id":"a1","name":"b","applicantReference":{"applicantId":"c","fullName":"é"},"applicantInfo":"#,
    r#"{"firstName":"f","dob":"-86400000","applicantTags":["t","u"]},"createdByRule":{"revision":3},"#,
    r#""createdAt":"2024-02-29 12:00:00+0530","caseReview":{"status":"open","checklistState":{"checklist":"#,
    r#"[{"name":"n","checked":true},{"checked":false,"name":"m"}]}},"amlCases":[{"amlCaseId":"x"}],"#,
    r#""totalAmountInDefaultCurrency":-1.5e2,"priority":"high","tags":[]}"#
);

#[test]
fn documents_of_one_form_match_the_template() {
    let spaced =
        WHOLE.replace(',', " , ").replace(':', ": ").replace("2024-02-29 12: 00: 00", "2024-02-29 12:00:00");
    let unknown = r#" {"id":"a","x":{"y":[{"z":null}],"tags":1},"tags":["\u00e9\n"],"review":null,"w":[]} "#;
    let documents = [WHOLE, &spaced, WHOLE, unknown, r#"{"name":"b","id":"a"}"#, WHOLE];
    assert_eq!(check(&Catalog::cases(), &Limits::default(), &documents), [true; 6]);
}

#[test]
fn any_other_document_is_left_to_the_strict_parser() {
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
    let limits = Limits { document_depth: 3, ..Limits::default() };
    assert_eq!(check(&Catalog::cases(), &limits, &[WHOLE, r#"{"id":"a","tags":["b"]}"#]), [false, true]);
    let limits = Limits { document_bytes: 20, ..Limits::default() };
    assert_eq!(check(&Catalog::cases(), &limits, &[WHOLE, r#"{"id":"a"}"#]), [false, true]);
    for (count, match_it) in [(40, true), (200, false)] {
        let many: String = (0..count).map(|n| format!(r#","k{n}":{n}"#)).collect();
        let (many, again) = (format!(r#"{{"id":"a"{many}}}"#), format!(r#"{{"id":"a"{many},"k7":0}}"#));
        let matched = check(&Catalog::cases(), &Limits::default(), &[&many, &again, &many, &again]);
        assert_eq!(matched, [match_it, false, match_it, false], "{count} keys");
    }
    // Each document has different unknown keys.
    let documents: Vec<String> =
        (0..300).map(|n| format!(r#"{{"id":"a","x{n}":[{n}],"tags":["b"],"y{n}":{{}}}}"#)).collect();
    let mut documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    assert_eq!(check(&Catalog::cases(), &Limits::default(), &documents), [true; 300]);
    let again = r#"{"id":"a","z":1,"amlCases":[{"z":1}],"z":2}"#;
    let apart = r#"{"id":"a","amlCases":[{"z":1},{"z":2}],"w":[{"v":1}],"v":2}"#;
    documents.extend([again, r#"{"id":"a","z":1,"tags":[],"z":1}"#, apart, WHOLE]);
    let matched = check(&Catalog::cases(), &Limits::default(), &documents);
    assert_eq!(matched.split_at(300).1, [false, false, true, true]);
}

#[test]
fn escaped_keys_are_read_by_their_meaning() {
    use crate::catalog::{Field, FieldType};
    let fields = ["a\":\"b", "a"].map(|name| Field::new(name, FieldType::String));
    let catalog = Catalog::cases().with(fields).unwrap();
    let sound = r#"{"id":"x","a\":\"b":"v","a":"w"}"#;
    let broken = r#"{"id":"x","a":"b":"v"}"#;
    assert_eq!(check(&catalog, &Limits::default(), &[sound, sound, broken]), [true, true, false]);
}

#[test]
fn a_repeated_key_is_found_wherever_it_comes_from() {
    let catalog = Catalog::cases();
    let check = |documents: &[&str], expected: &[bool]| {
        assert_eq!(check(&catalog, &Limits::default(), documents), expected, "{documents:?}");
    };
    // The segments that contain the repeated key were learned from earlier documents.
    check(
        &[
            r#"{"id":"a","name":"b","clientId":"c"}"#,
            r#"{"id":"a","clientId":"c","name":"b"}"#,
            r#"{"id":"a","name":"b","clientId":"c","name":"d"}"#,
            r#"{"id":"a","z":1,"name":"b"}"#,
            r#"{"id":"a","name":"b","z":1}"#,
            r#"{"id":"a","z":1,"name":"b","z":1}"#,
        ],
        &[true, true, false, true, true, false],
    );
    // Different objects contain keys of the same name.
    check(
        &[
            r#"{"id":"a","z":1}"#,
            r#"{"id":"a","amlCases":[{"z":1,"amlCaseId":"x"}]}"#,
            r#"{"id":"a","z":1,"amlCases":[{"z":2,"amlCaseId":"x"}]}"#,
            r#"{"id":"a","z":1,"amlCases":[{"z":2,"amlCaseId":"x"},{"z":3,"amlCaseId":"y"}]}"#,
            r#"{"id":"a","z":1,"amlCases":[{"z":2,"amlCaseId":"x"},{"z":3,"amlCaseId":"y","z":4}]}"#,
        ],
        &[true, true, true, true, false],
    );
    // Keys without a slot.
    let others: Vec<String> = (0..150).map(|n| format!(r#"{{"id":"a","k{n}":{n}}}"#)).collect();
    let mut documents: Vec<&str> = others.iter().map(String::as_str).collect();
    let mut expected = vec![true; documents.len()];
    documents.extend([
        r#"{"id":"a","z":1,"name":"b"}"#,
        r#"{"id":"a","name":"b","z":1}"#,
        r#"{"id":"a","z":1,"name":"b","z":2}"#,
        r#"{"id":"a","z":1,"amlCases":[{"amlCaseId":"x"},{"amlCaseId":"y"}]}"#,
    ]);
    expected.extend([true, true, false, true]);
    check(&documents, &expected);
}

#[test]
fn objects_of_arrays_have_their_own_keys() {
    use crate::catalog::{Field, FieldType};
    let fields = [("a[].d", FieldType::Number), ("a[].e[]", FieldType::String), ("w[]", FieldType::Number)];
    let catalog = Catalog::cases().with(fields.map(|(path, kind)| Field::new(path, kind))).unwrap();
    for (documents, expected) in [
        // A segment that contains a key both before and after the start of an object.
        (
            [
                r#"{"id":"i","a":[{"d":1,"e":null},{"e":null,"d":2}]}"#,
                r#"{"id":"i","a":[{"e":null,"d":1},{"e":null,"d":2}]}"#,
                r#"{"id":"i","a":[{"e":["x"],"d":1,"e":null},{"e":null,"d":2}]}"#,
            ],
            [true, true, false],
        ),
        // The second object has a new key.
        (
            [
                r#"{"id":"i","a":[{"d":1},{"new":1,"d":2}]}"#,
                r#"{"id":"i","a":[{"new":1,"d":1},{"new":2,"d":2}]}"#,
                r#"{"id":"i","a":[{"new":1,"d":1},{"new":2,"d":2,"new":3}]}"#,
            ],
            [true, true, false],
        ),
        // A missing number.
        (
            [r#"{"id":"i","w":[1,2]}"#, r#"{"id":"i","w":[],"a":[ ]}"#, r#"{"id":"i","w":[1,]}"#],
            [true, true, false],
        ),
    ] {
        assert_eq!(check(&catalog, &Limits::default(), &documents), expected, "{documents:?}");
    }
}

#[test]
fn more_fields_than_slots_are_distinguished() {
    use crate::catalog::{Field, FieldType};
    let names: Vec<String> = (0..150).map(|n| format!("f{n}")).collect();
    let fields = names.iter().map(|name| Field::new(name, FieldType::Number));
    let catalog = Catalog::cases().with(fields).unwrap();
    let some = r#"{"id":"a","f1":1,"f140":2,"f141":3,"tags":["b"]}"#;
    let again = r#"{"id":"a","f1":1,"f140":2,"f141":3,"f140":4}"#;
    assert_eq!(check(&catalog, &Limits::default(), &[some, some, again, some]), [true, true, false, true]);
}

#[test]
fn a_template_is_relearned_under_another_limit() {
    let catalog = Catalog::cases();
    let mut template = DocumentTemplate::default();
    for (document_depth, matches) in [(128, true), (3, false), (128, true), (2, false), (4, true)] {
        let limits = Limits { document_depth, ..Limits::default() };
        let text = r#"{"id":"a","caseReview":{"checklistState":{"checklist":[]}},"tags":["b"]}"#;
        let mut row = Row::default();
        assert_eq!(
            matches_template(text, &catalog, &limits, &mut template, &mut row),
            matches,
            "{document_depth}"
        );
        assert_eq!(read_case(text, &catalog, &limits, &mut row).is_ok(), matches, "{document_depth}");
    }
}

/// Fragments of documents, well-formed and malformed.
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
        // A large or a small well-formed document. Fragments are inserted, or overwrite its text.
        let documents: Vec<String> = documents
            .iter()
            .map(|(edits, is_whole)| {
                let mut text = if *is_whole { WHOLE.to_owned() } else { r#"{"id":"a","tags":["b"]}"#.to_owned() };
                for (at, piece, is_over) in edits {
                    let slots: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                    let Some(start) = slots.get(at % slots.len().max(1)).copied() else { continue };
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

type Member = (&'static str, fn(&mut Writer));

const DOCUMENT: &[Member] = &[
    ("name", Writer::string),
    ("strange", Writer::anything),
    ("x", |writer| {
        writer.object(&[("a", |writer| writer.array(|writer| writer.object(A))), ("f", Writer::boolean)]);
    }),
    ("createdAt", Writer::timestamp),
    ("tags", |writer| writer.array(Writer::string)),
    ("n", |writer| writer.array(Writer::number)),
    ("o", |writer| writer.array(Writer::boolean)),
];
const A: &[Member] = &[
    ("b", |writer| writer.array(|writer| writer.object(B))),
    ("d", Writer::number),
    ("e", |writer| writer.array(|writer| writer.array(Writer::string))),
    ("id", Writer::string),
    ("strange", Writer::anything),
];
const B: &[Member] = &[("c", Writer::string), ("odd", Writer::anything), ("strange", Writer::anything)];

/// A writer of random documents. All documents have members from the same small set, in any order. Some documents contain faults.
struct Writer {
    /// The state of the random generator.
    seed: u64,
    text: String,
    /// True as long as every part that has been written is well-formed.
    is_sound: bool,
}

impl Writer {
    fn below(&mut self, end: u64) -> u64 {
        // The generator of S. Vigna, "SplitMix64".
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn is_once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns true rarely. The caller then writes a fault.
    fn is_wrong(&mut self) -> bool {
        let is_wrong = self.is_once_in(150);
        self.is_sound &= !is_wrong;
        is_wrong
    }

    /// Writes the well-formed text `sound` or, rarely, the malformed text `wrong`.
    fn put(&mut self, sound: &str, wrong: &str) {
        let text = if self.is_wrong() { wrong } else { sound };
        self.text.push_str(text);
    }

    fn object(&mut self, members: &[Member]) {
        let start = if self.is_once_in(4) { self.below(members.len() as u64) as usize } else { 0 };
        let rotated = members.iter().cycle().skip(start).take(members.len());
        let mut members: Vec<&Member> = rotated.filter(|_| !self.is_once_in(3)).collect();
        if !members.is_empty() && self.is_once_in(40) {
            let (from, to) = (self.below(members.len() as u64), self.below(members.len() as u64 + 1));
            members.insert(to as usize, members[from as usize]);
            self.is_sound = false;
        }
        self.text.push('{');
        for (n, (key, value)) in members.into_iter().enumerate() {
            if n > 0 {
                let comma = if self.is_once_in(60) { " ,\n" } else { "," };
                self.text.push_str(comma);
            }
            let first = key.chars().next().map_or(0, u32::from);
            match self.below(60) {
                0 => self.text.push_str(&format!("\"\\u{first:04x}{}\":", &key[1..])),
                1 => self.text.push_str(&format!("\"{key}\" : ")),
                _ => self.text.push_str(&format!("\"{key}\":")),
            }
            match self.below(80) {
                0 => self.text.push_str("null"),
                _ => value(self),
            }
        }
        self.text.push('}');
    }

    fn array(&mut self, element: fn(&mut Self)) {
        self.text.push('[');
        for n in 0..self.below(4) {
            if n > 0 {
                self.text.push(',');
            }
            if self.is_once_in(40) { self.text.push_str("null") } else { element(self) }
        }
        self.text.push(']');
    }

    fn string(&mut self) {
        let string = match self.below(30) {
            0 => "\"\\u00e9\\n\"",
            1 => "\"a string of more than sixteen bytes\"",
            2 => "\"é\"",
            n if n % 2 == 0 => "\"a\"",
            _ => "\"\"",
        };
        self.put(string, "[\"a\"]");
    }

    fn number(&mut self) {
        let number = ["0", "-1.5", "3e2", "12345678901234567890.5"][self.below(4) as usize];
        self.put(number, "01");
    }

    fn boolean(&mut self) {
        let boolean = ["true", "false"][self.below(2) as usize];
        self.put(boolean, "falsy");
    }

    fn timestamp(&mut self) {
        let timestamp = ["\"2024-01-01 00:00:00\"", "\"2024-02-29 23:59:59+0530\""][self.below(2) as usize];
        self.put(timestamp, "\"2023-02-29 00:00:00\"");
    }

    fn anything(&mut self) {
        match self.below(6) {
            0 => self.object(&[("k", Self::number), ("l", Self::anything), ("x", Self::boolean)]),
            1 => self.array(Self::anything),
            2 => self.number(),
            3 => self.boolean(),
            _ => self.string(),
        }
    }

    fn document(seed: u64) -> Self {
        let mut writer = Self { seed, text: String::new(), is_sound: true };
        writer.object(DOCUMENT);
        // Every document has an `id`, at the start or at the end.
        let members = writer.text.split_off(1);
        let members = members.strip_suffix('}').unwrap_or(&members);
        let comma = if members.is_empty() { "" } else { "," };
        writer.text = if writer.is_once_in(10) {
            format!("{{{members}{comma}\"id\":\"i\"}}")
        } else {
            format!("{{\"id\":\"i\"{comma}{members}}}")
        };
        writer
    }
}

proptest! {
    #[test]
    fn documents_of_one_form_are_read_alike_and_well_formed_ones_match_the_template(
        seeds in prop::collection::vec(any::<u64>(), 1..40),
        document_depth in prop::option::of(0..7_usize),
    ) {
        use crate::catalog::{Field, FieldType};
        let catalog = Catalog::cases().with([
            Field::new("x.a[].b[].c", FieldType::String),
            Field::new("x.a[].d", FieldType::Number),
            Field::new("x.a[].e[][]", FieldType::String),
            Field::new("x.a[].id", FieldType::String),
            Field::new("x.f", FieldType::Boolean),
            Field::new("n[]", FieldType::Number),
            Field::new("o[]", FieldType::Boolean),
        ]).unwrap();
        let written: Vec<Writer> = seeds.into_iter().map(Writer::document).collect();
        let documents: Vec<&str> = written.iter().map(|writer| writer.text.as_str()).collect();
        let limits = Limits { document_depth: document_depth.unwrap_or(32), ..Limits::default() };
        for (writer, matches) in written.iter().zip(check(&catalog, &limits, &documents)) {
            prop_assert!(matches || !writer.is_sound || document_depth.is_some(), "{}", writer.text);
        }
    }
}
