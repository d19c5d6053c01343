//! Stores the keys and values of a criterion while the strict parser reads it.

use std::ops::Range;

use super::super::ast::{Text, TextId};

pub(super) const CRITERION_KEYS: [&str; 4] = ["op", "children", "field", "values"];

/// The value of one key of a criterion. `Broken` means that the value had an error, which was reported.
pub(super) enum Slot<T> {
    Absent,
    Broken,
    Given(T),
}

impl<T> Slot<T> {
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A criterion whose keys are being read.
pub(super) struct OpenCriterion<'a> {
    pub(super) offset: usize,
    /// True until the first key is read.
    pub(super) first: bool,
    pub(super) seen: Seen,
    pub(super) field: Slot<TextId>,
    pub(super) op: Slot<Text<'a>>,
    pub(super) values: Slot<Range<usize>>,
    /// The number of children.
    pub(super) children: Slot<usize>,
    pub(super) children_offset: usize,
    pub(super) values_offset: usize,
    /// True if a key or its value had an error, which was reported.
    pub(super) broken: bool,
}

impl OpenCriterion<'_> {
    pub(super) fn at(offset: usize) -> Self {
        Self {
            offset,
            first: true,
            seen: Seen::default(),
            field: Slot::Absent,
            op: Slot::Absent,
            values: Slot::Absent,
            children: Slot::Absent,
            children_offset: offset,
            values_offset: offset,
            broken: false,
        }
    }
}

/// The keys seen in one object.
#[derive(Default)]
pub(super) struct Seen {
    /// The set of known keys that were seen. Bit `i` stands for the known key with index `i`.
    pub(super) known: u8,
    /// The set of known keys that were seen more than once. A key has the same bit as in `known`.
    pub(super) repeated: u8,
    /// The first ten unknown keys.
    pub(super) others: Vec<String>,
}
