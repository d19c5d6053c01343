//! The numbers of fields.

/// A field's number in its [`Catalog`](super::Catalog): stable under narrowing, `0` for `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(super) u16);

impl FieldId {
    /// The field `id`, which every catalogue has.
    pub const ID: Self = Self(0);

    /// The number as an index into [`Catalog::fields`](super::Catalog::fields).
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
