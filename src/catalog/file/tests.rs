//! Tests of catalogue files: reading TOML and JSON, errors with their offsets and suggestions, and writing.

use super::*;
use crate::catalog::{Field, FieldType, TimestampForm};
use crate::error::Error;

#[cfg(feature = "toml")]
const ORDERS: &str = r#"
# Orders of a shop.
rfc3339 = true
extended_operators = true

[[fields]]
path = "state"
type = "string"
known = ["placed", "paid", "sent"]
default = "placed"
aliases = ["status"]

[[fields]]
path = "placed"
type = "timestamp"
form = "unix_seconds"

[[fields]]
path = "changed"
type = "timestamp"

[[fields]]
path = "customer.number"
type = "integer"

[[fields]]
path = "reference"
type = "string"
key = true
searchable = true

[[fields]]
path = "items[].sku"
type = "string"
hidden = true
"#;

fn orders() -> Catalog {
    let fields = [
        Field::new("state", FieldType::String)
            .with_known(["placed", "paid", "sent"])
            .with_default("placed")
            .with_alias("status"),
        Field::new("placed", FieldType::Timestamp).with_form(TimestampForm::UnixSeconds),
        Field::new("changed", FieldType::Timestamp).with_form(TimestampForm::InterfaceOrRfc3339),
        Field::new("customer.number", FieldType::Integer),
        Field::new("reference", FieldType::String).key().searchable(),
        Field::new("items[].sku", FieldType::String),
    ];
    let all = Catalog::new(fields).unwrap().extended();
    all.allow(["id", "state", "placed", "changed", "customer.number", "reference"]).unwrap()
}

#[cfg(feature = "toml")]
#[test]
fn every_key_has_its_effect_in_both_syntaxes() {
    let read = Catalog::from_toml(ORDERS).unwrap();
    assert!(read.is_extended() && read == orders());
    let json = Catalog::from_json(read.to_json()).unwrap();
    assert!(json.is_extended() && json == read);
    // The file is a list. Some keys are null, and some flags have their default.
    let list = r#"[{"path": "a", "type": "number", "form": null, "key": false, "known": []}, {"path": "id", "type": "string"}]"#;
    assert_eq!(
        Catalog::from_json(list).unwrap(),
        Catalog::new([Field::new("a", FieldType::Number)]).unwrap()
    );
}

#[test]
fn a_written_catalogue_is_read_again() {
    let cases = Catalog::cases();
    let odd = Catalog::new([Field::new("a\"\u{7}.b[][]", FieldType::Boolean).with_alias("ü \\")]).unwrap();
    for catalog in [orders(), cases.allow([]).unwrap(), cases.with_rfc3339(), cases, odd] {
        let read = Catalog::from_json(catalog.to_json()).unwrap();
        assert!(read == catalog && read.is_extended() == catalog.is_extended(), "{catalog:?}");
    }
}

