//! Erasures on the admin socket. The command `erase` sends them if a running service has the database open.
//!
//! The body of `POST /erasures` is a JSON object:
//!
//! | member | value |
//! |---|---|
//! | `applicant` | the id of an applicant, whose records and cases are erased |
//! | `cases` | ids of cases |
//!
//! The erasure waits until all running imports, and all running backups and copies of the database, have ended. This includes an
//! import whose body is still being received. Imports, backups and copies that begin later wait until the erasure has ended.
//!
//! The response has the counts of erased cases and records, and the standing filters that contain one of the ids. It also has the
//! ids of the applicants that clients have created as copies of the erased applicant. Those copies are not erased.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::domain::{copies_of_applicant, erasure_of_applicant};
use crate::service::audit::record::Note;
use crate::service::http::errors::{Failure, json};
use crate::service::state::ServiceState;
use crate::standing::StandingFilter;
use crate::store::{Erasure, ErasureReport};

/// The JSON body of an erasure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminErasure {
    applicant: Option<String>,
    #[serde(default)]
    cases: Vec<String>,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    erased: ErasureReport,
    standing_filters: Vec<Named>,
    copies: Vec<String>,
}

/// A standing filter that contains an id.
#[derive(Serialize)]
struct Named {
    name: String,
    /// The owner of the filter, if the filter belongs to a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl From<StandingFilter> for Named {
    fn from(filter: StandingFilter) -> Self {
        Self { name: filter.name().to_owned(), owner: filter.owner().map(str::to_owned) }
    }
}

/// Erases the cases and records. Returns the response, which has the note for the audit log as an extension.
pub(super) async fn answer(shared: &Arc<ServiceState>, erasure: AdminErasure) -> Result<Response, Failure> {
    if erasure.applicant.is_none() && erasure.cases.is_empty() {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "expected `applicant` or `cases`"));
    }
    let run = move |shared: &ServiceState| {
        let AdminErasure { applicant, cases } = erasure;
        let catalog = shared.store.catalog().extended();
        let erasure = match &applicant {
            Some(id) => erasure_of_applicant(&catalog, id).map_err(|errors| {
                let description =
                    format!("{}; name the cases of the applicant by their ids", errors.message());
                Failure::new(StatusCode::BAD_REQUEST, description)
            })?,
            None => Erasure::new(),
        };
        let erased = shared.store.erase(&erasure.with_ids(cases.iter().cloned()));
        let erased = erased.map_err(|error| Failure::of_store(&error))?;
        let ids = applicant.iter().chain(&cases).map(String::as_str);
        let naming = shared.store.standing_filters_naming(ids);
        let naming = naming.map_err(|error| Failure::of_store(&error))?;
        let standing_filters = naming.into_iter().map(Named::from).collect();
        let copies = applicant.as_deref().map(|id| copies_of_applicant(&shared.store, id));
        let copies = copies.transpose().map_err(|error| Failure::of_store(&error))?.unwrap_or_default();
        let note = Note::default();
        note.erased(&erased, applicant.as_deref(), &cases);
        Ok((Answer { erased, standing_filters, copies }, note))
    };
    let (answer, note) = shared.admin_erase(run).await?;
    let body = serde_json::to_vec(&answer).map_err(|error| Failure::internal(error.to_string()))?;
    let mut response = json(body);
    response.extensions_mut().insert(Arc::new(note));
    Ok(response)
}
