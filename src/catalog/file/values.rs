//! Reads the values of the keys of a field: texts, names of types and forms, lists and flags.

use std::collections::HashSet;

use super::super::timestamp_form::TimestampForm;
use super::bounds::Bounds;
use super::faults::Faults;
use super::node::{Node, Value};
use super::words::{Word, suggest};
use crate::error::{ErrorKind, Found, Suggestion, quote, quote_all};
use crate::value::IdType;
use crate::value::{FieldType, MAX_SCALE};

/// A reader of values. If a value is wrong, its methods report an error and return `None`.
pub(super) struct Values<'c, 'f> {
    pub(super) bounds: &'c Bounds,
    pub(super) faults: &'f mut Faults,
}

impl Values<'_, '_> {
    /// Returns the text of a node.
    pub(super) fn text(&mut self, node: &Node<'_>, path: &str, expected: &str) -> Option<String> {
        match &node.value {
            Value::Text(text) if text.len() > self.bounds.bytes => {
                let place = (ErrorKind::StringTooLong, node.at, path.to_owned());
                let expected = format!("at most {} bytes", self.bounds.bytes);
                self.faults.add(place, format!("{} bytes", text.len()), expected, None)
            }
            Value::Text(text) => Some(text.to_string()),
            other => {
                let place = (ErrorKind::WrongType, node.at, path.to_owned());
                self.faults.add(place, other.describe(), expected, None)
            }
        }
    }

    /// Returns the name in a node: the name of a field type, of a timestamp form or of an id type. `word` determines which of these
    /// names are valid.
    pub(super) fn word(&mut self, node: &Node<'_>, path: &str, word: Word) -> Option<&'static str> {
        let allowed: Vec<&'static str> = match word {
            Word::IdType => IdType::ALL.iter().map(|kind| kind.name()).collect(),
            Word::Form => TimestampForm::ALL.iter().map(|form| form.name()).collect(),
            _ => FieldType::ALL.iter().map(|kind| kind.name()).collect(),
        };
        let expected = format!("one of {}", quote_all(allowed.iter().copied()));
        let Value::Text(text) = &node.value else {
            let place = (ErrorKind::WrongType, node.at, path.to_owned());
            return self.faults.add(place, node.value.describe(), expected, None);
        };
        if let Some(own) = allowed.iter().find(|own| **own == *text) {
            return Some(own);
        }
        let place = (ErrorKind::BadValue, node.at, path.to_owned());
        self.faults.add(place, Found::text(&**text), expected, suggest(text, word, &allowed))
    }

    /// Returns the texts of a list, with their offsets.
    pub(super) fn list(&mut self, node: &Node<'_>, path: &str, what: &str) -> Option<Vec<(usize, String)>> {
        let Value::List(elements) = &node.value else {
            let near = match &node.value {
                Value::Text(text) if text.len() <= 64 => {
                    Some(Suggestion::explain(format!("`[{}]`", serde_json::Value::from(&**text))))
                }
                _ => None,
            };
            let place = (ErrorKind::WrongType, node.at, path.to_owned());
            let expected = format!("a list of {what}, such as `[\"low\", \"high\"]`");
            return self.faults.add(place, node.value.describe(), expected, near);
        };
        if elements.len() > self.bounds.known {
            let place = (ErrorKind::BadFile, node.at, path.to_owned());
            let expected = format!("at most {} {what}", self.bounds.known);
            return self.faults.add(place, format!("{} {what}", elements.len()), expected, None);
        }
        let mut texts = Vec::with_capacity(elements.len());
        let mut seen = HashSet::new();
        let mut is_good = true;
        for (number, element) in elements.iter().enumerate() {
            if self.faults.is_full() {
                return None;
            }
            let path = format!("{path}[{number}]");
            let Some(text) = self.text(element, &path, "a string in quotes") else {
                is_good = false;
                continue;
            };
            if !seen.insert(text.clone()) {
                let place = (ErrorKind::BadValue, element.at, path);
                let found = format!("a second {}", quote(&text));
                self.faults.add::<()>(place, found, "each value once", None);
                is_good = false;
            }
            texts.push((element.at, text));
        }
        is_good.then_some(texts)
    }

    /// Reads the scale of a decimal field. If the scale is not an integer from 0 to [`MAX_SCALE`], records a fault and returns
    /// `None`.
    pub(super) fn scale(&mut self, node: &Node<'_>, path: &str) -> Option<u8> {
        let (kind, found) = match &node.value {
            Value::Number(number) => match number.parse() {
                Ok(scale) if scale <= MAX_SCALE => return Some(scale),
                _ => (ErrorKind::BadValue, node.value.describe()),
            },
            other => (ErrorKind::WrongType, other.describe()),
        };
        let expected = format!("the count of digits after the point, an integer from 0 to {MAX_SCALE}");
        self.faults.add((kind, node.at, path.to_owned()), found, expected, None)
    }

    pub(super) fn flag(&mut self, node: &Node<'_>, path: &str) -> Option<bool> {
        match &node.value {
            Value::Boolean(value) => Some(*value),
            other => {
                let place = (ErrorKind::WrongType, node.at, path.to_owned());
                self.faults.add(place, other.describe(), "`true` or `false`, without quotes", None)
            }
        }
    }
}
