//! Checks the words of comments and docs, in the rooms that are already clean.
//!
//! Comments use plain words: the first sentence of a doc is a verb phrase or a noun phrase, names say who does what, and a sentence
//! has at most 28 words. A program can check only a part of that:
//!
//! - No doc opens with a word of [`OPENINGS`]. (Fails.)
//! - No comment contains a word of [`BANNED`]. (Fails.)
//! - A sentence has at most [`MOST_WORDS`] words. (Lists the others: `cargo test --test layers long_sentences_of -- --nocapture`.)
//!
//! Code in backquotes and fenced blocks does not count, nor do string literals.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{LineColumn, TokenStream, TokenTree};

/// The rooms whose words are not clean yet, as paths without extension. **This table must stay empty.**
///
/// A room is a file or folder. Rewrite its comments, run this test without its line, and remove the line.
const NOT_CLEAN: &[&str] = &[];

/// The folders with Rust files of this package.
const FOLDERS: [&str; 5] = ["src", "tests", "benches", "examples", "fuzz/fuzz_targets"];

/// The words that a doc may not open with: they start a clause, not a phrase that names the item.
const OPENINGS: [&str; 12] =
    ["What", "How", "Whether", "Where", "As", "Of", "Those", "So", "Why", "That", "Which", "Who"];

/// The words and phrases that no comment may contain. They hide the subject or the number that is meant.
const BANNED: [&str; 6] = ["nobody", "somebody", "whoever", "whatever", "so many", "of old"];

/// The most words of a sentence that is not listed. A colon or semicolon ends a sentence here.
const MOST_WORDS: usize = 28;

/// Consecutive lines of one kind of comment.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    /// The number of the first line, counted from 1.
    line: usize,
    /// True for the doc of an item, module or crate.
    is_doc: bool,
    /// The lines without their marks.
    lines: Vec<String>,
}

/// Returns the comments of a Rust file.
///
/// # Panics
/// The text is not Rust.
fn comments(text: &str) -> Vec<Comment> {
    let mut literals = Vec::new();
    literal_spans(text.parse().expect("Rust"), &mut literals);
    let mut comments: Vec<Comment> = Vec::new();
    let mut last: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let Some((before, comment)) = split_comment(line, number, &literals) else { continue };
        let mark = ["//!", "///", "//"].into_iter().find(|mark| comment.starts_with(mark)).unwrap_or("//");
        let content = comment.trim_start_matches(mark).to_owned();
        let continues = before.trim().is_empty() && last == Some((number - 1, mark));
        match comments.last_mut().filter(|_| continues) {
            Some(comment) => comment.lines.push(content),
            None => comments.push(Comment { line: number, is_doc: mark != "//", lines: vec![content] }),
        }
        last = Some((number, mark));
    }
    comments
}

/// Adds the spans of the literals that are not docs.
fn literal_spans(stream: TokenStream, spans: &mut Vec<(LineColumn, LineColumn)>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                trees.next_if(|tree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let is_doc = |tree: &TokenTree| match tree {
                    TokenTree::Group(group) => {
                        matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
                    }
                    _ => false,
                };
                trees.next_if(is_doc);
            }
            TokenTree::Group(group) => literal_spans(group.stream(), spans),
            TokenTree::Literal(literal) => spans.push((literal.span().start(), literal.span().end())),
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
    }
}

/// Splits a line before its comment; `None` if it has none.
fn split_comment<'t>(
    line: &'t str,
    number: usize,
    literals: &[(LineColumn, LineColumn)],
) -> Option<(&'t str, &'t str)> {
    line.match_indices("//").map(|(at, _)| line.split_at(at)).find(|(before, _)| {
        let place = LineColumn { line: number, column: before.chars().count() };
        !literals.iter().any(|(start, end)| *start <= place && place < *end)
    })
}

impl Comment {
    /// Returns the paragraphs, list items and table cells as one line each, without code.
    fn paragraphs(&self) -> Vec<String> {
        let mut paragraphs = vec![String::new()];
        let mut is_code = false;
        for line in &self.lines {
            let line = line.trim();
            if line.starts_with("```") {
                is_code = !is_code;
            }
            if is_code || line.is_empty() || line.starts_with(['#', '|', '`']) && line.ends_with("```") {
                paragraphs.push(String::new());
                continue;
            }
            let starts_item =
                line.starts_with("- ") || line.starts_with("* ") || line.starts_with(['#', '|']);
            if starts_item {
                paragraphs.push(String::new());
            }
            if let Some(last) = paragraphs.last_mut() {
                last.push_str(line);
                last.push(' ');
            }
        }
        let cells = paragraphs.iter().map(|paragraph| without_code(paragraph));
        cells.flat_map(|text| text.split('|').map(str::to_owned).collect::<Vec<String>>()).collect()
    }

