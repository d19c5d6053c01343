//! Starts services for the tests: each with its own database, tokens and runtime in this process.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use casefilter::domain::{RecordKind, create_share_token, import_records, redeem_share_token};
use casefilter::postgres::{PostgresOptions, PostgresSource};
#[cfg(unix)]
use casefilter::service::AdminSocket;
use casefilter::service::{Service, ServiceOptions, Tls, TokenFile, Tokens};
use casefilter::sql::Table;
use casefilter::{Catalog, ImportMode, Store, StoreError, StoreOptions};
use chrono::TimeDelta;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::client::{Client, Key, Response};
use super::tables;

pub(crate) const SEARCH: &str = "/resources/api/caseManagement/v2/cases/byFilter";
pub(crate) const FACETS: &str = "/resources/api/caseManagement/v2/cases/facets";
pub(crate) const FILTERS: &str = "/resources/api/caseManagement/v2/cases/filters";
pub(crate) const STANDING: &str = "/resources/api/caseManagement/v2/cases/standingFilters";
pub(crate) const EVENTS: &str = "/resources/api/caseManagement/v2/cases/events";
pub(crate) const STREAM: &str = "/resources/api/caseManagement/v2/cases/events/stream";
pub(crate) const PREVIEW: &str = "/resources/applicants/-/import/preview";
pub(crate) const COPY: &str = "/resources/applicants/-/import";

pub(crate) fn status_of(applicant: &str) -> String {
    format!("/resources/applicants/{applicant}/requiredIdDocsStatus")
}

pub(crate) fn aml_of(applicant: &str) -> String {
    format!("/resources/api/applicants/{applicant}/amlCase")
}

pub(crate) fn info_of(applicant: &str) -> String {
    format!("/resources/applicants/{applicant}/info")
}

pub(crate) fn review_of(applicant: &str) -> String {
    format!("/resources/api/applicants/{applicant}/amlCase/hitReview")
}

pub(crate) fn company_of(applicant: &str) -> String {
    format!("/resources/applicants/{applicant}/companyInfo")
}

pub(crate) fn comparison_of(applicant: &str) -> String {
    format!("/resources/applicants/{applicant}/infoComparison")
}

pub(crate) fn share_tokens_of(applicant: &str) -> String {
    format!("/resources/applicants/{applicant}/shareTokens")
}

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns the name of the PostgreSQL table with the cases of a file. The first call creates it.
pub(crate) fn table_of(url: &str, file: &Path) -> String {
    static MADE: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);
    let key = format!("{url} {}", file.display());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.get_or_insert_with(HashMap::new);
    let name = made.entry(key).or_insert_with(|| {
        let name = tables::unique("cases");
        let table = Table::new(&Catalog::cases()).with_folded().with_elements().named(&name).unwrap();
        tables::load(url, &table, std::fs::read_to_string(file).unwrap().lines());
        name
    });
    name.clone()
}

/// A server that runs until [`stop`](Self::stop).
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    metrics: SocketAddr,
    pub(crate) database: Database,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), StoreError>>,
}

/// A database with the cases of a file and the records of the samples.
pub(crate) struct Database {
    folder: TempDir,
    cases: PathBuf,
    pub(crate) share_token: String,
    pub(crate) used_share_token: String,
    pub(crate) expired_share_token: String,
}

