//! Merges an imported applicant with the members of `info` that clients have changed in the stored applicant. Clients change them
//! by operation 5 (update of extracted info), or by the update of company data.
//!
//! The record of an applicant has a member `infoChangedAt`. It contains, for each changed member of `info`, the time when operation
//! 5 changed it. `companyInfoChangedAt` has the times of the members of `info.companyInfo`. An import replaces a changed member
//! only if the imported data is later; see [`merge`].

use chrono::{DateTime, Utc};

use super::members::{Members, json_string};
use super::schemas::{COMPANY_INFO, COMPANY_INFO_CHANGED_AT, COPIED_FROM, INFO_CHANGED_AT};
use super::time::with_offset;
use crate::json;
use crate::value::Timestamp;

/// The members of `info` that operation 5 can change, in the order of the interface document.
pub(super) const FIELDS: [&str; 6] =
    ["firstName", "lastName", "dob", "placeOfBirth", "countryOfBirth", "stateOfBirth"];

/// The members that have a transliteration, each with the name of the member that contains the transliteration.
pub(super) const TRANSLITERATED: [(&str, &str); 3] =
    [("firstName", "firstNameEn"), ("lastName", "lastNameEn"), ("placeOfBirth", "placeOfBirthEn")];

/// The members of `info.companyInfo` that clients can change.
pub(super) const COMPANY_FIELDS: [&str; 10] = [
    "companyName",
    "registrationNumber",
    "country",
    "legalAddress",
    "incorporatedOn",
    "type",
    "taxId",
    "email",
    "phone",
    "website",
];

/// An object whose members clients can change, and the member of an applicant that has the times of the changes.
pub(super) struct Changeable {
    times: &'static str,
    fields: &'static [&'static str],
}

/// The `info` of an individual.
pub(super) static OF_INFO: Changeable = Changeable { times: INFO_CHANGED_AT, fields: &FIELDS };

/// The `info.companyInfo` of a company.
pub(super) static OF_COMPANY: Changeable =
    Changeable { times: COMPANY_INFO_CHANGED_AT, fields: &COMPANY_FIELDS };

/// Sets the time of change of the members `changed` to `now`.
pub(super) fn mark_changed(
    applicant: &mut Members<'_>,
    of: &Changeable,
    changed: impl Iterator<Item = &'static str>,
    now: DateTime<Utc>,
) -> json::Result<()> {
    let mut times = times_of(applicant, of)?;
    let now = now.format("%Y-%m-%d %H:%M:%S+0000").to_string();
    for field in changed {
        times.retain(|(own, _)| *own != field);
        times.push((field, now.clone()));
    }
    set_times(applicant, of, &times);
    Ok(())
}

/// Returns the members that clients have changed, each with the time of the change as text.
fn times_of(applicant: &Members<'_>, of: &Changeable) -> json::Result<Vec<(&'static str, String)>> {
    let Some(times) = object(applicant, of.times) else { return Ok(Vec::new()) };
    let times = Members::read(&times)?;
    let time = |field: &&'static str| Some((*field, with_offset(&times.string(field)?)?.into_owned()));
    Ok(of.fields.iter().filter_map(time).collect())
}

fn set_times(applicant: &mut Members<'_>, of: &Changeable, times: &[(&'static str, String)]) {
    if times.is_empty() {
        return applicant.remove(of.times);
    }
    let mut members = Members::default();
    for field in of.fields.iter().copied() {
        if let Some((_, time)) = times.iter().find(|(own, _)| *own == field) {
            members.set(field, json_string(time));
        }
    }
    applicant.set(of.times, members.to_json());
}

/// Returns the text of a member if its value is an object.
fn object(of: &Members<'_>, name: &str) -> Option<String> {
    of.get(name).filter(|value| value.starts_with('{')).map(str::to_owned)
}

/// The result of merging an imported applicant with a stored applicant.
pub(super) struct Merged {
    /// The merged record, as text to store.
    pub(super) text: String,
    /// The members that keep the value that a client set, although the import has a different value.
    pub(super) kept: Vec<&'static str>,
    /// The members that get the value of the import, because it is different and later.
    pub(super) overwritten: Vec<&'static str>,
    /// The latest date of the imported data, as text. `None` if the data has no date.
    pub(super) date: Option<String>,
    /// The name of the operation by which clients have changed the members.
    pub(super) by: &'static str,
}

