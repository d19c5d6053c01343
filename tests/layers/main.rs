//! Checks imports against the table of rooms. A room is a part of the library. The table lists the rooms that each room may use;
//! they come before it in the table.
//!
//! The checks read the tokens of `src`, so comments, strings and `#[cfg(test)]` items do not count. A path counts if it starts at
//! the crate (`crate::value::Number`, also inside a group such as `crate::{error, value}`) or leaves its module by `super`.

mod circles;
mod deployment;
mod documents;
mod source;
mod words;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use source::{Source, library};

/// A room of the library: a folder or file of `src`, or a part of one with its own rules.
struct Room {
    /// Its module path with slashes. The longest path that matches a module decides.
    path: &'static str,
    /// The rooms that it may use, besides itself. All come before it in the table.
    may_use: &'static [&'static str],
    /// Its purpose, which explains why it may not use more.
    because: &'static str,
}

const fn room(path: &'static str, may_use: &'static [&'static str], because: &'static str) -> Room {
    Room { path, may_use, because }
}

/// The rooms of the core, bottom up. The test fails for a room that is not in the table.
const ROOMS: &[Room] = &[
    room("guide", &[], "the guide is text, without code"),
    room("error", &[], "every room reports errors, so errors know no other room"),
    room(
        "envelope",
        &["error"],
        "the form in which a client learns errors, over HTTP and in lines of answers",
    ),
    room("limits", &[], "bounds are numbers that the host sets"),
    room("stop", &["error"], "a search stops for reasons of the host, independent of what it searches"),
    room("lock", &[], "a lock does not depend on the type of its value"),
    room("value", &[], "values know only their type, not the fields that have them"),
    room("catalog", &["error", "value"], "fields are described before any request exists"),
    room("json", &["error"], "the JSON reader knows bytes and positions, not their meaning"),
    room(
        "catalog/file",
        &["error", "value", "catalog", "json"],
        "catalogues as text are the only part of them that has a syntax",
    ),
    room(
        "operator",
        &["catalog", "value"],
        "the table of operators is about types and values, not about a syntax",
    ),
    room(
        "criteria",
        &["error", "limits", "operator", "json", "value"],
        "the body as written, with fields not resolved yet",
    ),
    room(
        "predicate",
        &["error", "operator", "catalog", "value"],
        "the meaning of a filter, independent of its syntax: only `lower` sees the body as written",
    ),
    room(
        "predicate/lower",
        &["error", "operator", "catalog", "value", "criteria", "predicate"],
        "the only conversion from the body as written to its meaning",
    ),
    room("kernels", &[], "loops over words: slices in, words out, without their meaning"),
    room("slice", &[], "the memory of plain values, without their meaning"),
    room("rows", &["kernels", "slice"], "sets of rows of a batch, for any selection"),
    room(
        "column",
        &["catalog", "value", "kernels", "slice", "rows"],
        "the memory layout of values, independent of batches",
    ),
    room(
        "batch",
        &["error", "catalog", "value", "rows", "column"],
        "stored rows, independent of readers and writers",
    ),
    room(
        "index",
        &["catalog", "value", "slice", "rows", "column", "batch"],
        "strings, keys and zone maps of all batches, independent of requests",
    ),
    room(
        "ingest",
        &["error", "limits", "catalog", "json", "value", "batch"],
        "documents become rows, independent of filters",
    ),
    room(
        "exec",
        &["operator", "catalog", "stop", "value", "predicate", "kernels", "rows", "column", "batch", "index"],
        "a predicate is evaluated on one batch, independent of requests and of the engine",
    ),
    room(
        "filter/order",
        &["error", "catalog"],
        "an order is a field and a direction, independent of the sorted rows",
    ),
    room(
        "filter",
        &[
            "error",
            "limits",
            "stop",
            "operator",
            "catalog",
            "json",
            "value",
            "criteria",
            "predicate",
            "batch",
            "ingest",
            "filter/order",
        ],
        "a filter and a request with it, compiled or made of values, are independent of any engine",
    ),
    room(
        "standing",
        &["error", "lock", "operator", "catalog", "value", "predicate", "batch", "filter"],
        "which of many filters select one case, independent of engines and of where cases are stored",
    ),
    room(
        "facet",
        &["error", "limits", "stop", "catalog", "json", "value", "predicate", "filter"],
        "a request for counts and its answer are independent of any engine",
    ),
    room(
        "exec/reference",
        &[
            "error",
            "limits",
            "operator",
            "catalog",
            "value",
            "predicate",
            "batch",
            "ingest",
            "filter",
            "filter/order",
            "facet",
        ],
        "the oracle evaluates rows and documents, and shares neither columns nor kernels with the engine",
    ),
    room(
        "topk",
        &["stop", "catalog", "value", "rows", "column", "batch", "index", "exec", "filter/order"],
        "the choice of the page's rows from the selected rows",
    ),
    room(
        "engine",
        &[
            "error",
            "limits",
            "stop",
            "lock",
            "catalog",
            "value",
            "kernels",
            "rows",
            "column",
            "batch",
            "index",
            "ingest",
            "exec",
            "filter",
            "filter/order",
            "standing",
            "facet",
            "topk",
        ],
        "live batches, and the searches in them",
    ),
    room(
        "scan",
        &[
            "error",
            "limits",
            "catalog",
            "value",
            "batch",
            "ingest",
            "filter",
            "filter/order",
            "facet",
            "topk",
            "engine",
        ],
        "one request is answered while documents are read, without batches and indexes",
    ),
];

/// The rooms outside the core. They may use all of it, and each other as far as `FEATURE_USES` allows.
const FEATURE_ROOMS: &[&str] = &["arrow", "sql", "postgres", "store", "domain", "service", "sample"];

/// Pairs of feature rooms: the first may use the second.
const FEATURE_USES: &[(&str, &str)] = &[
    ("postgres", "sql"),
    ("domain", "store"),
    ("service", "domain"),
    ("service", "postgres"),
    ("service", "store"),
];

/// The only file with `unsafe`.
const UNSAFE_HOME: &str = "kernels/simd";

/// The only part of the core that may start threads, with the feature `parallel`. It cannot use rayon's threads.
const THREADS_HOME: &str = "engine/write/threads";

/// The modules of the standard library that the core leaves to its host.
const FOREIGN_MODULES: &[&str] = &["std/fs", "std/net", "std/process", "std/env", "std/thread"];

/// The types that the core leaves to its host.
const FOREIGN_TYPES: &[&str] = &["SystemTime", "Instant"];

/// The macros that the core leaves to its host.
const FOREIGN_MACROS: &[&str] = &["println", "print", "eprintln", "eprint", "dbg"];

/// Returns the room of a module or of a path into one.
fn room_of(path: &str) -> Option<&'static Room> {
    ROOMS.iter().filter(|room| is_within(path, room.path)).max_by_key(|room| room.path.len())
}

fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// Returns the rules that the uses of one file break, one per line.
fn broken_uses(source: &Source) -> Vec<String> {
    let mut broken = Vec::new();
    let is_feature_room = FEATURE_ROOMS.contains(&top(&source.module));
    if source.module.is_empty() {
        return broken;
    }
    let own = room_of(&source.module);
    if own.is_none() && !is_feature_room {
        broken.push(format!("{}: `{}` is in no room: add it to ROOMS", source.file.display(), source.module));
        return broken;
    }
    for (at, path) in source.paths("crate") {
        let place = source.place(at);
        if FEATURE_ROOMS.contains(&top(&path)) {
            let uses = (top(&source.module), top(&path));
            if uses.0 != uses.1 && !FEATURE_USES.contains(&uses) {
                broken.push(format!("{place}: `{}` uses the feature room `{path}`", source.module));
            }
            continue;
        }
        let Some(own) = own else { continue };
        match room_of(&path) {
            None => broken.push(format!(
                "{place}: `{path}` is not a room: use the path of the item's room, not of the crate's root"
            )),
            Some(used) if used.path != own.path && !own.may_use.contains(&used.path) => {
                broken.push(format!(
                    "{place}: `{}` uses `{path}`, and may not: {} (it may use: {})",
                    own.path,
                    own.because,
                    own.may_use.join(", ")
                ));
            }
            Some(_) => {}
        }
    }
    broken
}

const CORE: &str = "the core does no I/O, clock or threads of its own";

