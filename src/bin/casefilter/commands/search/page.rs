//! Prints pages that have been collected in memory.

use casefilter::{Catalog, SearchAnswer};

use crate::commands::search::format::{SearchFormat, Shape};
use crate::commands::search::items::replace_items;
use crate::output::escape::one_line;
use crate::output::failure::Failure;
use crate::output::stdout::Output;

/// Prints a page of documents of a catalogue. `summary` returns the last line of a table.
pub(super) fn print(
    answer: &SearchAnswer,
    shape: &Shape,
    catalog: &Catalog,
    summary: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let mut out = Output::new();
    match shape.format {
        SearchFormat::Json if shape.columns.is_some() => {
            out.json_line(&replace_items(&answer.to_json(), answer.documents(), |document, line| {
                line.push_str(&shape.document(document));
            }))?;
        }
        SearchFormat::Json => out.json_line(&answer.to_json())?,
        SearchFormat::Ndjson => {
            let mut line = String::new();
            for document in answer.documents() {
                line.clear();
                line.push_str(&shape.document(document));
                one_line(&mut line);
                out.json_line(&line)?;
            }
        }
        SearchFormat::Ids => {
            for id in answer.ids() {
                out.id(id)?;
            }
        }
        SearchFormat::Csv | SearchFormat::Tsv => {
            if let Some(mut rows) = shape.rows(catalog, &mut out)? {
                answer.documents().try_for_each(|document| rows.push(document, &mut out))?;
                rows.finish(&mut out)?;
            }
        }
        SearchFormat::Table => {
            if !answer.is_empty() {
                out.escaped_lines(&shape.table(catalog).render(answer.ids().zip(answer.documents())))?;
                out.line("")?;
            }
            out.line(&summary())?;
        }
    }
    out.finish()
}
