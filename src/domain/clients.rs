//! The applicants that a caller may see (`Clients`), and the index that finds applicants by client.
//!
//! The index consists of records without text. There is one for each applicant that has a client. The key of the record consists of
//! the client and the id of the applicant. An import of applicants writes the index in its transaction. [`index_clients`] creates
//! it for a file that an earlier version of this library has written.

use serde::Deserialize;

use super::check::is_id;
use super::records::{APPLICANTS, PAGE_BYTES, PAGE_RECORDS};
use crate::store::{RecordWriter, Records, Store, StoreError};

/// The record kind of the index. [`entry_key`] returns the key of an entry.
const CLIENT_APPLICANTS: &str = "client-applicant";
/// The key of the record that exists if all stored applicants are in the index. No entry has an empty key.
const IS_COMPLETE: &str = "";

/// The clients whose applicants a caller may see.
///
/// The lookup of an applicant uses a key that begins with a client of the caller. So for an applicant of another client, the lookup
/// reads the same entries as for an unknown applicant. It finds nothing, and the code that runs after it is the same. A lookup of
/// the record by its id alone would read and check a record of another client. That would take longer than the lookup of an unknown
/// applicant.
///
/// A record that was found must still name one of the clients. So a wrong entry of the index can hide an applicant, but never show
/// one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clients<'c> {
    /// All clients, and the applicants without a client.
    All,
    /// Only these clients.
    Only(&'c [String]),
}

impl Clients<'_> {
    /// Returns false if the index shows that the caller may not see the applicant. Call this method before any other access to the
    /// applicant. If it returns false, do not read the records of the applicant or their sizes. For [`All`](Self::All), reads
    /// nothing and returns true.
    pub(super) fn list(self, records: &Records<'_>, applicant_id: &str) -> Result<bool, StoreError> {
        self.is_listed(applicant_id, |key| records.get(CLIENT_APPLICANTS, key))
    }

    /// Returns the record of a [listed](Self::list) applicant. Returns `None` if the applicant is unknown, or if its record names
    /// none of the clients.
    pub(super) fn get(self, records: &Records<'_>, applicant_id: &str) -> Result<Option<String>, StoreError> {
        Ok(records.get(APPLICANTS, applicant_id)?.filter(|text| self.include(text)))
    }

    /// Like [`list`](Self::list) and [`get`](Self::get), in a transaction that writes.
    pub(super) fn find(
        self,
        records: &mut RecordWriter<'_>,
        applicant_id: &str,
    ) -> Result<Option<String>, StoreError> {
        if !self.is_listed(applicant_id, |key| records.get(CLIENT_APPLICANTS, key))? {
            return Ok(None);
        }
        Ok(records.get(APPLICANTS, applicant_id)?.filter(|text| self.include(text)))
    }

    /// Returns true if the index has an entry for the applicant and one of the clients. The parameter `get` is a function that
    /// reads the entry with a key. For [`All`](Self::All), reads nothing and returns true.
    fn is_listed(
        self,
        applicant_id: &str,
        mut get: impl FnMut(&str) -> Result<Option<String>, StoreError>,
    ) -> Result<bool, StoreError> {
        let Self::Only(clients) = self else { return Ok(true) };
        for client in clients {
            if get(&entry_key(client, applicant_id))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if `client` is one of these clients.
    pub(crate) fn has(self, client: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(clients) => clients.iter().any(|own| own == client),
        }
    }

    /// Returns true if the record of an applicant names one of the clients.
    fn include(self, applicant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(clients) => client_of(applicant).is_some_and(|client| clients.contains(&client)),
        }
    }
}

/// Returns the key of an index entry. In the keys of entries, neither the client nor the id of the applicant contains a control
/// character. So a key is equal to the key of an entry only if both parts are equal, even if a request contains a hostile
/// `applicant_id`.
fn entry_key(client: &str, applicant_id: &str) -> String {
    format!("{client}\0{applicant_id}")
}

/// Returns true if the record with this kind and key is an index entry of the applicant.
pub(super) fn is_entry_of(kind: &str, key: &str, applicant_id: &str) -> bool {
    kind == CLIENT_APPLICANTS && key.split_once('\0').is_some_and(|(_, id)| id == applicant_id)
}

/// Returns true if a text can be the client of a token: 1 to 1,024 bytes without control characters. An applicant whose `clientId`
/// is any other text belongs to no client.
pub(crate) fn is_client_id(text: &str) -> bool {
    is_id(text)
}

/// Returns the client of an applicant. Returns `None` if the record has no client, or a client that no token can have.
pub(super) fn client_of(applicant: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct OfClient {
        #[serde(rename = "clientId")]
        client_id: Option<String>,
    }
    let of: OfClient = serde_json::from_str(applicant).ok()?;
    of.client_id.filter(|client| is_client_id(client))
}

/// Changes the index for an applicant that is about to be stored. `stored` is its present record.
pub(super) fn index_applicant(
    records: &mut RecordWriter<'_>,
    applicant_id: &str,
    stored: Option<&str>,
    new: &str,
) -> Result<(), StoreError> {
    let (before, after) = (stored.and_then(client_of), client_of(new));
    if let Some(client) = before.filter(|before| after.as_ref() != Some(before)) {
        records.remove(CLIENT_APPLICANTS, &entry_key(&client, applicant_id))?;
    }
    if let Some(client) = after {
        records.put(CLIENT_APPLICANTS, &entry_key(&client, applicant_id), "")?;
    }
    Ok(())
}

/// Adds all stored applicants to the index, unless it is complete.
pub(super) fn complete_index(records: &mut RecordWriter<'_>) -> Result<(), StoreError> {
    if records.get(CLIENT_APPLICANTS, IS_COMPLETE)?.is_some() {
        return Ok(());
    }
    let mut last: Option<String> = None;
    loop {
        let page = records.page_within(APPLICANTS, last.as_deref(), PAGE_RECORDS, PAGE_BYTES)?;
        for (id, text) in &page {
            index_applicant(records, id, None, text)?;
        }
        match page.into_iter().next_back() {
            Some((id, _)) => last = Some(id),
            None => break,
        }
    }
    records.put(CLIENT_APPLICANTS, IS_COMPLETE, "").map(drop)
}

/// Creates the index of a file that has applicants and no index, because an earlier version has stored them.
///
/// # Errors
/// Returns an error if the file cannot be read or written.
pub(crate) fn index_clients(store: &Store) -> Result<(), StoreError> {
    let is_needed = {
        let records = store.records()?;
        records.get(CLIENT_APPLICANTS, IS_COMPLETE)?.is_none()
            && !records.page_within(APPLICANTS, None, 1, 1)?.is_empty()
    };
    if is_needed { store.write_records(complete_index) } else { Ok(()) }
}
