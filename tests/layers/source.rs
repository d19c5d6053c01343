//! Reads the source files of the library as tokens, and finds the paths that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A word or mark of a file. Groups are flattened.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A file of the library without its tests.
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// Its module path with slashes; empty for the crate's root.
    pub(crate) module: String,
    pub(crate) tokens: Vec<Token>,
}

impl Source {
    /// Creates a file from a text, for a test.
    pub(crate) fn made_up(module: &str, text: &str) -> Self {
        let mut tokens = Vec::new();
        flatten(text.parse().unwrap(), &mut tokens);
        Self { file: PathBuf::from(format!("src/{module}.rs")), module: module.to_owned(), tokens }
    }

    fn read(file: &Path, root: &Path, package: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let stream: TokenStream =
            text.parse().unwrap_or_else(|fault| panic!("{}: not Rust: {fault}", file.display()));
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let module = file.strip_prefix(root).unwrap().with_extension("");
        let module = module.to_str().unwrap().replace('\\', "/");
        let module = module.strip_suffix("/mod").unwrap_or(&module);
        let module = if module == "lib" || module == "main" { "" } else { module };
        Self { file: file.strip_prefix(package).unwrap().to_owned(), module: module.to_owned(), tokens }
    }

    pub(crate) fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    pub(crate) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.file.display(), self.tokens[at].line)
    }

    /// Returns every path below `root`, with the index of its last token. For the crate, includes paths by `super`.
    pub(crate) fn paths(&self, root: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            let follows_path = at > 0 && self.text(at - 1) == "::";
            if follows_path || self.text(at + 1) != "::" {
                continue;
            }
            match self.text(at) {
                word if word == root => self.tree(at + 2, "", &mut found),
                "super" if root == "crate" => self.climb(at, &mut found),
                _ => {}
            }
        }
        found
    }

    /// Returns every path by `crate`, `super` or `self`, or from a child module or an imported name.
    pub(crate) fn named_paths(
        &self,
        children: &BTreeSet<String>,
        imports: &BTreeMap<String, Vec<String>>,
    ) -> Vec<(usize, String)> {
        let mut found = self.paths("crate");
        for at in 0..self.tokens.len() {
            let follows_path = at > 0 && self.text(at - 1) == "::";
            if follows_path || self.text(at + 1) != "::" {
                continue;
            }
            let word = self.text(at);
            if word == "self" {
                self.tree(at + 2, &self.module, &mut found);
            } else if children.contains(word) {
                self.tree(at, &self.module, &mut found);
            } else if let Some(path) = imports.get(word) {
                self.tree(at + 2, &path.join("/"), &mut found);
            }
        }
        found
    }

    /// Returns the paths that `use` imports, from the crate's root.
    pub(crate) fn imports(&self, children: &BTreeSet<String>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            if self.text(at) != "use" {
                continue;
            }
            match self.text(at + 1) {
                "crate" => self.tree(at + 3, "", &mut found),
                "self" => self.tree(at + 3, &self.module, &mut found),
                "super" => self.climb(at + 1, &mut found),
                child if children.contains(child) => self.tree(at + 1, &self.module, &mut found),
                _ => {}
            }
        }
        found
    }

    /// Follows a path that starts with `super`.
    fn climb(&self, mut at: usize, found: &mut Vec<(usize, String)>) {
        let mut module: Vec<&str> = self.module.split('/').collect();
        while self.text(at) == "super" && self.text(at + 1) == "::" {
            module.pop();
            at += 2;
        }
        self.tree(at, &module.join("/"), found);
    }

    /// Follows a path or a group of paths, after its `::`.
    fn tree(&self, mut at: usize, prefix: &str, found: &mut Vec<(usize, String)>) {
        let mut path = prefix.to_owned();
        loop {
            if self.text(at) == "{" {
                let mut depth = 0;
                let mut starts_item = true;
                for inner in at.. {
                    match self.text(inner) {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ if starts_item && depth == 1 => self.tree(inner, &path, found),
                        _ => {}
                    }
                    starts_item = depth == 1 && matches!(self.text(inner), "{" | ",");
                    if depth == 0 {
                        return;
                    }
                }
            }
            if self.text(at) != "self" {
                if !path.is_empty() {
                    path.push('/');
                }
                path.push_str(self.text(at));
            }
            if self.text(at + 1) != "::" {
                found.push((at, path));
                return;
            }
            at += 2;
        }
    }
}

/// Flattens groups, joins `::`, and drops items under `#[cfg(test)]`.
fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let mut push = |text: String| tokens.push(Token { text, line });
        match tree {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = trees.peek() else { continue };
                let text: String = attribute.stream().to_string().split_whitespace().collect();
                trees.next();
                if text == "cfg(test)" || text.starts_with("cfg(all(test") {
                    let ends_item = |tree: &TokenTree| match tree {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(mark) => mark.as_char() == ';',
                        _ => false,
                    };
                    trees.by_ref().find(ends_item);
                }
            }
            TokenTree::Punct(mark) => {
                let joined = matches!(trees.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':');
                if mark.as_char() == ':' && joined {
                    trees.next();
                    push("::".to_owned());
                } else {
                    push(mark.as_char().to_string());
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(Token { text: close.to_owned(), line: group.span_close().start().line });
            }
            TokenTree::Ident(word) => push(word.to_string()),
            TokenTree::Literal(_) => push("\"\"".to_owned()),
        }
    }
}

/// Returns the files of the library, without test files and without the binary.
pub(crate) fn library() -> Vec<Source> {
    sources_below("src")
}

/// Returns the files below a folder of the package, without test files and without other crates.
pub(crate) fn sources_below(folder: &str) -> Vec<Source> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.join(folder);
    let mut open = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if name != "bin" && name != "tests" {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
                sources.push(Source::read(&path, &root, package));
            }
        }
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    assert!(sources.len() > 20, "{folder} has more than {} files", sources.len());
    sources
}
