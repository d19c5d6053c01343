//! The records of an audit log that are about the log itself: its start, its end, and what happened to it.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;

use super::chain::{AuditHead, Hash};

/// An event of the log. Its record also has the time, and the complete hash of the record before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A service has opened the log.
    Opened,
    /// The service has stopped.
    Closed,
    /// The log has begun this file because the previous file had become too large. This is the first record of each file but the
    /// oldest one, unless the file begins with torn bytes.
    Rotated,
    /// The bytes before this record are *torn*: an incomplete record that a crash or a full disk has left. `begins` is true if the
    /// torn bytes are the first bytes of a file, and this file is not the oldest one.
    Torn { bytes: u64, sha256: Hash, begins: bool },
    /// The log can be written again after a failure. `unrecorded` is the number of requests that were answered without a record
    /// since the last record of this kind.
    Resumed { unrecorded: u64 },
}

impl Event {
    /// Returns the members of the record. `head` is the record before it.
    pub(super) fn members(&self, head: &AuditHead) -> String {
        let (name, more) = match self {
            Self::Opened => ("opened", format!(",\"version\":\"{}\"", env!("CARGO_PKG_VERSION"))),
            Self::Closed => ("closed", String::new()),
            Self::Rotated => ("rotated", String::new()),
            Self::Torn { bytes, sha256, begins } => {
                let sha256 = std::str::from_utf8(sha256).unwrap_or_default();
                let begins = if *begins { ",\"begins\":true" } else { "" };
                ("torn", format!(",\"bytes\":{bytes},\"sha256\":\"{sha256}\"{begins}"))
            }
            Self::Resumed { unrecorded } => ("resumed", format!(",\"unrecorded\":{unrecorded}")),
        };
        format!("{},\"event\":\"{name}\"{more},\"previous\":\"{}\"", time(), head.hash())
    }
}

/// Returns the member with the time of the system clock.
pub(super) fn time() -> String {
    let now: DateTime<Utc> = SystemTime::now().into();
    format!("\"time\":\"{}\"", now.to_rfc3339_opts(SecondsFormat::Micros, true))
}

/// The members of a record that verification needs.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Members {
    #[serde(default)]
    pub(super) event: String,
    /// The hash of the record before an event.
    #[serde(default)]
    pub(super) previous: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    sha256: String,
    #[serde(default)]
    begins: bool,
}

impl Members {
    /// Reads the members of a line. Returns the default for a line that is not JSON.
    pub(super) fn read(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// Returns true if a file other than the oldest one may begin with this record. `is_after_torn` is true if torn bytes come
    /// before it.
    pub(super) fn begins_file(&self, is_after_torn: bool) -> bool {
        match is_after_torn {
            false => self.event == "rotated",
            true => self.event == "torn" && self.begins,
        }
    }

    /// Returns true if the record is about this number of torn bytes with this digest.
    pub(super) fn is_about_torn(&self, bytes: u64, sha256: &Hash) -> bool {
        self.event == "torn" && self.bytes == bytes && self.sha256.as_bytes() == sha256
    }
}
