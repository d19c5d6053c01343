//! A segment of a document template: the fixed text between two values, and the form of the second value.

use wide::u8x16;

use super::ordered_form::OrderedForm;
use super::slot_keys::{Keys, SlotIndex};
use crate::catalog::{ArrayId, Field, FieldId, FieldType, IdType};

/// The form of the value that follows a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A string. Its opening quote is part of the segment.
    String(FieldId),
    /// A value of an ordered type. If the form is quoted, the opening quote is part of the segment.
    Ordered(OrderedForm, FieldId),
    Boolean(FieldId),
    /// An id that is not a plain string. The opening quote of a UUID is part of the segment.
    Id(IdType),
    /// A value of an unknown member.
    Other,
    /// The end of the document.
    End,
}

impl Form {
    /// Returns the form of a field's values.
    pub(super) fn of(id: FieldId, field: &Field) -> Self {
        match (OrderedForm::of(field), field.field_type()) {
            (None, FieldType::String) if field.id_type() != IdType::String => Self::Id(field.id_type()),
            (Some(form), _) => Self::Ordered(form, id),
            (None, FieldType::Boolean) => Self::Boolean(id),
            (None, _) => Self::String(id),
        }
    }

    /// Returns true if the opening quote of the value is part of the segment.
    pub(super) fn is_quoted(self) -> bool {
        match self {
            Self::String(_) | Self::Id(IdType::String | IdType::Uuid) => true,
            Self::Ordered(form, _) => form.is_quoted(),
            Self::Id(IdType::Integer) | Self::Boolean(_) | Self::Other | Self::End => false,
        }
    }
}

/// The fixed text from the end of one value to the start of the next value, or to the end of the document.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The first sixteen bytes, padded with zeros.
    front: [u8; 16],
    /// The last sixteen bytes. All zeros if the text is shorter than sixteen bytes.
    back: [u8; 16],
    /// The complete text, if it is longer than `front` and `back` together.
    whole: Option<Box<[u8]>>,
    /// A mask of the padding bytes of `front`, which always match.
    beyond: u32,
    /// The number of matches. It is used only to sort segments, so it may wrap.
    pub(super) hits: u32,
    pub(super) len: usize,
    /// The keys in the text.
    pub(super) keys: Keys,
    /// All keys that can occur in the array elements that begin in the text. An earlier element of the array may have had the same
    /// keys. So the reader removes these keys from the set of keys that it has read.
    pub(super) ended: Option<Keys>,
    /// For each element that begins in the text: the array of objects that it belongs to.
    pub(super) begun: Box<[ArrayId]>,
    pub(super) to: SlotIndex,
    pub(super) form: Form,
}

/// A mask in which the bits of all sixteen bytes are set.
const ALL_BYTES: u32 = 0xffff;

/// Compares two blocks byte by byte. In the returned mask, the bit of a byte is set if the bytes are equal.
#[inline(always)]
fn equal_bytes(one: &[u8; 16], other: &[u8; 16]) -> u32 {
    u8x16::new(*one).simd_eq(u8x16::new(*other)).to_bitmask()
}

impl Segment {
    pub(super) fn new(
        text: &str,
        (ended, keys, begun): (Keys, Keys, &[ArrayId]),
        to: SlotIndex,
        form: Form,
    ) -> Self {
        let text = text.as_bytes();
        let mut front = [0; 16];
        for (slot, byte) in front.iter_mut().zip(text) {
            *slot = *byte;
        }
        Self {
            front,
            back: text.last_chunk().copied().unwrap_or_default(),
            whole: (text.len() > size_of::<[[u8; 16]; 2]>()).then(|| text.into()),
            beyond: ALL_BYTES << text.len().min(front.len()) & ALL_BYTES,
            hits: 0,
            len: text.len(),
            keys,
            ended: (ended != Keys::default()).then_some(ended),
            begun: begun.into(),
            to,
            form,
        }
    }

    /// Returns true if `text` starts with this segment.
    #[inline(always)]
    pub(super) fn is_prefix_of(&self, text: &[u8]) -> bool {
        let Some(front) = text.first_chunk() else { return self.is_prefix_of_short(text) };
        equal_bytes(front, &self.front) | self.beyond == ALL_BYTES
            && (self.len <= front.len() || self.back_matches(text))
    }

    /// Returns true if the bytes after the first sixteen match. The caller has already compared the first sixteen.
    #[inline(always)]
    fn back_matches(&self, text: &[u8]) -> bool {
        let Some(back) = text.get(..self.len).and_then(<[u8]>::last_chunk) else { return false };
        equal_bytes(back, &self.back) == ALL_BYTES
            && self.whole.as_ref().is_none_or(|whole| text.starts_with(whole))
    }

    /// Returns true if `text` starts with this segment. `text` is shorter than sixteen bytes.
    fn is_prefix_of_short(&self, text: &[u8]) -> bool {
        self.front.get(..self.len).is_some_and(|own| text.starts_with(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_matches_exactly_the_texts_that_start_with_it() {
        for len in [1, 8, 15, 16, 17, 31, 32, 33, 40, 128] {
            let own = "abcdefghijklm".repeat(10).split_at(len).0.to_owned();
            let segment = Segment::new(&own, (Keys::default(), Keys::default(), &[]), 1, Form::Other);
            for after in [0, 1, 15, 16, 40] {
                let text = format!("{own}{}", "x".repeat(after));
                assert!(segment.is_prefix_of(text.as_bytes()), "{len} bytes and {after}");
                for at in 0..len {
                    let mut other = text.clone().into_bytes();
                    other[at] ^= 1;
                    assert!(!segment.is_prefix_of(&other), "{len} bytes and {after}, another at {at}");
                }
            }
            for shorter in 0..len {
                assert!(
                    !segment.is_prefix_of(own.as_bytes().split_at(shorter).0),
                    "{shorter} bytes of {len}"
                );
            }
        }
    }
}
