//! Tests the help of the commands, the examples in the help, and arguments that are durations.

use std::fs;
use std::path::Path;

use super::run::{Folder, casefilter, ended, run};

#[test]
fn the_help_of_every_command_shows_an_example() {
    let top = run(&["--help"]).code(0).out;
    assert!(top.contains("First steps:") && top.contains("casefilter demo"));
    for command in [
        "search", "stats", "delete", "man", "check", "explain", "why", "match", "fields", "generate",
        "bench", "demo", "sign", "filters", "watch", "audit", "erase", "health",
    ] {
        assert!(top.contains(command));
        for flag in ["-h", "--help"] {
            let help = run(&[command, flag]).code(0).out;
            let (_, examples) = help.split_once("Examples:").unwrap_or_else(|| panic!("{help}"));
            assert!(examples.contains(&format!("casefilter {command}")), "{help}");
        }
    }
}

/// Returns the indented lines of the help after the options, from a source file.
fn examples_of(file: &Path) -> Vec<String> {
    let source = fs::read_to_string(file).unwrap();
    let marks = ["after_help = \"\\\n", "FIRST_STEPS: &str = \"\\\n", "EXAMPLES: &str = \"\\\n"];
    let blocks = marks.into_iter().flat_map(|mark| source.split(mark).skip(1));
    let lines = blocks.flat_map(|block| {
        let end = block.lines().position(|line| line.ends_with("\")]") || line.ends_with("\";"));
        block.lines().take(end.unwrap() + 1)
    });
    let examples = lines.filter(|line| line.starts_with("  ")).map(|line| {
        let line = line.strip_suffix("\")]").or(line.strip_suffix("\";")).unwrap_or(line);
        line.replace("\\\"", "\"")
    });
    examples.collect()
}

#[test]
fn examples_in_the_help_are_never_wrapped() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/casefilter");
    let mut found = 0;
    let files = [folder.clone(), folder.join("commands")].map(|folder| fs::read_dir(folder).ok());
    for entry in files.into_iter().flatten().flatten() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let examples = if file.is_file() { examples_of(&file) } else { Vec::new() };
        let commands: &[&[&str]] = match name.as_str() {
            _ if examples.is_empty() => continue,
            "main" => &[&[]],
            "audit" => &[&["audit"], &["audit", "list"], &["audit", "verify"]],
            "token" => &[&["token", "app"], &["token", "share"]],
            name => &[&[name]],
        };
        for width in [None, Some("60"), Some("80"), Some("100"), Some("200")] {
            for flag in ["-h", "--help"] {
                let helps = commands.iter().map(|args| {
                    let mut command = casefilter(args);
                    command.arg(flag).env_remove("COLUMNS");
                    command.envs(width.map(|width| ("COLUMNS", width)));
                    String::from_utf8(command.output().unwrap().stdout).unwrap()
                });
                let help: String = helps.collect();
                assert!(!help.contains('\u{e000}'), "{help}");
                for example in &examples {
                    assert!(
                        help.lines().any(|line| line == example),
                        "{name} at {width:?}: {example}\n{help}"
                    );
                }
            }
        }
        found += examples.len();
    }
    assert!(found > 50, "{found}");
    let nothing = run(&[]).code(2);
    assert!(nothing.err.contains("  casefilter demo\n"), "{}", nothing.err);
}

