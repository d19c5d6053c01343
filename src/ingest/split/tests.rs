//! Tests of the splitter, with chunks of any size.

use proptest::prelude::*;
use proptest::sample::select;

use super::start::BYTE_ORDER_MARK;
use super::*;

mod layouts;
mod whole;

/// The output of a splitter: the line and the text or error of each piece, and the fault of the file.
#[derive(Debug, Default, PartialEq)]
struct Output {
    pieces: Vec<(u64, Result<Vec<u8>, Error>)>,
    fault: Option<(u64, Error)>,
}

impl Output {
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), FileFault> {
        self.pieces.push((piece.line, piece.bytes.map(|bytes| trim(bytes).to_vec())));
        Ok(())
    }

    fn end(mut self, outcome: Result<(), FileFault>) -> Self {
        self.fault = outcome.err().map(|fault| (fault.line, fault.error));
        self
    }

    /// Returns true if a document or another part of the file exceeded the limit.
    fn is_limited(&self) -> bool {
        let errors = self.pieces.iter().filter_map(|(_, bytes)| bytes.as_ref().err());
        errors
            .chain(self.fault.iter().map(|(_, error)| error))
            .any(|error| matches!(error.kind, ErrorKind::DocumentTooLarge))
    }
}

fn splitter(limit: usize) -> Splitter {
    Splitter { limit, ..Splitter::new(&Limits::default()) }
}

/// Splits a file that arrives in these chunks.
fn split<'b>(limit: usize, chunks: impl IntoIterator<Item = &'b [u8]>) -> Output {
    let mut splitter = splitter(limit);
    let mut output = Output::default();
    let mut sink = |piece: Piece<'_>| output.piece(piece);
    let pushed = chunks.into_iter().try_for_each(|bytes| {
        splitter.push(bytes, &mut sink)?;
        assert!(splitter.held_bytes() <= limit + 1, "{} bytes are held", splitter.held_bytes());
        Ok(())
    });
    let outcome = pushed.and_then(|()| splitter.finish(&mut sink));
    output.end(outcome)
}

const LIMIT: usize = 1 << 20;

fn check(text: &str, expected: &[(u64, &str)], fault: Option<u64>) {
    for chunk in [1, 2, 7, text.len().max(1)] {
        let output = split(LIMIT, text.as_bytes().chunks(chunk));
        let pieces: Vec<(u64, String)> = output
            .pieces
            .into_iter()
            .map(|(line, bytes)| match bytes {
                Ok(bytes) => (line, String::from_utf8_lossy(&bytes).into_owned()),
                Err(error) => (line, error.kind.code().to_owned()),
            })
            .collect();
        let pieces: Vec<(u64, &str)> = pieces.iter().map(|(line, text)| (*line, text.as_str())).collect();
        let found = output.fault.map(|(line, _)| line);
        assert_eq!((pieces.as_slice(), found), (expected, fault), "{text:?} in chunks of {chunk}");
    }
}

#[test]
fn lines_are_documents() {
    check(
        "{\"id\":\"a\"}\n\n {\"id\":\"b\"} \r\n{\"id\":\"c\"}",
        &[(1, "{\"id\":\"a\"}"), (3, "{\"id\":\"b\"}"), (4, "{\"id\":\"c\"}")],
        None,
    );
    check("", &[], None);
    check(" \n\n", &[], None);
    check(
        "\n\n{\"list\":{\"items\":[]},\"id\":\"a\"}",
        &[(3, "{\"list\":{\"items\":[]},\"id\":\"a\"}")],
        None,
    );
    check("{\"id\":\"a\"\n{\"id\":\"b\"}", &[(1, "{\"id\":\"a\""), (2, "{\"id\":\"b\"}")], None);
    check("oops\n{\"id\":\"b\"}", &[(1, "oops"), (2, "{\"id\":\"b\"}")], None);
    check("\n \n[{\"id\":\"a\"},\n2]", &[(3, "{\"id\":\"a\"}"), (4, "2")], None);
}

