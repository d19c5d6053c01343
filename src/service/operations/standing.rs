//! The endpoints that store, show, list and remove the standing filters of a token. They also check the limits on the number and
//! the total size of its filters.

use axum::http::StatusCode;
use axum::routing::MethodFilter;
use serde::Serialize;
use serde_json::value::RawValue;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::catalog::{Catalog, Field, FieldId};
use crate::domain::Room;
use crate::envelope::error_codes;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::standing::StandingFilter;
use crate::store::{Exchange, NewOwnedFilter, OwnedFilter, StoreError, StoreErrorKind};

/// The path of the list of filters.
const ALL: &str = "/resources/api/caseManagement/v2/cases/standingFilters";
/// The path of one filter.
const ONE: &str = "/resources/api/caseManagement/v2/cases/standingFilters/{name}";

/// The query parameter that lists the fields whose changes give events.
const FIELDS: &str = "fields";

const fn endpoint(
    name: &'static str,
    method: MethodFilter,
    path: &'static str,
    handler: Handler,
) -> Endpoint {
    let (permission, parameters) = (Permission::ManageFilters, Parameters::NONE);
    Endpoint { name, method, path, permission, parameters, invalid_id: unknown, handler }
}

pub(super) const LIST: Endpoint =
    endpoint("listStandingFilters", MethodFilter::GET, ALL, Handler::Read(list));

pub(super) const PUT: Endpoint = Endpoint {
    parameters: Parameters { known: &[FIELDS], unsupported: None },
    invalid_id: |raw| {
        let error = Error::new(ErrorKind::NotUtf8, 0, quote(raw).to_string(), "a name that decodes to UTF-8");
        Failure::from(Errors::from(error.at("name")))
    },
    ..endpoint("putStandingFilter", MethodFilter::PUT, ONE, Handler::Write(put))
};

pub(super) const GET: Endpoint = endpoint("getStandingFilter", MethodFilter::GET, ONE, Handler::Read(get));

pub(super) const DELETE: Endpoint =
    endpoint("deleteStandingFilter", MethodFilter::DELETE, ONE, Handler::Write(delete));

/// The JSON of a standing filter.
#[derive(Serialize)]
struct Shown<'f> {
    name: &'f str,
    /// The body that the client has given.
    body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<&'f str>,
    /// The reason why the filter selects no case at the moment: the body does not compile under the present restrictions of the
    /// token, or the token may not see one of the `fields`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct List<'f> {
    filters: Vec<Shown<'f>>,
}

#[derive(Serialize)]
struct Put<'f> {
    name: &'f str,
    /// True if the token had a filter of this name.
    replaced: bool,
}

#[derive(Serialize)]
struct Deleted<'f> {
    name: &'f str,
}

fn unknown(name: &str) -> Failure {
    let description = format!("the token has no standing filter {}", quote(name));
    Failure::new(StatusCode::NOT_FOUND, description).coded(error_codes::NO_STANDING_FILTER)
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))
}

/// Stores a filter, or replaces the token's filter of the same name. If an equal filter is stored already, writes nothing.
fn put(shared: &ServiceState, call: &Call, _: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    shared.check_standing()?;
    let (token, name) = (&call.token, call.path_id.as_str());
    note_name(call);
    let catalog = token.cache.catalog();
    let compiled = Errors::both(token.cache.compile(&call.body), fields(call, catalog));
    let (filter, fields) = compiled.inspect_err(|errors| shared.metrics.count_errors(errors))?;
    let standing = StandingFilter::owned(token.owner.as_str(), name, &filter).with_fields(fields);
    if let Some(note) = &call.note {
        note.stored(&filter, &names(standing.fields(), catalog));
    }
    // Without this check, the filter would be stored under restrictions that are not those of the token any more.
    if !shared.is_in_force(&call.signer()) {
        let description =
            "the token has changed while the request waited, try again in a moment; nothing was changed";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, description).coded(error_codes::NO_TURN));
    }
    let own = shared.store.owned_filters(token.owner.of_token(), |other| other == name).map_err(failure)?;
    let (before, others): (Vec<OwnedFilter>, Vec<OwnedFilter>) =
        own.into_iter().partition(|own| own.name == name);
    // The filter has compiled, so the body is UTF-8.
    let new = NewOwnedFilter { filter: standing, body: String::from_utf8_lossy(&call.body).into_owned() };
    check_room(shared, &others, new.stored_bytes())?;
    let is_own = |old: &OwnedFilter| old.owner == token.owner.as_str();
    let is_same =
        |old: &OwnedFilter| old.body.as_ref() == Some(&new.body) && old.fields == new.filter.fields();
    let replaced = !before.is_empty();
    let is_stored = shared.store.has_owned(&new.filter);
    if !is_stored || !matches!(&before[..], [old] if is_own(old) && is_same(old)) {
        // The filter selects other cases from now on, though the client may have sent the same body as before.
        let is_changed = before.iter().any(|old| !is_own(old) || is_same(old) && !is_stored);
        let changed = is_changed.then(|| token.owner.of_token());
        let exchange = Exchange { removed: &before, inserted: vec![new], changed };
        shared.store.exchange_owned(exchange).map_err(failure)?;
    } else if shared.writes_fail() {
        // Nothing was written, but the success of this request will clear `writes_fail`. So the file is recovered first.
        shared.store.recover().map_err(failure)?;
    }
    to_json(&Put { name, replaced })
}