#[test]
fn flags_and_variables_take_durations_of_one_form() {
    let folder = Folder::with_cases();
    let serve = ["serve", "--db", "none.db", "--tokens", "none.json"];
    for flag in [
        "clock-window",
        "read-timeout",
        "write-timeout",
        "turn-timeout",
        "search-timeout",
        "grace",
        "source-statement-timeout",
    ] {
        let variable = format!("CASEFILTER_{}", flag.to_uppercase().replace('-', "_"));
        let flag = format!("--{flag}");
        for sound in ["3", "0", "500ms", "3s", "20m", "1h", "7d"] {
            // The command then fails only for the missing file of tokens.
            folder.run(&[&serve[..], &[&flag, sound]].concat()).code(1).err_has("none.json");
            ended(folder.command(&serve).env(&variable, sound)).code(1).err_has("none.json");
        }
        for bad in ["", "3x", "1.5s", "-1s", "1h30m", "40000d"] {
            let flag = format!("{flag}={bad}");
            folder.run(&[&serve[..], &[&flag]].concat()).code(2).err_has("expected ");
        }
        ended(folder.command(&serve).env(&variable, "3x"))
            .code(2)
            .err_has("ms, s, m, h or d, such as 500ms, 3s, 20m, 1h or 7d; a bare number is ");
    }
    let share = |expires| {
        folder.run(&["token", "share", "--db", "none.db", "--applicant", "a", "--expires", expires])
    };
    share("90s").code(1).err_has("none.db");
    share("20").code(2).err_has("such as 500ms, 3s, 20m, 1h or 7d");
}

#[test]
fn help_lists_every_unit_of_a_duration() {
    for args in [&["serve", "--help"][..], &["token", "share", "-h"], &["token", "share", "--help"]] {
        let help = run(args).code(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("a whole number and ms, s, m, h or d"), "{args:?}: {help}");
    }
}

#[test]
fn the_help_of_serve_names_every_command_that_uses_its_socket() {
    let serve = run(&["serve", "--help"]).code(0).out;
    let (_, named) = serve.split_once("these commands use its socket").unwrap();
    let (named, _) = named.split_once('.').unwrap();
    let mut named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    let help = run(&["--help"]).code(0).out;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    let has_socket = |name: &str| {
        let args: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        run(&args).code(0).out.contains("--admin-socket <PATH>")
    };
    let groups = ["token share", "token shares", "token app", "audit replay", "filters list"];
    let names = names.filter(|name| *name != "serve").chain(groups);
    let of_group = |name| if name == "filters list" { "filters" } else { name };
    let mut expected: Vec<&str> = names.filter(|name| has_socket(name)).map(of_group).collect();
    named.sort_unstable();
    expected.sort_unstable();
    assert_eq!(named, expected);
    assert!(expected.len() > 9, "{expected:?}");
}

#[test]
fn wrong_arguments_get_advice() {
    let folder = Folder::with_cases();
    folder.run(&["search", "cases.ndjson", "--body", "{\"criteria\":[]}"]).code(2).err_has("`--body -`");
    folder
        .run(&["search", "cases.ndjson", "--where", "status", "=", "open"])
        .code(2)
        .err_has("--where 'status = open'");
    let piped =
        ended(folder.command(&["search"]).write_stdin("{\"id\":\"a\"}\n").env_remove("CASEFILTER_SOURCE"));
    piped.code(2).err_has("`-` to read them from standard input");
}

#[test]
fn an_unknown_command_gets_advice() {
    for (command, advice) in [
        ("remove", "tip: `casefilter delete --db FILE.db --ids ID,…` deletes cases"),
        ("facets", "tip: `casefilter stats CASES --by FIELD`"),
        ("restore", "tip: a backup is a database itself"),
        ("completion", "tip: `casefilter completions bash` prints the script"),
        ("manual", "tip: `casefilter man -o FOLDER`"),
        ("Query", "tip: `casefilter search CASES --where '…'` shows the cases"),
        ("exprot", "tip: did you mean `casefilter export`?"),
        ("cases.db", "tip: to search a file, write `casefilter search cases.db`"),
    ] {
        let err = run(&[command]).code(2).err;
        assert!(
            err.contains(&format!("unrecognized subcommand '{command}'")) && err.contains(advice),
            "{err}"
        );
        assert!(!err.contains("similar subcommand"), "{err}");
    }
    assert!(!run(&["frobnicate"]).code(2).err.contains("tip"));
    run(&["token", "shar"]).code(2).err_has("'share'");
}
