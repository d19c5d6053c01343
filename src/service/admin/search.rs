//! Searches of operators, for commands that find a service holding the database.
//!
//! `POST /searches` takes one JSON object: `ask`, which is `page`, `count`, `explain` or `analyze`; `body`, a filter as JSON text, or none for all
//! cases; `order`, `offset`, `limit` and `count` as a search has them, without the bounds of clients; for `page`, whether `documents` are wanted beside ids; for
//! `analyze`, how many nanoseconds compiling took, `compile_ns`.
//!
//! A page is answered in frames of type `application/vnd.casefilter.cases`: a byte, the length of what follows, four bytes, the most significant
//! first, and so many bytes. `H` comes first: JSON, `total` if it was asked for, and `len`. `I` is the id of a case, `D` behind it its document. `E` ends
//! it; without one the answer was cut off. `F` is the envelope of an error in place of the rest. The frames are made as the client reads them.

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

use crate::catalog::Catalog;
use crate::engine::explain::{Explanation, Phase};
use crate::error::Errors;
use crate::filter::{Filter, Params, Request};
use crate::limits::Limits;
use crate::service::http::errors::{Failure, json};
use crate::service::state::ServiceState;
use crate::store::StoredDocuments;

/// The content type of an answer in frames.
const CASES: &str = "application/vnd.casefilter.cases";

/// Frames are sent together up to this many bytes, but for documents that are longer.
const PIECE_BYTES: usize = 1 << 16;

/// How many pieces wait for a client that reads slowly.
const PIECES: usize = 4;

/// The normal form of a filter may be this many times as large as the limits of clients allow.
const LARGER: usize = 8;

/// What is asked of the cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    ask: Ask,
    body: Option<String>,
    order: Option<String>,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    #[serde(default)]
    count: bool,
    #[serde(default)]
    documents: bool,
    #[serde(default)]
    compile_ns: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Page,
    Count,
    Explain,
    Analyze,
    /// Why the filter may select no case.
    Hints,
    /// The members of cases that look like its fields.
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
}

impl Question {
    fn request(&self, catalog: &Catalog) -> Result<Request, Failure> {
        let default = Limits::default();
        let limits = Limits {
            body_bytes: usize::MAX,
            depth: default.depth.saturating_mul(LARGER),
            criteria: default.criteria.saturating_mul(LARGER),
            values: default.values.saturating_mul(LARGER),
            ids: default.ids.saturating_mul(LARGER),
            string_bytes: default.string_bytes.saturating_mul(LARGER),
            ..default
        };
        let bad = |errors: Errors| Failure::new(axum::http::StatusCode::BAD_REQUEST, errors.to_string());
        let filter = match &self.body {
            Some(body) => Filter::compile_with(catalog, &limits, body.as_bytes()),
            None => Ok(Filter::all(catalog)),
        };
        let params = Params { order: self.order.as_deref(), ..Params::default() };
        let request = Request::with_params(catalog, &limits, filter, &params).map_err(bad)?;
        let limit = self.limit.unwrap_or(request.limit);
        Ok(request.offset(self.offset).limit(limit).count(self.count))
    }
}

/// Answers a question.
pub(super) async fn answer(shared: &Arc<ServiceState>, question: Question) -> Result<Response, Failure> {
    if let Ask::Page = question.ask {
        let (pieces, body) = channel(PIECES);
        let shared = Arc::clone(shared);
        // It ends soon after its client leaves, or with the service.
        tokio::task::spawn_blocking(move || {
            let out = Out { pieces, piece: Vec::new() };
            let _ = shared.run(|shared| {
                page(shared, &question, out);
                Ok(())
            });
        });
        let mut response = Response::new(Body::new(Pieces(body)));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CASES));
        return Ok(response);
    }
    let told = shared.beside(move |shared| {
        let request = question.request(shared.store.catalog())?;
        match question.ask {
            Ask::Explain => told(&explained(shared.store.explain(&request).map_err(wrong)?)),
            Ask::Analyze => {
                let start = Instant::now();
                let mut explanation = shared.store.analyze(&request, &|| start.elapsed()).map_err(wrong)?;
                if let Some(analysis) = &mut explanation.analysis {
                    let time = Duration::from_nanos(question.compile_ns);
                    analysis.phases.insert(0, Phase { name: "compile", time });
                }
                told(&explained(explanation))
            }
            Ask::Count | Ask::Page => {
                told(&Counted { count: shared.store.count(&request.filter).map_err(wrong)? })
            }
            Ask::Hints | Ask::Members => {
                let hints = match question.ask {
                    Ask::Hints => shared.store.hints(&request.filter),
                    _ => shared.store.unknown_members(&request.filter),
                };
                // Without their places, which are those in the normal form.
                told(&Hints { hints: hints.into_iter().map(|hint| hint.message).collect() })
            }
        }
    });
    told.await.map(json)
}

fn told(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))
}

/// The request is compiled with the catalogue of the store.
fn wrong(error: crate::error::Error) -> Failure {
    Failure::internal(error.to_string())
}

fn explained(json: Explanation) -> Explained {
    let text = json.to_string();
    Explained { json, text }
}

/// Sends a page, until it ends or the client leaves.
fn page(shared: &ServiceState, question: &Question, mut out: Out) {
    let sent = question.request(shared.store.catalog()).and_then(|request| {
        let mut found = shared.store.documents(&request).map_err(wrong)?;
        let head = Head { total: found.total(), len: found.left() };
        let sent = out.frame(b'H', &told(&head)?) && cases(shared, &mut found, question, &mut out)?;
        Ok(sent && out.frame(b'E', b""))
    });
    if let Err(failure) = sent {
        let description = failure.description().to_owned();
        let envelope = serde_json::json!({ "code": failure.status().as_u16(), "description": description });
        out.frame(b'F', envelope.to_string().as_bytes());
    }
    out.flush();
}

/// Sends cases; false when nobody reads them any more.
fn cases(
    shared: &ServiceState,
    found: &mut StoredDocuments<'_>,
    question: &Question,
    out: &mut Out,
) -> Result<bool, Failure> {
    while let Some(id) = found.next_id().map(str::to_owned) {
        if shared.is_cut_off() || !out.frame(b'I', id.as_bytes()) {
            return Ok(false);
        }
        if !question.documents {
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

/// Where frames go.
struct Out {
    pieces: Sender<Bytes>,
    piece: Vec<u8>,
}

impl Out {
    /// Sends a frame; false when nobody reads it.
    fn frame(&mut self, sort: u8, bytes: &[u8]) -> bool {
        let Ok(length) = u32::try_from(bytes.len()) else { return false };
        self.piece.push(sort);
        self.piece.extend_from_slice(&length.to_be_bytes());
        self.piece.extend_from_slice(bytes);
        self.piece.len() < PIECE_BYTES || self.flush()
    }

    fn flush(&mut self) -> bool {
        let piece = std::mem::take(&mut self.piece);
        piece.is_empty() || self.pieces.blocking_send(piece.into()).is_ok()
    }
}

/// A body of pieces that are made as they are sent.
struct Pieces(Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
