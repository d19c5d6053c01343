//! [`FieldId`]: the id of a field in its catalogue.

/// The id of a field in its [`Catalog`](super::Catalog): its index, from 0. The field of the document's id has the id 0. The id of
/// a field stays the same when the catalogue is narrowed or grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(super) u16);

impl FieldId {
    /// The field of the document's id, which every catalogue has.
    pub const ID: Self = Self(0);

    /// Returns the id as an index into [`Catalog::fields`](super::Catalog::fields).
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
