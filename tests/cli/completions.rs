//! `completions`: the scripts of the shells, and the hidden command that they call, as they call it.

use super::run::{Folder, casefilter, ended};

/// Returns the completions of the last word: the lines after `words`, or `None` if the shell completes files.
fn complete(folder: &Folder, shell: &str, words: &[&str]) -> Option<Vec<String>> {
    let run = folder.run(&[&["complete", shell, "--"], words].concat()).code(0);
    assert_eq!(run.err, "");
    let mut lines = run.out.lines().map(str::to_owned);
    match lines.next().as_deref() {
        Some("words") => Some(lines.collect()),
        Some("files") => None,
        other => panic!("{other:?}"),
    }
}

fn words(folder: &Folder, shell: &str, words: &[&str]) -> Vec<String> {
    complete(folder, shell, words).unwrap_or_else(|| panic!("{words:?} completes files"))
}

#[test]
fn commands_flags_and_values_are_completed() {
    let folder = Folder::new();
    assert_eq!(words(&folder, "bash", &["sea"]), ["search "]);
    let all = words(&folder, "bash", &[""]);
    assert!(all.contains(&"completions ".to_owned()) && !all.contains(&"complete ".to_owned()), "{all:?}");
    assert_eq!(words(&folder, "bash", &["search", "--whe"]), ["--where "]);
    assert_eq!(words(&folder, "bash", &["search", "x", "--format", "js"]), ["json "]);
    assert_eq!(words(&folder, "bash", &["search", "x", "--format", "=", "js"]), ["json "]);
    assert_eq!(words(&folder, "bash", &["completions", "b"]), ["bash "]);
    assert_eq!(words(&folder, "bash", &["search", "--order", "-createdA"]), ["-createdAt "]);
    assert_eq!(words(&folder, "fish", &["search", "--order=-createdA"]), ["--order=-createdAt "]);
    assert!(words(&folder, "fish", &["sea"])[0].starts_with("search \tFind the cases"));
    for files in [&["search", ""][..], &["search", "ca"], &["search", "--body", ""], &["import", "--db", "x"]]
    {
        assert_eq!(complete(&folder, "bash", files), None, "{files:?}");
    }
    let columns = |written| words(&folder, "bash", &["search", "x", "--columns", written]);
    assert_eq!(columns("caseReview.stat"), ["caseReview.status"]);
    assert_eq!(columns("id,tags,stat"), ["id,tags,status"]);
    assert_eq!(columns("status,stat"), [""; 0]);
    let by = |written| words(&folder, "fish", &["stats", "x", "--by", written]);
    assert_eq!(by("createdA"), ["createdAt"]);
    assert_eq!(by("createdAt:m"), ["createdAt:month"]);
    assert_eq!(by("totalAmountInDefaultCurrency:w"), ["totalAmountInDefaultCurrency:width="]);
    assert_eq!(by("tags:"), ["tags:limit="]);
    // Bash splits words at `:`.
    assert_eq!(words(&folder, "bash", &["stats", "x", "--by", "createdAt", ":", "mo"]), ["month"]);
    assert_eq!(words(&folder, "bash", &["stats", "--by", "=", "createdAt", ":"])[0], "hour");
    assert_eq!(
        words(&folder, "zsh", &["stats", "--by=createdAt:ye"]),
        ["--by=createdAt:year\tcreatedAt:year"]
    );
    // Words that make no sense are no error.
    for odd in [&["frobnicate", "x"][..], &["search", "--where", "'a'b"], &["--", ""], &[]] {
        complete(&folder, "bash", odd);
    }
}

#[test]
fn filters_are_completed_in_their_quotes() {
    let folder = Folder::new();
    let bash = |text: &str| words(&folder, "bash", &["search", "x.ndjson", "--where", text]);
    let zsh = |text: &str| words(&folder, "zsh", &["search", "x.ndjson", "--where", text]);
    // A second completion keeps bash from closing the quote.
    assert_eq!(bash("'caseReview.stat"), ["caseReview.status ", "caseReview.status  "]);
    assert_eq!(bash("'priority in (low, h"), ["priority in (low, high ", "priority in (low, high  "]);
    assert_eq!(bash("\"priority = m"), ["priority = medium ", "priority = medium  "]);
    assert_eq!(bash("stat"), ["'status ", "'caseReview.status "]);
    let operators = bash("'status ");
    assert!(operators.contains(&"status = ".to_owned()), "{operators:?}");
    assert!(operators.contains(&"status starts with ".to_owned()), "{operators:?}");
    assert_eq!(bash("'status = open "), ["status = open and ", "status = open or "]);
    assert_eq!(bash("'status = open'"), [""; 0]);
    assert_eq!(bash("'status == "), [""; 0]);
    assert_eq!(zsh("'caseReview.stat"), ["'caseReview.status \tcaseReview.status  -- string"]);
    assert_eq!(zsh("\"caseReview.stat"), ["\"caseReview.status \tcaseReview.status  -- string"]);
    let fish = words(&folder, "fish", &["search", "x", "--where", "'priority = "]);
    assert_eq!(fish, ["priority = low ", "priority = medium ", "priority = high "]);
    for whole in ["--where='caseReview.stat", "--where=caseReview.stat"] {
        let found = words(&folder, "zsh", &["search", "x", whole]);
        assert_eq!(found, ["--where='caseReview.status \tcaseReview.status  -- string"], "{whole}");
    }
    // Bash splits words at `=`.
    assert_eq!(
        words(&folder, "bash", &["search", "--where", "=", "'caseReview.stat"])[0],
        "caseReview.status "
    );
    assert!(words(&folder, "bash", &["search", "--where", "="]).contains(&"'status ".to_owned()));
}

