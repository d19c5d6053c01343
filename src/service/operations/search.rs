//! The endpoint of operation 1 (cases by filters): searches cases.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::routing::MethodFilter;

use super::as_of::{self, AS_OF, Turn};
use super::case_source::CaseSource;
use super::endpoint::{Call, Endpoint, Handler};
use super::pages::{Found, NewPage};
use super::parameters::{Parameters, misspelt};
use crate::domain::DomainError;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::filter::SearchParams;
use crate::service::auth::permission::Permission;
use crate::service::http::budget::Reservation;
use crate::service::http::errors::Failure;
use crate::service::http::outgoing::Outgoing;
use crate::service::search_stop::SearchStop;
use crate::service::state::ServiceState;
use crate::stop::StopConditions;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "casesByFilter",
    method: MethodFilter::POST,
    path: "/resources/api/caseManagement/v2/cases/byFilter",
    permission: Permission::ViewCases,
    parameters: PARAMETERS,
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Search(|state, call| Box::pin(search(state, call))),
};

const NAMES: [&str; 7] = ["offset", "limit", "order", "countTotalItems", "pageCursor", "after", AS_OF];

/// The number of query parameters that the interface document has: the first ones in [`NAMES`]. The other parameters exist only if
/// the catalogue is extended.
const INTERFACE_NAMES: usize = 4;

pub(super) const PARAMETERS: Parameters = Parameters { known: &NAMES, unsupported: None };

/// The parameters of a service whose catalogue is not extended.
const INTERFACE_PARAMETERS: Parameters =
    Parameters { known: NAMES.split_at(INTERFACE_NAMES).0, unsupported: None };

/// Runs a search. If the same search was fast the last time, it runs on this thread, otherwise on a blocking thread.
///
/// If the page is larger than one chunk, the response is streamed.
async fn search(shared: Arc<ServiceState>, call: Call) -> Result<Body, Failure> {
    let slot = shared.latency.slot(call.token.address(), call.query.as_deref(), &call.body);
    // After a failed write, a read may have to reopen the file, which blocks the thread.
    let is_fast = shared.source.is_in_memory() && shared.latency.was_fast(slot) && !shared.writes_fail();
    // A search as of an earlier moment makes columns that no other search uses, which takes time.
    let is_fast = is_fast && !as_of::has_moment(call.query.as_deref());
    let turn = as_of::turn(&shared, &call.token, call.query.as_deref()).await?;
    let (token, deadline) = (Arc::clone(&call.token), call.deadline.clone());
    let stop = SearchStop::after(shared.options.search_timeout);
    let guard = stop.guard();
    let client = call.client.clone();
    let mut reservation = shared.outgoing.reserve(&token, &call.in_flight);
    let run = move |shared: &ServiceState| {
        let start = Instant::now();
        let result = search_now(shared, (&call, turn), stop, &mut reservation);
        shared.latency.record(slot, start.elapsed());
        Ok((result?, reservation))
    };
    let found = if is_fast {
        shared.run(run)
    } else {
        // A stopped search ends soon, so the task still waits for its result.
        let watching = async {
            client.gone().await;
            guard.cancel();
            std::future::pending().await
        };
        tokio::select! {
            biased;
            found = shared.run_on_worker(&token, run) => found,
            never = watching => never,
        }
    };
    let (found, reservation) = found?;
    match found {
        Found::Whole(text) => Outgoing::body(reservation, text.into_bytes()),
        Found::Begun { first, rest } => rest.stream(first, &shared, reservation, deadline).await,
    }
}

