//! Pages that are longer than an answer may be, written case by case.

use std::io::Write;
use std::path::Path;

use casefilter::Request;

use crate::commands::search::format::Format;
use crate::input::loaded::LoadedCases;
use crate::input::selection::ALL;
use crate::output::case_table::{id_of, row_of, search_columns};
use crate::output::escape::one_line;
use crate::output::failure::Failure;
use crate::output::stdout::Output;
use crate::output::table::TableWriter;

/// Rows by which the widths of a table's columns are chosen.
const ROWS_MEASURED: usize = 1000;

/// A page whose cases are written while they are read.
pub(super) struct LongPage<'r> {
    pub(super) request: &'r Request,
    pub(super) format: Format,
    /// How many cases are selected.
    pub(super) total: u64,
    /// The database that the cases are read from, if it is one.
    pub(super) database: Option<&'r Path>,
}

impl LongPage<'_> {
    /// Returns how many cases the page has.
    pub(super) fn len(&self) -> u64 {
        self.total.saturating_sub(self.request.offset).min(self.request.limit)
    }

    /// Writes the cases of the page, and closes what they are read from once they are read. `summary` is what a table ends with.
    pub(super) fn write(&self, cases: LoadedCases, summary: impl FnOnce() -> String) -> Result<(), Failure> {
        let mut out = match self.database {
            Some(database) => Output::from_database(database)?,
            None => Output::from_memory(),
        };
        let read = self.read(&cases, &mut out);
        // Others may write to the database while the rest is written.
        let closed = cases.close();
        let written = read.and_then(|()| {
            if self.format == Format::Table {
                out.line(&summary())?;
            }
            out.finish()
        });
        closed.and(written)
    }

    fn read<W: Write>(&self, cases: &LoadedCases, out: &mut Output<W>) -> Result<(), Failure> {
        let Self { request, format, total, .. } = *self;
        match format {
            Format::Ids => cases.each_id(request, |id| out.id(id)),
            Format::Ndjson => {
                let mut line = String::new();
                cases.each_document(request, |document| {
                    line.clear();
                    line.push_str(document);
                    one_line(&mut line);
                    out.json_line(&line)
                })
            }
            Format::Json => {
                out.json_part("{\"list\":{\"items\":[")?;
                let mut is_first = true;
                cases.each_document(request, |document| {
                    if !std::mem::take(&mut is_first) {
                        out.json_part(",")?;
                    }
                    out.json_part(document)
                })?;
                let total = if request.count { format!(",\"totalItems\":{total}") } else { String::new() };
                // A page of all cases is as long as there are.
                let limit = if request.limit == ALL { self.len() } else { request.limit };
                out.json_line(&format!(
                    "]{total},\"pageInfo\":{{\"limit\":{limit},\"offset\":{}}}}}}}",
                    request.offset
                ))
            }
            Format::Table => {
                let mut table = TableWriter::new(search_columns(), ROWS_MEASURED);
                cases.each_document(request, |document| {
                    table.push(row_of(&id_of(document), document), &mut |text| out.escaped_lines(text))
                })?;
                table.finish(&mut |text| out.escaped_lines(text))
            }
        }
    }
}
