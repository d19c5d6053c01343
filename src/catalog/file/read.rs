//! Converts the tree of values of a catalogue file to a catalogue.

use super::super::catalogue::Catalog;
use super::bounds::Bounds;
use super::faults::Faults;
use super::fields::FieldReader;
use super::id;
use super::keys::known_key;
use super::node::{Node, Value};
use super::words::Word;
use crate::error::{Error, ErrorKind, Errors, Found, Suggestion};

const KEYS: [&str; 5] = ["extends", "extended_operators", "rfc3339", "fields", "id"];

/// Reads the catalogue of a file. If the file is a list, the list is the value of `fields`.
pub(super) fn catalog(root: &Node<'_>, bounds: &Bounds) -> Result<Catalog, Errors> {
    let mut faults = Faults::default();
    let (mut base, mut is_extended, mut takes_rfc3339, mut fields) = (None, false, false, None);
    let mut of_id = None;
    match &root.value {
        Value::List(elements) => fields = Some((root.at, elements.as_slice())),
        Value::Table(entries) => {
            let mut seen = [false; KEYS.len()];
            for (key, node) in entries {
                if faults.is_full() {
                    break;
                }
                let Some(number) = known_key(key, &KEYS, (Word::FileKey, ""), &mut seen, &mut faults) else {
                    continue;
                };
                let place = |kind| (kind, node.at, key.name.to_string());
                match (number, &node.value) {
                    (_, Value::Null) => {}
                    (0, Value::Text(name)) if name == "cases" => base = Some(Catalog::cases()),
                    (0, Value::Text(name)) => {
                        let near = Suggestion::replace_by("cases");
                        let near = Some(near).filter(|_| name.to_lowercase().contains("case"));
                        let expected = "`cases`, the only catalogue that a file can extend";
                        faults.add::<()>(place(ErrorKind::BadValue), Found::text(&**name), expected, near);
                    }
                    (0, other) => {
                        let expected = "the string `cases`";
                        faults.add::<()>(place(ErrorKind::WrongType), other.describe(), expected, None);
                    }
                    (1, Value::Boolean(value)) => is_extended = *value,
                    (2, Value::Boolean(value)) => takes_rfc3339 = *value,
                    (3, Value::List(elements)) => fields = Some((node.at, elements.as_slice())),
                    (3, other) => {
                        let expected =
                            "a list of fields: `[[fields]]` before each one in TOML, `[{…}, {…}]` in JSON";
                        faults.add::<()>(place(ErrorKind::WrongType), other.describe(), expected, None);
                    }
                    (4, _) => of_id = Some(node),
                    (_, other) => {
                        let expected = "`true` or `false`, without quotes";
                        faults.add::<()>(place(ErrorKind::WrongType), other.describe(), expected, None);
                    }
                }
            }
            // An earlier error, such as a misspelt key, explains why there are no fields.
            if base.is_none() && !seen.get(3).is_some_and(|seen| *seen) && faults.is_empty() {
                let place = (ErrorKind::MissingKey, root.at, String::new());
                let expected =
                    "`fields`, a list with each field's `path` and `type`, or `extends = \"cases\"`";
                faults.add::<()>(place, "no fields", expected, None);
            }
        }
        other => {
            let expected = "an object with `fields`, or a list of fields";
            faults.report(Error::new(ErrorKind::WrongType, root.at, other.describe(), expected));
        }
    }
    let (at, nodes) = fields.unwrap_or_default();
    let id = match of_id {
        Some(node) if base.is_some() => {
            let place = (ErrorKind::BadValue, node.at, "id".to_owned());
            faults.add(place, "`id` beside `extends`", "no `id`: cases keep the string `id`", None)
        }
        Some(node) => id::read(node, bounds, &mut faults),
        None => None,
    };
    let id = id.unwrap_or_else(Catalog::id_field);
    let mut reader = FieldReader::new(base.as_ref(), id.clone(), bounds, &mut faults);
    reader.read_all(at, nodes);
    let (fields, hidden) = reader.finish();
    let made = match &base {
        Some(base) => base.with(fields),
        None => Catalog::of_id(id, fields),
    };
    let narrowed = made.and_then(|made| {
        let made = if takes_rfc3339 { made.with_rfc3339() } else { made };
        if hidden.is_empty() {
            return Ok(made);
        }
        let shown =
            made.visible_fields().map(|(_, field)| field.name()).filter(|name| !hidden.contains(*name));
        made.allow(shown.collect::<Vec<_>>())
    });
    match narrowed {
        Ok(catalog) => faults.or(if is_extended { catalog.extended() } else { catalog }),
        // Each field was checked separately, so this error has usually been reported already, with its offset.
        Err(error) => {
            faults.or(())?;
            Err(Error::new(ErrorKind::BadValue, at, error.to_string(), "fields without conflicts").into())
        }
    }
}
