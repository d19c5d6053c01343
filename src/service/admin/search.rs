//! Searches on the admin socket. Commands send them if a running service has the database open.
//!
//! The body of `POST /searches` is a JSON object:
//!
//! | member | value |
//! |---|---|
//! | `ask` | `page`, `count`, `explain`, `analyze`, `hints` or `members` |
//! | `body` | a filter as JSON text; if absent, all cases are selected |
//! | `order`, `offset`, `limit`, `count` | as in a search of a client, except that `limit` has no maximum |
//! | `cursor` | for `page`: true to return the cursor for the next page |
//! | `after` | the cursor after which the page begins |
//! | `documents` | for `page`: true for ids and documents, false for ids alone |
//! | `compile_ns` | for `analyze`: the time that the client needed to compile the filter, in nanoseconds; it is shown in the result |
//! | `timeout_ms` | the maximum time of the search in milliseconds; if absent, there is no limit |
//! | `as_of` | the number of a write or a time: searches the cases as they were then; `hints` and `members` are about the present cases |
//!
//! A filter may exceed the default limits by a factor of eight. Only the size of the request body limits the length of its text. A
//! page is sent in frames, with the content type `application/vnd.casefilter.cases`. A frame consists of its type (1 byte), the
//! length of its content (4 bytes, big-endian), and its content. Frames are created no faster than the client reads them.
//!
//! | frame | content |
//! |---|---|
//! | `H` | the first frame: JSON with `len` and, if requested, `total` and `next`, the cursor for the next page |
//! | `I` | the id of a case |
//! | `D` | the document of the case in the previous `I` frame |
//! | `E` | empty: the end of the page; without this frame, the response is incomplete |
//! | `F` | the envelope of an error; no further frames follow |
//!
//! If the search itself fails, the response is an error without frames. The search is stopped when its client disconnects.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::catalog::Catalog;
use crate::engine::explain::Explanation;
use crate::error::Errors;
use crate::filter::{Filter, FilterBuilder, SearchParams, SearchRequest};
use crate::limits::Limits;
use crate::service::audit::record::{IdDigest, Note};
use crate::service::http::errors::{Failure, json};
use crate::service::operations::as_of::old_limit;
use crate::service::search_stop::{CancelOnDrop, SearchStop};
use crate::service::state::ServiceState;
use crate::stop::StopConditions;
use crate::store::{AsOf, ParseAsOfError, StoreError, StoreSnapshot, StoredDocuments};

/// The content type of a response in frames.
const CASES_TYPE: &str = "application/vnd.casefilter.cases";

/// The size of a chunk of frames, in bytes. A chunk is sent when it reaches this size.
const CHUNK_BYTES: usize = 1 << 16;

/// The maximum number of chunks that wait to be sent to a slow client.
const QUEUED_CHUNKS: usize = 4;

/// The factor by which the limits on filters exceed the default limits. Commands send the normal form of a filter, which may be
/// larger than the filter that the operator wrote.
const LIMITS_FACTOR: usize = 8;

/// The JSON body of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminSearch {
    ask: Kind,
    body: Option<String>,
    order: Option<String>,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    #[serde(default)]
    count: bool,
    #[serde(default)]
    cursor: bool,
    after: Option<String>,
    #[serde(default)]
    documents: bool,
    #[serde(default)]
    compile_ns: u64,
    timeout_ms: Option<u64>,
    as_of: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Page,
    Count,
    Explain,
    Analyze,
    /// Hints about why the filter may select no case.
    Hints,
    /// Members of cases that are not fields, but whose names are similar to the name of a field in the filter.
    Members,
}

#[derive(Serialize)]
struct Hints {
    hints: Vec<String>,
}

#[derive(Serialize)]
struct Counted {
    count: u64,
}

#[derive(Serialize)]
struct Explained {
    json: Explanation,
    text: String,
}

#[derive(Serialize)]
struct Head {
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    len: usize,
    /// The cursor for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Returns the limits on the filters in requests on the admin socket: [`LIMITS_FACTOR`] times the defaults, and no limit on the
/// size of the text.
pub(super) fn limits() -> Limits {
    let default = Limits::default();
    Limits {
        body_bytes: usize::MAX,
        depth: default.depth.saturating_mul(LIMITS_FACTOR),
        criteria: default.criteria.saturating_mul(LIMITS_FACTOR),
        values: default.values.saturating_mul(LIMITS_FACTOR),
        ids: default.ids.saturating_mul(LIMITS_FACTOR),
        string_bytes: default.string_bytes.saturating_mul(LIMITS_FACTOR),
        ..default
    }
}

impl AdminSearch {
    fn request(&self, catalog: &Catalog, stop: SearchStop) -> Result<SearchRequest, Failure> {
        let limits = limits();
        let bad = |errors: Errors| Failure::new(axum::http::StatusCode::BAD_REQUEST, errors.to_string());
        let filter = match &self.body {
            Some(body) => FilterBuilder::new(catalog).with_limits(limits.clone()).json(body.as_bytes()),
            None => Ok(Filter::all(catalog)),
        };
        let params = SearchParams::new().order(self.order.as_deref()).after(self.after.as_deref());
        let both = Errors::both(filter, params.parse(catalog, &limits));
        let request =
            both.map(|(filter, paging)| SearchRequest::new(filter).with_paging(paging)).map_err(bad)?;
        let limit = self.limit.unwrap_or(request.limit);
        Ok(stop.apply(
            request
                .with_offset(self.offset)
                .with_limit(limit)
                .with_count(self.count)
                .with_cursor(self.cursor),
        ))
    }

