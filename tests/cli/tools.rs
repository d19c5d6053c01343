//! Tests `generate`, `bench` and `demo`, and the SQL statements and rows that are written for other databases.

use std::fs;
use std::io::Read;

use serde_json::Value;

use tempfile::TempDir;

use super::run::{Folder, OPEN, THREE, run, run_with};

#[test]
fn generate_makes_the_same_valid_cases_every_time_and_everywhere() {
    let files = Folder::new();
    let plain = files.path("cases.ndjson");
    run(&["generate", "--cases", "500", "--seed", "7", "-o", &plain]).code(0);
    let bytes = fs::read(&plain).unwrap();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(hash, 0x1a74_cfbd_cfe1_6fc9, "{hash:#x}");
    assert_eq!(run(&["generate", "--cases", "500", "--seed", "7"]).code(0).out.as_bytes(), bytes);
    assert_ne!(run(&["generate", "--cases", "500", "--seed", "8"]).code(0).out.as_bytes(), bytes);

    let (gz, zst) = (files.path("cases.ndjson.gz"), files.path("cases.ndjson.zst"));
    for path in [&gz, &zst] {
        run(&["generate", "--cases", "500", "--seed", "7", "-o", path]).code(0);
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(&gz).unwrap()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, bytes);
    assert_eq!(zstd::decode_all(fs::File::open(&zst).unwrap()).unwrap(), bytes);
    assert_eq!(files.names().len(), 3, "no temporary file is left: {:?}", files.names());
    for path in [&plain, &gz, &zst] {
        let answer = run(&["search", path, "--count", "--limit", "0"]).code(0).json();
        assert_eq!(answer["list"]["totalItems"], 500);
    }
}

#[test]
fn bench_prints_a_line_for_each_request_and_a_summary() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests =
        files.write("requests.ndjson", format!("{{\"body\":{OPEN},\"limit\":1}}\n{{\"body\":{{}}}}\n"));
    for threads in ["1", "3"] {
        let args = ["bench", &cases, "--requests", &requests, "--runs", "7", "--threads", threads];
        let lines = run(&args).code(0).lines();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["request"], 1);
        assert_eq!(lines[0]["matched"], 2);
        assert_eq!(lines[0]["runs"], 7);
        let us = |key: &str| lines[0][key].as_f64().unwrap();
        assert!(0.0 < us("min_us") && us("min_us") <= us("median_us") && us("median_us") <= us("p99_us"));
        assert_eq!(lines[1]["request"], 2);
        assert!(lines[1]["error"].is_string());
        assert_eq!(lines[0].get("cold_us"), None);
        assert_eq!(lines[1].get("median_us"), None);
        assert_eq!(lines[2]["cases"], 3);
        assert_eq!(lines[2]["threads"], threads.parse::<u32>().unwrap());
        assert!(lines[2]["load_s"].is_number() && lines[2]["bytes_per_case"].as_f64().unwrap() > 0.0);
    }
    let table =
        run(&["bench", &cases, "--requests", &requests, "--runs", "1", "--format", "table"]).code(0).out;
    assert!(table.contains("median") && table.contains("3 cases"), "{table}");
    assert!(!table.contains("index bytes") && !table.contains("cold"), "{table}");
}

#[test]
fn bench_measures_requests_with_empty_caches() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n{{\"body\":{{}}}}\n"));
    let bench = ["bench", &cases, "--requests", &requests, "--cold", "--runs", "3", "--threads", "2"];
    let lines = run(&bench).code(0).lines();
    let us = |key: &str| lines[0][key].as_f64().unwrap();
    assert!(0.0 < us("min_us") && us("min_us") <= us("cold_us"), "{}", lines[0]);
    assert_eq!((&lines[0]["runs"], lines[1].get("cold_us")), (&3.into(), None));
    let table = run(&[&bench[..], &["--format", "table"]].concat()).code(0).out;
    assert!(table.lines().next().is_some_and(|headings| headings.ends_with("cold")), "{table}");
}

#[test]
fn bench_prints_the_memory_of_each_field() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n"));
    let args = ["bench", &cases, "--requests", &requests, "--runs", "1", "--memory"];
    let lines = run(&args).code(0).lines();
    let (summary, fields) = lines[1..].split_last().unwrap();
    assert_eq!(summary["cases"], 3);
    let bytes = |line: &Value| line["column_bytes"].as_u64().unwrap() + line["index_bytes"].as_u64().unwrap();
    let id = fields.iter().find(|line| line["field"] == "id").unwrap();
    assert!(bytes(id) > 0 && id["bytes_per_case"].as_f64().unwrap() > 0.0);
    assert!(fields.iter().map(bytes).is_sorted_by(|a, b| a >= b), "the largest first");
    assert_eq!(fields.len(), run(&["fields"]).code(0).json().as_array().unwrap().len());
    let table = run(&[&args[..], &["--format", "table"]].concat()).code(0).out;
    assert!(table.contains("index bytes") && table.contains("createdAt"), "{table}");
}

