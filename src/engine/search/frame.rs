//! The JSON around the documents of an answer: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.

use std::ops::Range;

/// Bytes to reserve for the JSON around the documents.
pub(crate) const FRAME_BYTES: usize = 128;

/// A writer of the JSON of an answer. Its parts may go to one text or to several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerFrame {
    is_empty: bool,
}

impl AnswerFrame {
    /// Begins the JSON of an answer at the end of `out`.
    pub(crate) fn begin(out: &mut String) -> Self {
        out.push_str("{\"list\":{\"items\":[");
        Self { is_empty: true }
    }

    /// Returns the number of bytes that a document takes with the comma before it.
    #[cfg(feature = "service")]
    pub(crate) fn bytes(&self, document: &str) -> usize {
        document.len().saturating_add(usize::from(!self.is_empty))
    }

    /// Returns [`bytes`](Self::bytes) of a document that others follow.
    #[cfg(feature = "service")]
    pub(crate) fn pass(&mut self, document: &str) -> usize {
        let bytes = self.bytes(document);
        self.is_empty = false;
        bytes
    }

    /// Appends a document and returns its range in `out`.
    pub(crate) fn document(&mut self, out: &mut String, document: &str) -> Range<usize> {
        if !std::mem::take(&mut self.is_empty) {
            out.push(',');
        }
        let start = out.len();
        out.push_str(document);
        start..out.len()
    }

    /// Appends an object with the id alone, for a document that is not kept.
    pub(crate) fn id(&mut self, out: &mut String, id: &str) {
        // Every string has a JSON form.
        let id = serde_json::to_string(id).unwrap_or_default();
        self.document(out, &format!("{{\"id\":{id}}}"));
    }

    /// Ends the answer with the number of all selected documents, if the request wants it, and the page's offset and limit.
    pub(crate) fn end(self, out: &mut String, total: Option<u64>, (offset, limit): (u64, u64)) {
        out.push(']');
        let mut digits = itoa::Buffer::new();
        let mut member = |name: &str, number: u64| {
            out.push_str(name);
            out.push_str(digits.format(number));
        };
        if let Some(total) = total {
            member(",\"totalItems\":", total);
        }
        member(",\"pageInfo\":{\"limit\":", limit);
        member(",\"offset\":", offset);
        out.push_str("}}}");
    }
}
