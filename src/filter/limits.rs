//! Lifts the limits on bodies, for criteria of the host and for criteria that were parsed before. A new limit on bodies must be
//! added here.

use crate::limits::Limits;

/// Returns limits without effect, for criteria of the host, and for criteria that have already been parsed with limits.
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
