//! A column of the SQL table: its name, its type, and the field whose values it contains.

use super::datum::ColumnType;
use super::element_columns::ElementNumbers;
use crate::catalog::FieldId;

/// A column of a [`Table`](super::Table).
///
/// A column is nullable only if it is not a list column and its field has no default. A folded column contains the strings of a
/// field after folding (without case and accents), for `$match`. An element column contains element numbers, for `$elem`. An
/// element number is the position of an element in an array of objects, counted from 1 in each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    pub(super) is_list: bool,
    pub(super) is_nullable: bool,
    pub(super) field: Option<FieldId>,
    pub(super) is_folded: bool,
    pub(super) elements: Option<ElementNumbers>,
}

impl Column {
    /// Creates an element column.
    pub(super) fn of_elements(name: String, elements: ElementNumbers) -> Self {
        Self { is_list: true, elements: Some(elements), ..Self::plain(&name, ColumnType::Integer) }
    }

    /// Creates a column that belongs to no field, such as `place`, the insertion order, or `document`, the JSON text. The other
    /// constructors take the remaining members from its result.
    pub(super) fn plain(name: &str, kind: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            is_list: false,
            is_nullable: false,
            field: None,
            is_folded: false,
            elements: None,
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

    /// Returns the field whose values the column contains. Returns `None` for the columns `place` and `document`, and for element
    /// columns.
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

    /// Returns true if the column is an element column. It contains the positions, counted from 1, of elements in an array of
    /// objects.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::{Datum, Table}};
    /// let table = Table::new(&Catalog::cases().allow(["amlCases.amlCaseId"])?).with_elements();
    /// let row = table.row(0, r#"{"id":"c-1","amlCases":[{"amlCaseId":"a-1"},{},{"amlCaseId":"a-3"}]}"#)?;
    /// let numbers: Vec<_> = table.columns().iter().zip(row).filter(|(column, _)| column.is_element()).collect();
    /// assert_eq!((numbers[0].0.name(), &numbers[0].1), ("aml_cases_element", &Datum::Integers(vec![1, 2, 3])));
    /// assert_eq!((numbers[1].0.name(), &numbers[1].1), ("aml_cases_aml_case_id_element", &Datum::Integers(vec![1, 3])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_element(&self) -> bool {
        self.elements.is_some()
    }
}
