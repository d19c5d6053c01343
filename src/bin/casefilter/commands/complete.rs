//! The hidden command `complete`, which the scripts of `casefilter completions` call: completes the last word of a command line.
//!
//! The first line of the answer is `words` or `files`. After `words`, each further line is a completion. After `files`, there are
//! no further lines, and the shell completes the name of a file. The command prints no errors, because they would be printed into
//! the line that is being written.

mod shell_word;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use casefilter::{Catalog, CompletionKind, Completions, FieldType, Store, StoreOptions};

use crate::commands::completions::Shell;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::Output;

use shell_word::Word;

/// The maximum size of a database whose values are completed, in bytes. Opening it takes a few milliseconds.
const MOST_BYTES: u64 = 64 << 20;

/// Complete the last word of a command line
///
/// For the scripts of `casefilter completions`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter complete bash -- search cases.ndjson --where \"'status = o\"")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,

    /// The words after the name of the program, as they were written, up to the cursor
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// A completion of a word.
#[derive(Clone)]
struct Candidate {
    /// The text that the shell inserts for the word.
    text: String,
    /// The text that zsh shows in its list, with `detail` as its description. If `text` begins with a flag, such as `--order=`,
    /// this text does not contain the flag. For a filter, it is only the completed part of the filter, such as the name of a field.
    shown: String,
    detail: String,
}

/// Prints the completions. `tree` describes the commands and their flags.
pub(crate) fn run(args: &Args, tree: &clap::Command) -> Result<Status, Failure> {
    let words: Vec<String> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut out = Output::new();
    match candidates(&words, tree, args.shell) {
        None => out.line("files")?,
        Some(candidates) => {
            out.line("words")?;
            for candidate in candidates {
                let Candidate { text, shown, detail } = candidate;
                let is_whole = [&text, &shown, &detail].iter().all(|text| !text.contains(char::is_control));
                if is_whole {
                    out.line(&match args.shell {
                        Shell::Bash => text,
                        Shell::Zsh if detail.is_empty() => format!("{text}\t{shown}"),
                        Shell::Zsh => format!("{text}\t{shown}  -- {detail}"),
                        Shell::Fish if detail.is_empty() => text,
                        Shell::Fish => format!("{text}\t{detail}"),
                    })?;
                }
            }
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// Returns the completions of the last word. Returns `None` if it can be the name of a file.
fn candidates(words: &[String], tree: &clap::Command, shell: Shell) -> Option<Vec<Candidate>> {
    let (last, before) = words.split_last()?;
    let Some(name) = before.iter().find(|word| !word.starts_with('-')) else {
        let commands = tree.get_subcommands().filter(|command| !command.is_hide_set());
        let words = commands.map(|command| (command.get_name().to_owned(), about(command)));
        return Some(plain(words.collect(), last));
    };
    let command = tree.find_subcommand(name)?;
    // Bash also gives `:` as a word of its own.
    if let Some((name, written)) = form_of_facet(before, last) {
        return Some(facets(before, &format!("{name}:"), written, ""));
    }
    let (flag, written) = flag_and_value(before, last);
    match flag.as_deref() {
        Some("--where") => Some(filter(before, written, last, shell)),
        Some("--order" | "--sort") => Some(orders(before, written, last)),
        Some("--columns") => Some(columns(before, written, last)),
        Some("--by") => Some(facets(before, "", written, last)),
        Some(flag) => {
            let takes_value = |arg: &&clap::Arg| {
                arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long))
                    && arg.get_action().takes_values()
            };
            let arg = command.get_arguments().find(takes_value);
            match arg.map(clap::Arg::get_possible_values) {
                Some(values) if !values.is_empty() => {
                    let values = values.iter().filter(|value| !value.is_hide_set());
                    let words = values.map(|value| {
                        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                        (value.get_name().to_owned(), help)
                    });
                    Some(plain(words.collect(), written))
                }
                Some(_) => None,
                // The word before is not a flag with a value.
                None => other(command, last),
            }
        }
        None => other(command, last),
    }
}

/// Returns the completions of a word that is not the value of a flag.
fn other(command: &clap::Command, last: &str) -> Option<Vec<Candidate>> {
    if last.starts_with('-') {
        let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let flags = args.filter_map(|arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            Some((format!("--{}", arg.get_long()?), help))
        });
        return Some(plain(flags.collect(), last));
    }
    let positional = command.get_positionals().next();
    let values = positional.map(clap::Arg::get_possible_values).unwrap_or_default();
    (!values.is_empty()).then(|| {
        plain(values.iter().map(|value| (value.get_name().to_owned(), String::new())).collect(), last)
    })
}

