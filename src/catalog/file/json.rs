//! Reads a catalogue file in JSON as a tree of values.

use super::node::{Key, Node, Value};
use crate::error::Errors;
use crate::json::{JsonType, Reader, Result};

/// The maximum depth of the arrays and objects that are read. A valid file has at most depth 4: the file itself, the list of
/// fields, a field, and a list in the field, such as its known values. The maximum is one level more than that.
const DEPTH: usize = 5;

/// Reads a text as a tree. Skips arrays and objects that are nested more deeply than [`DEPTH`].
pub(super) fn read(text: &str) -> std::result::Result<Node<'_>, Errors> {
    let mut reader = Reader::new(text);
    let whole = node(&mut reader, DEPTH);
    let ended = whole.and_then(|node| reader.end().map(|()| node));
    ended.map_err(|error| Errors::from(*error))
}

fn node<'t>(reader: &mut Reader<'t>, depth: usize) -> Result<Node<'t>> {
    let kind = reader.peek()?;
    let at = reader.offset();
    let value = match kind {
        JsonType::Object | JsonType::Array if depth == 0 => {
            reader.skip_value()?;
            Value::Other(kind.name().to_owned())
        }
        JsonType::Object => {
            reader.open();
            let mut entries = Vec::new();
            while let Some((name, at)) = reader.next_key(entries.is_empty())? {
                let value = node(reader, depth.saturating_sub(1))?;
                entries.push((Key { at, name }, value));
            }
            Value::Table(entries)
        }
        JsonType::Array => {
            reader.open();
            let mut elements = Vec::new();
            while reader.next_element(elements.is_empty())? {
                elements.push(node(reader, depth.saturating_sub(1))?);
            }
            Value::List(elements)
        }
        JsonType::String => Value::Text(reader.string()?),
        JsonType::Number => Value::Number(reader.number()?.to_owned()),
        JsonType::Boolean => Value::Boolean(reader.boolean()?),
        JsonType::Null => {
            reader.null()?;
            Value::Null
        }
    };
    Ok(Node { at, value })
}
