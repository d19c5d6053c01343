//! Checks that the files of the library and of the command line form layers, so that there are no import cycles.
//!
//! File A uses file B if A names an item that B defines, also through re-exports. A file that declares a module also uses the file
//! of this module. So the files of a folder may not use items that the folder's `mod.rs` defines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::{Source, library, sources_below};

/// A use of one file by another: the position of the path, and the path as written.
struct Use {
    place: String,
    path: String,
}

/// The definitions and imports of a file.
struct Names {
    items: BTreeSet<String>,
    children: BTreeSet<String>,
    /// The names that `use` imports, with their paths from the crate's root.
    imports: BTreeMap<String, Vec<String>>,
    /// The modules from which `use` imports all names.
    globs: Vec<Vec<String>>,
}

/// The files of one crate, and the uses among them.
pub(crate) struct Graph {
    modules: Vec<String>,
    uses: BTreeMap<(usize, usize), Use>,
}

const KINDS: &[&str] = &["struct", "enum", "union", "trait", "fn", "const", "static", "type", "mod"];

impl Names {
    fn of(source: &Source) -> Self {
        let (mut items, mut children) = (BTreeSet::new(), BTreeSet::new());
        let mut depth = 0_usize;
        for at in 0..source.tokens.len() {
            match source.text(at) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                kind if depth == 0 && KINDS.contains(&kind) => {
                    let name = source.text(at + 1).to_owned();
                    if kind == "mod" && source.text(at + 2) == ";" {
                        children.insert(name);
                    } else {
                        items.insert(name);
                    }
                }
                "macro_rules" if depth == 0 => {
                    items.insert(source.text(at + 2).to_owned());
                }
                _ => {}
            }
        }
        let mut names = Self { items, children, imports: BTreeMap::new(), globs: Vec::new() };
        for (at, path) in source.imports(&names.children) {
            let mut path = segments(&path);
            if path.last().is_some_and(|last| last == "*") {
                path.pop();
                names.globs.push(path);
            } else if let Some(last) = path.last() {
                let renamed = source.text(at + 1) == "as";
                let name = if renamed { source.text(at + 2) } else { last };
                names.imports.insert(name.to_owned(), path);
            }
        }
        names
    }
}

fn segments(path: &str) -> Vec<String> {
    path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

impl Graph {
    pub(crate) fn new(sources: &[Source]) -> Self {
        let modules: Vec<String> = sources.iter().map(|source| source.module.clone()).collect();
        let names: Vec<Names> = sources.iter().map(Names::of).collect();
        let mut uses = BTreeMap::new();
        for (from, source) in sources.iter().enumerate() {
            for (at, path) in source.named_paths(&names[from].children, &names[from].imports) {
                let Some(to) = definer(&modules, &names, &segments(&path), 8) else { continue };
                if to != from {
                    uses.entry((from, to)).or_insert_with(|| Use { place: source.place(at), path });
                }
            }
            for child in &names[from].children {
                let path = [source.module.as_str(), child].join("/");
                let path = path.trim_start_matches('/').to_owned();
                let Some(to) = modules.iter().position(|module| *module == path) else { continue };
                let place = source.file.display().to_string();
                uses.entry((from, to)).or_insert(Use { place, path: format!("mod {child}") });
            }
        }
        Self { modules, uses }
    }

    /// Returns the shortest import cycle through each use that is part of a cycle, shortest first. Leaves out cycles that share a
    /// file with an earlier one.
    pub(crate) fn circles(&self) -> Vec<String> {
        let mut circles: Vec<Vec<usize>> =
            self.uses.keys().filter_map(|&(from, to)| self.shortest_path(to, from)).collect();
        circles.sort_by_key(Vec::len);
        let mut reported = BTreeSet::new();
        let mut lines = Vec::new();
        for circle in circles {
            if circle.iter().any(|file| reported.contains(file)) {
                continue;
            }
            reported.extend(circle.iter().copied());
            let next = circle.iter().cycle().skip(1);
            let ties = circle.iter().zip(next).filter_map(|(&from, &to)| self.uses.get(&(from, to)));
            let ties: Vec<String> = ties.map(|tie| format!("{} uses `{}`", tie.place, tie.path)).collect();
            lines.push(format!("{} files in a circle: {}", circle.len(), ties.join("; ")));
        }
        lines
    }

    /// Returns the files on a shortest path from one to another, both included.
    fn shortest_path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut before = BTreeMap::from([(from, from)]);
        let mut open = VecDeque::from([from]);
        while let Some(file) = open.pop_front() {
            if file == to {
                let mut shortest_path = vec![to];
                while shortest_path[shortest_path.len() - 1] != from {
                    shortest_path.push(before[&shortest_path[shortest_path.len() - 1]]);
                }
                shortest_path.reverse();
                return Some(shortest_path);
            }
            for &(_, next) in self.uses.range((file, 0)..(file + 1, 0)).map(|(uses, _)| uses) {
                if let std::collections::btree_map::Entry::Vacant(unseen) = before.entry(next) {
                    unseen.insert(file);
                    open.push_back(next);
                }
            }
        }
        None
    }

    #[cfg(test)]
    fn has(&self, from: &str, to: &str) -> bool {
        let place = |name: &str| self.modules.iter().position(|module| module == name).unwrap();
        self.uses.contains_key(&(place(from), place(to)))
    }
}