/// Returns the words of one file that it may not use, one per line.
fn broken_words(source: &Source) -> Vec<String> {
    let mut broken = Vec::new();
    let is_core = !FEATURE_ROOMS.contains(&top(&source.module));
    for at in 0..source.tokens.len() {
        let place = || source.place(at);
        if source.text(at) == "unsafe" && source.module != UNSAFE_HOME {
            broken.push(format!("{}: `unsafe` is allowed only in src/{UNSAFE_HOME}.rs", place()));
        }
        let is_macro = source.text(at + 1) == "!" && FOREIGN_MACROS.contains(&source.text(at));
        if is_core && (is_macro || FOREIGN_TYPES.contains(&source.text(at))) {
            broken.push(format!("{}: `{}`: {CORE}", place(), source.text(at)));
        }
    }
    let is_foreign = |path: &str| {
        let may_start_threads = source.module == THREADS_HOME && is_within(path, "std/thread");
        !may_start_threads && FOREIGN_MODULES.iter().any(|module| is_within(path, module))
    };
    for (at, path) in source.paths("std") {
        if is_core && is_foreign(&format!("std/{path}")) {
            broken.push(format!("{}: `std/{path}`: {CORE}", source.place(at)));
        }
    }
    broken
}

fn report(broken: &[String]) {
    let mut text = String::new();
    for line in broken {
        writeln!(text, "  {line}").unwrap();
    }
    assert!(broken.is_empty(), "{} broken:\n{text}", broken.len());
}

#[test]
fn rooms_use_only_rooms_below_them() {
    report(&library().iter().flat_map(broken_uses).collect::<Vec<_>>());
}

#[test]
fn unsafe_and_host_services_are_used_only_where_allowed() {
    report(&library().iter().flat_map(broken_words).collect::<Vec<_>>());
}

#[test]
fn the_table_points_downward_and_names_rooms_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = BTreeSet::new();
    for room in ROOMS {
        assert!(seen.insert(room.path), "`{}` is in the table twice", room.path);
        let exists = root.join(room.path).is_dir() || root.join(room.path).with_extension("rs").is_file();
        assert!(exists, "the table has a room `{}` that the library does not have", room.path);
        for used in room.may_use {
            let below = seen.contains(used) || top(used) == top(room.path);
            assert!(below, "`{}` may use `{used}`, which does not come before it", room.path);
        }
    }
}

#[test]
fn a_forbidden_use_is_found_in_every_form() {
    for (module, text) in [
        ("value/number", "use crate::json::Reader;"),
        ("value", "use crate::{catalog::FieldType, error::{Error, quote}};"),
        ("value/number", "fn f() { super::super::json::skip() }"),
        ("error", "fn f(x: crate::value::Value<'_>) {}"),
        ("catalog", "fn f() { write!(f, \"{}\", crate::json::Reader::ZERO) }"),
        ("value/number", "use super::super::catalog::Field;"),
        ("predicate/optimize/merge", "use crate::criteria::Body;"),
        ("predicate/lint", "use super::super::criteria::{self, Body};"),
        ("filter/order", "use crate::{limits::Limits, ingest};"),
        ("filter/order", "use crate::Catalog;"),
        ("filter/order", "use crate::sample::Cases;"),
        ("sql/ddl", "use crate::arrow::Schema;"),
        ("store", "use crate::domain::preview;"),
        ("nowhere", ""),
    ] {
        let broken = broken_uses(&Source::made_up(module, text));
        assert!(!broken.is_empty(), "{module}: {text}");
    }
    for (module, text) in [
        ("catalog/field", "use super::super::value::FieldType; use crate::value::{self, Value};"),
        ("predicate/lower", "use crate::criteria::{Body, Criterion}; use super::tree::{Tree, Node};"),
        ("catalog", "#[cfg(test)] mod tests { use crate::json::Reader; } // crate::json::Reader"),
        (
            "catalog",
            "/// [`Reader`](crate::json::Reader)\nfn f() -> &'static str { \"crate::json::Reader\" }",
        ),
        ("domain/steps", "use crate::store::Store;"),
        ("sample", "use crate::filter::Request; use crate::sample::Cases;"),
    ] {
        assert_eq!(broken_uses(&Source::made_up(module, text)), [""; 0], "{module}: {text}");
    }
    for text in [
        "fn f() { unsafe { g() } }",
        "use std::fs::File;",
        "use std::{time::Instant};",
        "use std::{fmt, net};",
        "use std::thread;",
        "fn f() { println!(\"\") }",
    ] {
        assert_eq!(broken_words(&Source::made_up("value", text)).len(), 1, "{text}");
    }
}
