//! Tests of the layouts of files, and of what is reported about them.

use super::*;

/// Returns the messages of all errors of a file.
fn messages(file: &str) -> Vec<String> {
    let output = split(LIMIT, [file.as_bytes()]);
    let errors = output.pieces.into_iter().filter_map(|(line, bytes)| Some((line, bytes.err()?)));
    errors.chain(output.fault).map(|(line, error)| format!("{line} {error}")).collect()
}

#[test]
fn a_missing_element_is_reported_with_the_byte_in_its_place() {
    assert_eq!(messages("[1,\n]"), ["2 (byte 0): found `]`, expected a JSON value"]);
    assert_eq!(messages("[,1]"), ["1 (byte 0): found `,`, expected a JSON value"]);
    assert_eq!(messages("[]"), [""; 0]);
}

#[test]
fn a_first_line_that_is_cut_off_spares_the_next_lines() {
    let expected = ["1 (byte 15): found the end of the line, expected the rest of the document"];
    assert_eq!(messages("{\"id\":\"a\",\"t\":[\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n"), expected);
    check(
        "{\"id\":\"a\",\"t\":[\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n",
        &[(1, "syntax"), (2, "{\"id\":\"b\"}"), (3, "{\"id\":\"c\"}")],
        None,
    );
    // If no further text can complete a document, the document was not cut off, but is malformed.
    assert_eq!(messages("{\"id\":\"a\"\n{\"id\":\"b\"}"), [""; 0]);
}

#[test]
fn documents_over_several_lines_follow_one_another() {
    let text = "\n{\n  \"id\": \"a\",\n  \"x\": {\"y\": [\"}\", \"\\\"\"]}\n}\n{\n  \"id\": \"b\"\n}{\"id\":\"c\"}\n\n[\n1]\n";
    let expected = [
        (2, "{\n  \"id\": \"a\",\n  \"x\": {\"y\": [\"}\", \"\\\"\"]}\n}"),
        (6, "{\n  \"id\": \"b\"\n}"),
        (8, "{\"id\":\"c\"}"),
        (10, "[\n1]"),
    ];
    check(text, &expected, None);
    check(
        &text.replace('\n', "\r\n"),
        &expected
            .map(|(line, text)| (line, text.replace('\n', "\r\n")))
            .each_ref()
            .map(|(line, text)| (*line, text.as_str())),
        None,
    );
    check("{\n\"id\":\"a\"}", &[(1, "{\n\"id\":\"a\"}")], None);
}

#[test]
fn a_malformed_document_over_several_lines_spares_the_others() {
    let (a, b) = ("{\n  \"id\": \"a\"\n}", "{\n  \"id\": \"b\"\n}");
    for bad in
        ["{\n  \"id\": oops,\n  \"x\": 1\n}", "{\n  \"id\": \"c\n}", "{\n  \"id\" \"c\"\n}", "oops", ","]
    {
        check(&format!("{a}\n{bad}\n{b}\n"), &[(1, a), (4, bad), (4 + bad.lines().count() as u64, b)], None);
        if bad.starts_with('{') {
            check(&format!("{bad}\n{a}\n"), &[(1, bad), (1 + bad.lines().count() as u64, a)], None);
        }
    }
    check(&format!("{a}\n{{\n \"id\": 1"), &[(1, a), (4, "{\n \"id\": 1")], None);
    check(&format!("{a}}}\n}}{b}"), &[(1, a), (3, "}"), (4, "}"), (4, b)], None);
}

#[test]
fn arrays_and_answers_follow_one_another() {
    let expected = [(1, "1"), (2, "2"), (2, "3"), (3, "4"), (5, "5")];
    check(
        "[1]\n{\"list\":{\"items\":[2,3],\"totalItems\":2}}\n[4][]\n{\"code\":{},\n\"list\":{\"items\":[5]}}",
        &expected,
        None,
    );
    check("[1]\n{\"id\":\"a\"}\n", &[(1, "1")], Some(2));
    check("[1]\n\n{\n\"code\":401}\n[2]", &[(1, "1")], Some(3));
    check("{\"list\":{\"items\":[1]}} x", &[(1, "1")], Some(1));
    let stray =
        ["1 (byte 4): found `x`, expected another array, another search answer or the end of the file"];
    assert_eq!(messages("[1] x"), stray);
    let object = [
        "2 (byte 4): found an object that is not a search answer, expected another array, another search answer or the end of the file",
    ];
    assert_eq!(messages("[1]\n{\"id\":\"a\"}"), object);
}

#[test]
fn very_many_answers_take_linear_time_and_little_memory() {
    let begin = std::time::Instant::now();
    let answer = "{\"list\":{\"items\":[1]}}";
    for between in ["", "\n", " \n\n "] {
        let text = format!("{answer}{between}").repeat(200_000);
        for chunk in [1, 1000, 1 << 16, text.len()] {
            let output = split(LIMIT, text.as_bytes().chunks(chunk));
            assert_eq!(
                (output.pieces.len(), output.fault),
                (200_000, None),
                "{between:?} in chunks of {chunk}"
            );
        }
    }
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn documents_of_another_encoding_are_a_fault_of_the_file() {
    let text = "{\"id\":\"a\"}\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe], little.as_slice()].concat();
    for (file, name) in [(little, "UTF-16 without a byte-order mark"), (marked, "UTF-16")] {
        for chunk in [1, 2, 3, file.len()] {
            let output = split(LIMIT, file.chunks(chunk));
            let (line, error) = output.fault.unwrap();
            let found = error.found.to_string();
            assert_eq!((line, found, output.pieces.len()), (1, format!("text in {name}"), 0));
        }
    }
}

#[test]
fn an_envelope_that_is_too_long_is_reported_as_an_envelope() {
    let cases = vec!["{\"id\":\"a\"}"; 1000].join(",");
    for (text, name) in [
        (format!("{{\"code\":1,\"data\":[{cases}]}}"), "data"),
        (format!("{{\n\"items\":[{cases}]}}"), "items"),
        (format!("{{\"list\":[{cases}]}}"), "list"),
    ] {
        let output = split(1000, [text.as_bytes()]);
        let errors = output.pieces.into_iter().filter_map(|(_, bytes)| bytes.err());
        let error = errors.chain(output.fault.map(|(_, error)| error)).next().unwrap();
        assert_eq!(error.kind, ErrorKind::DocumentTooLarge);
        assert_eq!(
            error.expected,
            format!("a document; extract the documents in `{name}` with `jq -c '.{name}[]'`")
        );
    }
}

#[test]
fn one_byte_order_mark_is_skipped() {
    check("\u{feff}{\"id\":\"a\"}\n{\"id\":\"b\"}", &[(1, "{\"id\":\"a\"}"), (2, "{\"id\":\"b\"}")], None);
    check("\u{feff}\n[1,\n2]", &[(2, "1"), (3, "2")], None);
    check("\u{feff}", &[], None);
    check("\u{feff}\u{feff}{}", &[(1, "\u{feff}{}")], None);
    check("\n\u{feff}{}", &[(2, "\u{feff}{}")], None);
    check("{}\n\u{feff}{}", &[(1, "{}"), (2, "\u{feff}{}")], None);
}
