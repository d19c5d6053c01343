//! A column of the SQL table: its name, its type, and the field whose values it contains.

use super::datum::ColumnType;
use crate::catalog::FieldId;

/// A column of a [`Table`](super::Table).
///
/// A column is nullable only if it is not a list column and its field has no default. A folded column contains the strings of a
/// field after folding (without case and accents), for `$match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    pub(super) is_list: bool,
    pub(super) is_nullable: bool,
    pub(super) field: Option<FieldId>,
    pub(super) is_folded: bool,
}

impl Column {
    /// Creates a column that does not contain a field: `place` or `document`.
    pub(super) fn plain(name: &str, kind: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            is_list: false,
            is_nullable: false,
            field: None,
            is_folded: false,
        }
    }

    /// Returns the column name, which consists of the letters `a` to `z`, digits and `_`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the column's values. For a list column, returns the type of the elements.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Returns true for a list column. The list of a document may be empty, but is never null.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// Returns true if the column is null for a document that does not have the field.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// Returns the field whose values the column contains. Returns `None` for the columns `place` and `document`.
    ///
    /// A field can have two columns: one for its values, and one for its [folded](Self::is_folded) values.
    #[must_use]
    pub fn field(&self) -> Option<FieldId> {
        self.field
    }

    /// Returns true if the column contains the folded strings of the field.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::{Datum, Table}};
    /// let table = Table::new(&Catalog::cases().allow(["name"])?).with_folded();
    /// let row = table.row(0, r#"{"id":"c-1","name":"LÓPEZ-GARCÍA, Ana"}"#)?;
    /// let (column, value) = table.columns().iter().zip(&row).next_back().ok_or("no column")?;
    /// assert_eq!((column.name(), column.is_folded()), ("name_folded", true));
    /// assert_eq!(*value, Datum::Text("lopez-garcia, ana".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.is_folded
    }
}
