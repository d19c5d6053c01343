//! Copies records into answers. Leaves out nulls and members that the reader may not see, and writes times in the form of the
//! interface document.

use std::borrow::Cow;

use super::members::{json_string, push_string};
use super::schema::{Kind, Schema, Visibility};
use super::time::with_offset;
use crate::json::{self, JsonType, Reader};

/// The selection of members that a copy of a record keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// True if members that the schema does not contain are kept.
    pub(super) unknown: bool,
    /// True if members with personal data are kept.
    pub(super) personal: bool,
}

/// Copies the members of a record that `view` keeps, in their order and spelling.
///
/// Leaves out nulls at every depth. If the interface document requires an offset for a time, the copy has an offset.
///
/// # Errors
/// Returns an error if the text is not JSON. The text of a checked record is always JSON.
pub(super) fn copy(text: &str, schema: &'static Schema, view: View) -> json::Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut reader = Reader::new(text);
    reader.peek()?;
    copy_object(&mut reader, schema, view, &mut out)?;
    Ok(out)
}

/// Copies a value of any type. Leaves out members and elements that are `null`.
///
/// # Errors
/// Returns an error if the text is not JSON.
pub(super) fn without_nulls(text: &str) -> json::Result<String> {
    let mut out = String::with_capacity(text.len());
    copy_any(&mut Reader::new(text), &mut out)?;
    Ok(out)
}

/// Copies a value that is not `null`.
fn copy_value(
    reader: &mut Reader<'_>,
    kind: &'static Kind,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    match (kind, reader.peek()?) {
        (Kind::Object(schema), JsonType::Object) => copy_object(reader, schema, view, out),
        (Kind::List(kind), JsonType::Array) => {
            reader.open();
            out.push('[');
            let (mut first, mut is_empty) = (true, true);
            while reader.next_element(std::mem::take(&mut first))? {
                if reader.peek()? == JsonType::Null {
                    reader.null()?;
                    continue;
                }
                if !std::mem::take(&mut is_empty) {
                    out.push(',');
                }
                copy_value(reader, kind, view, out)?;
            }
            out.push(']');
            Ok(())
        }
        (Kind::ZonedMoment, JsonType::String) => {
            let start = reader.offset();
            let text = reader.string()?;
            match with_offset(&text) {
                Some(Cow::Owned(text)) => out.push_str(&json_string(&text)),
                _ => out.push_str(reader.between(start, reader.offset())),
            }
            Ok(())
        }
        _ => copy_any(reader, out),
    }
}

fn copy_object(
    reader: &mut Reader<'_>,
    schema: &'static Schema,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    reader.open();
    out.push('{');
    let (mut first, mut is_empty) = (true, true);
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        let member = schema.member(&key);
        let is_kept = match member.map(|member| member.visibility) {
            None => view.unknown,
            Some(Visibility::Everyone) => true,
            Some(Visibility::Personal) => view.personal,
            Some(Visibility::Internal) => false,
        };
        if reader.peek()? == JsonType::Null || !is_kept {
            reader.skip_value()?;
            continue;
        }
        if !std::mem::take(&mut is_empty) {
            out.push(',');
        }
        push_string(&key, out);
        out.push(':');
        copy_value(reader, member.map_or(&Kind::Any, |member| &member.kind), view, out)?;
    }
    out.push('}');
    Ok(())
}

/// An object or array that is being copied and whose end has not been read yet.
struct Open {
    is_object: bool,
    /// True until the first member or element has been read.
    is_first: bool,
    /// True until the first member or element has been written.
    is_empty: bool,
}

