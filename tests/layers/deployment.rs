//! Checks the files in `deploy` and the pages for operators: they name the metrics, log events and limits that the source has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::documents::{anchors, check_default_limits, root, table};

/// The metrics of the source, each with its type.
type Metrics = BTreeMap<String, String>;

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the tokens of a Rust file, without its tests.
fn tokens(path: &Path) -> TokenStream {
    let text = read(path);
    text.split("#[cfg(test)]\nmod ").next().unwrap().parse().unwrap()
}

/// Returns the Rust files below a folder of `src`.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the value of a string literal without escapes.
fn string(tree: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = tree else { return None };
    let text = literal.to_string();
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// Adds the metrics of all calls of `head` and `one` whose first two arguments are the name and the type.
fn add_metrics(stream: TokenStream, prefix: &str, metrics: &mut Metrics) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        let TokenTree::Group(group) = tree else { continue };
        add_metrics(group.stream(), prefix, metrics);
        let is_call = matches!(trees.get(at.wrapping_sub(1)), Some(TokenTree::Ident(name)) if name == "head" || name == "one");
        let arguments: Vec<TokenTree> = group.stream().into_iter().collect();
        if let (true, Some(name), Some(kind)) =
            (is_call, arguments.first().and_then(string), arguments.get(2).and_then(string))
        {
            metrics.insert(format!("{prefix}_{name}"), kind);
        }
    }
}

fn metrics() -> Metrics {
    let mut metrics = Metrics::new();
    add_metrics(tokens(Path::new("src/service/metrics/text.rs")), "casefilter", &mut metrics);
    add_metrics(tokens(Path::new("src/service/metrics/process.rs")), "process", &mut metrics);
    assert!(metrics.len() > 25, "{metrics:?}");
    metrics
}

/// Returns the words of a text that look like names of metrics.
fn named_metrics(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words.filter(|word| word.starts_with("casefilter_") || word.starts_with("process_")).collect()
}

#[test]
fn the_dashboard_and_the_alerts_use_metrics_that_exist() {
    let metrics = metrics();
    for (path, least) in [("deploy/grafana.json", 20), ("deploy/alerts.yml", 10)] {
        let text = read(path);
        let named = named_metrics(&text);
        for name in &named {
            let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let is_part =
                of_histogram.is_some_and(|name| metrics.get(name).is_some_and(|kind| kind == "histogram"));
            let is_whole = metrics.get(*name).is_some_and(|kind| kind != "histogram");
            assert!(is_part || is_whole, "{path}: {name} is not a metric");
        }
        assert!(named.len() > least, "{path}: {named:?}");
    }
}

#[test]
fn the_table_of_metrics_is_complete() {
    let rows = table(&read("docs/metrics-and-logs.md"), "## Metrics");
    let listed: Metrics =
        rows.into_iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect();
    assert_eq!(listed, metrics());
}

/// The message of an event in the log, and the names of its fields.
type Events = BTreeMap<String, BTreeSet<String>>;

/// Adds the events of all macros of `tracing`, also those inside other macros.
fn add_events(stream: TokenStream, events: &mut Events) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            add_events(group.stream(), events);
        }
        if !matches!(tree, TokenTree::Ident(name) if name == "tracing") {
            continue;
        }
        // `tracing::info!(…)`, or `tracing::$level!(…)` in a macro.
        let call = trees.iter().skip(at).take(7).find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
            _ => None,
        });
        let Some(call) = call else { continue };
        let arguments: Vec<TokenTree> = call.into_iter().collect();
        let arguments: Vec<&[TokenTree]> = arguments
            .split(|tree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ','))
            .filter(|argument| !argument.is_empty())
            .collect();
        let mut fields = BTreeSet::new();
        let mut message = None;
        for argument in arguments {
            // A format string that has arguments is the message, and the arguments after it are not fields.
            if message.is_some() {
                break;
            }
            message = argument.first().and_then(string);
            let name = argument.iter().find_map(|tree| match tree {
                TokenTree::Ident(name) => Some(name.to_string()),
                _ => None,
            });
            fields.extend(name.filter(|_| message.is_none()));
        }
        events.entry(message.unwrap().replace("{what}", "…")).or_default().extend(fields);
    }
}