/// Merges an imported applicant with the stored applicant. Makes up to two merges, and returns a [`Merged`] for each, in this
/// order:
///
/// - the merge of `info`, if clients have changed members of `info` in the stored applicant;
/// - the merge of `companyInfo`, if clients have changed members of `companyInfo` in the stored applicant, and the imported
///   applicant is a company.
///
/// The second merge continues with the text of the first. So the caller stores only the text of the last [`Merged`]. Clients change
/// `info` of individuals and `companyInfo` of companies. So both merges are made only for an applicant whose type has changed.
///
/// A changed member is replaced only by later data. The date of the imported data is the latest of `createdAt`, `review.createDate`
/// and `review.reviewDate`. An imported record that comes from an export may also have an `infoChangedAt`. If this contains a later
/// time for a member, that time is the date of this member. Times are compared with a precision of one second. If the imported
/// applicant is a company, all members of `info` except `companyInfo` are replaced. The members of `companyInfo` are merged in the
/// same way as those of `info`, with `companyInfoChangedAt`.
///
/// # Errors
/// Returns an error if one of the records is not an object.
pub(super) fn merge(stored: &str, incoming: &str) -> json::Result<Vec<Merged>> {
    let of_info = merge_info(stored, incoming)?;
    let of_company = merge_company(stored, of_info.as_ref().map_or(incoming, |merged| &merged.text))?;
    Ok(of_info.into_iter().chain(of_company).collect())
}

/// Merges the `companyInfo` of an imported company with that of the stored company; see [`merge`].
fn merge_company(stored: &str, incoming: &str) -> json::Result<Option<Merged>> {
    if !stored.contains(COMPANY_INFO_CHANGED_AT) && !stored.contains("\\u") {
        return Ok(None);
    }
    let before = Members::read(stored)?;
    let changed = times_of(&before, &OF_COMPANY)?;
    let mut after = Members::read(incoming)?;
    if changed.is_empty() || after.string("type").as_deref() != Some("company") {
        return Ok(None);
    }
    let date = date_of(&after)?;
    let mut times = times_of(&after, &OF_COMPANY)?;
    let old = object(&before, "info").unwrap_or_else(|| "{}".to_owned());
    let old = object(&Members::read(&old)?, COMPANY_INFO).unwrap_or_else(|| "{}".to_owned());
    let old = Members::read(&old)?;
    let info = object(&after, "info").unwrap_or_else(|| "{}".to_owned());
    let mut info = Members::read(&info)?;
    let new = object(&info, COMPANY_INFO).unwrap_or_else(|| "{}".to_owned());
    let mut new = Members::read(&new)?;
    let instant = date.as_ref().map(|(instant, _)| *instant);
    let (kept, overwritten) = merge_fields(changed, (&old, &mut new), &mut times, instant, false);
    info.set(COMPANY_INFO, new.to_json());
    after.set("info", info.to_json());
    set_times(&mut after, &OF_COMPANY, &times);
    let date = date.map(|(_, text)| text);
    Ok(Some(Merged { text: after.to_json(), kept, overwritten, date, by: "the update of company data" }))
}

