//! The tree of values in a catalogue file, independent of its syntax.

use std::borrow::Cow;

/// A value with its offset in the file, in bytes.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) at: usize,
    pub(super) value: Value<'t>,
}

/// A key of a table, with its offset.
#[derive(Debug)]
pub(super) struct Key<'t> {
    pub(super) at: usize,
    pub(super) name: Cow<'t, str>,
}

#[derive(Debug)]
pub(super) enum Value<'t> {
    /// A table of TOML or an object of JSON: its entries in the order of the file.
    Table(Vec<(Key<'t>, Node<'t>)>),
    List(Vec<Node<'t>>),
    Text(Cow<'t, str>),
    Boolean(bool),
    /// A number: its text in the file.
    Number(String),
    /// `null`, which is treated as absent.
    Null,
    /// A value of a type that no key accepts: its description for errors.
    Other(String),
}

impl Value<'_> {
    /// Returns the description of the value for errors.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Table(_) => "a table of keys".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Text(text) => format!("the string {}", crate::error::quote(text)),
            Self::Boolean(value) => format!("`{value}`"),
            Self::Number(number) => format!("the number {}", crate::error::quote(number)),
            Self::Null => "null".to_owned(),
            Self::Other(description) => description.clone(),
        }
    }
}
