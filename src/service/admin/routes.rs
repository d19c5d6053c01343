//! The routes of the admin socket, and their handlers.

use std::fs;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::context::Admin;
use super::delete;
use super::download::FileBody;
use super::erase;
use super::facets;
use super::import::{self, Cancellation};
use super::search;
use super::standing;
use super::upload::{SOURCES_TYPE, SourceParser, spool};
use crate::catalog::Catalog;
use crate::domain::{self, ListedShareToken, RecordKind, create_share_token};
use crate::engine::{ImportMode, ImportReport};
use crate::envelope::error_codes::ErrorCode;
use crate::error::{ErrorKind, quote};
use crate::service::audit::record::Note;
use crate::service::http::errors::{Failure, json};
use crate::service::http::health;
use crate::service::operations::parameters::nearest;
use crate::service::state::{ServiceState, now};
use crate::store::unnamed_in;

/// The maximum size of a small request body in bytes: of a request for a share token, a backup, a compaction or events.
const BODY_BYTES: usize = 64 << 10;

/// The maximum size in bytes of a request body that contains filters, ids or names. A filter within the default limits takes less,
/// even in its normal form and with every byte escaped.
const SEARCH_BODY_BYTES: usize = 64 << 20;

/// The maximum pause between two parts of an import body. It is long, because the client may have to decompress or download the
/// next part.
pub(super) const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(600);

type Context = State<Arc<Admin>>;

pub(super) fn router(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/", get(status))
        .route("/metrics", get(async |State(admin): Context| health::metrics(&admin.shared)))
        .route("/share-tokens", get(share_tokens).post(share_token))
        .route("/imports/{kind}", post(import))
        .route("/backups", post(backup))
        .route("/copies", post(copy))
        .route("/compactions", post(compact))
        .route("/deletions", post(deletions))
        .route("/erasures", post(erasures))
        .route("/facets", post(facets))
        .route("/searches", post(searches))
        .route("/standing-filters", get(standing_filters).post(store_filters))
        .route("/standing-filters/removals", post(remove_filters))
        .route("/events", post(events))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "unknown path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "the path does not support this method")
        })
        .with_state(admin)
}

fn answer(value: &impl Serialize) -> Result<Response, Failure> {
    serde_json::to_vec(value).map(json).map_err(|error| Failure::internal(error.to_string()))
}

#[derive(Serialize)]
struct Status<'s> {
    version: &'static str,
    database: &'s FilePath,
    cases: usize,
    at_work: usize,
    catalog: &'s Catalog,
}

