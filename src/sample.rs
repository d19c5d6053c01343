//! Sample cases, and records that fit them: realistic, skewed, and the same bytes for the same arguments everywhere.
//!
//! ```
//! use casefilter::sample;
//!
//! let mut ndjson = Vec::new();
//! for case in sample::Cases::new(3, 42) {
//!     ndjson.extend_from_slice(&case);
//!     ndjson.push(b'\n');
//! }
//! assert_eq!(ndjson.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 3);
//!
//! // A case depends on its number and the seed alone.
//! let mut again = Vec::new();
//! sample::write_case(sample::Cases::new(3, 42).number(0), 42, &mut again);
//! assert!(ndjson.starts_with(&again));
//! ```
//!
//! All fields of the Case resource occur, most of them absent now and then. Cases are skewed as
//! real ones are: old cases are mostly resolved, few tags and countries make most of the cases,
//! amounts are heavy-tailed, some applicants come back again and again. Only integer arithmetic is
//! used, so that the bytes differ neither between machines nor between versions of a library.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "every operand is a constant of these files or a draw below one; `number` is reduced first"
)]

mod case;
mod cases;
mod draws;
mod record_types;
mod records;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use case::{CASES_IN_THREE_YEARS, write_case};
pub use cases::Cases;
pub use records::{Records, SampleKind};
