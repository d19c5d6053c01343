//! Counts by value, also known as *facets*: requests and their answers.
//!
//! A [`FacetsRequest`] is a filter and a list of [`Facet`]s. Each facet is a field and the form of its counts:
//!
//! | form | answer | file of its arithmetic |
//! |---|---|---|
//! | counts by value | [`ValueCounts`] | |
//! | histogram | [`FacetBucket`]s | `buckets`, and `interval` for the calendar |
//! | statistics | [`FacetStats`] | `stats`, with [`ExactSum`](crate::value::ExactSum) |
//!
//! `definition` builds facets. `parse` parses their text form, and `given` applies the arguments of a command line. `body` parses
//! the request of a client. `request` selects the documents that a facet counts. `ranking` sorts the values of an answer. `json`
//! prints an answer.
//!
//! Engines count in `engine/search/facets`, and the reference evaluator in `exec/reference/facets`. `sql/facets` compiles a request
//! to statements for databases.

mod answer;
mod body;
mod buckets;
mod definition;
mod given;
mod histogram;
mod interval;
mod json;
mod parse;
mod ranking;
mod request;
mod stats;

pub use self::answer::{
    FacetAnswer, FacetBucket, FacetCounts, FacetStats, FacetSum, FacetsAnswer, ValueCounts,
};
pub(crate) use self::buckets::Buckets;
#[cfg(feature = "sql")]
pub(crate) use self::buckets::MOST_STEPS;
pub(crate) use self::definition::FacetForm;
pub use self::definition::{DEFAULT_FACET_VALUES, Facet};
pub use self::given::{FacetDefaults, parse_facet};
pub(crate) use self::histogram::HistogramCounts;
pub use self::interval::FacetInterval;
pub(crate) use self::ranking::ranked;
pub use self::request::FacetsRequest;
pub(crate) use self::request::{FacetGroup, place_of};
pub(crate) use self::stats::StatsCounts;
