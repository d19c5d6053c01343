//! Converts cases to the rows of a table, for people.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::table::{self, Column};

/// Returns the columns of a table of cases.
pub(crate) fn search_columns() -> &'static [Column] {
    const COLUMNS: [Column; 9] = [
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
    &COLUMNS
}

/// Returns a table of cases. Each case is given as its id and its document.
pub(crate) fn table_of<'c>(cases: impl Iterator<Item = (&'c str, &'c str)>) -> String {
    let rows: Vec<Vec<String>> = cases.map(|(id, document)| row_of(id, document)).collect();
    table::render(search_columns(), &rows)
}

/// Returns the cells of the row for a case.
pub(crate) fn row_of(id: &str, document: &str) -> Vec<String> {
    Shown::read(document).row(id)
}

/// Returns the id in a stored document.
pub(crate) fn id_of(document: &str) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Case {
        id: String,
    }
    serde_json::from_str::<Case>(document).unwrap_or_default().id
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
