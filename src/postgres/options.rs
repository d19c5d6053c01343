//! Every bound of a source, in one place.

use std::time::Duration;

/// How a [`PostgresSource`](super::PostgresSource) uses its server.
///
/// ```
/// use casefilter::postgres::PostgresOptions;
/// let options = PostgresOptions { table: "compliance.cases".to_owned(), ..PostgresOptions::default() };
/// assert_eq!(options.statement_timeout.as_secs(), 5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The table, as `casefilter ddl --dialect postgres` names it.
    pub table: String,
    /// Connections at a time; at least one.
    pub connections: usize,
    /// Searches at a time that wait for one of them to be free; more are turned away at once.
    pub waiting: usize,
    /// How long they wait.
    pub acquire_timeout: Duration,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long the server may work on one statement; at least a millisecond.
    pub statement_timeout: Duration,
    /// Statements that each connection keeps prepared, those that were used last.
    pub statements: usize,
    /// Certificates of those who may vouch for the server, as PEM; those of the operating system when there are none.
    pub root_certificates: Option<Vec<u8>>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            table: "cases".to_owned(),
            connections: 16,
            waiting: 48,
            acquire_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            statements: 64,
            root_certificates: None,
        }
    }
}
