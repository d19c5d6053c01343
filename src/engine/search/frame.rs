//! Writes the JSON around the documents of an answer: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.

use std::ops::Range;

use crate::catalog::{Catalog, IdType};
use crate::filter::Cursor;

/// The number of bytes to reserve for the JSON around the documents.
pub(crate) const FRAME_BYTES: usize = 128;

/// A writer of the JSON of an answer. The parts of the JSON may be written to one string or to several strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerFrame {
    is_empty: bool,
}

impl AnswerFrame {
    /// The JSON before the first document.
    pub(super) const START: &str = "{\"list\":{\"items\":[";

    /// Creates the frame of an answer whose [start](Self::START) was written.
    pub(super) const fn new() -> Self {
        Self { is_empty: true }
    }

    /// Starts the JSON of an answer at the end of `out`.
    pub(crate) fn begin(out: &mut String) -> Self {
        out.push_str(Self::START);
        Self::new()
    }

    /// Returns the text before the next document: nothing before the first document, and a comma before all later documents.
    pub(super) fn separator(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_empty) { "" } else { "," }
    }

    /// Returns the size in bytes of a document, including the comma before it.
    #[cfg(feature = "service")]
    pub(crate) fn bytes(&self, document: &str) -> usize {
        document.len().saturating_add(usize::from(!self.is_empty))
    }

    /// Returns the same size as [`bytes`](Self::bytes). Also updates the frame as if the document had been written.
    #[cfg(feature = "service")]
    pub(crate) fn pass(&mut self, document: &str) -> usize {
        let bytes = self.bytes(document);
        self.is_empty = false;
        bytes
    }

    /// Appends a document and returns its range in `out`.
    pub(crate) fn document(&mut self, out: &mut String, document: &str) -> Range<usize> {
        out.push_str(self.separator());
        let start = out.len();
        out.push_str(document);
        start..out.len()
    }

    /// Appends an object with only the id, for a document that is not kept.
    pub(super) fn id(&mut self, out: &mut String, member: &IdMember, id: &str) {
        self.document(out, &member.only_id(id));
    }

    /// Ends the JSON: appends the information about the page.
    pub(crate) fn end(self, out: &mut String, info: PageInfo<'_>) {
        self.end_in_pieces(info, |piece| out.push_str(piece));
    }

    /// Like [`end`](Self::end), but passes the pieces of the text to `push`.
    pub(super) fn end_in_pieces(self, info: PageInfo<'_>, mut push: impl FnMut(&str)) {
        let PageInfo { total, offset, limit, next } = info;
        push("]");
        let mut digits = itoa::Buffer::new();
        let mut member = |name: &str, number: u64| {
            push(name);
            push(digits.format(number));
        };
        if let Some(total) = total {
            member(",\"totalItems\":", total);
        }
        member(",\"pageInfo\":{\"limit\":", limit);
        member(",\"offset\":", offset);
        if let Some(next) = next {
            // The text of a cursor has no character that JSON escapes.
            push(",\"next\":\"");
            push(&next.to_string());
            push("\"");
        }
        push("}}}");
    }
}

/// The information about a page. In the JSON, it follows the documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageInfo<'a> {
    /// The total, if the request asks for it.
    pub(crate) total: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
    /// The cursor for the next page, if the request asks for it and the page is not the last page.
    pub(crate) next: Option<&'a Cursor>,
}

/// The member that contains the id of a document.
#[derive(Clone, Debug)]
pub(super) struct IdMember {
    /// The catalogue. `None` if the member has the name `id` and contains a string.
    own: Option<Catalog>,
}

impl IdMember {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let is_plain = catalog.id_name() == "id" && catalog.id_type() == IdType::String;
        Self { own: (!is_plain).then(|| catalog.clone()) }
    }

    /// Returns an object with only the id.
    pub(super) fn only_id(&self, id: &str) -> String {
        // Every string can be written as JSON, so this cannot fail.
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let name = self.own.as_ref().map_or("id", Catalog::id_name);
        let is_integer = self.own.as_ref().is_some_and(|own| own.id_type() == IdType::Integer);
        let value = if is_integer && id.parse::<i64>().is_ok() { id.into() } else { quoted(id) };
        format!("{{{}:{value}}}", quoted(name))
    }
}
