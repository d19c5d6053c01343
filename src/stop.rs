//! Stops searches early: when another thread sets a flag, or at a deadline.
//!
//! The core has no clock. So a [`Deadline`] is a function of the host program that returns true if the time has passed. A
//! [`CancelToken`] is a flag. A [`SearchRequest`](crate::SearchRequest) carries both. The search turns them into one [`StopCheck`],
//! which all threads of the search share. The first call that finds a reason to stop records the reason. All later calls then
//! return true. Each thread has a [`Pace`], which decides when the thread calls the stop check.
//!
//! # Where a search calls the stop check
//!
//! - [`Scan::run`](crate::exec::Scan::run) and the seek to an offset call it before each batch.
//! - Other loops add up an estimate of their work, and call it every [`CHECK_EVERY`] units. These are loops within a batch, and
//!   loops that do not read batches. In planning: each node, each string that a pattern is tested on, and each part of a long list
//!   of values. In programs: each instruction. In tests of single rows: each member of the filter. Also key lookups, counts of
//!   listed rows, top rows (each leaf), and sorting (see `sort`).
//!
//! So the time between two calls depends neither on the number of cases nor on the size of the filter. It is below a millisecond,
//! with these exceptions, all of which are single passes over memory:
//!
//! - A column of a batch with many values in each row is scanned in one pass: about 1 ns for each value.
//! - A string that is tested with a pattern is folded in one pass: about 5 ns for each byte.
//! - The first search after small writes seals the buffered cases: about 1 µs for each case.
//! - A sorted page that ends after millions of rows keeps all these rows as candidates. When the list of candidates grows, it may
//!   be copied.
//! - A count on several threads returns when all its tasks have run. A task may first have to wait for other work of the thread
//!   pool.
//!
//! # Partial results of a stopped search
//!
//! A loop that ends early leaves a partial result. The reason to stop was recorded before, so from then on [`StopCheck::verdict`]
//! returns an error. Each search ends by returning this error, so a partial result never becomes an answer. Some results are shared
//! with other searches: lazy columns, counts of deleted rows, orders of batches, and string numbers of top rows. The loops that
//! compute these results never stop early.
//!
//! # Cost
//!
//! Without a token and a deadline, a call compares one field of the [`Pace`]. With them, a call is two relaxed loads and a call of
//! the deadline's function. This happens once for each batch that is evaluated, and once for each [`CHECK_EVERY`] units of work.

mod check;
mod sort;

pub(crate) use self::check::{CHECK_EVERY, Pace, StopCheck, StopConditions};
pub use self::check::{CancelToken, Deadline};
pub(crate) use self::sort::{PART, sort_window};
