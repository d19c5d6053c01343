//! The columns of a table.

use super::datum::ColumnType;
use crate::catalog::FieldId;

/// A column of a [`Table`](super::Table).
///
/// A column is nullable only if it is not a list column and its field has no default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    pub(super) is_list: bool,
    pub(super) is_nullable: bool,
    pub(super) field: Option<FieldId>,
}

impl Column {
    /// Returns the name: letters `a` to `z`, digits and `_`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the values.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Returns true if each case has a list of values. It may be empty, but not null.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// Returns true if a case without the field has a null.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// Returns the field of the column; `None` for the columns `place` and `document`.
    #[must_use]
    pub fn field(&self) -> Option<FieldId> {
        self.field
    }
}