#[test]
fn demo_shows_requests_and_their_answers() {
    let run = run(&["demo", "--cases", "3000"]).code(0);
    assert_eq!(run.err, "");
    assert!(
        run.out.contains("as text") && run.out.contains("as JSON") && run.out.contains("of 3,000 cases"),
        "{}",
        run.out
    );
    let (_, explanation) = run.out.split_once("How the second of them is answered").unwrap();
    assert!(explanation.contains("Result: ") && explanation.contains("Time: compile "), "{explanation}");
}

#[test]
fn statements_are_printed_for_programs_and_to_run() {
    let printed =
        run(&["sql", "--dialect", "postgres", "--where", "name = \"it's\" and tags in (a, b)", "--count"])
            .code(0)
            .json();
    assert_eq!(printed["params"], serde_json::json!(["it's", ["a", "b"]]));
    assert_eq!(printed["count"]["params"], printed["params"]);
    assert!(printed["sql"].as_str().unwrap().ends_with("ORDER BY \"place\" LIMIT 100"));

    let literal =
        run(&["sql", "--dialect", "clickhouse", "--where", "name = \"it's\"", "--literal", "--table", "a.b"])
            .code(0);
    assert_eq!(
        literal.out,
        "SELECT `id`, `document` FROM `a`.`b` WHERE `name` = 'it\\'s' ORDER BY `place` LIMIT 100;\n"
    );

    let requests = b"{\"body\":{\"ids\":[]}}\n{\"body\":{}}\n";
    let lines = run_with(&["sql", "--dialect", "spark", "--requests", "-"], requests).code(0).lines();
    assert_eq!(
        lines[0]["sql"],
        "SELECT `id`, `document` FROM `cases` WHERE FALSE ORDER BY `place` LIMIT 100"
    );
    assert_eq!(lines[1]["code"], 400);

    assert!(run(&["sql", "--dialect", "oracle"]).code(2).err.contains("duckdb"));
    assert!(run(&["sql", "--dialect", "duckdb", "--where", "nam = a"]).code(2).err.contains("did you mean"));
    assert!(
        run(&["ddl", "--dialect", "duckdb", "--table", "x; drop table y"])
            .code(2)
            .err
            .contains("expected one to three words")
    );
    assert!(
        run(&["ddl", "--dialect", "postgres", "--file", "it's.tsv"]).code(0).out.contains("FROM 'it''s.tsv'")
    );
}

