//! An embedded query engine that filters compliance cases by nested JSON criteria.
//!
//! Your program stores JSON documents in the engine, and passes it the filters that clients send. The engine returns the documents
//! that match, ordered, paged and counted. It keeps the documents in memory or in one file. The fields of compliance cases are
//! built in as a catalogue. For other documents, you describe the fields in a catalogue of your own.
//!
//! # A first program
//!
//! ```
//! use casefilter::{Catalog, Engine, Field, FieldType, FilterBuilder, SearchParams};
//!
//! let tickets = Catalog::new([
//!     Field::new("subject", FieldType::String),
//!     Field::new("state", FieldType::String).with_known(["new", "open", "closed"]),
//!     Field::new("openedAt", FieldType::Timestamp),
//!     Field::new("tags[]", FieldType::String),
//! ])?;
//! let engine = Engine::new(tickets);
//! engine.upsert_many(br#"[
//!     {"id": "1", "subject": "No light", "state": "open", "openedAt": "2026-03-01 08:00:00", "tags": ["power"]},
//!     {"id": "2", "subject": "No sound", "state": "closed", "openedAt": "2026-03-02 09:30:00"}]"#)?;
//!
//! let body = br#"{"criteria": [{"field": "state", "op": "<>", "values": ["closed"]}]}"#; // From a client.
//! let params = SearchParams::new().order("-openedAt").limit("20").count("true");
//! match FilterBuilder::new(engine.catalog()).request(body, &params) {
//!     Ok(request) => println!("{}", engine.search(&request)?.to_json()),
//!     Err(errors) => println!("{errors}"), // Each error has its position and, if possible, a correction.
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The five main terms
//!
//! | term | meaning |
//! |---|---|
//! | document | one JSON object with an `id`; a case is one kind of document |
//! | catalogue ([`Catalog`]) | the fields of a document that can be filtered, and their types |
//! | filter ([`Filter`]) | compiled criteria; a filter does not depend on an engine, and evaluating it cannot fail |
//! | request ([`SearchRequest`]) | a filter with an order and a page |
//! | engine ([`Engine`]) | keeps the documents in memory and answers requests; a `Store` does the same for documents in a file |
//!
//! # Features
//!
//! Without features, the crate contains only the in-memory engine. A feature only adds capabilities. No feature changes the result
//! of a search.
//!
//! | feature | adds |
//! |---|---|
//! | `parallel` | several threads for imports, for scans, and for long counts |
//! | `store` | `Store`: documents in one file, which survive a crash |
//! | `arrow` | Parquet files and Arrow record batches |
//! | `sql` | requests as SQL for PostgreSQL, ClickHouse, Spark and DuckDB |
//! | `postgres` | searches in a table of a PostgreSQL database |
//! | `service` | the HTTP service of the compliance domain, and the domain's records (applicants, AML cases and others) |
//! | `toml` | `Catalog::from_toml`: catalogues from TOML files |
//! | `serde` | `Serialize` and `Deserialize` for catalogues, limits, filters, orders, parameters, errors, reports, explanations |
//! | `sample` | generated sample cases; the same seed gives the same cases |
//! | `cli`, `jemalloc`, `full` | the command line, an allocator for it, all features together |
//!
//! # Limits and non-goals
//!
//! - **Criteria** have no regular expressions, no arithmetic and no comparison of two fields. The operator
//!   [`<>`](guide::criteria#truth-table) is true for absent values. In request bodies, `$not`, `$elem`, `$exists`, the searches in
//!   strings and the order of known values need an [extended](Catalog::extended) catalogue.
//! - **Types** are strings, doubles, integers of 64 bits, exact decimals, timestamps and booleans. In a field of doubles, integers
//!   beyond 2^53 are rounded. The id is a string, an integer or a UUID.
//! - **Arrays of objects** are flattened: each member is a set of values. Criteria on two members may be satisfied by two different
//!   elements, except in `$elem` (`has` in the text syntax).
//! - **Answers** are pages of documents, totals, and [counts by value](guide::counting) with sums and means of single fields. There
//!   are no joins.
//! - **One process** at a time writes to a file. An engine belongs to one process. For more documents than fit into one process,
//!   use a [database](guide::scaling_out).
//! - **Sizes** are bounded by [`Limits`]; the documentation of each limit states its default.
//! - **The core** does no I/O, reads no clock and starts no threads. Only the features `store`, `service`, `postgres` and
//!   `parallel` add code that does any of these. For a [`Deadline`], the host program supplies the clock.
//!
//! # Debug builds
//!
//! If your program uses this crate in a debug build, searches are 20 to 40 times slower than in a release build. To avoid this, let
//! your `Cargo.toml` optimise this crate:
//!
//! ```toml
//! [profile.dev.package.casefilter]
//! opt-level = 3
//! ```
//!
//! # Where to read next
//!
//! - [`guide::criteria`]: the filter language, with truth tables.
//! - [`guide::counting`]: how many documents have each value.
//! - [`guide::catalogues`]: your own fields, and the formats that documents must have.
//! - [`guide::embedding`]: threads, async, limits, updates, tenants, saved filters, errors for your clients, an axum handler,
//!   tests.
//! - `examples/` in the repository: complete programs, each under 80 lines.
//! - [`guide`]: all chapters. [`Engine`], [`Filter`] and [`Catalog`] are the types to start with.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "arrow")]
pub mod arrow;
mod batch;
mod catalog;
mod column;
mod criteria;
#[cfg(feature = "service")]
pub mod domain;
mod engine;
pub mod envelope;
mod error;
mod exec;
mod facet;
mod filter;
pub mod guide;
mod index;
mod ingest;
mod json;
mod kernels;
mod limits;
mod lock;
mod operator;
#[cfg(feature = "postgres")]
pub mod postgres;
mod predicate;
mod rows;
#[cfg(feature = "sample")]
pub mod sample;
mod scan;
#[cfg(feature = "service")]
pub mod service;
mod slice;
#[cfg(feature = "sql")]
pub mod sql;
mod standing;
mod stop;
#[cfg(feature = "store")]
pub mod store;
mod topk;
mod value;

