//! The output formats of the command `search`.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use casefilter::Catalog;
use clap::ValueEnum;

use crate::input::columns::Columns;
use crate::output::case_table::CaseTable;
use crate::output::delimited::{BETWEEN, Delimited, Kind};
use crate::output::failure::Failure;
use crate::output::stdout::Output;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchFormat {
    /// The answer of the HTTP interface: {"list":{"items":[…],"pageInfo":{…}}}
    Json,
    /// The cases, one per line
    Ndjson,
    /// The ids of the cases, one per line; an id that begins with a quote or contains control characters is written as a JSON
    /// string
    Ids,
    /// A table for people
    Table,
    /// Comma-separated values for spreadsheets (RFC 4180, UTF-8), with a header line
    Csv,
    /// The same as csv, with tabs instead of commas
    Tsv,
}

/// The form of the output: the format, and the fields that it contains.
pub(super) struct Shape {
    pub(super) format: SearchFormat,
    /// The fields that the user chose. `None` for the fields that the format has by default.
    pub(super) columns: Option<Columns>,
    /// True if the cells of CSV are written without an apostrophe in front, so that a spreadsheet may run them.
    pub(super) is_raw: bool,
}

impl Shape {
    /// Returns the columns of the table that shows cases.
    pub(super) fn table(&self, catalog: &Catalog) -> CaseTable {
        match &self.columns {
            None => CaseTable::new(catalog),
            Some(columns) => {
                let named = columns.as_slice().iter().map(|column| (column.name.as_str(), &column.field));
                CaseTable::of(catalog, named)
            }
        }
    }

    /// Returns the document, with only the chosen members if the user chose fields.
    pub(super) fn document<'d>(&self, document: &'d str) -> Cow<'d, str> {
        match &self.columns {
            None => Cow::Borrowed(document),
            Some(columns) => Cow::Owned(columns.only(document)),
        }
    }

    /// Returns a writer of rows if the format is CSV or TSV.
    pub(super) fn rows<W: Write>(
        &self,
        catalog: &Catalog,
        out: &mut Output<W>,
    ) -> Result<Option<CaseRows<'_>>, Failure> {
        let kind = match self.format {
            SearchFormat::Csv => Kind::Csv,
            SearchFormat::Tsv => Kind::Tsv,
            _ => return Ok(None),
        };
        let columns = match &self.columns {
            Some(columns) => MaybeOwned::Borrowed(columns),
            None => MaybeOwned::Owned(Columns::all(catalog)),
        };
        let mut writer = Delimited::new(kind, self.is_raw);
        writer.record(columns.get().names(), out)?;
        Ok(Some(CaseRows { columns, writer }))
    }
}

/// The chosen columns, or all columns.
enum MaybeOwned<'c> {
    Borrowed(&'c Columns),
    Owned(Columns),
}

impl MaybeOwned<'_> {
    fn get(&self) -> &Columns {
        match self {
            Self::Borrowed(columns) => columns,
            Self::Owned(columns) => columns,
        }
    }
}

/// A writer of cases as rows of CSV.
pub(super) struct CaseRows<'c> {
    columns: MaybeOwned<'c>,
    writer: Delimited,
}

impl CaseRows<'_> {
    pub(super) fn push<W: Write>(&mut self, document: &str, out: &mut Output<W>) -> Result<(), Failure> {
        self.writer.record(self.columns.get().cells(document, BETWEEN, str::to_owned), out)
    }

    pub(super) fn finish<W: Write>(mut self, out: &mut Output<W>) -> Result<(), Failure> {
        self.writer.flush(out)
    }
}

impl SearchFormat {
    /// Returns the chosen format, or the default: a table on a terminal, JSON elsewhere.
    pub(super) fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}