#[test]
fn arrays_and_answers_give_their_elements() {
    check(
        "[\n{\"id\":\"a,]\"} ,\n\n{\"b\":[1,{}]}]\n",
        &[(2, "{\"id\":\"a,]\"}"), (4, "{\"b\":[1,{}]}")],
        None,
    );
    check("[]", &[], None);
    check(" [ ] ", &[], None);
    check(
        "{\"list\":{\"items\":[{\"id\":\"a\"}],\"pageInfo\":{\"limit\":1}}}",
        &[(1, "{\"id\":\"a\"}")],
        None,
    );
    check(
        "{\n \"code\": 1,\n \"list\": {\n  \"totalItems\": 1,\n  \"items\": [\n   {\"id\":\"a\"}\n  ]\n }\n}\n",
        &[(6, "{\"id\":\"a\"}")],
        None,
    );
}

#[test]
fn a_malformed_element_spares_the_others() {
    check("[{\"id\":oops},{\"id\":\"b\"}]", &[(1, "{\"id\":oops}"), (1, "{\"id\":\"b\"}")], None);
    check("[\n{\"id\":\"a},\n{\"id\":\"b\"}]", &[(2, "{\"id\":\"a},\n{\"id\":\"b\"}]")], Some(3));
    check("[1,]", &[(1, "1"), (1, "syntax")], None);
    check("[1,\n,2]", &[(1, "1"), (2, "syntax"), (2, "2")], None);
}

#[test]
fn an_error_outside_the_documents_is_a_fault_of_the_file() {
    check("[{\"id\":\"a\"}", &[(1, "{\"id\":\"a\"}")], Some(1));
    check("[{\"id\":\"a\"}]\nx", &[(1, "{\"id\":\"a\"}")], Some(2));
    check("{\"list\":{\"items\":[{\"id\":\"a\"}]}", &[(1, "{\"id\":\"a\"}")], Some(1));
}

#[test]
fn a_malformed_case_in_an_answer_of_one_line_spares_the_others() {
    for bad in ["{\"id\":\"b\",\"z\":NaN}", "{\"id\":\"b\",\"z\":\"\t\"}", "{\"id\":\"b\" \"z\":1}", "nul"] {
        for after in ["", "\n", ",\"totalItems\":3", "\n,\"totalItems\":3"] {
            let text = format!("{{\"list\":{{\"items\":[{{\"id\":\"a\"}},{bad},{{\"id\":\"c\"}}]{after}}}}}");
            check(&text, &[(1, "{\"id\":\"a\"}"), (1, bad), (1, "{\"id\":\"c\"}")], None);
        }
    }
    // A document that is not UTF-8 also affects only itself.
    let text = b"{\"list\":{\"items\":[{\"id\":\"a\"},{\"id\":\"\xff\"},{\"id\":\"c\"}]}}\n";
    assert_eq!(split(LIMIT, [text.as_slice()]).pieces.len(), 3);
    // A document that has an `id` is not a search answer, even if it has the members `list` and `items`.
    check(
        "{\"id\":\"a\",\"list\":{\"items\":[NaN]}}",
        &[(1, "{\"id\":\"a\",\"list\":{\"items\":[NaN]}}")],
        None,
    );
}

#[test]
fn a_second_array_of_an_answer_is_a_fault() {
    check("{\"list\":{\"items\":[1],\"total\":1,\n\"items\":[2]}}", &[(1, "1")], Some(2));
    check("{\"list\":{\"items\":[1],\"list\":3},\n\"list\":{\"items\":[2]}}", &[(1, "1")], Some(2));
    check("{\"list\":{\"items\":[1],\"list\":3},\"items\":[2]}", &[(1, "1")], None);
}

#[test]
fn only_json_whitespace_is_whitespace() {
    check("\u{c}{}\n\u{c}\n{}", &[(1, "\u{c}{}"), (2, "\u{c}"), (3, "{}")], None);
    check("[\u{c}1,\u{c}]", &[(1, "\u{c}1"), (1, "\u{c}")], None);
    check("[\u{c}]", &[(1, "\u{c}")], None);
}

