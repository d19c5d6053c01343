//! Suggests the correct name of a key, type or form if a catalogue file contains a name from another system, such as the SQL type
//! `varchar`.

use crate::error::{Suggestion, nearest};

/// A table of words that other systems use, such as databases and programming languages. Each entry has several such words, and the
/// allowed word that they probably stand for.
type OtherWords = &'static [(&'static [&'static str], &'static str)];

const TYPES: OtherWords = &[
    (&["text", "str", "varchar", "char", "keyword", "uuid", "enum", "word"], "string"),
    (&["float", "double", "real", "f64", "amount"], "number"),
    (&["int", "i64", "int64", "int32", "long", "bigint", "whole"], "integer"),
    (&["numeric", "money", "bigdecimal", "dec", "currency", "fixed"], "decimal"),
    (&["date", "datetime", "time", "instant", "timestamptz", "moment"], "timestamp"),
    (&["bool", "flag", "bit"], "boolean"),
];

const ID_TYPES: OtherWords = &[
    (&["text", "str", "varchar", "char", "keyword"], "string"),
    (
        &["int", "i64", "int64", "int32", "long", "bigint", "whole", "number", "serial", "snowflake"],
        "integer",
    ),
    (&["guid", "uuid4", "uuid7"], "uuid"),
];

const FORMS: OtherWords = &[
    (&["iso", "iso8601", "rfc", "datetime"], "rfc3339"),
    (&["epoch", "unix", "unixtime", "seconds", "s", "epochseconds"], "unix_seconds"),
    (&["ms", "millis", "milliseconds", "epochmillis", "unixms", "javascript"], "unix_millis"),
    (&["day", "isodate"], "date"),
    (&["default", "sql", "plain"], "interface"),
    (&["both", "either", "any"], "interface_or_rfc3339"),
];

const FIELD_KEYS: OtherWords = &[
    (&["name", "field", "column", "property", "member"], "path"),
    (&["kind", "datatype", "fieldtype"], "type"),
    (&["format", "encoding", "representation"], "form"),
    (&["digits", "precision", "decimals", "places", "decimalplaces"], "scale"),
    (&["values", "enum", "options", "choices", "allowed", "knownvalues"], "known"),
    (&["ifmissing", "missing", "fallback", "absent"], "default"),
    (&["alias", "names", "synonyms", "aka"], "aliases"),
    (&["index", "indexed", "unique", "primary", "primarykey", "lookup"], "key"),
    (&["search", "fulltext", "substring"], "searchable"),
    (&["private", "internal", "invisible"], "hidden"),
];

const FILE_KEYS: OtherWords = &[
    (&["base", "inherits", "inherit", "parent", "from", "include"], "extends"),
    (&["extended", "operators", "extensions"], "extended_operators"),
    (&["rfc", "iso", "iso8601"], "rfc3339"),
    (&["key", "primary", "primarykey", "identifier", "identity"], "id"),
    (&["columns", "properties", "schema", "members", "catalog", "catalogue"], "fields"),
];

/// The kinds of words in a catalogue file that have a fixed set of valid words: names of types and forms, and keys.
#[derive(Clone, Copy)]
pub(super) enum Word {
    Type,
    Form,
    IdType,
    FieldKey,
    FileKey,
}

/// Returns the allowed word that `written` probably stands for.
pub(super) fn suggest(written: &str, word: Word, allowed: &[&'static str]) -> Option<Suggestion> {
    let plain = written.to_lowercase().replace(['_', '-', ' '], "");
    if let Word::Type = word
        && let Some(element) =
            plain.strip_suffix("[]").or((plain == "array" || plain == "list").then_some(""))
    {
        let explanation = "`[]` after the key in `path`, for a multi-valued field";
        return Some(match allowed.iter().find(|name| **name == element) {
            Some(element) => Suggestion::replace_by(*element).with_explanation(format!("with {explanation}")),
            None => Suggestion::explain(explanation),
        });
    }
    if let Word::FieldKey = word
        && ["many", "array", "list", "repeated", "multiple"].contains(&&*plain)
    {
        return Some(Suggestion::explain("`[]` after the key in `path`, for a multi-valued field"));
    }
    let words = match word {
        Word::Type => TYPES,
        Word::Form => FORMS,
        Word::IdType => ID_TYPES,
        Word::FieldKey => FIELD_KEYS,
        Word::FileKey => FILE_KEYS,
    };
    // A word of the table has only the meaning in the table, even if another allowed word is more similar. So `extended` is not
    // taken for `extends`.
    let Some(meant) = words.iter().find(|(words, _)| words.contains(&&*plain)).map(|(_, meant)| *meant)
    else {
        return nearest(written, allowed.iter().copied()).map(Suggestion::replace_by);
    };
    Some(match (word, &*plain) {
        (Word::Type, "date") => Suggestion::replace_by(meant)
            .with_explanation("with `form = \"date\"` if documents have no time of day"),
        (Word::Type, "amount") => {
            Suggestion::replace_by(meant).with_explanation("or `decimal` for exact amounts of money")
        }
        (Word::Type, _) if meant == "decimal" => Suggestion::replace_by(meant)
            .with_explanation("with `scale`, the count of digits after the point"),
        _ => Suggestion::replace_by(meant),
    })
}
