//! A criterion of which some keys were read.

use std::ops::Range;

use super::super::ast::{Text, TextId};

pub(super) const CRITERION_KEYS: [&str; 4] = ["op", "children", "field", "values"];

/// The value of a key of a criterion. One with an error, which was reported, is `Broken`.
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
    pub(super) first: bool,
    pub(super) seen: Seen,
    pub(super) field: Slot<TextId>,
    pub(super) op: Slot<Text<'a>>,
    pub(super) values: Slot<Range<usize>>,
    pub(super) children: Slot</* how many */ usize>,
    pub(super) children_offset: usize,
    pub(super) values_offset: usize,
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

/// The keys seen in one object: the known ones as bits, those of them that came again too, others by name.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) known: u8,
    pub(super) repeated: u8,
    pub(super) others: Vec<String>,
}
