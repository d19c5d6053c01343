//! `fields`: the catalogue.

use casefilter::{Catalog, Field};
use serde::Serialize;

use crate::Status;
use crate::failure::Failure;
use crate::output::{Format, Output};
use crate::table::{self, Column};

/// List the fields that a filter can name
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter fields
  casefilter fields --format json | jq -r '.[] | select(.type == \"timestamp\") | .name'")]
pub(crate) struct Args {
    /// JSON or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: casefilter::FieldType,
    many: bool,
    known: Vec<&'a str>,
    default: Option<&'a str>,
    aliases: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    fn new(field: &'a Field) -> Self {
        Self {
            name: field.name(),
            kind: field.kind(),
            many: field.is_many(),
            known: field.known_values().collect(),
            default: field.default(),
            aliases: field.aliases().collect(),
        }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.name.to_owned(),
            self.kind.to_string(),
            if self.many { "many".to_owned() } else { String::new() },
            self.known.join(", "),
            self.default.unwrap_or_default().to_owned(),
            self.aliases.join(", "),
        ]
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let catalog = Catalog::cases();
    let entries: Vec<Entry<'_>> = catalog.visible_fields().map(|(_, field)| Entry::new(field)).collect();
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&entries)?,
        Format::Table => {
            let columns = [
                Column::whole("field"),
                Column::whole("type"),
                Column::whole("values"),
                Column::text("known values"),
                Column::whole("absent is"),
                Column::whole("also called"),
            ];
            let rows: Vec<Vec<String>> = entries.iter().map(Entry::row).collect();
            out.line(&table::render_lines(&columns, &rows, 5))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
