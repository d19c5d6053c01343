//! Tests `search --columns`, and CSV as output and as input.

use super::run::{Folder, THREE, gzip, zst};

/// Cases with cells that a spreadsheet would run, and with spellings that have to be kept.
const ODD: &str = concat!(
    r#"{"id":"a","name":"=1+1","caseReview":{"status":"open"},"tags":["@x","y"],"totalAmountInDefaultCurrency":1.50}"#,
    "\n",
    r#"{"id":"b","name":"two\r\nlines, \"quoted\"","totalAmountInDefaultCurrency":-1e2,"applicantInfo":{"dob":"86400000"}}"#,
    "\n",
    r#"{"id":"c","name":"-5","extra":{"x":1},"caseReview":{"checklistState":{"checklist":[{"name":"n","checked":true},{"checked":false}]}}}"#,
    "\n"
);

const COLUMNS: &str = "id,name,status,tags,totalAmountInDefaultCurrency,priority";

#[test]
fn csv_is_rfc_4180_and_harmless_unless_raw() {
    let folder = Folder::new();
    folder.write("odd.ndjson", ODD);
    let csv = |more: &[&str]| {
        let args = [&["search", "odd.ndjson", "--columns", COLUMNS, "--format", "csv"][..], more].concat();
        folder.run(&args).code(0).out
    };
    let head = "id,name,status,tags,totalAmountInDefaultCurrency,priority\r\n";
    assert_eq!(
        csv(&[]),
        format!(
            "{head}a,'=1+1,open,'@x; y,1.50,medium\r\nb,\"two\r\nlines, \"\"quoted\"\"\",,,-1e2,medium\r\nc,-5,,,,medium\r\n"
        )
    );
    assert!(csv(&["--raw"]).starts_with(&format!("{head}a,=1+1,open,@x; y,1.50,medium\r\n")));
    assert_eq!(csv(&["--limit", "all"]), csv(&[]));
    assert_eq!(csv(&["--where", "status = blocked"]), head);
    let tsv = folder.run(&["search", "odd.ndjson", "--columns", "id,tags", "--format", "tsv"]).code(0).out;
    assert_eq!(tsv, "id\ttags\na\t'@x; y\nb\t\nc\t\n");
}

