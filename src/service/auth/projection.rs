//! Removes from case documents the fields that a token may not see.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::json::{self, JsonType, Reader};

/// The visible members of a document, as a tree of keys. A leaf of the tree is a field.
///
/// Arrays are not levels of the tree: a key applies to each element of its array.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct Projection {
    members: HashMap<String, Projection>,
}

impl Projection {
    /// Creates the projection to the visible fields of a catalogue.
    pub(in crate::service) fn new(catalog: &Catalog) -> Self {
        let mut root = Self::default();
        for (_, field) in catalog.visible_fields() {
            let mut node = &mut root;
            for key in field.path().split('.') {
                node = node.members.entry(key.trim_end_matches("[]").to_owned()).or_default();
            }
        }
        root
    }

    /// Writes the visible members of a document to `out`. Values are copied byte for byte.
    ///
    /// Objects, array elements and arrays that have no visible member are removed as well, because their presence or number could
    /// reveal hidden members. A value is also removed if its type does not match its field, such as an object instead of a string.
    /// The catalogue does not describe the content of such a value.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON.
    pub(in crate::service) fn write(&self, document: &str, out: &mut Vec<u8>) -> json::Result<()> {
        let mut reader = Reader::new(document);
        if reader.peek()? == JsonType::Object {
            self.object(&mut reader, out).map(drop)
        } else {
            reader.skip_value()
        }
    }

