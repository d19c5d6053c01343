//! Generates sample cases and matching records. They look realistic and are skewed like real cases. The same case number and seed
//! always give the same bytes.
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
//! // A case depends only on its number and the seed.
//! let mut again = Vec::new();
//! sample::write_case(sample::Cases::new(3, 42).number(0), 42, &mut again);
//! assert!(ndjson.starts_with(&again));
//! ```
//!
//! All fields of the Case resource occur, and most of them are absent in some cases. The skew is similar to real cases: most old
//! cases are resolved, and most cases have one of a few frequent tags and countries. Amounts are heavy-tailed, and some applicants
//! have many cases. The generator uses only integer arithmetic, so the bytes are the same on all machines and with all versions of
//! its dependencies.

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
