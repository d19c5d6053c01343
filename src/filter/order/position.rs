//! Positions in an order: the place directly after one document, given by its values in the sort fields and its id.

use smallvec::SmallVec;

/// The value of a document in a sort field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SortValue {
    /// The document does not have the field.
    Absent,
    /// The ordinal of a number, an integer, a decimal or a timestamp.
    Ordinal(i64),
    Boolean(bool),
    Text(Box<str>),
}

/// The values of a document in the sort fields, in the order of the sort keys.
pub(crate) type SortValues = SmallVec<[SortValue; 2]>;

/// The position directly after one document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    /// The insertion-order number of the document, for searches without an order.
    Inserted(u64),
    /// The values and the id of the document.
    Sorted { values: SortValues, id: Box<str> },
}
