//! Copies the text of a record with edits: some values are replaced or left out.

use std::collections::BTreeMap;

use super::members::push_string;
use crate::json::{self, JsonType, Reader};

/// The edits of a record, by the offset at which the edited value starts.
pub(super) type Edits = BTreeMap<usize, Edit>;

pub(super) enum Edit {
    /// The member or element with this value is left out.
    Cut,
    /// The value is replaced by this JSON text.
    Replace(String),
}

/// Appends the value at the reader's position to `out`, with its edits.
///
/// Recurses only into values that contain edits. Such values are described by a schema, so their depth is bounded.
pub(super) fn rewrite(reader: &mut Reader<'_>, edits: &Edits, out: &mut String) -> json::Result<()> {
    let found = reader.peek()?;
    let start = reader.offset();
    let mut end = reader.clone();
    end.skip_value()?;
    if let Some(Edit::Replace(value)) = edits.get(&start) {
        out.push_str(value);
        *reader = end;
        return Ok(());
    }
    let has_edits = edits.range(start..end.offset()).next().is_some();
    if !has_edits || !matches!(found, JsonType::Object | JsonType::Array) {
        out.push_str(reader.between(start, end.offset()));
        *reader = end;
        return Ok(());
    }
    let is_object = found == JsonType::Object;
    reader.open();
    out.push(if is_object { '{' } else { '[' });
    let (mut first, mut is_empty) = (true, true);
    loop {
        let key = match is_object {
            true => match reader.next_key(std::mem::take(&mut first))? {
                Some((key, _)) => Some(key),
                None => break,
            },
            false if reader.next_element(std::mem::take(&mut first))? => None,
            false => break,
        };
        reader.peek()?;
        if matches!(edits.get(&reader.offset()), Some(Edit::Cut)) {
            reader.skip_value()?;
            continue;
        }
        if !std::mem::take(&mut is_empty) {
            out.push(',');
        }
        if let Some(key) = key {
            push_string(&key, out);
            out.push(':');
        }
        rewrite(reader, edits, out)?;
    }
    out.push(if is_object { '}' } else { ']' });
    Ok(())
}