#[test]
fn arrays_and_answers_may_be_longer_than_any_case() {
    let cases = vec![r#"{"id":"a","name":"é"}"#; 1000].join(",");
    let (long, too_long) = ("x".repeat(99), Err(ErrorKind::DocumentTooLarge));
    let texts = [
        (format!("[{cases}]"), Ok(1000)),
        (format!("[\n {cases}\n]\n"), Ok(1000)),
        (format!("{{\"list\":{{\"items\":[{cases}]}}}}"), Ok(1000)),
        (format!("{{\"list\":{{\"items\":[{cases}]}},\"id\":\"b\"}}\n"), Ok(1000)),
        (format!("{{\"code\":1,\n\"list\":{{\n\"items\":[{cases}]}}}}"), Ok(1000)),
        (format!("[{cases},{{\"id\":\"{long}\"}}]"), Ok(1001)),
        (format!("{}{{\"id\":\"a\"}}\n", " \n".repeat(5000)), Ok(1)),
        (format!("{}[{{\"id\":\"a\"}}]\n", " \n".repeat(5000)), Ok(1)),
        // Lines that exceed the limit.
        (format!("{{\"id\":\"b\",\"list\":{{\"items\":[{cases}]}}}}"), too_long),
        (format!("{{\"list\":[{cases}]}}"), too_long),
        (format!("{{\"code\":\"{cases}\"}}"), too_long),
        (format!("\n{{\"id\":\"{}\"}}\n{{\"id\":\"b\"}}\n", "x".repeat(5000)), too_long),
    ];
    for document_bytes in 30..53 {
        for (text, expected) in &texts {
            let limits = Limits { document_bytes, ..Limits::default() };
            let outcomes = [1, 1000, 1 << 20].map(|chunk| {
                let (mut lines, mut fault) = (Vec::new(), None);
                let mut splitter = Splitter::new(&limits);
                let mut sink = |piece: Piece<'_>| -> Result<(), FileFault> {
                    lines.push(piece.line);
                    fault = fault.take().or(piece.bytes.err().map(|error| error.kind));
                    Ok(())
                };
                for bytes in text.as_bytes().chunks(chunk) {
                    splitter.push(bytes, &mut sink).unwrap();
                }
                splitter.finish(&mut sink).unwrap();
                (lines, fault)
            });
            let start = text.split_at(10).0;
            let (lines, fault) = &outcomes[0];
            assert_eq!(fault.map_or(Ok(lines.len()), Err), *expected, "{start}");
            assert_eq!(outcomes[1], outcomes[0], "{start}");
            assert_eq!(outcomes[2], outcomes[0], "{start}");
        }
    }
}

#[test]
fn chunks_of_one_byte_take_linear_time() {
    // If all buffered bytes were tested again for each new byte, this would take minutes.
    let begin = std::time::Instant::now();
    for (start, unit, pieces) in [
        (" ", " ", 0),
        ("{", " ", 1),
        ("{\n", " \n", 1),
        ("{\n\"a\":\"", "x", 1),
        ("{\n\"a\":[", "1,\n", 1),
        ("[", " ", 1),
        ("[\"", "x", 1),
        ("[", "[", 1),
        ("[\"", "\\", 1),
        ("[1", " ", 1),
        ("[]", " ", 0),
        ("{\"list\":\n{\"items\":[]", ",\"a\":1", 0),
        ("{\n\"id\":1}", "{\n}", 1),
        ("{\n\"id\":1}", "x", 1),
        ("{\n\"id\":1}", "}", 1),
        ("[]", "[]", 0),
        ("[]{\"list\":{\"items\":[]", ",\"a\":1", 0),
        ("[]{\"a\":\"", "x", 0),
    ] {
        let text = format!("{start}{}", unit.repeat((1 << 21) / unit.len()));
        let output = split(usize::MAX >> 1, text.as_bytes().chunks(1));
        let least = output.pieces.len().min(1);
        assert_eq!(least, pieces, "{start} {unit}");
    }
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn an_overlong_line_is_skipped_and_not_held() {
    let limits = Limits { document_bytes: 10, ..Limits::default() };
    let mut splitter = Splitter::new(&limits);
    let mut kinds = Vec::new();
    let mut sink = |piece: Piece<'_>| -> Result<(), FileFault> {
        kinds.push((piece.line, piece.bytes.err().map(|error| error.kind)));
        Ok(())
    };
    splitter.push(b"{}\n", &mut sink).unwrap();
    for _ in 0..100 {
        splitter.push(&[b'x'; 1000], &mut sink).unwrap();
        assert!(splitter.held_bytes() <= splitter.limit);
    }
    splitter.push(b"\n{}\n", &mut sink).unwrap();
    splitter.finish(&mut sink).unwrap();
    assert_eq!(kinds, [(1, None), (2, Some(ErrorKind::DocumentTooLarge)), (3, None)]);
}

