//! Counts by value on the admin socket. The command `stats` asks for them if a running service has the database open.
//!
//! The body of `POST /facets` is a JSON object. The response has the form of the response of the public operation.
//!
//! | member | value |
//! |---|---|
//! | `request` | the body of a request for counts as clients send it, as JSON text; if present, all other members except `explain` and `as_of` are ignored |
//! | `body` | a filter as JSON text; if absent, all cases are selected |
//! | `by` | facets in the text form, such as `createdAt:month` |
//! | `limit` | the maximum number of values, for facets without a limit of their own |
//! | `utc_offset_s` | the offset from UTC of the intervals of histograms, in seconds |
//! | `own_criteria_apart` | true to count each facet without the criteria on its own field alone |
//! | `as_of` | the number of a write or a time: counts the cases as they were then |
//! | `explain` | true to return how each facet is counted, instead of the counts: an array `json`, and lines `text` |

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::FixedOffset;
use serde::{Deserialize, Serialize};

use super::search::{limits, noted, snapshot};
use crate::catalog::Catalog;
use crate::engine::FacetExplanation;
use crate::error::Errors;
use crate::facet::{FacetDefaults, FacetsRequest, parse_facet};
use crate::filter::{Filter, FilterBuilder};
use crate::service::audit::record::Note;
use crate::service::http::errors::{Failure, json};
use crate::service::state::ServiceState;
use crate::store::StoreError;

/// The JSON body of a request for counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminFacets {
    request: Option<String>,
    body: Option<String>,
    #[serde(default)]
    by: Vec<String>,
    limit: Option<u64>,
    utc_offset_s: Option<i32>,
    #[serde(default)]
    own_criteria_apart: bool,
    #[serde(default)]
    explain: bool,
    as_of: Option<String>,
}

/// The explanation of a request for counts.
#[derive(Serialize)]
struct Explained {
    json: Vec<FacetExplanation>,
    text: String,
}

impl AdminFacets {
    fn request(&self, catalog: &Catalog) -> Result<FacetsRequest, Errors> {
        let builder = FilterBuilder::new(catalog).with_limits(limits());
        if let Some(request) = &self.request {
            return builder.facets(request.as_bytes());
        }
        let filter = match &self.body {
            None => Filter::all(catalog),
            Some(body) => builder.json(body.as_bytes())?,
        };
        let defaults = FacetDefaults {
            limit: self.limit,
            utc_offset: self.utc_offset_s.and_then(FixedOffset::east_opt),
            own_criteria_apart: self.own_criteria_apart,
        };
        let facets = self.by.iter().map(|text| parse_facet(catalog, text, &defaults));
        let facets = facets.collect::<Result<Vec<_>, _>>().map_err(Errors::from)?;
        Ok(FacetsRequest::new(filter).with_facets(facets))
    }
}

/// Counts the values, and returns the response.
pub(super) async fn answer(shared: &Arc<ServiceState>, facets: AdminFacets) -> Result<Response, Failure> {
    let answer = shared.admin_read(move |shared| {
        let note = Note::default();
        match counted(shared, &facets, &note) {
            Ok(answer) => Ok((answer, note)),
            Err(failure) => Err(failure.noted(note)),
        }
    });
    answer.await.map(|(answer, note)| noted(json(answer), note))
}

/// Counts the values, or explains how they are counted. Adds the filter and the answer to the note for the audit log.
fn counted(shared: &ServiceState, facets: &AdminFacets, note: &Note) -> Result<Vec<u8>, Failure> {
    let catalog = shared.store.catalog().extended();
    let bad = |told: String| Failure::new(StatusCode::BAD_REQUEST, told);
    let refused = |error: StoreError| match error.request_error() {
        Some(_) => bad(error.to_string()),
        None => Failure::of_store(&error),
    };
    let request = facets.request(&catalog).map_err(|errors| bad(errors.to_string()))?;
    note.facets(&request);
    let cases = snapshot(shared, facets.as_of.as_deref(), &request.stop, note)?;
    if facets.explain {
        let json = cases.explain_facets(&request).map_err(refused)?;
        let text = json.iter().map(|facet| format!("{facet}\n")).collect();
        return serde_json::to_vec(&Explained { json, text }).map_err(|error| bad(error.to_string()));
    }
    let answer = cases.facets(&request).map_err(refused)?;
    note.counted(cases.last_write(), answer.total);
    Ok(answer.to_json().into_bytes())
}
