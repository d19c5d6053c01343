//! The set of keys that the template reader has seen in an object, with one bit for each key. It detects repeated keys.

/// The index of a slot. The first slots are the nodes of the catalogue's paths. The slots of unknown keys come after them.
pub(super) type SlotIndex = usize;

/// A set of keys, with one bit for each slot that has a key. Two words are faster here than one `u128`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys([u64; 2]);

impl Keys {
    /// Returns the set that contains only the key with this index. Returns the empty set if the index is too large.
    pub(super) fn numbered(number: usize) -> Self {
        let bit = |start: usize| {
            let shift = number.checked_sub(start).and_then(|shift| u32::try_from(shift).ok());
            shift.and_then(|shift| 1_u64.checked_shl(shift)).unwrap_or(0)
        };
        Self([bit(0), bit(64)])
    }

    #[inline(always)]
    pub(super) fn has_any(self, other: Self) -> bool {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        (low & other_low) | (high & other_high) != 0
    }

    #[inline(always)]
    pub(super) fn with(self, other: Self) -> Self {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        Self([low | other_low, high | other_high])
    }

    #[inline(always)]
    pub(super) fn without(self, other: Self) -> Self {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        Self([low & !other_low, high & !other_high])
    }
}

/// The maximum number of slots that have a bit in [`Keys`]. If the catalogue's paths have more member names, the slots of the other
/// names have no bit. When all bits are in use, a further unknown name in a document gets no slot. To detect a repetition of a name
/// without a bit, the fast path compares it with the earlier names.
pub(super) const MAX_KEYS: usize = 128;
