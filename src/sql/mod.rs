//! Requests as SQL, for engines that already scale.
//!
//! A [`Table`] says how cases lie in a table of PostgreSQL (and Citus), ClickHouse, Spark or DuckDB: a column for
//! each field, the place in stored order, and the document. It makes the script that creates the table
//! there and loads an export ([`Table::script`]), the rows of that export ([`Table::row`], [`write_copy`]), and the
//! [`Statement`]s that search it ([`Table::page`], [`Table::count`]): same cases, same order, same documents as
//! [`Engine::search`](crate::Engine::search) gives. `tests/sql/run` holds every conformance vector and random hard
//! ones to that, on the engines themselves.
//!
//! ```
//! use casefilter::{Catalog, Filter, Order, Request, sql::{Dialect, Table}};
//! let catalog = Catalog::cases();
//! let table = Table::new(&catalog).named("compliance.cases")?;
//! let filter = Filter::compile_text(&catalog, "status <> open and totalAmountInDefaultCurrency >= 10000")?;
//! let request = Request::new(filter).order(Order::parse(&catalog, "-createdAt")?).limit(20);
//! let statement = table.page(Dialect::ClickHouse, &request)?;
//! assert_eq!(statement.params().len(), 2);
//! assert!(statement.to_literal().starts_with("SELECT `id`, `document` FROM `compliance`.`cases` WHERE "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What stands for what
//!
//! | | PostgreSQL | ClickHouse | Spark SQL | DuckDB |
//! |---|---|---|---|---|
//! | string | `text COLLATE "C"` | `Nullable(String)` | `STRING` | `VARCHAR` |
//! | number | `double precision` | `Nullable(Float64)` | `DOUBLE` | `DOUBLE` |
//! | timestamp, in milliseconds | `bigint` | `Nullable(Int64)` | `BIGINT` | `BIGINT` |
//! | boolean | `boolean` | `Nullable(Bool)` | `BOOLEAN` | `BOOLEAN` |
//! | many strings | `text[] NOT NULL` | `Array(String)` | `ARRAY<STRING>` | `VARCHAR[] NOT NULL` |
//! | `=` | `c = $1` | `c = {p1:String}` | `c = ?` | `c = $1` |
//! | `<>` | `(c IS NULL OR c <> $1)` | the same | the same | the same |
//! | `$contains`, one value | `c = ANY ($1)` | `c IN {p1:Array(String)}` | `array_contains(?, c)` | `list_contains($1, c)`, or `c IN (SELECT unnest($1))` |
//! | `$contains`, many | `c && $1` | `hasAny(c, {p1:…})` | `arrays_overlap(c, ?)` | `list_has_any(c, $1)` |
//! | `$all`, many | `c @> $1` | `hasAll(c, {p1:…})` | `size(array_except(?, c)) = 0` | `list_has_all(c, $1)` |
//! | `>` and the like, many | `EXISTS (SELECT … unnest(c) …)` | `arrayExists(x -> …, c)` | `exists(c, x -> …)` | `list_filter(c, lambda x: …)` |
//! | order of strings | `COLLATE "C"` | by bytes | by bytes | by bytes |
//! | absent last | `NULLS LAST`, both directions, everywhere | | | |
//! | a list of any length | one parameter | one for each 512 KiB | one parameter | one parameter |
//!
//! - **Value sets.** An absent field is a null, one with many values an empty list, never a null. Conditions are
//!   joined by *and* and *or* alone, in which a null counts as false, so only the tests that an absent
//!   field passes name it. A default (`priority`) is filled in when a case becomes a row, so the column has no nulls.
//!   Nulls in lists are left out, and zero has no sign.
//! - **Timestamps are integers**, since no engine's own type holds all of them: ClickHouse's `DateTime64` begins
//!   with 1900 and ends with 2299, PostgreSQL has no year 0000, and `applicantInfo.dob` is any number of 64 bits.
//! - **Known values** sort by a `CASE` of their ranks, then unknown ones by code point; ties by `id`. Without an
//!   order it is `place`, the stored order, which the export carries.
//! - **Zero characters.** PostgreSQL's text cannot hold U+0000. An export with one is refused, naming case and field, so
//!   in a table no case has one, and a statement leaves such values out: `=` is false, `<>` is true. The document is JSON,
//!   which spells such characters out, and always fits. The other engines hold them.
//! - **Places** are those of the export, from 0. The nested Parquet of `casefilter export` has neither place nor document; the
//!   rows that the scripts load are those of `--flat` Parquet and `.tsv`.
//! - **Size.** Branches are written flat, in parentheses as deep as the normal form, some 35 levels at the limits; parsers
//!   allow 1,000. 4,096 criteria and lists of 65,536 values are run on every engine by `tests/sql/run`. Spark's compiler gives up
//!   on some of them, says so, and interprets them: 17 seconds on average, measured on a busy machine. ClickHouse alone
//!   bounds a statement's text, by `max_query_size` (256 KiB): with parameters no statement comes near it, with
//!   literals the connection has to raise it.
//!
//! # Values in statements
//!
//! Values are bound, or written by one encoder for each dialect (`literal` in its file), which escapes what that
//! dialect reads as more than a character: `'` and `\` everywhere (DuckDB knows no escapes: `'` alone), U+0000
//! in ClickHouse (`\0`), DuckDB (`chr(0)`) and Spark (`\u0000`), and in Spark `$`, since it replaces `${…}`
//! before it reads a statement. What command lines read as more than that is spelled too: line breaks and all other control
//! characters for `spark-sql`, which reads line by line, and U+000D for DuckDB's. Names of tables are ASCII words or refused; names of columns are made of them. Each
//! statement is fuzzed (`fuzz/fuzz_targets/sql.rs`) against tokenisers that share no code with the encoders: it is
//! one statement, and its literals are the parameters.
//!
//! # A billion cases
//!
//! Bytes are measured on 200,000 sample cases, for PostgreSQL on a million, loaded by the scripts; what follows for 10⁹ is arithmetic, and so are
//! times, but for those that name a measurement. In memory a case takes 289 bytes beside its document (955 bytes of JSON): 10⁹ are
//! 289 GB of memory, more than one machine should hold. With documents on disk (`Store`), 10⁸ cases in 29 GB are the
//! comfortable end of one machine; from there on:
//!
//! **Citus.** A row is 1,618 bytes with its document, the script's 21 indexes 910 more: 50 for the primary key, 59 for each
//! B-tree of a number or time with `id`, 68 to 84 for a known value with time, 33 for the hash of applicants, 2 to 32 for
//! GIN (`pg_table_size` and `pg_indexes_size` on PostgreSQL 15, after the script had loaded `casefilter generate --cases 1000000`):
//! 2.5 TB, on 16 workers 158 GB each. With 128 shards, placed by
//! `id`, every worker has an equal share of every search, and `ids` go to their shards alone. A page `status = open … order by -createdAt limit
//! 100` walks 100 entries of `(case_review_status, created_at DESC, id)` in each shard, without a sort: 0.2 ms measured for one
//! shard in memory, 12,800 rows to merge on the coordinator, 10 to 30 ms in all, the same at ten times the rows. A filter that no index
//! serves walks `created_at` and passes over what does not match: one case in a thousand costs 100,000 rows a shard, up to a
//! second from a cold disk. A count is worse: of one case in five, 12.5 million index entries a worker, about a second on 8
//! cores. Tenants that only ever search their own cases should be placed by `client_id`, which makes every statement one
//! worker's (the primary key is then `(client_id, id)`).
//!
//! **ClickHouse.** Ordered by `(created_at, id)`, a row is 206 bytes compressed and its document 257: 463 GB, 116 GB on each of four
//! shards. A month of three years is 28 million rows in 3,400 granules of 8,192, which the sorting key finds; with one byte of status, 6 of
//! time and, since it breaks ties, 22 of `id` a row, a page reads 800 MB, 200 MB a shard: 50 to 100 ms on 16 cores each, at 0.3 GB/s a core.
//! Without a range of time, a count of two statuses reads 1 GB over the shards, about 0.1 s; a page reads status, time and `id` of all
//! rows and sorts what is selected, since absent times come last in both directions and so newest first is not the sorting key
//! from behind: 7 GB a shard, 1.5 s from memory, twice that from disk. Only the 100 documents shown are read. A dashboard
//! should bound the time it asks for. One applicant is found by the Bloom filter, 122,000 granules of which 1 in 100 is read in vain: 10 to
//! 100 ms, the wrong tool for thousands of them a second. Changed cases are written anew, by the batch (`ReplacingMergeTree` in place of
//! `MergeTree`, sorted by `id`, `FINAL` behind the table), and not one by one.
//!
//! **Spark** starts each search anew: seconds, whatever the size. It is for reports over all cases, not for officers.
//!
//! **Where the embedded engine stops being right.** It answers in microseconds to a few milliseconds up to tens of millions of
//! cases and takes single writes as they come; `benches/README.md` has it beside PostgreSQL, ClickHouse and DuckDB on one
//! machine, two orders of magnitude apart. Past what one machine's memory holds, when several processes must write, or when cases
//! are to be joined with other tables, take Citus (pages, points, single updates, tenants) or ClickHouse (counts and
//! ranges over everything).

mod column;
mod condition;
mod copy;
mod datum;
mod ddl;
mod dialect;
mod names;
mod requests;
mod statement;
mod table;

pub use column::Column;
pub use copy::write_copy;
pub use datum::{ColumnType, Datum};
pub use dialect::{Dialect, UnknownDialect};
pub use names::BadTableName;
pub use statement::Statement;
pub use table::Table;
