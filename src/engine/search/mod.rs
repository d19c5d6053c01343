//! Searches: find the total and the page of a request in one snapshot.
//!
//! A search takes this path:
//!
//! 1. `requests` is the API. It checks a request, and loads the current snapshot.
//! 2. `bound_request` binds the request to a view: it looks the filter up in the index, and selects batches.
//! 3. `run` runs the request. `strategy` chooses a strategy for the total and a strategy for the page. For an order by several
//!    fields or a page after a cursor, `key_by_key` runs several searches. Each of them sorts by one field, and has its own
//!    strategy.
//! 4. `counting` counts the total. [`topk`](crate::topk) finds the rows of the page.
//! 5. `found_rows` has the rows of the page with their view. `answer` is the public type. `frame` writes the JSON around the
//!    documents.
//!
//! `engine_snapshot` holds a snapshot for several searches. `facets` counts the values of fields in the selected rows.
//! `answer_writer` and `written_page` create answers from documents that a store or a server returns. `analyze` explains a request
//! and measures a search. `explanation` has the types of its result, and `explanation_text` prints them.

mod analyze;
mod answer;
mod answer_writer;
mod bound_request;
mod counting;
mod engine_snapshot;
pub mod explain;
mod explanation;
mod explanation_text;
mod facets;
mod found_rows;
mod frame;
mod key_by_key;
mod requests;
mod run;
mod strategy;
mod written_page;

pub use self::answer::SearchAnswer;
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use self::answer_writer::AnswerWriter;
pub use self::engine_snapshot::EngineSnapshot;
pub use self::facets::{FacetExplanation, FacetStrategy};
#[cfg(feature = "store")]
pub(crate) use self::found_rows::FoundRows;
#[cfg(feature = "service")]
pub(crate) use self::frame::{AnswerFrame, PageInfo};
#[cfg(feature = "store")]
pub(crate) use self::requests::request_for;
