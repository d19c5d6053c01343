//! The options of a PostgreSQL source: the table, limits and timeouts.

use std::time::Duration;

/// Options of a [`PostgresSource`](super::PostgresSource): the table, limits and timeouts.
///
/// ```
/// use casefilter::postgres::PostgresOptions;
/// let mut options = PostgresOptions::default();
/// options.table = "compliance.cases".to_owned();
/// assert_eq!(options.statement_timeout.as_secs(), 5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The name of the table, with or without its schema, such as `compliance.cases`. It is the name that the table got from
    /// `casefilter ddl`. Default: `cases`.
    pub table: String,
    /// The maximum number of simultaneous connections. 0 is treated as 1.
    pub max_connections: usize,
    /// The maximum number of searches that wait for a free connection at the same time. Further searches fail immediately.
    pub max_waiting_searches: usize,
    /// The maximum time to wait for a free connection.
    pub acquire_timeout: Duration,
    /// The maximum time to open a connection.
    pub connect_timeout: Duration,
    /// The maximum time of a statement on the server. A value below one millisecond is treated as one millisecond.
    pub statement_timeout: Duration,
    /// The maximum number of prepared statements per connection. The most recently used statements are kept.
    pub cached_statements: usize,
    /// The certificates of the authorities that may sign the server's certificate, as PEM. With `None`, the system's root
    /// certificates are used.
    pub root_certificates: Option<Vec<u8>>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            table: "cases".to_owned(),
            max_connections: 16,
            max_waiting_searches: 48,
            acquire_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            cached_statements: 64,
            root_certificates: None,
        }
    }
}
