//! The query parameter `asOf` of searches and counts. With it, they read the cases as they were at an earlier moment. The interface
//! document does not have this parameter.
//!
//! It needs a permission of its own, because earlier cases may have been deleted since then, or may not be visible to the token any
//! more. The filter of the token applies to the cases as they were.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// The maximum number of replaced or deleted documents that a search as of an earlier moment reads. Their columns take memory while
/// the search runs.
const MOST_OLD_DOCUMENTS: usize = 1_000_000;
/// The maximum total length of the texts of these documents, in bytes.
const MOST_OLD_BYTES: usize = 1 << 30;

/// Returns the limit for the documents that a search as of a moment reads.
pub(in crate::service) fn old_limit() -> OldLimit {
    OldLimit { most: Some(MOST_OLD_DOCUMENTS), most_bytes: Some(MOST_OLD_BYTES), guard: None }
}

/// The maximum time that a search as of a moment waits until other such searches have ended.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

const BUSY: &str = "another search as of an earlier moment is still running, try again in a moment";

/// Returns the error for the parameter in a service that does not know it. Other unknown parameters are ignored. But a client that
/// asks for earlier cases must not get the present ones.
pub(super) fn unknown(value: &str) -> Error {
    let expected = "no such parameter, because the service was started without --extended";
    Error::new(ErrorKind::BadValue, 0, quote(value), expected).at(AS_OF)
}

/// The permits of a search as of a moment. While it has them, no other such search runs, neither for its token nor for another
/// token. `None` if a search has no moment, or will be refused.
pub(super) struct Turn(Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>);

/// Returns true if a query string has the parameter.
pub(super) fn has_moment(query: Option<&str>) -> bool {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).any(|(name, _)| name == AS_OF)
}

/// Waits until a search may read the cases of an earlier moment. Waits first for other such searches of its token, so that one
/// token cannot fill the queue that all tokens share. Returns at once if the query string has no moment, or if the search will be
/// refused.
///
/// # Errors
/// Returns an error with status 503 if the search waits too long.
pub(super) async fn turn(
    shared: &ServiceState,
    token: &AppToken,
    query: Option<&str>,
) -> Result<Turn, Failure> {
    let is_refused = !token.may(Permission::ViewHistory) || !token.cache.catalog().is_extended();
    if is_refused || !has_moment(query) {
        return Ok(Turn(None));
    }
    let own = token.state.moments.get_or_init(|| Arc::new(Semaphore::new(1)));
    let turns = async {
        let own = Arc::clone(own).acquire_owned().await.ok()?;
        Some((own, Arc::clone(&shared.old_documents).acquire_owned().await.ok()?))
    };
    match tokio::time::timeout(LONGEST_WAIT, turns).await {
        Ok(Some(turns)) => Ok(Turn(Some(turns))),
        _ => Err(Failure::overloaded().described(BUSY.to_owned())),
    }
}

/// Returns the cases as of a moment, if the parameter has one. Adds the moment to the note.
pub(super) fn snapshot<'s>(
    shared: &'s ServiceState,
    (token, turn): (&AppToken, Turn),
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
    let Turn(Some(turn)) = turn else {
        return Err(Failure::internal("a search as of a moment without a turn"));
    };
    let limit = OldLimit { guard: Some(Arc::new(turn)), ..old_limit() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::limits::Limits;
    use crate::service::auth::tokens::Tokens;
    use crate::service::options::ServiceOptions;
    use crate::store::{Store, StoreOptions};

    #[test]
    fn one_search_of_a_token_and_one_of_all_reads_old_documents() {
        let folder = tempfile::TempDir::new().unwrap();
        let catalog = Catalog::cases().extended();
        let store = Store::create(folder.path().join("c.db"), catalog, StoreOptions::default()).unwrap();
        let entry = |name: &str, permission: &str| serde_json::json!({"token": name, "secret": "0123456789abcdef", "permissions": [permission]});
        let file = serde_json::json!({ "tokens": [entry("a", "viewHistory"), entry("b", "viewHistory"), entry("c", "viewCases")] });
        let tokens = Tokens::new(serde_json::from_value(file).unwrap(), store.catalog(), &Limits::default());
        let shared = ServiceState::new(store, tokens.unwrap(), ServiceOptions::default(), std::iter::empty());
        let token = |name: &str| Arc::clone(shared.tokens.load().find(name).0.unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (a, b, query) = (token("a"), token("b"), Some("limit=1&as%4Ff=1"));
            let first = turn(&shared, &a, query).await.ok().unwrap();
            assert!(first.0.is_some());
            let (own, other) = tokio::join!(turn(&shared, &a, query), turn(&shared, &b, query));
            for refused in [own, other] {
                assert_eq!(refused.err().map(|failure| failure.status().as_u16()), Some(503));
            }
            // A search of the present cases, or one that will be refused, waits for nothing.
            for (token, query) in [(&b, Some("limit=1")), (&b, None), (&token("c"), query)] {
                assert!(turn(&shared, token, query).await.ok().unwrap().0.is_none());
            }
            // Further searches of one token do not fill the queue of the others.
            let mut waiting: Vec<_> = (0..10).map(|_| Box::pin(turn(&shared, &a, query))).collect();
            for waiting in &mut waiting {
                assert!(tokio::time::timeout(Duration::from_millis(1), waiting).await.is_err());
            }
            let other = turn(&shared, &b, query);
            drop(first);
            assert!(tokio::time::timeout(Duration::from_secs(1), other).await.unwrap().is_ok());
        });
    }
}
