//! The endpoint of counts by value: counts the values of fields in the selected cases. It selects cases like operation 1 (cases by
//! filters), but is not part of the interface document.

use std::sync::Arc;

use axum::body::Body;
use axum::http::StatusCode;
use axum::routing::MethodFilter;

use super::as_of::{self, AS_OF, Turn};
use super::case_source::CaseSource;
use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::{self, Parameters};
use crate::domain::DomainError;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::facet::{FacetsAnswer, FacetsRequest};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::http::outgoing::Outgoing;
use crate::service::search_stop::SearchStop;
use crate::service::state::ServiceState;
use crate::store::StoreSnapshot;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "caseFacets",
    method: MethodFilter::POST,
    path: "/resources/api/caseManagement/v2/cases/facets",
    permission: Permission::ViewCases,
    parameters: Parameters { known: &[AS_OF], unsupported: None },
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Search(|state, call| Box::pin(facets(state, call))),
};

/// Counts on a blocking thread. If the client disconnects, the counting is stopped.
async fn facets(shared: Arc<ServiceState>, call: Call) -> Result<Body, Failure> {
    let token = Arc::clone(&call.token);
    let stop = SearchStop::after(shared.options.search_timeout);
    let guard = stop.guard();
    let client = call.client.clone();
    let reservation = shared.outgoing.reserve(&token, &call.in_flight);
    let turn = as_of::turn(&shared, &token, call.query.as_deref()).await?;
    // Stopped counting ends soon, so the task still waits for its result.
    let watching = async {
        client.gone().await;
        guard.cancel();
        std::future::pending().await
    };
    let text = tokio::select! {
        biased;
        text = shared.run_on_worker(&token, move |shared| facets_now(shared, (&call, turn), stop)) => text,
        never = watching => never,
    };
    Outgoing::body(reservation, text?.into_bytes())
}

fn facets_now(
    shared: &ServiceState,
    (call, turn): (&Call, Turn),
    stop: SearchStop,
) -> Result<String, Failure> {
    let known =
        if call.token.cache.catalog().is_extended() { &ENDPOINT.parameters } else { &Parameters::NONE };
    parameters::check(known, call.query.as_deref())?;
    let request = call.token.cache.facets(&call.body);
    let request = request.inspect_err(|errors| shared.metrics.count_errors(errors))?;
    let request = stop.apply_to_facets(request);
    if let Some(note) = &call.note {
        note.facets(&request);
    }
    let query = call.query.as_deref().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == AS_OF);
    let text = pairs.next().map(|(_, value)| value);
    if let Some((_, second)) = pairs.next() {
        let found = format!("{} again", quote(&second));
        let error = Error::new(ErrorKind::DuplicateKey, 0, found, "the parameter once").at(AS_OF);
        return Err(Errors::from(error).into());
    }
    if let Some(text) = &text
        && !call.token.cache.catalog().is_extended()
    {
        return Err(Errors::from(as_of::unknown(text)).into());
    }
    let note = (call.note.as_deref(), &request.stop);
    let moment = as_of::snapshot(shared, (&call.token, turn), text.as_deref(), note);
    let moment = moment.inspect_err(|failure| shared.count_if_stopped(failure, &request.stop))?;
    let moment = moment.unwrap_or_else(|| shared.store.snapshot());
    let counted = match &shared.source {
        CaseSource::Store => counted(moment, &request),
        #[cfg(feature = "postgres")]
        CaseSource::Postgres(source) => {
            let counts = tokio::runtime::Handle::current().block_on(source.facets(&request));
            counts.map(|answer| (answer, None)).map_err(Failure::from)
        }
    };
    let (answer, last_write) =
        counted.inspect_err(|failure| shared.count_if_stopped(failure, &request.stop))?;
    if let Some(note) = &call.note {
        note.counted(last_write, answer.total);
    }
    let text = answer.to_json();
    if text.len() > shared.options.max_response_bytes {
        let message = format!(
            "Invalid parameters: facets: found an answer of {} bytes, expected at most {}; a smaller `limit` makes it shorter",
            text.len(),
            shared.options.max_response_bytes
        );
        return Err(Failure::new(StatusCode::BAD_REQUEST, message));
    }
    Ok(text)
}

/// Counts in a snapshot of the store. Also returns the number of the last write that the snapshot contains.
fn counted(
    snapshot: StoreSnapshot<'_>,
    request: &FacetsRequest,
) -> Result<(FacetsAnswer, Option<u64>), Failure> {
    let answer = snapshot.facets(request).map_err(|error| match error.request_error() {
        Some(stop) if stop.is_stop() => Failure::stopped(),
        Some(error) => Failure::from(Errors::from(error.clone())),
        None => Failure::from(error),
    })?;
    Ok((answer, snapshot.last_write()))
}
