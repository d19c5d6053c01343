//! Advice for users who write a command that does not exist. If a word of the table becomes a command, remove it from the table.

/// Names of commands in other programs, each with the command of casefilter that does the same, or other advice.
const TABLE: [(&[&str], &str); 26] = [
    (
        &["remove", "rm", "purge", "drop", "forget", "unset", "truncate"],
        "`casefilter delete --db FILE.db --ids ID,…` deletes cases, and with --where '…' those that a filter selects",
    ),
    (
        &["restore", "recover", "rollback", "undo"],
        "a backup is a database itself: check it by `casefilter verify BACKUP.db`, stop the service, and replace the old file by it",
    ),
    (
        &["completion", "autocomplete", "autocompletion"],
        "`casefilter completions bash` prints the script by which bash completes arguments; also zsh and fish",
    ),
    (
        &["manual", "manpage", "manpages", "docs"],
        "`casefilter man -o FOLDER` writes the manual pages, and `casefilter <COMMAND> --help` has the flags of one command, with examples",
    ),
    (
        &["count", "counts", "total", "size"],
        "`casefilter search CASES --where '…' --limit 0 --count --format json` counts the cases that a filter selects",
    ),
    (
        &[
            "group",
            "group-by",
            "groupby",
            "facet",
            "facets",
            "aggregate",
            "statistics",
            "histogram",
            "frequency",
            "top",
            "summarize",
            "summary",
        ],
        "`casefilter stats CASES --by FIELD` counts the cases of each value of a field",
    ),
    (
        &[
            "find", "query", "filter", "select", "list", "ls", "get", "grep", "cat", "view", "show", "head",
            "sort", "jq",
        ],
        "`casefilter search CASES --where '…'` shows the cases that a filter selects; without a filter, all",
    ),
    (
        &[
            "load", "insert", "add", "put", "upsert", "update", "ingest", "create", "init", "new", "store",
            "append", "merge", "replace", "read", "open",
        ],
        "`casefilter import --db FILE.db CASES` stores cases, and replaces those with the same ids; it makes the database if there is none",
    ),
    (
        &["csv", "tsv", "spreadsheet", "excel"],
        "`casefilter search CASES --format csv --columns id,status --limit all > FILE.csv` writes cases for a spreadsheet",
    ),
    (
        &["dump", "save", "write", "convert", "parquet", "ndjson", "extract", "unload", "download"],
        "`casefilter export CASES -o FILE` writes cases as .ndjson, .json, .tsv or .parquet",
    ),
    (
        &["copy", "cp", "snapshot", "clone", "archive"],
        "`casefilter backup FILE.db -o COPY.db` copies a database",
    ),
    (
        &["vacuum", "optimize", "optimise", "gc", "shrink", "defrag", "clean", "reindex", "index"],
        "`casefilter compact FILE.db` frees the unused pages of a database; indexes need no maintenance",
    ),
    (
        &["fsck", "repair", "validate", "integrity", "checksum", "test", "doctor"],
        "`casefilter verify FILE.db` checks a database, and `casefilter check --where '…'` a filter",
    ),
    (
        &["lint", "parse", "compile"],
        "`casefilter check --where '…'` shows the meaning of a filter, or its errors",
    ),
    (
        &["plan", "analyze", "analyse", "profile", "trace"],
        "`casefilter explain CASES --where '…' --analyze` shows how a request is answered",
    ),
    (
        &["whynot", "why-not", "reason", "debug"],
        "`casefilter why CASES --id ID --where '…'` shows why a case is selected, or is not",
    ),
    (
        &["schema", "columns", "catalog", "catalogue", "describe", "field", "inspect"],
        "`casefilter fields` lists the fields that a filter can name; --catalog FILE gives other commands a file with other fields",
    ),
    (
        &["server", "start", "run", "daemon", "http", "listen", "up"],
        "`casefilter serve --db FILE.db --tokens TOKENS.json` answers over HTTP",
    ),
    (
        &["stop", "restart", "reload", "status", "kill", "shutdown", "down", "ps"],
        "a service is a process of `casefilter serve`: stop it by Ctrl-C or SIGTERM",
    ),
    (
        &["upgrade", "migrate", "migration", "migrations"],
        "an upgrade needs no command: a new version reads and writes the databases of older versions; make a backup before the upgrade",
    ),
    (
        &["diff", "compare", "changes"],
        "no command compares: write both by `casefilter export CASES --order id -o FILE`, and compare the files by `diff`",
    ),
    (
        &["tail", "alert", "subscribe", "follow", "events"],
        "`casefilter watch --db FILE.db` prints which standing filters cases enter and leave; `casefilter filters add` adds such filters",
    ),
    (
        &["auth", "login", "tokens", "key", "keys", "user", "users", "secret", "app", "share"],
        "`casefilter token app` makes a token for a client, and `casefilter token share` one for a preview",
    ),
    (
        &["sample", "samples", "seed", "gen", "mock", "fake"],
        "`casefilter generate --cases 1000` makes sample cases",
    ),
    (
        &["benchmark", "perf", "time"],
        "`casefilter bench CASES --requests FILE` measures the time of requests",
    ),
    (&["version", "about", "info"], "`casefilter --version` prints the version"),
];

/// Returns advice for a command that does not exist. `commands` contains the names of the existing commands.
pub(crate) fn on_command<'c>(written: &str, commands: impl Iterator<Item = &'c str>) -> Option<String> {
    let lower = written.to_lowercase();
    if let Some((_, advice)) = TABLE.iter().find(|(words, _)| words.contains(&lower.as_str())) {
        return Some((*advice).to_owned());
    }
    let errors = if lower.chars().count() < 5 { 1 } else { 2 };
    let near = commands.map(|command| (strsim::damerau_levenshtein(&lower, command), command)).min()?;
    let looks_like_file = lower.contains(['.', '/', '\\']);
    match near {
        (distance, command) if distance <= errors => Some(format!("did you mean `casefilter {command}`?")),
        _ if looks_like_file => Some(format!(
            "to search a file, write `casefilter search {}`",
            crate::output::escape::escape(written)
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const COMMANDS: [&str; 4] = ["search", "serve", "compact", "generate"];

    #[test]
    fn commands_of_other_programs_get_advice() {
        let advice = |word: &str| on_command(word, COMMANDS.into_iter());
        for (word, part) in [
            ("remove", "`casefilter delete --db"),
            ("Restore", "a backup is a database itself"),
            ("completion", "`casefilter completions bash`"),
            ("manual", "`casefilter man -o FOLDER`"),
            ("serach", "did you mean `casefilter search`?"),
            ("COMPCT", "did you mean `casefilter compact`?"),
            ("cases.ndjson", "`casefilter search cases.ndjson`"),
        ] {
            assert!(advice(word).is_some_and(|advice| advice.contains(part)), "{word}: {:?}", advice(word));
        }
        assert_eq!(advice("frobnicate"), None);
    }

    #[test]
    fn no_word_is_listed_twice() {
        let mut seen = HashSet::new();
        let words = TABLE.iter().flat_map(|(words, _)| words.iter());
        assert_eq!(words.filter(|word| !seen.insert(**word)).count(), 0);
    }
}
