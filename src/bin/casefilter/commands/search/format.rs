//! The forms in which cases are printed.

use std::io::{self, IsTerminal};

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The answer of the interface: {"list":{"items":[…],"pageInfo":{…}}}
    Json,
    /// The cases, one a line
    Ndjson,
    /// Their ids, one a line; as a JSON string an id that begins with a quote or has control characters
    Ids,
    /// A table for people
    Table,
}

impl Format {
    /// Returns what was asked for, or what fits where standard output goes.
    pub(super) fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}
