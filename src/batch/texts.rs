//! Texts one behind the other, on large pages where there are many.

use bytes::Bytes;
use bytestring::ByteString;
use memmap2::MmapMut;

use crate::column::{LARGE_PAGE, large_pages};

/// Texts one behind the other, and where each ends.
#[derive(Debug)]
pub(crate) struct Texts {
    body: Body,
    ends: Box<[u32]>,
}

/// Where texts lie.
#[derive(Debug)]
enum Body {
    /// Any number of bytes.
    One(Box<str>),
    /// On pages of [`LARGE_PAGE`] bytes, each of which ends with its last text: the next one begins a page.
    Pages(Box<[ByteString]>),
}

impl Texts {
    /// The text of a number; empty when there is none.
    pub(super) fn get(&self, at: usize) -> &str {
        self.find(at).unwrap_or_default()
    }

    fn find(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)? as usize;
        let before =
            at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        match &self.body {
            Body::One(text) => text.get(before..end),
            Body::Pages(pages) => {
                let number = end.saturating_sub(1) / LARGE_PAGE;
                let start = number.saturating_mul(LARGE_PAGE);
                pages.get(number)?.get(before.saturating_sub(start)..end.checked_sub(start)?)
            }
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Of the texts alone.
    pub(super) fn text_bytes(&self) -> usize {
        match &self.body {
            Body::One(text) => text.len(),
            Body::Pages(pages) => pages.iter().map(|page| page.len()).sum(),
        }
    }

    /// Of all memory.
    pub(super) fn size_bytes(&self) -> usize {
        let texts = match &self.body {
            Body::One(text) => text.len(),
            Body::Pages(pages) => {
                let full = pages.len().saturating_sub(1).saturating_mul(LARGE_PAGE);
                let last = pages.last().map_or(0, |page| page.len());
                full.saturating_add(last).saturating_add(size_of_val::<[ByteString]>(pages))
            }
        };
        texts.saturating_add(size_of_val::<[u32]>(&self.ends))
    }

    /// Whether there is each text, and nothing else.
    pub(super) fn is_sound(&self) -> bool {
        let lengths = (0..self.len()).map(|at| self.find(at).map(str::len));
        self.ends.is_sorted() && lengths.sum::<Option<usize>>() == Some(self.text_bytes())
    }
}

/// Texts being gathered.
#[derive(Debug, Default)]
pub(super) struct TextsBuilder {
    body: Filling,
    ends: Vec<u32>,
}

#[derive(Debug)]
enum Filling {
    One(String),
    /// Full pages, and the one being filled, up to so many bytes.
    Pages(Vec<ByteString>, MmapMut, usize),
}

impl Default for Filling {
    fn default() -> Self {
        Self::One(String::new())
    }
}

/// Fewer bytes than this are not worth a page of their own for what is left over.
const MANY_BYTES: usize = 4 * LARGE_PAGE;
/// Longer texts would leave too much of a page unused.
const PAGED_TEXT_BYTES: usize = LARGE_PAGE / 16;

impl TextsBuilder {
    /// Makes room for so many bytes: a text that grows to its size is copied each time that it doubles.
    pub(super) fn reserve(&mut self, bytes: usize) {
        let Filling::One(text) = &mut self.body else { return };
        match large_pages(LARGE_PAGE) {
            Ok(page) if text.is_empty() && bytes >= MANY_BYTES => {
                self.body = Filling::Pages(Vec::with_capacity(bytes / LARGE_PAGE), page, 0);
            }
            _ => text.reserve(bytes),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, text: &str) {
        if let Filling::Pages(full, page, used) = &mut self.body {
            if page.get(*used..).is_some_and(|rest| rest.len() < text.len())
                && text.len() <= PAGED_TEXT_BYTES
                && let Ok(next) = large_pages(LARGE_PAGE)
            {
                full.push(frozen(std::mem::replace(page, next), std::mem::take(used)));
            }
            let end = used.saturating_add(text.len());
            match page.get_mut(*used..end) {
                Some(place) if text.len() <= PAGED_TEXT_BYTES => {
                    place.copy_from_slice(text.as_bytes());
                    *used = end;
                    let end = full.len().saturating_mul(LARGE_PAGE).saturating_add(end);
                    // A batch is sealed long before its documents reach 4 GiB.
                    return self.ends.push(u32::try_from(end).unwrap_or(u32::MAX));
                }
                _ => self.leave_pages(),
            }
        }
        if let Filling::One(own) = &mut self.body {
            own.push_str(text);
            self.ends.push(u32::try_from(own.len()).unwrap_or(u32::MAX));
        }
    }

    /// Joins all texts, as one of them fits no page.
    fn leave_pages(&mut self) {
        let texts = std::mem::take(self).seal();
        let mut text = String::with_capacity(texts.text_bytes());
        for at in 0..texts.len() {
            text.push_str(texts.get(at));
            self.ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        self.body = Filling::One(text);
    }

    /// The texts; the builder is empty afterwards.
    pub(super) fn seal(&mut self) -> Texts {
        let ends = std::mem::take(&mut self.ends).into();
        let body = match std::mem::take(&mut self.body) {
            Filling::One(text) => Body::One(text.into()),
            Filling::Pages(mut full, page, used) => {
                let last = page.get(..used).unwrap_or_default();
                // What is left of the last page is given back.
                full.push(checked(Bytes::copy_from_slice(last)));
                Body::Pages(full.into())
            }
        };
        Texts { body, ends }
    }
}

/// The texts on a page, which fill it up to so many bytes.
fn frozen(page: MmapMut, used: usize) -> ByteString {
    let mut bytes = Bytes::from_owner(page);
    bytes.truncate(used);
    checked(bytes)
}

/// Bytes that were texts.
fn checked(bytes: Bytes) -> ByteString {
    let text = ByteString::try_from(bytes);
    debug_assert!(text.is_ok(), "texts are UTF-8, one behind the other too");
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[String], reserved: usize) -> Texts {
        let mut builder = TextsBuilder::default();
        // What was gathered before leaves nothing behind.
        builder.push("before");
        assert_eq!(builder.seal().get(0), "before");
        builder.reserve(reserved);
        texts.iter().for_each(|text| builder.push(text));
        assert_eq!(builder.len(), texts.len());
        let sealed = builder.seal();
        assert!(sealed.is_sound());
        assert_eq!(sealed.len(), texts.len());
        assert!(texts.iter().enumerate().all(|(at, text)| sealed.get(at) == text));
        assert_eq!(sealed.get(texts.len()), "");
        sealed
    }

    fn page_count(texts: &Texts) -> usize {
        match &texts.body {
            Body::One(_) => 0,
            Body::Pages(pages) => pages.len(),
        }
    }

    #[test]
    fn texts_are_found_wherever_they_lie() {
        let texts: Vec<String> = (0..9000_usize)
            .map(|at| match at % 10 {
                0 => String::new(),
                length => format!("{at} {}", "é".repeat(length * 100)),
            })
            .collect();
        assert_eq!(page_count(&check(&texts, 0)), 0);
        let sealed = check(&texts, MANY_BYTES);
        assert!(page_count(&sealed) > 3);
        assert!(sealed.size_bytes() < sealed.text_bytes() / 10 * 11);
        check(&[], MANY_BYTES);
        check(&[String::new(), String::new()], MANY_BYTES);
    }

    #[test]
    fn a_page_is_filled_to_its_last_byte() {
        let sixteenth = "x".repeat(PAGED_TEXT_BYTES);
        let filling = vec![sixteenth.clone(); 16];
        for more in [vec![], vec![String::new()], vec!["y".into()], vec![sixteenth; 17]] {
            let texts = [filling.clone(), more.clone()].concat();
            let pages = 1 + more.iter().map(String::len).sum::<usize>().div_ceil(LARGE_PAGE);
            assert_eq!(page_count(&check(&texts, MANY_BYTES)), pages);
        }
    }

    #[test]
    fn a_long_text_has_all_of_them_leave_their_pages() {
        let mut texts: Vec<String> = (0..3000).map(|at| format!("{at} {}", "x".repeat(1000))).collect();
        texts.insert(2500, "y".repeat(PAGED_TEXT_BYTES + 1));
        texts.push("z".repeat(2 * LARGE_PAGE));
        assert_eq!(page_count(&check(&texts, MANY_BYTES)), 0);
    }
}