    /// Starts the time limit of the search.
    fn stop(&self) -> SearchStop {
        SearchStop::after(Duration::from_millis(self.timeout_ms.unwrap_or_default()))
    }
}

/// Runs a search, and returns its response.
pub(super) async fn answer(shared: &Arc<ServiceState>, search: AdminSearch) -> Result<Response, Failure> {
    let stop = search.stop();
    let guard = stop.guard();
    if let Kind::Page = search.ask {
        let (chunks, body) = channel(QUEUED_CHUNKS);
        let (found, finding) = oneshot::channel();
        let shared = Arc::clone(shared);
        // The task ends soon after the client disconnects, or after a shutdown abandons unfinished work.
        tokio::task::spawn_blocking(move || {
            let out = FrameWriter { chunks, chunk: Vec::new() };
            let _ = shared.run(|shared| {
                write_page(shared, &search, stop, (out, found));
                Ok(())
            });
        });
        // The record of the request says which cases are on the page, or that the search has failed. It is written before the
        // response begins.
        let note = match finding.await {
            Ok(found) => found?,
            Err(_) => return Err(Failure::internal("the search has ended without an answer")),
        };
        let mut response = Response::new(Body::new(FrameBody { frames: body, _guard: guard }));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CASES_TYPE));
        return Ok(noted(response, note));
    }
    let answer = shared.admin_read(move |shared| {
        let note = Note::default();
        match short_answer(shared, &search, stop, &note) {
            Ok(answer) => Ok((answer, note)),
            Err(failure) => Err(failure.noted(note)),
        }
    });
    answer.await.map(|(answer, note)| noted(json(answer), note))
}

/// Answers a request that does not ask for a page. Adds the filter and the answer to the note for the audit log.
fn short_answer(
    shared: &ServiceState,
    search: &AdminSearch,
    stop: SearchStop,
    note: &Note,
) -> Result<Vec<u8>, Failure> {
    let request = search.request(&shared.store.catalog().extended(), stop)?;
    note.search(&request);
    let failed = |error: StoreError| failed(shared, &error, &request);
    let cases = snapshot(shared, search.as_of.as_deref(), &request.stop, note)?;
    match search.ask {
        Kind::Explain => to_json(&explained(cases.explain(&request).map_err(failed)?)),
        Kind::Analyze => {
            let start = Instant::now();
            let explanation = cases.analyze(&request, &|| start.elapsed()).map_err(failed)?;
            let time = Duration::from_nanos(search.compile_ns);
            to_json(&explained(explanation.with_compile_time(time)))
        }
        Kind::Count | Kind::Page => {
            let counting = request.clone().with_offset(0).with_limit(0).with_count(true);
            let counted = cases.documents(&counting).map_err(failed)?;
            let count = counted.total().unwrap_or_default();
            note.counted(counted.last_write(), count);
            to_json(&Counted { count })
        }
        Kind::Hints | Kind::Members => {
            let hints = match search.ask {
                Kind::Hints => shared.store.hints_for(&request).map_err(failed)?,
                _ => shared.store.unknown_members(&request.filter),
            };
            // The positions of the hints are left out. They refer to the normal form of the filter, which the operator has not
            // written.
            to_json(&Hints { hints: hints.into_iter().map(|hint| hint.message).collect() })
        }
    }
}

/// Returns a response with a note for the audit log as an extension.
pub(super) fn noted(mut response: Response, note: Note) -> Response {
    response.extensions_mut().insert(Arc::new(note));
    response
}

/// Returns the cases to search: the present ones, or those as of a moment that is given as text. Adds the moment to the note.
pub(super) fn snapshot<'s>(
    shared: &'s ServiceState,
    as_of: Option<&str>,
    stop: &StopConditions,
    note: &Note,
) -> Result<StoreSnapshot<'s>, Failure> {
    let Some(text) = as_of else { return Ok(shared.store.snapshot()) };
    let moment: AsOf = text.parse().map_err(|error: ParseAsOfError| {
        Failure::new(axum::http::StatusCode::BAD_REQUEST, format!("as_of: {error}"))
    })?;
    note.as_of(&moment);
    shared.store.as_of_with(moment, stop, old_limit()).map_err(|error| match error.request_error() {
        Some(_) => Failure::stopped().described(error.to_string()),
        None => Failure::of_store(&error),
    })
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))
}

