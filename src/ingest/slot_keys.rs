//! Keys of documents as bits: which of them a document has had so far.

/// Where values lie: a node of the catalogue's paths or, numbered behind those, a key of an object among them that
/// leads to no field.
pub(super) type SlotIndex = usize;

/// A set of keys, a bit for each slot that has one; two words, as those are quicker than one wide one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys([u64; 2]);

impl Keys {
    /// The key of a number; none behind the last.
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

/// How many slots may have a key.
pub(super) const MAX_KEYS: usize = 128;
