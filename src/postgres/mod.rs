//! Searches cases in a PostgreSQL table.
//!
//! A [`PostgresSource`] answers a [`SearchRequest`](crate::SearchRequest) from the table that `casefilter ddl --dialect postgres` creates.
//! The response is the same as from [`Engine::search`](crate::Engine::search) over the same cases: the same order, the same documents byte
//! for byte, and the same count. Bodies, orders and pages are compiled before anything is sent to the server, so errors and limits are the
//! same too. `tests/postgres/run` verifies this on a real server, with the conformance vectors, random data, and every test of the service.
//!
//! `casefilter serve --source postgres://…` runs a service that searches cases in PostgreSQL; its four other operations use the
//! file of `--db`. `casefilter search --source postgres://…` searches from the command line.
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
//! A source checks the table when it connects. An error names the first column that is missing, has another type or collation,
//! or is nullable although the script has `NOT NULL`. Additional columns and another order of columns are allowed. Indexes are not checked,
//! because they affect only speed. The indexes of the script support every operator; the indexes in its comments support less common orders
//! and values. `id` must be unique, as by the primary key of the script.
//!
//! Folded columns, which `$match` needs, are optional: give `--folded` to both commands. A source finds them by their names when it
//! connects. Without one, `$match` on the field is [`Unsupported`](PostgresErrorKind::Unsupported), and a service answers 400.
//!
//! Only casefilter may write rows ([`Table::row`](crate::sql::Table::row), [`write_copy`](crate::sql::write_copy),
//! `casefilter export`), so that columns and documents agree. PostgreSQL cannot store U+0000 in a text, so the export rejects
//! cases with it in a field. To update the table, export the changed and new cases, and run this script. It replaces cases in place and
//! appends new cases:
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
//! Alternatively, load all cases into a second table and swap the names of both in one transaction.
//!
//! # Consistency
//!
//! Page and count of a search come from one snapshot of the table, taken when the search begins. Two searches may see different
//! states. On a standby, both may be out of date.
//!
//! # Connections
//!
//! All limits are in [`PostgresOptions`].
//!
//! - At most [`connections`](PostgresOptions::connections) are open. They are opened on demand.
//! - Each connection is a read-only session that ends statements after [`statement_timeout`](PostgresOptions::statement_timeout).
//! - Each connection keeps its last [`statements`](PostgresOptions::statements) prepared, except statements over 4 KiB, so that varying
//!   criteria cannot fill the memory of the server.
//! - Plans are made for the values of each search: the best plan for a rare status is the worst for a common one.
//! - A connection is closed after any error.
//! - At most [`waiting`](PostgresOptions::waiting) searches wait for a connection. Further searches fail at once.
//! - A search is cancelled when its future is dropped.
//! - While the server is unavailable, searches fail at once or after [`connect_timeout`](PostgresOptions::connect_timeout). When
//!   it is available again, the next search connects.
//! - A connection pooler in between must use session pooling.
//!
//! # Performance
//!
//! Measured on a million sample cases in memory, over a Unix socket, one search at a time, with
//! `casefilter search --source … --requests FILE`: 0.3 ms for a body that matches nothing, 1.2 ms for the newest 100 of
//! `status = open`, 13 ms with `countTotalItems`. PostgreSQL counts row by row; the embedded engine counts in microseconds
//! (`benches/README.md`).
//!
//! # Connection strings
//!
//! The format is that of `libpq`: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=…`, or `host=… user=…`. A Unix socket is
//! `postgres:///DATABASE?host=/run/postgresql&user=…`. The known options are the options of
//! [`tokio_postgres::Config`](https://docs.rs/tokio-postgres/latest/tokio_postgres/config/struct.Config.html), including `sslmode`,
//! `connect_timeout`, `application_name`, `target_session_attrs`, and several hosts to try in turn. No files and no environment variables
//! are read. Logs and errors never contain a connection string.
//!
//! | `sslmode` | meaning |
//! |---|---|
//! | `require` | TLS 1.2 or 1.3 with a certificate for the host, as `verify-full` in `libpq`; issued by one of the [`root_certificates`](PostgresOptions::root_certificates), or of the system's if none are given |
//! | `prefer` (default) | the same if the server offers TLS, otherwise plain text: use it only for Unix sockets and the local machine |
//! | `disable` | never TLS |

mod bound;
mod check;
mod connect;
mod error;
mod options;
mod prepared;
mod source;

pub use error::{PostgresError, PostgresErrorKind};
pub use options::PostgresOptions;
pub use source::{PostgresSource, PostgresStats};
