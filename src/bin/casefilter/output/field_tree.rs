//! Reads the fields of documents in one pass. The result is the values for the cells of a row, or a document with only these
//! fields.

use std::borrow::Cow;
use std::fmt;

use casefilter::Field;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The paths of fields, as a tree of keys. Each field has a number: its index in the list from which the tree was made.
pub(crate) struct FieldTree {
    roots: Vec<Node>,
    len: usize,
}

/// A key of a path.
struct Node {
    key: String,
    /// The number of nested arrays in the value of the key: 1 for `tags[]`.
    arrays: usize,
    /// The [numbers](FieldTree) of the fields whose path ends with this key.
    fields: Vec<usize>,
    children: Vec<Node>,
}

impl FieldTree {
    pub(crate) fn new<'f>(fields: impl IntoIterator<Item = &'f Field>) -> Self {
        let mut tree = Self { roots: Vec::new(), len: 0 };
        for field in fields {
            tree.add(field.path());
        }
        tree
    }

    fn add(&mut self, path: &str) {
        let number = self.len;
        self.len = self.len.saturating_add(1);
        let mut nodes = &mut self.roots;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            let name = key.trim_end_matches("[]");
            let arrays = key.len().saturating_sub(name.len()) / 2;
            let is_it = |node: &Node| node.key == name && node.arrays == arrays;
            let place = nodes.iter().position(is_it).unwrap_or(nodes.len());
            if place == nodes.len() {
                nodes.push(Node { key: name.to_owned(), arrays, fields: Vec::new(), children: Vec::new() });
            }
            let Some(node) = nodes.get_mut(place) else { return };
            if keys.peek().is_none() {
                node.fields.push(number);
                return;
            }
            nodes = &mut node.children;
        }
    }

    /// Returns the values of each field, as they are written in the document. A null is not a value.
    pub(crate) fn values<'d>(&self, document: &'d str) -> Vec<Vec<&'d RawValue>> {
        let mut values = vec![Vec::new(); self.len];
        collect(&self.roots, document, &mut values);
        values
    }

    /// Returns the document with only the members that the fields name. They are nested as in the document, and their values are
    /// written as in the document. An object without any of these members is left out, unless it is an element of an array.
    pub(crate) fn only(&self, document: &str) -> String {
        let mut text = String::with_capacity(64);
        write_object(&self.roots, document, &mut text);
        text
    }
}

fn collect<'d>(nodes: &[Node], object: &'d str, values: &mut [Vec<&'d RawValue>]) {
    for (key, value) in members(nodes, object) {
        for node in nodes.iter().filter(|node| node.key == key) {
            collect_below(node, node.arrays, value, values);
        }
    }
}

fn collect_below<'d>(node: &Node, arrays: usize, value: &'d RawValue, values: &mut [Vec<&'d RawValue>]) {
    if arrays > 0 {
        for element in elements(value) {
            collect_below(node, arrays.saturating_sub(1), element, values);
        }
        return;
    }
    if value.get() != "null" {
        for number in &node.fields {
            if let Some(values) = values.get_mut(*number) {
                values.push(value);
            }
        }
    }
    if !node.children.is_empty() {
        collect(&node.children, value.get(), values);
    }
}