    /// Returns the faults, one per line, without the name of the file.
    fn faults(&self) -> Vec<String> {
        let paragraphs = self.paragraphs();
        let mut faults = Vec::new();
        let first = paragraphs.iter().flat_map(|text| words(text)).next();
        if let Some(word) = first.filter(|word| self.is_doc && OPENINGS.contains(word)) {
            faults.push(format!("{}: a doc opens with `{word}`", self.line));
        }
        for paragraph in &paragraphs {
            let text = format!(" {} ", words(paragraph).collect::<Vec<_>>().join(" ").to_lowercase());
            for banned in BANNED.iter().filter(|banned| text.contains(&format!(" {banned} "))) {
                faults.push(format!("{}: a comment contains `{banned}`", self.line));
            }
        }
        faults
    }

    /// Returns the sentences with more than [`MOST_WORDS`] words.
    fn long_sentences(&self) -> Vec<String> {
        let mut long = Vec::new();
        for paragraph in self.paragraphs() {
            let mut sentence = Vec::new();
            for word in paragraph.split_whitespace() {
                sentence.push(word);
                let end = word.trim_end_matches(['"', ')', '*', '\'']);
                if end.ends_with(['.', '!', '?', ':', ';']) {
                    long.extend(too_long(&sentence));
                    sentence.clear();
                }
            }
            long.extend(too_long(&sentence));
        }
        long
    }
}

/// Returns the sentence if it is too long, shortened.
fn too_long(sentence: &[&str]) -> Option<String> {
    let words = sentence.iter().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let start: Vec<&str> = sentence.iter().copied().take(12).collect();
    (words > MOST_WORDS).then(|| format!("{words} words: {} …", start.join(" ")))
}

/// Returns the words of a text, without punctuation.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’').filter(|word| !word.is_empty())
}

/// Replaces code in backquotes by a placeholder, which counts as a word.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    for (at, part) in text.split('`').enumerate() {
        plain.push_str(if at % 2 == 0 { part } else { "code" });
    }
    plain
}

fn is_clean(file: &Path) -> bool {
    let module = file.with_extension("");
    !NOT_CLEAN.iter().any(|room| module.starts_with(room))
}

/// Returns the Rust files of the package with their comments. Their paths are relative to the package.
fn files() -> Vec<(PathBuf, Vec<Comment>)> {
    texts().into_iter().map(|(path, text)| (path, comments(&text))).collect()
}

/// Returns the Rust files of the package with their texts. Their paths are relative to the package.
fn texts() -> Vec<(PathBuf, String)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open: Vec<PathBuf> = FOLDERS.iter().map(|folder| package.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path.strip_prefix(package).unwrap().to_owned(), text));
        }
    }
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(files.len() > 100, "the package has more than {} files", files.len());
    files
}

#[test]
fn clean_rooms_have_plain_words() {
    let mut broken = Vec::new();
    for (file, comments) in files() {
        let faults = comments.iter().flat_map(Comment::faults);
        let faults: Vec<String> = faults.map(|fault| format!("{}:{fault}", file.display())).collect();
        if is_clean(&file) {
            broken.extend(faults);
        }
    }
    super::report(&broken);
}

/// Returns the names of functions that begin with a clause, or contain a word that hides the subject.
fn vague_names(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next());
    names.filter(|name| {
        name.starts_with("what_")
            || name.split('_').any(|word| ["whatever", "nobody", "whoever"].contains(&word))
    })
}

#[test]
fn names_of_functions_are_plain() {
    assert_eq!(
        vague_names("fn what_is() {}\n    fn f_whatever_comes() {}\nfn somewhat_large() {}")
            .collect::<Vec<_>>(),
        ["what_is", "f_whatever_comes"]
    );
    let files = texts();
    let own = Path::new(file!());
    let vague: Vec<(&Path, &str)> = files
        .iter()
        .filter(|(path, _)| path != own)
        .flat_map(|(path, text)| vague_names(text).map(move |name| (&**path, name)))
        .collect();
    assert!(vague.is_empty(), "{vague:?}");
}

