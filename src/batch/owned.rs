//! A case that waits to be sealed, in as few allocations as can be.

use std::borrow::Cow;

use super::{Document, Row};
use crate::catalog::FieldId;
use crate::value::{Number, Timestamp, Value};

/// The values of one case, and its document, independent of the text that they were read from.
#[derive(Debug)]
pub(crate) struct OwnedRow {
    /// The strings of the values, one behind the other, and behind them the document, if its text is kept.
    text: Box<str>,
    /// Where the document starts in `text`.
    document_start: u32,
    /// The number of the document and its size, if it is kept elsewhere.
    document: Option<(u64, usize)>,
    values: Box<[(FieldId, Scalar)]>,
    pub(crate) place: u64,
}

/// A value; a string's end in the text, which starts where the string before ends.
#[derive(Clone, Copy, Debug)]
enum Scalar {
    String(u32),
    Number(Number),
    Timestamp(Timestamp),
    Boolean(bool),
}

impl OwnedRow {
    /// The texts of a case are together shorter than 4 GiB, since its document is.
    pub(crate) fn new(row: &Row<'_>, document: Document<'_>, place: u64) -> Self {
        let mut values = Vec::with_capacity(row.iter().len());
        let strings = row.iter().map(|(_, value)| match value {
            Value::String(string) => string.len(),
            _ => 0,
        });
        let document_bytes = match document {
            Document::Text(document) => document.len(),
            Document::Number { .. } => 0,
        };
        let mut text = String::with_capacity(strings.fold(document_bytes, usize::saturating_add));
        for (field, value) in row.iter() {
            let scalar = match value {
                Value::String(string) => {
                    text.push_str(string);
                    Scalar::String(u32::try_from(text.len()).unwrap_or(u32::MAX))
                }
                Value::Number(number) => Scalar::Number(*number),
                Value::Timestamp(timestamp) => Scalar::Timestamp(*timestamp),
                Value::Boolean(boolean) => Scalar::Boolean(*boolean),
            };
            values.push((*field, scalar));
        }
        let document_start = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let document = match document {
            Document::Text(document) => {
                text.push_str(document);
                None
            }
            Document::Number { number, size_bytes } => Some((number, size_bytes)),
        };
        Self { text: text.into(), document_start, document, values: values.into(), place }
    }

    /// All values in the order of the document.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FieldId, Value<'_>)> {
        self.iter_where(|_| true)
    }

    /// The values of a field in the order of the document; those of others are not read.
    pub(crate) fn values(&self, field: FieldId) -> impl Iterator<Item = Value<'_>> {
        self.iter_where(move |other| other == field).map(|(_, value)| value)
    }

    fn iter_where(&self, is_wanted: impl Fn(FieldId) -> bool) -> impl Iterator<Item = (FieldId, Value<'_>)> {
        let mut end = 0;
        self.values.iter().filter_map(move |(field, scalar)| {
            let start = end;
            if let Scalar::String(own) = scalar {
                end = *own as usize;
            }
            is_wanted(*field).then(|| {
                let value = match scalar {
                    Scalar::String(_) => {
                        Value::String(Cow::Borrowed(self.text.get(start..end).unwrap_or_default()))
                    }
                    Scalar::Number(number) => Value::Number(*number),
                    Scalar::Timestamp(timestamp) => Value::Timestamp(*timestamp),
                    Scalar::Boolean(boolean) => Value::Boolean(*boolean),
                };
                (*field, value)
            })
        })
    }

    /// The `id`, which every sound case has.
    pub(crate) fn id(&self) -> &str {
        match self.values(FieldId::ID).next() {
            Some(Value::String(Cow::Borrowed(id))) => id,
            _ => "",
        }
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self.document {
            Some((number, size_bytes)) => Document::Number { number, size_bytes },
            None => Document::Text(self.text.get(self.document_start as usize..).unwrap_or_default()),
        }
    }

    /// The number of the document, when it is kept elsewhere.
    pub(crate) fn document_number(&self) -> Option<u64> {
        self.document.map(|(number, _)| number)
    }

    /// What the values take, in bytes.
    pub(crate) fn values_bytes(&self) -> usize {
        size_of_val::<[(FieldId, Scalar)]>(&self.values).saturating_add(self.document_start as usize)
    }
}
