//! The arguments that name a table of PostgreSQL with the cases, instead of files of cases.

#[cfg(feature = "postgres")]
use casefilter::Catalog;

#[cfg(feature = "postgres")]
use crate::input::postgres::{Options, Server};
use crate::output::failure::Failure;

/// The table of PostgreSQL to read, and the options of its connections.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// Read the cases from a PostgreSQL table that was made by `casefilter ddl`, instead of CASES
    ///
    /// A connection string such as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require. If CASES is not given, the default is
    /// the value of the environment variable CASEFILTER_SOURCE, which other users cannot read.
    #[arg(long, value_name = "URL", conflicts_with_all = ["paths", "db", "lenient"], help_heading = "PostgreSQL",
          hide = !cfg!(feature = "postgres"))]
    source: Option<String>,

    #[cfg(feature = "postgres")]
    #[command(flatten)]
    options: Options,
}

impl Source {
    /// Returns the connection string of the argument or of the environment.
    pub(crate) fn url(&self) -> Result<String, Failure> {
        self.source.clone().or_else(|| std::env::var("CASEFILTER_SOURCE").ok()).ok_or_else(|| {
            let message =
                "expected CASES to read, `-` to read them from standard input, or --source with a server that has them";
            Failure::Usage(message.to_owned())
        })
    }

    /// Connects to the server.
    #[cfg(feature = "postgres")]
    pub(crate) fn connect(&self, url: &str, catalog: &Catalog) -> Result<Server, Failure> {
        Server::connect(url, &self.options, catalog)
    }
}
