//! Compiles requests to SQL, for databases that run on many machines.
//!
//! A [`Table`] describes the cases as a table of PostgreSQL (and Citus), ClickHouse, Spark or DuckDB: a column per field, the insertion
//! order, and the document. It writes the script that creates the table and loads an export ([`Table::script`]), and the rows of the export
//! ([`Table::row`], [`write_copy`]). It also compiles requests to [`Statement`]s ([`Table::page`], [`Table::count`]). They return the same
//! cases, in the same order, with the same documents as [`Engine::search`](crate::Engine::search). `tests/sql/run` checks this on the
//! databases themselves, with every conformance vector and with random requests.
//!
//! ```
//! use casefilter::{Catalog, Filter, Order, SearchRequest, sql::{Dialect, Table}};
//! let catalog = Catalog::cases();
//! let table = Table::new(&catalog).named("compliance.cases")?;
//! let filter = Filter::compile_text(&catalog, "status <> open and totalAmountInDefaultCurrency >= 10000")?;
//! let request = SearchRequest::new(filter).with_order(Order::parse(&catalog, "-createdAt")?).with_limit(20);
//! let statement = table.page(Dialect::ClickHouse, &request)?;
//! assert_eq!(statement.params().len(), 2);
//! assert!(statement.to_literal().starts_with("SELECT `id`, `document` FROM `compliance`.`cases` WHERE "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types and operators
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
//! | absent, present | `c IS NULL`, `c IS NOT NULL` | the same | the same | the same |
//! | present, many | `cardinality(c) > 0` | `notEmpty(c)` | `size(c) > 0` | `len(c) > 0` |
//! | `$startsWith` | `starts_with(c, $1)` | `startsWith(c, {p1:String})` | `startswith(c, ?)` | `starts_with(c, $1)` |
//! | more than 8 prefixes, for each length | `left(c, 3) = ANY ($1)` | `substring(c, 1, 3) IN {p1:…}` | `array_contains(?, substring(c, 1, 3))` | `list_contains($1, left(c, 3))` |
//! | `$substring` | `c LIKE $1` | `position(c, {p1:String}) > 0` | `contains(c, ?)` | `contains(c, $1)` |
//! | more than 8 substrings | `c LIKE ANY ($1)` | `multiSearchAny(c, {p1:…})` | `exists(?, _part -> contains(c, _part))` | `list_filter($1, lambda _part: …)` |
//! | `$match`, each word | `c_folded LIKE $1` | `position(c_folded, {p1:String}) > 0` | `contains(c_folded, ?)` | `contains(c_folded, $1)` |
//! | `>` and the like, many | `EXISTS (SELECT … unnest(c) …)` | `arrayExists(x -> …, c)` | `exists(c, x -> …)` | `list_filter(c, lambda x: …)` |
//! | order of strings | `COLLATE "C"` | by bytes | by bytes | by bytes |
//! | absent values last | `NULLS LAST`, in both directions, everywhere | | | |
//! | a list of any length | one parameter | one parameter per 512 KiB, and per 255 substrings | one parameter | one parameter |
//!
//! - **Value sets.** An absent single value is null. An absent list is an empty list, never null. Conditions are combined by
//!   `AND` and `OR`, where null acts as false. So only a test that an absent field passes mentions null: `not amount > 5` is
//!   `(c IS NULL OR NOT (c > $1))`. `NOT` is written only before a test that is not null, or whose null is handled like this. A default
//!   (`priority`) is filled in when a case becomes a row, so its column has no nulls. Nulls inside lists are dropped, and
//!   negative zero becomes zero.
//! - **Timestamps are integers**, since no native type of these databases can represent all timestamps. `DateTime64` of ClickHouse covers
//!   the years 1900 to 2299, PostgreSQL has no year 0000, and `applicantInfo.dob` may be any 64-bit number.
//! - **Known values** are sorted by a `CASE` of their ranks, then unknown values by code point, then by `id`. Without an order,
//!   rows are sorted by `place`, the insertion order, which the export contains.
//! - **Zero characters.** PostgreSQL's `text` cannot hold U+0000. An export of such a value is an error that names the case and
//!   the field, so the table has no such case. A statement therefore drops such values: `=` is false and `<>` is true. The
//!   document is JSON, which escapes these characters. The other databases can hold them.
//! - **Texts** compare by code points. `starts_with` and the like are exact in every collation. PostgreSQL's `LIKE` gets the substring
//!   with `%`, `_` and `\` escaped, as a parameter like all others; unlike `strpos` it can use a trigram index, as the script suggests.
//! - **Folded columns.** `$match` ignores case, accents and compatibility forms. No function of these databases folds like casefilter, and
//!   their versions differ from each other. So words are searched in columns of folded text, which a table has on request:
//!   [`Table::with_folded`], and `--folded` of `casefilter export`, `ddl` and `sql`. Without the column, compiling `$match` is an
//!   [error](crate::ErrorKind::NoFoldedColumn). `name_folded` has the folding of `name`; a list has the folding of each element.
//!   The columns come last, so a table without them is unchanged. Export the rows again after an update of casefilter whose
//!   changelog names a new version of Unicode.
//! - **Elements.** `$elem` and `has` are [errors](crate::ErrorKind::NotInSql): a list column has the values of an array without those of
//!   its elements that lack one, so the lists of one array do not show which values belong together.
//! - **`place`** is the insertion order within the export, from 0. The scripts load `--flat` Parquet and `.tsv` files. The nested Parquet
//!   of `casefilter export` has neither `place` nor `document`.
//! - **Size.** Parentheses are nested as deeply as the normal form, about 35 levels at the limits; parsers allow 1,000. `tests/sql/run`
//!   runs 4,096 criteria and lists of 65,536 values on every database. Spark's compiler fails on some of them, reports that, and interprets
//!   them: 17 seconds on average, on a busy machine. Only ClickHouse limits the length of a statement, by `max_query_size` (256 KiB).
//!   Statements with parameters are far shorter. With literals, the connection has to raise the limit.
//!
//! # Values in statements
//!
//! Values are bound, or written by one encoder per dialect (`literal` in its file), which escapes the characters that are special
//! there. These are `'` and `\` (in DuckDB only `'`, since it has no escapes). U+0000 is escaped in ClickHouse (`\0`), DuckDB (`chr(0)`)
//! and Spark (`\u0000`). Spark also gets `$` escaped, since it replaces `${…}` before it parses a statement. Characters that are special to
//! a command-line tool are escaped too. These are line breaks and all other control characters for `spark-sql`, which reads line by line,
//! and U+000D for DuckDB.
//!
//! Names of tables must be ASCII words, and names of columns are made of ASCII words. `fuzz/fuzz_targets/sql.rs` fuzzes each
//! statement against tokenisers that share no code with the encoders. It checks that the text is one statement, and that its
//! literals are the parameters.
//!
//! # A billion cases
//!
//! Bytes are measured on 200,000 sample cases (on a million for PostgreSQL), loaded by the scripts. The figures for 10⁹ cases are computed
//! from these measurements. Times are computed too, unless a measurement is mentioned. In memory, a case takes 289 bytes in addition to its
//! document (955 bytes of JSON). 10⁹ cases then take 289 GB, too much for one machine. With documents on disk (`Store`), 10⁸ cases fit
//! comfortably on one machine, in 29 GB. Beyond that:
//!
//! **Citus.** A row takes 1,618 bytes with its document, and the script's 21 indexes take 910 more. Of these, the primary
//! key takes 50, each B-tree of a number or time with `id` 59, a known value with time 68 to 84. The hash index of applicants takes
//! 33, and a GIN index 2 to 32. (Measured by `pg_table_size` and `pg_indexes_size` on PostgreSQL 15, for
//! `casefilter generate --cases 1000000`.) In total this is 2.5 TB, or 158 GB on each of 16 workers.
//!
//! With 128 shards distributed by `id`, every worker has an equal share of every search, and `ids` are sent to their shards only.
//! A page `status = open … order by -createdAt limit 100` reads 100 entries of `(case_review_status, created_at DESC, id)` per
//! shard, without a sort. That took 0.2 ms for one shard in memory. The coordinator merges 12,800 rows, 10 to 30 ms in total. With ten
//! times as many rows in the table, a page takes the same time.
//!
//! A filter that no index supports reads `created_at` in order and skips the cases that do not match. If one case in a thousand matches, it
//! reads 100,000 rows per shard, which takes up to a second from a cold disk. A count is slower: if one case in five matches, it reads 12.5
//! million index entries per worker, about a second on 8 cores. If tenants search only their own cases, distribute by `client_id`. Every
//! statement then runs on one worker, and the primary key is `(client_id, id)`.
//!
//! **ClickHouse.** Ordered by `(created_at, id)`, a row takes 206 bytes compressed and its document 257: 463 GB, or 116 GB on
//! each of four shards. One month out of three years is 28 million rows in 3,400 granules of 8,192, which the sorting key finds.
//! Per row, a page reads one byte of status, 6 of time and 22 of `id` (for ties). That is 800 MB, 200 MB per shard: 50 to 100 ms
//! on 16 cores each, at 0.3 GB/s per core.
//!
//! Without a range of time, a count of two statuses reads 1 GB over all shards, about 0.1 s. A page reads status, time and `id`
//! of all rows and sorts the selected ones. It cannot use the sorting key: absent times come last in both directions, so newest first is
//! not the reverse of the key. It reads 7 GB per shard: 1.5 s from memory, twice that from disk. Only the documents of the page are read. A
//! dashboard should limit its range of time.
//!
//! The Bloom filter finds one applicant in 10 to 100 ms: of 122,000 granules, 1 in 100 is read in vain. That does not suit
//! thousands of look-ups per second. Changed cases are inserted again, in batches and not one by one. Use `ReplacingMergeTree`
//! instead of `MergeTree`, sorted by `id`, and `FINAL` after the table name.
//!
//! **Spark** starts each search as a new job, which takes seconds at any size. Use it for reports over all cases, not for
//! interactive searches.
//!
//! **Limits of the embedded engine.** It answers in microseconds to a few milliseconds up to tens of millions of cases, and
//! stores single writes as they come. `benches/README.md` compares it with PostgreSQL, ClickHouse and DuckDB on one machine; it is faster
//! by two orders of magnitude. Use a database if the cases exceed the memory of one machine, if several processes must write, or if you
//! join cases with other tables. Citus suits pages, look-ups, single updates and tenants. ClickHouse suits counts and ranges over
//! everything.

mod column;
mod condition;
mod copy;
mod datum;
mod ddl;
mod dialect;
mod lists;
mod names;
mod pattern;
mod requests;
mod statement;
mod table;

pub use column::Column;
pub use copy::write_copy;
pub use datum::{ColumnType, Datum};
pub use dialect::{Dialect, ParseDialectError};
pub use names::TableNameError;
pub use statement::Statement;
pub use table::Table;
