//! Merges an imported applicant with the members of `info` that operation 5 (update of extracted info) has changed in the stored
//! applicant.
//!
//! The record of an applicant has a member `infoChangedAt`. It contains, for each changed member of `info`, the time when operation
//! 5 changed it. An import replaces such a member only if its data has a later date; see [`merge`].

use chrono::{DateTime, Utc};

use super::members::{Members, json_string};
use super::schemas::INFO_CHANGED_AT;
use super::time::with_offset;
use crate::json;
use crate::value::Timestamp;

/// The members of `info` that operation 5 can change, in the order of the interface document.
pub(super) const FIELDS: [&str; 6] =
    ["firstName", "lastName", "dob", "placeOfBirth", "countryOfBirth", "stateOfBirth"];

/// The members that have a transliteration, each with the name of the member that contains the transliteration.
pub(super) const TRANSLITERATED: [(&str, &str); 3] =
    [("firstName", "firstNameEn"), ("lastName", "lastNameEn"), ("placeOfBirth", "placeOfBirthEn")];

/// Sets the time of change of the members `changed` to `now`.
pub(super) fn mark_changed(
    applicant: &mut Members<'_>,
    changed: impl Iterator<Item = &'static str>,
    now: DateTime<Utc>,
) -> json::Result<()> {
    let mut times = times_of(applicant)?;
    let now = now.format("%Y-%m-%d %H:%M:%S+0000").to_string();
    for field in changed {
        times.retain(|(own, _)| *own != field);
        times.push((field, now.clone()));
    }
    set_times(applicant, &times);
    Ok(())
}

/// Returns the members of `info` that operation 5 (update of extracted info) has changed, each with the time of the change as text.
fn times_of(applicant: &Members<'_>) -> json::Result<Vec<(&'static str, String)>> {
    let Some(times) = object(applicant, INFO_CHANGED_AT) else { return Ok(Vec::new()) };
    let times = Members::read(&times)?;
    let time = |field| Some((field, with_offset(&times.string(field)?)?.into_owned()));
    Ok(FIELDS.into_iter().filter_map(time).collect())
}

fn set_times(applicant: &mut Members<'_>, times: &[(&'static str, String)]) {
    if times.is_empty() {
        return applicant.remove(INFO_CHANGED_AT);
    }
    let mut members = Members::default();
    for field in FIELDS {
        if let Some((_, time)) = times.iter().find(|(own, _)| *own == field) {
            members.set(field, json_string(time));
        }
    }
    applicant.set(INFO_CHANGED_AT, members.to_json());
}

/// Returns the text of a member if its value is an object.
fn object(of: &Members<'_>, name: &str) -> Option<String> {
    of.get(name).filter(|value| value.starts_with('{')).map(str::to_owned)
}

/// The result of merging an imported applicant with a stored applicant.
pub(super) struct Merged {
    /// The merged record, as text to store.
    pub(super) text: String,
    /// The members that keep the value that a client set through operation 5, although the import has a different value.
    pub(super) kept: Vec<&'static str>,
    /// The members that get the value of the import, because it is different and later.
    pub(super) overwritten: Vec<&'static str>,
    /// The latest date of the imported data, as text. `None` if the data has no date.
    pub(super) date: Option<String>,
}

/// Merges an imported applicant with the stored applicant. Returns `None` if operation 5 has changed no member of the stored
/// applicant.
///
/// A changed member is replaced only by later data. The date of the imported data is the latest of `createdAt`, `review.createDate`
/// and `review.reviewDate`. An exported record may also have an `infoChangedAt`. Its time for a member is a fourth date of this
/// member. Times are compared with a precision of one second. If the imported applicant is a company, all members are replaced.
///
/// # Errors
/// Returns an error if one of the records is not an object.
pub(super) fn merge(stored: &str, incoming: &str) -> json::Result<Option<Merged>> {
    // Most applicants were never changed, and need not be parsed. The key `infoChangedAt` may be written with escapes.
    let may_be_changed = stored.contains(INFO_CHANGED_AT) || stored.contains("\\u");
    if !may_be_changed {
        return Ok(None);
    }
    let before = Members::read(stored)?;
    let changed = times_of(&before)?;
    if changed.is_empty() {
        return Ok(None);
    }
    let mut after = Members::read(incoming)?;
    let date = date_of(&after)?;
    let mut times = times_of(&after)?;
    let is_company = after.string("type").as_deref() == Some("company");
    let old = object(&before, "info").unwrap_or_else(|| "{}".to_owned());
    let old = Members::read(&old)?;
    let new = object(&after, "info").unwrap_or_else(|| "{}".to_owned());
    let mut new = Members::read(&new)?;
    // Operation 5 may also have transliterated members that it did not change. These transliterations are kept if the import has
    // none.
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
    let (mut kept, mut overwritten) = (Vec::new(), Vec::new());
    for (field, time) in changed {
        let instant = Timestamp::parse(&time).ok();
        let own = times.iter().find(|(own, _)| *own == field).and_then(|(_, own)| Timestamp::parse(own).ok());
        let date = date.as_ref().map(|(instant, _)| *instant).max(own);
        let is_same = old.string(field) == new.string(field);
        if is_company || date > instant {
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
    if !new.is_empty() || after.get("info").is_some() {
        after.set("info", new.to_json());
    }
    set_times(&mut after, &times);
    Ok(Some(Merged { text: after.to_json(), kept, overwritten, date: date.map(|(_, text)| text) }))
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
