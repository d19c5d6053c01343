//! Writes long pages case by case, so that the complete output is never in memory.

use std::io::Write;
use std::path::Path;

use casefilter::{ImportReport, SearchAnswer, SearchRequest};

use crate::commands::hints::print_hints;
use crate::commands::search::format::{SearchFormat, Shape};
use crate::commands::search::summary::note_cut;
use crate::input::loaded::LoadedCases;
use crate::input::selection::ALL;
use crate::output::escape::one_line;
use crate::output::failure::Failure;
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::Output;
use crate::output::table::TableWriter;

/// The number of rows that are read to determine the column widths of a table.
const ROWS_MEASURED: usize = 1000;

/// A page that is written while its cases are read.
pub(super) struct LongPage<'r> {
    pub(super) request: &'r SearchRequest,
    pub(super) shape: &'r Shape,
    /// The number of selected cases.
    pub(super) total: u64,
    /// The path of the database, if the cases come from a database.
    pub(super) database: Option<&'r Path>,
}

/// The cases from which a page is written.
pub(super) enum PageSource {
    /// Loaded cases, which are searched when the page is written.
    Loaded(LoadedCases),
    /// A page that a scan has collected.
    Scanned(Box<SearchAnswer>),
}

impl PageSource {
    fn each_id(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Loaded(cases) => cases.each_id(request, take),
            Self::Scanned(page) => page.ids().try_for_each(take),
        }
    }

    fn each_document(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Loaded(cases) => cases.each_document(request, take),
            Self::Scanned(page) => page.documents().try_for_each(take),
        }
    }

    fn close(self) -> Result<(), Failure> {
        match self {
            Self::Loaded(cases) => cases.close(),
            Self::Scanned(_) => Ok(()),
        }
    }
}

impl LongPage<'_> {
    /// Returns the number of cases on the page.
    pub(super) fn len(&self) -> u64 {
        self.total.saturating_sub(self.request.offset).min(self.request.limit)
    }

    /// Writes the page. Closes the database as soon as its cases have been read. `summary` returns the last line of a table.
    pub(super) fn write(&self, cases: PageSource, summary: impl FnOnce() -> String) -> Result<(), Failure> {
        let mut out = match self.database {
            Some(database) => Output::from_database(database)?,
            None => Output::from_memory(),
        };
        let read = self.read(&cases, &mut out);
        // Close the database before the rest is written, so that other processes can write to it.
        let closed = cases.close();
        let written = read.and_then(|()| {
            if self.shape.format == SearchFormat::Table {
                out.line(&summary())?;
            }
            out.finish()
        });
        closed.and(written)
    }

    /// Prints notes on standard error: the number of written cases if more selected cases follow the page, and the hints. Returns
    /// the status of the command.
    pub(super) fn print_notes(&self, report: &ImportReport, hints: &[String]) -> Status {
        if self.shape.format != SearchFormat::Table {
            note_cut(self.len(), self.request, self.total);
        }
        print_hints(report, self.request, hints);
        report_left_out(report)
    }

    fn read<W: Write>(&self, cases: &PageSource, out: &mut Output<W>) -> Result<(), Failure> {
        let Self { request, shape, total, .. } = *self;
        match shape.format {
            SearchFormat::Ids => cases.each_id(request, |id| out.id(id)),
            SearchFormat::Ndjson => {
                let mut line = String::new();
                cases.each_document(request, |document| {
                    line.clear();
                    line.push_str(&shape.document(document));
                    one_line(&mut line);
                    out.json_line(&line)
                })
            }
            SearchFormat::Json => {
                out.json_part("{\"list\":{\"items\":[")?;
                let mut is_first = true;
                cases.each_document(request, |document| {
                    if !std::mem::take(&mut is_first) {
                        out.json_part(",")?;
                    }
                    out.json_part(&shape.document(document))
                })?;
                let total = if request.count { format!(",\"totalItems\":{total}") } else { String::new() };
                // If all cases are requested, the answer gives the number of cases on the page as the limit.
                let limit = if request.limit == ALL { self.len() } else { request.limit };
                out.json_line(&format!(
                    "]{total},\"pageInfo\":{{\"limit\":{limit},\"offset\":{}}}}}}}",
                    request.offset
                ))
            }
            SearchFormat::Csv | SearchFormat::Tsv => {
                let Some(mut rows) = shape.rows(request.filter.catalog(), out)? else { return Ok(()) };
                cases.each_document(request, |document| rows.push(document, out))?;
                rows.finish(out)
            }
            SearchFormat::Table => {
                let documents = shape.table(request.filter.catalog());
                let columns = documents.columns();
                let mut table = TableWriter::new(&columns, ROWS_MEASURED, documents.fit());
                cases.each_document(request, |document| {
                    let id = documents.id_of(document);
                    table.push(documents.row(&id, document), &mut |text| out.escaped_lines(text))
                })?;
                table.finish(&mut |text| out.escaped_lines(text))
            }
        }
    }
}
