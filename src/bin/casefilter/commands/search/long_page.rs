//! Pages that are longer than an answer may be, written case by case.

use std::io::Write;
use std::path::Path;

use casefilter::Request;

use crate::commands::search::{Format, id_line, id_of, row_of, search_columns};
use crate::input::loaded::Held;
use crate::output::escape::one_line;
use crate::output::failure::{Failure, note};
use crate::output::stdout::Output;
use crate::output::table::{TableWriter, counted, thousands};

/// The longest page that is put together in memory; longer ones are written as their cases are read.
pub(crate) const MOST_AT_ONCE: u64 = 10_000;

/// Rows by which the widths of a table's columns are chosen.
const ROWS_MEASURED: usize = 1000;

/// A page whose cases are written while they are read.
pub(crate) struct LongPage<'r> {
    pub(crate) request: &'r Request,
    pub(crate) format: Format,
    /// How many cases are selected.
    pub(crate) total: u64,
    /// The database that the cases are read from, if it is one.
    pub(crate) database: Option<&'r Path>,
}

impl LongPage<'_> {
    /// How many cases the page has.
    pub(crate) fn len(&self) -> u64 {
        self.total.saturating_sub(self.request.offset).min(self.request.limit)
    }

    /// Writes the cases of the page, and closes what they are read from once they are read. `summary` is what a table ends with.
    pub(crate) fn write(&self, held: Held, summary: impl FnOnce() -> String) -> Result<(), Failure> {
        let mut out = match self.database {
            Some(database) => Output::from_database(database)?,
            None => Output::from_memory(),
        };
        let read = self.read(&held, &mut out);
        // Others may write to the database while the rest is written.
        let closed = held.close();
        let written = read.and_then(|()| {
            if self.format == Format::Table {
                out.line(&summary())?;
            }
            out.finish()
        });
        closed.and(written)
    }

    fn read<W: Write>(&self, held: &Held, out: &mut Output<W>) -> Result<(), Failure> {
        let Self { request, format, total, .. } = *self;
        match format {
            Format::Ids => held.each_id(request, |id| id_line(out, id)),
            Format::Ndjson => {
                let mut line = String::new();
                held.each_document(request, |document| {
                    line.clear();
                    line.push_str(document);
                    one_line(&mut line);
                    out.json_line(&line)
                })
            }
            Format::Json => {
                out.json_part("{\"list\":{\"items\":[")?;
                let mut is_first = true;
                held.each_document(request, |document| {
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
                held.each_document(request, |document| {
                    table.push(row_of(&id_of(document), document), &mut |text| out.escaped_lines(text))
                })?;
                table.finish(&mut |text| out.escaped_lines(text))
            }
        }
    }
}

/// The limit that `--limit all` stands for.
pub(crate) const ALL: u64 = i64::MAX.unsigned_abs();

/// Says on standard error that more cases are selected than were written, if so.
pub(crate) fn tell_cut(written: u64, request: &Request, total: u64) {
    let end = request.offset.saturating_add(written);
    if request.limit > 0 && written == request.limit && end < total {
        note(format!(
            "{} of {} written; --limit all writes them all, --offset {end} goes on\n",
            thousands(written),
            counted_selected(total)
        ));
    }
}

fn counted_selected(total: u64) -> String {
    counted(total, "selected case")
}
