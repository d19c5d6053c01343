//! An embedded query engine that filters compliance cases by nested JSON criteria.
//!
//! # Debug builds
//!
//! A debug build of a host is 20 to 40 times slower than a release build, unless the host's `Cargo.toml` optimises this crate:
//!
//! ```toml
//! [profile.dev.package.casefilter]
//! opt-level = 3
//! ```

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
#[cfg(feature = "service")]
pub mod service;
mod slice;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(feature = "store")]
pub mod store;
mod topk;
mod value;

pub use catalog::{Catalog, CatalogError, Field, FieldId, FieldType};
pub use engine::{
    DocumentNote, DocumentNoteKind, Engine, EngineBuilder, FieldMemory, Import, ImportError, ImportMode,
    ImportReport, MemoryUsage, SearchAnswer, Searchable, UpsertOutcome, explain,
};
pub use error::{Error, ErrorKind, Errors};
pub use exec::reference;
pub use filter::{
    CacheStats, DEFAULT_PAGE, Direction, Filter, FilterBuilder, FilterCache, Order, Paging, SearchParams,
    SearchRequest,
};
pub use limits::Limits;
pub use operator::Operator;
pub use predicate::{Warning, WarningKind};
#[cfg(feature = "store")]
pub use store::{
    AtomicFile, CompactReport, Durability, RecordWrite, Records, Store, StoreError, StoreErrorKind,
    StoreImport, StoreOptions, StoredDocuments, VerifyReport,
};
pub use value::{Number, ParseNumberError, ParseTimestampError, Timestamp, TimestampRangeError, Value};

/// Functions for the command line and the fuzz targets of this package. Not part of the public API.
#[doc(hidden)]
pub mod internal {
    #[cfg(feature = "store")]
    pub use crate::batch::codec::check_stored_batch;
    pub use crate::criteria::check_parsers;
    pub use crate::ingest::check_text;
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