#[test]
fn a_file_that_extends_the_cases_grows_them() {
    let grown =
        Catalog::from_json(r#"{"extends":"cases","fields":[{"path":"risk","type":"integer"}]}"#).unwrap();
    assert!(Catalog::cases().is_within(&grown));
    assert_eq!(grown.fields().len(), Catalog::cases().fields().len() + 1);
    assert_eq!(Catalog::from_json(r#"{"extends":"cases"}"#).unwrap(), Catalog::cases());
    let own = Catalog::from_json(r#"{"extends":"cases","rfc3339":true}"#).unwrap();
    assert_eq!(own, Catalog::cases().with_rfc3339());
}

fn json_errors(text: &str) -> Vec<Error> {
    Catalog::from_json(text).unwrap_err().into_iter().collect()
}

/// Checks that a text has exactly one error, at the position of the mark `|`. The mark is removed before the text is read.
#[track_caller]
fn check(marked: &str, path: &str, message: &str) {
    let at = marked.find('|').unwrap();
    let text = marked.replacen('|', "", 1);
    let errors = json_errors(&text);
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{text}: {shown:?}");
    let error = &errors[0];
    assert_eq!((error.offset, error.path.as_str()), (at, path), "{text}: {shown:?}");
    assert_eq!(error.message(), message, "{text}");
}

#[test]
fn every_fault_is_reported_at_its_place() {
    let types = "one of `string`, `number`, `integer`, `decimal`, `timestamp`, `boolean`";
    let field_keys = "one of `path`, `type`, `scale`, `form`, `known`, `default`, `aliases`, `key`, `searchable`, `hidden`";
    for (text, path, message) in [
        ("|7", "", "found the number `7`, expected an object with `fields`, or a list of fields"),
        (
            "|{}",
            "",
            "found no fields, expected `fields`, a list with each field's `path` and `type`, or `extends = \"cases\"`",
        ),
        (
            r#"{|"field":[],"fields":[]}"#,
            "",
            "found the key `field`, expected one of `extends`, `extended_operators`, `rfc3339`, `fields`, `id`; did you mean `fields`?",
        ),
        (
            r#"{|"extended":true,"fields":[]}"#,
            "",
            "found the key `extended`, expected one of `extends`, `extended_operators`, `rfc3339`, `fields`, `id`; did you mean `extended_operators`?",
        ),
        (
            r#"{"extends":|"case"}"#,
            "extends",
            "found `case`, expected `cases`, the only catalogue that a file can extend; did you mean `cases`?",
        ),
        (
            r#"{"extends":"cases","rfc3339":|"yes"}"#,
            "rfc3339",
            "found the string `yes`, expected `true` or `false`, without quotes",
        ),
        (r#"{"fields":[],|"fields":[]}"#, "fields", "found a second `fields`, expected each key once"),
        (
            r#"{"fields":|{"total":"number"}}"#,
            "fields",
            "found a table of keys, expected a list of fields: `[[fields]]` before each one in TOML, `[{…}, {…}]` in JSON",
        ),
        (
            r#"[|"total"]"#,
            "fields[0]",
            "found the string `total`, expected a field with `path` and `type`; did you mean `{\"path\": \"total\", \"type\": \"string\"}`?",
        ),
        (
            r#"[|{"path":"a"}]"#,
            "fields[0]",
            "found a field without `type`, expected `type`, which every field has",
        ),
        (
            r#"[{"path":"a","type":|"nubmer"}]"#,
            "fields[0].type",
            &format!("found `nubmer`, expected {types}; did you mean `number`?"),
        ),
        (
            r#"[{"path":"a","type":|"money"}]"#,
            "fields[0].type",
            &format!(
                "found `money`, expected {types}; did you mean `decimal`, with `scale`, the count of digits after the point?"
            ),
        ),
        (
            r#"[{"path":"a","type":|"decimal"}]"#,
            "fields[0].type",
            "found a decimal field without `scale`, expected `scale`, the count of digits after the point, such as 2",
        ),
        (
            r#"[{"path":"a","type":"decimal","scale":|19}]"#,
            "fields[0].scale",
            "found the number `19`, expected the count of digits after the point, an integer from 0 to 18",
        ),
        (
            r#"[{"path":"a","type":"decimal","scale":|"2"}]"#,
            "fields[0].scale",
            "found the string `2`, expected the count of digits after the point, an integer from 0 to 18",
        ),
        (
            r#"[{"path":"a","type":"number","scale":|2}]"#,
            "fields[0].scale",
            "found `scale` of `a`, a number field, expected `scale` only for decimal fields",
        ),
        (
            r#"[{"path":"a","type":"decimal","scale":2,"default":|"0.005"}]"#,
            "fields[0].default",
            "found `0.005`, expected a number with at most 2 digits after the point, from -92233720368547758.08 to 92233720368547758.07",
        ),
        (
            r#"[{"path":"a","type":|"varchar"}]"#,
            "fields[0].type",
            &format!("found `varchar`, expected {types}; did you mean `string`?"),
        ),
        (
            r#"[{"path":"a","type":|"date"}]"#,
            "fields[0].type",
            &format!(
                "found `date`, expected {types}; did you mean `timestamp`, with `form = \"date\"` if documents have no time of day?"
            ),
        ),
        (
            r#"[{"path":"a","type":|"string[]"}]"#,
            "fields[0].type",
            &format!(
                "found `string[]`, expected {types}; did you mean `string`, with `[]` after the key in `path`, for a multi-valued field?"
            ),
        ),
        (
            r#"[{"path":"a","type":"timestamp","form":|"iso8601"}]"#,
            "fields[0].form",
            "found `iso8601`, expected one of `interface`, `rfc3339`, `interface_or_rfc3339`, `date`, `unix_seconds`, `unix_millis`; did you mean `rfc3339`?",
        ),
        (
            r#"[{"path":"a","type":"string",|"enum":["x"]}]"#,
            "fields[0]",
            &format!("found the key `enum`, expected {field_keys}; did you mean `known`?"),
        ),
        (
            r#"[{"path":"a","type":"string",|"knwon":["x"]}]"#,
            "fields[0]",
            &format!("found the key `knwon`, expected {field_keys}; did you mean `known`?"),
        ),
        (
            r#"[{|"name":"a","type":"string"}]"#,
            "fields[0]",
            &format!("found the key `name`, expected {field_keys}; did you mean `path`?"),
        ),
        (
            r#"[{"path":"a","type":"string","known":|"x"}]"#,
            "fields[0].known",
            "found the string `x`, expected a list of known values, such as `[\"low\", \"high\"]`; did you mean `[\"x\"]`?",
        ),
        (
            r#"[{"path":"a","type":"string","known":["x",|7]}]"#,
            "fields[0].known[1]",
            "found the number `7`, expected a string in quotes",
        ),
        (
            r#"[{"path":"a","type":"string","known":["x",|"x"]}]"#,
            "fields[0].known[1]",
            "found a second `x`, expected each value once",
        ),
        (
            r#"[{"path":"a","type":"number","default":|0}]"#,
            "fields[0].default",
            "found the number `0`, expected a value in quotes",
        ),
        (
            r#"[{"path":"a[].b","type":"string","default":|"x"}]"#,
            "fields[0].default",
            "found `default` of `a.b`, a multi-valued string field, expected `default` only for fields outside arrays of objects",
        ),
        (
            r#"[{"path":"a","type":"integer","default":|"1.5"}]"#,
            "fields[0].default",
            "found `1.5`, expected an integer of 64 bits such as `12` or `-5`",
        ),
        (
            r#"[{"path":"a","type":"number","known":["1","2"],"default":|"3"}]"#,
            "fields[0].default",
            "found `3`, expected one of the known values",
        ),
        (
            r#"[{"path":"a","type":"boolean","known":["true",|"no"]}]"#,
            "fields[0].known[1]",
            "found `no`, expected `true` or `false`",
        ),
        (
            r#"[{"path":"a","type":"number","known":["1.0",|"1"]}]"#,
            "fields[0].known[1]",
            "found `1`, expected each known value once",
        ),
        (
            r#"[{"path":"a","type":"number","form":|"date"}]"#,
            "fields[0].form",
            "found `form` of `a`, a number field, expected `form` only for timestamp fields",
        ),
        (
            r#"[{"path":"a","type":"number","searchable":|true}]"#,
            "fields[0].searchable",
            "found `searchable` of `a`, a number field, expected `searchable` only for string fields",
        ),
        (
            r#"[{"path":"a","type":"number"},{"path":|"a","type":"string"}]"#,
            "fields[1].path",
            "found the name `a`, which is already used, expected a name that no other field has",
        ),
        (
            r#"[{"path":"a","type":"number"},{"path":"b","type":"string","aliases":[|"a"]}]"#,
            "fields[1].aliases",
            "found the name `a`, which is already used, expected a name that no other field has",
        ),
        (
            r#"[{"path":"b","type":"string","aliases":[|"id"]}]"#,
            "fields[0].aliases",
            "found the name `id`, which is already used, expected a name that no other field has",
        ),
        (
            r#"{"extends":"cases","fields":[{"path":"x","type":"string","aliases":[|"status"]}]}"#,
            "fields[0].aliases",
            "found the name `status`, which is already used, expected a name that no field of the cases has",
        ),
        (
            r#"[{"path":"a.b","type":"number"},{"path":|"a[].c","type":"string"}]"#,
            "fields[1].path",
            "found `a[].c`, expected a path that agrees with the path `a.b` of another field: a key holds either a value, an object or an array",
        ),
        (
            r#"[{"path":|"a..b","type":"number"}]"#,
            "fields[0].path",
            "found `a..b`, expected keys joined by dots, `[]` after each key that holds an array, such as `items[].sku`",
        ),
        (
            r#"[{"path":|"id","type":"integer"}]"#,
            "fields[0].path",
            "found `id` as another field, expected a single-valued string field without any setting but `searchable` and `hidden`",
        ),
    ] {
        check(text, path, message);
    }
}

#[test]
fn several_faults_are_reported_in_the_order_of_the_file() {
    let errors = json_errors(
        r#"{"rfc3339":1,"fields":[{"path":"a","type":"strnig"},{"path":"a","type":"string"},{"type":"string"},{"path":"a.b","type":"number"}]}"#,
    );
    let places: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(places, ["rfc3339", "fields[0].type", "fields[2]", "fields[3].path"]);
    let many = format!("[{}]", vec!["1"; 100].join(","));
    assert_eq!(json_errors(&many).len(), 10);
}

#[cfg(feature = "toml")]
#[test]
fn faults_of_toml_are_reported_at_their_place() {
    for (marked, message) in [
        (
            "[[fields]]\npath = |total\ntype = \"number\"",
            "found `total`, expected a value: `true`, `false`, a list, or a string in quotes; did you mean `\"total\"`?",
        ),
        ("[[fields]]\npath = \"a\"\n|path = \"b\"", "found `path`, expected valid TOML ("),
        ("[[fields]]\npath = \"a\"\ntype = |\"int\"", "found `int`, expected one of `string`,"),
        ("[[fields]]\npath = \"a\"\ntype = \"number\"\nkey = |1", "found the number `1`, expected `true`"),
        (
            "[[fields]]\npath = \"a\"\ntype = \"number\"\nkey = |2026-01-01",
            "found the time `2026-01-01`, expected",
        ),
        ("[[|field]]\npath = \"a\"\ntype = \"number\"", "found the key `field`, expected one of"),
    ] {
        let at = marked.find('|').unwrap();
        let errors = Catalog::from_toml(marked.replacen('|', "", 1)).unwrap_err();
        let error = errors.iter().next().unwrap();
        assert_eq!(error.offset, at, "{marked}: {error}");
        assert!(error.message().starts_with(message), "{marked}: {error}");
    }
}

#[test]
fn a_hostile_file_is_refused_in_linear_time() {
    let one = r#"{"path":"a","type":"string"}"#;
    let message = |text: String| {
        let first = Catalog::from_json(&text).unwrap_err().into_iter().next().unwrap();
        #[cfg(feature = "toml")]
        assert!(Catalog::from_toml(&text).is_err());
        first.message()
    };
    let fields = |count: usize, field: &dyn Fn(usize) -> String| {
        format!("[{}]", (0..count).map(field).collect::<Vec<_>>().join(","))
    };
    for (text, expected) in [
        ("[".repeat(1 << 19), "found the end of the text"),
        (format!("[{}", r#"{"path":"#.repeat(100_000)), "found the end of the text"),
        (format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000)), "found a list, expected a field"),
        (
            format!(r#"[{{"path":{}{}}}]"#, "[".repeat(200_000), "]".repeat(200_000)),
            "found a field without `type`",
        ),
        (
            vec![one; 100_000].join(","),
            "found a file of 2899999 bytes, expected a catalogue of at most 1048576",
        ),
        (format!("[{}]", vec![one; 30_000].join(",")), "found 30000 fields, expected at most 4096"),
        (format!("[{}]", vec![one; 4096].join(",")), "found the name `a`, which is already used"),
        (
            fields(4000, &|at| {
                format!(r#"{{"path":"{}{at}","type":"string","x":0}}"#, "aaaaaaaaaaaaaaaaaaaaaaaa")
            }),
            "found the key `x`",
        ),
        (format!(r#"[{{"path":"{}","type":"string"}}]"#, "a.".repeat(400) + "b"), "found a path of 401"),
        (format!(r#"[{{"path":"a{}","type":"string"}}]"#, "[]".repeat(400)), "found a path of 401"),
        (format!(r#"[{{"path":"{}","type":"string"}}]"#, "a".repeat(9999)), "found 9999 bytes"),
        (
            format!(r#"[{{"path":"a","type":"string","known":[{}]}}]"#, vec!["\"v\""; 50_000].join(",")),
            "found 50000 known values, expected at most 1024",
        ),
        (
            fields(4000, &|at| {
                let aliases = ["x", "y", "z"].map(|alias| format!("\"{alias}{at}\""));
                format!(r#"{{"path":"a{at}","type":"string","aliases":[{}]}}"#, aliases.join(","))
            }),
            "found more aliases, expected at most 4096",
        ),
        ("\"".to_owned() + &"\\u0000".repeat(100_000), "found the end of the text"),
    ] {
        let message = message(text);
        assert!(message.starts_with(expected), "{message}");
    }
    // A file that reaches the limits is accepted.
    let most = fields(4096, &|at| format!(r#"{{"path":"aaaaaaaaaa{at:05}aaaaaaaaaaa","type":"string"}}"#));
    assert_eq!(Catalog::from_json(most).unwrap().fields().len(), 4097);
    for bytes in [&b"\xff"[..], b"[\"\xc3\x28\"]"] {
        assert_eq!(Catalog::from_json(bytes).unwrap_err().into_first().kind, ErrorKind::NotUtf8);
    }
}

#[cfg(feature = "toml")]
#[test]
fn hostile_toml_is_refused_in_linear_time() {
    for text in [
        "[".repeat(500_000),
        format!("a = {}", "[".repeat(500_000)),
        format!("a = {}", "{a=".repeat(300_000)),
        format!("{}a = 1", "a.".repeat(400_000)),
        format!("[{}a]", "a.".repeat(400_000)),
        (0..60_000).map(|at| format!("[a{at}]\n")).collect::<String>(),
        (0..30_000).map(|at| format!("[[fields]]\nx{at} = 1\n")).collect::<String>(),
        "[[fields]]\n".repeat(90_000),
        "\"\"\"".to_owned() + &"a".repeat(1_000_000),
        "a = \"".to_owned() + &"\\u0000".repeat(170_000),
        "#".repeat(1 << 20),
    ] {
        assert!(Catalog::from_toml(&text).is_err());
    }
}

#[test]
fn a_file_can_give_the_id_another_name_and_type() {
    use crate::catalog::IdType;
    let fields = r#""fields":[{"path":"state","type":"string"}]"#;
    for (id, name, id_type) in [
        (r#"{"path":"ticketId","type":"integer"}"#, "ticketId", IdType::Integer),
        (r#"{"type":"uuid"}"#, "id", IdType::Uuid),
        (r#"{"path":"key"}"#, "key", IdType::String),
        ("{}", "id", IdType::String),
        ("null", "id", IdType::String),
    ] {
        let catalog = Catalog::from_json(format!(r#"{{{fields},"id":{id}}}"#)).unwrap();
        assert_eq!((catalog.id_name(), catalog.id_type()), (name, id_type));
        assert_eq!(Catalog::from_json(catalog.to_json()).unwrap(), catalog);
    }
    // The file may list the id, to hide it, and may have another field `id`.
    let text = r#"{"id":{"path":"key","type":"integer"},
        "fields":[{"path":"id","type":"boolean"},{"path":"key","type":"string","hidden":true}]}"#;
    let catalog = Catalog::from_json(text).unwrap();
    assert_eq!(catalog.names().collect::<Vec<_>>(), ["id"]);
    assert_eq!(Catalog::from_json(catalog.to_json()).unwrap(), catalog);
}

#[cfg(feature = "toml")]
#[test]
fn the_id_is_a_table_in_toml() {
    let catalog = Catalog::from_toml(
        "[id]\npath = \"ticketId\"\ntype = \"uuid\"\n\n[[fields]]\npath = \"n\"\ntype = \"number\"\n",
    );
    assert_eq!(catalog.unwrap().id_name(), "ticketId");
}

#[test]
fn faults_of_the_id_are_reported_at_their_place() {
    let types = "one of `string`, `integer`, `uuid`";
    let one_key = "one key without `.` and `[]`: the id is a member of the document itself";
    for (text, path, message) in [
        (
            r#"{"fields":[],"id":|"ticketId"}"#,
            "id",
            "found the string `ticketId`, expected a table with `path` and `type`; did you mean `{\"path\": \"ticketId\", \"type\": \"string\"}`?".to_owned(),
        ),
        (
            r#"{"fields":[],"id":{"type":|"guid"}}"#,
            "id.type",
            format!("found `guid`, expected {types}; did you mean `uuid`?"),
        ),
        (
            r#"{"fields":[],"id":{"type":|"number"}}"#,
            "id.type",
            format!("found `number`, expected {types}; did you mean `integer`?"),
        ),
        (
            r#"{"fields":[],"id":{|"name":"x"}}"#,
            "id",
            "found the key `name`, expected one of `path`, `type`; did you mean `path`?".to_owned(),
        ),
        (r#"{"fields":[],"id":{"path":|"a.b"}}"#, "id.path", format!("found `a.b`, expected {one_key}")),
        (r#"{"fields":[],"id":{"path":|"a[]"}}"#, "id.path", format!("found `a[]`, expected {one_key}")),
        (
            r#"{"fields":[],"id":{"path":|7}}"#,
            "id.path",
            "found the number `7`, expected a key such as `ticketId`".to_owned(),
        ),
        (
            r#"{"extends":"cases","id":|{"path":"x"}}"#,
            "id",
            "found `id` beside `extends`, expected no `id`: cases keep the string `id`".to_owned(),
        ),
        (
            r#"{"id":{"path":"n","type":"integer"},"fields":[{"path":|"n","type":"integer"}]}"#,
            "fields[0].path",
            "found `n` as another field, expected a single-valued string field without any setting but `searchable` and `hidden`".to_owned(),
        ),
    ] {
        check(text, path, &message);
    }
}