/// Files of every layout, well-formed and malformed.
const FILES: [&str; 62] = [
    "",
    " \r\n\t",
    "{\"id\":\"a\"}\n\n {\"id\":\"b\"} \r\n{\"id\":\"é\"}",
    "\n[{\"id\":\"a\",\"x\":[{},[\"]\"]]} , {\"id\":\"b\"}\n,\n\"\\\\\" ]\n",
    "[]",
    " [ ] ",
    "[",
    "[ ",
    "[,]",
    "[1,",
    "[1,]",
    "[1,\n]",
    "[1 2 , 3]",
    "[1]]",
    "[1] x",
    "[1]\n\n é\n",
    "[{\"id\":\"a}\n,{\"id\":\"b\"}]",
    "[{\"id\":oops},{\"id\":\"b\"}}]",
    "[\"\\\"]\",\"\\\\\",\"\\\n\",1]",
    "[\"a\\",
    "{\"list\":{\"items\":[{\"id\":\"a\"},\n{\"id\":\"é\"}],\"totalItems\":2,\"pageInfo\":{\"limit\":1}}}",
    "{\"list\":{\"items\":[{\"id\":\"a\"}]}}\n\n ",
    "{\"list\":{\"items\":[{\"id\":\"a\"}]},\"id\":\"b\"}\n{\"id\":\"c\"}",
    "{\n \"code\":1,\n \"list\": {\n \"totalItems\":1,\n \"items\":[\n{\"id\":\"a\"}\n ]\n }\n}\n",
    "{\"code\":\"\\ud83d\\ude00\",\n\"is\":true,\"list\":{\"items\":[1,2]}}",
    "{\"list\":{\"items\":[1],\"total\":1,\n\"items\":[2]}}",
    "{\"list\":{\"items\":[1],\"list\":3},\n\"list\":{\"items\":[2]}}",
    "{\"list\":{\"items\":[1],\"list\":3},\"items\":[2]}",
    "{\"list\":{\"items\":[1]}",
    "{\"list\":{\"items\":[1]}}}\n",
    "{\"list\":\n{\"items\":[1]}}\n{\"id\":\"a\"}",
    "{\"list\":\n{\"items\":[1]\n,\"a\":\"\\ud83d\"}}",
    "{\"list\":\n{\"items\":7}}\n{\"id\":\"a\"}",
    "{\"list\":{},\"list\":{\"items\":[1]}}",
    "{\"id\":\"a\"\n{\"id\":\"b\"}",
    "{\"id\":\"a\",\n\n  {\"id\":\"b\"}",
    "{\n  \"id\": \"a\"\n}\n",
    "{\n  \"id\": \"a\"\n",
    "{\n  \"id\": tru\n}\n{\"id\":\"b\"}",
    "{\n  \"é\": \"\\ud83d\\u0041\"\n}\n",
    "{",
    "{\n",
    "oops\n{\"id\":\"b\"}",
    "\u{c}[1]",
    "{\n  \"id\": \"a\"\n}\n{\n  \"id\": \"é\",\n  \"x\": [\n    \"}\"\n  ]\n}\n",
    "{\n\"id\":\"a\"}{\"id\":\"b\"} [1]\n\n{\"id\":\"c\"\n}",
    "{\n\"id\":\"a\"}\noops\n,{\n\"id\":\"b\"}} x {\"id\":\"c\"}",
    "{\n\"id\":\"a\"}\n{\n\"id\":\"b}\n",
    "{\n\"id\":oops,\n\"x\":{}\n}\n{\"id\":\"b\"}\n",
    "{\n\"list\":[{\"id\":\"a\"}]\n}",
    "{\n\"items\":[{\"id\":\"a\"}]\n}",
    "{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"}]}\n{\"id\":\"c\"}",
    "{\"id\":\"a\",\"t\":[\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n",
    "{\"list\":{\"items\":[1]}}\n{\"list\":{\"items\":[2,3],\"totalItems\":3}}\n\n{\"list\":{\"items\":[]}}\n",
    "{\n\"list\":{\n\"items\":[1\n]\n}\n}\n{\n\"list\":{\n\"items\":[\n2\n]\n}\n}\n",
    "[1][2]\n[3]\n{\"list\":{\"items\":[4]}}[5]",
    "[1]{\"id\":\"a\"}",
    "[1]\n{\"code\":401,\n\"description\":\"no\"}",
    "[1]{\"list\":{\"items\":7}} [2]",
    "[1]{\"list\":{\"items\":[2",
    "[1]{\"lis",
    "{\"list\":{\"items\":[1]}]}{\"list\":{\"items\":[2]}}",
];

