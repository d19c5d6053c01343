//! Counts by value: requests for counts of the values of fields, and their answers.
//!
//! A [`FacetsRequest`] is a filter and a list of [`Facet`]s. Each facet is a field, and the form of its counts:
//!
//! | form | answer | file of its arithmetic |
//! |---|---|---|
//! | counts by value | [`ValueCounts`] | |
//! | histogram | [`Bucket`]s | `buckets`, and `interval` for the calendar |
//! | statistics | [`FacetStats`] | `stats`, with [`ExactSum`](crate::value::ExactSum) |
//!
//! `definition` builds facets, `parse` parses their text form, `body` parses the request of a client, and `request` decides which
//! documents a facet counts. `ranking` puts the values of an answer in order. `json` prints an answer. Engines count in
//! `engine/facets`, the oracle in `exec/reference/facets`, and databases by the statements of `sql/facets`.

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

pub use self::answer::{Bucket, FacetAnswer, FacetCounts, FacetStats, FacetsAnswer, Sum, ValueCounts};
pub(crate) use self::buckets::Buckets;
pub(crate) use self::definition::FacetForm;
pub use self::definition::{DEFAULT_FACET_VALUES, Facet};
pub use self::given::{FacetDefaults, parse_facet};
pub(crate) use self::histogram::HistogramCounts;
pub use self::interval::Interval;
pub(crate) use self::ranking::ranked;
pub(crate) use self::request::FacetGroup;
pub use self::request::FacetsRequest;
pub(crate) use self::stats::StatsCounts;
