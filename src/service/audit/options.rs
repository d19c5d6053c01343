//! The options of an audit log (`AuditOptions`).

/// The options of an [`AuditLog`](super::AuditLog).
///
/// ```
/// use casefilter::service::AuditOptions;
/// let mut options = AuditOptions::default();
/// options.is_best_effort = true;
/// assert_eq!(options.rotate_bytes, 256 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditOptions {
    /// The size in bytes that a file should not exceed: a record that would exceed it begins a new file. A file can be longer
    /// because of a single long record, or because of a record about the log itself.
    pub rotate_bytes: u64,
    /// True if requests are answered while the log cannot be written. Such requests have no record. Once the log can be written
    /// again, a record has the number of these requests.
    pub is_best_effort: bool,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { rotate_bytes: 256 << 20, is_best_effort: false }
    }
}
