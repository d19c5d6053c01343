//! Copies of records as they are served: without what the reader may not see, without nulls, times in form.

use std::borrow::Cow;

use super::members::{json_string, push_string};
use super::shape::{Kind, Shape, Sight};
use super::time::with_offset;
use crate::json::{self, JsonType, Reader};

/// What a copy of a record keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Members that their shape does not name.
    pub(super) unknown: bool,
    /// Members that are personal data.
    pub(super) personal: bool,
}

/// Copies a record, with the members that a view keeps, in their order and as they are written. What is `null` counts as absent, at
/// every depth; times that have an offset in the interface document are written with one.
///
/// # Errors
/// When the text is not JSON, which a checked record always is.
pub(super) fn copy(text: &str, shape: &'static Shape, view: View) -> json::Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut reader = Reader::new(text);
    reader.peek()?;
    copy_object(&mut reader, shape, view, &mut out)?;
    Ok(out)
}

/// Copies a value of any sort without nulls.
///
/// # Errors
/// When the text is not JSON.
pub(super) fn without_nulls(text: &str) -> json::Result<String> {
    let mut out = String::with_capacity(text.len());
    copy_any(&mut Reader::new(text), &mut out)?;
    Ok(out)
}

/// Copies a value that is not null.
fn copy_value(
    reader: &mut Reader<'_>,
    kind: &'static Kind,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    match (kind, reader.peek()?) {
        (Kind::Object(shape), JsonType::Object) => copy_object(reader, shape, view, out),
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
    shape: &'static Shape,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    reader.open();
    out.push('{');
    let (mut first, mut is_empty) = (true, true);
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        let member = shape.member(&key);
        let is_kept = match member.map(|member| member.sight) {
            None => view.unknown,
            Some(Sight::Everyone) => true,
            Some(Sight::Personal) => view.personal,
            Some(Sight::Internal) => false,
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

/// An object or array that was begun.
struct Open {
    is_object: bool,
    /// Nothing of it was read.
    is_first: bool,
    /// Nothing of it was written.
    is_empty: bool,
}

/// Copies a value whose meaning is not known here.
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
        // Goes on to the next value that is not null.
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
