//! What is left of a case for a token that sees some fields only.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::json::{self, JsonType, Reader};

/// The members that stay, as a tree. Arrays on the way are passed through, element by element.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct Projection {
    members: HashMap<String, Projection>,
}

impl Projection {
    /// The visible fields of a catalogue.
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

    /// Writes a document with the members that stay; values keep their spelling.
    ///
    /// Objects, elements of arrays, and arrays of which nothing stays go with their members: that they are there, and how many, could
    /// tell what the hidden members are. What stands where a field should be and is none, an object or an array of them, goes too:
    /// nothing is known of what is in it.
    ///
    /// # Errors
    /// The text is not JSON.
    pub(in crate::service) fn write(&self, document: &str, out: &mut Vec<u8>) -> json::Result<()> {
        let mut reader = Reader::new(document);
        if reader.peek()? == JsonType::Object {
            self.object(&mut reader, out).map(drop)
        } else {
            reader.skip_value()
        }
    }

    /// As deep as the fields' paths.
    fn object(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Left> {
        reader.open();
        out.push(b'{');
        let mut is_first_key = true;
        let mut left = Left::Nothing;
        while let Some((key, _)) = reader.next_key(is_first_key)? {
            is_first_key = false;
            let Some(inner) = self.members.get(&*key) else {
                reader.skip_value()?;
                continue;
            };
            let start = out.len();
            if left == Left::Something {
                out.push(b',');
            }
            // Every string has a JSON form.
            out.extend(serde_json::to_vec(&*key).unwrap_or_default());
            out.push(b':');
            if inner.value(reader, out)? == Left::Something {
                left = Left::Something;
            } else {
                out.truncate(start);
            }
        }
        out.push(b'}');
        Ok(left)
    }

    /// Writes a value, and says what of it stays; unless that is something, what was written is to be dropped.
    fn value(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Left> {
        match reader.peek()? {
            JsonType::Object if !self.members.is_empty() => self.object(reader, out),
            JsonType::Array => self.array(reader, out),
            JsonType::Object => reader.skip_value().map(|()| Left::Misplaced),
            _ => {
                let start = reader.offset();
                reader.skip_scalar()?;
                out.extend_from_slice(reader.between(start, reader.offset()).as_bytes());
                Ok(if self.members.is_empty() { Left::Something } else { Left::Misplaced })
            }
        }
    }

    /// An array of scalars where the field is, of objects on the way to it.
    fn array(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<Left> {
        reader.open();
        out.push(b'[');
        let mut is_first = true;
        // An empty list is the value of a field, and on the way to one it is nothing.
        let mut left = if self.members.is_empty() { Left::Something } else { Left::Nothing };
        let mut is_first_left = true;
        while reader.next_element(is_first)? {
            is_first = false;
            let start = out.len();
            if !is_first_left {
                out.push(b',');
            }
            let element = match reader.peek()? {
                JsonType::Array => reader.skip_value().map(|()| Left::Misplaced)?,
                _ => self.value(reader, out)?,
            };
            match element {
                Left::Something => {
                    is_first_left = false;
                    left = left.max(Left::Something);
                }
                Left::Nothing => out.truncate(start),
                Left::Misplaced => {
                    out.truncate(start);
                    left = Left::Misplaced;
                }
            }
        }
        out.push(b']');
        Ok(left)
    }
}

/// What of a value stays. Of an array, the greatest of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// No field lies in it.
    Nothing,
    Something,
    /// It is of another shape than the fields say, so that nothing is known of what is in it.
    Misplaced,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(fields: &[&str], document: &str) -> String {
        let catalog = Catalog::cases().allow(fields.iter().copied()).unwrap();
        let mut out = Vec::new();
        Projection::new(&catalog).write(document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_that_are_not_listed_go() {
        let document = r#"{ "secret":1, "id" : "a", "caseReview":{"status":"open","stage":"x"}, "totalAmountInDefaultCurrency":1.50e0,
            "amlCases":[{"amlCaseId":"1","y":2},{"amlCaseId":"2"}],"tags":["a","b"],"priority":null}"#;
        assert_eq!(
            left(
                &["id", "status", "totalAmountInDefaultCurrency", "amlCases.amlCaseId", "tags", "priority"],
                document
            ),
            r#"{"id":"a","caseReview":{"status":"open"},"totalAmountInDefaultCurrency":1.50e0,"amlCases":[{"amlCaseId":"1"},{"amlCaseId":"2"}],"tags":["a","b"],"priority":null}"#
        );
        assert_eq!(left(&["id"], document), r#"{"id":"a"}"#);
    }

    #[test]
    fn objects_and_elements_go_with_the_last_of_their_members() {
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
            assert_eq!(left(fields, document), expected, "{fields:?} of {document}");
        }
    }

    #[test]
    fn values_of_another_shape_take_nothing_with_them() {
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
            assert_eq!(left(&["name", "status"], document), "{}", "{document}");
        }
        // One that is misplaced takes the others with it.
        for list in [r#"[{"amlCaseId":"1"},7]"#, r#"[[],{"amlCaseId":"1"}]"#, r#"[null,{"amlCaseId":"1"}]"#] {
            assert_eq!(left(&["amlCases.amlCaseId"], &format!("{{\"amlCases\":{list}}}")), "{}", "{list}");
        }
        assert_eq!(left(&["name"], r#"{"n\u0061me":"A\u00e9"}"#), r#"{"name":"A\u00e9"}"#);
    }
}
