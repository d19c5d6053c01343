//! The file of `serve --config`: its values become the defaults of the flags, so flags and environment variables have precedence.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use casefilter::{Error, ErrorKind, Errors, Found, Suggestion};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::output::diagnostics::{Fault, Source};
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};

/// The maximum size of a file, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The flags that are not keys of a file. The flag `source` is a key, but its values are rejected.
const NOT_IN_FILES: [&str; 3] = ["config", "check-config", "help"];

/// The keys of the file. Empty until the file has been read.
static KEYS: OnceLock<BTreeSet<String>> = OnceLock::new();

/// The command `serve` in the tree of commands.
const SERVE: &str = "serve";

/// The commands that read a file. The keys of a file are the names of flags of `serve`. `health` ignores the keys that are not the
/// names of its own flags.
const READERS: [&str; 2] = [SERVE, "health"];

/// Returns the tree of commands. The values of a configuration file become the defaults of the flags of the command. The arguments
/// of this process, or the environment variable of `--config`, name the file. Returns the tree unchanged if no file is named, or if
/// the arguments are not valid. `health` ignores the file if `--url` is given. If `health` cannot use the file, this function
/// prints a note.
///
/// # Errors
/// Returns an error for `serve` if the file cannot be read, has an unknown key, or has a wrong value.
pub(crate) fn configured(tree: Command) -> Result<Command, Failure> {
    let first = std::env::args_os().nth(1);
    let reads = |name: &&str| first.as_deref() == Some(OsStr::new(name));
    let Some(name) = READERS.into_iter().find(reads) else { return Ok(tree) };
    // Flags that are required may be in the file. All other errors are found again when the arguments are parsed.
    let lenient = tree.clone().mut_subcommand(SERVE, |serve| serve.mut_args(|arg| arg.required(false)));
    let Ok(matches) = lenient.clone().try_get_matches() else { return Ok(tree) };
    let file = matches.subcommand_matches(name).and_then(|own| own.get_one::<PathBuf>("config"));
    let has_url = name != SERVE
        && matches.subcommand_matches(name).is_some_and(|own| own.get_one::<String>("url").is_some());
    let Some(path) = file.filter(|_| !has_url) else { return Ok(tree) };
    let Some(serve) = lenient.find_subcommand(SERVE) else { return Ok(tree) };
    let settings = match read(path, serve) {
        Ok(settings) => settings,
        // A service reads the file only when it starts, so an error in the file says nothing about a running service.
        Err(failure) if name != SERVE => {
            note(format!("the configuration file is ignored: {}", failure.text()));
            return Ok(tree);
        }
        Err(failure) => return Err(failure),
    };
    let _ = KEYS.set(settings.iter().map(|(name, _)| name.clone()).collect());
    Ok(tree.mut_subcommand(name, |command| {
        settings.into_iter().fold(command, |command, (name, value)| {
            let Some(id) = id_of(&command, &name) else { return command };
            // The process needs the values until it ends.
            let value: &'static str = value.leak();
            command.mut_arg(id, |arg| arg.required(false).default_value(value))
        })
    }))
}

/// Returns the id of the flag with this name, if the command has such a flag.
fn id_of(command: &Command, name: &str) -> Option<String> {
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name));
    arg.map(|arg| arg.get_id().to_string())
}

