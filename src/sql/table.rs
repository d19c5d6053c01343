//! The SQL table of cases, with one column per field. Also converts a case to a row.

use std::collections::{BTreeMap, BTreeSet};

use super::column::Column;
use super::datum::{ColumnType, Datum};
use super::element_columns::{ElementNumbers, Numbered, number_elements};
use super::names::{MAX_NAME_BYTES, Names, TableNameError};
use crate::batch::Row;
use crate::catalog::{ArrayId, Catalog, CatalogError, FieldId, FieldType};
use crate::error::Error;
use crate::ingest::read_case;
use crate::limits::Limits;
use crate::operator::Operator;

/// The name of the column that contains the insertion order.
pub(super) const PLACE: &str = "place";

/// The name of the column that contains the document.
pub(super) const DOCUMENT: &str = "document";

/// A table of documents: `place`, a column for each field of a catalogue, `document`, and on request
/// [folded columns](Self::with_folded) and [element columns](Self::with_elements).
///
/// Columns are named after the fields, in snake case: `caseReview.status` becomes `case_review_status`. If several fields would
/// have the same column name, a number is appended to all but the first. So the names stay the same if the catalogue is extended by
/// [`Catalog::with`].
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
    /// The parts of the table name: the database and the schema, if any, then the table.
    name: Vec<String>,
    columns: Vec<Column>,
    /// For each field, by its id: the index of its column.
    by_field: Vec<Option<usize>>,
    /// For each field, by its id: the index of its folded column.
    folded_by_field: Vec<Option<usize>>,
    /// The index of each element column.
    by_elements: BTreeMap<ElementNumbers, usize>,
}

