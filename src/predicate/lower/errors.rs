//! Creates the errors of lowering for names and values that do not fit the catalogue, with a suggestion if possible.

use super::scope::Scope;
use crate::catalog::{Catalog, Field, FieldId, FieldType, IdType};
use crate::criteria::{Text, Unsupported, meant_by_bad_value};
use crate::error::{Error, ErrorKind, Suggestion, escaped, nearest, quote, quote_all, quote_whole};
use crate::operator::{Complex, Language, Operator, Ray, Side};
use crate::value::{Number, Span, Timestamp, is_moment, parse_integer};

/// The maximum number of arrays that an error lists.
const MOST_ARRAYS: usize = 10;

/// Returns the error for a path that is not the path of an array of objects in this scope.
pub(super) fn no_array(catalog: &Catalog, language: Language, scope: Scope, name: &Text<'_>) -> Error {
    let is_within = |array: &&str| match scope {
        Scope::Element(around) => {
            catalog.find_array(array).is_some_and(|array| catalog.is_array_below(array, around))
        }
        _ => true,
    };
    let names: Vec<&str> = catalog.array_names().filter(is_within).collect();
    let around = match scope {
        Scope::Element(around) => format!(" below {}", quote(catalog.array_name(around))),
        _ => String::new(),
    };
    let field = scope.field(&name.text, catalog, language).map(|field| catalog.field(field));
    let expected = match names.as_slice() {
        [] => format!("an array of objects{around}, of which the catalogue has none"),
        names => {
            let more = if names.len() > MOST_ARRAYS { " and others" } else { "" };
            let listed = quote_all(names.iter().take(MOST_ARRAYS).copied());
            format!("an array of objects{around}: {listed}{more}")
        }
    };
    let note = match (field, language) {
        (Some(field), _) if !field.is_many() => "; a field is tested without an array around it",
        (Some(_), _) => "; the values of a field are tested by a criterion on the field",
        (None, _) => "",
    };
    let nearest = nearest(&name.text, names.iter().copied());
    Error::new(ErrorKind::UnknownField, name.offset, quote(&name.text), format!("{expected}{note}"))
        .suggest(nearest.map(Suggestion::replace_by))
}

/// Returns the error for a name that is not a field in this scope. Returns `None` for [`Scope::Unknown`], because the error of the
/// scope is reported separately.
pub(super) fn no_field(
    catalog: &Catalog,
    language: Language,
    scope: Scope,
    name: &Text<'_>,
) -> Option<Error> {
    let array = match scope {
        Scope::Unknown => return None,
        Scope::Element(array) => array,
        Scope::Document => {
            let error = catalog.resolve(&name.text, name.offset).err()?;
            return Some(match (catalog.find_array(&name.text), language) {
                (None, _) | (_, Language::Interface) => error,
                (Some(_), Language::Extended) => {
                    let note = format!("; {} tests an array", quote(Complex::ELEM.name()));
                    Error { expected: format!("{}{note}", error.expected), ..error }
                }
                (Some(_), Language::Text) => {
                    let note = "; `has (…)` tests an array";
                    Error { expected: format!("{}{note}", error.expected), ..error }
                }
            });
        }
    };
    let around = catalog.array_name(array);
    let expected = match catalog.find(&name.text) {
        Some(_) => format!(
            "a field below {}: the criteria of an element test the values of that element alone",
            quote(around)
        ),
        None => format!("a field below {}", quote(around)),
    };
    // In a text, a name may omit the path of the array.
    let written = |field: &FieldId| {
        let full = catalog.field(*field).name();
        let rest = full.strip_prefix(around).and_then(|rest| rest.strip_prefix('.'));
        if language == Language::Text { rest.unwrap_or(full) } else { full }
    };
    let below = catalog.fields_of_array(array);
    let last_key = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let key = last_key(&name.text);
    let by_key = below.iter().find(|field| last_key(catalog.field(**field).name()) == key).map(written);
    let meant = by_key.or_else(|| nearest(&name.text, below.iter().map(written)));
    let error = Error::new(ErrorKind::UnknownField, name.offset, quote(&name.text), expected);
    Some(error.suggest(meant.map(Suggestion::replace_by)))
}

/// Returns the error for a text that is not an id.
pub(super) fn bad_id(field: &Field, text: &Text<'_>) -> Error {
    let (kind, expected) = match field.id_type() {
        IdType::Integer => (ErrorKind::BadNumber, "an integer of 64 bits such as `12` or `-5`"),
        other => (ErrorKind::BadValue, other.expected()),
    };
    let expected = format!("{expected}, since {} has such ids", quote(field.name()));
    let meant = match field.id_type() {
        IdType::Integer => Number::respell(&text.text).filter(|meant| parse_integer(meant).is_some()),
        _ => None,
    };
    let meant = meant.and_then(|meant| quote_whole(&meant));
    Error::new(kind, text.offset, quote(&text.text), expected).suggest(meant)
}

/// The maximum number of known values that an error lists.
const MOST_KNOWN: usize = 20;

