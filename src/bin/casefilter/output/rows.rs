//! Writes cases as rows of an SQL table, in the text format of PostgreSQL or as flat Parquet.

#[cfg(feature = "arrow")]
mod flat_parquet;
mod walk;

use std::io::{self, Write};
use std::path::Path;

use casefilter::sql::{Table, write_copy};

use crate::output::ending::Ending;
use crate::output::failure::Failure;
#[cfg(feature = "arrow")]
use crate::output::file::replace;
use crate::output::file::{Columns, to_file};
#[cfg(not(feature = "arrow"))]
use crate::output::part::Part;
use crate::output::progress::Progress;
use crate::output::rows::walk::{Fault, Source, Walk, each_row};

/// The format in which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The text format of PostgreSQL's `COPY`.
    Copy,
    Parquet,
}

impl Rows {
    /// Returns the format if the output has one flat row per case: a .tsv file, or .parquet with --flat. Returns `None` for all
    /// other outputs. Returns an error for --flat with any other ending.
    pub(crate) fn of(ending: Ending, flat: bool) -> Result<Option<Self>, Failure> {
        match ending {
            Ending::Tsv => Ok(Some(Self::Copy)),
            _ if !flat => Ok(None),
            Ending::Parquet => Ok(Some(Self::Parquet)),
            _ => Err(Failure::Usage("--flat is for files whose name ends in .parquet".to_owned())),
        }
    }

    /// Writes one row for each of `count` cases. `walk` supplies the documents of the cases, one after another. The rows are in the
    /// same order.
    pub(crate) fn write(self, path: &Path, table: &Table, count: u64, walk: Walk<'_>) -> Result<(), Failure> {
        let progress = Progress::of_cases(count);
        let source = Source { walk, table, progress: &progress };
        progress.say("writing".to_owned());
        // The failure of a case or of the database. An error of the output file is in `written`.
        let mut failure = None;
        let written = match self {
            Self::Copy => to_file(path, Columns { catalog: table.catalog(), order: None }, &mut |out| {
                copy(&source, out, &mut failure)
            }),
            #[cfg(feature = "arrow")]
            Self::Parquet => replace(path, &mut |file| flat_parquet::write(&source, file, &mut failure)),
            #[cfg(not(feature = "arrow"))]
            Self::Parquet => Part::Parquet.require("Parquet"),
        };
        match failure {
            Some(failure) => Err(failure),
            None => written,
        }
    }
}

fn copy(source: &Source<'_>, out: &mut dyn Write, failure: &mut Option<Failure>) -> io::Result<()> {
    let mut line = String::new();
    each_row(source, failure, |row| {
        line.clear();
        write_copy(source.table, row, &mut line).map_err(Fault::Case)?;
        out.write_all(line.as_bytes()).map_err(Fault::Write)
    })
}
