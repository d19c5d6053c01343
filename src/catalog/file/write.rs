//! Writes a catalogue as a catalogue file in JSON.

use serde_json::Value;

use super::super::catalogue::Catalog;
use super::super::field::Field;
use super::super::timestamp_form::TimestampForm;
use crate::value::FieldType;

/// Returns the file in one line, without settings that have their default value.
pub(super) fn json(catalog: &Catalog) -> String {
    let mut out = String::from("{");
    if catalog.is_extended() {
        out.push_str("\"extended_operators\":true,");
    }
    if let Some(id) = catalog.fields().first().filter(|id| **id != Catalog::id_field()) {
        let (path, kind) = (quoted(id.path()), quoted(id.id_type().name()));
        out.push_str(&format!("\"id\":{{\"path\":{path},\"type\":{kind}}},"));
    }
    out.push_str("\"fields\":[");
    for (number, id) in catalog.field_ids().enumerate() {
        if number > 0 {
            out.push(',');
        }
        field(catalog.field(id), catalog.is_visible(id), &mut out);
    }
    out.push_str("]}");
    out
}

fn field(field: &Field, is_visible: bool, out: &mut String) {
    out.push_str("{\"path\":");
    out.push_str(&quoted(field.path()));
    out.push_str(",\"type\":");
    out.push_str(&quoted(field.field_type().name()));
    if let FieldType::Decimal { scale } = field.field_type() {
        out.push_str(&format!(",\"scale\":{scale}"));
    }
    if field.form() != TimestampForm::default() {
        out.push_str(",\"form\":");
        out.push_str(&quoted(field.form().name()));
    }
    list("aliases", field.aliases(), out);
    list("known", field.known_values(), out);
    if let Some(default) = field.default_value() {
        out.push_str(",\"default\":");
        out.push_str(&quoted(default));
    }
    for (name, is_set) in
        [("key", field.is_key()), ("searchable", field.is_searchable()), ("hidden", !is_visible)]
    {
        if is_set {
            out.push_str(&format!(",\"{name}\":true"));
        }
    }
    out.push('}');
}

fn list<'v>(name: &str, values: impl Iterator<Item = &'v str>, out: &mut String) {
    let values: Vec<String> = values.map(quoted).collect();
    if !values.is_empty() {
        out.push_str(&format!(",\"{name}\":[{}]", values.join(",")));
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