/// Merges the members that clients have changed in an object. Returns two lists of members whose values differ: the members that
/// were kept, and the members that were overwritten. `date` is the date of the imported data, and `times` contains the times of
/// change in the imported data. If `replaces_all` is true, all members are overwritten.
fn merge_fields(
    changed: Vec<(&'static str, String)>,
    (old, new): (&Members<'_>, &mut Members<'_>),
    times: &mut Vec<(&'static str, String)>,
    date: Option<Timestamp>,
    replaces_all: bool,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut kept, mut overwritten) = (Vec::new(), Vec::new());
    for (field, time) in changed {
        let instant = Timestamp::parse(&time).ok();
        let own = times.iter().find(|(own, _)| *own == field).and_then(|(_, own)| Timestamp::parse(own).ok());
        let is_same = old.string(field) == new.string(field);
        if replaces_all || date.max(own) > instant {
            if !is_same {
                overwritten.push(field);
            }
            continue;
        }
        if !is_same {
            kept.push(field);
        }
        let latin = TRANSLITERATED.into_iter().find(|(of, _)| *of == field).map(|(_, latin)| latin);
        for name in [Some(field), latin].into_iter().flatten() {
            match old.get(name).filter(|value| *value != "null") {
                Some(value) => new.set(name, value.to_owned()),
                None => new.remove(name),
            }
        }
        times.retain(|(own, _)| *own != field);
        times.push((field, time));
    }
    (kept, overwritten)
}

/// Merges the `info` of an imported applicant with that of the stored applicant; see [`merge`].
fn merge_info(stored: &str, incoming: &str) -> json::Result<Option<Merged>> {
    // Most applicants were never changed, and need not be parsed. The key `infoChangedAt` may be written with escapes.
    let may_be_changed = stored.contains(INFO_CHANGED_AT) || stored.contains("\\u");
    if !may_be_changed {
        return Ok(None);
    }
    let before = Members::read(stored)?;
    let changed = times_of(&before, &OF_INFO)?;
    if changed.is_empty() {
        return Ok(None);
    }
    let mut after = Members::read(incoming)?;
    let date = date_of(&after)?;
    let mut times = times_of(&after, &OF_INFO)?;
    let is_company = after.string("type").as_deref() == Some("company");
    let old = object(&before, "info").unwrap_or_else(|| "{}".to_owned());
    let old = Members::read(&old)?;
    let new = object(&after, "info").unwrap_or_else(|| "{}".to_owned());
    let mut new = Members::read(&new)?;
    // Operation 5 may also have transliterated members that it did not change. Such a transliteration is kept if the import is not
    // later, has the same original value, and has no transliteration.
    let latest = changed.iter().filter_map(|(_, time)| Timestamp::parse(time).ok()).max();
    if !is_company && date.as_ref().map(|(instant, _)| *instant) <= latest {
        for (of, latin) in TRANSLITERATED {
            let is_same = old.string(of).is_some() && old.string(of) == new.string(of);
            if is_same
                && new.string(latin).is_none()
                && let Some(value) = old.get(latin)
            {
                new.set(latin, value.to_owned());
            }
        }
    }
    let instant = date.as_ref().map(|(instant, _)| *instant);
    let (kept, overwritten) = merge_fields(changed, (&old, &mut new), &mut times, instant, is_company);
    if !new.is_empty() || after.get("info").is_some() {
        after.set("info", new.to_json());
    }
    set_times(&mut after, &OF_INFO, &times);
    let date = date.map(|(_, text)| text);
    Ok(Some(Merged { text: after.to_json(), kept, overwritten, date, by: "operation 5" }))
}

/// Returns the latest date of an applicant's data, as an instant and as text.
fn date_of(applicant: &Members<'_>) -> json::Result<Option<(Timestamp, String)>> {
    let mut dates = vec![applicant.string("createdAt")];
    if let Some(review) = object(applicant, "review") {
        let review = Members::read(&review)?;
        dates.extend([review.string("createDate"), review.string("reviewDate")]);
    }
    let dates = dates.into_iter().flatten().filter_map(|text| {
        let text = with_offset(&text)?.into_owned();
        Some((Timestamp::parse(&text).ok()?, text))
    });
    Ok(dates.max())
}

/// Returns the record of an imported applicant with the origins ([`COPIED_FROM`]) of the stored applicant. Returns `None` if the
/// stored applicant is not a copy, or if the imported record has origins itself. An import must not hide that an applicant is a
/// copy.
pub(super) fn with_origins(stored: &str, incoming: &str) -> json::Result<Option<String>> {
    if !stored.contains(COPIED_FROM) && !stored.contains("\\u") {
        return Ok(None);
    }
    let stored = Members::read(stored)?;
    let Some(origins) = stored.get(COPIED_FROM).filter(|origins| origins.starts_with('[')) else {
        return Ok(None);
    };
    let mut incoming = Members::read(incoming)?;
    if incoming.get(COPIED_FROM).is_some_and(|own| own.starts_with('[')) {
        return Ok(None);
    }
    incoming.set(COPIED_FROM, origins.to_owned());
    Ok(Some(incoming.to_json()))
}
