//! The correction that an error suggests (`Suggestion`).

use std::fmt;

use super::quote::{Quoted, is_whole, write_quoted};

/// A correction that an [`Error`](crate::Error) suggests: a replacement for the wrong part of the input, an explanation, or both.
///
/// Its `Display` form is the form in error messages: the replacement in backquotes, then a comma and the explanation. With the
/// feature `serde`, it is serialised in the same form.
///
/// ```
/// use casefilter::{Catalog, Filter};
/// let suggestion = |text: &str| {
///     let errors = Filter::compile_text(&Catalog::cases(), text).unwrap_err();
///     errors.as_slice()[0].suggestion.clone().unwrap()
/// };
/// let name = suggestion("creatdAt >= 2024-01-01");
/// assert_eq!((name.replacement(), name.explanation()), (Some("createdAt"), None));
///
/// let not = suggestion("totalAmountInDefaultCurrency not > 5");
/// assert_eq!(not.replacement(), Some("not totalAmountInDefaultCurrency > 5"));
/// assert_eq!(not.explanation(), Some("which also selects cases without a value"));
///
/// let several = suggestion("tags = (vip, cash)");
/// assert_eq!(several.replacement(), None);
/// assert_eq!(several.explanation(), Some("`in` for any of them, or `all` for all of them"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Suggestion {
    /// Boxed to keep errors small.
    parts: Box<Parts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parts {
    replacement: Option<String>,
    explanation: Option<String>,
}

impl Suggestion {
    /// Creates the suggestion to write `text` instead of the part of the input that is wrong.
    ///
    /// ```
    /// use casefilter::Suggestion;
    /// assert_eq!(Suggestion::replace_by("createdAt").to_string(), "`createdAt`");
    /// ```
    #[must_use]
    pub fn replace_by(text: impl Into<String>) -> Self {
        Self { parts: Box::new(Parts { replacement: Some(text.into()), explanation: None }) }
    }

    /// Creates a suggestion with an explanation and no replacement. Use it if one replacement is not enough, such as for a choice
    /// between two operators.
    ///
    /// ```
    /// use casefilter::Suggestion;
    /// assert_eq!(Suggestion::explain("`a` or `b`").to_string(), "`a` or `b`");
    /// ```
    #[must_use]
    pub fn explain(explanation: impl Into<String>) -> Self {
        Self { parts: Box::new(Parts { replacement: None, explanation: Some(explanation.into()) }) }
    }

    /// Sets the explanation.
    #[must_use]
    pub fn with_explanation(mut self, explanation: impl Into<String>) -> Self {
        self.parts.explanation = Some(explanation.into());
        self
    }

    /// Returns the replacement for the wrong part of the input, without backquotes. Returns `None` if there is only an explanation.
    #[must_use]
    pub fn replacement(&self) -> Option<&str> {
        self.parts.replacement.as_deref()
    }

    /// Returns the explanation. It may quote parts of the input in backquotes.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        self.parts.explanation.as_deref()
    }

    /// Returns the suggestion whose displayed form is `shown`.
    #[cfg(any(test, feature = "serde"))]
    pub(crate) fn from_displayed(shown: String) -> Self {
        let parts = shown.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        match parts.filter(|(text, _)| is_whole(text)) {
            Some((text, "")) => Self::replace_by(text),
            Some((text, rest)) => match rest.strip_prefix(", ") {
                Some(explanation) => Self::replace_by(text).with_explanation(explanation),
                None => Self::explain(shown),
            },
            None => Self::explain(shown),
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replacement() {
            Some(text) if is_whole(text) => write!(f, "`{text}`")?,
            Some(text) => write_quoted(text, f)?,
            None => {}
        }
        match self.explanation() {
            Some(explanation) if self.replacement().is_some() => write!(f, ", {explanation}"),
            Some(explanation) => f.write_str(explanation),
            None => Ok(()),
        }
    }
}

impl From<Quoted> for Suggestion {
    fn from(quoted: Quoted) -> Self {
        Self::replace_by(quoted.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_displayed_form_is_read_back() {
        for suggestion in [
            Suggestion::replace_by("<>"),
            Suggestion::replace_by("x".repeat(150)),
            Suggestion::replace_by("< \"2024\"").with_explanation("all of 2023 included"),
            Suggestion::explain("`a` or `b`"),
            Suggestion::explain("one `<>` for each value, joined by `and`"),
            Suggestion::explain("`>=` and `<=` joined by `and`"),
        ] {
            assert_eq!(Suggestion::from_displayed(suggestion.to_string()), suggestion);
        }
        // Clipping or escaping changes these replacements when they are displayed. Deserialising returns the displayed form.
        for text in ["a\u{1b}".to_owned(), "a`b".to_owned(), "x".repeat(300)] {
            let shown = Suggestion::replace_by(text).to_string();
            assert_eq!(Suggestion::from_displayed(shown.clone()).to_string(), shown);
        }
    }
}
