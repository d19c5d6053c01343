//! The requests of operators.

use std::fs;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::context::Admin;
use super::download::FileBody;
use super::import::{self, GivenUp};
use super::search;
use super::upload::{SOURCES, Sources, spool};
use crate::domain::{RecordKind, mint_share_token};
use crate::engine::{Mode, Report};
use crate::envelope::error_codes::ErrorCode;
use crate::error::{ErrorKind, quote};
use crate::service::http::errors::{Failure, json};
use crate::service::http::health;
use crate::service::operations::parameters::near;
use crate::service::state::{ServiceState, now};

/// The largest body of a request that is none of an import, in bytes.
const BODY_BYTES: usize = 64 << 10;

/// The largest body of a search, in bytes: a filter at the limits, its normal form, each byte of it escaped.
const FILTER_BYTES: usize = 64 << 20;

/// How long an import may send nothing: whoever packs, or fetches, what is imported may need a while for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

type Context = State<Arc<Admin>>;

pub(super) fn router(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/", get(status))
        .route("/metrics", get(async |State(admin): Context| health::metrics(&admin.shared)))
        .route("/share-tokens", post(share_token))
        .route("/imports/{kind}", post(import))
        .route("/backups", post(backup))
        .route("/copies", post(copy))
        .route("/compactions", post(compact))
        .route("/searches", post(searches))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is no such path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "the path does not have this method")
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
}

async fn status(State(admin): Context) -> Result<Response, Failure> {
    let shared = &admin.shared;
    answer(&Status {
        version: env!("CARGO_PKG_VERSION"),
        database: &admin.path,
        cases: shared.store.len(),
        at_work: shared.at_work(),
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
    let asked: ShareToken = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    let mint = move |shared: &ServiceState| {
        // Longer than all that can be said is refused as any other lifetime without an end.
        let lifetime = TimeDelta::try_seconds(asked.lifetime_s).unwrap_or(TimeDelta::MAX);
        Ok(mint_share_token(&shared.store, &asked.applicant_id, lifetime, now())?)
    };
    let token = admin.shared.in_turn(mint).await?;
    answer(&Minted { token })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    path: PathBuf,
}

async fn backup(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let Backup { path } = read(body, BODY_BYTES, admin.shared.options.read_timeout).await?;
    let has_nul = path.as_os_str().as_encoded_bytes().contains(&0);
    if !path.is_absolute() || has_nul {
        let why = if has_nul { "`path` must not have a NUL" } else { "`path` has to be absolute" };
        return Err(Failure::new(StatusCode::BAD_REQUEST, why));
    }
    if let Err(error) = fs::symlink_metadata(&path)
        && error.kind() == io::ErrorKind::InvalidFilename
    {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "`path`, or a name in it, is longer than the system takes",
        ));
    }
    let given_up = GivenUp::default();
    let _waiting = given_up.unless_awaited();
    let copy = move |shared: &ServiceState| {
        let copied = shared.store.backup_while(&path, &|| !given_up.is_given_up(shared));
        tell_given_up(&given_up, shared);
        copied.map_err(|error| Failure::of_store(&error))
    };
    admin.shared.beside(copy).await?;
    answer(&serde_json::json!({}))
}

/// Answers with a copy of the database. It lies in a file without a name beside the database until it is sent: nothing is left of it,
/// whichever end goes away.
async fn copy(State(admin): Context) -> Result<Response, Failure> {
    let given_up = GivenUp::default();
    let _waiting = given_up.unless_awaited();
    let folder = admin.path.parent().unwrap_or(FilePath::new("/")).to_owned();
    let copy = move |shared: &ServiceState| {
        let no_room = |error: std::io::Error| {
            let description = format!("no copy can be made beside the database: {error}");
            Failure::new(StatusCode::INSUFFICIENT_STORAGE, description).typed("io")
        };
        let file = tempfile::tempfile_in(folder).map_err(no_room)?;
        let own = file.try_clone().map_err(no_room)?;
        let copied = shared.store.copy_while(own, "the copy", &|| !given_up.is_given_up(shared));
        tell_given_up(&given_up, shared);
        copied.map(|()| file).map_err(|error| Failure::of_store(&error))
    };
    let file = admin.shared.beside(copy).await?;
    Ok(Response::new(Body::new(FileBody::new(file))))
}

