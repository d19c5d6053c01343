//! Generates realistic sample cases and records that match them. The same seed gives the same data.
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
//! Every field of the Case resource occurs, and most fields are sometimes absent. The values are distributed similarly to those of
//! real cases. Most old cases are resolved. A few tags and countries are in most cases. A few amounts are very large, and some
//! applicants have many cases. The generator uses only integer arithmetic. So the bytes are the same on all machines and with all
//! versions of the dependencies.

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
