//! Detects envelopes: objects that are not search answers, but contain cases in an array, such as a page that another system wrote.

use crate::json::{JsonType, Reader};

/// The names of members that contain the array of records in the paged API responses of other systems.
const NAMES: [&str; 7] = ["items", "data", "results", "cases", "records", "value", "list"];

/// Returns the name of the first member whose name is in [`NAMES`] and whose value is an array that starts with an object. `text`
/// may be only the start of an object.
pub(crate) fn member_with_cases(text: &str) -> Option<&'static str> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    first_member(text, |key, value| {
        let name = NAMES.into_iter().find(|name| *name == key)?;
        let is_array = value.peek().ok()? == JsonType::Array;
        value.open();
        (is_array && value.peek().ok()? == JsonType::Object).then_some(name)
    })
}

/// Returns the `expected …` text of the error for an envelope. The text says that a document is expected, and has a command that
/// extracts the cases.
pub(crate) fn expected_case(name: &str) -> String {
    format!("a document; extract the documents in `{name}` with `jq -c '.{name}[]'`")
}

/// Calls `find` for each member, with its key and a reader at its value. Returns the first result that is not `None`.
pub(crate) fn first_member<T>(text: &str, find: impl Fn(&str, &mut Reader<'_>) -> Option<T>) -> Option<T> {
    let mut reader = Reader::new(text);
    reader.peek().ok()?;
    reader.open();
    let mut first = true;
    loop {
        let (key, _) = reader.next_key(std::mem::take(&mut first)).ok()??;
        if let Some(found) = find(&key, &mut reader.clone()) {
            return Some(found);
        }
        reader.skip_value().ok()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_objects_under_a_common_name_is_found() {
        for (text, name) in [
            ("{\"items\":[{\"id\":\"a\"}]}", Some("items")),
            (" {\"code\":{\"items\":[{}]}, \"data\" : [ {", Some("data")),
            ("{\"list\":[{}]}", Some("list")),
            ("{\"amlCases\":[{}]}", None),
            ("{\"items\":[]}", None),
            ("{\"items\":[1]}", None),
            ("{\"items\":{\"a\":[{}]}}", None),
            ("{\"list\":{\"items\":[{}]}}", None),
            ("[{\"items\":[{}]}]", None),
            ("{\"code\":", None),
            ("", None),
        ] {
            assert_eq!(member_with_cases(text), name, "{text}");
        }
    }
}