/// Reads a file. Returns the names of the flags that it sets, with their values.
fn read(path: &Path, serve: &Command) -> Result<Vec<(String, String)>, Failure> {
    let name = path.display().to_string();
    let unreadable = |error: &std::io::Error| Failure::io("cannot read", &name, error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let refused = |errors: Errors, bytes: Vec<u8>| {
        let fault = Fault::of(vec![(errors, Source::file(&name, bytes))]);
        Failure::BadFilter(fault.map(|fault| fault.render()).unwrap_or_default())
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(refused(Error::new(ErrorKind::NotUtf8, 0, "other bytes", "UTF-8").into(), Vec::new()));
    };
    if text.len() as u64 > MOST_BYTES {
        let expected = format!("at most {MOST_BYTES} bytes");
        return Err(refused(Error::new(ErrorKind::BadFile, 0, "a larger file", expected).into(), Vec::new()));
    }
    settings(&text, serve).map_err(|errors| refused(errors, masked(&text).into_bytes()))
}

/// Returns true if a text looks like the connection string of a database rather than the path of a file.
pub(super) fn is_connection_string(text: &str) -> bool {
    text.contains("://") || has_password(text)
}

/// Returns true if a text contains `password=` in any letter case. Ignores blanks, because a PostgreSQL connection string may have
/// blanks before the `=`.
fn has_password(text: &str) -> bool {
    text.split_whitespace().collect::<String>().to_lowercase().contains("password=")
}

/// Returns a text in which connection strings and the passwords of URLs are masked. If the key of a line is `source`, in any letter
/// case, or if the line contains `password=`, everything after the first `=` of the line is masked. All offsets stay the same.
fn masked(text: &str) -> String {
    let mask = |line: &str| {
        let after_key = line.split_once('=').filter(|(key, _)| {
            let key = key.trim().trim_matches(['"', '\'']).to_lowercase();
            key == "source" || has_password(line)
        });
        // The text `user:password@` of a URL. The URL may be the value of another key, or be in a line of its own.
        let in_url = || {
            let (_, rest) = line.split_once("://")?;
            rest.rfind('@').and_then(|end| rest.get(..end))
        };
        match after_key.map(|(_, value)| value.trim_end()).or_else(in_url) {
            Some(value) if !value.is_empty() => line.replace(value, &"*".repeat(value.len())),
            _ => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(mask).collect()
}

/// Parses the text of a file. Returns the names of its flags, with their values, or all errors in the order of the text.
fn settings(text: &str, serve: &Command) -> Result<Vec<(String, String)>, Errors> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let masked = masked(text);
        let found = masked.get(at..).and_then(|rest| rest.split_whitespace().next());
        let found = found.map_or_else(|| Found::from("the end"), Found::text);
        Error::new(ErrorKind::Syntax, at, found, format!("valid TOML ({})", error.message()))
    })?;
    let mut settings = Vec::new();
    let mut errors: Vec<(usize, Error)> = Vec::new();
    for (key, value) in table.into_inner() {
        let at = key.span().start;
        match setting(key.get_ref(), at, &value, serve) {
            Ok(value) => settings.push((key.into_inner().into_owned(), value)),
            Err(error) => errors.push((at, error)),
        }
    }
    errors.sort_by_key(|(at, _)| *at);
    match errors.into_iter().map(|(_, error)| Errors::from(error)).reduce(Errors::followed_by) {
        None => Ok(settings),
        Some(errors) => Err(errors),
    }
}

