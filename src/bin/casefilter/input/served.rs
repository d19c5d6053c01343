//! Searches cases in a database that a service has open. The service executes the searches.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use casefilter::{AsOf, Catalog, Cursor, Error, Filter, SearchAnswer, SearchRequest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::input::explained::Explained;
use crate::input::facets::FacetsQuestion;
use crate::input::service::Service;
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The route of the service for searches.
const SEARCHES: &str = "/searches";

/// The route of the service for counts by value.
const FACETS: &str = "/facets";

/// The cases of a service.
pub(crate) struct Served {
    service: Mutex<Service>,
    catalog: Catalog,
    len: u64,
    /// True if a page contains documents in addition to ids.
    documents: bool,
    /// The maximum time of a search.
    timeout: Option<Duration>,
    /// Searches find the cases as they were at this moment. If `None`, searches find the present cases.
    as_of: Option<AsOf>,
}

/// The body of a search request to a service.
#[derive(Serialize)]
struct Question {
    ask: &'static str,
    /// The normal form of the filter, or `None` if all cases are selected.
    body: Option<String>,
    order: Option<String>,
    offset: u64,
    limit: u64,
    count: bool,
    /// True if the answer should contain a cursor. If false, this member is omitted, so that a service of an earlier version
    /// accepts the request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cursor: bool,
    /// The cursor after which the page begins. If there is none, this member is omitted, for the same reason as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    documents: bool,
    compile_ns: u64,
    /// If there is no timeout, this member is omitted, for the same reason as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    /// The search finds the cases as they were at this moment. A search of the present cases omits this member, for the same reason
    /// as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

#[derive(Deserialize)]
struct About {
    cases: u64,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
}

#[derive(Deserialize)]
struct Hints {
    hints: Vec<String>,
}

#[derive(Deserialize)]
struct Told {
    json: Box<RawValue>,
    text: String,
}

#[derive(Deserialize)]
struct Head {
    total: Option<u64>,
    /// The cursor for the next page.
    next: Option<String>,
}

/// The parts of an answer besides its cases.
pub(crate) struct Answered {
    pub(crate) total: Option<u64>,
    next: Option<Cursor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fault {
    description: String,
    #[serde(default)]
    is_stop: bool,
}

impl Served {
    /// Gives access to the cases of a service. Checks that the service has the same catalogue, and asks it how many cases it has.
    pub(crate) fn new(mut service: Service, catalog: &Catalog, documents: bool) -> Result<Self, Failure> {
        service.check_catalog(catalog)?;
        let About { cases } = service.get("/")?;
        Ok(Self {
            service: Mutex::new(service),
            catalog: catalog.clone(),
            len: cases,
            documents,
            timeout: None,
            as_of: None,
        })
    }

    /// Makes all later searches find the cases as they were at a moment.
    pub(crate) fn at_moment(mut self, moment: AsOf) -> Result<Self, Failure> {
        self.as_of = Some(moment);
        self.len = self.count(&Filter::all(&self.catalog))?;
        Ok(self)
    }

    /// Sets the maximum time of each search.
    pub(crate) fn limit(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the number of cases that the service had when this process connected to it, or at the earlier moment that is
    /// searched.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        let question = self.question("count", &SearchRequest::new(filter.clone()));
        self.post(&question).map(|Counted { count }| count)
    }

    /// Returns the explanation of a request. `compiling` is the time that compiling the request took. If it is given, the service
    /// also executes the request, and the explanation includes the costs.
    pub(crate) fn explain(
        &self,
        request: &SearchRequest,
        compiling: Option<Duration>,
    ) -> Result<Explained, Failure> {
        let mut question = self.question(if compiling.is_some() { "analyze" } else { "explain" }, request);
        let took = compiling.unwrap_or_default();
        question.compile_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.post(&question).map(|Told { json, text }| Explained { json, text })
    }

    /// Returns a page. The documents are empty if the page contains only ids.
    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Failure> {
        let mut cases = Vec::new();
        let Answered { total, next } = self.cases(request, self.documents, |id, document| {
            cases.push((id.to_owned(), document.to_owned()));
            Ok(())
        })?;
        Ok(SearchAnswer::of_documents(request, total, cases).with_next(next))
    }

