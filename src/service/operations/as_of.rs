//! The query parameter `asOf` of searches and counts, which the interface document does not have: cases as of an earlier moment.
//!
//! It needs a permission of its own, because earlier cases may have been deleted since then, or may not be visible to the token any more.
//! The filter of the token applies to the cases as they were.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::case_source::CaseSource;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::service::audit::record::Note;
use crate::service::auth::permission::Permission;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::stop::StopConditions;
use crate::store::{AsOf, OldLimit, ParseAsOfError, StoreError, StoreSnapshot};

/// The name of the parameter.
pub(super) const AS_OF: &str = "asOf";

/// The maximum number of documents that were replaced or deleted since a moment. Their columns take memory while the search runs.
const MOST_OLD_DOCUMENTS: usize = 1_000_000;

/// The longest time for which a search waits for another one as of an earlier moment.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

const BUSY: &str = "another search as of an earlier moment is still running, try again in a moment";

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
    // The old documents of a search as of a moment are in memory while its page is sent.
    let turn = Arc::clone(&shared.old_documents).acquire_owned();
    let turn = Handle::current().block_on(async { tokio::time::timeout(LONGEST_WAIT, turn).await });
    let Ok(Ok(turn)) = turn else {
        return Err(Failure::overloaded().described(BUSY.to_owned()));
    };
    let limit = OldLimit { most: Some(MOST_OLD_DOCUMENTS), guard: Some(Arc::new(turn)) };
    let snapshot = shared.store.as_of_with(moment, stop, limit).map_err(|error: StoreError| {
        match (error.history_gone(), error.request_error()) {
            (Some(gone), _) => refused(&format!("a moment that is kept: {gone}")),
            (None, Some(request)) if !request.is_stop() => {
                Failure::from(Errors::from(request.clone().at(AS_OF)))
            }
            (None, _) => Failure::from(error),
        }
    })?;
    Ok(Some(snapshot))
}
