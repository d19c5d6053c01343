//! The error of a limit of counts, the same in both syntaxes.

use crate::error::{Error, ErrorKind};

/// Returns the error for the first `count` beyond a limit; `None` for the later ones, which are the same fault.
pub(super) fn over_limit(
    kind: ErrorKind,
    count: usize,
    limit: usize,
    offset: usize,
    what: &str,
) -> Option<Error> {
    (count == limit.saturating_add(1)).then(|| {
        Error::new(kind, offset, format!("number {count} of the {what}"), format!("at most {limit} {what}"))
    })
}
