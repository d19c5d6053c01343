//! Converts cases, or other documents, to the rows of a table, for people.

use std::borrow::Cow;
use std::collections::HashMap;

use casefilter::{Catalog, Field, FieldType, IdType};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::escape::escape;
use crate::output::field_tree::{FieldTree, text_of};
use crate::output::table::{self, Column, Fit};

/// The maximum number of [own columns](CaseTable) if the user did not choose the columns.
const MOST_COLUMNS: usize = 24;

/// The columns of a table of documents. If the catalogue starts with the fields of cases, the table starts with the
/// [`CASE_COLUMNS`]. Otherwise, it starts with the column of the id. Each further visible field has its *own column*, for at most
/// [`MOST_COLUMNS`] fields. If the user chose the columns, the table has only the own columns of the chosen fields.
pub(crate) struct CaseTable {
    has_cases: bool,
    /// The name and the type of the id.
    id: (String, IdType),
    own: Vec<OwnColumn>,
    /// The paths of the fields that have their own columns.
    tree: FieldTree,
    /// True if the user chose the columns. Then there are only own columns, and all of them are shown.
    is_chosen: bool,
}

/// The column of a field.
struct OwnColumn {
    heading: String,
    is_number: bool,
    is_text: bool,
    default: Option<String>,
}

impl CaseTable {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let cases = Catalog::cases();
        let names = |catalog: &Catalog| {
            catalog.fields().iter().map(|field| field.name().to_owned()).collect::<Vec<_>>()
        };
        let has_cases = names(catalog).starts_with(&names(&cases));
        let first = if has_cases { cases.fields().len() } else { 1 };
        let own = catalog.visible_fields().filter(|(id, _)| id.index() >= first);
        let id = (catalog.id_name().to_owned(), catalog.id_type());
        let fields: Vec<&Field> = own.take(MOST_COLUMNS).map(|(_, field)| field).collect();
        let tree = FieldTree::new(fields.iter().copied());
        let own = fields.into_iter().map(|field| OwnColumn::new(field, field.name())).collect();
        Self { has_cases, id, own, tree, is_chosen: false }
    }

    /// Returns a table of the fields that the user chose, each with its heading.
    pub(crate) fn of<'f>(
        catalog: &Catalog,
        fields: impl Iterator<Item = (&'f str, &'f Field)> + Clone,
    ) -> Self {
        let tree = FieldTree::new(fields.clone().map(|(_, field)| field));
        let mut own: Vec<OwnColumn> =
            fields.clone().map(|(name, field)| OwnColumn::new(field, name)).collect();
        for (column, (_, field)) in own.iter_mut().zip(fields) {
            // A part of an id cannot be used in another command.
            column.is_text &= field.name() != catalog.id_name();
        }
        let id = (catalog.id_name().to_owned(), catalog.id_type());
        Self { has_cases: false, id, own, tree, is_chosen: true }
    }

    /// Returns what the table does if the terminal is too narrow.
    pub(crate) fn fit(&self) -> Fit {
        if self.is_chosen { Fit::ShowAll } else { Fit::LeaveOut }
    }

    pub(crate) fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = match (self.has_cases, self.is_chosen) {
            (_, true) => Vec::new(),
            (true, _) => CASE_COLUMNS.to_vec(),
            (false, _) => vec![Column::whole(&self.id.0)],
        };
        columns.extend(self.own.iter().map(OwnColumn::column));
        columns
    }

    /// Returns the cells of a document.
    pub(crate) fn row(&self, id: &str, document: &str) -> Vec<String> {
        let mut row = match (self.has_cases, self.is_chosen) {
            (_, true) => Vec::new(),
            (true, _) => Shown::read(document).row(id),
            (false, _) => vec![id.to_owned()],
        };
        if !self.own.is_empty() {
            let values = self.tree.values(document).into_iter();
            row.extend(self.own.iter().zip(values).map(|(column, values)| column.cell(&values)));
        }
        row
    }

    /// Returns the id in a stored document.
    pub(crate) fn id_of(&self, document: &str) -> String {
        let (name, id_type) = &self.id;
        let mut members: HashMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(document).unwrap_or_default();
        let text = members.remove(name.as_str()).map_or("", RawValue::get);
        let id = match id_type {
            IdType::Integer => text.to_owned(),
            _ => serde_json::from_str(text).unwrap_or_default(),
        };
        match (id_type, id.rsplit(':').next()) {
            (IdType::Uuid, Some(uuid)) => uuid.to_ascii_lowercase(),
            _ => id,
        }
    }

    /// Returns a table of documents, each with its id.
    pub(crate) fn render<'c>(&self, documents: impl Iterator<Item = (&'c str, &'c str)>) -> String {
        let rows: Vec<Vec<String>> = documents.map(|(id, document)| self.row(id, document)).collect();
        table::render(&self.columns(), &rows, self.fit())
    }
}

