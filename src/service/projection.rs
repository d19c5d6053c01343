//! What is left of a case for a token that sees some fields only.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::json::{self, JsonType, Reader};

/// The members that stay, as a tree. Arrays on the way are passed through, element by element.
#[derive(Clone, Debug, Default)]
pub(super) struct Projection {
    members: HashMap<String, Projection>,
}

impl Projection {
    /// The visible fields of a catalogue.
    pub(super) fn new(catalog: &Catalog) -> Self {
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
    /// What stands where a field should be and is none, an object or an array of them, goes too: nobody knows what is in it.
    ///
    /// # Errors
    /// The text is not JSON.
    pub(super) fn write(&self, document: &str, out: &mut Vec<u8>) -> json::Result<()> {
        let mut reader = Reader::new(document);
        if reader.peek()? == JsonType::Object { self.object(&mut reader, out) } else { reader.skip_value() }
    }

    /// As deep as the fields' paths.
    fn object(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<()> {
        reader.open();
        out.push(b'{');
        let mut is_first_key = true;
        let mut is_empty = true;
        while let Some((key, _)) = reader.next_key(is_first_key)? {
            is_first_key = false;
            let Some(inner) = self.members.get(&*key) else {
                reader.skip_value()?;
                continue;
            };
            let start = out.len();
            if !is_empty {
                out.push(b',');
            }
            // Every string has a JSON form.
            out.extend(serde_json::to_vec(&*key).unwrap_or_default());
            out.push(b':');
            if inner.value(reader, out)? {
                is_empty = false;
            } else {
                out.truncate(start);
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes a value, or says that nothing of it stays; then what was written is to be dropped.
    fn value(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<bool> {
        match reader.peek()? {
            JsonType::Object if !self.members.is_empty() => {
                self.object(reader, out)?;
                Ok(true)
            }
            JsonType::Array => self.array(reader, out),
            JsonType::Object => reader.skip_value().map(|()| false),
            _ => {
                let start = reader.offset();
                reader.skip_scalar()?;
                out.extend_from_slice(reader.between(start, reader.offset()).as_bytes());
                Ok(self.members.is_empty())
            }
        }
    }

    /// An array of scalars where the field is, of objects on the way to it.
    fn array(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> json::Result<bool> {
        reader.open();
        out.push(b'[');
        let (mut is_first, mut stays) = (true, true);
        while reader.next_element(is_first)? {
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            match reader.peek()? {
                JsonType::Array => {
                    reader.skip_value()?;
                    stays = false;
                }
                _ => stays &= self.value(reader, out)?,
            }
        }
        out.push(b']');
        Ok(stays)
    }
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
        assert_eq!(left(&["status"], r#"{"caseReview":{"stage":"x"}}"#), r#"{"caseReview":{}}"#);
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
        assert_eq!(left(&["name"], r#"{"n\u0061me":"A\u00e9"}"#), r#"{"name":"A\u00e9"}"#);
    }
}