/// Returns every file of [`FILES`] and its variants: with a byte-order mark, with a byte that is not UTF-8, and cut off at every
/// position.
fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for file in FILES {
        files.push(file.as_bytes().to_vec());
        files.push([BYTE_ORDER_MARK, file.as_bytes()].concat());
        for at in 0..file.len() {
            files.push(file.as_bytes()[..at].to_vec());
            let mut broken = file.as_bytes().to_vec();
            broken.insert(at, 0xff);
            files.push(broken);
        }
    }
    for start in 0..=BYTE_ORDER_MARK.len() {
        let start = &BYTE_ORDER_MARK[..start];
        files.push(start.to_vec());
        files.push([start, b"{}"].concat());
        files.push([start, BYTE_ORDER_MARK, b"[1]"].concat());
        files.push([b" ", start, b"[1]"].concat());
    }
    files
}

#[test]
fn two_chunks_split_at_any_position_give_the_same_output() {
    for file in files() {
        let whole = whole::split(&file, LIMIT);
        let shown = String::from_utf8_lossy(&file);
        assert_eq!(split(LIMIT, [&*file]), whole, "{shown:?}");
        assert_eq!(split(LIMIT, file.chunks(1)), whole, "{shown:?} in single bytes");
        for at in 0..file.len() {
            let (start, end) = file.split_at(at);
            assert_eq!(split(LIMIT, [start, end]), whole, "{shown:?} cut at {at}");
        }
    }
}

#[test]
fn chunks_do_not_change_the_output_of_files_with_parts_that_are_too_long() {
    for file in files() {
        for limit in [1, 2, 3, 5, 8, 13, 14, 15, 21, 34, 55] {
            let whole = split(limit, [&*file]);
            let shown = String::from_utf8_lossy(&file);
            assert_eq!(split(limit, file.chunks(1)), whole, "{shown:?} in single bytes, {limit}");
            for at in 0..file.len() {
                let (start, end) = file.split_at(at);
                assert_eq!(split(limit, [start, end]), whole, "{shown:?} cut at {at}, {limit}");
            }
            if !whole.is_limited() {
                assert_eq!(whole, whole::split(&file, limit), "{shown:?}, {limit}");
            }
        }
    }
}

/// Fragments of files.
const PIECES: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\r\n",
    "          ",
    "\"",
    "\\",
    "\\\"",
    "\\ud83d",
    "\\ude00",
    "\u{feff}",
    "é",
    "\u{c}",
    "nul",
    "true",
    "-1.5e3",
    "\"id\"",
    "\"a\"",
    "\"items\"",
    "\"list\"",
    "{\"id\":\"a\"}",
    "{\"id\":\"a\"},",
    "{\"list\":{",
    "\"items\":[",
    "]}}",
    "{\n\"id\":\"a\"\n}",
    "{\"list\":{\"items\":[1]}}",
    "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
    "[[[]]]",
];

/// Generates fragments of files among random bytes, or a file into which a few fragments were inserted.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), 0..6_usize, piece.clone()), 0..5);
    let edited = (select(&FILES[..]), edits).prop_map(|(file, edits)| {
        let mut bytes = file.as_bytes().to_vec();
        for (at, length, piece) in edits {
            let at = at.index(bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, piece);
        }
        bytes
    });
    let row = (
        select(&["", "[", "{", "{\n", "{\n\"id\":\"a\"\n}", "[1]", "{\"list\":{\"items\":["][..]),
        proptest::collection::vec(piece, 0..40),
    )
        .prop_map(|(start, pieces)| [start.as_bytes(), &pieces.concat()].concat());
    prop_oneof![edited, row]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn chunks_do_not_change_the_output_of_random_files(
        file in soup(),
        limit in 1_usize..120,
        sizes in proptest::collection::vec(1_usize..30, 1..20),
    ) {
        let chunks = || {
            let (mut rest, mut sizes) = (&*file, sizes.iter().cycle());
            std::iter::from_fn(move || {
                let (chunk, after) = rest.split_at(rest.len().min(*sizes.next()?));
                rest = after;
                (!chunk.is_empty()).then_some(chunk)
            })
        };
        let whole = whole::split(&file, LIMIT);
        prop_assert_eq!(&split(LIMIT, [&*file]), &whole);
        prop_assert_eq!(&split(LIMIT, chunks()), &whole);
        let limited = split(limit, [&*file]);
        prop_assert_eq!(&split(limit, chunks()), &limited);
        if !limited.is_limited() {
            let whole = whole::split(&file, limit);
            let position = |output: &Output| output.fault.as_ref().map(|(line, error)| (*line, error.kind, error.offset));
            prop_assert_eq!(&limited.pieces, &whole.pieces);
            // After an array, the splitter does not read past the limit.
            let is_seen = whole.fault.as_ref().is_none_or(|(_, error)| error.kind != ErrorKind::NotUtf8);
            if is_seen {
                prop_assert_eq!(position(&limited), position(&whole));
            } else {
                prop_assert!(limited.fault.is_some());
            }
        }
    }
}

