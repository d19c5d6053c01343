//! Deletions on the admin socket. The command `delete` sends them if a running service has the database open.
//!
//! The body of `POST /deletions` is a JSON object:
//!
//! | member | value |
//! |---|---|
//! | `body` | a filter as JSON text; if absent, all cases are selected |
//! | `expected` | the number of cases that the client expects to delete; if absent, the cases are counted and not deleted |
//!
//! If the filter selects another number of cases than expected, nothing is deleted, and the response is an error with status 409.
//! The error message tells the client the number of selected cases. So the audit log records this request like a request that only
//! counts cases.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::search::limits;
use crate::filter::{Filter, FilterBuilder, SearchRequest};
use crate::limits::Limits;
use crate::service::admin::search::noted;
use crate::service::audit::record::Note;
use crate::service::http::errors::{Failure, json};
use crate::service::state::ServiceState;
use crate::store::{Durability, StoreError};

/// The JSON body of a deletion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deletion {
    body: Option<String>,
    expected: Option<u64>,
}

#[derive(Serialize)]
struct Deleted {
    /// The number of selected cases.
    selected: u64,
    /// The number of cases in the database after the deletion.
    cases: usize,
}

/// Counts the selected cases, or deletes them in one transaction.
pub(super) async fn answer(shared: &Arc<ServiceState>, deletion: Deletion) -> Result<Response, Failure> {
    let (deleted, note) = shared.own_write(move |shared| run(shared, &deletion)).await?;
    let response = serde_json::to_vec(&deleted).map(|bytes| noted(json(bytes), note));
    response.map_err(|error| Failure::internal(error.to_string()))
}

fn run(shared: &ServiceState, deletion: &Deletion) -> Result<(Deleted, Note), Failure> {
    let catalog = shared.store.catalog().extended();
    let filter = match &deletion.body {
        None => Filter::all(&catalog),
        Some(body) => {
            let limits = Limits { ids: usize::MAX, ..limits() };
            let filter = FilterBuilder::new(&catalog).with_limits(limits).json(body.as_bytes());
            filter.map_err(|errors| Failure::new(StatusCode::BAD_REQUEST, errors.to_string()))?
        }
    };
    let note = Note::default();
    let request = SearchRequest::new(filter).with_limit(u64::MAX);
    let bad = |error: StoreError| Failure::of_store(&error);
    let mut found = shared.store.documents(&request).map_err(bad)?;
    found.read_ids().map_err(bad)?;
    let last_write = found.last_write();
    let mut ids = Vec::new();
    while let Some(id) = found.next_id().map(str::to_owned) {
        ids.push(id);
        found.pass_over();
    }
    drop(found);
    let selected = ids.len() as u64;
    if deletion.expected != Some(selected) {
        note.search(&request);
        note.counted(last_write, selected);
    }
    if let Some(expected) = deletion.expected {
        if expected != selected {
            let description =
                format!("the filter now selects {selected} cases instead of {expected}; nothing was deleted");
            return Err(Failure::new(StatusCode::CONFLICT, description).noted(note));
        }
        let deleted = match shared.store.delete_many(&ids, Durability::Synced) {
            Ok(deleted) => deleted,
            // The cases may have been deleted before the error.
            Err(error) => {
                note.search(&request);
                note.counted(last_write, selected);
                return Err(Failure::of_store(&error).noted(note));
            }
        };
        note.deleted(&request.filter, deleted as u64);
        tracing::info!(cases = deleted, "deleted cases on the admin socket");
    }
    Ok((Deleted { selected, cases: shared.store.len() }, note))
}