#[test]
fn json_keeps_only_the_chosen_members_as_they_are_written() {
    let folder = Folder::new();
    folder.write("odd.ndjson", ODD);
    let columns = "id,totalAmountInDefaultCurrency,tags,caseReview.checklistState.checklist.checked";
    let ndjson = ["search", "odd.ndjson", "--columns", columns, "--format", "ndjson"];
    let expected = concat!(
        r#"{"id":"a","tags":["@x","y"],"totalAmountInDefaultCurrency":1.50}"#,
        "\n",
        r#"{"id":"b","totalAmountInDefaultCurrency":-1e2}"#,
        "\n",
        r#"{"id":"c","caseReview":{"checklistState":{"checklist":[{"checked":true},{"checked":false}]}}}"#,
        "\n"
    );
    assert_eq!(folder.run(&ndjson).code(0).out, expected);
    assert_eq!(folder.run(&[&ndjson[..], &["--limit", "all"]].concat()).code(0).out, expected);
    for limit in ["2", "20000"] {
        let json = ["search", "odd.ndjson", "--columns", "status,id", "--count", "--limit", limit];
        let found = folder.run(&json).code(0).out;
        let start = r#"{"list":{"items":[{"id":"a","caseReview":{"status":"open"}},{"id":"b"}"#;
        assert!(found.starts_with(start) && found.contains(r#""totalItems":3"#), "{found}");
    }
}

#[test]
fn a_table_shows_all_chosen_columns_at_any_width() {
    let folder = Folder::new();
    folder.write("three.ndjson", THREE);
    let table = |width: &str, columns: &str| {
        let mut command =
            folder.command(&["search", "three.ndjson", "--columns", columns, "--format", "table"]);
        let output = command.env("COLUMNS", width).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for width in ["60", "80", "120", "200"] {
        let wide = table(width, "id,status,createdAt,tags,priority");
        let lines: Vec<&str> = wide.lines().take(3).collect();
        assert_eq!(lines[0], "id  status   createdAt                 tags  priority");
        assert_eq!(lines[2], "a   open     2024-01-03 00:00:00+0000  x, y  (medium)");
    }
    let narrow = table("40", "id,status,createdAt,tags,priority");
    assert!(narrow.starts_with("id  sta…  createdAt"), "{narrow}");
    assert!(!narrow.contains("a wider terminal"), "{narrow}");
}

#[test]
fn faults_in_columns_are_shown_at_their_place() {
    let folder = Folder::new();
    folder.write("three.ndjson", THREE);
    let search = |more: &[&str]| folder.run(&[&["search", "three.ndjson"][..], more].concat());
    search(&["--columns", "id,staus", "--format", "csv"]).code(2).err_is(
        "error[unknown_field]: found `staus`
 --> --columns
  |
1 | id,staus
  |    ^^^^^ expected a field of the catalogue
  |
  = help: did you mean `status`?
",
    );
    search(&["--columns", "status, caseReview.status"]).code(2).err_has("expected each field once");
    search(&["--columns", ""]).code(2).err_has("expected a field of the catalogue");
    search(&["--columns", "id", "--format", "ids"]).code(2).err_has("--columns is for other formats");
    search(&["--raw"]).code(2).err_has("--raw is for --format csv");
    search(&["--columns", "id", "--requests", "-"]).code(2);
}

#[test]
fn csv_of_all_fields_goes_round_through_files_and_databases() {
    let folder = Folder::with_cases();
    let csv = |cases: &str| {
        folder.run(&["search", cases, "--format", "csv", "--raw", "--limit", "all"]).code(0).out
    };
    let first = csv("cases.ndjson");
    folder.write("cases.csv", &first);
    folder.write("cases.csv.gz", gzip(first.as_bytes()));
    folder.write("cases.csv.zst", zst(first.as_bytes()));
    folder.write("marked.csv", format!("\u{feff}{first}"));
    for file in ["cases.csv", "cases.csv.gz", "cases.csv.zst", "marked.csv"] {
        assert_eq!(csv(file), first, "{file}");
    }
    folder.run(&["import", "--db", "cases.db", "cases.csv"]).code(0);
    assert_eq!(csv("cases.db"), first);
    let count = |cases: &str, filter: &str| {
        let args = ["search", cases, "--where", filter, "--limit", "0", "--count", "--format", "json"];
        folder.run(&args).code(0).json()["list"]["totalItems"].clone()
    };
    for filter in [
        "priority = medium and tags is absent",
        "createdAt >= 2024-06-01 and totalAmountInDefaultCurrency > 1000",
        "applicantInfo.dob < 1980-01-01",
        "caseReview.checklistState.checklist has (name = ID and checked = true)",
        "review.attemptCnt > 1",
    ] {
        assert_eq!(count("cases.db", filter), count("cases.ndjson", filter), "{filter}");
    }
}

#[test]
fn columns_of_csv_are_mapped_to_fields() {
    let folder = Folder::new();
    folder.write("t.csv", "Case ID;State;Amount;tags;Note;\r\n1;open;12.50;\"a; b\";\"x;y\";\r\n2;;;;;\r\n");
    let maps =
        ["--map", "Case ID=id", "--map", "State=status", "--map", "Amount=totalAmountInDefaultCurrency"];
    let found = folder.run(&[&["search", "t.csv", "--format", "ndjson"][..], &maps].concat()).code(0).out;
    assert_eq!(
        found,
        concat!(
            r#"{"id":"1","caseReview":{"status":"open"},"totalAmountInDefaultCurrency":12.50,"tags":["a","b"],"Note":"x;y"}"#,
            "\n{\"id\":\"2\"}\n"
        )
    );
    let search = |more: &[&str]| folder.run(&[&["search", "t.csv"][..], more].concat());
    search(&[]).code(3).err_has(
        "t.csv:1: found the columns Case ID, State, Amount, tags, Note, , expected a column `id`, or one that `--map THEIRS=id` names [bad_id]",
    );
    search(&["--map", "Case ID"]).code(2).err_has("expected the name of a column, `=`, and a field");
    search(&["--map", "State=statsu"]).code(2).err_has("1 | State=statsu\n  |       ^^^^^^ expected a field");
    search(&["--map", "status=State"]).code(2).err_has("did you mean `State=status`?");
    search(&["--map", "Case ID=id", "--map", "Stat=status"])
        .code(2)
        .err_has("--map: no .csv file has a column `Stat`");
    folder.write("three.ndjson", THREE);
    folder.run(&["search", "three.ndjson", "--map", "a=id"]).code(2).err_has("--map is for .csv files");
}

#[test]
fn malformed_rows_are_named_with_their_lines() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "id,totalAmountInDefaultCurrency,name\na,1,\"two\nlines\"\n\nb,2\nc,x,y\n\"d\",3,\nd2,3,z,z\n",
    );
    let strict = folder.run(&["search", "t.csv"]).code(3);
    assert_eq!(
        strict.err,
        "error: t.csv:5: found 2 cells, expected 3 cells, as in the header line [syntax]\nnothing was read; with --lenient such cases are left out, or kept without the field, and listed\n"
    );
    let lenient = folder.run(&["search", "t.csv", "--lenient", "--format", "ids"]).code(3);
    assert_eq!(lenient.out, "a\nc\nd\n");
    assert_eq!(
        lenient.err,
        "2 cases left out, 1 case kept without malformed fields
  left out: t.csv:5: found 2 cells, expected 3 cells, as in the header line [syntax] (and 1 more like it)
  kept: t.csv:6: totalAmountInDefaultCurrency: found a string, expected a number [wrong_type]
"
    );
    folder.write("latin.csv", b"id,name\na,Ren\xe9\n");
    folder.run(&["search", "latin.csv"]).code(3).err_has("latin.csv:2: found bytes that are not UTF-8");
    let wide: Vec<u8> = "id\na\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.write("wide.csv", wide);
    folder.run(&["search", "wide.csv"]).code(3).err_has("`iconv -f UTF-16LE -t UTF-8`");
    folder.write("open.csv", "id,name\na,\"never closed\nb,c\n");
    folder
        .run(&["search", "open.csv"])
        .code(3)
        .err_has("open.csv:2: found the end of the file in a quoted cell");
    folder.write("same.csv", "id,status,caseReview.status\na,b,c\n");
    folder.run(&["search", "same.csv"]).code(3).err_has("one column for each member");
    folder.write("empty.csv", "");
    assert_eq!(folder.run(&["search", "empty.csv", "--format", "ids"]).code(0).out, "");
}