    /// Writes the visible members of an object. The depth of the recursion is at most the length of the longest field path.
    fn object(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Kept> {
        reader.open();
        out.push(b'{');
        let mut is_first_key = true;
        let mut kept = Kept::Nothing;
        while let Some((key, _)) = reader.next_key(is_first_key)? {
            is_first_key = false;
            let Some(inner) = self.members.get(&*key) else {
                reader.skip_value()?;
                continue;
            };
            let start = out.len();
            if kept == Kept::Something {
                out.push(b',');
            }
            // Serialising a string cannot fail.
            out.extend(serde_json::to_vec(&*key).unwrap_or_default());
            out.push(b':');
            if inner.value(reader, out)? == Kept::Something {
                kept = Kept::Something;
            } else {
                out.truncate(start);
            }
        }
        out.push(b'}');
        Ok(kept)
    }

    /// Writes the visible part of a value. If the result is not [`Kept::Something`], the caller removes what was written.
    fn value(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Kept> {
        match reader.peek()? {
            JsonType::Object if !self.members.is_empty() => self.object(reader, out),
            JsonType::Array => self.array(reader, out),
            JsonType::Object => reader.skip_value().map(|()| Kept::Misplaced),
            _ => {
                let start = reader.offset();
                reader.skip_scalar()?;
                out.extend_from_slice(reader.between(start, reader.offset()).as_bytes());
                Ok(if self.members.is_empty() { Kept::Something } else { Kept::Misplaced })
            }
        }
    }

    /// Writes the visible part of an array. If `self` is a field, this part consists of the scalar elements. Otherwise, it consists
    /// of the visible parts of the objects.
    fn array(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Kept> {
        reader.open();
        out.push(b'[');
        let mut is_first = true;
        // If `self` is a field, an empty array is its value. Otherwise, an empty array contains nothing that is visible.
        let mut kept = if self.members.is_empty() { Kept::Something } else { Kept::Nothing };
        let mut is_first_kept = true;
        while reader.next_element(is_first)? {
            is_first = false;
            let start = out.len();
            if !is_first_kept {
                out.push(b',');
            }
            let element = match reader.peek()? {
                JsonType::Array => reader.skip_value().map(|()| Kept::Misplaced)?,
                _ => self.value(reader, out)?,
            };
            match element {
                Kept::Something => {
                    is_first_kept = false;
                    kept = kept.max(Kept::Something);
                }
                Kept::Nothing => out.truncate(start),
                Kept::Misplaced => {
                    out.truncate(start);
                    kept = Kept::Misplaced;
                }
            }
        }
        out.push(b']');
        Ok(kept)
    }
}

/// The part of a value that the projection keeps. For an array, this is the maximum over its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// The value contains no visible field.
    Nothing,
    Something,
    /// The type of the value does not match its field, so the catalogue does not describe its content.
    Misplaced,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(fields: &[&str], document: &str) -> String {
        let catalog = Catalog::cases().allow(fields.iter().copied()).unwrap();
        let mut out = Vec::new();
        Projection::new(&catalog).write(document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_that_are_not_listed_are_removed() {
        let document = r#"{ "secret":1, "id" : "a", "caseReview":{"status":"open","stage":"x"}, "totalAmountInDefaultCurrency":1.50e0,
            "amlCases":[{"amlCaseId":"1","y":2},{"amlCaseId":"2"}],"tags":["a","b"],"priority":null}"#;
        assert_eq!(
            project(
                &["id", "status", "totalAmountInDefaultCurrency", "amlCases.amlCaseId", "tags", "priority"],
                document
            ),
            r#"{"id":"a","caseReview":{"status":"open"},"totalAmountInDefaultCurrency":1.50e0,"amlCases":[{"amlCaseId":"1"},{"amlCaseId":"2"}],"tags":["a","b"],"priority":null}"#
        );
        assert_eq!(project(&["id"], document), r#"{"id":"a"}"#);
    }

    #[test]
    fn objects_and_elements_without_a_visible_member_are_removed() {
        let title = &["createdByRule.title"][..];
        for (fields, document, expected) in [
            (&["status"][..], r#"{"caseReview":{"stage":"x"}}"#, "{}"),
            (title, r#"{"createdByType":"byRule","createdByRule":{"id":"1"}}"#, "{}"),
            (title, r#"{"createdByRule":{}}"#, "{}"),
            (title, r#"{"createdByRule":{"id":"1","title":null}}"#, r#"{"createdByRule":{"title":null}}"#),
            (&["amlCases.amlCaseId"], r#"{"amlCases":[]}"#, "{}"),
            (&["amlCases.amlCaseId"], r#"{"amlCases":[{},{"x":1}]}"#, "{}"),
            (
                &["amlCases.amlCaseId"],
                r#"{"amlCases":[{"x":1},{"amlCaseId":"1"},{},{"amlCaseId":"2","x":3},{"x":4}]}"#,
                r#"{"amlCases":[{"amlCaseId":"1"},{"amlCaseId":"2"}]}"#,
            ),
            (
                &["caseReview.checklistState.checklist.checked", "tags"],
                r#"{"caseReview":{"checklistState":{"checklist":[{"name":"a"}]},"stage":"x"},"tags":[]}"#,
                r#"{"tags":[]}"#,
            ),
        ] {
            assert_eq!(project(fields, document), expected, "{fields:?} of {document}");
        }
    }

    #[test]
    fn values_of_another_shape_than_their_field_are_removed() {
        for document in [
            r#"{"name":{"secret":1}}"#,
            r#"{"name":[{"secret":1}]}"#,
            r#"{"name":[["secret"]]}"#,
            r#"{"name":["a",{"secret":1}]}"#,
            r#"{"caseReview":"secret"}"#,
            r#"{"caseReview":["secret"]}"#,
            r#"{"caseReview":[[{"status":"secret"}]]}"#,
            r#"{"n\u0061me":{"secret":1},"x":"secret"}"#,
        ] {
            assert_eq!(project(&["name", "status"], document), "{}", "{document}");
        }
        // A single element of the wrong type removes the whole array.
        for list in [r#"[{"amlCaseId":"1"},7]"#, r#"[[],{"amlCaseId":"1"}]"#, r#"[null,{"amlCaseId":"1"}]"#] {
            assert_eq!(project(&["amlCases.amlCaseId"], &format!("{{\"amlCases\":{list}}}")), "{}", "{list}");
        }
        assert_eq!(project(&["name"], r#"{"n\u0061me":"A\u00e9"}"#), r#"{"name":"A\u00e9"}"#);
    }
}
