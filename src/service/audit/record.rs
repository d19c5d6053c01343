//! The record of a request: who asked for what, and what the answer was. Never contains secrets, documents, or values of an update.

use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::chain::digits;
use super::event::time;
use crate::domain::CopyIds;
use crate::facet::FacetsRequest;
use crate::filter::{Filter, SearchRequest};
use crate::standing::Event;
use crate::store::{AsOf, ErasureReport};

/// The maximum size of a note in a record, in bytes. With the default limits, all notes are smaller.
const MOST_NOTE_BYTES: usize = 32 << 20;

/// The number of bytes that a note reserves at first. Most notes are smaller.
const USUAL_BYTES: usize = 1024;

/// The members that an operation adds to the record of a request: JSON text, with a comma before each member.
#[derive(Debug, Default)]
pub(in crate::service) struct Note(Mutex<String>);

impl Note {
    /// Adds the applicant that the path of the request or its share token names.
    pub(in crate::service) fn applicant(&self, id: &str) {
        self.add(|out| string(out, "applicant", id));
    }

    /// Adds the client of a new share token that was created for one client.
    pub(in crate::service) fn for_client(&self, client: &str) {
        self.add(|out| string(out, "forClient", client));
    }

    /// Adds the applicant that a share token was for, the copy of the applicant, and the client to which the copy belongs.
    pub(in crate::service) fn copied(&self, ids: &CopyIds<'_>) {
        self.add(|out| {
            string(out, "applicant", ids.applicant_id);
            string(out, "copy", ids.copy_id);
            string(out, "client", ids.client_id);
        });
    }

    /// Adds the hit that a review is about. The review itself is not recorded.
    pub(in crate::service) fn hit(&self, aml_case: &str, hit: &str) {
        self.add(|out| {
            string(out, "amlCase", aml_case);
            string(out, "hit", hit);
        });
    }

    /// Adds the filter, the order and the page of a search.
    pub(in crate::service) fn search(&self, request: &SearchRequest) {
        self.add(|out| {
            filter(out, &request.filter);
            if let Some(order) = &request.order {
                string(out, "order", &order.to_string());
            }
            number(out, "offset", request.offset);
            number(out, "limit", request.limit);
            if let Some(after) = &request.after {
                // A cursor contains values of a case, so only its digest is added.
                string(out, "after", text(&digits(&Sha256::digest(after.to_string()))));
            }
        });
    }

    /// Adds the earlier moment whose cases are searched, if a request has one.
    pub(in crate::service) fn as_of(&self, moment: &AsOf) {
        self.add(|out| string(out, "asOf", &moment.to_string()));
    }

    /// Adds the answer of a search. `last_write` is the number of the last write before the snapshot that was searched, if it is
    /// known.
    pub(in crate::service) fn page(&self, last_write: Option<u64>, total: Option<u64>, ids: &IdDigest) {
        self.add(|out| {
            if let Some(last_write) = last_write {
                number(out, "lastWrite", last_write);
            }
            if let Some(total) = total {
                number(out, "total", total);
            }
            number(out, "items", ids.count);
            string(out, "ids", text(&digits(&ids.hash.clone().finalize())));
        });
    }

    /// Adds the filter and the fields of counts by value.
    pub(in crate::service) fn facets(&self, request: &FacetsRequest) {
        let joined = request.within.as_ref().and_then(|within| request.filter.and(within).ok());
        self.add(|out| {
            filter(out, joined.as_ref().unwrap_or(&request.filter));
            let fields: Vec<&str> = request.facets.iter().map(|facet| facet.field().name()).collect();
            out.push_str(",\"facets\":");
            out.push_str(&serde_json::to_string(&fields).unwrap_or_default());
        });
    }

    /// Adds the number of cases whose values were counted. `last_write` is the number of the last write before the counted
    /// snapshot.
    pub(in crate::service) fn counted(&self, last_write: Option<u64>, total: u64) {
        self.add(|out| {
            if let Some(last_write) = last_write {
                number(out, "lastWrite", last_write);
            }
            number(out, "total", total);
        });
    }

    /// Adds the filter of a deletion, and the number of deleted cases.
    pub(in crate::service) fn deleted(&self, selected: &Filter, count: u64) {
        self.add(|out| {
            filter(out, selected);
            number(out, "deletedCases", count);
        });
    }

    /// Adds the counts of an erasure, and digests of the ids that it names. The record of an erasure must not contain the erased
    /// ids.
    pub(in crate::service) fn erased(
        &self,
        erased: &ErasureReport,
        applicant: Option<&str>,
        cases: &[String],
    ) {
        self.add(|out| {
            let ErasureReport { cases: count, records, history, events, .. } = *erased;
            number(out, "erasedCases", count);
            number(out, "erasedRecords", records);
            number(out, "erasedHistory", history);
            number(out, "erasedEvents", events);
            if let Some(applicant) = applicant {
                string(out, "applicantHash", &audit_digest_of_ids([applicant]));
            }
            if !cases.is_empty() {
                string(out, "casesHash", &audit_digest_of_ids(cases.iter().map(String::as_str)));
            }
        });
    }

    /// Adds the name of a standing filter.
    pub(in crate::service) fn standing(&self, name: &str) {
        self.add(|out| string(out, "standingFilter", name));
    }