/// If the last word may be the value of a flag, returns the flag, and the part of the value that is already written. Bash passes
/// `=` as a separate word.
fn flag_and_value<'w>(before: &[String], last: &'w str) -> (Option<String>, &'w str) {
    if last.starts_with("--")
        && let Some((flag, value)) = last.split_once('=')
    {
        return (Some(flag.to_owned()), value);
    }
    let is_flag = |word: &&String| word.starts_with("--") && word.len() > 2;
    match before {
        [.., flag, equals] if equals == "=" && is_flag(&flag) => (Some(flag.clone()), last),
        [.., flag] if last == "=" && is_flag(&flag) => (Some(flag.clone()), ""),
        [.., flag] if is_flag(&flag) => match flag.split_once('=') {
            Some(_) => (None, last),
            None => (Some(flag.clone()), last),
        },
        _ => (None, last),
    }
}

/// Returns the words that begin with `written`.
fn plain(words: Vec<(String, String)>, written: &str) -> Vec<Candidate> {
    let matching = words.into_iter().filter(|(word, _)| word.starts_with(written));
    let candidate = |(word, detail): (String, String)| {
        let detail = detail.lines().next().unwrap_or_default().to_owned();
        Candidate { text: format!("{word} "), shown: word, detail }
    };
    matching.map(candidate).collect()
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Returns the completions of a filter text.
fn filter(before: &[String], written: &str, last: &str, shell: Shell) -> Vec<Candidate> {
    let Some(word) = Word::read(written) else { return Vec::new() };
    let database = database(before);
    let Some(catalog) = catalog(before, database.as_deref()) else { return Vec::new() };
    let text = word.text();
    let own = match &database {
        Some(path) => values(path, &catalog, text),
        None => None,
    };
    let completions = own.unwrap_or_else(|| Completions::new(&catalog, text, text.len()));
    let head = text.get(..completions.range.start).unwrap_or_default();
    let flag = flag_before(last, written);
    let candidates = completions.candidates.into_iter().filter_map(|candidate| {
        let space = if candidate.text == "(" { "" } else { " " };
        let whole = word.with_text(&format!("{head}{}{space}", candidate.text), shell)?;
        let is_value = candidate.kind == CompletionKind::Value;
        let detail = if is_value { String::new() } else { candidate.detail };
        Some(Candidate { text: format!("{flag}{whole}"), shown: candidate.text, detail })
    });
    let mut candidates: Vec<Candidate> = candidates.collect();
    // If there is only one completion, bash closes the quote. A second completion prevents this, so that the user can continue the
    // filter.
    if let (Shell::Bash, [only]) = (shell, candidates.as_slice()) {
        candidates.push(Candidate { text: format!("{} ", only.text), ..only.clone() });
    }
    candidates
}

/// Returns the flag that precedes the written value in the last word, such as `--where=`. Returns an empty text if the last word
/// has no flag. This is usual in bash, which passes `=` as a separate word and does not replace it.
fn flag_before<'w>(last: &'w str, written: &str) -> &'w str {
    last.strip_suffix(written).filter(|flag| flag.len() > 1).unwrap_or_default()
}

/// Returns the fields by which a search can sort. If `written` begins with `-`, the names begin with `-`, too.
fn orders(before: &[String], written: &str, last: &str) -> Vec<Candidate> {
    let database = database(before);
    let Some(catalog) = catalog(before, database.as_deref()) else { return Vec::new() };
    let single = catalog.visible_fields().map(|(_, field)| field).filter(|field| !field.is_many());
    let names = single.flat_map(|field| std::iter::once(field.name()).chain(field.aliases()));
    let sign = if written.starts_with('-') { "-" } else { "" };
    let words = names.map(|name| (format!("{sign}{name}"), String::new())).collect();
    with_flag(plain(words, written), written, last)
}

/// Returns the fields that can follow in a list of columns.
fn columns(before: &[String], written: &str, last: &str) -> Vec<Candidate> {
    let database = database(before);
    let Some(catalog) = catalog(before, database.as_deref()) else { return Vec::new() };
    let (listed, _) = written.rsplit_once(',').map_or(("", written), |(listed, _)| (listed, ""));
    let head = if listed.is_empty() { String::new() } else { format!("{listed},") };
    let has = |name: &str| listed.split(',').any(|earlier| earlier == name);
    let fields = catalog.visible_fields().map(|(_, field)| field);
    let names = fields.flat_map(|field| std::iter::once(field.name()).chain(field.aliases()));
    let words =
        names.filter(|name| !has(name)).map(|name| (format!("{head}{name}"), String::new())).collect();
    with_flag(open(plain(words, written)), written, last)
}

