//! Warns about strings in an unusual form: with white space around them, not in Unicode form NFC, or words such as `null`.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::warning::WarningKind;
use crate::catalog::Field;
use crate::error::quote;
use crate::value::Value;

/// Words for a missing value in query and programming languages, in lower case.
const ABSENT: [&str; 4] = ["null", "none", "nil", "undefined"];

/// Returns the warning on a string that has white space around it, is not in Unicode form NFC, or looks like a missing value.
///
/// `presence` is the test for missing values in the language of the filter, if the language has such a test.
pub(super) fn unusual(
    field: &Field,
    value: &Value<'_>,
    presence: Option<&str>,
) -> Option<(WarningKind, String)> {
    let Value::String(text) = value else { return None };
    if field.known_rank(text).is_some() {
        return None;
    }
    let trimmed = text.trim();
    if trimmed.is_empty() || ABSENT.iter().any(|word| word.eq_ignore_ascii_case(trimmed)) {
        let what = match trimmed {
            "" => "an empty or blank string".to_owned(),
            _ => format!("the string {}", quote(text)),
        };
        let why = match presence {
            Some(test) => format!("{} tests for absence", quote(test)),
            None => "the language has no test for absence".to_owned(),
        };
        let message = format!(
            "{what} is an ordinary value, which a case without {} does not have: {why}",
            quote(field.name())
        );
        return Some((WarningKind::NotAbsence, message));
    }
    if trimmed.len() < text.len() {
        let message = format!(
            "{} has spaces around it, which are compared like other characters; did you mean {}?",
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
