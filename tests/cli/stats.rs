//! Tests the command `stats`: counts by value, histograms and statistics, as JSON, CSV, bars and columns.

use super::run::{Folder, Run, ended};

/// Six cases.
const CASES: &str = concat!(
    r#"{"id":"a","caseReview":{"status":"open"},"createdAt":"2025-01-03 23:30:00+0000","tags":["vip","cash"],"totalAmountInDefaultCurrency":10}"#,
    "\n",
    r#"{"id":"b","caseReview":{"status":"open"},"createdAt":"2025-01-09 10:00:00+0000","tags":["vip"],"totalAmountInDefaultCurrency":20.5}"#,
    "\n",
    r#"{"id":"c","caseReview":{"status":"open"},"createdAt":"2025-03-01 00:00:00+0000","tags":["=1+1"]}"#,
    "\n",
    r#"{"id":"d","caseReview":{"status":"blocked"},"createdAt":"2025-03-02 00:00:00+0000","totalAmountInDefaultCurrency":1000}"#,
    "\n",
    r#"{"id":"e","caseReview":{"status":"blocked"}}"#,
    "\n",
    r#"{"id":"f","createdAt":"2025-03-31 23:00:00+0000"}"#,
    "\n"
);

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("cases.ndjson", CASES);
    folder
}

fn stats(folder: &Folder, more: &[&str]) -> Run {
    folder.run(&[&["stats", "cases.ndjson"][..], more].concat())
}

/// Returns the table at a width, in a locale.
fn table(folder: &Folder, width: &str, locale: &str, more: &[&str]) -> String {
    let args = [&["stats", "cases.ndjson", "--format", "table"][..], more].concat();
    let mut command = folder.command(&args);
    command.env("COLUMNS", width).env("LC_ALL", locale).env("TERM", "xterm");
    ended(&mut command).code(0).out
}

#[test]
fn json_is_the_answer_of_the_service() {
    let folder = folder();
    let expected = concat!(
        r#"{"totalItems":6,"facets":[{"field":"caseReview.status","values":[{"value":"open","count":3},{"value":"blocked","count":2}],"#,
        r#""absent":1,"otherValues":0,"otherCount":0},"#,
        r#"{"field":"createdAt","buckets":[{"from":"2025-01-01 00:00:00","to":"2025-02-01 00:00:00","count":2},"#,
        r#"{"from":"2025-02-01 00:00:00","to":"2025-03-01 00:00:00","count":0},"#,
        r#"{"from":"2025-03-01 00:00:00","to":"2025-04-01 00:00:00","count":3}],"absent":1},"#,
        r#"{"field":"totalAmountInDefaultCurrency","stats":{"count":3,"min":10,"max":1000,"sum":1030.5,"mean":343.5},"absent":3}]}"#,
        "\n"
    );
    let by = [
        "--by",
        "status",
        "--limit",
        "2",
        "--by",
        "createdAt:month",
        "--by",
        "totalAmountInDefaultCurrency:stats",
    ];
    assert_eq!(stats(&folder, &by).code(0).err_is("").out, expected);
    let facets = r#"{"criteria":[{"field":"priority","op":"=","values":["medium"]}],"facets":[{"field":"status","limit":2},{"field":"createdAt","interval":"month"},
        {"field":"totalAmountInDefaultCurrency","stats":true}]}"#;
    folder.write("facets.json", facets);
    assert_eq!(stats(&folder, &["--facets", "facets.json"]).code(0).out, expected);
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    assert_eq!(folder.run(&[&["stats", "cases.db"][..], &by].concat()).code(0).out, expected);
    let one = |more: &[&str]| stats(&folder, more).code(0).json()["facets"][0].clone();
    let open = ["--by", "status", "--limit", "1", "--where", "status = open and tags = vip"];
    assert_eq!(one(&open)["values"][0]["count"], 2);
    let apart = one(&[
        "--by",
        "status",
        "--where",
        "status = open and createdAt >= 2025-03-01",
        "--own-criteria-apart",
    ]);
    assert_eq!(apart["values"][1], serde_json::json!({"value": "blocked", "count": 1}));
    let local = one(&["--by", "createdAt:month", "--utc-offset", "+02:00"]);
    assert_eq!(local["buckets"][3]["from"], "2025-03-31 22:00:00");
}

