//! Cases in a table of PostgreSQL, searched as those of an engine are.
//!
//! A [`PostgresSource`] answers a [`Request`](crate::Request) from the table that
//! `casefilter ddl --dialect postgres` makes: the same cases in the same order, the same documents, byte for byte,
//! and the same count as [`Engine::search`](crate::Engine::search) over the same cases. Bodies, orders and pages are compiled and
//! refused before the server hears of them, so errors and limits are the same too. `tests/postgres/run`
//! holds all of that: the conformance vectors, random worlds, and every test of the service, on a real server.
//!
//! `casefilter serve --source postgres://…` is a service whose searches of cases go there; its four other
//! operations stay on the file of `--db`. `casefilter search --source postgres://…` searches from the command line.
//!
//! # The table
//!
//! It is made, loaded and indexed by one script:
//!
//! ```sh
//! casefilter export cases.db -o cases.tsv
//! casefilter ddl --dialect postgres | psql -v ON_ERROR_STOP=1 compliance
//! ```
//!
//! A source looks at the table when it connects: the first column that is not there, has another type or
//! collation, or may be null where the script has `NOT NULL`, is an error that names it. More columns, and
//! columns in another order, do no harm. Indexes are not looked at: no answer depends on them, but all speed does. Those that
//! the script makes serve every operator; those that it has as comments serve orders and
//! values that not everybody asks for. `id` has to be unique, as the script's primary key has it.
//!
//! Rows are written by casefilter alone ([`Table::row`](crate::sql::Table::row),
//! [`write_copy`](crate::sql::write_copy), `casefilter export`), so that columns and documents say the same. Cases with U+0000 in a field
//! cannot lie in PostgreSQL; the export refuses them. To take in changed and new cases, export those, and let this
//! script put them in the places of the old ones, or behind all others:
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
//! Or load all of them into a table beside, and change the names of both in one transaction: searches go to the new one from then on.
//!
//! # Consistency
//!
//! A search sees what was committed when it began, page and count in one state of the table, however many rows come and go
//! meanwhile. Two searches may see two states, as with any source; on a standby they may be behind.
//!
//! # Connections
//!
//! [`PostgresOptions`] has every bound. At most [`connections`](PostgresOptions::connections) are open, made when they are needed, each
//! a session that is told to read only and to end a statement after
//! [`statement_timeout`](PostgresOptions::statement_timeout). It keeps the last [`statements`](PostgresOptions::statements)
//! of its statements prepared, and none of more than 4 KiB, so that clients who think of ever new criteria do not
//! fill the server's memory. Plans are made anew for the values of each search, since the best one for a status that one
//! case has is the worst for one that half of them have. A connection on which anything failed is closed and not used
//! again. At most [`waiting`](PostgresOptions::waiting) searches wait for a connection, more are turned away at once; a
//! search that nobody waits for any more is cancelled. When the server is gone, searches fail at once or after
//! [`connect_timeout`](PostgresOptions::connect_timeout); when it is back, the next search connects. Poolers between
//! the two have to give each connection a session of its own.
//!
//! # What a search costs
//!
//! On a million sample cases in memory, over a socket, one after the other by `casefilter search --source … --requests FILE`: 0.3 ms
//! for a body that selects nothing, 1.2 ms for the newest 100 of `status = open`, 13 ms with `countTotalItems`,
//! since PostgreSQL counts row by row. The embedded engine counts in microseconds (`benches/README.md`).
//!
//! # Connection strings
//!
//! They are those of `libpq`: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=…`, or `host=… user=…`; a socket is
//! `postgres:///DATABASE?host=/run/postgresql&user=…`. Known options are those of
//! [`tokio_postgres::Config`](https://docs.rs/tokio-postgres/latest/tokio_postgres/config/struct.Config.html), among them
//! `sslmode`, `connect_timeout`, `application_name`, `target_session_attrs`, and several hosts to be tried in turn. No file and no
//! environment variable is read. Neither logs nor errors repeat a connection string.
//!
//! With `sslmode=require` the connection is TLS by rustls, 1.2 or 1.3, and the server's certificate has to be vouched for by
//! the [`root_certificates`](PostgresOptions::root_certificates), or else by those of the operating system, for the very host: what
//! `libpq` calls `verify-full`. Without the option, `prefer`, a server that offers TLS is held to the same, and
//! one that offers none is spoken to in the clear: good enough for a socket or this machine, and for nothing else.
//! `disable` never speaks TLS.

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