    /// Adds the compiled filter of a standing filter that is being stored, and the fields whose changes it reports.
    pub(in crate::service) fn stored(&self, stored: &Filter, fields: &[&str]) {
        self.add(|out| {
            filter(out, stored);
            if !fields.is_empty() {
                out.push_str(",\"fields\":");
                out.push_str(&serde_json::to_string(fields).unwrap_or_default());
            }
        });
    }

    /// Adds the number of the last event that the client already has. The request asks for later events.
    pub(in crate::service) fn after_event(&self, event: u64) {
        self.add(|out| number(out, "afterEvent", event));
    }

    /// Adds events that are sent: the numbers of the first and of the last event, the count of the events, and the digest of the
    /// ids of their cases.
    pub(in crate::service) fn events(&self, events: &[Event]) {
        let mut ids = IdDigest::default();
        events.iter().for_each(|event| ids.add(&event.id));
        self.add(|out| {
            if let (Some(first), Some(last)) = (events.first(), events.last()) {
                number(out, "firstEvent", first.number);
                number(out, "lastEvent", last.number);
            }
            number(out, "items", ids.count);
            string(out, "ids", text(&digits(&ids.hash.finalize())));
        });
    }

    fn add(&self, add: impl FnOnce(&mut String)) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if out.capacity() == 0 {
            out.reserve(USUAL_BYTES);
        }
        add(&mut out);
    }
}

/// The digest of the ids on a page, in order: the SHA-256 of `LENGTH:ID,` for each id, where the length is in bytes.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct IdDigest {
    count: u64,
    hash: Sha256,
}

impl IdDigest {
    pub(in crate::service) fn add(&mut self, id: &str) {
        self.count = self.count.saturating_add(1);
        self.hash.update(itoa::Buffer::new().format(id.len()));
        self.hash.update(":");
        self.hash.update(id);
        self.hash.update(",");
    }
}

/// Returns the digest of the ids on a page, in order, as an audit log contains it: the SHA-256 of `LENGTH:ID,` for each id, as 64
/// hexadecimal digits.
///
/// ```
/// use casefilter::service::audit_digest_of_ids;
/// let digest = audit_digest_of_ids(["c-1", "c-2"]);
/// assert_eq!(digest.len(), 64);
/// assert_ne!(digest, audit_digest_of_ids(["c-2", "c-1"]));
/// ```
#[must_use]
pub fn audit_digest_of_ids<'i>(ids: impl IntoIterator<Item = &'i str>) -> String {
    let mut digest = IdDigest::default();
    ids.into_iter().for_each(|id| digest.add(id));
    text(&digits(&digest.hash.finalize())).to_owned()
}

/// A request whose response is about to be sent.
pub(in crate::service) struct Answered<'r> {
    pub(in crate::service) correlation_id: &'r str,
    pub(in crate::service) by: By<'r>,
    pub(in crate::service) status: u16,
    pub(in crate::service) note: Option<&'r Note>,
}

/// The sender of a request.
pub(in crate::service) enum By<'r> {
    /// A client. The token is unknown if the signature is not verified.
    Client { operation: &'r str, token: Option<&'r str> },
    /// An operator, on the admin socket: the method and the path of the request, and the user id.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has the admin socket"))]
    Operator { request: &'r str, user: Option<u32> },
}

impl Answered<'_> {
    /// Returns the members of the record.
    pub(in crate::service) fn members(&self) -> Vec<u8> {
        let note = self.note.map(|note| note.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut out = time();
        out.reserve(note.as_ref().map_or(0, |note| note.len()).min(MOST_NOTE_BYTES).saturating_add(256));
        string(&mut out, "id", self.correlation_id);
        match self.by {
            By::Client { operation, token } => {
                string(&mut out, "operation", operation);
                if let Some(token) = token {
                    string(&mut out, "token", token);
                }
            }
            By::Operator { request, user } => {
                string(&mut out, "request", request);
                if let Some(user) = user {
                    number(&mut out, "user", u64::from(user));
                }
            }
        }
        number(&mut out, "status", u64::from(self.status));
        if let Some(note) = note {
            if note.len() <= MOST_NOTE_BYTES {
                out.push_str(&note);
            } else {
                // Verification reads only lines up to a limit. So a longer note is replaced by its length and its hash.
                number(&mut out, "omittedBytes", note.len() as u64);
                string(&mut out, "omittedHash", text(&digits(&Sha256::digest(note.as_bytes()))));
            }
        }
        out.into_bytes()
    }
}

/// Adds a filter and its hash. Both are printed only once for each compiled filter.
fn filter(out: &mut String, filter: &Filter) {
    out.push_str(filter.printed_members(|text, fingerprint| {
        let mut members = String::new();
        string(&mut members, "filter", text);
        string(&mut members, "filterHash", fingerprint);
        members
    }));
}

/// Adds a member with a text, after a comma.
fn string(out: &mut String, name: &str, value: &str) {
    begin(out, name);
    // The loop does not end early, so the compiler can test many bytes at a time.
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\';
    if value.as_bytes().iter().fold(true, |all, byte| all & is_plain(byte)) {
        out.push('"');
        out.push_str(value);
        out.push('"');
    } else {
        out.push_str(&serde_json::to_string(value).unwrap_or_default());
    }
}

/// Adds a comma and the name of a member.
fn begin(out: &mut String, name: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

fn number(out: &mut String, name: &str, value: u64) {
    begin(out, name);
    out.push_str(itoa::Buffer::new().format(value));
}

fn text(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}