/// Checks that a token may have a new filter in addition to its other filters.
fn check_room(shared: &ServiceState, others: &[OwnedFilter], new_bytes: usize) -> Result<(), Errors> {
    let refused = |found: String, expected: String| {
        Err(Errors::from(Error::new(ErrorKind::TooManyFilters, 0, found, expected)))
    };
    let (count, most) = (others.len().saturating_add(1), shared.options.standing_filters);
    if count > most {
        return refused(format!("{count} standing filters of the token"), format!("at most {most}"));
    }
    let bytes = others.iter().map(|other| other.stored_bytes).fold(new_bytes, usize::saturating_add);
    let most = shared.options.standing_bytes;
    if bytes > most {
        let found = format!("{bytes} bytes of standing filters of the token, with its restrictions");
        return refused(found, format!("at most {most} bytes"));
    }
    Ok(())
}

/// Returns the fields that the query parameter `fields` names, separated by commas.
fn fields(call: &Call, catalog: &Catalog) -> Result<Vec<FieldId>, Errors> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let query = call.query.as_deref().unwrap_or_default();
    let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == FIELDS);
    if let Some((_, value)) = values.next() {
        for name in value.split(',') {
            match catalog.find(name) {
                Some(field) => found.push(field),
                None => {
                    let error = Error::new(
                        ErrorKind::UnknownField,
                        0,
                        quote(name).to_string(),
                        "a field of the catalogue",
                    );
                    errors.push(error.at(FIELDS));
                }
            }
        }
    }
    if let Some((_, value)) = values.next() {
        let found = format!("{} again", quote(&value));
        errors.push(Error::new(ErrorKind::DuplicateKey, 0, found, "the parameter once").at(FIELDS));
    }
    Errors::in_order(errors).map_or(Ok(found), Err)
}

fn get(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    shared.check_standing()?;
    note_name(call);
    let name = call.path_id.as_str();
    let stored = stored(shared, call, room, |own| own == name)?;
    let found = stored.iter().find(|own| own.name == name).ok_or_else(|| unknown(name))?;
    to_json(&shown(found, call))
}

fn list(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    shared.check_standing()?;
    let mut stored = stored(shared, call, room, |_| true)?;
    stored.sort_by(|one, next| one.name.cmp(&next.name));
    to_json(&List { filters: stored.iter().map(|own| shown(own, call)).collect() })
}

/// Reads the filters of a token. Reads the body of a filter only if `has_body` returns true for the filter's name. First reserves
/// memory for three copies of these bodies: the stored text, the parsed form, and the text in the response.
fn stored(
    shared: &ServiceState,
    call: &Call,
    room: &mut Room<'_>,
    has_body: impl Fn(&str) -> bool + Copy,
) -> Result<Vec<OwnedFilter>, Failure> {
    let of_token = call.token.owner.of_token();
    let all = shared.store.owned_filters(of_token, |_| false).map_err(failure)?;
    let bodies = all.iter().filter(|own| has_body(&own.name)).map(|own| own.body_bytes);
    room.take(bodies.fold(0, usize::saturating_add).saturating_mul(3))?;
    shared.store.owned_filters(of_token, has_body).map_err(failure)
}

fn shown<'f>(stored: &'f OwnedFilter, call: &'f Call) -> Shown<'f> {
    let catalog = call.token.cache.catalog();
    let body = stored.body.as_deref().unwrap_or_default();
    let hidden = stored.fields.iter().any(|field| !catalog.is_visible(*field));
    let compiled = call.token.cache.builder().json(body.as_bytes());
    let error = match compiled {
        Err(errors) => Some(errors.message()),
        Ok(_) if hidden => Some("`fields` names a field that the token may not see any more".to_owned()),
        Ok(_) => None,
    };
    // JSON text may begin with a byte order mark, which is not a part of the value.
    let body = RawValue::from_string(body.trim_start_matches('\u{feff}').to_owned()).ok();
    Shown { name: &stored.name, body, fields: names(&stored.fields, catalog), error }
}

/// Returns the names of the fields that a token may see.
fn names<'c>(fields: &[FieldId], catalog: &'c Catalog) -> Vec<&'c str> {
    let visible = fields.iter().filter(|field| catalog.is_visible(**field));
    visible.filter_map(|field| catalog.get(*field)).map(Field::name).collect()
}

fn delete(shared: &ServiceState, call: &Call, _: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    shared.check_standing()?;
    note_name(call);
    let name = call.path_id.as_str();
    let mut own = shared.store.owned_filters(call.token.owner.of_token(), |_| false).map_err(failure)?;
    own.retain(|own| own.name == name);
    if own.is_empty() {
        return Err(unknown(name));
    }
    let exchange = Exchange { removed: &own, inserted: Vec::new(), changed: None };
    shared.store.exchange_owned(exchange).map_err(failure)?;
    to_json(&Deleted { name })
}

fn note_name(call: &Call) {
    if let Some(note) = &call.note {
        note.standing(&call.path_id);
    }
}

/// Converts an error of the store. A filter or a name that is not accepted is an error of the client.
fn failure(error: StoreError) -> Failure {
    if error.kind() == StoreErrorKind::OldFormat {
        let description = "the database of this service has an earlier format, which has no standing filters";
        return Failure::new(StatusCode::NOT_FOUND, description).coded(error_codes::NO_STANDING);
    }
    match error.request_error() {
        Some(refused) if !refused.is_stop() => Failure::from(Errors::from(refused.clone())),
        _ => Failure::from(error),
    }
}
