//! Searches cases on a PostgreSQL server.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use casefilter::postgres::{PostgresError, PostgresErrorKind, PostgresOptions, PostgresSource};
use casefilter::{Catalog, FacetsRequest, SearchAnswer, SearchRequest};
use tokio::runtime::{Builder, Runtime};

use crate::input::duration::{VALUE, milliseconds};
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The arguments for the connections to the server.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Name of the table on the server of --source
    #[arg(
        long,
        value_name = "NAME",
        env = "CASEFILTER_SOURCE_TABLE",
        default_value = "cases",
        help_heading = "PostgreSQL"
    )]
    source_table: String,

    /// Maximum number of connections to --source
    #[arg(long, value_name = "N", env = "CASEFILTER_SOURCE_CONNECTIONS",
          default_value_t = PostgresOptions::default().max_connections, help_heading = "PostgreSQL")]
    source_connections: usize,

    /// Maximum time of one statement on --source, such as 500ms or 5s; a number without a unit is in milliseconds
    #[arg(
        long,
        value_name = VALUE,
        env = "CASEFILTER_SOURCE_STATEMENT_TIMEOUT",
        default_value = "5s",
        value_parser = milliseconds,
        help_heading = "PostgreSQL"
    )]
    source_statement_timeout: Duration,

    /// Verify the certificate of --source with the CA certificates in this PEM file, instead of the CA certificates of the system
    #[arg(long, value_name = "FILE", env = "CASEFILTER_SOURCE_CA", help_heading = "PostgreSQL")]
    source_ca: Option<PathBuf>,
}

impl Options {
    /// Connects to the server. It must be called in a Tokio runtime.
    pub(crate) async fn connect(&self, url: &str, catalog: &Catalog) -> Result<PostgresSource, Failure> {
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
        };
        let mut options = PostgresOptions::default();
        options.table = self.source_table.clone();
        options.max_connections = self.source_connections;
        options.statement_timeout = self.source_statement_timeout;
        options.root_certificates = self.source_ca.as_ref().map(read).transpose()?;
        PostgresSource::connect(url, catalog, &options).await.map_err(|error| failed(&error))
    }
}

/// A connection to a server, with its own Tokio runtime.
pub(crate) struct Server {
    source: PostgresSource,
    runtime: Runtime,
}

impl Server {
    /// Connects to a server.
    pub(crate) fn connect(url: &str, options: &Options, catalog: &Catalog) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::io("cannot start", "a connection", &error))?;
        let source = runtime.block_on(options.connect(url, catalog))?;
        Ok(Self { source, runtime })
    }

    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Failure> {
        let answer = self.runtime.block_on(self.source.search(request));
        answer.map_err(|error| failed(&error))
    }

    /// Counts the values of fields. Returns the answer as JSON, in the form of the service.
    pub(crate) fn facets(&self, request: &FacetsRequest) -> Result<String, Failure> {
        let answer = self.runtime.block_on(self.source.facets(request));
        answer.map(|answer| answer.to_json()).map_err(|error| failed(&error))
    }
}

/// Returns the failure for an error of the server.
pub(crate) fn failed(error: &PostgresError) -> Failure {
    let message = format!("--source: {}", escape(&error.to_string()));
    match error.kind() {
        PostgresErrorKind::Options => Failure::Usage(message),
        PostgresErrorKind::Stopped => Failure::Stopped(message),
        _ => Failure::Failed(message),
    }
}
