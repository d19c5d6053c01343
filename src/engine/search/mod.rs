//! Searches on one snapshot: page, total, strategies and explanations.

mod analyze;
mod answer;
#[cfg(any(feature = "postgres", feature = "store"))]
mod answer_writer;
mod bound;
mod counting;
pub mod explain;
mod explanation;
mod explanation_text;
mod found_rows;
mod frame;
mod requests;
mod strategy;
#[cfg(any(feature = "postgres", feature = "store"))]
mod written_page;

pub use self::answer::SearchAnswer;
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use self::answer_writer::AnswerWriter;
#[cfg(feature = "store")]
pub(crate) use self::found_rows::FoundRows;
#[cfg(feature = "service")]
pub(crate) use self::frame::AnswerFrame;
