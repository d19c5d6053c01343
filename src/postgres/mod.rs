//! Searches cases in a PostgreSQL table.
//!
//! A [`PostgresSource`] answers a [`SearchRequest`](crate::SearchRequest) from the table that `casefilter ddl --dialect postgres`
//! creates. The response is the same as that of [`Engine::search`](crate::Engine::search) over the same cases. It has the same
//! order, the same count, and the same documents byte for byte. Bodies, orders and pages are compiled before a statement is sent to
//! the server, so errors and limits are also the same. `tests/postgres/run` verifies this on a real server, with the conformance
//! vectors, random data, and every test of the service.
//!
//! [`PostgresSource::facets`] counts the values of fields, as [`Engine::facets`](crate::Engine::facets) does.
//!
//! `casefilter serve --source postgres://…` runs a service that searches cases in PostgreSQL. The four other operations of the
//! service use the file of `--db`. `casefilter search --source postgres://…` searches from the command line.
//!
//! # The table
//!
//! One script creates, loads and indexes the table:
//!
//! ```sh
//! casefilter export cases.db -o cases.tsv
//! casefilter ddl --dialect postgres | psql -v ON_ERROR_STOP=1 compliance
//! ```
//!
//! A source checks the table when it connects. It reports the first column that is missing, has a different type or collation, or
//! is nullable although the script has `NOT NULL`. The table may have additional columns, and its columns may be in any order.
//! Indexes are not checked, because they affect only speed. The indexes that the script creates support common requests. The
//! indexes in the script's comments support less common orders, values and words. `id` must be unique, for example by the primary
//! key of the script.
//!
//! `$match` needs folded columns, which are optional. To create them, pass `--folded` to both commands. A source finds the folded
//! columns by their names when it connects. If a field has no folded column, `$match` on the field is
//! [`Unsupported`](PostgresErrorKind::Unsupported), and a service responds with status 400. Likewise, `$elem` needs element
//! columns, which `--elements` creates. Without them, `$elem` is `Unsupported`.
//!
//! Rows must be written only by casefilter ([`Table::row`](crate::sql::Table::row), [`write_copy`](crate::sql::write_copy),
//! `casefilter export`), so that columns and documents agree. PostgreSQL cannot store the character U+0000 in a text. So the export
//! rejects cases that have this character in a field. To update the table, export the changed and new cases, and run the following
//! script. It replaces existing cases without changing their order, and appends new cases:
//!
//! ```sql
//! BEGIN;
//! CREATE TEMPORARY TABLE fresh (LIKE cases INCLUDING DEFAULTS) ON COMMIT DROP;
//! \copy fresh FROM 'changed.tsv' WITH (FORMAT text, ENCODING 'UTF8')
//! LOCK TABLE cases IN SHARE ROW EXCLUSIVE MODE;
//! UPDATE fresh SET place = place + (SELECT coalesce(max(place) + 1, 0) FROM cases);
//! UPDATE fresh SET place = cases.place FROM cases WHERE cases.id = fresh.id;
//! DELETE FROM cases USING fresh WHERE cases.id = fresh.id;
//! INSERT INTO cases SELECT * FROM fresh;
//! COMMIT;
//! ```
//!
//! Alternatively, load all cases into a second table, and swap the names of the two tables in one transaction.
//!
//! # Consistency
//!
//! The page and the count of a search come from one snapshot of the table, which is taken when the search begins. Two searches may
//! see different states of the table. On a standby server, both the page and the count may be out of date.
//!
//! # Connections
//!
//! [`PostgresOptions`] contains all limits.
//!
//! - At most [`max_connections`](PostgresOptions::max_connections) connections are open. They are opened on demand.
//! - Each connection is a read-only session. The server ends a statement after
//!   [`statement_timeout`](PostgresOptions::statement_timeout).
//! - Each connection keeps its last [`cached_statements`](PostgresOptions::cached_statements) statements prepared. Statements over
//!   4 KiB are not kept. So varying criteria cannot fill the memory of the server.
//! - The server plans each search for the values of that search. The best plan for a rare status is the worst plan for a common
//!   status.
//! - A connection is closed after any error.
//! - At most [`max_waiting_searches`](PostgresOptions::max_waiting_searches) searches wait for a connection. Further searches fail
//!   at once.
//! - A search is cancelled when its future is dropped.
//! - While the server is unavailable, searches fail immediately or after [`connect_timeout`](PostgresOptions::connect_timeout).
//!   When the server is available again, the next search connects.
//! - A connection pooler between casefilter and the server must use session pooling.
//!
//! # Performance
//!
//! Measured on a million sample cases in memory, over a Unix socket, one search at a time, with
//! `casefilter search --source … --requests FILE`. A body that matches no case takes 0.3 ms. The newest 100 cases of
//! `status = open` take 1.2 ms, and 13 ms with `countTotalItems`. PostgreSQL counts row by row; the embedded engine counts in
//! microseconds (`benches/README.md`).
//!
//! # Connection strings
//!
//! The format is that of `libpq`: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=…`, or `host=… user=…`. The form for a Unix
//! socket is `postgres:///DATABASE?host=/run/postgresql&user=…`. The known options are those of
//! [`tokio_postgres::Config`](https://docs.rs/tokio-postgres/latest/tokio_postgres/config/struct.Config.html). They include
//! `sslmode`, `connect_timeout`, `application_name` and `target_session_attrs`. If the string lists several hosts, they are tried
//! in turn. No files and no environment variables are read. Logs and errors never contain a connection string.
//!
//! | `sslmode` | meaning |
//! |---|---|
//! | `require` | TLS 1.2 or 1.3, with a certificate for the host, as `verify-full` in `libpq`. The certificate must be issued by one of the [`root_certificates`](PostgresOptions::root_certificates), or of the system's root certificates if the option is not set |
//! | `prefer` (default) | the same if the server offers TLS; otherwise plain text. Use it only for Unix sockets and the local machine |
//! | `disable` | no TLS |

mod check;
mod connect;
mod error;
mod facets;
mod options;
mod page_end;
mod parameter;
mod prepared;
mod source;

pub use error::{PostgresError, PostgresErrorKind};
pub use options::PostgresOptions;
#[cfg(feature = "service")]
pub(crate) use page_end::Ending;
pub use source::{PostgresSource, PostgresStats};
