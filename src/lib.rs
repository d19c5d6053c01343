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

#[cfg(feature = "store")]
#[doc(hidden)]
pub use batch::codec::check_stored_batch;
pub use catalog::{Catalog, CatalogError, Field, FieldId, FieldType};
#[doc(hidden)]
pub use criteria::check_parsers;
#[cfg(any(feature = "postgres", feature = "store"))]
pub use engine::WrittenAnswer;
pub use engine::{
    Answer, Engine, EngineBuilder, FieldMemory, Import, Memory, Mode, Note, NoteKind, Refusal, Report,
    Upserted, explain,
};
pub use error::{Error, ErrorKind, Errors};
pub use exec::reference;
pub use filter::{CacheStats, DEFAULT_PAGE, Direction, Filter, FilterCache, Order, Params, Request};
#[doc(hidden)]
pub use ingest::check_text;
pub use limits::Limits;
pub use operator::Operator;
pub use predicate::{Warning, WarningKind};
#[cfg(feature = "store")]
pub use store::{
    AtomicFile, Compacted, Durability, RecordWrite, Records, Store, StoreError, StoreErrorKind, StoreImport,
    StoreOptions, StoredDocuments, Verified, is_store, store_catches_panics,
};
pub use value::{Number, Timestamp, TimestampFault, Value};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
