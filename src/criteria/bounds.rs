//! The error for a count beyond its limit, the same in both syntaxes.

use crate::error::{Error, ErrorKind};

/// Returns the error for item number `count` if it is the first item beyond the limit. Later items repeat the same fault, so they get
/// `None`.
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