#[test]
fn long_sentences_of_clean_rooms_are_listed() {
    for (file, comments) in files().iter().filter(|(file, _)| is_clean(file)) {
        for comment in comments {
            for sentence in comment.long_sentences() {
                println!("{}:{}: {sentence}", file.display(), comment.line);
            }
        }
    }
}

#[test]
fn rooms_that_are_not_clean_exist() {
    let files = files();
    for room in NOT_CLEAN {
        let mut own = files.iter().filter(|(file, _)| file.with_extension("").starts_with(room)).peekable();
        assert!(own.peek().is_some(), "`{room}` does not exist");
        let faults = own.flat_map(|(_, comments)| comments).map(|comment| comment.faults().len());
        println!("{room}: {} faults", faults.sum::<usize>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        comments(text).iter().flat_map(Comment::faults).collect()
    }

    #[test]
    fn docs_may_not_open_with_a_clause() {
        for (text, fault) in [
            ("/// What it is.\nfn f() {}", "1: a doc opens with `What`"),
            ("//! How it works.", "1: a doc opens with `How`"),
            ("struct S {\n    /// Whether it is.\n    a: u8,\n}", "2: a doc opens with `Whether`"),
            ("/// `f`\n///\n/// Text.\nfn f() {}\n/// As `f`.\nfn g() {}", "5: a doc opens with `As`"),
            ("///\n/// **Of** these.\nfn f() {}", "1: a doc opens with `Of`"),
            ("#[doc(hidden)]\n/// Those.\nfn f() {}", "2: a doc opens with `Those`"),
        ] {
            assert_eq!(faults(text), [fault], "{text}");
        }
        for text in [
            "/// Returns what it is.\nfn f() {}",
            "/// Assigns.\nfn f() {}",
            "// What follows is no doc.\nfn f() {}",
            "fn f() { let text = \"/// What\"; }",
            "const TEXT: &str = r#\"\n/// What\n//! How\n\"#;",
            "/// Text.\n/// What goes on.\nfn f() {}",
            "/// `What` is a name.\nfn f() {}",
        ] {
            assert_eq!(faults(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn comments_may_not_contain_banned_words() {
        for (text, fault) in [
            ("// Nobody knows.", "1: a comment contains `nobody`"),
            ("/// Text for so\n/// many rows.\nfn f() {}", "1: a comment contains `so many`"),
            ("fn f() {\n    g(\"//\"); // whoever\n}", "2: a comment contains `whoever`"),
            ("//! - Item, whatever.\n", "1: a comment contains `whatever`"),
            ("//! | cell | somebody |\n", "1: a comment contains `somebody`"),
        ] {
            assert_eq!(faults(text), [fault], "{text}");
        }
        for text in [
            "fn f() -> &'static str { \"nobody, whoever\" }",
            "// `nobody` is an id.",
            "/// Text.\n///\n/// ```\n/// f(\"nobody\"); // whoever\n/// ```\nfn f() {}",
            "fn whoever() { let nobody = 1; }",
            "// Also many.",
            "fn f() { let url = \"http://nobody\"; }",
        ] {
            assert_eq!(faults(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn long_sentences_are_found() {
        let long = |text: &str| -> Vec<String> {
            comments(text).iter().flat_map(Comment::long_sentences).map(|line| line[..8].to_owned()).collect()
        };
        let sentence = |words: usize| format!("{}end.", "word ".repeat(words - 1));
        assert_eq!(long(&format!("// {}", sentence(28))), [""; 0]);
        assert_eq!(long(&format!("// {}", sentence(29))), ["29 words"]);
        assert_eq!(long(&format!("// {} {}\n// {}", sentence(20), sentence(20), sentence(30))), ["30 words"]);
        assert_eq!(
            long(&format!("//! - {}\n//! - {}", sentence(20).replace('.', ""), sentence(20))),
            [""; 0]
        );
        assert_eq!(long(&format!("/// `{}`\nfn f() {{}}", sentence(40))), [""; 0]);
        assert_eq!(long(&format!("fn f() {{ let text = \"// {}\"; }}", sentence(40))), [""; 0]);
    }
}
