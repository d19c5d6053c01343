//! Operation 5 (update of extracted info): changes the data that was extracted from an applicant's documents.

use chrono::{DateTime, Utc};

use super::body::{Body, BodySchema, ValueKind, read_body};
use super::changes::{OF_INFO, TRANSLITERATED, mark_changed};
use super::clients::Clients;
use super::copy::without_nulls;
use super::error::DomainError;
use super::members::{Members, json_string};
use super::records::APPLICANTS;
use super::room::Room;
use super::transliterate::{Evidence, to_latin};
use crate::error::Error;
use crate::store::Store;

/// The body of operation 5. Its members are those of [`FIELDS`](super::changes::FIELDS).
static BODY: BodySchema = BodySchema {
    members: &[
        ("firstName", ValueKind::Text),
        ("lastName", ValueKind::Text),
        ("dob", ValueKind::PastDate),
        ("placeOfBirth", ValueKind::Text),
        ("countryOfBirth", ValueKind::Country),
        ("stateOfBirth", ValueKind::Text),
    ],
    clears: true,
};

/// Changes the extracted data of an applicant (its `info`), and returns the complete `info` as JSON.
///
/// The body is an object with at least one of `firstName`, `lastName`, `dob`, `placeOfBirth`, `countryOfBirth` and `stateOfBirth`.
/// `null` clears a member. A text is rejected if it is empty, too long, has only invisible characters, or contains control
/// characters. `dob` must be a date `yyyy-MM-dd` that is not after the date of `now`. `countryOfBirth` must be a code of
/// ISO 3166-1 alpha-3.
///
/// The change is on disk when the call returns, and the next read sees it. Concurrent changes are serialized. `firstNameEn`,
/// `lastNameEn` and `placeOfBirthEn` are transliterated again. If the original of a transliteration is cleared, the transliteration
/// is removed. The record stores `now` as the time of change of each changed member. An import replaces such a member only with
/// later data.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records, update_info};
/// use casefilter::{Catalog, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual","info":{"lastName":"Jung"}}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let now = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
/// let info = update_info(&store, "a1", r#"{"lastName":"Müller"}"#.as_bytes(), now)?;
/// assert_eq!(info, r#"{"lastName":"Müller","lastNameEn":"Mueller"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`Invalid`](super::DomainErrorKind::Invalid) for an applicant that is unknown or a company, with the id of the
/// applicant. Also returns it for an invalid body, with the position and message of each error. Returns an error if the store
/// cannot be read or written.
pub fn update_info(
    store: &Store,
    applicant_id: &str,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    update_info_in(store, applicant_id, Clients::All, (body, now), &mut Room::new(&mut |_| true))
}

/// Like [`update_info`], but for a caller who sees only the applicants of `clients`, and within the memory budget `room`. If the
/// budget is too small, changes nothing.
pub(crate) fn update_info_in(
    store: &Store,
    applicant_id: &str,
    clients: Clients<'_>,
    (body, now): (&[u8], DateTime<Utc>),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let changes = read_body(body, &BODY, now.date_naive())?;
    store.write_records(|records| {
        let invalid = |why: &str| DomainError::invalid_applicant(applicant_id, why);
        let text = clients.find(records, applicant_id)?.ok_or_else(|| invalid(""))?;
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let mut applicant = Members::read(&text).map_err(corrupt)?;
        if applicant.string("type").as_deref() == Some("company") {
            return Err(invalid(": a company, whose data this operation does not change"));
        }
        let info = applicant.get("info").filter(|info| *info != "null").unwrap_or("{}").to_owned();
        let mut info = Members::read(&info).map_err(corrupt)?;
        apply(&changes, &mut info);
        let info = info.to_json();
        applicant.set("info", info.clone());
        mark_changed(&mut applicant, &OF_INFO, changes.changes().map(|(name, _)| name), now)
            .map_err(corrupt)?;
        room.take(info.len())?;
        records.put(APPLICANTS, applicant_id, &applicant.to_json())?;
        without_nulls(&info).map_err(corrupt)
    })
}

fn apply(changes: &Body, info: &mut Members<'_>) {
    for (name, value) in changes.changes() {
        match value {
            Some(value) => info.set(name, json_string(value)),
            None => {
                info.remove(name);
                TRANSLITERATED.iter().filter(|(of, _)| *of == name).for_each(|(_, latin)| info.remove(latin));
            }
        }
    }
    let evidence = evidence(info);
    for (name, latin) in TRANSLITERATED {
        if let Some(text) = info.string(name) {
            info.set(latin, json_string(&to_latin(&text, &evidence)));
        }
    }
}

/// Collects the evidence about the language of the person's names.
///
/// The order of the countries is: the issuing countries of the documents, then `country`, then `countryOfBirth`.
fn evidence(info: &Members<'_>) -> Evidence {
    let documents: Option<Vec<serde_json::Value>> =
        info.get("idDocs").and_then(|documents| serde_json::from_str(documents).ok());
    let issuers = documents.into_iter().flatten();
    let issuers = issuers.filter_map(|document| document.get("country")?.as_str().map(str::to_owned));
    let own = ["country", "countryOfBirth"].into_iter().filter_map(|name| info.string(name));
    let texts = TRANSLITERATED.into_iter().filter_map(|(name, _)| info.string(name));
    Evidence { texts: texts.collect(), countries: issuers.chain(own).collect() }
}