/// Converts the error of a search. Counts the search if it was stopped. A catalogue mismatch cannot occur, because the request was
/// compiled with the catalogue of the store.
fn failed(shared: &ServiceState, error: &StoreError, request: &SearchRequest) -> Failure {
    match error.request_error() {
        None => return Failure::of_store(error),
        Some(error) if !error.is_stop() => return Failure::internal(error.to_string()),
        Some(_) => {}
    }
    let failure = Failure::stopped().described(error.to_string());
    shared.count_if_stopped(&failure, &request.stop);
    failure
}

fn explained(json: Explanation) -> Explained {
    let text = json.to_string();
    Explained { json, text }
}

/// Writes the frames of a page, until the page ends or the client disconnects. Before the first frame, sends the note for the audit
/// log, with the ids on the page, to `found_to`. If the search fails before that, sends its failure to `found_to`, and writes no
/// frames.
fn write_page(
    shared: &ServiceState,
    search: &AdminSearch,
    stop: SearchStop,
    (mut out, found_to): (FrameWriter, oneshot::Sender<Result<Note, Failure>>),
) {
    let note = Note::default();
    let found = search.request(&shared.store.catalog().extended(), stop).and_then(|request| {
        note.search(&request);
        let found = snapshot(shared, search.as_of.as_deref(), &request.stop, &note)?.documents(&request);
        let found = found.map_err(|error| failed(shared, &error, &request))?;
        found.read_ids().map_err(|error| failed(shared, &error, &request))?;
        if shared.audit.is_some() {
            let mut ids = IdDigest::default();
            found.each_id(|id| ids.add(id));
            note.page(found.last_write(), found.total(), &ids);
        }
        Ok(found)
    });
    let mut found = match found {
        Ok(found) => found,
        Err(failure) => return drop(found_to.send(Err(failure.noted(note)))),
    };
    let _ = found_to.send(Ok(note));
    let next = found.cursor().map(ToString::to_string);
    let head = Head { total: found.total(), len: found.left(), next };
    let sent = to_json(&head).and_then(|head| {
        let sent = out.frame(b'H', &head) && write_cases(shared, &mut found, search, &mut out)?;
        Ok(sent && out.frame(b'E', b""))
    });
    if let Err(failure) = sent {
        let is_stop = failure.is_stop();
        let description = failure.description().to_owned();
        let code = failure.status().as_u16();
        let envelope = serde_json::json!({ "code": code, "description": description, "isStop": is_stop });
        out.frame(b'F', envelope.to_string().as_bytes());
    }
    out.flush();
}

/// Writes the frames of the cases. Returns false if the client has disconnected, or if a shutdown abandons unfinished work.
fn write_cases(
    shared: &ServiceState,
    found: &mut StoredDocuments<'_>,
    search: &AdminSearch,
    out: &mut FrameWriter,
) -> Result<bool, Failure> {
    while let Some(id) = found.next_id().map(str::to_owned) {
        if shared.is_cut_off() || !out.frame(b'I', id.as_bytes()) {
            return Ok(false);
        }
        if !search.documents {
            found.pass_over();
            continue;
        }
        let Some(document) = found.next() else { break };
        let document = document.map_err(|error| Failure::of_store(&error))?;
        if !out.frame(b'D', document.as_bytes()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A buffered writer of frames.
struct FrameWriter {
    chunks: Sender<Bytes>,
    chunk: Vec<u8>,
}

impl FrameWriter {
    /// Writes a frame. Returns false if the client has disconnected.
    fn frame(&mut self, frame_type: u8, bytes: &[u8]) -> bool {
        let Ok(length) = u32::try_from(bytes.len()) else { return false };
        self.chunk.push(frame_type);
        self.chunk.extend_from_slice(&length.to_be_bytes());
        self.chunk.extend_from_slice(bytes);
        self.chunk.len() < CHUNK_BYTES || self.flush()
    }

    fn flush(&mut self) -> bool {
        let chunk = std::mem::take(&mut self.chunk);
        chunk.is_empty() || self.chunks.blocking_send(chunk.into()).is_ok()
    }
}

/// A response body that consists of the chunks of a [`FrameWriter`].
struct FrameBody {
    frames: Receiver<Bytes>,
    /// Stops the search when the body is dropped.
    _guard: CancelOnDrop,
}

impl hyper::body::Body for FrameBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.frames.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
