//! Operation 1: cases by filters.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::pages::{Found, NewPage};
use super::parameters::{Parameters, misspelt};
use super::source::Source;
use crate::domain::DomainError;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::filter::{Params, Request};
use crate::service::auth::permission::Permission;
use crate::service::http::budget::Hold;
use crate::service::http::errors::Failure;
use crate::service::http::outgoing::Outgoing;
use crate::service::state::ServiceState;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "casesByFilter",
    method: MethodFilter::POST,
    path: "/resources/api/caseManagement/v2/cases/byFilter",
    permission: Permission::ViewCases,
    parameters: PARAMETERS,
    no_applicant: |written| DomainError::no_applicant(written).into(),
    handler: Handler::Search(|state, call| Box::pin(search(state, call))),
};

const OF_SEARCH: [&str; 4] = ["offset", "limit", "order", "countTotalItems"];

pub(super) const PARAMETERS: Parameters = Parameters { known: &OF_SEARCH, refused: None };

/// Answers a search, here when it was quick the last time, otherwise on a thread of its own.
///
/// A page that is larger than one buffer is sent as it is read.
async fn search(shared: Arc<ServiceState>, call: Call) -> Result<Body, Failure> {
    let slot = shared.pace.slot(Arc::as_ptr(&call.token).addr(), call.query.as_deref(), &call.body);
    // Once a write has failed, reading may have to open the file again.
    let is_quick = shared.source.may_be_quick() && shared.pace.is_quick(slot) && !shared.writes_fail();
    let (token, due) = (Arc::clone(&call.token), call.due.clone());
    let mut hold = shared.outgoing.hold(&token);
    let run = move |shared: &ServiceState| {
        let start = Instant::now();
        let result = search_now(shared, &call, &mut hold);
        shared.pace.note(slot, start.elapsed());
        Ok((result?, hold))
    };
    let (found, hold) = if is_quick { shared.run(run) } else { shared.work(&token, run).await }?;
    match found {
        Found::Whole(text) => Outgoing::whole(hold, text.into_bytes()),
        Found::Begun { first, rest } => rest.send(first, &shared, hold, due).await,
    }
}

fn search_now(shared: &ServiceState, call: &Call, hold: &mut Hold) -> Result<Found, Failure> {
    #[cfg(not(feature = "postgres"))]
    let _ = hold;
    let query = Query::read(call.query.as_deref());
    let request = Request::parse_cached(&call.token.cache, &call.body, &query.params());
    let request = match (request, query.errors()) {
        (Ok(request), None) => Ok(request),
        (Err(errors), None) | (Ok(_), Some(errors)) => Err(errors),
        (Err(first), Some(second)) => Err(first.followed_by(second)),
    };
    let request = request.inspect_err(|errors| shared.metrics.count_errors(errors))?;
    let page = NewPage { request: &request, token: &call.token, most: shared.options.answer_bytes };
    match &shared.source {
        Source::Store => {
            let (found, examined) = page.begin(&shared.store)?;
            shared.metrics.count_rows(examined);
            Ok(found)
        }
        #[cfg(feature = "postgres")]
        Source::Postgres(source) => page.fetch(source, hold),
    }
}

/// The query of a search, its values in the order of [`OF_SEARCH`].
struct Query<'q> {
    values: [Option<Cow<'q, str>>; OF_SEARCH.len()],
    /// What is wrong with the names.
    errors: Vec<Error>,
}

impl<'q> Query<'q> {
    fn read(query: Option<&'q str>) -> Self {
        let mut own = Self { values: [const { None }; OF_SEARCH.len()], errors: Vec::new() };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let Some(place) = OF_SEARCH.iter().position(|known| *known == name) else {
                own.errors.extend(misspelt(&PARAMETERS, &name));
                continue;
            };
            match own.values.get_mut(place) {
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

    fn params(&self) -> Params<'_> {
        let [offset, limit, order, count] = self.values.each_ref().map(Option::as_deref);
        Params { offset, limit, order, count }
    }

    /// The errors of parameters that stand there twice or are misspelt.
    fn errors(self) -> Option<Errors> {
        Errors::in_order(self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_once_each() {
        let query = Query::read(Some("limit=5&x=1&order=%2Dcreated+At&limit=6&limit=7"));
        assert_eq!(
            query.params(),
            Params { limit: Some("5"), order: Some("-created At"), ..Params::default() }
        );
        let errors = query.errors().unwrap();
        assert_eq!(errors.as_slice().len(), 2);
        assert_eq!(errors.as_slice()[0].path, "limit");
        assert!(Query::read(None).errors().is_none());
    }
}
