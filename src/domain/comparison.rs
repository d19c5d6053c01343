//! The comparison of the data that was extracted from documents (`info`) with the data that the applicant has given (`fixedInfo`).

use serde::Serialize;

use super::clients::Clients;
use super::country::is_same_country;
use super::error::DomainError;
use super::members::Members;
use super::records::APPLICANTS;
use super::room::Room;
use super::schemas::COMPANY_INFO;
use crate::error::{Error, ErrorKind, Errors, Found, nearest, quote};
use crate::store::Store;

/// A field that can be compared.
struct Compared {
    /// The path in `info` and in `fixedInfo`.
    path: &'static str,
    /// The applicants for which the field is compared if the request names no fields.
    default_for: DefaultFor,
    /// True if only readers with the permission to view personal data see the values.
    is_personal: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultFor {
    Individuals,
    Companies,
    None,
}

const fn of(path: &'static str, default_for: DefaultFor, is_personal: bool) -> Compared {
    Compared { path, default_for, is_personal }
}

/// All fields that can be compared.
static FIELDS: [Compared; 21] = {
    use DefaultFor::{Companies, Individuals, None};
    [
        of("firstName", Individuals, true),
        of("firstNameEn", None, true),
        of("lastName", Individuals, true),
        of("lastNameEn", None, true),
        of("aliasName", Individuals, true),
        of("dob", Individuals, true),
        of("country", Individuals, true),
        of("placeOfBirth", Individuals, true),
        of("placeOfBirthEn", None, true),
        of("countryOfBirth", Individuals, true),
        of("stateOfBirth", Individuals, true),
        of("companyInfo.companyName", Companies, false),
        of("companyInfo.registrationNumber", Companies, false),
        of("companyInfo.country", Companies, false),
        of("companyInfo.legalAddress", Companies, false),
        of("companyInfo.incorporatedOn", Companies, false),
        of("companyInfo.type", Companies, false),
        of("companyInfo.taxId", Companies, false),
        of("companyInfo.email", Companies, true),
        of("companyInfo.phone", Companies, true),
        of("companyInfo.website", Companies, false),
    ]
};

/// The result of a comparison.
#[derive(Serialize)]
struct Comparison {
    /// All paths that were compared, including paths with equal values and paths without values.
    compared: Vec<&'static str>,
    differences: Vec<Difference>,
}

/// A field whose values differ.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    field: &'static str,
    kind: DifferenceKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_info: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum DifferenceKind {
    /// Both `info` and `fixedInfo` have a value, and the values differ.
    Different,
    NotInInfo,
    NotInFixedInfo,
}

/// Returns the fields in which `info` and `fixedInfo` of an applicant differ, as JSON, for a caller who sees only the applicants of
/// `clients`. `fields` has one item for each occurrence of the query parameter `fields`. The parameter may occur at most once. An
/// item is a list of paths, separated by commas. Without paths, all fields for the type of the applicant are compared, except for
/// transliterations.
///
/// In the record of a company, the data that the applicant gave are members of `fixedInfo.companyInfo`. A member that is absent
/// there is looked up in `fixedInfo` itself.
///
/// Two texts are equal if they consist of the same code points. Two country codes are also equal if they denote the same country.
/// This is the case only for `RKS` and `XKX`. If `sees_personal_data` is false, values about persons are left out.
///
/// # Errors
/// Returns [`Invalid`](super::DomainErrorKind::Invalid) for an unknown path and for a repeated parameter, and
/// [`NotFound`](super::DomainErrorKind::NotFound) for an unknown applicant. Returns an error if the store cannot be read.
pub(crate) fn compare_info_in(
    store: &Store,
    applicant_id: &str,
    (clients, sees_personal_data): (Clients<'_>, bool),
    fields: &[String],
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let named = parse(fields)?;
    let unknown = || DomainError::no_applicant(applicant_id);
    let records = store.records()?;
    if !clients.list(&records, applicant_id)? {
        return Err(unknown());
    }
    // The record, both objects with their `companyInfo`, and the answer are in memory at the same time.
    room.take(records.size(APPLICANTS, applicant_id)?.saturating_mul(4))?;
    let text = clients.get(&records, applicant_id)?.ok_or_else(unknown)?;
    let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
    let applicant = Members::read(&text).map_err(corrupt)?;
    let default_for = match applicant.string("type").as_deref() {
        Some("company") => DefaultFor::Companies,
        _ => DefaultFor::Individuals,
    };
    let is_asked = |field: &&Compared| match named.is_empty() {
        true => field.default_for == default_for,
        false => named.contains(&field.path),
    };
    let info = texts(&applicant, "info").map_err(corrupt)?;
    let fixed_info = texts(&applicant, "fixedInfo").map_err(corrupt)?;
    let info = Side::read(&info, false).map_err(corrupt)?;
    let is_company = default_for == DefaultFor::Companies;
    let fixed_info = Side::read(&fixed_info, is_company).map_err(corrupt)?;
    let mut comparison = Comparison { compared: Vec::new(), differences: Vec::new() };
    for field in FIELDS.iter().filter(is_asked) {
        comparison.compared.push(field.path);
        let (own, given) = (info.value(field.path), fixed_info.value(field.path));
        let kind = match (&own, &given) {
            (Some(own), Some(given)) if !is_equal(field.path, own, given) => DifferenceKind::Different,
            (Some(_), None) => DifferenceKind::NotInFixedInfo,
            (None, Some(_)) => DifferenceKind::NotInInfo,
            _ => continue,
        };
        let is_shown = sees_personal_data || !field.is_personal;
        comparison.differences.push(Difference {
            field: field.path,
            kind,
            info: own.filter(|_| is_shown),
            fixed_info: given.filter(|_| is_shown),
        });
    }
    serde_json::to_string(&comparison).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}

/// Returns the paths that a request names.
fn parse(fields: &[String]) -> Result<Vec<&'static str>, Errors> {
    let wrong = |error: Error| Errors::from(error.at("fields"));
    let list = match fields {
        [] => return Ok(Vec::new()),
        [list] => list,
        [_, again, ..] => {
            let found = format!("{} again", quote(again));
            return Err(wrong(Error::new(ErrorKind::DuplicateKey, 0, found, "this parameter at most once")));
        }
    };
    let mut named = Vec::new();
    for path in list.split(',').filter(|path| !path.is_empty()) {
        let Some(known) = FIELDS.iter().find(|field| field.path == path) else {
            let expected = "a field that can be compared, such as `lastName` or `companyInfo.companyName`";
            let error = Error::new(ErrorKind::UnknownField, 0, Found::text(path), expected);
            return Err(wrong(
                error.suggest(nearest(path, FIELDS.iter().map(|field| field.path)).map(quote)),
            ));
        };
        if !named.contains(&known.path) {
            named.push(known.path);
        }
    }
    Ok(named)
}

fn is_equal(path: &str, one: &str, other: &str) -> bool {
    one == other || path.to_lowercase().contains("country") && is_same_country(one, other)
}

/// Returns the text of a member that is an object. Returns an empty object if the member is absent or not an object.
fn object(of: &Members<'_>, name: &str) -> String {
    of.get(name).filter(|value| value.starts_with('{')).unwrap_or("{}").to_owned()
}

/// The `info` or the `fixedInfo` of an applicant, with the members of its `companyInfo`.
struct Side<'t> {
    own: Members<'t>,
    company: Members<'t>,
    /// True if members of `companyInfo` may also be members of the object itself. This is the case for the `fixedInfo` of a
    /// company: a verification step can require direct members of `fixedInfo`, but not members of `fixedInfo.companyInfo`.
    is_flat: bool,
}

impl<'t> Side<'t> {
    fn read((own, company): &'t (String, String), is_flat: bool) -> crate::json::Result<Self> {
        Ok(Self { own: Members::read(own)?, company: Members::read(company)?, is_flat })
    }

    /// Returns the value at a path. Returns `None` if it is absent, `null` or not a string.
    fn value(&self, path: &str) -> Option<String> {
        match path.split_once('.') {
            Some((_, name)) => {
                let flat = || self.own.string(name).filter(|_| self.is_flat);
                self.company.string(name).or_else(flat)
            }
            None => self.own.string(path),
        }
    }
}

/// Returns the text of a member of an applicant, and that of its `companyInfo`.
fn texts(applicant: &Members<'_>, name: &str) -> crate::json::Result<(String, String)> {
    let own = object(applicant, name);
    let company = object(&Members::read(&own)?, COMPANY_INFO);
    Ok((own, company))
}