/// If bash has split a value `FIELD:FORM` of --by at the colon, returns `FIELD`, and the part of `FORM` that is already written.
fn form_of_facet<'w>(before: &'w [String], last: &'w str) -> Option<(&'w str, &'w str)> {
    let (words, written) = match before.split_last() {
        Some((colon, words)) if colon == ":" => (words, last),
        _ if last == ":" => (before, ""),
        _ => return None,
    };
    match words {
        [.., flag, name] if flag == "--by" => Some((name, written)),
        [.., flag, equals, name] if flag == "--by" && equals == "=" => Some((name, written)),
        _ => None,
    }
}

/// Returns the completions of a value of --by. Before a colon, these are the names of fields. After the name of a field and a
/// colon, they are the forms of counts by value, such as `stats`. `head` is the part of the value that earlier words contain. The
/// shell does not replace this part.
fn facets(before: &[String], head: &str, written: &str, last: &str) -> Vec<Candidate> {
    let database = database(before);
    let Some(catalog) = catalog(before, database.as_deref()) else { return Vec::new() };
    let whole = format!("{head}{written}");
    let form = whole.rsplit_once(':').and_then(|(name, _)| Some((name, catalog.get(catalog.find(name)?)?)));
    let words = match form {
        None => {
            let fields = catalog.visible_fields().map(|(_, field)| field);
            let names = fields.flat_map(|field| std::iter::once(field.name()).chain(field.aliases()));
            names.map(|name| (name.to_owned(), String::new())).collect()
        }
        Some((name, field)) => {
            let forms: &[&str] = match field.field_type() {
                FieldType::Timestamp => &["hour", "day", "week", "month", "quarter", "year", "stats"],
                FieldType::Number | FieldType::Integer | FieldType::Decimal { .. } => {
                    &["stats", "width=", "edges="]
                }
                _ => &[],
            };
            let forms = forms.iter().chain(&["limit="]);
            forms.map(|form| (format!("{name}:{form}"), String::new())).collect()
        }
    };
    let mut candidates = open(plain(words, &whole));
    for candidate in &mut candidates {
        candidate.text = candidate.text.strip_prefix(head).unwrap_or(&candidate.text).to_owned();
    }
    with_flag(candidates, written, last)
}

/// Removes the space after each word, because the word may continue.
fn open(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.iter_mut().for_each(|candidate| candidate.text.truncate(candidate.text.trim_end().len()));
    candidates
}

/// Puts the flag in front of each completion, if the last word has a flag; see [`flag_before`].
fn with_flag(mut candidates: Vec<Candidate>, written: &str, last: &str) -> Vec<Candidate> {
    let flag = flag_before(last, written);
    candidates.iter_mut().for_each(|candidate| candidate.text.insert_str(0, flag));
    candidates
}

/// Returns the value of the last flag that has one of these names.
fn values_of<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        for name in names {
            if word == name {
                let next = words.get(at.saturating_add(1)).filter(|next| *next != "=");
                found = next.or_else(|| words.get(at.saturating_add(2))).map(String::as_str);
            } else if let Some(value) = word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                found = Some(value);
            }
        }
    }
    found
}

/// Returns the path in a word.
fn path(word: &str) -> Option<PathBuf> {
    let text = Word::read_whole(word)?;
    match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Some(Path::new(&home).join(rest)),
        _ => Some(PathBuf::from(text)),
    }
}

/// Returns the database that the command line names.
fn database(before: &[String]) -> Option<PathBuf> {
    let named = values_of(before, &["--db"]).into_iter();
    let words = named.chain(before.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-')));
    words.filter_map(path).find(|path| path.is_file() && Store::exists(path))
}

/// Returns the catalogue of --catalog, else that of `CASEFILTER_CATALOG`, else that of the database. If none of these is given, or
/// if the catalogue in the database cannot be read, returns the catalogue of cases. Returns `None` if --catalog or
/// `CASEFILTER_CATALOG` names a file that cannot be read.
fn catalog(before: &[String], database: Option<&Path>) -> Option<Catalog> {
    let named = values_of(before, &["--catalog", "--catalogue"]).map(str::to_owned);
    match named.or_else(|| std::env::var("CASEFILTER_CATALOG").ok()) {
        Some(named) => crate::input::catalog::read(&path(&named)?).ok(),
        None => match database {
            // If a service has the database open, its catalogue cannot be read. The catalogue of cases is used instead.
            Some(database) => Some(Store::catalog_of(database).unwrap_or_else(|_| Catalog::cases())),
            None => Some(Catalog::cases()),
        },
    }
}

/// Returns the completions with the values of a database. Returns `None` if the database is larger than [`MOST_BYTES`]. Also
/// returns `None` if it cannot be opened, for example while another process has it open for writing.
fn values(path: &Path, catalog: &Catalog, text: &str) -> Option<Completions> {
    if std::fs::metadata(path).ok()?.len() > MOST_BYTES {
        return None;
    }
    let store = Store::open_read_only(path, catalog.clone(), StoreOptions::default()).ok()?;
    Some(store.completions(text, text.len()))
}
