//! Warnings on strings in a form that few documents have, such as `" open"` or `null`.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::warning::WarningKind;
use crate::catalog::Field;
use crate::error::quote;
use crate::value::Value;

/// Words for an absent value in other languages, in lower case.
const ABSENT: [&str; 4] = ["null", "none", "nil", "undefined"];

/// Returns the warning on a value with blanks around it, in another form of Unicode than NFC, or that looks like an absent value.
pub(super) fn unusual(field: &Field, value: &Value<'_>) -> Option<(WarningKind, String)> {
    let Value::String(text) = value else { return None };
    if field.known_rank(text).is_some() {
        return None;
    }
    let trimmed = text.trim();
    if trimmed.is_empty() || ABSENT.iter().any(|word| word.eq_ignore_ascii_case(trimmed)) {
        let what = match trimmed {
            "" => "a string without letters".to_owned(),
            _ => format!("the string {}", quote(text)),
        };
        let field = field.name();
        let message = format!(
            "{what} is a value like any other, and no case without {} has it: write {} in a text, or the operator `$exists` with \
             `false` in an extended body",
            quote(field),
            quote(&format!("{field} is absent"))
        );
        return Some((WarningKind::NotAbsence, message));
    }
    if trimmed.len() < text.len() {
        let message = format!(
            "{} has blanks around it, which are compared like other characters; did you mean {}?",
            quote(&format!("\"{text}\"")),
            quote(trimmed)
        );
        return Some((WarningKind::BlanksAround, message));
    }
    if text.is_ascii() || is_nfc(text) {
        return None;
    }
    let composed: String = text.nfc().collect();
    let message = format!(
        "{} has {} code points and {} in the composed form of Unicode (NFC), which most documents have: strings are \
         compared by code points",
        quote(text),
        text.chars().count(),
        composed.chars().count()
    );
    Some((WarningKind::NotComposed, message))
}
