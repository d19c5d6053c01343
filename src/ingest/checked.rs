//! Telling that documents are UTF-8, many at once.

use crate::json;

/// The bytes that documents come from, and the text that a part of them is known to be.
///
/// To check documents one by one takes as long again for their ends, each of which lies elsewhere in a register.
#[derive(Debug, Default)]
pub(crate) struct Checked<'b> {
    bytes: &'b [u8],
    /// What is known to be UTF-8, from `start` on.
    text: &'b str,
    start: usize,
}

/// So many bytes are checked at once: they stay in the cache until they are read.
const AT_ONCE: usize = 1 << 16;

impl<'b> Checked<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The text of a part of the bytes; `None` when it is not known to be one, or lies elsewhere.
    ///
    /// Linear over all parts, when they come in the order of the bytes and do not lie across one another.
    #[inline]
    pub(crate) fn text_of(&mut self, part: &[u8]) -> Option<&'b str> {
        // Where a part lies follows from its address: only what is borrowed from the bytes can lie among them.
        let start = part.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        let end = start.checked_add(part.len()).filter(|end| *end <= self.bytes.len())?;
        if start < self.start || end > self.start.saturating_add(self.text.len()) {
            self.check(start);
        }
        self.text.get(start.checked_sub(self.start)?..end.checked_sub(self.start)?)
    }

    #[inline(never)]
    fn check(&mut self, start: usize) {
        let rest = self.bytes.get(start..).unwrap_or_default();
        let next = rest.get(..AT_ONCE).unwrap_or(rest);
        self.start = start;
        self.text = json::text(next).unwrap_or_else(|len| {
            // A character that ends behind these, or a byte that belongs to none.
            next.get(..len).and_then(|sound| json::text(sound).ok()).unwrap_or_default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_text_that_they_have_by_themselves() {
        let line = "{\"id\":\"é😀\",\"name\":\"Zoë\"}\n".repeat(7000);
        for broken in [None, Some(0), Some(5), Some(AT_ONCE - 1), Some(AT_ONCE), Some(line.len() - 1)] {
            let mut bytes = line.clone().into_bytes();
            if let Some(at) = broken {
                bytes[at] = 0xff;
            }
            for len in [1, 29, 30, 1000, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1] {
                let mut checked = Checked::new(&bytes);
                let mut known = 0;
                for part in bytes.chunks(len) {
                    let own = str::from_utf8(part).ok();
                    let text = checked.text_of(part);
                    assert!(text.is_none() || text == own, "{broken:?}, {len}");
                    known += usize::from(text.is_some());
                }
                let sound = bytes.chunks(len).filter(|part| str::from_utf8(part).is_ok()).count();
                assert!(len > AT_ONCE || known == sound, "{broken:?}, {len}: {known} of {sound}");
            }
        }
    }

    #[test]
    fn parts_of_other_bytes_are_not_known() {
        let (own, other) = (b"own bytes".to_vec(), b"own bytes".to_vec());
        let mut checked = Checked::new(&own);
        assert_eq!(checked.text_of(&other), None);
        assert_eq!(checked.text_of(&own[4..]), Some("bytes"));
        assert_eq!(checked.text_of(&own), Some("own bytes"));
        assert_eq!(Checked::default().text_of(&own), None);
    }
}
