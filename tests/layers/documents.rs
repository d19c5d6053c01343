//! Checks the Markdown documents: every relative link resolves, and tables list what the code has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casefilter::Limits;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the documents for readers of the repository. Chapters of the guide are left out: rustdoc checks their links.
fn documents() -> Vec<PathBuf> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let files = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(is_document)
    };
    let mut documents: Vec<PathBuf> =
        ["", "docs", "benches", "benches/peers", "src/store"].into_iter().flat_map(files).collect();
    documents.sort();
    documents
}

/// Returns the lines outside fenced blocks, each without its code in backquotes.
fn prose(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

/// Returns the targets of the links of a document.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text);
    let rests = lines.iter().flat_map(|line| line.split("](").skip(1));
    rests.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Returns the names by which links refer to the headings of a document, as GitHub makes them.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let name = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(name).collect()
}

/// Returns the fault of a link, if it has one.
fn fault(document: &Path, text: &str, target: &str) -> Option<&'static str> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { document.to_owned() } else { document.parent().unwrap().join(path) };
    if !path.exists() {
        return Some("no such file");
    }
    let text = if path == document { text.to_owned() } else { fs::read_to_string(path).unwrap_or_default() };
    let is_found = anchor.is_none_or(|anchor| anchors(&text).contains(anchor));
    if is_found { None } else { Some("no such heading") }
}

#[test]
fn every_relative_link_of_a_document_resolves() {
    // A published package lacks some of the documents.
    if !root().join("fuzz").exists() {
        return;
    }
    let mut faults = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for target in links(&text) {
            checked += 1;
            if let Some(fault) = fault(&document, &text, &target) {
                faults
                    .push(format!("{}: {target}: {fault}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 50, "{checked}");
}

#[test]
fn short_pages_stay_short() {
    // A published package lacks some of the pages.
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    for (path, lines) in [("README.md", 219), ("ARCHITECTURE.md", 180)] {
        let found = read(path).lines().count();
        assert!(found <= lines, "{path} has {found} lines, more than {lines}");
    }
    for (path, bytes) in [("benches/README.md", 16 << 10), ("benches/HISTORY.md", 8 << 10)] {
        let found = read(path).len();
        assert!(found < bytes, "{path} has {found} bytes, not less than {bytes}");
    }
    let examples: Vec<_> =
        fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(examples.len() >= 7, "{examples:?}");
    for example in examples {
        let found = fs::read_to_string(&example).unwrap().lines().count();
        assert!(found < 80, "{} has {found} lines", example.display());
    }
}

#[test]
fn links_and_headings_are_recognised() {
    let text = "# One\n\n[a](b.md) and [`c`](d.md#e-f), `[x](y)`\n```sh\n# [no](link)\n```\n## Sizes, and `memory`\n";
    assert_eq!(links(text), ["b.md", "d.md#e-f"]);
    assert_eq!(anchors(text), BTreeSet::from(["one".to_owned(), "sizes-and-memory".to_owned()]));
    let here = root().join("README.md");
    assert_eq!(fault(&here, text, "Cargo.toml"), None);
    assert_eq!(fault(&here, text, "#one"), None);
    assert_eq!(fault(&here, text, "#two"), Some("no such heading"));
    assert_eq!(fault(&here, text, "docs/no-such-page.md"), Some("no such file"));
}

/// Returns the rows of the table below a heading of a document, as cells.
pub(crate) fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).unwrap();
    let section = rest.split("\n#").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Returns the rows of the table in a section of README.md.
fn rows(section: &str) -> Vec<Vec<String>> {
    table(&fs::read_to_string(root().join("README.md")).unwrap(), &format!("## {section}"))
}

#[test]
fn the_readme_lists_every_feature() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let features = features.split("\n[").next().unwrap();
    let names = features.lines().filter_map(|line| line.split_once(" = [")).map(|(name, _)| name);
    let names: BTreeSet<String> =
        names.filter(|name| *name != "default").map(|name| format!("`{name}`")).collect();
    let listed: BTreeSet<String> = rows("Features").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(listed, names);
}

/// Returns a number with commas between groups of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

/// Returns a number of bytes in MiB.
pub(crate) fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", grouped(bytes >> 20))
}

/// Returns the default limits as tables of documents write them: how the name of each limit begins, and how its value begins.
fn default_limits() -> [(&'static str, String); 12] {
    let limits = Limits::default();
    [
        ("request body", mebibytes(limits.body_bytes)),
        ("nesting depth of criteria", grouped(limits.depth)),
        ("criteria in a body", grouped(limits.criteria)),
        ("values in a body", grouped(limits.values)),
        ("`ids` in a body", grouped(limits.ids)),
        ("one string", format!("{} bytes", grouped(limits.string_bytes))),
        ("`limit` of a page", format!("{} cases", grouped(usize::try_from(limits.page).unwrap()))),
        ("facets in a request", grouped(limits.facets)),
        ("values of one facet", grouped(usize::try_from(limits.facet_values).unwrap())),
        ("buckets of one histogram", grouped(usize::try_from(limits.facet_buckets).unwrap())),
        (
            "one case document",
            format!("{}, {} levels deep", mebibytes(limits.document_bytes), limits.document_depth),
        ),
        ("batches in an engine", grouped(limits.batches)),
    ]
}

/// Checks that a table lists the default limits, and the fixed limit of the `id` of a case.
pub(crate) fn check_default_limits(rows: &[Vec<String>]) {
    let expected = default_limits();
    for (limit, default) in &expected {
        let row =
            rows.iter().find(|row| row[0].starts_with(limit)).unwrap_or_else(|| panic!("no row for {limit}"));
        assert!(row[1].starts_with(default.as_str()), "{limit}: {row:?}, not {default}");
    }
    assert_eq!(rows.len(), expected.len() + 1);
}

#[test]
fn the_readme_lists_the_default_limits() {
    check_default_limits(&rows("Limits"));
}
