//! The command `fields`: lists the fields of the catalogue.

use casefilter::{Catalog, Field, IdType, TimestampForm};
use serde::Serialize;

use crate::input::catalog::CatalogFile;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{self, Column, Fit};
use crate::output::wrap::{width, wrapped_to};

/// List the fields that a filter can name
///
/// A field is multi-valued if it is in an array of the document. A filter may use an alias instead of the name of a field. The
/// output shows a default value after `if missing:`. If a case does not have the field, filters use this value. Searches sort the
/// known values of a text field in the order in which they are listed. If a filter uses any other value, there is a warning.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter fields
  casefilter fields --catalog orders.toml
  casefilter fields --catalog cases.db
  casefilter fields --format json | jq -r '.[] | select(.type == \"timestamp\") | .name'")]
pub(crate) struct Args {
    /// JSON or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    #[command(flatten)]
    catalog: CatalogFile,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: casefilter::FieldType,
    many: bool,
    /// The form of the field's timestamps in documents. `None` for the default form, [`TimestampForm::Interface`], and for fields
    /// of other types.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<TimestampForm>,
    /// The type of the id in documents. `None` for a string, and for fields other than the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id_type: Option<IdType>,
    known: Vec<&'a str>,
    default: Option<&'a str>,
    aliases: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    fn new(field: &'a Field) -> Self {
        Self {
            name: field.name(),
            kind: field.field_type(),
            many: field.is_many(),
            form: Some(field.form()).filter(|form| *form != TimestampForm::Interface),
            id_type: None,
            known: field.known_values().collect(),
            default: field.default_value(),
            aliases: field.aliases().collect(),
        }
    }

    fn row(&self) -> Vec<String> {
        let kind = self.kind.to_string();
        vec![self.name.to_owned(), if self.many { format!("{kind} (many)") } else { kind }]
    }

    /// Returns a text with the form or the id type of the field's values in documents, its aliases, its default, and its known
    /// values.
    fn notes(&self) -> String {
        let of = |label: &str, texts: &[&str]| match texts {
            [] => None,
            _ => Some(format!("{label} {}", texts.join(", "))),
        };
        let default = self.default.as_slice();
        let form = self.form.map(TimestampForm::name).or(self.id_type.map(IdType::name));
        let notes = [
            of("as", form.as_slice()),
            of("alias", &self.aliases),
            of("if missing:", default),
            of("known:", &self.known),
        ];
        notes.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The minimum width of the notes next to a field, in characters. If there is less space, the notes are printed below the field.
const LEAST_NOTES: usize = 44;

/// The indentation of the notes below a field, in characters.
const HANGING: usize = 4;

/// Returns the table, laid out for the width of the terminal.
fn table(entries: &[Entry<'_>], width: usize) -> String {
    let rows: Vec<Vec<String>> = entries.iter().map(Entry::row).collect();
    let columns = [Column::whole("field"), Column::whole("type")];
    let table = table::render(&columns, &rows, Fit::LeaveOut);
    let table_width = table.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let start = table_width.saturating_add(2);
    let is_beside = width.saturating_sub(start) >= LEAST_NOTES;
    let mut lines = table.lines();
    let mut text = String::new();
    for head in lines.by_ref().take(2) {
        text.push_str(head);
        text.push('\n');
    }
    for (line, entry) in lines.zip(entries) {
        let notes = entry.notes();
        if !is_beside || notes.is_empty() {
            text.push_str(line);
            text.push('\n');
        }
        let (first, others) =
            if is_beside { (format!("{line:start$}"), start) } else { (" ".repeat(HANGING), HANGING) };
        let wrapped = wrapped_to(&notes, 0, width.saturating_sub(others));
        for (number, note) in wrapped.lines().enumerate() {
            let before = if number == 0 { first.clone() } else { " ".repeat(others) };
            text.push_str(&format!("{before}{note}\n"));
        }
    }
    text
}

/// Returns the type of the id in documents, if the field is the id and its type is not `String`.
fn id_type(catalog: &Catalog, field: &Field) -> Option<IdType> {
    Some(catalog.id_type()).filter(|id_type| field.name() == catalog.id_name() && *id_type != IdType::String)
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let catalog = args.catalog.or_cases()?;
    let of_field = |field| Entry { id_type: id_type(&catalog, field), ..Entry::new(field) };
    let entries: Vec<Entry<'_>> = catalog.visible_fields().map(|(_, field)| of_field(field)).collect();
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&entries)?,
        Format::Table => {
            out.escaped_lines(&table(&entries, usize::from(width())))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_value_alias_and_default_is_shown_at_any_width() {
        let catalog = Catalog::cases();
        let entries: Vec<Entry<'_>> = catalog.visible_fields().map(|(_, field)| Entry::new(field)).collect();
        for width in [60, 80, 100, 120, 200] {
            let table = table(&entries, width);
            let wide: Vec<&str> = table.lines().filter(|line| line.chars().count() > width).collect();
            assert_eq!(wide, [""; 0], "{width}");
            for word in entries
                .iter()
                .flat_map(|entry| entry.known.iter().chain(&entry.aliases).chain(&entry.default))
            {
                assert!(table.contains(word), "{width}: {word}");
            }
        }
    }
}