/// Returns the value of a key as text. The text becomes the default value of the flag with the same name.
fn setting(name: &str, at: usize, value: &Spanned<DeValue<'_>>, serve: &Command) -> Result<String, Error> {
    let names =
        || serve.get_arguments().filter_map(Arg::get_long).filter(|name| !NOT_IN_FILES.contains(name));
    // The name `source` is never suggested, because a file must not have this key.
    let near_names = || names().filter(|name| *name != "source");
    let arg =
        serve.get_arguments().find(|arg| arg.get_long() == Some(name) && names().any(|own| own == name));
    let Some(arg) = arg else {
        let expected = "the name of a flag of `casefilter serve` that a file can set";
        let near = near_flag(name, serve, near_names()).map(Suggestion::replace_by);
        let found = Found::from(format!("the key `{name}`"));
        return Err(Error::new(ErrorKind::UnknownKey, at, found, expected).suggest(near));
    };
    if name == "source" {
        let expected = "no connection string, because it may have a password: write it to a file, and give the \
                        path of this file as `source-file`";
        return Err(Error::new(ErrorKind::BadValue, at, Found::text(name), expected));
    }
    let at = value.span().start;
    let takes_boolean = matches!(arg.get_action(), ArgAction::SetTrue);
    let parsed = arg.get_value_parser().type_id();
    let takes_text = parsed == TypeId::of::<PathBuf>() || parsed == TypeId::of::<String>();
    let (text, kind) = match value.get_ref() {
        DeValue::Boolean(value) if takes_boolean => return Ok(value.to_string()),
        DeValue::String(text) if text.is_empty() => (String::new(), "an empty string"),
        DeValue::String(text) => (text.to_string(), "a string"),
        // A number or a boolean is not the name of a file.
        DeValue::Integer(number) if !takes_text => (number.to_string(), "a number"),
        DeValue::Float(number) if !takes_text => (number.to_string(), "a number"),
        DeValue::Integer(_) | DeValue::Float(_) => (String::new(), "a number"),
        DeValue::Boolean(_) => (String::new(), "`true` or `false`"),
        DeValue::Datetime(_) => (String::new(), "a time"),
        DeValue::Array(_) => (String::new(), "a list"),
        DeValue::Table(_) => (String::new(), "a table"),
    };
    if takes_boolean {
        return Err(Error::new(ErrorKind::WrongType, at, kind, "`true` or `false`"));
    }
    if text.is_empty() {
        let expected = if takes_text { "a string" } else { "a string or a number" };
        return Err(Error::new(ErrorKind::WrongType, at, kind, expected));
    }
    if is_connection_string(&text) {
        let expected = match name {
            "source-file" => "the path of a file with the connection string",
            _ => "a value without a connection string",
        };
        return Err(Error::new(ErrorKind::BadValue, at, "a connection string", expected));
    }
    match expected(serve, name, &text) {
        None => Ok(text),
        Some(expected) => Err(Error::new(ErrorKind::BadValue, at, Found::text(text), expected)),
    }
}

/// Returns the name of the flag that was probably meant.
fn near_flag<'s>(name: &str, serve: &'s Command, names: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let name = name.to_lowercase().replace('_', "-");
    let aliased =
        serve.get_arguments().find(|arg| arg.get_all_aliases().unwrap_or_default().contains(&name.as_str()));
    if let Some(long) = aliased.and_then(Arg::get_long) {
        return Some(long);
    }
    // A longer word is not a misspelt name. The time for the edit distance is quadratic in the length.
    if name.len() > 64 {
        return None;
    }
    let near = names.map(|own| (strsim::damerau_levenshtein(&name, own), own)).min()?;
    (near.0 <= 3 && near.0 < near.1.len() / 2).then_some(near.1)
}

/// Returns a description of the values that a flag accepts. Returns `None` if the flag accepts `value`.
fn expected(serve: &Command, name: &str, value: &str) -> Option<String> {
    // The value of an environment variable is not tested here. A wrong value is an error only if no flag overrides it.
    let command = serve.clone().no_binary_name(true).mut_args(|arg| arg.env(Resettable::Reset));
    let error = command.try_get_matches_from([format!("--{name}={value}")]).err()?;
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return Some(format!("one of {}", values.join(", ")));
    }
    let source = std::error::Error::source(&error).map(ToString::to_string);
    Some(expectation(&source.unwrap_or_else(|| "another value".to_owned())))
}

/// Converts the error of a flag's parser to a description of the values that the flag accepts.
fn expectation(error: &str) -> String {
    if let Some((_, range)) = error.split_once(" is not in ") {
        return format!("a whole number in {range}");
    }
    match error {
        "number too large to fit in target type" => "a smaller whole number".to_owned(),
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "a whole number that is not negative".to_owned()
        }
        _ => error.strip_prefix("expected ").unwrap_or(error).to_owned(),
    }
}

