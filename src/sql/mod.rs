//! Compiles requests to SQL, for databases that run on many machines.
//!
//! A [`Table`] describes a table of cases in PostgreSQL (and Citus), ClickHouse, Spark or DuckDB. It has a column per field, a
//! column for the insertion order, and a column for the document. [`Table::script`] returns the script that creates the table and
//! loads an export. [`Table::row`] and [`write_copy`] produce the rows of the export.
//!
//! [`Table::page`] and [`Table::count`] compile requests to [`Statement`]s. A statement returns the same cases, in the same order,
//! with the same documents as [`Engine::search`](crate::Engine::search). `tests/sql/run` verifies this on the databases, with every
//! conformance vector and with random requests.
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
//! | integer | `bigint` | `Nullable(Int64)` | `BIGINT` | `BIGINT` |
//! | decimal of scale `s` | `numeric(19, s)` | `Nullable(Decimal(19, s))` | `DECIMAL(19, s)` | `DECIMAL(19, s)` |
//! | timestamp, in milliseconds | `bigint` | `Nullable(Int64)` | `BIGINT` | `BIGINT` |
//! | boolean | `boolean` | `Nullable(Bool)` | `BOOLEAN` | `BOOLEAN` |
//! | list of strings | `text[] NOT NULL` | `Array(String)` | `ARRAY<STRING>` | `VARCHAR[] NOT NULL` |
//! | `=` | `c = $1` | `c = {p1:String}` | `c = ?` | `c = $1` |
//! | `<>` | `(c IS NULL OR c <> $1)` | the same | the same | the same |
//! | `$contains`, single value | `c = ANY ($1)` | `c IN {p1:Array(String)}` | `array_contains(?, c)` | `list_contains($1, c)`, or `c IN (SELECT unnest($1))` |
//! | `$contains`, list | `c && $1` | `hasAny(c, {p1:…})` | `arrays_overlap(c, ?)` | `list_has_any(c, $1)` |
//! | `$all`, list | `c @> $1` | `hasAll(c, {p1:…})` | `size(array_except(?, c)) = 0` | `list_has_all(c, $1)` |
//! | absent, present | `c IS NULL`, `c IS NOT NULL` | the same | the same | the same |
//! | present, list | `cardinality(c) > 0` | `notEmpty(c)` | `size(c) > 0` | `len(c) > 0` |
//! | `$startsWith` | `starts_with(c, $1)` | `startsWith(c, {p1:String})` | `startswith(c, ?)` | `starts_with(c, $1)` |
//! | more than 8 prefixes, for each length | `left(c, 3) = ANY ($1)` | `substring(c, 1, 3) IN {p1:…}` | `array_contains(?, substring(c, 1, 3))` | `list_contains($1, left(c, 3))` |
//! | `$substring` | `c LIKE $1` | `position(c, {p1:String}) > 0` | `contains(c, ?)` | `contains(c, $1)` |
//! | more than 8 substrings | `c LIKE ANY ($1)` | `multiSearchAny(c, {p1:…})` | `exists(?, _part -> contains(c, _part))` | `list_filter($1, lambda _part: …)` |
//! | `$match`, each word | `c_folded LIKE $1` | `position(c_folded, {p1:String}) > 0` | `contains(c_folded, ?)` | `contains(c_folded, $1)` |
//! | `$elem`, one criterion | `SELECT _n FROM unnest(c_element, c) …` | `arrayFilter((_n, _x) -> …, c_element, c)` | `zip_with(c_element, c, (_n, _x) -> …)` | `list_where(c_element, list_transform(c, lambda _x: …))` |
//! | and, or, not in `$elem` | `INTERSECT`, `UNION`, `EXCEPT` | `arrayIntersect`, `arrayConcat`, `arrayEnumerateUniq` | `array_intersect`, `concat`, `array_except` | `list_intersect`, `list_concat`, `list_histogram` |
//! | `>`, `>=`, `<`, `<=`, list | `EXISTS (SELECT … unnest(c) …)` | `arrayExists(x -> …, c)` | `exists(c, x -> …)` | `list_filter(c, lambda x: …)` |
//! | order of strings | `COLLATE "C"` | by bytes | by bytes | by bytes |
//! | absent values last | `NULLS LAST`, in both directions, in every dialect | | | |
//! | parameters for a long list | one | one per 512 KiB, and per 255 substrings | one | one |
//!
//! - **Absent fields.** A single-valued field that is absent is null in the table. A multi-valued field that is absent is an empty
//!   list, never null. Conditions are combined by `AND` and `OR`, where null acts as false. So a condition mentions null only if
//!   cases without the field pass it: `not amount > 5` becomes `(c IS NULL OR NOT (c > $1))`. `NOT` is written only before a test
//!   that is never null, or together with a separate test for null. If a field has a default, such as `priority`, the default is
//!   stored in the row, so the column has no nulls. Nulls inside lists are dropped, and negative zero becomes zero.
//! - **Timestamps are integers**, because no native type of these databases can represent all timestamps. `DateTime64` of
//!   ClickHouse covers the years 1900 to 2299, PostgreSQL has no year 0000, and `applicantInfo.dob` may be any 64-bit number.
//! - **Known values.** In ascending order by a field with known values, these values come first, sorted by a `CASE` expression of
//!   their ranks. Other values come after them, sorted by code point. Cases with the same value are sorted by `id`. A request
//!   without an order is sorted by `place`, the insertion order, which the export contains.
//! - **The character U+0000.** PostgreSQL's `text` cannot store this character. If a field of a case has a value with U+0000, the
//!   export fails with an error that names the case and the field. So no column contains such a value. If a filter has a value with
//!   U+0000, the statement omits the value: `=` is false and `<>` is true. Members of a document that have no column may contain
//!   U+0000, because the document is JSON, which escapes the character. The other databases can store U+0000.
//! - **Strings** are compared by code points. `starts_with` and the other functions are exact in every collation. For PostgreSQL's
//!   `LIKE`, the characters `%`, `_` and `\` of the substring are escaped, and the pattern is bound as a parameter. Unlike
//!   `strpos`, `LIKE` can use a trigram index. The script contains such indexes as comments.
//! - **Folded columns.** `$match` ignores case, accents and compatibility forms. No function of these databases folds strings
//!   exactly like casefilter, and the functions differ between database versions. So `$match` searches columns of folded strings.
//!   The table has such columns only on request: [`Table::with_folded`], or `--folded` of `casefilter export`, `ddl` and `sql`.
//!   Without the column, compiling `$match` returns an [error](crate::ErrorKind::NoFoldedColumn). For example, `name_folded`
//!   contains the folded strings of `name`. For a list, each element is folded. Folded columns come last, so they do not change the
//!   other columns. If the changelog of a new casefilter names a new version of Unicode, export the rows again.
//! - **Elements.** `$elem` tests one element of an array of objects. A list column has no entry for an element without a value. So
//!   the lists of one array do not show which values belong to the same element. Element columns show this. A table has them only
//!   on request: [`Table::with_elements`], or `--elements` of the commands. For each value of a list, they contain the number of
//!   its element. A criterion becomes the set of the elements that pass it, and the condition is that the combined set is not
//!   empty. Before this test, the condition repeats criteria that the whole document must satisfy, because these can use indexes.
//!   Without the columns, compiling `$elem` returns an [error](crate::ErrorKind::NotInSql). Element columns come last, after folded
//!   columns. A document with `legs: [{"bank": "a"}, {}]` has the numbers 1 and 2 in `legs_element`, and 1 in `legs_bank_element`.
//! - **`place`** is the insertion order within the export, from 0. The scripts load Parquet files that were exported with `--flat`,
//!   and `.tsv` files. The nested Parquet of `casefilter export` contains neither `place` nor `document`.
//! - **Size.** Parentheses are nested as deeply as the filter's normal form, about 35 levels if a filter reaches the default
//!   [limits](crate::Limits). SQL parsers allow 1,000 levels. `tests/sql/run` runs 4,096 criteria and lists of 65,536 values on
//!   every database. Spark cannot compile some of these statements. It reports this and interprets them, in 17 seconds on average
//!   on a busy machine. Only ClickHouse limits the size of a statement, by `max_query_size` (256 KiB). Statements with parameters
//!   are far smaller than that. Statements with literals can exceed it; then raise the limit for the connection.
//!
//! # Values in statements
//!
//! A value is either bound as a parameter or written as a literal. Each dialect has one encoder of literals, the method `literal`
//! in its file. The encoder escapes the characters that are special in the dialect:
//!
//! - `'` and `\`; in DuckDB only `'`, because its strings have no escapes;
//! - U+0000 in ClickHouse (`\0`), DuckDB (`chr(0)`) and Spark (`\u0000`);
//! - `$` in Spark, which replaces `${…}` before it parses a statement;
//! - characters that are special to a command-line tool: all control characters for `spark-sql`, which reads line by line, and
//!   U+000D for DuckDB.
//!
//! Table names must be ASCII words, and column names are made of ASCII words. `fuzz/fuzz_targets/sql.rs` reads each statement with
//! tokenisers that share no code with the encoders. It asserts that the text is exactly one statement, and that its literals equal
//! the parameters.
//!
//! # A billion cases
//!
//! The sizes in bytes were measured on 200,000 sample cases (on a million for PostgreSQL), loaded by the scripts. The figures for
//! 10⁹ cases are computed from these measurements. Times are also computed, unless the text mentions a measurement. In memory, a
//! case takes 289 bytes in addition to its document (955 bytes of JSON). So 10⁹ cases take 289 GB, too much for one machine. With
//! documents on disk (`Store`), 10⁸ cases fit on one machine, in 29 GB of memory. For more cases:
//!
//! **Citus.** A row with its document takes 1,618 bytes, and its entries in the script's 21 indexes take 910 bytes more. Of these,
//! the primary key takes 50 bytes, and each B-tree of a number or time with `id` takes 59 bytes. A B-tree of a known value with a
//! time takes 68 to 84 bytes. The hash index of applicants takes 33 bytes, and a GIN index takes 2 to 32 bytes. (Measured by
//! `pg_table_size` and `pg_indexes_size` on PostgreSQL 15, for `casefilter generate --cases 1000000`.) For 10⁹ cases, this is 2.5
//! TB in total, or 158 GB on each of 16 workers.
//!
//! With 128 shards distributed by `id`, every worker does an equal share of every search. A search for `ids` is sent only to the
//! shards of these ids. A page such as `status = open … order by -createdAt limit 100` needs no sort. It reads 100 entries of the
//! index `(case_review_status, created_at DESC, id)` per shard. This took 0.2 ms for one shard in memory. The coordinator merges
//! 12,800 rows, which takes 10 to 30 ms in total. With ten times as many rows in the table, a page takes the same time.
//!
//! If no index supports a filter, the database reads `created_at` in order and skips the cases that do not match. If one case in a
//! thousand matches, it reads 100,000 rows per shard, which takes up to a second from a cold disk.
//!
//! A count that an index supports reads an index entry for each matching case, so it is slower than a page. If one case in five
//! matches, it reads 12.5 million index entries per worker. This takes about a second on 8 cores.
//!
//! If tenants search only their own cases, distribute the table by `client_id`. Then every statement runs on one worker, and the
//! primary key is `(client_id, id)`.
//!
//! **ClickHouse.** If the table is ordered by `(created_at, id)`, a row without its document takes 206 bytes compressed, and the
//! document takes 257 bytes. For 10⁹ cases, this is 463 GB, or 116 GB on each of four shards. One month out of three years is 28
//! million rows in 3,400 granules of 8,192 rows. The sorting key finds these granules. Per row, a page reads one byte of status, 6
//! bytes of time, and 22 bytes of `id`. The `id` sorts cases with the same time. This is 800 MB in total and 200 MB per shard. It
//! takes 50 to 100 ms on 16 cores per shard, at 0.3 GB/s per core.
//!
//! Without a range of time, a count of two statuses reads 1 GB over all shards, in about 0.1 s. A page reads the status, time and
//! `id` of all rows, and sorts the selected rows. It cannot use the sorting key: absent times come last in both directions, so
//! newest first is not the reverse of the key. The page reads 7 GB per shard, in 1.5 s from memory or 3 s from disk. Documents are
//! read only for the cases of the page. A dashboard should limit its range of time.
//!
//! With the script's Bloom filter for applicants, a search for one applicant takes 10 to 100 ms: of the 122,000 granules, one in
//! 100 is read unnecessarily. This is too slow for thousands of look-ups per second. Changed cases are inserted again. Insert them
//! in batches, not one by one. If cases change, use `ReplacingMergeTree` instead of `MergeTree`, sorted by `id`, and write `FINAL`
//! after the table name.
//!
//! **Spark** starts each search as a new job, which takes seconds at any size. Use it for reports over all cases, not for
//! interactive searches.
//!
//! **Limits of the embedded engine.** Up to tens of millions of cases, a search takes from microseconds to a few milliseconds. A
//! single write is stored immediately, and need not be collected with others into a batch. `benches/README.md` compares the engine
//! with PostgreSQL, ClickHouse and DuckDB on one machine, where it is faster by two orders of magnitude. Use a database if the
//! cases exceed the memory of one machine, or if several processes must write. A database can also join cases with other tables.
//! Citus is suitable for pages, look-ups, single updates and tenants. ClickHouse is suitable for counts and for ranges over all
//! cases.

mod column;
mod condition;
mod copy;
mod datum;
mod ddl;
mod dialect;
mod element_columns;
mod element_condition;
mod facets;
mod lists;
mod names;
mod order;
mod pattern;
mod requests;
mod statement;
mod table;
mod value_condition;

pub use column::Column;
pub use copy::write_copy;
pub use datum::{ColumnType, Datum};
pub use dialect::{Dialect, ParseDialectError};
pub use facets::FacetStatements;
#[cfg(feature = "postgres")]
pub(crate) use facets::NO_BUCKET;
pub use names::TableNameError;
pub use statement::Statement;
pub use table::Table;