fn search_now(
    shared: &ServiceState,
    (call, turn): (&Call, Turn),
    stop: SearchStop,
    reservation: &mut Reservation,
) -> Result<Found, Failure> {
    let query = Query::read(call.query.as_deref(), call.token.cache.catalog().is_extended());
    let request = call.token.cache.request(&call.body, &query.params());
    let moment = query.as_of();
    let request = match (request, query.errors()) {
        (Ok(request), None) => Ok(request),
        (Err(errors), None) | (Ok(_), Some(errors)) => Err(errors),
        (Err(first), Some(second)) => Err(first.followed_by(second)),
    };
    let request = request.inspect_err(|errors| shared.metrics.count_errors(errors))?;
    let request = stop.apply(request);
    let note = call.note.as_deref();
    if let Some(note) = note {
        note.search(&request);
    }
    let moment = as_of::snapshot(shared, (&call.token, turn), moment.as_deref(), (note, &request.stop));
    let moment = moment.inspect_err(|failure| shared.count_if_stopped(failure, &request.stop))?;
    let max_bytes = shared.options.max_response_bytes;
    let page = NewPage { request: &request, token: &call.token, max_bytes, note };
    let found = match &shared.source {
        CaseSource::Store => {
            page.begin(&shared.store, moment.as_ref()).and_then(|(found, examined)| {
                shared.metrics.count_rows(examined);
                // The whole page is read now. So the old documents are freed, and the turn ends, before the page is sent.
                if moment.is_some() { page.finish(&shared.store, found, reservation) } else { Ok(found) }
            })
        }
        #[cfg(feature = "postgres")]
        CaseSource::Postgres(source) => page.fetch(source, reservation),
    };
    found.inspect_err(|failure| shared.count_if_stopped(failure, &request.stop))
}

impl ServiceState {
    /// Counts the search if it failed because it was stopped.
    pub(in crate::service) fn count_if_stopped(&self, failure: &Failure, stop: &StopConditions) {
        if failure.is_stop() {
            self.metrics.count_stopped(stop.is_cancelled());
        }
    }
}

/// The query string of a search, parsed.
struct Query<'q> {
    /// The values of the parameters, in the order of [`NAMES`].
    values: [Option<Cow<'q, str>>; NAMES.len()],
    /// The errors for duplicate and misspelt parameter names.
    errors: Vec<Error>,
}

impl<'q> Query<'q> {
    fn read(query: Option<&'q str>, is_extended: bool) -> Self {
        let parameters = if is_extended { &PARAMETERS } else { &INTERFACE_PARAMETERS };
        let mut own = Self { values: [const { None }; NAMES.len()], errors: Vec::new() };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let Some(index) = parameters.known.iter().position(|known| *known == name) else {
                let unknown =
                    if name == AS_OF { Some(as_of::unknown(&value)) } else { misspelt(parameters, &name) };
                own.errors.extend(unknown);
                continue;
            };
            match own.values.get_mut(index) {
                Some(slot @ None) => *slot = Some(value),
                _ => {
                    let found = format!("{} again", quote(&value));
                    let error = Error::new(ErrorKind::DuplicateKey, 0, found, "the parameter once");
                    own.errors.push(error.at(name));
                }
            }
        }
        own
    }

    fn params(&self) -> SearchParams<'_> {
        let [offset, limit, order, count, cursor, after, _] = self.values.each_ref().map(Option::as_deref);
        SearchParams::new().offset(offset).limit(limit).order(order).count(count).cursor(cursor).after(after)
    }

    /// Returns, as text, the earlier moment whose cases are searched.
    fn as_of(&self) -> Option<String> {
        self.values.last().and_then(Option::as_deref).map(str::to_owned)
    }

    fn errors(self) -> Option<Errors> {
        Errors::in_order(self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_is_an_error_and_its_first_value_counts() {
        let query = Query::read(Some("limit=5&x=1&order=%2Dcreated+At&limit=6&limit=7"), false);
        assert_eq!(query.params(), SearchParams::new().limit("5").order("-created At"));
        let errors = query.errors().unwrap();
        assert_eq!(errors.as_slice().len(), 2);
        assert_eq!(errors.as_slice()[0].path, "limit");
        assert!(Query::read(None, false).errors().is_none());
    }

    #[test]
    fn cursors_are_parameters_of_extended_catalogues_only() {
        let text = Some("pageCursor=true&after=x&afte=y");
        let query = Query::read(text, false);
        assert_eq!(query.params(), SearchParams::new());
        assert!(query.errors().is_none());
        let query = Query::read(text, true);
        assert_eq!(query.params(), SearchParams::new().cursor("true").after("x"));
        assert_eq!(query.errors().unwrap().as_slice().len(), 1);
    }
}
