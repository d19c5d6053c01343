//! Lists the tests that the filter language does not support, with the notes in error messages. Also recognises values of other
//! languages that express such a test, such as `null`.

use crate::operator::Language;

/// A test that other query languages have. Requests cannot contain it, or must express it in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// A test that a field has no value, or that it has any value.
    Absence,
    /// A search inside a string.
    Inside,
    /// A search inside a value that is not a string.
    NotAString,
    /// A test of the end of a string.
    Ending,
    /// The negation of `>`, `>=`, `<`, `<=` or a range.
    NegatedOrder,
    /// A test that a list has no values other than the given values.
    Only,
    /// A test of the number of values.
    Count,
    /// A time relative to the present.
    RelativeTime,
    /// A whole day or minute instead of an instant.
    Day,
    /// The end of a range, given by a word such as `until`, which does not say if the range includes it.
    OpenBound,
    /// A function of a field or of a value.
    Function,
    /// A comparison of two fields.
    TwoFields,
    /// A connective that is neither `and` nor `or`.
    Connective,
}

impl Unsupported {
    /// Returns the note at the end of the error message.
    pub(crate) const fn note(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Absence, Language::Interface) => "the language has no test for absence",
            (Self::Absence, Language::Extended) => "`$exists` tests whether there is a value",
            (Self::Absence, Language::Text) => "`is absent` and `is present` test whether there is a value",
            (Self::Inside | Self::NotAString | Self::Ending, Language::Interface) => {
                "strings are compared whole, and there is no search inside a string"
            }
            (Self::Inside, Language::Extended) => {
                "`$substring` searches inside a string, `$startsWith` at its start, and `$match` without case and accents"
            }
            (Self::Inside, Language::Text) => {
                "`includes` searches inside a string, `starts with` at its start, and `matches` without case and accents"
            }
            (Self::NotAString, _) => "only strings can be searched",
            (Self::Ending, _) => "no operator tests the end of a string",
            (Self::NegatedOrder, Language::Interface) => {
                "no operator negates a comparison such as `>`, and its opposite `<=` does not select cases without a value"
            }
            (Self::NegatedOrder, Language::Extended) => "`$not` negates a criterion",
            (Self::NegatedOrder, Language::Text) => "`not` before a criterion negates it",
            (Self::Only, _) => "a test for the absence of other values is not in the language",
            (Self::Count, _) => "a test of the number of values is not in the language",
            (Self::RelativeTime, Language::Text) => {
                "write a time such as `now - 7d`, `today` or `2025-12-01`"
            }
            (Self::RelativeTime, _) => "times are absolute: write the time itself",
            (Self::Day, Language::Text) => {
                "for a whole minute, write one criterion for its start and one for its end"
            }
            (Self::Day, _) => {
                "for a whole day or minute, write one criterion for its start and one for its end"
            }
            (Self::OpenBound, _) => "write `<=` to include the value, `<` to leave it out",
            (Self::Function, _) => "functions are not in the language",
            (Self::TwoFields, _) => "a field is compared with values, and not with another field",
            (Self::Connective, _) => "`and` and `or` are the only connectives",
        }
    }
}

/// Returns true for a word that means "no value" in some language, such as `null`.
pub(crate) fn is_no_value(word: &str) -> bool {
    ["null", "none", "nil", "undefined"].iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns the unsupported test that a value expresses in some other language. `is_bare` is true for a value without quotes. A
/// quoted value expresses such a test only if it is empty.
pub(super) fn meant_by_value(value: &str, is_bare: bool) -> Option<Unsupported> {
    let is_pattern = value
        .strip_prefix('/')
        .is_some_and(|rest| rest.trim_end_matches(['g', 'i', 'm', 's', 'u']).ends_with('/'));
    if value.is_empty() || is_bare && is_no_value(value) {
        Some(Unsupported::Absence)
    } else {
        (is_bare && is_pattern).then_some(Unsupported::Inside)
    }
}

/// Returns the unsupported test that an invalid value expresses: absence for `null`, or a relative time for `today` in a
/// timestamp field.
pub(crate) fn meant_by_bad_value(value: &str, is_timestamp: bool) -> Option<Unsupported> {
    if value.is_empty() || is_no_value(value) {
        return Some(Unsupported::Absence);
    }
    (is_timestamp && is_relative_time(value)).then_some(Unsupported::RelativeTime)
}

/// Returns true for a time such as `today`, `now-7d`, `-1w` or `last week`.
pub(super) fn is_relative_time(text: &str) -> bool {
    const WORDS: &str = "now today yesterday tomorrow tonight midnight noon ago last this next past previous interval \
         sysdate getdate curdate currentdate currenttime currenttimestamp localtimestamp second seconds minute minutes \
         hour hours day days week weeks month months year years";
    // Relative times are shorter than this length in bytes. The limit bounds the cost of the search, which is linear in the length.
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return false;
    }
    let lower = text.to_ascii_lowercase().replace('_', "");
    let is_word = |word: &str| WORDS.split(' ').any(|other| other == word);
    let is_amount = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']).trim_end_matches(|c: char| c.is_ascii_lowercase());
        let is_signed_or_has_unit =
            digits.len() < text.len() && text.ends_with(|c: char| c.is_ascii_lowercase());
        is_signed_or_has_unit && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_amount(&lower) || lower.split(|c: char| !c.is_ascii_alphabetic()).any(is_word)
}
