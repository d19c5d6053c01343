//! The part of the input that an error is about (`Found`).

use std::fmt;

#[cfg(any(test, feature = "serde"))]
use super::quote::escaped;
use super::quote::{Quoted, write_quoted};

/// The maximum number of characters of the input that an error keeps. The rest is dropped.
const KEPT_CHARS: usize = 256;

/// The part of the input that an [`Error`](crate::Error) is about.
///
/// Its `Display` form is the form in error messages. A part of the input is in backquotes and clipped to 60 characters. Control
/// characters and invisible characters are escaped. A description is displayed unchanged. With the feature `serde`, it is
/// serialised in the same form.
///
/// ```
/// use casefilter::{Catalog, Filter, Found};
/// let body = br#"{"criteria":[{"field":"status","op":"!=","values":["open"]}]}"#;
/// let errors = Filter::compile(&Catalog::cases(), body).unwrap_err();
/// assert_eq!(errors.as_slice()[0].found, Found::Text("!=".to_owned()));
/// assert_eq!(errors.as_slice()[0].found.to_string(), "`!=`");
///
/// let errors = Filter::compile(&Catalog::cases(), b"[]").unwrap_err();
/// assert_eq!(errors.as_slice()[0].found, Found::Description("an array".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Found {
    /// A part of the input, unchanged, but at most its first 256 characters.
    Text(String),
    /// A description, such as `a number`. It may quote parts of the input.
    Description(String),
}

impl Found {
    /// Creates a `Found` from a part of the input, clipped to 256 characters.
    ///
    /// ```
    /// use casefilter::{Error, ErrorKind, Found};
    /// let error = Error::new(ErrorKind::BadValue, 0, Found::text("mars"), "a planet with clients").at("planet");
    /// assert_eq!(error.to_string(), "planet (byte 0): found `mars`, expected a planet with clients");
    /// ```
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let mut text = text.into();
        if let Some((end, _)) = text.char_indices().nth(KEPT_CHARS) {
            text.truncate(end);
            text.shrink_to_fit();
        }
        Self::Text(text)
    }

    /// Returns the part of the input, or `None` for a description.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Description(_) => None,
        }
    }

    /// Returns the `Found` whose displayed form is `shown`.
    #[cfg(any(test, feature = "serde"))]
    pub(crate) fn from_displayed(shown: String) -> Self {
        let inner = shown.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        match inner.filter(|inner| !inner.contains('`') && escaped(inner) == **inner) {
            Some(inner) => Self::Text(inner.to_owned()),
            None => Self::Description(shown),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write_quoted(text, f),
            Self::Description(description) => f.write_str(description),
        }
    }
}

impl From<Quoted> for Found {
    fn from(quoted: Quoted) -> Self {
        Self::text(quoted.0)
    }
}

/// Converts a string to a description.
impl From<String> for Found {
    fn from(description: String) -> Self {
        Self::Description(description)
    }
}

/// Converts a string to a description.
impl From<&str> for Found {
    fn from(description: &str) -> Self {
        Self::Description(description.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_displays_alike_whole_and_kept() {
        let long = "é".repeat(1000);
        let found = Found::text(long.clone());
        assert_eq!(found.as_text().unwrap().chars().count(), KEPT_CHARS);
        assert_eq!(found.to_string(), Found::Text(long).to_string());
    }

    #[test]
    fn the_displayed_form_is_read_back() {
        let texts = ["", "a", "a b", "a\u{1b}", "a`b", "`", "…"].map(str::to_owned);
        for text in texts.into_iter().chain([59, 60, 61, 70].map(|len| "x".repeat(len))) {
            let found = Found::text(text.clone());
            let read = Found::from_displayed(found.to_string());
            assert_eq!(read.to_string(), found.to_string());
            let is_exact = !text.contains(['\u{1b}', '`']) && text.len() <= 60;
            assert!(!is_exact || read == found, "{read:?}");
        }
        for text in ["a number", "the key `a`", "`a` again", "`a` and `b`", "`"] {
            assert_eq!(Found::from_displayed(text.to_owned()), Found::Description(text.to_owned()));
        }
    }
}
