//! Converts cases to rows of an SQL table, one after another.

use std::io;

use casefilter::Error;
use casefilter::sql::{Datum, Table};

use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::progress::Progress;

/// A function that calls its argument for each document, until the argument returns an error.
pub(crate) type Walk<'w> = &'w dyn Fn(&mut dyn FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure>;

/// The cases to convert, and the table whose rows are created.
pub(super) struct Source<'s> {
    pub(super) walk: Walk<'s>,
    pub(super) table: &'s Table,
    pub(super) progress: &'s Progress,
}

/// Calls `take` for the row of each case, until an error occurs. Returns the error if a row could not be written. Stores any other
/// error in `failure`, and returns a placeholder I/O error.
pub(super) fn each_row(
    source: &Source<'_>,
    failure: &mut Option<Failure>,
    mut take: impl FnMut(&[Datum<'_>]) -> Result<(), Fault>,
) -> io::Result<()> {
    let mut place = 0_u64;
    let mut write_fault = None;
    let result = (source.walk)(&mut |document| {
        let row = source.table.row(place, document).map_err(Fault::Case);
        place = place.saturating_add(1);
        source.progress.advance(1);
        row.and_then(|row| take(&row)).map_err(|fault| match fault {
            Fault::Write(error) => {
                write_fault = Some(error);
                Failure::ClosedPipe
            }
            Fault::Case(error) => Failure::Refused(format!(
                "case {place}: {}",
                escape(&format!("{}: {}", error.path, error.message()))
            )),
        })
    });
    match (write_fault, result) {
        (Some(error), _) => Err(error),
        (None, Err(fault)) => {
            *failure = Some(fault);
            Err(io::Error::other("stopped"))
        }
        (None, Ok(())) => Ok(()),
    }
}

/// The reason why a row was not written.
pub(super) enum Fault {
    Write(io::Error),
    /// The case cannot be stored in the table.
    Case(Error),
}
