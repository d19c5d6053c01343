//! [`FieldId`]: the id of a field in its catalogue.

/// The id of a field in its [`Catalog`](super::Catalog): a number that counts from 0. It is 0 for the field `id`, and stays the
/// same when the catalogue is narrowed or grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(super) u16);

impl FieldId {
    /// The field `id`, which every catalogue has.
    pub const ID: Self = Self(0);

    /// Returns the id as an index into [`Catalog::fields`](super::Catalog::fields).
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
