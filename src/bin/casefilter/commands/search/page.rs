//! Prints pages that have been collected in memory.

use casefilter::{Catalog, SearchAnswer};

use crate::commands::search::format::SearchFormat;
use crate::output::case_table::CaseTable;
use crate::output::escape::one_line;
use crate::output::failure::Failure;
use crate::output::stdout::Output;

/// Prints a page of documents of a catalogue. `summary` returns the last line of a table.
pub(super) fn print(
    answer: &SearchAnswer,
    format: SearchFormat,
    catalog: &Catalog,
    summary: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let mut out = Output::new();
    match format {
        SearchFormat::Json => out.json_line(&answer.to_json())?,
        SearchFormat::Ndjson => {
            let mut line = String::new();
            for document in answer.documents() {
                line.clear();
                line.push_str(document);
                one_line(&mut line);
                out.json_line(&line)?;
            }
        }
        SearchFormat::Ids => {
            for id in answer.ids() {
                out.id(id)?;
            }
        }
        SearchFormat::Table => {
            if !answer.is_empty() {
                out.escaped_lines(&CaseTable::new(catalog).render(answer.ids().zip(answer.documents())))?;
                out.line("")?;
            }
            out.line(&summary())?;
        }
    }
    out.finish()
}
