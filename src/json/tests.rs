//! Tests of the JSON reader and of paths in JSON. Some tests compare the reader with `serde_json`.

use super::*;

fn skips(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip_value().and_then(|()| reader.end()).is_ok()
}

#[test]
fn text_is_distinguished_from_other_bytes_at_every_length() {
    for len in [0, 1, 2, 63, 64, 65, 254, 255, 256, 257, 600] {
        let sound = "x".repeat(len % 2) + &"é".repeat(len / 2);
        assert_eq!(text(sound.as_bytes()), Ok(&*sound));
        for at in [0, len / 3, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
            let mut bytes = vec![b'x'; len];
            bytes[at] = 0xff;
            assert_eq!(text(&bytes), Err(at), "{len} bytes");
        }
    }
}

#[test]
fn accepts_what_serde_json_accepts() {
    for text in [
        "null",
        "true",
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        "{\"a\":[{\"b\":null}],\"c\":\"\\u00e9\\n\"}",
        "-0.5e+7",
        "0",
        "\"\\ud83d\\ude00\"",
        "",
        "{",
        "[",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "nul",
        "tru",
        "[1 2]",
        "\"\u{1}\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"",
        "1 2",
        "{\"a\":1 \"b\":2}",
        "[,1]",
        "{,}",
        "NaN",
        "'a'",
        "\u{feff}[]",
        "\u{a0}1",
        "[[[]]]",
        "]",
        "}",
        "1e",
        "--1",
        "[1}",
        "{\"a\":1]",
        "\"\\/\"",
    ] {
        // `from_str::<IgnoredAny>` accepts lone surrogates. These texts do not contain lone surrogates.
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        assert_eq!(skips(text), theirs, "{text}");
    }
}

#[test]
fn plain_bytes_end_at_the_first_byte_that_is_not_plain() {
    for len in 0..40 {
        for end in [b'"', b'\\', 0, 0x1f] {
            for fill in [b'a', 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                let mut bytes = vec![fill; len];
                assert_eq!(plain_len(&bytes), len);
                bytes.push(end);
                bytes.extend([b'"'; 9]);
                assert_eq!(plain_len(&bytes), len, "{fill} before {end}");
            }
        }
    }
}

#[test]
fn lone_surrogates_are_rejected() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\u0041""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
    ] {
        assert!(!skips(text), "{text}");
    }
    assert_eq!(Reader::new(r#""\ud83d\ude00""#).string().unwrap(), "😀");
}

#[test]
fn nesting_takes_bits_and_no_call_stack() {
    let deep = 1_000_000;
    let text = "[".repeat(deep) + &"]".repeat(deep);
    assert!(skips(&text));
    assert!(!skips(&"{\"a\":[".repeat(deep)));
}

/// Checks the path of every offset of `text`. `marks` has one digit for each character of `text`, and one digit for the end of
/// `text`. Each digit is an index into `paths`.
#[track_caller]
fn paths(text: &str, marks: &str, paths: &[&str]) {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let expected: Vec<&str> = marks.chars().map(|mark| paths[mark.to_digit(36).unwrap() as usize]).collect();
    assert_eq!(paths_at(text, &offsets), expected, "{text}");
    for (offset, path) in offsets.iter().zip(&expected) {
        assert_eq!(paths_at(text, &[*offset]), [*path], "{text} at {offset}");
    }
}

#[test]
fn every_byte_has_the_path_of_the_member_or_element_around_it() {
    paths("[1, [2]]", "010023200", &["", "[0]", "[1]", "[1][0]"]);
    paths(
        r#" {"a" : {"b":[1,"x",{}]} , "c":null}"#,
        concat!("00", "1111111", "22222", "3", "2", "444", "2", "55", "2", "1", "000", "66666666", "0", "0"),
        &["", "a", "a.b", "a.b[0]", "a.b[1]", "a.b[2]", "c"],
    );
    paths(" 1 ", "0000", &[""]);
    paths("[]", "000", &[""]);
    paths("{}", "000", &[""]);
    paths("", "0", &[""]);
    paths(r#"{"é.`":1}"#, "0111111100", &["", "é.`"]);
}

#[test]
fn offsets_after_a_syntax_error_have_the_path_that_is_open_there() {
    let names = ["", "ids", "ids[0]", "ids[1]"];
    paths(r#"{"ids":[1,"#, "01111111211", &names);
    paths(r#"{"ids":[1,x y"#, "01111111213333", &names);
    paths(r#"{"ids":[1,]]"#, "0111111121111", &names);
    paths(r#"{"ids":[1 2]"#, "0111111121111", &names);
    paths(r#"{"ids":["a"#, "01111111222", &names);
    paths(r#"{"ids":[,"#, "0111111122", &names);
    paths(r#"{"ids" 1}"#, "0111111111", &names);
    paths(r#"{"ids":}"#, "011111111", &names);
    paths(r#"{"ids":nul"#, "01111111111", &names);
    paths(r#"{"ids":1 "x":2}"#, "0111111100000000", &names);
    paths(r#"{"ids":1,}"#, "01111111000", &names);
    paths(r#"{"ids"#, "000000", &names);
    paths("{ids:1}", "00000000", &names);
    paths("[1]x", "01000", &["", "[0]"]);
    paths("x", "00", &names);
}

#[test]
fn offsets_may_repeat_and_be_after_the_end() {
    assert_eq!(paths_at("[1,2]", &[1, 1, 3, 3, 9, 9]), ["[0]", "[0]", "[1]", "[1]", "", ""]);
    assert_eq!(paths_at("[1,2", &[9]), [""]);
    assert_eq!(paths_at("[\"2", &[usize::MAX]), ["[0]"]);
    assert_eq!(paths_at("[]", &[]), Vec::<String>::new());
}

#[test]
fn long_paths_are_clipped() {
    let deep = 1_000_000;
    let text = "[".repeat(deep) + "0" + &"]".repeat(deep);
    let [inner, outer] = &*paths_at(&text, &[deep, 2 * deep]) else { panic!() };
    assert!(inner.starts_with("[0][0]") && inner.ends_with("[0]…") && inner.len() < 2020, "{inner}");
    assert_eq!(outer, "");
    let text = "{\"\":".repeat(deep);
    let path = paths_at(&text, &[text.len()]).pop().unwrap();
    assert!(path.len() < 2020, "{path}");
    let keys = format!("{{\"{}\":[1]}}", "k".repeat(5000));
    assert_eq!(paths_at(&keys, &[5004]).pop().unwrap(), format!("{}…", "k".repeat(60)));
}