/// A setting of the service: the name of its flag, its value, and where the value comes from.
pub(crate) struct Setting {
    name: String,
    value: String,
    origin: &'static str,
    /// True if the value is not shown, because it may contain a password.
    is_hidden: bool,
}

/// An environment variable that looks like a setting, and that no command reads.
pub(crate) struct UnknownVariable {
    pub(super) name: String,
    /// The name that was probably meant.
    pub(super) near: Option<String>,
}

/// Returns the environment variables that look like settings of this program, and that no command reads.
pub(crate) fn unknown_variables(tree: &Command) -> Vec<UnknownVariable> {
    let mut known = BTreeSet::new();
    variables_of(tree, &mut known);
    let given = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = given.filter(|name| name.starts_with(PREFIX) && !known.contains(name) && !is_link(name));
    let near = |name: &str| {
        let serve = tree.find_subcommand(SERVE)?;
        let flag =
            near_flag(name.strip_prefix(PREFIX)?, serve, serve.get_arguments().filter_map(Arg::get_long))?;
        let arg = serve.get_arguments().find(|arg| arg.get_long() == Some(flag))?;
        arg.get_env()?.to_str().map(str::to_owned)
    };
    unknown.map(|name| UnknownVariable { near: near(&name), name }).collect()
}

/// Returns true for the variables that Kubernetes sets for a service whose name is `casefilter`.
fn is_link(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    ["PORT", "SERVICE_HOST", "SERVICE_PORT"]
        .iter()
        .any(|own| rest.strip_prefix(own).is_some_and(|more| more.is_empty() || more.starts_with('_')))
}

/// The beginning of the names of all environment variables of this program.
const PREFIX: &str = "CASEFILTER_";

/// Adds the environment variables of a command and of its subcommands. The tree of commands is at most three deep.
fn variables_of(command: &Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned));
    known.extend(variables);
    for below in command.get_subcommands() {
        variables_of(below, known);
    }
}

/// Returns the settings of `serve` that have a value.
pub(crate) fn effective(matches: &ArgMatches, tree: &Command) -> Vec<Setting> {
    let (Some(serve), Some(matches)) = (tree.find_subcommand(SERVE), matches.subcommand_matches(SERVE))
    else {
        return Vec::new();
    };
    let of = |arg: &Arg| {
        let name = arg.get_long().filter(|name| !NOT_IN_FILES.contains(name))?;
        let id = arg.get_id().as_str();
        let origin = match matches.value_source(id)? {
            ValueSource::CommandLine => "flag",
            ValueSource::EnvVariable => "environment",
            _ if KEYS.get().is_some_and(|keys| keys.contains(name)) => "file",
            _ => "default",
        };
        let raw = matches.get_raw(id)?.next()?;
        let is_hidden = arg.is_hide_env_values_set() || raw.to_str().is_some_and(is_connection_string);
        let value = match raw {
            _ if is_hidden => "…".to_owned(),
            // An environment variable may also have another form of a boolean value, such as `yes`.
            _ if matches!(arg.get_action(), ArgAction::SetTrue) => matches.get_flag(id).to_string(),
            value => value.to_string_lossy().into_owned(),
        };
        Some(Setting { name: name.to_owned(), value, origin, is_hidden })
    };
    serve.get_arguments().filter_map(of).collect()
}

impl Setting {
    /// Returns the setting as a line of a configuration file, with its origin as a comment. If the value is hidden, the whole line
    /// is a comment.
    pub(super) fn line(&self) -> String {
        let Self { name, value, origin, is_hidden } = self;
        if *is_hidden {
            return format!("# {name} = {value}  # {origin}");
        }
        let is_bare = matches!(value.as_str(), "true" | "false") || value.parse::<i64>().is_ok();
        let value = match is_bare {
            true => value.clone(),
            false => format!("\"{}\"", escape(&value.replace('\\', "\\\\").replace('"', "\\\""))),
        };
        format!("{name} = {value}  # {origin}")
    }
}
