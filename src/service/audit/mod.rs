//! The audit log: a record of each answered request, in files with a hash chain.
//!
//! | file | contents |
//! |---|---|
//! | `record.rs` | the record of a request |
//! | `event.rs` | records about the log itself |
//! | `chain.rs` | the line of a record, and its hash |
//! | `files.rs` | the files of a log, and the end of a file |
//! | `log.rs`, `options.rs` | the log of a running service, and its options |
//! | `queue.rs`, `state.rs` | what requests share with the threads of the log |
//! | `keeper.rs`, `writer.rs` | the thread that writes |
//! | `sync.rs` | the thread that syncs |
//! | `verify.rs` | verification |

mod batch;
mod chain;
mod event;
mod files;
mod keeper;
mod log;
mod options;
mod outcome;
mod queue;
pub(super) mod record;
mod state;
mod sync;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use chain::AuditHead;
pub use files::{audit_files, check_audit_file, open_audit_files};
pub use log::AuditLog;
pub use options::AuditOptions;
pub use record::audit_digest_of_ids;
pub use verify::{AuditBeginning, AuditError, AuditErrorKind, AuditReport, verify_audit_log};
