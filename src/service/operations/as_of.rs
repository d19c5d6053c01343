//! The query parameter `asOf` of searches and counts, which the interface document does not have: cases as of an earlier moment.
//!
//! It needs a permission of its own, because earlier cases may have been deleted since then, or may not be visible to the token any more.
//! The filter of the token applies to the cases as they were.

use super::case_source::CaseSource;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::service::audit::record::Note;
use crate::service::auth::permission::Permission;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::stop::StopConditions;
use crate::store::{AsOf, ParseAsOfError, StoreError, StoreSnapshot};

/// The name of the parameter.
pub(super) const AS_OF: &str = "asOf";

/// Returns the error for the parameter in a service that does not know it. Other unknown parameters are ignored. But a client that asks
/// for earlier cases must not get those of now.
pub(super) fn unknown(value: &str) -> Error {
    let expected = "no such parameter, because the service was started without --extended";
    Error::new(ErrorKind::BadValue, 0, quote(value), expected).at(AS_OF)
}

/// Returns the cases of a moment, if the parameter has one. Adds the moment to the note.
pub(super) fn snapshot<'s>(
    shared: &'s ServiceState,
    token: &AppToken,
    text: Option<&str>,
    (note, stop): (Option<&Note>, &StopConditions),
) -> Result<Option<StoreSnapshot<'s>>, Failure> {
    let Some(text) = text else { return Ok(None) };
    if !token.may(Permission::ViewHistory) {
        return Err(Failure::forbidden(Permission::ViewHistory));
    }
    let refused = |expected: &str| {
        let found = quote(text).to_string();
        Failure::from(Errors::from(Error::new(ErrorKind::BadValue, 0, found, expected).at(AS_OF)))
    };
    let parsed = text.parse().map_err(|error: ParseAsOfError| {
        let expected = error.to_string();
        refused(expected.strip_prefix("expected ").unwrap_or(&expected))
    });
    let moment: AsOf = parsed?;
    if !matches!(shared.source, CaseSource::Store) {
        return Err(refused("no moment, because the cases are in a source without a history"));
    }
    if let Some(note) = note {
        note.as_of(&moment);
    }
    let snapshot =
        shared.store.as_of_with(moment, stop).map_err(|error: StoreError| match error.history_gone() {
            Some(gone) => refused(&format!("a moment that is kept: {gone}")),
            None => Failure::from(error),
        })?;
    Ok(Some(snapshot))
}
