//! No limits.

use crate::limits::Limits;

/// Limits for criteria that the host itself wrote, or that were parsed within limits before.
pub(super) fn no_limits() -> Limits {
    Limits {
        body_bytes: usize::MAX,
        depth: usize::MAX,
        criteria: usize::MAX,
        values: usize::MAX,
        ids: usize::MAX,
        string_bytes: usize::MAX,
        ..Limits::default()
    }
}
