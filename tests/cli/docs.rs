//! Runs the commands of README.md and of the pages in `docs` unchanged.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use super::run::{Folder, Run};

/// Returns the code block of a page after the comment `<!-- NAME -->`.
fn block(page: &str, name: &str, language: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let start = format!("<!-- {name} -->\n```{language}\n");
    let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{page} has no block {name}"));
    rest.split_once("\n```").unwrap().0.to_owned()
}

/// Runs a script that ends at the first command that fails.
fn run_script(folder: &Folder, script: &str) -> Run {
    let binary = cargo_bin!("casefilter");
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-e", "-c", script]).current_dir(folder.0.path()).env("PATH", path).stdin(Stdio::null());
    for variable in
        ["CASEFILTER_DB", "CASEFILTER_ADMIN_SOCKET", "CASEFILTER_CATALOG", "CASEFILTER_SOURCE", "COLUMNS"]
    {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_commands_of_the_readme_run_and_its_picture_is_the_output() {
    let folder = Folder::new();
    let run = run_script(&folder, &block("README.md", "files", "sh")).code(0);
    assert!(run.out.contains("\"totalItems\":10000"), "{run:?}");

    let picture = block("README.md", "why", "text");
    let (command, expected) = picture.strip_prefix("$ ").unwrap().split_once("'\n").unwrap();
    // On a terminal, where the picture comes from, the table is the default.
    let run = run_script(&folder, &format!("{command}' --format table")).code(0);
    assert_eq!(run.out.trim_end(), expected);
}

#[test]
fn the_script_of_the_command_line_page_runs() {
    let folder = Folder::with_cases();
    run_script(&folder, &block("docs/command-line.md", "scripts", "sh")).code(0);
    let answers = String::from_utf8(folder.read("answers.ndjson")).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answers).unwrap();
    assert_eq!(answer["list"]["items"].as_array().unwrap().len(), 20);
    assert_eq!(folder.ids("cases.db"), folder.ids("cases.ndjson"));
}

#[test]
fn the_commands_for_csv_run() {
    let folder = Folder::with_cases();
    let run = run_script(&folder, &block("docs/command-line.md", "csv", "sh")).code(0);
    assert!(run.out.contains("\"totalItems\":1001") && run.out.contains("\"deleted\":1"), "{run:?}");
    assert_eq!(folder.ids("cases.db"), folder.ids("cases.ndjson"));
}

#[test]
fn the_commands_for_other_documents_run() {
    let folder = Folder::new();
    folder.write("orders.toml", block("docs/command-line.md", "orders.toml", "toml"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/orders.ndjson");
    folder.write("orders.ndjson", fs::read(example).unwrap());
    let run = run_script(&folder, &block("docs/command-line.md", "orders", "sh")).code(0);
    assert!(run.out.contains("\"id\":\"o-3\"") && run.out.contains("SELECT "), "{run:?}");
}

#[test]
fn the_commands_of_the_sql_page_run() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    run_script(&folder, &block("docs/sql.md", "export", "sh")).code(0);
    for (file, part) in [("cases.sql", "CREATE TABLE"), ("cases.duckdb.sql", "cases.parquet")] {
        let script = String::from_utf8(folder.read(file)).unwrap();
        assert!(script.contains(part), "{file}: {script}");
    }
    let words = run_script(&folder, &block("docs/sql.md", "folded", "sh")).code(0).out;
    assert!(words.contains("name_folded"), "{words}");
    let script = String::from_utf8(folder.read("cases.sql")).unwrap();
    assert!(script.contains("\"tags_folded\" text[]"), "{script}");
    let elements = run_script(&folder, &block("docs/sql.md", "elements", "sh")).code(0).out;
    let column = "case_review_checklist_state_checklist_name_element";
    assert!(elements.contains(column), "{elements}");
    let script = String::from_utf8(folder.read("cases.duckdb.sql")).unwrap();
    assert!(script.contains(&format!("\"{column}\" BIGINT[]")), "{script}");
    let statements = run_script(&folder, &block("docs/sql.md", "statements", "sh")).code(0).out;
    // Each command prints the statement of a page. The last one also prints that of a count.
    assert_eq!(statements.matches("SELECT ").count(), 4, "{statements}");
}

#[test]
fn the_commands_with_a_source_have_known_flags_and_fail_without_a_server() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    folder.run(&["token", "app", "--file", "tokens.json", "--allow", "viewCases"]).code(0);
    let commands = block("docs/sql.md", "source", "sh");
    assert_eq!(commands.lines().count(), 2);
    for command in commands.lines() {
        let nowhere = command.replace("db.example", "127.0.0.1:9").replace("/run/postgresql", "/nowhere");
        assert_ne!(nowhere, command);
        run_script(&folder, &nowhere).code(1).err_has("--source: error connecting to server");
    }
}
