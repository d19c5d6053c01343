//! Stops searches: by a flag that another thread sets, or at a deadline.
//!
//! The core has no clock. So the host program supplies a function for each [`Deadline`]. The function returns true if the time of
//! the deadline has passed. A [`CancelToken`] is a flag. A [`SearchRequest`](crate::SearchRequest) carries both. From them, a
//! search creates one [`StopCheck`], which its threads share. The first call of the check that finds a reason to stop records the
//! reason, and all later calls return true. Each thread has a [`Pace`], a work counter that decides when to call the check.
//!
//! # Calls of the check
//!
//! - [`Scan::run`](crate::exec::Scan::run) and the seek to an offset call it before each batch.
//! - Other loops add up an estimate of their work, and call the check once for every [`CHECK_EVERY`] units. The planner loops over
//!   the nodes of the filter, the strings that a pattern is tested on, and the parts of long lists of values. The program that
//!   evaluates the filter on a batch (see `exec/program.rs`) loops over its instructions. Tests of single rows loop over the
//!   members of the filter. Tests of top rows (see `exec/scattered_rows.rs`) loop over the leaves of the filter. Key lookups,
//!   counts of listed rows, and sorting (see `sort`) have such loops, too.
//!
//! So the time between two calls depends neither on the number of cases nor on the size of the filter. It is below a millisecond,
//! with these exceptions:
//!
//! - A column of a multi-valued field is scanned in one pass per batch: about 1 ns for each value.
//! - A string that is tested by a pattern is first folded completely: about 5 ns for each byte.
//! - The first search after small writes may convert the buffered cases to columns: about 1 µs for each case.
//! - A sorted page that ends after millions of rows keeps these rows as candidates. When their list grows, it may be copied.
//! - A count on several threads returns only when all its helper threads have finished. A helper may first wait for other work of
//!   the thread pool.
//!
//! # Results of stopped searches
//!
//! A loop that ends early leaves a partial result. The reason was recorded before, so [`StopCheck::verdict`] returns an error from
//! then on. Each search returns the verdict at its end, so no partial result becomes an answer. Some results are shared by
//! searches: lazy columns, counts of deleted rows, orders of batches, and the numbers that represent the strings of top rows. Loops
//! that compute a shared result never call the check, so a shared result is never partial.
//!
//! # Cost
//!
//! With neither a token nor a deadline, a call of the check is one comparison of a field of the [`Pace`]. Otherwise, a call is at
//! most two relaxed loads and a call of the deadline function. A search makes a call for each batch that it evaluates, and for each
//! [`CHECK_EVERY`] units of work.

mod check;
mod sort;

pub(crate) use self::check::{CHECK_EVERY, Pace, StopCheck, StopConditions};
pub use self::check::{CancelToken, Deadline};
pub(crate) use self::sort::{PART, sort_window};