#[test]
fn held_bytes_are_bounded_wherever_a_file_is_long() {
    let limit = 10_000;
    let (spaces, xs, ones) = (" \n".repeat(50_000), "x".repeat(100_000), "1,".repeat(50_000));
    let too_large = Some(ErrorKind::DocumentTooLarge);
    for (file, pieces, element, fault) in [
        (format!("{spaces}[{spaces}1{spaces},{spaces}2{spaces}]{spaces}"), 2, None, None),
        (format!("[{{\"id\":\"{xs}\"}},2]"), 2, too_large, None),
        (format!("[1,{{\"id\":[{ones}1]}},2]"), 3, too_large, None),
        (format!("[1,{{\"id\":{spaces}1}},2]"), 3, too_large, None),
        (format!("[{xs}"), 1, too_large, Some(ErrorKind::Syntax)),
        (
            format!("{{\"list\":{{\"items\":[{spaces}{ones}{{\"a\":\"{xs}\"}}]}}}}{spaces}"),
            50_001,
            too_large,
            None,
        ),
        (format!("{{\n\"list\":{{\"items\":[{ones}1]}}}}"), 50_001, None, None),
        (format!("[1]{spaces}{xs}{spaces}"), 1, None, Some(ErrorKind::Syntax)),
        (format!("{{\n\"list\":{{\"items\":[1]{spaces},\"a\":\"{xs}\"}}}}"), 1, None, too_large),
        (
            format!("{{\n\"list\":{{\"items\":[1],\"items\":[{ones}1]}}}}"),
            1,
            None,
            Some(ErrorKind::DuplicateKey),
        ),
        (format!("{{\n\"a\":\"{xs}\"}}"), 0, None, too_large),
        (format!("{{\n\"a\":[{ones}1]}}"), 0, None, too_large),
        (format!("{{{spaces}\"list\":{{\"items\":[1]}}}}"), 0, None, too_large),
        (format!("{{\n\"id\":1,\"a\":\"{xs}\"}}{{\"id\":2}}"), 2, too_large, None),
        (format!("{{\n\"id\":1}}{spaces}{{\n\"a\":\"{xs}\"}}{{\"id\":2}}"), 3, too_large, None),
        (format!("{{\n\"id\":1}}{xs}\n{{\"id\":2}}"), 3, too_large, None),
        (format!("[1]{spaces}{{{spaces}\"list\":{{\"items\":[1]}}}}"), 1, None, too_large),
        (format!("[1]{{\"list\":{{\"items\":[{ones}1]{spaces}}}}}[2]"), 50_003, None, None),
        (format!("{{\"a\":\"{xs}\"}}\n1"), 2, too_large, None),
    ] {
        let outcomes = [1, 1000, file.len()].map(|chunk| split(limit, file.as_bytes().chunks(chunk)));
        let start = file.split_at(20).0;
        let [output, ..] = &outcomes;
        assert_eq!(output.pieces.len(), pieces, "{start}");
        let errors = output.pieces.iter().filter_map(|(_, bytes)| bytes.as_ref().err());
        assert_eq!(errors.map(|error| error.kind).next(), element, "{start}");
        assert_eq!(output.fault.as_ref().map(|(_, error)| error.kind), fault, "{start}");
        assert!(outcomes.iter().all(|outcome| outcome == output), "{start}");
    }
}

#[test]
fn elements_are_passed_on_as_they_end() {
    let mut splitter = splitter(LIMIT);
    let mut output = Output::default();
    let file = b"{\n\"list\":{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"} , {\"id\":\"c";
    splitter.push(file, &mut |piece: Piece<'_>| output.piece(piece)).unwrap();
    assert_eq!((output.pieces.len(), splitter.held_bytes()), (2, 8));
}
