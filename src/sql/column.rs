//! The columns of a table.

use super::datum::ColumnType;
use crate::catalog::FieldId;

/// A column of a [`Table`](super::Table).
///
/// Only a column of neither lists nor a default may hold nulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    pub(super) is_list: bool,
    pub(super) is_nullable: bool,
    pub(super) field: Option<FieldId>,
}

impl Column {
    /// The name, of the letters `a` to `z`, digits and `_`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the values.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// True when each case has a list of values, which may be empty but not null.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// True when a case without the field has a null.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// The field whose values it holds; none for place and document.
    #[must_use]
    pub fn field(&self) -> Option<FieldId> {
        self.field
    }
}