#[test]
fn the_tables_of_the_log_are_complete() {
    let mut files = vec![root().join("src/bin/casefilter/commands/serve.rs")];
    for folder in ["src/service", "src/postgres", "src/bin/casefilter/commands/serve"] {
        rust_files(&root().join(folder), &mut files);
    }
    let mut events = Events::new();
    for file in files {
        add_events(tokens(&file), &mut events);
    }
    // The warnings about tokens are whole sentences.
    let warnings = events.remove("{}").unwrap();
    events.insert("token …: …".to_owned(), warnings);
    assert!(events.len() > 25, "{events:?}");

    let page = read("docs/metrics-and-logs.md");
    let names = |cell: &str| {
        let parts = cell.split(", ").filter(|part| !part.is_empty());
        parts.map(|part| part.trim_matches('`').to_owned()).collect::<BTreeSet<_>>()
    };
    let listed: Events = table(&page, "### Events")
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), names(&row[2])))
        .collect();
    assert_eq!(listed, events);

    let fields: BTreeSet<String> = events.into_values().flatten().collect();
    let described: BTreeSet<String> =
        table(&page, "### Fields").into_iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    let of_every_line = ["timestamp", "level", "message"].map(str::to_owned);
    assert_eq!(described, fields.into_iter().chain(of_every_line).collect());
}

#[test]
fn alerts_refer_to_sections_of_the_runbook() {
    let alerts = read("deploy/alerts.yml");
    let sections = anchors(&read("docs/runbook.md"));
    let mut count = 0;
    for line in alerts.lines().filter_map(|line| line.trim().strip_prefix("runbook: ")) {
        let section = line.strip_prefix("docs/runbook.md#").unwrap();
        assert!(sections.contains(section), "{section}");
        count += 1;
    }
    assert_eq!(count, alerts.matches("- alert: ").count());
}

#[test]
fn the_security_policy_lists_the_default_limits() {
    check_default_limits(&table(&read("SECURITY.md"), "### Of requests and documents"));
}

#[cfg(feature = "service")]
#[test]
fn the_security_policy_lists_the_default_options_of_the_service() {
    use crate::documents::{grouped, mebibytes};

    let options = casefilter::service::ServiceOptions::default();
    let seconds = |time: std::time::Duration| format!("{}s", time.as_secs());
    let expected = [
        ("clock-window", seconds(options.clock_window)),
        ("remembered-signatures", grouped(options.remembered_signatures)),
        ("connections", grouped(options.connections)),
        ("connections-per-peer", grouped(options.connections_per_peer)),
        ("concurrency", grouped(options.concurrency)),
        ("requests-per-second", options.requests_per_second.to_string()),
        ("bytes-in-flight", options.bytes_in_flight.to_string()),
        ("buffered-bytes", mebibytes(options.buffered_bytes)),
        ("spooled-bytes", mebibytes(options.spooled_bytes)),
        ("answer-bytes", mebibytes(options.max_response_bytes)),
        ("outgoing-bytes", mebibytes(options.outgoing_bytes)),
        ("read-timeout", seconds(options.read_timeout)),
        ("write-timeout", seconds(options.write_timeout)),
        ("turn-timeout", seconds(options.write_queue_timeout)),
        ("search-timeout", seconds(options.search_timeout)),
        ("standing-filters", grouped(options.standing_filters)),
        ("standing-bytes", mebibytes(options.standing_bytes)),
        ("event-listeners", options.event_listeners.to_string()),
        ("event-listeners-per-token", options.event_listeners_per_token.to_string()),
        ("drain", seconds(options.shutdown_delay)),
        ("grace", seconds(options.shutdown_timeout)),
    ];
    let expected = expected.map(|(flag, default)| (format!("`--{flag}`"), default));
    let listed: Vec<(String, String)> = table(&read("SECURITY.md"), "### Of the service")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(listed, expected);
}

/// Returns the files that a text names in backquotes.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split('`').skip(1).step_by(2);
    words.filter(|word| ["src/", "tests/", "fuzz/", "deploy/"].iter().any(|folder| word.starts_with(folder)))
}

#[test]
fn the_files_that_the_security_policy_names_exist() {
    // A published package lacks some of the files.
    if !root().join("fuzz").exists() {
        return;
    }
    let text = read("SECURITY.md");
    for file in named_files(&text) {
        assert!(root().join(file).exists(), "{file}");
    }
    assert!(named_files(&text).count() > 20);
}

#[test]
fn the_image_is_built_with_the_oldest_rust_that_ci_checks() {
    let manifest = read("Cargo.toml");
    let (_, version) = manifest.split_once("\nrust-version = \"").unwrap();
    let version = version.split('"').next().unwrap();
    assert!(read("deploy/Dockerfile").contains(&format!("\nARG RUST={version}\n")), "{version}");
}