pub use catalog::{Catalog, CatalogError, Field, FieldId, FieldType, IdType, ParseNameError, TimestampForm};
pub use engine::{
    DocumentNote, DocumentNoteKind, Engine, EngineBuilder, EngineSnapshot, FacetExplanation, FacetStrategy,
    FieldMemory, Import, ImportError, ImportMode, ImportReport, InvariantError, MemoryUsage, SearchAnswer,
    Searchable, UpsertOutcome, explain,
};
pub use error::{Error, ErrorKind, Errors, Found, Suggestion};
pub use exec::reference;
pub use facet::{
    DEFAULT_FACET_VALUES, Facet, FacetAnswer, FacetBucket, FacetCounts, FacetInterval, FacetStats, FacetSum,
    FacetsAnswer, FacetsRequest, ValueCounts,
};
pub use filter::{
    CacheStats, Completion, CompletionKind, Completions, Criteria, Cursor, DEFAULT_PAGE, Direction, Document,
    FieldName, FieldTest, Filter, FilterBuilder, FilterCache, FilterNode, FilterNodes, FilterSource,
    FilterTree, Order, Paging, SearchParams, SearchRequest, TestValue, field,
};
pub use limits::Limits;
pub use operator::Operator;
pub use predicate::{Warning, WarningKind};
pub use scan::{RowGroups, Scan, ScanAnswer, ScanError, ScanOutcome};
pub use standing::{
    Event, EventKind, EventsGoneError, FilterMatches, FilterSet, FilterSetMemory, InsertOutcome,
    StandingFilter,
};
pub use stop::{CancelToken, Deadline};
#[cfg(feature = "store")]
#[doc(inline)]
pub use store::{
    AsOf, AtomicFile, CompactReport, Durability, Erasure, ErasureReport, HistoryGoneError, ParseAsOfError,
    RecordWriter, Records, Store, StoreError, StoreErrorKind, StoreImport, StoreOptions, StoreSnapshot,
    StoredDocuments, VerifyReport,
};
pub use value::{
    Decimal, Number, ParseDecimalError, ParseNumberError, ParseTimestampError, Timestamp,
    TimestampRangeError, Value,
};

/// Functions for the command line and the fuzz targets of this package. They are not part of the public API.
#[doc(hidden)]
pub mod internal {
    #[cfg(feature = "store")]
    pub use crate::batch::codec::check_stored_batch;
    pub use crate::catalog::resolve_field;
    pub use crate::criteria::check_parsers;
    pub use crate::facet::{FacetDefaults, parse_facet};
    pub use crate::ingest::check_text;
    #[cfg(feature = "store")]
    pub use crate::store::{check_same_columns, check_stored_standing};
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