async fn status(State(admin): Context) -> Result<Response, Failure> {
    let shared = &admin.shared;
    answer(&Status {
        version: env!("CARGO_PKG_VERSION"),
        database: &admin.path,
        cases: shared.store.len(),
        at_work: shared.at_work(),
        catalog: shared.store.definition(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShareToken {
    applicant_id: String,
    lifetime_s: i64,
}

#[derive(Serialize)]
struct Minted {
    token: String,
}

async fn share_token(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let request: ShareToken = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    let applicant_id = request.applicant_id.clone();
    let mint = move |shared: &ServiceState| {
        // A lifetime outside the range of `TimeDelta` becomes the maximum, which is rejected as too long.
        let lifetime = TimeDelta::try_seconds(request.lifetime_s).unwrap_or(TimeDelta::MAX);
        Ok(create_share_token(&shared.store, &request.applicant_id, lifetime, now())?)
    };
    let note = Note::default();
    note.applicant(&applicant_id);
    let token = admin.shared.own_write(mint).await?;
    answer(&Minted { token }).map(|response| search::noted(response, note))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShareTokens {
    share_tokens: Vec<ListedShareToken>,
}

async fn share_tokens(State(admin): Context) -> Result<Response, Failure> {
    let list = |shared: &ServiceState| Ok(domain::share_tokens(&shared.store)?);
    let share_tokens = admin.shared.admin_read(list).await?;
    answer(&ShareTokens { share_tokens })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    path: PathBuf,
}

async fn backup(
    State(admin): Context,
    Extension(cancellation): Extension<Cancellation>,
    body: Body,
) -> Result<Response, Failure> {
    let Backup { path } = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    let has_nul = path.as_os_str().as_encoded_bytes().contains(&0);
    if !path.is_absolute() || has_nul {
        let description = if has_nul { "`path` must not contain a NUL" } else { "`path` must be absolute" };
        return Err(Failure::new(StatusCode::BAD_REQUEST, description));
    }
    if let Err(error) = fs::symlink_metadata(&path)
        && error.kind() == io::ErrorKind::InvalidFilename
    {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "`path`, or a name in it, is longer than the system allows",
        ));
    }
    let copy = move |shared: &ServiceState| {
        let copied = shared.store.backup_while(&path, &|| !cancellation.is_cancelled(shared));
        log_cancelled(&cancellation, shared);
        copied.map_err(|error| Failure::of_store(&error))
    };
    admin.shared.admin_copy(copy).await?;
    answer(&serde_json::json!({}))
}

/// Sends a copy of the database. The copy is an unnamed file in the folder of the database. The system deletes the file when it is
/// closed.
async fn copy(
    State(admin): Context,
    Extension(cancellation): Extension<Cancellation>,
) -> Result<Response, Failure> {
    let folder = admin.path.parent().unwrap_or(FilePath::new("/")).to_owned();
    let copy = move |shared: &ServiceState| {
        let no_room = |error: std::io::Error| {
            let description = format!("cannot create a copy beside the database: {error}");
            Failure::new(StatusCode::INSUFFICIENT_STORAGE, description).typed("io")
        };
        let file = unnamed_in(&folder).map_err(no_room)?;
        let own = file.try_clone().map_err(no_room)?;
        let copied = shared.store.copy_while(own, "the copy", &|| !cancellation.is_cancelled(shared));
        log_cancelled(&cancellation, shared);
        copied.map(|()| file).map_err(|error| Failure::of_store(&error))
    };
    let file = admin.shared.admin_copy(copy).await?;
    Ok(Response::new(Body::new(FileBody::new(file))))
}

fn log_cancelled(cancellation: &Cancellation, shared: &ServiceState) {
    if cancellation.is_cancelled(shared) {
        tracing::info!("cancelled a copy: its client disconnected or the service is shutting down");
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compaction {}

#[derive(Serialize)]
struct Compacted {
    bytes_before: u64,
    bytes_after: u64,
}

async fn compact(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let Compaction {} = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    let compact = |shared: &ServiceState| {
        let compacted = shared.store.compact_online();
        compacted.map_err(|error| Failure::of_store(&error))
    };
    let compacted = admin.shared.own_write(compact).await?;
    answer(&Compacted { bytes_before: compacted.bytes_before, bytes_after: compacted.bytes_after })
}

async fn deletions(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let deletion = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    delete::answer(&admin.shared, deletion).await
}

async fn erasures(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let erasure = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    erase::answer(&admin.shared, erasure).await
}

async fn facets(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let facets = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    facets::answer(&admin.shared, facets).await
}

async fn searches(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let search = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    search::answer(&admin.shared, search).await
}

async fn standing_filters(State(admin): Context) -> Result<Response, Failure> {
    standing::list(&admin.shared).await
}

async fn store_filters(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let filters = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    standing::store(&admin.shared, filters).await
}

async fn remove_filters(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let removals = read(body, SEARCH_BODY_BYTES, admin.shared.options.read_timeout).await?;
    standing::remove(&admin.shared, removals).await
}

async fn events(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let asked = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    standing::events(&admin.shared, asked).await
}

#[derive(Serialize)]
struct ImportedCases {
    cases: usize,
    report: ImportReport,
}

async fn import(
    State(admin): Context,
    Extension(cancellation): Extension<Cancellation>,
    Path(kind): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let kind = match kind.as_str() {
        "cases" => None,
        "levels" => Some(RecordKind::Levels),
        "applicants" => Some(RecordKind::Applicants),
        "documents" => Some(RecordKind::Documents),
        "aml-cases" => Some(RecordKind::AmlCases),
        _ => return Err(Failure::new(StatusCode::NOT_FOUND, "unknown path")),
    };
    let (head, body) = request.into_parts();
    let ImportQuery { mode, source, is_parquet } = ImportQuery::read(head.uri.query().unwrap_or_default())?;
    let is_framed = head.headers.get(header::CONTENT_TYPE).is_some_and(|own| own == SOURCES_TYPE);
    let sources = if is_framed { SourceParser::framed() } else { SourceParser::unframed(source, is_parquet) };
    let folder = admin.path.parent().unwrap_or(FilePath::new("."));
    let idle_timeout = BODY_IDLE_TIMEOUT.max(admin.shared.options.read_timeout);
    // An erasure waits from here on. If it did not wait, it would not erase the cases that are still being received.
    let _turn = admin.shared.copy_turn().await;
    let spool = spool(body, sources, folder, idle_timeout).await?;
    match kind {
        None => {
            let run = move |shared: &_| import::cases(shared, spool, mode, &cancellation);
            let (report, cases) = admin.shared.admin_import(run).await?;
            answer(&ImportedCases { cases, report })
        }
        Some(kind) => {
            let run = move |shared: &_| import::records(shared, &spool, kind, mode, &cancellation);
            answer(&admin.shared.own_write(run).await?)
        }
    }
}

/// The query parameters of an import.
struct ImportQuery {
    mode: ImportMode,
    /// The name of the source in error messages, if the body has no frames.
    source: String,
    is_parquet: bool,
}

/// The names of the query parameters of an import.
const IMPORT_PARAMETERS: [&str; 3] = ["mode", "source", "format"];

impl ImportQuery {
    /// Parses a query string. Each parameter may occur at most once.
    fn read(query: &str) -> Result<Self, Failure> {
        let mut own = Self { mode: ImportMode::Strict, source: "the body".to_owned(), is_parquet: false };
        let mut seen = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(known) = IMPORT_PARAMETERS.into_iter().find(|known| *known == name) else {
                let meant =
                    nearest(&name, &IMPORT_PARAMETERS).map(|meant| format!("; did you mean `{meant}`?"));
                let found = format!(
                    "found the query parameter {}, expected `mode`, `source` or `format`",
                    quote(&name)
                );
                return Err(wrong(ErrorKind::UnknownKey, found + &meant.unwrap_or_default()));
            };
            if seen.contains(&known) {
                let found = format!("found the query parameter `{known}` again, expected it once");
                return Err(wrong(ErrorKind::DuplicateKey, found));
            }
            seen.push(known);
            own.set(known, &value)?;
        }
        Ok(own)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let expected = match (name, value) {
            ("mode", "strict" | "lenient") => {
                self.mode = if value == "lenient" { ImportMode::Lenient } else { ImportMode::Strict };
                return Ok(());
            }
            ("format", "ndjson" | "parquet") => {
                self.is_parquet = value == "parquet";
                return Ok(());
            }
            ("mode", _) => "`mode` must be `strict` or `lenient`",
            ("format", _) => "`format` must be `ndjson`, which includes JSON arrays, or `parquet`",
            _ => {
                value.clone_into(&mut self.source);
                return Ok(());
            }
        };
        Err(wrong(ErrorKind::BadValue, expected.to_owned()))
    }
}

fn wrong(kind: ErrorKind, description: String) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, description).coded(ErrorCode::of_kind(kind))
}

/// Reads a body, and parses it as a JSON object.
async fn read<T: serde::de::DeserializeOwned>(
    body: Body,
    max_bytes: usize,
    timeout: Duration,
) -> Result<T, Failure> {
    let bad =
        |error: String| Failure::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}"));
    let bytes = tokio::time::timeout(timeout, axum::body::to_bytes(body, max_bytes)).await;
    let bytes = bytes.map_err(|_| {
        let description = "the body of the request did not arrive in time";
        Failure::new(StatusCode::REQUEST_TIMEOUT, description).closing()
    })?;
    let bytes = bytes.map_err(|error| bad(error.to_string()).closing())?;
    // Serde would also accept an array that contains the values of the members in order.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(bad("found another value, expected an object".to_owned()));
    }
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
