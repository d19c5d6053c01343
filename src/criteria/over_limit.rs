//! Creates the error for a count that exceeds its limit, such as too many criteria. Both syntaxes use it.

use crate::error::{Error, ErrorKind};

/// Returns an error if item number `count` is the first item beyond the limit. Returns `None` for later items, because their
/// error would repeat the first error.
pub(super) fn over_limit(
    kind: ErrorKind,
    count: usize,
    limit: usize,
    offset: usize,
    what: &str,
) -> Option<Error> {
    (count == limit.saturating_add(1))
        .then(|| Error::new(kind, offset, format!("too many {what}"), format!("at most {limit}")))
}
