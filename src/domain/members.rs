//! The members of a JSON object, with their values as JSON text (`Members`).

use std::borrow::Cow;

use crate::json::{self, Reader};

/// Appends `text` to `out`, as a JSON string.
pub(super) fn push_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Returns `text` as a JSON string.
pub(super) fn json_string(text: &str) -> String {
    let mut json = String::new();
    push_string(text, &mut json);
    json
}

/// The members of a JSON object, in their order. Their values are JSON text in the original spelling.
#[derive(Debug, Default)]
pub(super) struct Members<'t>(Vec<(Cow<'t, str>, Cow<'t, str>)>);

impl<'t> Members<'t> {
    /// Parses an object.
    ///
    /// # Errors
    /// Returns an error if the text is not an object.
    pub(super) fn read(text: &'t str) -> json::Result<Self> {
        let mut reader = Reader::new(text);
        let mut members = Vec::new();
        reader.peek()?;
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            reader.peek()?;
            let start = reader.offset();
            reader.skip_value()?;
            members.push((key, Cow::Borrowed(reader.between(start, reader.offset()))));
        }
        Ok(Self(members))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Returns the value of a member if it is a string.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Sets the value of a member. `value` is JSON text. If the member does not exist, appends it.
    pub(super) fn set(&mut self, name: &'t str, value: String) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, own)) => *own = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(name), Cow::Owned(value))),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    pub(super) fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }
}
