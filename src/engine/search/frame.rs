//! Writes the JSON around the documents of an answer: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.

use std::ops::Range;

/// The number of bytes to reserve for the JSON around the documents.
pub(crate) const FRAME_BYTES: usize = 128;

/// A writer of the JSON of an answer. The parts of the JSON may be written to one string or to several strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerFrame {
    is_empty: bool,
}

impl AnswerFrame {
    /// Starts the JSON of an answer at the end of `out`.
    pub(crate) fn begin(out: &mut String) -> Self {
        out.push_str("{\"list\":{\"items\":[");
        Self { is_empty: true }
    }

    /// Returns the size in bytes of a document, including the comma before it.
    #[cfg(feature = "service")]
    pub(crate) fn bytes(&self, document: &str) -> usize {
        document.len().saturating_add(usize::from(!self.is_empty))
    }

    /// Returns the same size as [`bytes`](Self::bytes), and treats the document as written.
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

    /// Appends an object with only the id, for a document that is not kept.
    pub(crate) fn id(&mut self, out: &mut String, id: &str) {
        // Every string can be written as JSON, so this cannot fail.
        let id = serde_json::to_string(id).unwrap_or_default();
        self.document(out, &format!("{{\"id\":{id}}}"));
    }

    /// Ends the JSON: appends the total, if there is one, and the offset and the limit of the page.
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
