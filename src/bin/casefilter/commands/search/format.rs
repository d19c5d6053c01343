//! The output formats of the command `search`: json, ndjson, ids and table.

use std::io::{self, IsTerminal};

use clap::ValueEnum;

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
}

impl SearchFormat {
    /// Returns the chosen format, or the default: a table on a terminal, JSON elsewhere.
    pub(super) fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}