const CASE_COLUMNS: [Column<'static>; 9] = [
    Column::whole("id"),
    Column::text("status"),
    Column::whole("priority"),
    Column::whole("createdAt"),
    Column::text("applicant"),
    Column::number("amount"),
    Column::text("assignee"),
    Column::text("tags"),
    Column::text("name"),
];

impl OwnColumn {
    fn new(field: &Field, heading: &str) -> Self {
        let is_number =
            matches!(field.field_type(), FieldType::Number | FieldType::Integer | FieldType::Decimal { .. })
                && !field.is_many();
        Self {
            heading: escape(heading).into_owned(),
            is_number,
            is_text: field.is_many() || field.field_type() == FieldType::String,
            default: field.default_value().map(str::to_owned),
        }
    }

    fn column(&self) -> Column<'_> {
        match (self.is_number, self.is_text) {
            (true, _) => Column::number(&self.heading),
            (false, true) => Column::text(&self.heading),
            (false, false) => Column::whole(&self.heading),
        }
    }

    /// Returns the document's values of this field, joined by commas. If the document has no value of the field, returns the
    /// default in parentheses, or an empty text if the field has no default.
    fn cell(&self, values: &[&RawValue]) -> String {
        match (&self.default, values) {
            (Some(default), []) => format!("({default})"),
            _ => values.iter().map(|value| text_of(value)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The members of a case that the table shows. A member of an unexpected type is treated as absent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Shown<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    case_review: Option<&'a RawValue>,
    #[serde(borrow)]
    priority: Option<&'a RawValue>,
    #[serde(borrow)]
    created_at: Option<&'a RawValue>,
    #[serde(borrow)]
    applicant_reference: Option<&'a RawValue>,
    #[serde(borrow)]
    total_amount_in_default_currency: Option<&'a RawValue>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    assignee: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applicant<'a> {
    #[serde(borrow)]
    full_name: Option<&'a RawValue>,
}

impl<'a> Shown<'a> {
    fn read(document: &'a str) -> Self {
        serde_json::from_str(document).unwrap_or_default()
    }

    fn row(&self, id: &str) -> Vec<String> {
        let review: Review<'_> = parsed(self.case_review);
        let applicant: Applicant<'_> = parsed(self.applicant_reference);
        let tags: Vec<&RawValue> = parsed(self.tags);
        let amount = self.total_amount_in_default_currency.map(RawValue::get);
        vec![
            id.to_owned(),
            parsed(review.status),
            match self.priority {
                // An absent priority is treated as this value.
                None => "(medium)".to_owned(),
                priority => parsed(priority),
            },
            parsed::<String>(self.created_at).trim_end_matches("+0000").to_owned(),
            parsed(applicant.full_name),
            amount
                .filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
                .unwrap_or_default()
                .to_owned(),
            parsed(review.assignee),
            tags.into_iter().map(|tag| parsed::<String>(Some(tag))).collect::<Vec<_>>().join(", "),
            parsed(self.name),
        ]
    }
}

/// Parses a member. Returns the default if the member is absent or has an unexpected type.
fn parsed<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