#[test]
fn a_terminal_gets_aligned_bars_with_absent_and_totals_at_the_end() {
    let folder = folder();
    let by = ["--by", "status", "--by", "tags", "--limit", "1", "--by", "createdAt:month"];
    let by = [&by[..], &["--by", "totalAmountInDefaultCurrency:stats"]].concat();
    assert_eq!(
        table(&folder, "40", "C.UTF-8", &by),
        "caseReview.status
  open             3  ██████████████████
  (1 other value)  2
  (absent)         1  ██████

tags
  vip               2  ███████████▍
  (2 other values)  2
  (absent)          3  █████████████████

createdAt
  2025-01   2  ████████████████▋
  2025-02   0
  2025-03   3  █████████████████████████
  (absent)  1  ████████▍

totalAmountInDefaultCurrency
  count          3
  min           10
  max         1000
  sum       1030.5
  mean       343.5
  (absent)       3

6 cases selected
"
    );
    let quarters = table(&folder, "40", "C", &["--by", "createdAt:quarter"]);
    assert!(quarters.contains("\n  2025-Q1   5  #"), "{quarters}");
    let years = table(&folder, "40", "C", &["--by", "createdAt:year"]);
    assert!(years.contains("\n  2025      5  #"), "{years}");
    let ascii = table(&folder, "40", "C", &["--by", "totalAmountInDefaultCurrency:edges=15,100"]);
    assert_eq!(
        ascii,
        "totalAmountInDefaultCurrency
  below 15      1  #######
  15 to 100     1  #######
  100 and more  1  #######
  (absent)      3  #####################

6 cases selected
"
    );
}

#[test]
fn long_histograms_of_times_are_columns_that_fit_the_width() {
    let folder = folder();
    let days = |width, locale| table(&folder, width, locale, &["--by", "createdAt:day"]);
    assert_eq!(
        days("60", "C"),
        "createdAt
  1 |#  #                        ##             #
    |#  #                        ##             #
    |#  #                        ##             #
    |#  #                        ##             #
    |#  #                        ##             #
  0 +--------------------------------------------
     2025-01-03                        2025-03-31
  88 intervals from 2025-01-03 to 2025-03-31, most in
    2025-01-03: 1; each column is 2 of them
  (absent): 1

6 cases selected
"
    );
    for width in ["60", "80", "120", "200"] {
        for locale in ["C", "en_US.UTF-8"] {
            let chart = days(width, locale);
            let is_ascii = chart.is_ascii();
            assert_eq!(is_ascii, locale == "C", "{chart}");
            let room = width.parse().unwrap();
            assert!(chart.lines().all(|line| line.chars().count() <= room), "{chart}");
        }
    }
}

#[test]
fn csv_has_a_row_for_each_count() {
    let folder = folder();
    let csv = stats(
        &folder,
        &[
            "--by",
            "tags",
            "--by",
            "createdAt:year",
            "--by",
            "totalAmountInDefaultCurrency:stats",
            "--format",
            "csv",
        ],
    );
    let expected = "field,kind,value,from,to,count
,total,,,,6
tags,value,vip,,,2
tags,value,'=1+1,,,1
tags,value,cash,,,1
tags,other,0,,,0
tags,absent,,,,3
createdAt,bucket,,2025-01-01 00:00:00,2026-01-01 00:00:00,5
createdAt,absent,,,,1
totalAmountInDefaultCurrency,count,,,,3
totalAmountInDefaultCurrency,min,10,,,
totalAmountInDefaultCurrency,max,1000,,,
totalAmountInDefaultCurrency,sum,1030.5,,,
totalAmountInDefaultCurrency,mean,343.5,,,
totalAmountInDefaultCurrency,absent,,,,3
";
    assert_eq!(csv.code(0).out.replace("\r\n", "\n"), expected);
}

#[test]
fn faults_and_warnings_are_shown() {
    let folder = folder();
    stats(&folder, &["--by", "createdAt:mont"]).code(2).err_is(
        "error[bad_value]: found `mont`
 --> --by
  |
1 | createdAt:mont
  |           ^^^^ expected `hour`, `day`, `week`, `month`, `quarter`, `year`, `stats` or `limit=N`
  |
  = help: did you mean `month`?
",
    );
    stats(&folder, &["--by", "staus", "--by", "tags:stats"])
        .code(2)
        .err_has("did you mean `status`?")
        .err_has("found statistics of `tags`, a string field");
    stats(&folder, &[]).code(2).err_has("--by <FIELD[:FORM]>");
    stats(&folder, &["--by", "tags", "--facets", "-"]).code(2);
    stats(&folder, &["--by", "tags", "--limit", "10001"]).code(2).err_has("expected at most 10000");
    let many = ["--by", "tags"].repeat(33);
    stats(&folder, &many).code(2).err_has("found 33 times --by, expected at most 32");
    folder.write("bad.json", r#"{"criteria":[],"facets":[{"field":"tag"}]}"#);
    stats(&folder, &["--facets", "bad.json"])
        .code(2)
        .err_has("--> bad.json:1:35")
        .err_has("did you mean `tags`?");
    stats(&folder, &["--by", "tags", "--where", "status = opne"])
        .code(0)
        .err_has("warning: ")
        .err_has("did you mean `open`?");
}