#[test]
fn values_of_a_database_are_completed() {
    let folder = Folder::new();
    folder.write(
        "cases.ndjson",
        "{\"id\":\"c-1\",\"tags\":[\"crypto\",\"it's\"],\"name\":\"Ann \\\"A\\\"\"}\n",
    );
    folder.run(&["import", "--db", "my cases.db", "cases.ndjson"]).code(0);
    for path in ["'my cases.db'", "\"my cases.db\"", "my\\ cases.db"] {
        for words_before in [&["search", path][..], &["export", "--db", path]] {
            let of = |text: &str| words(&folder, "bash", &[words_before, &["--where", text]].concat());
            assert_eq!(of("'tags = cr")[0], "tags = crypto ", "{path}");
            // Within single quotes, a single quote cannot be written.
            assert_eq!(of("'tags = it"), [""; 0]);
            assert_eq!(of("\"tags = it")[0], "tags = \\\"it's\\\" ");
            assert_eq!(of("'name = A")[0], "name = \"Ann \\\"A\\\"\" ");
        }
    }
    // Files that are no databases have no values.
    assert_eq!(words(&folder, "bash", &["search", "cases.ndjson", "--where", "'tags = cr"]), [""; 0]);
    // The words are those of the catalogue.
    folder.write(
        "tickets.toml",
        "[id]\npath = \"ticketId\"\ntype = \"integer\"\n[[fields]]\npath = \"subject\"\ntype = \"string\"\n",
    );
    let own = words(&folder, "bash", &["search", "x", "--catalog", "tickets.toml", "--where", "'"]);
    assert!(own.contains(&"ticketId ".to_owned()) && own.contains(&"subject ".to_owned()), "{own:?}");
    assert!(!own.iter().any(|word| word.starts_with("status")), "{own:?}");
    folder.write("tickets.ndjson", "{\"ticketId\":7,\"subject\":\"No light\"}\n");
    folder.run(&["import", "--db", "tickets.db", "--catalog", "tickets.toml", "tickets.ndjson"]).code(0);
    assert_eq!(
        words(&folder, "bash", &["search", "tickets.db", "--where", "'subject = N"])[0],
        "subject = \"No light\" "
    );
    assert_eq!(words(&folder, "bash", &["search", "tickets.db", "--where", "'ids ("])[0], "ids (7 ");
}

/// Runs the script in bash, with the words that bash passes to the function.
#[cfg(unix)]
#[test]
fn the_script_of_bash_completes_filters() {
    let folder = Folder::new();
    let script = folder.run(&["completions", "bash"]).code(0).out;
    folder.write("completion.bash", script);
    let binary = assert_cmd::cargo::cargo_bin!("casefilter").display().to_string();
    let check = |words: &str, cursor: usize, expected: &str| {
        let program = format!(
            "source completion.bash; COMP_WORDS=({words}); COMP_CWORD={cursor}; _casefilter '{binary}' x y 2>/dev/null; printf '[%s]' \"${{COMPREPLY[@]}}\"",
        );
        let run = ended(assert_cmd::Command::new("bash").args(["-c", &program]).current_dir(folder.0.path()));
        assert_eq!(run.out, expected, "{words}: {run:?}");
    };
    check("casefilter sea", 1, "[search ]");
    check(r#"casefilter search x --where "'status = o""#, 4, "[status = open ][status = open  ]");
    check("casefilter search ca", 2, "[]");
}

#[test]
fn every_shell_has_a_script() {
    for (shell, part) in
        [("bash", "complete -o default"), ("zsh", "#compdef casefilter"), ("fish", "complete -c casefilter")]
    {
        let run = ended(&mut casefilter(&["completions", shell]));
        assert!(run.code == 0 && run.out.contains(part), "{run:?}");
    }
}