/// Returns the file that defines the item at a path. Returns `None` for the crate's root and for a module, because each used item
/// of a module has its own path.
fn definer(modules: &[String], names: &[Names], path: &[String], depth: usize) -> Option<usize> {
    let file = |length: usize| modules.iter().position(|module| *module == path[..length].join("/"));
    let (length, found) = (0..=path.len()).rev().find_map(|length| Some((length, file(length)?)))?;
    let own = Some(found).filter(|_| length > 0);
    let name = path.get(length)?;
    if names[found].items.contains(name) || depth == 0 {
        return own;
    }
    let rest = &path[length + 1..];
    if let Some(import) = names[found].imports.get(name) {
        return definer(modules, names, &[import, rest].concat(), depth - 1);
    }
    for glob in &names[found].globs {
        let longer = [glob, &path[length..]].concat();
        let to = definer(modules, names, &longer, depth - 1);
        if to.is_some_and(|to| names[to].items.contains(name)) {
            return to;
        }
    }
    own
}

#[test]
fn the_files_of_the_library_form_layers() {
    super::report(&Graph::new(&library()).circles());
}

#[test]
fn the_files_of_the_command_line_form_layers() {
    super::report(&Graph::new(&sources_below("src/bin/casefilter")).circles());
}

#[test]
fn rooms_of_the_command_line_use_only_rooms_below_them() {
    const ROOMS: [&str; 3] = ["output", "input", "commands"];
    let floor = |module: &str| ROOMS.iter().position(|room| *room == super::top(module));
    let mut broken = Vec::new();
    for source in sources_below("src/bin/casefilter") {
        let Some(own) = floor(&source.module) else { continue };
        for (at, path) in source.paths("crate") {
            if floor(&path).is_none_or(|used| used > own) {
                broken.push(format!("{}: `{}` uses `{path}`", source.place(at), ROOMS[own]));
            }
        }
    }
    super::report(&broken);
}

#[test]
fn a_circle_through_re_exports_is_found_with_its_lines() {
    let files = [
        ("", "mod a; mod b;"),
        ("a", "mod inner; pub use inner::Item; pub struct Own;"),
        ("a/inner", "pub struct Item;\nuse crate::b; fn f() { b::free(); }"),
        ("b", "use crate::a::Item as Renamed;\npub fn free() {}"),
        ("c", "use super::a; fn f() { a::Item; a::Own; }"),
    ];
    let graph = Graph::new(&files.map(|(module, text)| Source::made_up(module, text)));
    assert!(graph.has("a", "a/inner") && graph.has("a/inner", "b") && graph.has("b", "a/inner"));
    assert!(graph.has("c", "a") && graph.has("c", "a/inner") && !graph.has("b", "a"));
    let circles = graph.circles();
    assert_eq!(
        circles,
        ["2 files in a circle: src/b.rs:1 uses `a/Item`; src/a/inner.rs:2 uses `b/free`"],
        "{circles:?}"
    );
}

#[test]
fn a_file_may_not_use_what_its_folder_defines() {
    let files = [("", "mod a;"), ("a", "mod inner; pub struct Own;"), ("a/inner", "use super::Own;")];
    let circles = Graph::new(&files.map(|(module, text)| Source::made_up(module, text))).circles();
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert!(circles[0].contains("src/a/inner.rs:1 uses `a/Own`; src/a.rs uses `mod inner`"), "{circles:?}");
}
