//! One text between two values of a document, and the value that it leads to.

use wide::u8x16;

use super::ordered_form::OrderedForm;
use super::slot_keys::{Keys, SlotIndex};
use crate::catalog::{Field, FieldId, FieldType};

/// The value that a segment leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A string; its opening quote belongs to the segment.
    String(FieldId),
    /// A value of an ordered type; the opening quote of a form that is quoted belongs to the segment.
    Ordered(OrderedForm, FieldId),
    Boolean(FieldId),
    /// Any value, which is no field's.
    Other,
    /// The end of the document.
    End,
}

impl Form {
    /// Returns the form of a field's values.
    pub(super) fn of(id: FieldId, field: &Field) -> Self {
        match (OrderedForm::of(field), field.kind()) {
            (Some(form), _) => Self::Ordered(form, id),
            (None, FieldType::Boolean) => Self::Boolean(id),
            (None, _) => Self::String(id),
        }
    }

    /// True when the opening quote of the value belongs to the segment.
    pub(super) fn is_quoted(self) -> bool {
        match self {
            Self::String(_) => true,
            Self::Ordered(form, _) => form.is_quoted(),
            Self::Boolean(_) | Self::Other | Self::End => false,
        }
    }
}

/// A text that leads from one value to the next, or to the end.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The first sixteen bytes; zero behind the end.
    front: [u8; 16],
    /// The last sixteen, where there are more than those.
    back: [u8; 16],
    /// All bytes, where there are more than both.
    whole: Option<Box<[u8]>>,
    /// Which bytes of the front do not count, since they are behind the end.
    beyond: u32,
    /// How often it was met, about; tells the order of segments alone, so it may wrap.
    pub(super) hits: u32,
    pub(super) len: usize,
    /// The keys in it.
    pub(super) keys: Keys,
    /// Where objects of arrays begin in it, the keys of the objects before these, which count no more.
    pub(super) ended: Option<Keys>,
    pub(super) to: SlotIndex,
    pub(super) form: Form,
}

/// A bit for each of sixteen bytes.
const ALL_BYTES: u32 = 0xffff;

/// Which of sixteen bytes are the same, a bit each.
#[inline(always)]
fn equal_bytes(one: &[u8; 16], other: &[u8; 16]) -> u32 {
    u8x16::new(*one).simd_eq(u8x16::new(*other)).to_bitmask()
}

impl Segment {
    pub(super) fn new(text: &str, ended: Keys, keys: Keys, to: SlotIndex, form: Form) -> Self {
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
            to,
            form,
        }
    }

    /// Whether it stands at the front of `text`.
    #[inline(always)]
    pub(super) fn stands_in(&self, text: &[u8]) -> bool {
        let Some(front) = text.first_chunk() else { return self.stands_in_short(text) };
        equal_bytes(front, &self.front) | self.beyond == ALL_BYTES
            && (self.len <= front.len() || self.back_stands_in(text))
    }

    /// As [`stands_in`](Self::stands_in), of a segment of more than sixteen bytes whose front stands there.
    #[inline(always)]
    fn back_stands_in(&self, text: &[u8]) -> bool {
        let Some(back) = text.get(..self.len).and_then(<[u8]>::last_chunk) else { return false };
        equal_bytes(back, &self.back) == ALL_BYTES
            && self.whole.as_ref().is_none_or(|whole| text.starts_with(whole))
    }

    /// As [`stands_in`](Self::stands_in), of a text of fewer than sixteen bytes.
    fn stands_in_short(&self, text: &[u8]) -> bool {
        self.front.get(..self.len).is_some_and(|own| text.starts_with(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stands_where_all_its_bytes_stand_and_no_others() {
        for len in [1, 8, 15, 16, 17, 31, 32, 33, 40, 128] {
            let own = "abcdefghijklm".repeat(10).split_at(len).0.to_owned();
            let segment = Segment::new(&own, Keys::default(), Keys::default(), 1, Form::Other);
            for behind in [0, 1, 15, 16, 40] {
                let text = format!("{own}{}", "x".repeat(behind));
                assert!(segment.stands_in(text.as_bytes()), "{len} bytes and {behind}");
                for at in 0..len {
                    let mut other = text.clone().into_bytes();
                    other[at] ^= 1;
                    assert!(!segment.stands_in(&other), "{len} bytes and {behind}, another at {at}");
                }
            }
            for shorter in 0..len {
                assert!(!segment.stands_in(own.as_bytes().split_at(shorter).0), "{shorter} bytes of {len}");
            }
        }
    }
}
