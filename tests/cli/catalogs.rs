//! `--catalog`: documents of other shapes, databases that keep their catalogue, and faults in catalogue files.

use std::fs;
use std::path::Path;

use casefilter::{Catalog, Store};

use super::run::{Folder, Run};

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)).unwrap()
}

/// Returns a folder with the orders of the examples and their catalogue.
fn orders() -> Folder {
    let folder = Folder::new();
    for name in ["orders.toml", "orders.ndjson"] {
        folder.write(name, example(name));
    }
    folder
}

fn ids(folder: &Folder, args: &[&str]) -> String {
    let run = folder.run(&[&["search"], args, &["--format", "ids"]].concat()).code(0);
    run.out.lines().collect::<Vec<_>>().join(" ")
}

/// An id in another form selects the same case, and has the same position.
#[test]
fn why_takes_ids_in_every_form() {
    let folder = Folder::new();
    folder.write(
        "ids.toml",
        "id = { path = \"key\", type = \"uuid\" }\n[[fields]]\npath = \"name\"\ntype = \"string\"\n",
    );
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let first = "00000000-0000-0000-0000-000000000000";
    folder.write("cases.ndjson", format!("{{\"key\":\"{first}\"}}\n{{\"key\":\"{uuid}\",\"name\":\"x\"}}\n"));
    folder.run(&["import", "--catalog", "ids.toml", "--db", "cases.db", "cases.ndjson"]).code(0);
    for source in [&["cases.ndjson", "--catalog", "ids.toml"][..], &["cases.db"]] {
        for id in [uuid, &uuid.to_uppercase()] {
            let why =
                folder.run(&[&["why"], source, &["--id", id, "--where", "true"]].concat()).code(0).json();
            assert_eq!(why["page"]["position"], 2, "{source:?}");
        }
    }
}

#[test]
fn documents_of_another_shape_are_searched_by_their_catalogue() {
    let folder = orders();
    let json = Catalog::from_toml(example("orders.toml")).unwrap().to_json();
    folder.write("orders.json", json.replacen('{', "{\"extends\": null, \"rfc3339\": false, ", 1));
    folder.write("orders", json);
    for catalog in ["orders.toml", "orders.json", "orders"] {
        for (text, order, expected) in [
            ("total > 100 and state = paid", "-placed", "o-3 o-1"),
            ("true", "state", "o-2 o-1 o-3 o-4"),
            // Integers are exact beyond 2^53, and there is an alias.
            ("customer = 9007199254740993", "", "o-1"),
            ("customer.id > 42", "customer", "o-2 o-1"),
            ("items.sku = lamp", "-total", "o-4 o-1"),
            ("placed >= 2026-03-03T10:00:00.250Z", "", "o-3 o-4"),
            ("number = 2026-0002 or state = placed", "", "o-2"),
        ] {
            let found =
                ids(&folder, &["orders.ndjson", "--catalog", catalog, "--where", text, "--order", order]);
            assert_eq!(found, expected, "{catalog}: {text}");
        }
    }
    let table = ["search", "orders.ndjson", "--catalog", "orders.toml", "--limit", "2", "--format", "table"];
    let table = folder.run(&table).code(0).out;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("id   number     state      total  placed"), "{table}");
    assert!(lines[2].contains("120.50  2026-03-01T08:00:00Z") && lines[2].ends_with("lamp, bulb"), "{table}");
    assert!(lines[3].contains("(placed)"), "{table}");
    // A long table, which is written while the cases are read, has the same columns.
    let long = ["search", "orders.ndjson", "--catalog", "orders.toml", "--limit", "all", "--format", "table"];
    assert!(folder.run(&long).code(0).out.starts_with("id   number     state"));
    // Other commands.
    let why =
        ["why", "orders.ndjson", "--catalog", "orders.toml", "--id", "o-2", "--where", "state = placed"];
    assert_eq!(folder.run(&why).code(0).json()["selected"], true);
    let explain = ["explain", "orders.ndjson", "--catalog", "orders.toml", "--where", "total > 100"];
    folder.run(&explain).code(0);
    let fields = folder.run(&["fields", "--catalog", "orders.toml"]).code(0).json();
    assert_eq!(fields[4]["form"], "rfc3339");
    assert_eq!(fields.as_array().unwrap().len(), 7);
    let check = folder.run(&["check", "--catalog", "orders.toml", "--where", "totl > 1"]).code(2).json();
    assert_eq!(check["errors"][0]["suggestion"], "`total`");
    let sql =
        ["sql", "--dialect", "duckdb", "--catalog", "orders.toml", "--where", "customer > 7", "--literal"];
    assert!(folder.run(&sql).code(0).out.contains("\"customer_id\""));
    let ddl = folder.run(&["ddl", "--dialect", "postgres", "--catalog", "orders.toml"]).code(0).out;
    assert!(ddl.contains("\"customer_id\" bigint"), "{ddl}");
    folder.write("requests.ndjson", "{\"body\":{\"ids\":[\"o-1\"]},\"order\":\"total\"}\n");
    let bench = [
        "bench",
        "orders.ndjson",
        "--catalog",
        "orders.toml",
        "--requests",
        "requests.ndjson",
        "--runs",
        "1",
    ];
    assert_eq!(folder.run(&bench).code(0).lines()[0]["matched"], 1);
    // Without the catalogue, documents are cases.
    folder.run(&["search", "orders.ndjson", "--where", "total > 1"]).code(2).err_has("found `total`");
    // The variable of the environment is the default.
    let mut command = folder.command(&["check", "--where", "total > 1"]);
    assert!(command.env("CASEFILTER_CATALOG", "orders.toml").output().unwrap().status.success());
}

