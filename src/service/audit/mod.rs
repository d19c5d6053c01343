//! The audit log: a record of each answered request, in files with a hash chain.
//!
//! | file | contents |
//! |---|---|
//! | `record.rs` | the record of a request |
//! | `event.rs` | records about the log itself |
//! | `chain.rs` | the line of a record, and its hash |
//! | `files.rs` | the files of a log, and the end of a file |
//! | `writer.rs`, `log.rs` | writing |
//! | `verify.rs` | verification |

mod chain;
mod event;
mod files;
mod log;
pub(super) mod record;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use chain::AuditHead;
pub use files::{audit_files, open_audit_files};
pub use log::{AuditLog, AuditOptions};
pub use record::audit_digest_of_ids;
pub use verify::{AuditError, AuditErrorKind, AuditReport, verify_audit_log};
