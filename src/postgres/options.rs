//! The options of a source: all limits and timeouts.

use std::time::Duration;

/// Options of a [`PostgresSource`](super::PostgresSource): the table, limits and timeouts.
///
/// ```
/// use casefilter::postgres::PostgresOptions;
/// let options = PostgresOptions { table: "compliance.cases".to_owned(), ..PostgresOptions::default() };
/// assert_eq!(options.statement_timeout.as_secs(), 5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The name of the table, as `casefilter ddl --dialect postgres` names it.
    pub table: String,
    /// The maximum number of simultaneous connections. 0 counts as 1.
    pub connections: usize,
    /// The maximum number of searches that wait for a free connection at a time. Further searches fail at once.
    pub waiting: usize,
    /// The timeout for waiting for a free connection.
    pub acquire_timeout: Duration,
    /// The timeout for opening a connection.
    pub connect_timeout: Duration,
    /// The timeout of a statement on the server; at least one millisecond.
    pub statement_timeout: Duration,
    /// The maximum number of prepared statements per connection. The most recently used statements are kept.
    pub statements: usize,
    /// The certificates of the authorities that may sign the server's certificate, as PEM. `None` for the certificates of the system.
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