#[test]
fn cases_with_more_fields_are_cases() {
    let folder = Folder::new();
    folder.write("more.toml", "extends = \"cases\"\n[[fields]]\npath = \"riskScore\"\ntype = \"integer\"\n");
    folder.write("cases.ndjson", "{\"id\":\"a\",\"riskScore\":7}\n{\"id\":\"b\",\"riskScore\":9,\"caseReview\":{\"status\":\"open\"}}\n");
    let args = ["cases.ndjson", "--catalog", "more.toml", "--where", "riskScore > 7 and status = open"];
    assert_eq!(ids(&folder, &args), "b");
    let mut table =
        folder.command(&["search", "cases.ndjson", "--catalog", "more.toml", "--format", "table"]);
    let table = String::from_utf8(table.env("COLUMNS", "200").output().unwrap().stdout).unwrap();
    assert!(table.starts_with("id  status  priority") && table.contains("riskScore"), "{table}");
    // A catalogue file can allow the extended operators and RFC 3339 for all commands.
    folder.write("open.json", r#"{"extends": "cases", "extended_operators": true, "rfc3339": true}"#);
    folder.write("body.json", r#"{"criteria":[{"field":"tags","op":"$exists","values":["false"]}]}"#);
    folder.write("times.ndjson", "{\"id\":\"a\",\"createdAt\":\"2026-03-01T08:00:00Z\"}\n");
    assert_eq!(ids(&folder, &["times.ndjson", "--catalog", "open.json", "--body", "body.json"]), "a");
    folder.run(&["search", "cases.ndjson", "--body", "body.json"]).code(2);
    folder.run(&["search", "times.ndjson"]).code(3);
}

#[test]
fn a_database_keeps_its_catalogue() {
    let folder = orders();
    folder.run(&["import", "--db", "orders.db", "--catalog", "orders.toml", "orders.ndjson"]).code(0);
    assert_eq!(
        Store::catalog_of(folder.path("orders.db")).unwrap(),
        Catalog::from_toml(example("orders.toml")).unwrap()
    );
    let all = "o-2 o-1 o-3 o-4";
    let search = ["orders.db", "--where", "customer >= 42", "--order", "state"];
    assert_eq!(ids(&folder, &search), all);
    // Each command uses the catalogue of the database, also beside other files. Commands without documents get it by `--catalog`.
    assert_eq!(
        ids(&folder, &["orders.ndjson", "orders.db", "--where", "customer >= 42", "--order", "state"]),
        all
    );
    folder.run(&["import", "--db", "orders.db", "orders.ndjson"]).code(0);
    folder.run(&["verify", "orders.db"]).code(0);
    folder.run(&["compact", "orders.db"]).code(0);
    folder.run(&["backup", "orders.db", "-o", "copy.db"]).code(0);
    folder.run(&["import", "--db", "again.db", "copy.db"]).code(0);
    for database in ["copy.db", "again.db"] {
        assert_eq!(ids(&folder, &[database, "--where", "customer >= 42", "--order", "state"]), all);
    }
    folder.run(&["check", "--catalog", "orders.db", "--where", "customer = 1"]).code(0);
    folder.run(&["export", "orders.db", "-o", "orders.parquet"]).code(0);
    assert_eq!(ids(&folder, &["orders.parquet", "--catalog", "orders.db", "--order", "state"]), all);
    folder.run(&["export", "orders.db", "--flat", "-o", "flat.parquet"]).code(0);
    folder.run(&["export", "orders.db", "-o", "orders.tsv"]).code(0);
    let why =
        folder.run(&["why", "orders.db", "--id", "o-1", "--where", "customer = 9007199254740993"]).code(0);
    assert_eq!(why.json()["selected"], true);

    // A command may use other known values and aliases, but not a catalogue that reads documents in another way.
    let text = example("orders.toml");
    folder.write(
        "known.toml",
        text.replace("\"placed\", \"paid\", \"sent\"", "\"sent\", \"paid\", \"placed\""),
    );
    let args = ["orders.db", "--catalog", "known.toml", "--where", "customer >= 42", "--order", "state"];
    assert_eq!(ids(&folder, &args), "o-4 o-1 o-3 o-2");
    folder.write("type.toml", text.replace("\"integer\"", "\"number\" "));
    folder.write("grown.toml", format!("{text}\n[[fields]]\npath = \"note\"\ntype = \"string\"\n"));
    folder.write("cases.json", r#"{"extends":"cases"}"#);
    let kept =
        "; a database keeps the catalogue that it was made with, which commands use without --catalog\n";
    for (catalog, difference) in [
        ("type.toml", "found the field `customer.id integer`, expected `customer.id number`"),
        ("grown.toml", "it lacks the field `note string`"),
        ("cases.json", "it has the field `number string key`, which is not expected"),
    ] {
        let message = format!("error: orders.db: made for another catalogue: {difference}{kept}");
        folder.run(&["search", "orders.db", "--catalog", catalog]).code(1).err_is(&message);
        folder
            .run(&["import", "--db", "orders.db", "--catalog", catalog, "orders.ndjson"])
            .code(1)
            .err_is(&message);
    }
    // A new database can have another catalogue, with the documents of the old one.
    folder.run(&["import", "--db", "grown.db", "--catalog", "grown.toml", "orders.db"]).code(0);
    assert_eq!(ids(&folder, &["grown.db", "--where", "note is absent and customer = 42"]), "o-3 o-4");
}

#[test]
fn a_database_of_an_earlier_version_has_the_fields_of_cases() {
    let folder = Folder::new();
    folder.run(&["import", "--db", "cases.db", "-"]).code(0);
    assert_eq!(Store::catalog_of(folder.path("cases.db")).unwrap(), Catalog::cases());
    folder.run(&["search", "cases.db", "--where", "status = open"]).code(0);
}

fn shown(folder: &Folder, name: &str, text: &str) -> Run {
    folder.write(name, text);
    folder.run(&["fields", "--catalog", name]).code(2)
}

#[test]
fn a_fault_in_a_catalogue_file_is_shown_at_its_place() {
    let folder = orders();
    shown(&folder, "a.toml", "[[fields]]\npath = \"state\"\ntype = \"string\"\n\n[[fields]]\npath = \"total\"\ntype = \"nubmer\"\n").err_is(
        "error[bad_value]: found `nubmer`
 --> a.toml:7:8
  |
7 | type = \"nubmer\"
  |        ^^^^^^^^ expected one of `string`, `number`, `integer`, `decimal`, `timestamp`, `boolean`
  |
  = note: at fields[1].type
  = help: did you mean `number`?
",
    );
    shown(&folder, "b.json", "{\"fields\": [\n  {\"path\": \"total\" \"type\": \"number\"}\n]}").err_is(
        "error[syntax]: found `\"`
 --> b.json:2:20
  |
2 |   {\"path\": \"total\" \"type\": \"number\"}
  |                    ^^^^^^ expected `,` or `}`
",
    );
    shown(&folder, "c.toml", "[[field]]\npath = \"total\"\n").err_is(
        "error[unknown_key]: found the key `field`
 --> c.toml:1:3
  |
1 | [[field]]
  |   ^^^^^ expected one of `extends`, `extended_operators`, `rfc3339`, `fields`, `id`
  |
  = help: did you mean `fields`?
",
    );
    shown(&folder, "d.toml", "[[fields]]\npath = total\n").err_has("did you mean `\"total\"`?");
    shown(&folder, "e.toml", "\u{feff}x = 1\n").err_has("found the key `x`");
    folder.write("f.toml", b"# \xff");
    folder.run(&["fields", "--catalog", "f.toml"]).code(2).err_has("not UTF-8");
    folder.write("g.toml", "#".repeat(2 << 20));
    folder.run(&["fields", "--catalog", "g.toml"]).code(2).err_has("found a file of 2097152 bytes");
    folder
        .run(&["fields", "--catalog", "h.toml"])
        .code(1)
        .err_has("cannot read the catalogue h.toml: No such file");
    folder.run(&["search", "orders.ndjson", "--catalog", "orders.ndjson"]).code(2).err_has("not documents");
    folder
        .run(&["search", "orders.ndjson", "--catalog", "cases"])
        .code(2)
        .err_has("leave it out for the fields of cases");
}

#[test]
fn documents_with_integers_as_ids_are_searched_and_stored() {
    let folder = Folder::new();
    folder.write(
        "tickets.toml",
        "[id]\npath = \"ticketId\"\ntype = \"integer\"\n\n[[fields]]\npath = \"state\"\ntype = \"string\"\n",
    );
    folder.write(
        "tickets.ndjson",
        "{\"ticketId\":9007199254740993,\"state\":\"new\"}\n{\"ticketId\":9,\"state\":\"new\"}\n{\"state\":\"old\",\"ticketId\":10}\n",
    );
    let with = ["--catalog", "tickets.toml"];
    folder.run(&[&["import", "--db", "tickets.db", "tickets.ndjson"], &with[..]].concat()).code(0);
    for source in [&["tickets.ndjson", "--catalog", "tickets.toml"][..], &["tickets.db"]] {
        assert_eq!(
            ids(&folder, &[source, &["--where", "ids (9, 10)", "--order", "ticketId"]].concat()),
            "10 9"
        );
        assert_eq!(
            ids(&folder, &[source, &["--where", "ticketId = 9007199254740993"]].concat()),
            "9007199254740993"
        );
        for limit in ["2", "all"] {
            let args = [&["search"], source, &["--limit", limit, "--format", "table"]].concat();
            let table = folder.run(&args).code(0).out;
            assert!(table.starts_with("ticketId          state"), "{table}");
            assert!(table.contains("\n9007199254740993  new"), "{table}");
        }
        let why =
            folder.run(&[&["why"], source, &["--id", "10", "--where", "state = new"]].concat()).code(0).out;
        assert!(why.contains("\"selected\":false"), "{why}");
        let unknown = folder.run(&[&["search"], source, &["--where", "ticketId = 11"]].concat()).code(0).err;
        assert!(unknown.contains("1 of 1 id in the filter is not in the data: 11"), "{unknown}");
        let bad = folder.run(&[&["search"], source, &["--where", "ticketId = x"]].concat()).code(2).err;
        assert!(bad.contains("found `x`") && bad.contains("expected an integer of 64 bits"), "{bad}");
    }
    let fields = folder.run(&["fields", "--catalog", "tickets.toml", "--format", "json"]).code(0).json();
    assert_eq!((&fields[0]["name"], &fields[0]["id_type"]), (&"ticketId".into(), &"integer".into()));
    folder.run(&["export", "tickets.db", "-o", "tickets.parquet"]).code(0);
    let found = ids(&folder, &["tickets.parquet", "--catalog", "tickets.toml", "--where", "ticketId <> 9"]);
    assert_eq!(found, "9007199254740993 10");
}

#[test]
fn faults_of_the_id_are_shown_at_their_place() {
    let folder = Folder::new();
    folder.write(
        "tickets.toml",
        "[id]\npath = \"ticketId\"\ntype = \"int\"\n[[fields]]\npath = \"n\"\ntype = \"number\"\n",
    );
    let err = folder.run(&["fields", "--catalog", "tickets.toml"]).code(2).err;
    assert!(err.contains("tickets.toml:3:8") && err.contains("did you mean `integer`?"), "{err}");
}