fn tell_given_up(given_up: &GivenUp, shared: &ServiceState) {
    if given_up.is_given_up(shared) {
        tracing::info!("a copy was given up, because its client left or the service ends");
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
    let compacted = admin.shared.in_turn(compact).await?;
    answer(&Compacted { bytes_before: compacted.bytes_before, bytes_after: compacted.bytes_after })
}

async fn searches(State(admin): Context, body: Body) -> Result<Response, Failure> {
    let question = read(body, FILTER_BYTES, admin.shared.options.read_timeout).await?;
    search::answer(&admin.shared, question).await
}

#[derive(Serialize)]
struct ImportedCases {
    cases: usize,
    report: Report,
}

async fn import(
    State(admin): Context,
    Path(kind): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let kind = match kind.as_str() {
        "cases" => None,
        "levels" => Some(RecordKind::Levels),
        "applicants" => Some(RecordKind::Applicants),
        "documents" => Some(RecordKind::Documents),
        "aml-cases" => Some(RecordKind::AmlCases),
        _ => return Err(Failure::new(StatusCode::NOT_FOUND, "there is no such path")),
    };
    let (head, body) = request.into_parts();
    let Asked { mode, source, is_parquet } = Asked::read(head.uri.query().unwrap_or_default())?;
    let is_framed = head.headers.get(header::CONTENT_TYPE).is_some_and(|own| own == SOURCES);
    let sources = if is_framed { Sources::framed() } else { Sources::one(source, is_parquet) };
    let folder = admin.path.parent().unwrap_or(FilePath::new("."));
    let spool = spool(body, sources, folder, PATIENCE.max(admin.shared.options.read_timeout)).await?;
    let given_up = GivenUp::default();
    let _waiting = given_up.unless_awaited();
    match kind {
        None => {
            let run = move |shared: &_| import::cases(shared, spool, mode, &given_up);
            let (report, cases) = admin.shared.in_turn(run).await?;
            answer(&ImportedCases { cases, report })
        }
        Some(kind) => {
            let run = move |shared: &_| import::records(shared, &spool, kind, mode, &given_up);
            answer(&admin.shared.in_turn(run).await?)
        }
    }
}

/// The query of an import.
struct Asked {
    mode: Mode,
    /// The name and the format of a body that is one source.
    source: String,
    is_parquet: bool,
}

/// The parameters of an import.
const OF_IMPORT: [&str; 3] = ["mode", "source", "format"];

impl Asked {
    /// Reads a query, each parameter at most once.
    fn read(query: &str) -> Result<Self, Failure> {
        let mut asked = Self { mode: Mode::Strict, source: "the body".to_owned(), is_parquet: false };
        let mut seen = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(known) = OF_IMPORT.into_iter().find(|known| *known == name) else {
                let meant = near(&name, &OF_IMPORT).map(|meant| format!("; did you mean `{meant}`?"));
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
            asked.set(known, &value)?;
        }
        Ok(asked)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let expected = match (name, value) {
            ("mode", "strict" | "lenient") => {
                self.mode = if value == "lenient" { Mode::Lenient } else { Mode::Strict };
                return Ok(());
            }
            ("format", "ndjson" | "parquet") => {
                self.is_parquet = value == "parquet";
                return Ok(());
            }
            ("mode", _) => "`mode` is strict or lenient",
            ("format", _) => "`format` is ndjson, which takes JSON too, or parquet",
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

/// Reads a JSON body.
async fn read<T: serde::de::DeserializeOwned>(
    body: Body,
    most_bytes: usize,
    patience: Duration,
) -> Result<T, Failure> {
    let bad = |why: String| Failure::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {why}"));
    let bytes = tokio::time::timeout(patience, axum::body::to_bytes(body, most_bytes)).await;
    let bytes = bytes.map_err(|_| {
        let description = "the body of the request did not arrive in time";
        Failure::new(StatusCode::REQUEST_TIMEOUT, description).closing()
    })?;
    let bytes = bytes.map_err(|error| bad(error.to_string()).closing())?;
    // Serde would take an array of the members' values too.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(bad("found another value, expected an object".to_owned()));
    }
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
