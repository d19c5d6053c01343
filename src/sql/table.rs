//! The table of cases, with one column per field.

use std::collections::HashSet;

use super::column::Column;
use super::datum::{ColumnType, Datum};
use super::names::{MAX_NAME_BYTES, TableNameError, unique};
use crate::batch::Row;
use crate::catalog::{Catalog, FieldId};
use crate::error::Error;
use crate::ingest::read_case;
use crate::limits::Limits;

/// The name of the column with the insertion order.
pub(super) const PLACE: &str = "place";

/// The name of the column with the document.
pub(super) const DOCUMENT: &str = "document";

/// A table of cases: `place`, a column for each field of a catalogue, and `document`.
///
/// Columns are named after the fields, in snake case: `caseReview.status` becomes `case_review_status`. If several fields would share a
/// name, all but the first get a number. So a catalogue [with](Catalog::with) further fields keeps the existing names.
///
/// ```
/// use casefilter::{Catalog, sql::Table};
/// let table = Table::new(&Catalog::cases());
/// let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
/// assert_eq!(names[..4], ["place", "id", "name", "applicant_reference_applicant_id"]);
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    catalog: Catalog,
    /// The parts of the name: the database and the schema, if any, then the table.
    name: Vec<String>,
    columns: Vec<Column>,
    /// For each field number: the index of the column of the field.
    by_field: Vec<Option<usize>>,
}

