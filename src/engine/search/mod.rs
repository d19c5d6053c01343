//! Searches on one snapshot: page, total, strategies and explanations.

mod analyze;
mod answer;
mod bound;
mod counting;
pub mod explain;
mod explanation;
mod explanation_text;
mod requests;
mod strategy;
#[cfg(any(feature = "postgres", feature = "store"))]
mod written;

pub use self::answer::Answer;
#[cfg(feature = "service")]
pub(crate) use self::answer::Page;
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use self::written::AnswerWriter;
#[cfg(any(feature = "postgres", feature = "store"))]
pub use self::written::WrittenAnswer;
