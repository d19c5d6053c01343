//! Reads a catalogue file in TOML as a tree of values.

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error as TomlError};

use super::node::{Key, Node, Value};
use crate::error::{Error, ErrorKind, Errors, Found, Suggestion};

/// Reads a text as a tree. The TOML parser limits the depth.
pub(super) fn read(text: &str) -> Result<Node<'_>, Errors> {
    match DeTable::parse(text) {
        Ok(document) => {
            let at = document.span().start;
            Ok(Node { at, value: table(document.into_inner()) })
        }
        Err(error) => Err(fault(text, &error).into()),
    }
}

fn table(table: DeTable<'_>) -> Value<'_> {
    let mut entries = Vec::new();
    for (name, value) in table {
        let key = Key { at: name.span().start, name: name.into_inner() };
        entries.push((key, node(value)));
    }
    entries.sort_by_key(|(key, _)| key.at);
    Value::Table(entries)
}

fn node(value: Spanned<DeValue<'_>>) -> Node<'_> {
    let at = value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Integer(number) => Value::Number(number.to_string()),
        DeValue::Float(number) => Value::Number(number.to_string()),
        DeValue::Datetime(moment) => Value::Other(format!("the time `{moment}`")),
        DeValue::Array(elements) => Value::List(elements.into_iter().map(node).collect()),
        DeValue::Table(inner) => table(inner),
    };
    Node { at, value }
}

/// Converts a syntax error of the parser.
fn fault(text: &str, error: &TomlError) -> Error {
    let at = error.span().map_or(0, |span| span.start);
    let rest = text.get(at..).unwrap_or_default();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let found = match rest.chars().next() {
        None => Found::from("the end of the file"),
        Some('\n' | '\r') => Found::from("the end of the line"),
        Some(c) if is_word(c) => {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            Found::text(rest.get(..end).unwrap_or_default())
        }
        Some(c) => Found::text(c),
    };
    let is_value =
        text.get(..at).is_some_and(|before| before.trim_end_matches([' ', '\t']).ends_with(['=', '[', ',']));
    match found.as_text() {
        // The value is a string without quotes. The parser reports such a string as a misspelt `true`.
        Some(word) if is_value && word.starts_with(char::is_alphabetic) => {
            let quoted = Suggestion::replace_by(format!("\"{word}\""));
            Error::new(
                ErrorKind::Syntax,
                at,
                found,
                "a value: `true`, `false`, a list, or a string in quotes",
            )
            .suggest(Some(quoted))
        }
        _ => Error::new(ErrorKind::Syntax, at, found, format!("valid TOML ({})", error.message())),
    }
}