impl Table {
    /// Creates the table `cases`, with the visible fields of a catalogue and `id`.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let plain = |name: &str, kind| Column {
            name: name.to_owned(),
            kind,
            is_list: false,
            is_nullable: false,
            field: None,
        };
        let mut taken: HashSet<String> = [PLACE, DOCUMENT].map(str::to_owned).into();
        let mut columns = vec![plain(PLACE, ColumnType::Integer)];
        let mut by_field = vec![None; catalog.fields().len()];
        for id in catalog.field_ids() {
            let field = catalog.field(id);
            // Hidden fields reserve their names, so that an allow-list changes no other name.
            let name = unique(field, &mut taken);
            if id != FieldId::ID && !catalog.is_visible(id) {
                continue;
            }
            if let Some(slot) = by_field.get_mut(id.index()) {
                *slot = Some(columns.len());
            }
            columns.push(Column {
                name,
                kind: ColumnType::of(field),
                is_list: field.is_many(),
                is_nullable: !field.is_many() && id != FieldId::ID && field.default_value().is_none(),
                field: Some(id),
            });
        }
        columns.push(plain(DOCUMENT, ColumnType::Text));
        Self { catalog: catalog.clone(), name: vec!["cases".to_owned()], columns, by_field }
    }

    /// Renames the table. The name may be qualified by schema and database.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::Table};
    /// let table = Table::new(&Catalog::cases());
    /// assert!(table.clone().named("compliance.cases_2026").is_ok());
    /// assert!(table.named("cases; drop table users").is_err());
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is not one to three words of ASCII letters, digits and underscores, joined by dots.
    pub fn named(self, name: &str) -> Result<Self, TableNameError> {
        let is_word = |word: &str| {
            word.len() <= MAX_NAME_BYTES
                && word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        let words: Vec<String> = name.split('.').map(str::to_owned).collect();
        if words.len() > 3 || !words.iter().all(|word| is_word(word)) {
            return Err(TableNameError(name.to_owned()));
        }
        Ok(Self { name: words, ..self })
    }

    /// Returns the catalogue whose fields are the columns.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the qualified name, in the form that [`named`](Self::named) accepts.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::Table};
    /// assert_eq!(Table::new(&Catalog::cases()).qualified_name(), "cases");
    /// ```
    #[must_use]
    pub fn qualified_name(&self) -> String {
        self.name.join(".")
    }

    /// Returns the columns in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the parts of the table name, such as schema and table.
    pub(super) fn name(&self) -> &[String] {
        &self.name
    }

    /// Returns the column of a field; `None` if the catalogue hides the field.
    #[must_use]
    pub fn column_of(&self, field: FieldId) -> Option<&Column> {
        self.columns.get((*self.by_field.get(field.index())?)?)
    }

    /// Converts a case to a row, with one datum per column.
    ///
    /// Malformed members count as absent, as in a lenient import.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::{Datum, Table}};
    /// let table = Table::new(&Catalog::cases());
    /// let row = table.row(7, r#"{"id":"a","tags":["vip",null]}"#)?;
    /// assert_eq!(row[..3], [Datum::Integer(7), Datum::Text("a".into()), Datum::Null]);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the document is not a case: not JSON, not an object, without a usable `id`, or 1 GiB or larger.
    pub fn row<'d>(&self, place: u64, document: &'d str) -> Result<Vec<Datum<'d>>, Error> {
        let mut row = Row::default();
        // The size of the case was checked when it was stored.
        let limits = Limits { document_bytes: usize::MAX, document_depth: usize::MAX, ..Limits::default() };
        read_case(document, &self.catalog, &limits, &mut row)?;
        let of_case = |column: &Column| match column.field {
            Some(field) if column.is_list => Datum::list(column.kind, row.values(field)),
            Some(field) => row.values(field).next().map_or(Datum::Null, Datum::of),
            None if column.kind == ColumnType::Integer => {
                // Larger values would be equal. No export is that large.
                Datum::Integer(i64::try_from(place).unwrap_or(i64::MAX))
            }
            None => Datum::Text(document.into()),
        };
        Ok(self.columns.iter().map(of_case).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::snake_case;
    use super::*;
    use crate::catalog::{Field, FieldType};

    #[test]
    fn names_are_snake_case_and_unique() {
        assert_eq!(
            snake_case("caseReview.checklistState.checklist.name"),
            "case_review_checklist_state_checklist_name"
        );
        assert_eq!(snake_case("firstNameEn"), "first_name_en");
        assert_eq!(snake_case("2fa.ok"), "f_2fa_ok");
        assert_eq!(snake_case("страна"), "f_______");
        assert!(snake_case(&"x".repeat(200)).len() < MAX_NAME_BYTES - 10);
        let catalog = Catalog::new(
            ["place", "a.b", "aB", "a_b", "a_b_2", "document"]
                .map(|name| Field::new(name, FieldType::String)),
        )
        .unwrap();
        let table = Table::new(&catalog);
        let names: Vec<&str> = table.columns().iter().map(Column::name).collect();
        assert_eq!(
            names,
            ["place", "id", "place_2", "a_b", "a_b_2", "a_b_3", "a_b_2_2", "document_2", "document"]
        );
        let wider = Table::new(&catalog.with([Field::new("AB", FieldType::Number)]).unwrap());
        assert_eq!(table.columns()[..8], wider.columns()[..8]);
    }

    #[test]
    fn hidden_fields_have_no_column() {
        let table = Table::new(&Catalog::cases().allow(["tags"]).unwrap());
        let names: Vec<&str> = table.columns().iter().map(Column::name).collect();
        assert_eq!(names, ["place", "id", "tags", "document"]);
    }

    #[test]
    fn a_row_has_the_value_sets_of_the_case() {
        let catalog = Catalog::cases()
            .allow([
                "priority",
                "createdAt",
                "applicantInfo.dob",
                "tags",
                "totalAmountInDefaultCurrency",
                "caseReview.checklistState.checklist.checked",
            ])
            .unwrap();
        let document = r#"{"id":"a","createdAt":"0000-01-01 00:00:00+1800","applicantInfo":{"dob":"-9223372036854775808"},
            "totalAmountInDefaultCurrency":-0.0,"caseReview":{"checklistState":{"checklist":[{"checked":true},{"name":"x"}]}},"tags":"malformed"}"#;
        let row = Table::new(&catalog).row(u64::MAX, document).unwrap();
        let Datum::Number(amount) = row[3] else { panic!("{row:?}") };
        assert!(amount.is_sign_positive());
        assert_eq!(
            row,
            [
                Datum::Integer(i64::MAX),
                Datum::Text("a".into()),
                Datum::Integer(-62_167_284_000_000),
                Datum::Number(0.0),
                Datum::Integer(i64::MIN),
                Datum::Booleans(vec![true]),
                Datum::Text("medium".into()),
                Datum::Texts(vec![]),
                Datum::Text(document.into()),
            ]
        );
    }
}