/// Writes the members of an object. Returns true if there are any.
fn write_object(nodes: &[Node], object: &str, out: &mut String) -> bool {
    out.push('{');
    let mut is_first = true;
    for (key, value) in members(nodes, object) {
        let start = out.len();
        if !is_first {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(&key).unwrap_or_default());
        out.push(':');
        if write_member(nodes, &key, value, out) {
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    out.push('}');
    !is_first
}

/// Writes the value of a member. Returns false if the value has none of the members that the fields name.
fn write_member(nodes: &[Node], key: &str, value: &RawValue, out: &mut String) -> bool {
    let mut nodes = nodes.iter().filter(|node| node.key == key);
    if nodes.clone().any(|node| !node.fields.is_empty()) {
        out.push_str(value.get());
        return true;
    }
    let start = out.len();
    nodes.any(|node| {
        out.truncate(start);
        write_below(node, node.arrays, value, out)
    })
}

fn write_below(node: &Node, arrays: usize, value: &RawValue, out: &mut String) -> bool {
    if arrays == 0 {
        return value.get().starts_with('{') && write_object(&node.children, value.get(), out);
    }
    if !value.get().starts_with('[') {
        return false;
    }
    out.push('[');
    let mut is_first = true;
    for element in elements(value) {
        let start = out.len();
        if !is_first {
            out.push(',');
        }
        let is_object = arrays == 1 && element.get().starts_with('{');
        // An element of an array keeps its place, even if it has none of the members.
        if write_below(node, arrays.saturating_sub(1), element, out) || is_object {
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    out.push(']');
    true
}

fn elements(array: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(array.get()).unwrap_or_default()
}

/// Returns the members whose keys are keys of `nodes`, in the order of the object. Returns none if the text is not an object. If a
/// key is repeated, returns its last value.
fn members<'d>(nodes: &[Node], object: &'d str) -> Vec<(Cow<'d, str>, &'d RawValue)> {
    if !object.trim_start().starts_with('{') {
        return Vec::new();
    }
    let mut text = serde_json::Deserializer::from_str(object);
    Members { nodes }.deserialize(&mut text).unwrap_or_default()
}

struct Members<'n> {
    nodes: &'n [Node],
}

impl<'d> DeserializeSeed<'d> for Members<'_> {
    type Value = Vec<(Cow<'d, str>, &'d RawValue)>;

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'d> Visitor<'d> for Members<'_> {
    type Value = Vec<(Cow<'d, str>, &'d RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'d>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found: Self::Value = Vec::new();
        while let Some(Key(key)) = map.next_key::<Key<'d>>()? {
            if !self.nodes.iter().any(|node| node.key == key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value()?;
            match found.iter_mut().find(|(earlier, _)| *earlier == key) {
                Some((_, earlier)) => *earlier = value,
                None => found.push((key, value)),
            }
        }
        Ok(found)
    }
}

/// A key, which is borrowed from the text if it contains no escapes.
#[derive(serde::Deserialize)]
struct Key<'d>(#[serde(borrow)] Cow<'d, str>);

/// Returns the text of a value: the contents of a string, and any other value as it is written.
pub(crate) fn text_of(value: &RawValue) -> Cow<'_, str> {
    match value.get().starts_with('"') {
        true => serde_json::from_str(value.get()).unwrap_or_default(),
        false => Cow::Borrowed(value.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use casefilter::FieldType;

    fn tree(paths: &[&str]) -> FieldTree {
        let fields: Vec<Field> = paths.iter().map(|path| Field::new(path, FieldType::String)).collect();
        FieldTree::new(&fields)
    }

    const DOCUMENT: &str = r#"{"id":"a","n":1.50,"x":{"y":null,"z":[1e2,{"k":"v"}]},"other":[[]],
        "list":[{"name":"one","done":true},{},{"done":false},null,7],"tags":["t \u0041"]}"#;

    #[test]
    fn only_the_named_members_are_kept_as_they_are_written() {
        for (paths, expected) in [
            (&["id"][..], r#"{"id":"a"}"#),
            (&["n", "x.z"], r#"{"n":1.50,"x":{"z":[1e2,{"k":"v"}]}}"#),
            (&["x.y"], r#"{"x":{"y":null}}"#),
            (&["x.q", "q"], "{}"),
            (&["list[].name", "tags[]"], r#"{"list":[{"name":"one"},{},{}],"tags":["t \u0041"]}"#),
            (&["list[].name", "list[].done"], r#"{"list":[{"name":"one","done":true},{},{"done":false}]}"#),
            (&["id.x", "list.name", "n[]"], r#"{"n":1.50}"#),
        ] {
            assert_eq!(tree(paths).only(DOCUMENT), expected, "{paths:?}");
        }
        assert_eq!(tree(&["id"]).only("[1]"), "{}");
        assert_eq!(tree(&["id"]).only(r#"{"id":"a","\u0069d":"b"}"#), r#"{"id":"b"}"#);
    }

    #[test]
    fn values_are_those_at_the_paths() {
        let of = |path: &str| {
            let values = tree(&[path]).values(DOCUMENT);
            values.into_iter().flatten().map(|value| text_of(value).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("n"), ["1.50"]);
        assert_eq!(of("x.y"), [""; 0]);
        assert_eq!(of("list[].done"), ["true", "false"]);
        assert_eq!(of("tags[]"), ["t A"]);
        assert_eq!(of("list[]").len(), 4);
        assert_eq!(of("id[]"), [""; 0]);
    }
}