/// Returns the error for an order comparison with a string that is not a known value of the field.
pub(super) fn no_rank(field: &Field, operator: Operator, text: &Text<'_>) -> Error {
    let more = if field.known_values().len() > MOST_KNOWN { " and others" } else { "" };
    let expected = format!(
        "one of {}{more}, since {} compares {} by the order of its known values",
        quote_all(field.known_values().take(MOST_KNOWN)),
        quote(operator.name()),
        quote(field.name())
    );
    Error::new(ErrorKind::BadValue, text.offset, quote(&text.text), expected)
        .suggest(nearest(&text.text, field.known_values()).map(Suggestion::replace_by))
}

/// Adds a note to the error of an invalid value that expresses an unsupported test, such as `null` or the name of another field.
pub(super) fn noted(
    error: Error,
    catalog: &Catalog,
    language: Language,
    field: &Field,
    operator: Option<Operator>,
    text: &Text<'_>,
) -> Error {
    let is_timestamp = field.field_type() == FieldType::Timestamp;
    let is_day = || {
        let span =
            Timestamp::respell(&text.text).filter(|_| !(language == Language::Text && is_moment(&text.text)));
        span.is_some_and(|span| span.end.is_some())
    };
    let unsupported = if is_timestamp && operator.is_some_and(|operator| operator.ray().is_none()) && is_day()
    {
        Some(Unsupported::Day).filter(|_| error.suggestion.is_none())
    } else if catalog.find(&text.text).is_some() {
        Some(Unsupported::TwoFields)
    } else {
        meant_by_bad_value(&text.text, is_timestamp && !(language == Language::Text && is_moment(&text.text)))
    };
    let is_null = unsupported == Some(Unsupported::Absence) && !text.text.is_empty();
    if let Some(is_present) = operator.filter(|_| is_null).and_then(compared)
        && language.is_extended()
    {
        let meant = match language {
            Language::Text if is_present => "`is present`",
            Language::Text => "`is absent`",
            _ if is_present => "`$exists` with the value `\"true\"`",
            _ => "`$exists` with the value `\"false\"`",
        };
        return error.suggest(Some(Suggestion::explain(meant)));
    }
    match unsupported {
        // In the text syntax, the error already names the valid forms of relative times.
        Some(Unsupported::RelativeTime) if language == Language::Text => error,
        Some(unsupported) => {
            Error { expected: format!("{}; {}", error.expected, unsupported.note(language)), ..error }
        }
        None => error,
    }
}

/// Returns the test of presence that the author of a comparison with `null` wants. True means that the field has a value, and false
/// that it has none. Returns `None` if `operator` is neither `=` nor `<>`.
fn compared(operator: Operator) -> Option<bool> {
    match operator {
        Operator::Equal => Some(false),
        Operator::NotEqual => Some(true),
        _ => None,
    }
}

/// Suggests a correction for a timestamp that is a day, a minute, or an instant in another notation, possibly with a fraction of a
/// second. Returns `None` if no criterion is equivalent.
///
/// `createdAt <= 2024-02-28` becomes ``< "2024-02-29 00:00:00"``.
pub(super) fn meant_by_span(
    field: &Field,
    language: Language,
    operator: Option<Operator>,
    span: &Span,
    written: &str,
) -> Option<Suggestion> {
    let string = |text: &str| format!("\"{text}\"");
    // In a body, the path of the error is that of the value. So a comparison cannot replace the value, and is only explained.
    let replace_by = |text: &str, note: Option<String>| match language {
        Language::Text => {
            let meant = Suggestion::from(quote_whole(text)?);
            Some(note.into_iter().fold(meant, Suggestion::with_explanation))
        }
        Language::Interface | Language::Extended => {
            let note = note.map_or_else(String::new, |note| format!(", {note}"));
            Some(Suggestion::explain(format!("the comparison {}{note}", quote_whole(text)?)))
        }
    };
    let start = string(&span.start);
    let replace_value = || match language {
        Language::Text => replace_by(&start, None),
        Language::Interface | Language::Extended => quote_whole(&span.start).map(Suggestion::from),
    };
    if span.end.is_none() && !span.is_within {
        return replace_value();
    }
    let operator = operator?;
    if span.is_within {
        // Timestamps in documents have whole seconds, except in fields of Unix milliseconds.
        if field.form().has_millis() {
            return None;
        }
        return match operator.ray()?.side {
            Side::Above => replace_by(&format!("> {start}"), None),
            Side::Below => replace_by(&format!("<= {start}"), None),
        };
    }
    let end = span.end.as_deref().map(string)?;
    let written = escaped(written);
    match operator.ray() {
        Some(Ray { side: Side::Above, inclusive: true } | Ray { side: Side::Below, inclusive: false }) => {
            replace_value()
        }
        Some(Ray { side: Side::Below, inclusive: true }) => {
            let explanation = format!("all of {written} included");
            replace_by(&format!("< {end}"), Some(explanation))
        }
        Some(Ray { side: Side::Above, inclusive: false }) => {
            let explanation = format!("all of {written} left out");
            replace_by(&format!(">= {end}"), Some(explanation))
        }
        // On a multi-valued field, two different values could satisfy the two bounds. In the text syntax, a `not` before the
        // criterion would negate only the first bound.
        None if operator == Operator::Equal && !field.is_many() && language != Language::Text => {
            let both = format!(">= {start} and {} < {end}", field.name());
            replace_by(&both, Some(format!("which is all of {written}")))
        }
        // `<>` has no equivalent range: it also selects cases without the field.
        None => None,
    }
}