/// Copies a value that no schema describes. Leaves out members and elements that are `null`.
fn copy_any(reader: &mut Reader<'_>, out: &mut String) -> json::Result<()> {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let found = reader.peek()?;
        match found {
            JsonType::Object | JsonType::Array => {
                let is_object = found == JsonType::Object;
                reader.open();
                out.push(if is_object { '{' } else { '[' });
                open.push(Open { is_object, is_first: true, is_empty: true });
            }
            _ => {
                let start = reader.offset();
                reader.skip_scalar()?;
                out.push_str(reader.between(start, reader.offset()));
            }
        }
        // Finds the next value that is not `null`.
        loop {
            let Some(top) = open.last_mut() else { return Ok(()) };
            let is_first = std::mem::take(&mut top.is_first);
            let (has_next, key) = match top.is_object {
                true => {
                    let key = reader.next_key(is_first)?.map(|(key, _)| key);
                    (key.is_some(), key)
                }
                false => (reader.next_element(is_first)?, None),
            };
            if !has_next {
                out.push(if top.is_object { '}' } else { ']' });
                open.pop();
                continue;
            }
            if reader.peek()? == JsonType::Null {
                reader.null()?;
                continue;
            }
            if !std::mem::take(&mut top.is_empty) {
                out.push(',');
            }
            if let Some(key) = key {
                push_string(&key, out);
                out.push(':');
            }
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::check::check;
    use super::super::members::Members;
    use super::super::schemas;
    use super::*;
    use crate::error::Error;

    /// Returns the text to store for a record. The record must have no faults.
    fn stored(text: &str, schema: &'static Schema) -> Result<String, Vec<Error>> {
        let checked = check(text, schema)?;
        if checked.faults.is_empty() { Ok(checked.text.into_owned()) } else { Err(checked.faults) }
    }

    /// Returns the value without the nulls that it contains at any depth.
    fn stripped(value: &Value) -> Value {
        match value {
            Value::Object(members) => members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), stripped(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Array(elements) => {
                elements.iter().filter(|value| !value.is_null()).map(stripped).collect::<Vec<_>>().into()
            }
            other => other.clone(),
        }
    }

    static EMPTY: Schema = Schema { members: &[] };
    const ALL: View = View { unknown: true, personal: true };

    /// Generates objects that have members of the schemas and other members.
    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof!["a", "DEU", "applicant", "GREEN", "2026-01-01", "2026-01-01 00:00:00", "\\PC{0,4}"]
                .prop_map(Value::from),
        ];
        let name = prop_oneof![
            "id",
            "createdAt",
            "targetEntityType",
            "targetEntityId",
            "hits",
            "review",
            "active",
            "reviewerName",
            "vendorInfo",
            "attributes",
            "reviewAnswer",
            "\\PC{0,3}",
        ];
        let inner = leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(name.clone(), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        });
        inner.prop_filter("an object", Value::is_object)
    }

    proptest! {
        #[test]
        fn accepted_records_are_copied_whole_except_for_nulls(mut value in object()) {
            let text = value.to_string();
            prop_assert_eq!(stored(&text, &EMPTY), Ok(text.clone()));
            prop_assert_eq!(copy(&text, &EMPTY, ALL), Ok(stripped(&value).to_string()));
            prop_assert_eq!(without_nulls(&text), Ok(stripped(&value).to_string()));
            prop_assert_eq!(Members::read(&text).unwrap().to_json(), text);
            // Adding the required members of a record makes the check accept more objects.
            for (name, own) in [
                ("id", "x"), ("targetEntityId", "x"), ("targetEntityType", "applicant"),
                ("createdAt", "2026-01-01 00:00:00"),
            ] {
                value[name] = own.into();
            }
            let text = value.to_string();
            if stored(&text, &schemas::AML_CASE) == Ok(text.clone()) {
                let served = copy(&text, &schemas::AML_CASE, ALL).unwrap();
                value.as_object_mut().unwrap().remove("active");
                prop_assert_eq!(serde_json::from_str::<Value>(&served).unwrap(), stripped(&value));
                let redacted = copy(&text, &schemas::AML_CASE, View { personal: false, ..ALL }).unwrap();
                prop_assert!(redacted.len() <= served.len());
                prop_assert_eq!(stored(&redacted, &schemas::AML_CASE), Ok(redacted));
            }
            // The stored text has no faults, even if invalid parts were left out. Checking it again does not change it.
            for schema in [&schemas::AML_CASE, &schemas::APPLICANT, &schemas::DOCUMENT, &schemas::LEVEL] {
                if let Ok(checked) = check(&text, schema) {
                    let kept = checked.text.into_owned();
                    prop_assert_eq!(stored(&kept, schema), Ok(kept));
                }
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:0-9aeE.\\\\+ -]{0,60}") {
            for schema in [&EMPTY, &schemas::APPLICANT, &schemas::LEVEL, &schemas::DOCUMENT, &schemas::AML_CASE] {
                let _ = check(&text, schema);
            }
            let _ = copy(&text, &schemas::PREVIEW, ALL);
            let _ = Members::read(&text);
        }
    }

    #[test]
    fn many_keys_and_long_strings_take_linear_time() {
        let keys: Vec<String> = (0..200_000).map(|key| format!("\"k{key}\":0")).collect();
        let text = format!("{{{},\"x\":\"{}\"}}", keys.join(","), "y".repeat(1 << 20));
        assert_eq!(stored(&text, &EMPTY), Ok(text.clone()));
        assert_eq!(copy(&text, &EMPTY, ALL).unwrap(), text);
    }
}