impl Table {
    /// Creates the table `cases`, with columns for the visible fields of a catalogue and for `id`.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let names = Names::new(catalog, &[PLACE, DOCUMENT]);
        let none = vec![None; catalog.fields().len()];
        let mut table = Self {
            catalog: catalog.clone(),
            name: vec!["cases".to_owned()],
            columns: vec![Column::plain(PLACE, ColumnType::Integer)],
            by_field: none.clone(),
            folded_by_field: none,
            by_elements: BTreeMap::new(),
        };
        for (id, name) in catalog.field_ids().zip(names.of_fields) {
            if id == FieldId::ID || catalog.is_visible(id) {
                table.push(id, name, false);
            }
        }
        table.columns.push(Column::plain(DOCUMENT, ColumnType::Text));
        table
    }

    /// Appends a column of a field.
    fn push(&mut self, id: FieldId, name: String, is_folded: bool) {
        let places = if is_folded { &mut self.folded_by_field } else { &mut self.by_field };
        if let Some(slot) = places.get_mut(id.index()) {
            *slot = Some(self.columns.len());
        }
        let field = self.catalog.field(id);
        self.columns.push(Column {
            name,
            kind: ColumnType::of(field),
            is_list: field.is_many(),
            is_nullable: !field.is_many() && id != FieldId::ID && field.default_value().is_none(),
            field: Some(id),
            is_folded,
            elements: None,
        });
    }

    /// Adds a folded column for each string field, after all other columns except element columns. `$match` on a field needs its
    /// folded column.
    ///
    /// Folding removes differences of case, accents and compatibility forms. No database folds in exactly this way, so the table
    /// also stores the folded strings. They take about as much space as the strings;
    /// [`with_folded_fields`](Self::with_folded_fields) adds columns for some fields only. A folded column has the name of the
    /// field's column, with `_folded` at the end.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, sql::{Dialect, Table}};
    /// let catalog = Catalog::cases();
    /// let filter = Filter::compile_text(&catalog, "name matches garcia")?;
    /// assert!(Table::new(&catalog).count(Dialect::DuckDb, &filter).is_err());
    /// assert_eq!(
    ///     Table::new(&catalog).with_folded().count(Dialect::DuckDb, &filter)?.to_sql(),
    ///     r#"SELECT count(*) FROM "cases" WHERE contains("name_folded", $1::VARCHAR)"#
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_folded(self) -> Self {
        self.with_folded_if(|_, _| true)
    }

    /// Adds folded columns like [`with_folded`](Self::with_folded), but only for these fields.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::Table};
    /// let table = Table::new(&Catalog::cases()).with_folded_fields(["name", "tags"])?;
    /// let folded: Vec<&str> = table.columns().iter().filter(|column| column.is_folded()).map(|column| column.name()).collect();
    /// assert_eq!(folded, ["name_folded", "tags_folded"]);
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownField`] if a name is not a field. Returns [`CatalogError::NotForType`] if a field is not a
    /// string field.
    pub fn with_folded_fields<'n>(
        self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, CatalogError> {
        let chosen = self.catalog.allow(names)?;
        for (_, field) in chosen.visible_fields() {
            if field.field_type() != FieldType::String {
                return Err(CatalogError::NotForType {
                    field: field.name().to_owned(),
                    setting: Operator::Match.name(),
                    expected: "string fields",
                    kind: field.field_type(),
                    is_many: field.is_many(),
                });
            }
        }
        Ok(self.with_folded_if(|id, _| chosen.is_visible(id)))
    }

    /// Adds folded columns for the visible string fields for which `is_wanted` returns true. `is_wanted` gets the id of the field
    /// and the name of the folded column.
    pub(crate) fn with_folded_if(mut self, is_wanted: impl Fn(FieldId, &str) -> bool) -> Self {
        let names = self.names();
        let had = self.folded_by_field.clone();
        let arrays = self.element_arrays();
        // The folded columns are in the order of the catalogue, and the element columns come last. The order of the calls has no
        // effect.
        self.columns.retain(|column| !column.is_folded && !column.is_element());
        for (id, name) in self.catalog.field_ids().zip(names.of_folded) {
            let is_text = self.catalog.field(id).field_type() == FieldType::String;
            let has = had.get(id.index()).is_some_and(Option::is_some);
            if is_text && self.catalog.is_visible(id) && (has || is_wanted(id, &name)) {
                self.push(id, name, true);
            }
        }
        self.push_elements(names.of_elements, |array| arrays.contains(&array));
        self
    }

    /// Adds element columns for each array of objects, after all other columns. `$elem` on an array needs its element columns.
    ///
    /// A list column has no entry for an element without a value. So the lists of one array do not show which of their values
    /// belong to the same element. The element columns show this: for each value, they contain the number of its element. Each
    /// number takes at most 8 bytes. Only statements with `$elem` need them, so a table has them only on request.
    ///
    /// An element column has the name of a field's column or of the array, with `_element` at the end. If it numbers the elements
    /// of an outer array, the level of that array follows, as in `_element_1`. [`with_elements_of`](Self::with_elements_of) adds
    /// only the columns of the arrays that you name.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter, sql::{Dialect, Table}};
    /// let legs = [Field::new("legs[].bank", FieldType::String), Field::new("legs[].amount", FieldType::Number)];
    /// let catalog = Catalog::new(legs)?;
    /// let filter = Filter::compile_text(&catalog, "legs has (bank is absent and not amount > 5)")?;
    /// assert!(Table::new(&catalog).count(Dialect::DuckDb, &filter).is_err());
    /// assert!(Table::new(&catalog).with_elements().count(Dialect::DuckDb, &filter).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_elements(self) -> Self {
        self.with_elements_if(|_, _| true)
    }

    /// Adds element columns like [`with_elements`](Self::with_elements), but only for these arrays of objects.
    ///
    /// `$elem` within `$elem` needs the columns of both arrays.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::Table};
    /// let table = Table::new(&Catalog::cases()).with_elements_of(["amlCases"])?;
    /// let names: Vec<&str> = table.columns().iter().filter(|column| column.is_element()).map(|column| column.name()).collect();
    /// assert_eq!(names, ["aml_cases_element", "aml_cases_aml_case_id_element"]);
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownArray`] if a name is not the path, without `[]`, of an array of objects.
    pub fn with_elements_of<'n>(
        self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, CatalogError> {
        let chosen = self.catalog.find_arrays(names)?;
        Ok(self.with_elements_if(|array, _| chosen.contains(&array)))
    }

    /// Adds the element columns of the arrays for which `is_wanted` returns true. `is_wanted` gets the id of the array and the name
    /// of the column of its elements.
    pub(crate) fn with_elements_if(mut self, is_wanted: impl Fn(ArrayId, &str) -> bool) -> Self {
        let names = self.names().of_elements;
        let mut chosen = self.element_arrays();
        chosen.extend(names.iter().filter_map(|(column, name)| {
            let is_own = column.of == Numbered::Elements(column.array);
            (is_own && is_wanted(column.array, name)).then_some(column.array)
        }));
        self.columns.retain(|column| !column.is_element());
        self.push_elements(names, |array| chosen.contains(&array));
        self
    }

    /// Appends the element columns of the chosen arrays.
    fn push_elements(&mut self, names: Vec<(ElementNumbers, String)>, is_chosen: impl Fn(ArrayId) -> bool) {
        self.by_elements.clear();
        for (elements, name) in names {
            if elements.is_needed(&is_chosen) {
                self.by_elements.insert(elements, self.columns.len());
                self.columns.push(Column::of_elements(name, elements));
            }
        }
    }

    /// Returns the arrays that have element columns.
    fn element_arrays(&self) -> BTreeSet<ArrayId> {
        self.by_elements.keys().map(|column| column.array).collect()
    }

    fn names(&self) -> Names {
        Names::new(&self.catalog, &[PLACE, DOCUMENT])
    }

    /// Renames the table. The name may be qualified with a schema and a database.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::Table};
    /// let table = Table::new(&Catalog::cases());
    /// assert!(table.clone().named("compliance.cases_2026").is_ok());
    /// assert!(table.named("cases; drop table users").is_err());
    /// ```
    ///
    /// # Errors
    /// A valid name is one to three words joined by dots. Each word has 1 to 63 lower-case ASCII letters, digits or underscores,
    /// and does not start with a digit. Returns an error for any other name.
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

    /// Returns the catalogue from whose fields the table was created.
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

    /// Returns the columns in the order in which they occur in the table.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the name of the column of the id.
    pub(super) fn id_column(&self) -> &str {
        self.column_of(FieldId::ID).map_or("id", Column::name)
    }

    /// Returns the parts of the table name, such as schema and table.
    pub(super) fn name(&self) -> &[String] {
        &self.name
    }

    /// Returns the column of a field. Returns `None` if the catalogue hides the field.
    #[must_use]
    pub fn column_of(&self, field: FieldId) -> Option<&Column> {
        self.columns.get((*self.by_field.get(field.index())?)?)
    }

    /// Returns the folded column of a field. Returns `None` if the field has no folded column.
    #[must_use]
    pub fn folded_column_of(&self, field: FieldId) -> Option<&Column> {
        self.columns.get((*self.folded_by_field.get(field.index())?)?)
    }

    /// Returns an element column. Returns `None` if the table does not have it.
    pub(super) fn element_column(&self, elements: ElementNumbers) -> Option<&Column> {
        self.columns.get(*self.by_elements.get(&elements)?)
    }

    /// Returns the value that a column has in cases without the field. Returns `None` if the field has no default.
    pub(super) fn default_of(&self, column: &Column) -> Option<Datum<'_>> {
        let default = self.catalog.field(column.field?).default_as_value()?;
        let datum = if column.is_folded { Datum::folded(&default) } else { Datum::of(&default) };
        Some(if column.is_list { datum.into_list() } else { datum })
    }

    /// Returns the command-line arguments that select the folded columns and element columns of the table, each with a space before
    /// it.
    pub(super) fn arguments(&self) -> String {
        let is_text = |id: &FieldId| self.catalog.field(*id).field_type() == FieldType::String;
        let visible = self.catalog.visible_fields().map(|(id, _)| id).filter(is_text).count();
        let folded = self.columns.iter().filter(|column| column.is_folded);
        let folded = folded.filter_map(|column| Some(self.catalog.field(column.field?).name())).collect();
        let arrays = self.element_arrays();
        let arrays = arrays.iter().filter_map(|array| self.catalog.array(*array));
        let arrays = arrays.map(|array| self.catalog.array_name(array)).collect();
        let argument = |name: &str, chosen: Vec<&str>, all: usize| match chosen.len() {
            0 => String::new(),
            number if number == all => format!(" {name}"),
            _ => format!(" {name}={}", chosen.join(",")),
        };
        let elements = argument("--elements", arrays, self.catalog.arrays().count());
        argument("--folded", folded, visible) + &elements
    }

    /// Converts a document to a row, with one datum per column.
    ///
    /// Malformed members are treated as absent, as in a lenient import.
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
    /// Returns an error if the text is not a document. It must be a JSON object smaller than 1 GiB with a valid `id`.
    pub fn row<'d>(&self, place: u64, document: &'d str) -> Result<Vec<Datum<'d>>, Error> {
        let mut row = Row::default();
        // The size of the case was checked when the case was stored.
        let limits = Limits::default().for_stored_documents();
        read_case(document, &self.catalog, &limits, &mut row)?;
        let numbered: Vec<ElementNumbers> =
            self.columns.iter().filter_map(|column| column.elements).collect();
        let mut numbers = number_elements(&numbered, &row, &self.catalog).into_iter();
        let of_case = |column: &Column| match column.field {
            _ if column.is_element() => Datum::Integers(numbers.next().unwrap_or_default()),
            Some(field) => {
                let datum = if column.is_folded { Datum::folded } else { Datum::of };
                let mut values = row.values(field).map(datum);
                if column.is_list {
                    Datum::list(column.kind, values)
                } else {
                    values.next().unwrap_or(Datum::Null)
                }
            }
            None if column.kind == ColumnType::Integer => {
                // No export has more than `i64::MAX` cases.
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

    fn names(table: &Table) -> Vec<&str> {
        table.columns().iter().map(Column::name).collect()
    }

    #[test]
    fn folded_columns_come_last_and_change_no_other_name() {
        let long = "x".repeat(200);
        let fields =
            ["name", "nameFolded", "n", long.as_str()].map(|name| Field::new(name, FieldType::String));
        let catalog = Catalog::new(fields).unwrap().with([Field::new("amount", FieldType::Number)]).unwrap();
        let (plain, folded) = (Table::new(&catalog), Table::new(&catalog).with_folded());
        assert_eq!(folded.columns()[..plain.columns().len()], *plain.columns());
        let long = names(&folded).pop().unwrap().to_owned();
        assert!(
            long.starts_with("xxx") && long.ends_with("_folded") && long.len() <= MAX_NAME_BYTES,
            "{long}"
        );
        let added = ["id_folded", "name_folded_2", "name_folded_folded", "n_folded", &long];
        assert_eq!(names(&folded)[plain.columns().len()..], added);
        // The name of a folded column does not depend on the other folded columns.
        let some = plain.clone().with_folded_fields(["n", "name"]).unwrap();
        assert_eq!(names(&some)[plain.columns().len()..], ["name_folded_2", "n_folded"]);
        assert_eq!(names(&some.with_folded()), names(&folded));
        let again = plain.clone().with_folded_fields(["n"]).unwrap().with_folded_fields(["name"]).unwrap();
        assert_eq!(names(&again)[plain.columns().len()..], ["name_folded_2", "n_folded"]);
        for (id, _) in catalog.visible_fields() {
            let (own, folded) = (folded.column_of(id).unwrap(), folded.folded_column_of(id));
            assert_eq!(folded.is_some(), own.kind() == ColumnType::Text);
            assert!(folded.is_none_or(|column| column.field() == Some(id) && column.is_folded()));
            assert_eq!(plain.folded_column_of(id), None);
        }
        let error = |name| plain.clone().with_folded_fields([name]).unwrap_err().to_string();
        assert_eq!(error("nam"), "`nam` is not a field; did you mean `name`?");
        assert_eq!(error("amount"), "`$match` is only for string fields, but `amount` is a number field");
        let narrow = Table::new(&catalog.allow(["n"]).unwrap()).with_folded();
        assert_eq!(names(&narrow), ["place", "id", "n", "document", "n_folded"]);
    }

    #[test]
    fn scripts_say_how_to_export_folded_columns() {
        let table = Table::new(&Catalog::cases());
        assert_eq!(table.arguments(), "");
        assert_eq!(table.clone().with_folded().arguments(), " --folded");
        let some = table.with_folded_fields(["tags", "name"]).unwrap();
        assert_eq!(some.arguments(), " --folded=name,tags");
    }

    #[test]
    fn folded_values_are_those_of_the_field_one_by_one() {
        let catalog = Catalog::cases().allow(["name", "priority", "tags"]).unwrap();
        let table = Table::new(&catalog).with_folded();
        let row = table.row(0, r#"{"id":"Ä","name":"Stra\u00dfe","tags":["É",null,"e","\u0301"]}"#).unwrap();
        assert_eq!(
            row[6..],
            [
                Datum::Text("strasse".into()),
                Datum::Text("medium".into()),
                Datum::Texts(vec!["e".into(), "e".into(), "".into()]),
            ]
        );
        let row = table.row(0, r#"{"id":"a"}"#).unwrap();
        assert_eq!(row[6..], [Datum::Null, Datum::Text("medium".into()), Datum::Texts(vec![])]);
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