impl Database {
    pub(crate) fn new(cases: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("cases.db");
        let cases = data(cases);
        let store = Store::create(path, Catalog::cases(), StoreOptions::default()).unwrap();
        let mut import = store.import(ImportMode::Strict).unwrap();
        import.push(&std::fs::read(&cases).unwrap()).unwrap();
        import.commit().unwrap();
        for (kind, name) in [
            (RecordKind::Levels, "levels"),
            (RecordKind::Applicants, "applicants"),
            (RecordKind::Documents, "documents"),
            (RecordKind::AmlCases, "aml-cases"),
        ] {
            let text = std::fs::read(data(&format!("domain/{name}.ndjson"))).unwrap();
            import_records(&store, kind, |import| import.push(&text)).unwrap();
        }
        let now = SystemTime::now().into();
        let mint = |at| create_share_token(&store, "anna", TimeDelta::hours(1), at).unwrap();
        let used_share_token = mint(now);
        redeem_share_token(&store, &used_share_token, now).unwrap();
        // Creating a token removes expired ones, so the expired one is created last.
        let share_token = mint(now);
        let expired_share_token = mint(now - TimeDelta::hours(2));
        store.close().unwrap();
        Self { folder, cases, share_token, used_share_token, expired_share_token }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("cases.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the URL of PostgreSQL and the table with the cases, if the tests run with PostgreSQL.
    pub(crate) fn source(&self) -> Option<(String, String)> {
        let url = std::env::var("CASEFILTER_TEST_POSTGRES").ok()?;
        let table = table_of(&url, &self.cases);
        Some((url, table))
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.path(), Catalog::cases(), StoreOptions::default()).unwrap()
    }
}

pub(crate) const PERMISSIONS: [&str; 10] = [
    "viewCases",
    "viewApplicants",
    "createApplicants",
    "viewAmlScreening",
    "changePersonalData",
    "viewPersonalData",
    "viewHistory",
    "manageFilters",
    "shareApplicants",
    "reviewAmlHits",
];

/// Returns the key of a token in [`tokens`].
pub(crate) fn key(name: &str) -> Key {
    Key { token: format!("token-{name}"), secret: format!("the secret of {name}, known to no one") }
}

/// The tokens that are bound to clients, by name: tenants. The sample applicants and the sample cases have different clients, so
/// most tenants have one of each.
pub(crate) const TENANTS: [(&str, &[&str]); 4] = [
    ("tenant-one", &["acme", "client01"]),
    ("tenant-two", &["other", "client02"]),
    ("tenant-three", &["client03"]),
    ("tenant-both", &["acme", "other", "client01", "client02"]),
];

/// Returns a token with all permissions, one for each permission, some with `fields` and `filter`, and the [`TENANTS`].
pub(crate) fn tokens() -> Value {
    let token = |name: &str, rest: Value| {
        let key = key(name);
        let mut token = json!({"token": key.token, "secret": key.secret, "name": name});
        token.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        token
    };
    let mut tokens = vec![
        token("all", json!({"permissions": PERMISSIONS})),
        token("none", json!({"permissions": []})),
        token("own", json!({"permissions": ["viewCases"], "filter": "clientId = client01"})),
        token("narrow", json!({"permissions": ["viewCases"], "fields": super::scope::FIELDS})),
        token(
            "held",
            json!({"permissions": ["viewCases"], "fields": super::scope::FIELDS, "filter": super::scope::FILTER}),
        ),
    ];
    for permission in PERMISSIONS {
        tokens.push(token(permission, json!({"permissions": [permission]})));
    }
    for (name, clients) in TENANTS {
        tokens.push(token(name, json!({"permissions": PERMISSIONS, "clients": clients})));
    }
    tokens.push(token(
        "tenant-narrow",
        json!({
            "permissions": PERMISSIONS,
            "clients": ["client01", "client02"],
            "fields": super::scope::FIELDS,
            "filter": "createdByType <> byOfficer",
        }),
    ));
    json!({ "tokens": tokens })
}

/// Returns a source of random letters, always the same ones. A text of these letters can hardly be compressed.
pub(crate) fn random_letters() -> impl FnMut() -> char {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"[state as usize % 64])
    }
}

/// Returns options that a function has changed.
pub(crate) fn changed<T>(mut options: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut options);
    options
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with("plain.cases.ndjson", ServiceOptions::default())
    }

    pub(crate) fn with(cases: &str, options: ServiceOptions) -> Self {
        Self::on(Database::new(cases), options)
    }

    pub(crate) fn on(database: Database, options: ServiceOptions) -> Self {
        Self::with_tls(database, options, None)
    }

    pub(crate) fn with_tls(database: Database, options: ServiceOptions, tls: Option<Tls>) -> Self {
        let source = database.source().map(|(url, table)| (url, tables::options(&table)));
        Self::with_source(database, options, tls, source)
    }

    /// Starts a server that searches PostgreSQL, if a source is given.
    pub(crate) fn with_source(
        database: Database,
        options: ServiceOptions,
        tls: Option<Tls>,
        source: Option<(String, PostgresOptions)>,
    ) -> Self {
        let store = database.open();
        let file: TokenFile = serde_json::from_value(tokens()).unwrap();
        let tokens = Tokens::new(file, store.catalog(), &options.limits).unwrap();
        let mut service = Service::new(store, tokens, options);
        if let Some(tls) = tls {
            service = service.with_tls(tls);
        }
        #[cfg(unix)]
        let path = database.path();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                if let Some((url, options)) = source {
                    let source = PostgresSource::connect(&url, &Catalog::cases(), &options).await;
                    service = service.with_source(source.unwrap());
                }
                #[cfg(unix)]
                {
                    let socket = AdminSocket::bind(AdminSocket::default_path(&path), &path).unwrap();
                    service = service.with_admin(socket);
                }
                let bind = async || tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let (listener, metrics) = (bind().await, bind().await);
                tell.send([listener.local_addr().unwrap(), metrics.local_addr().unwrap()]).unwrap();
                let service = service.with_metrics(metrics);
                service.serve(listener, async { stopped.await.unwrap_or_default() }).await
            })
        });
        let [address, metrics] = told.recv_timeout(Duration::from_secs(20)).unwrap();
        Self { address, metrics, database, stop, thread }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Returns the metrics.
    pub(crate) fn metrics(&self) -> Response {
        Client::new(self.metrics).get("/metrics")
    }

    pub(crate) fn metrics_address(&self) -> SocketAddr {
        self.metrics
    }

    /// Connects to the metrics listener.
    pub(crate) fn metrics_client(&self) -> Client {
        Client::new(self.metrics)
    }

    /// Starts a shutdown and returns the database and the thread of the server.
    pub(crate) fn ask_to_stop(self) -> (Database, JoinHandle<Result<(), StoreError>>) {
        self.stop.send(()).unwrap();
        (self.database, self.thread)
    }

    /// Stops the server and checks that it stopped without an error.
    pub(crate) fn stop(self) -> Database {
        let (database, thread) = self.ask_to_stop();
        thread.join().unwrap().unwrap();
        database
    }
}
