//! Reads the table `id` of a catalogue file: the member of a document that contains its id.

use super::super::catalogue::Catalog;
use super::super::field::Field;
use super::bounds::Bounds;
use super::faults::Faults;
use super::keys::known_key;
use super::node::{Node, Value};
use super::values::Values;
use super::words::Word;
use crate::error::{ErrorKind, Found, Suggestion};
use crate::value::IdType;

const KEYS: [&str; 2] = ["path", "type"];

/// Reads the field of the id. Returns `None` if an error was reported for it.
pub(super) fn read(node: &Node<'_>, bounds: &Bounds, faults: &mut Faults) -> Option<Field> {
    let Value::Table(table) = &node.value else {
        let near = match &node.value {
            Value::Text(text) if text.len() <= 64 => {
                let path = serde_json::Value::from(&**text);
                Some(Suggestion::explain(format!("`{{\"path\": {path}, \"type\": \"string\"}}`")))
            }
            _ => None,
        };
        let place = (ErrorKind::WrongType, node.at, "id".to_owned());
        return faults.add(place, node.value.describe(), "a table with `path` and `type`", near);
    };
    let mut seen = [false; KEYS.len()];
    let mut entries = [None; KEYS.len()];
    let mut is_whole = Some(());
    for (key, value) in table {
        match known_key(key, &KEYS, (Word::FieldKey, "id"), &mut seen, faults) {
            None => is_whole = None,
            Some(_) if matches!(value.value, Value::Null) => {}
            Some(number) => {
                if let Some(slot) = entries.get_mut(number) {
                    *slot = Some(value);
                }
            }
        }
    }
    let [path, kind] = entries;
    let mut values = Values { bounds, faults };
    let name = match path {
        None => Some("id".to_owned()),
        Some(node) => values.text(node, "id.path", "a key such as `ticketId`"),
    };
    let id_type = match kind {
        None => Some(IdType::String.name()),
        Some(node) => values.word(node, "id.type", Word::IdType),
    };
    let name = name?;
    if let Some(node) = path.filter(|_| !Catalog::is_id_name(&name)) {
        let place = (ErrorKind::BadValue, node.at, "id.path".to_owned());
        let expected = "one key without `.` and `[]`: the id is a member of the document itself";
        return values.faults.add(place, Found::text(&name), expected, None);
    }
    let id_type = id_type?;
    is_whole?;
    Some(Field::of_id(&name, *IdType::ALL.iter().find(|own| own.name() == id_type)?))
}
