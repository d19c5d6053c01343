//! Objects that hold cases without being search answers, such as other systems write for a page.

use crate::json::{JsonType, Reader};

/// Names that other systems give to the array of a page.
const NAMES: [&str; 7] = ["items", "data", "results", "cases", "records", "value", "list"];

/// The member of an object, or of the start of one, whose array has objects in it as if they were cases.
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

/// Says where a case was expected in place of such an object.
pub(crate) fn expected_case(name: &str) -> String {
    format!("a case; those in `{name}` are read after `jq -c '.{name}[]'`")
}

/// Returns what `find` tells of the first member of an object of which it tells something, by its key and a reader at its value.
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
    fn an_array_of_objects_under_a_usual_name_is_found() {
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