    /// Counts the values of fields. Returns the answer as JSON.
    pub(crate) fn facets(&self, question: &FacetsQuestion) -> Result<String, Failure> {
        let question = question.as_of(self.as_of);
        let answer: Box<RawValue> = self.service().post(FACETS, &question)?;
        Ok(answer.get().to_owned())
    }

    /// Returns how the values of fields are counted.
    pub(crate) fn explain_facets(&self, question: &FacetsQuestion) -> Result<Explained, Failure> {
        self.service()
            .post(FACETS, &question.explaining().as_of(self.as_of))
            .map(|Told { json, text }| Explained { json, text })
    }

    /// Calls `take` for the id of each case on the page.
    pub(crate) fn each_id(
        &self,
        request: &SearchRequest,
        mut take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.cases(request, false, |id, _| take(id)).map(drop)
    }

    /// Returns hints about possible reasons why a filter selects no case.
    pub(crate) fn hints(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        if self.as_of.is_some() {
            return Ok(Vec::new());
        }
        let question = self.question("hints", &SearchRequest::new(filter.clone()));
        self.post(&question).map(|Hints { hints }| hints)
    }

    /// Returns hints about unknown members. An unknown member of a document is not a field, but its name is similar to the name of
    /// a field of the filter. Returns no hints for an earlier moment.
    pub(crate) fn unknown_members(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        if self.as_of.is_some() {
            return Ok(Vec::new());
        }
        let question = self.question("members", &SearchRequest::new(filter.clone()));
        self.post(&question).map(|Hints { hints }| hints)
    }

    /// Calls `take` for each case on the page, as soon as the case arrives.
    pub(crate) fn cases(
        &self,
        request: &SearchRequest,
        documents: bool,
        mut take: impl FnMut(&str, &str) -> Result<(), Failure>,
    ) -> Result<Answered, Failure> {
        let question = Question { documents, ..self.question("page", request) };
        let (mut answered, mut is_whole, mut last_id) =
            (Answered { total: None, next: None }, false, None::<String>);
        self.service().frames(SEARCHES, &question, |sort, bytes| {
            match sort {
                b'H' => {
                    let Head { total, next } = read(bytes)?;
                    let next = next.map(|next| next.parse()).transpose();
                    let next = next.map_err(|error: Error| strange(&error.to_string()))?;
                    answered = Answered { total, next };
                }
                b'I' if documents => last_id = Some(text(bytes)?.to_owned()),
                b'I' => take(text(bytes)?, "")?,
                b'D' => match last_id.take() {
                    Some(id) => take(&id, text(bytes)?)?,
                    None => return Err(strange("a document without an id")),
                },
                b'E' => is_whole = true,
                b'F' => {
                    let Fault { description, is_stop } = read(bytes)?;
                    let message = escape(&description).into_owned();
                    return Err(if is_stop { Failure::Stopped(message) } else { Failure::Failed(message) });
                }
                _ => return Err(strange("a frame of unknown type")),
            }
            Ok(())
        })?;
        if is_whole {
            Ok(answered)
        } else {
            Err(Failure::Failed("the service ended before its answer was complete".to_owned()))
        }
    }

    fn question(&self, ask: &'static str, request: &SearchRequest) -> Question {
        let SearchRequest { filter, order, offset, limit, count, cursor, after, .. } = request;
        let after = after.as_ref().map(ToString::to_string);
        let order = order.as_ref().map(ToString::to_string);
        let body = (!filter.is_all()).then(|| filter.to_json());
        let (offset, limit, count, cursor) = (*offset, *limit, *count, *cursor);
        let timeout_ms =
            self.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1));
        let (documents, compile_ns) = (false, 0);
        let as_of = self.as_of.map(|moment| moment.to_string());
        Question {
            ask,
            body,
            order,
            offset,
            limit,
            count,
            cursor,
            after,
            documents,
            compile_ns,
            timeout_ms,
            as_of,
        }
    }

    fn post<T: serde::de::DeserializeOwned>(&self, question: &Question) -> Result<T, Failure> {
        self.service().post(SEARCHES, question)
    }

    fn service(&self) -> std::sync::MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| strange(&error.to_string()))
}

fn text(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| strange(&error.to_string()))
}

fn strange(found: &str) -> Failure {
    Failure::Failed(format!(
        "this version of casefilter does not know the answer of the service: {}",
        escape(found)
    ))
}
