//! Stopping of searches: by a flag that another thread sets, or at a deadline.
//!
//! The core has no clock. So a [`Deadline`] is a function of the host, which says whether the time has passed, and a [`CancelToken`] is a
//! flag. A [`SearchRequest`](crate::SearchRequest) carries both. A search turns them into one [`StopCheck`], which its threads share. The
//! first check that finds a reason to stop records it, and all later checks find the record. Each thread has a [`Pace`], which decides
//! when to check.
//!
//! # Where a search checks
//!
//! - [`Scan::run`](crate::exec::Scan::run) and the seek to an offset check before each batch.
//! - Loops within a batch, and loops that are not about batches, add up an estimate of their work. Every [`CHECK_EVERY`] units they check:
//!   planning (each node, each string that a pattern is tested on, each part of a long list of values), programs (each instruction), tests
//!   of single rows (each member of the filter), key lookups, counts of listed rows, top rows (each leaf), and sorting (see `sort`).
//!
//! So the time between two checks depends neither on the number of cases nor on the size of the filter. It is below a millisecond with
//! these exceptions, which are single passes over memory:
//!
//! - A column of a batch with many values per row is scanned in one pass: about 1 ns for each value.
//! - A string that is tested by a pattern is folded whole: about 5 ns for each byte.
//! - The first search after small writes seals them: about 1 µs for each buffered case.
//! - A sorted page that ends after millions of rows keeps them as candidates. When their list grows, it may be copied.
//! - A count on several threads returns when its helpers have run. A helper may first wait for other work of the pool.
//!
//! # What a stopped search leaves
//!
//! A loop that ends early leaves a partial result. Since the reason was recorded before, [`StopCheck::verdict`] is an error from then on.
//! The end of each search returns the verdict, so no partial result becomes an answer. Results that other searches share (lazy columns,
//! counts of deleted rows, orders of batches, string numbers of top rows) are never computed by a loop that checks.
//!
//! # Cost
//!
//! Without a token and a deadline, a check is one comparison of a field of the [`Pace`]. With them, it is two relaxed loads and a call of
//! the deadline: once for each batch that is evaluated, and once for each [`CHECK_EVERY`] units of work.

mod check;
mod sort;

pub(crate) use self::check::{CHECK_EVERY, Pace, StopCheck, StopConditions};
pub use self::check::{CancelToken, Deadline};
pub(crate) use self::sort::{PART, sort_window};
