//! A guide in chapters. Each chapter covers one task, with example programs that run.
//!
//! Read the [front page](crate) first. It has a first program, and a table of the five main terms. Then choose a chapter:
//!
//! | chapter | read it to |
//! |---|---|
//! | [`criteria`] | write filters, and know the result of each operator for absent, single and multiple values |
//! | [`counting`] | count documents by value, by month or by amount |
//! | [`catalogues`] | describe documents of your own, and the formats that they must have |
//! | [`embedding`] | put an engine into a program: threads, async, updates, tenants, saved filters, errors, a handler, tests |
//! | [`durability`] | keep documents in a file, and know when a write is on disk (feature `store`) |
//! | [`performance`] | know what is fast and why, and measure your own requests |
//! | [`service`] | serve the operations of the compliance domain over HTTP (feature `service`) |
//! | [`scaling_out`] | answer the same requests from PostgreSQL, ClickHouse, Spark or DuckDB (feature `sql`) |
//!
//! Clients and analysts need only `criteria`. Programmers who put an engine into a program need `catalogues` and `embedding`. The
//! other chapters are for special needs. In the reference documentation, most types have an example, and functions list their
//! errors. Complete programs to start from are in `examples/` of the repository, such as `first_search`, `own_catalogue` and
//! `axum_search`.
//!
//! Read the guide in rustdoc: `cargo doc --no-deps --features store --open`. The files in `docs/guide` have links to types, which
//! work only in rustdoc. Their programs also have lines that begin with `# `, which rustdoc compiles but does not show.

#[doc = include_str!("../docs/guide/criteria.md")]
pub mod criteria {}

#[doc = include_str!("../docs/guide/counting.md")]
pub mod counting {}

#[doc = include_str!("../docs/guide/catalogues.md")]
pub mod catalogues {}

#[doc = include_str!("../docs/guide/embedding.md")]
pub mod embedding {}

#[cfg_attr(feature = "store", doc = include_str!("../docs/guide/durability.md"))]
#[cfg_attr(
    not(feature = "store"),
    doc = "Documents in a file, durably. This chapter needs the feature `store`."
)]
pub mod durability {}

#[doc = include_str!("../docs/guide/performance.md")]
pub mod performance {}

#[cfg_attr(feature = "service", doc = include_str!("../docs/guide/service.md"))]
#[cfg_attr(
    not(feature = "service"),
    doc = "The operations of the compliance domain over HTTP. This chapter needs the feature `service`. A service of your own does not: see \
           [a handler of your own](crate::guide::embedding#a-handler-of-your-own)."
)]
pub mod service {}

#[cfg_attr(feature = "sql", doc = include_str!("../docs/guide/scaling_out.md"))]
#[cfg_attr(
    not(feature = "sql"),
    doc = "Requests as SQL for other engines. This chapter needs the feature `sql`."
)]
pub mod scaling_out {}