#[test]
fn words_need_the_same_folded_columns_everywhere() {
    let words = ["--where", "name matches \"GARCÍA lopez\""];
    let sql = |more: &[&str]| run(&[&["sql", "--dialect", "duckdb"], &words[..], more].concat());
    sql(&[]).code(2).err_has("found `$match` on a field without a folded column in the table");
    sql(&["--folded=tags"]).code(2).err_has("`--folded` of `casefilter export`, `ddl` and `sql`");
    for folded in ["--folded", "--folded=name", "--folded=tags, name"] {
        let printed = sql(&[folded]).code(0).json();
        assert_eq!(printed["params"], serde_json::json!(["garcia", "lopez"]), "{folded}");
        assert!(printed["sql"].as_str().unwrap().contains("contains(\"name_folded\", $1::VARCHAR)"));
    }
    sql(&["--folded=nam"]).code(2).err_has("--folded: `nam` is not a field; did you mean `name`?");
    sql(&["--folded=createdAt"]).code(2).err_has("is only for string fields");

    let script = run(&["ddl", "--dialect", "clickhouse", "--folded=tags"]).code(0).out;
    assert!(script.contains("`tags_folded` Array(LowCardinality(String))"), "{script}");
    assert!(!script.contains("name_folded"), "{script}");

    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(
        at("cases.ndjson"),
        "{\"id\":\"Ä\",\"name\":\"Straße\",\"tags\":[\"É\",\"x\"]}\n{\"id\":\"b\"}\n",
    )
    .unwrap();
    run(&["export", &at("cases.ndjson"), "--folded=name,tags", "-o", &at("cases.tsv")]).code(0);
    let rows = fs::read_to_string(at("cases.tsv")).unwrap();
    let ends: Vec<String> =
        rows.lines().map(|row| row.split('\t').rev().take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(ends, [r#"{"e","x"} strasse"#, r"{} \N"]);
    run(&["export", &at("cases.ndjson"), "--flat", "--folded", "-o", &at("cases.parquet")]).code(0);
    let columns = parquet_columns(&at("cases.parquet"));
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
    assert!(
        place("document") < place("id_folded") && place("name_folded") < place("tags_folded"),
        "{columns:?}"
    );
    assert!(!columns.contains(&"created_at_folded".to_owned()));
    run(&["export", &at("cases.ndjson"), "--folded", "-o", &at("x.ndjson")])
        .code(2)
        .err_has("--folded is for rows");
}

#[test]
fn criteria_on_elements_need_the_same_element_columns_everywhere() {
    let checklist = "caseReview.checklistState.checklist";
    let criteria = format!("{checklist} has (name = ID and not checked = true)");
    let sql = |more: &[&str]| run(&[&["sql", "--dialect", "duckdb", "--where", &criteria], more].concat());
    sql(&[]).code(2).err_has("found `$elem` on an array without element columns in the table");
    sql(&["--elements=amlCases"]).code(2).err_has("`--elements` of `casefilter export`, `ddl` and `sql`");
    let chosen = format!("--elements=amlCases, {checklist}");
    for elements in ["--elements", &chosen] {
        let printed = sql(&[elements]).code(0).json();
        assert!(printed["sql"].as_str().unwrap().contains("checklist_name_element"), "{elements}");
        let printed = sql(&[elements, "--literal"]).code(0).out;
        assert!(printed.contains("_x = 'ID'::VARCHAR"), "{printed}");
    }
    sql(&["--elements=amlCase"])
        .code(2)
        .err_has("--elements: `amlCase` is not an array of objects; did you mean `amlCases`?");

    let script = run(&["ddl", "--dialect", "clickhouse", "--elements=amlCases"]).code(0).out;
    assert!(script.contains("`aml_cases_aml_case_id_element` Array(Int64)"), "{script}");
    assert!(
        script.contains("--flat --elements=amlCases -o") && !script.contains("checklist_element"),
        "{script}"
    );

    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("cases.ndjson"), "{\"id\":\"a\",\"amlCases\":[{},{\"amlCaseId\":\"x\"}]}\n{\"id\":\"b\"}\n")
        .unwrap();
    run(&["export", &at("cases.ndjson"), "--elements=amlCases", "-o", &at("cases.tsv")]).code(0);
    let rows = fs::read_to_string(at("cases.tsv")).unwrap();
    let ends: Vec<String> =
        rows.lines().map(|row| row.split('\t').rev().take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(ends, ["{2} {1,2}", "{} {}"]);
    run(&["export", &at("cases.ndjson"), "--flat", "--folded", "--elements", "-o", &at("cases.parquet")])
        .code(0);
    let columns = parquet_columns(&at("cases.parquet"));
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
    assert!(place("tags_folded") < place("aml_cases_element"), "{columns:?}");
    run(&["export", &at("cases.ndjson"), "--elements", "-o", &at("x.ndjson")])
        .code(2)
        .err_has("--elements is for rows");
}

/// Returns the names of the columns of a Parquet file.
fn parquet_columns(path: &str) -> Vec<String> {
    let file = fs::File::open(path).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.schema().fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn rows_are_exported_for_other_engines() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("cases.ndjson"), "{\"id\":\"b\",\"tags\":[\"x\"]}\n{\"id\":\"a\"}\n").unwrap();
    run(&["export", &at("cases.ndjson"), "-o", &at("cases.tsv")]).code(0);
    let rows = fs::read_to_string(at("cases.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0][0], rows[0][1], rows[1][0], rows[1][1]), ("0", "b", "1", "a"));
    assert_eq!(rows[0].last().unwrap(), &r#"{"id":"b","tags":["x"]}"#);

    run(&["export", &at("cases.ndjson"), "--flat", "-o", &at("cases.parquet")]).code(0);
    // Rows for other engines are not cases: most fields would be absent.
    run(&["search", &at("cases.parquet")]).code(3).err_has("rows laid out for SQL engines");
    run(&["search", &at("cases.parquet"), "--lenient"]).code(3).err_has("rows laid out for SQL engines");
    assert!(fs::read(at("cases.parquet")).unwrap().starts_with(b"PAR1"));
    assert!(
        run(&["export", &at("cases.ndjson"), "--flat", "-o", &at("x.ndjson")]).code(2).err.contains("--flat")
    );

    fs::write(at("zero.ndjson"), "{\"id\":\"b\",\"name\":\"a\\u0000\"}\n").unwrap();
    let refused = run(&["export", &at("zero.ndjson"), "-o", &at("zero.tsv")]).code(3);
    assert!(refused.err.contains("name: found a zero character"), "{}", refused.err);
    assert!(!folder.path().join("zero.tsv").exists());
    run(&["export", &at("zero.ndjson"), "--flat", "-o", &at("zero.parquet")]).code(0);
}
