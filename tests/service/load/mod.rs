//! A proof by load: clients of two tenants use all operations, beside imports, erasures, backups, and changes of tokens and
//! certificates. The service is stopped and killed in turn. In the end, nothing that it acknowledged may be missing.
//!
//! `CASEFILTER_LOAD_SECONDS=60` sets the duration of the load.

mod clients;
mod connection;
mod operators;
mod proof;
mod readers;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use casefilter::domain::{RecordKind, import_records};
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::client::{Key, Response};
use super::process::{Process, casefilter, write_private};
use super::server::{Database, STANDING, key, tokens};
use super::tls::make_pair;
use connection::{Connection, PATIENCE, operate};

/// The duration of the load in seconds, unless the environment sets another one.
const SECONDS: u64 = 5;

/// The time between restarts in seconds. There are always at least two restarts.
const RESTART_S: u64 = 5;

/// The time before a kill in which only records are written.
const RECORDS_ALONE: Duration = Duration::from_millis(600);

/// The tenants of the load: the name of the app token, a client of it, and an applicant of this client with an AML case.
const TENANTS: [Tenant; 2] = [
    Tenant { name: "tenant-one", clients: &["acme", "client01"], applicant: "anna", aml_case: "aml-2" },
    Tenant { name: "tenant-two", clients: &["other", "client02"], applicant: "dana", aml_case: "aml-load" },
];

#[derive(Clone, Copy)]
struct Tenant {
    name: &'static str,
    clients: &'static [&'static str],
    applicant: &'static str,
    aml_case: &'static str,
}

impl Tenant {
    /// Returns the id of an applicant that one thread updates.
    fn updated(self, thread: usize, number: usize) -> String {
        format!("load-{}-{thread}-{number}", self.clients[0])
    }
}

/// The number of threads of a tenant that update applicants, and the number of applicants of each.
const UPDATERS: usize = 2;
const UPDATED: usize = 3;

/// The number of event requests that a token may have at a time.
const LISTENERS: usize = 4;

/// The state that all threads share.
struct Load {
    database: Database,
    /// Odd while the service is down: from before it is stopped until it listens again.
    epoch: AtomicU64,
    address: Mutex<Option<SocketAddr>>,
    keys: Mutex<HashMap<String, Key>>,
    tls: Arc<ClientConfig>,
    is_over: AtomicBool,
    /// True while only records are written. They are not synced by other writes then.
    is_held: AtomicBool,
    /// True if the test has failed, so that no request will be answered any more.
    has_failed: AtomicBool,
    /// The status of each response, by its correlation id.
    answered: Mutex<HashMap<String, u16>>,
    /// The number of responses, by request and status.
    counts: Mutex<BTreeMap<(String, u16), u64>>,
    /// The number of requests whose response was lost.
    lost: AtomicU64,
}

impl Load {
    /// Returns `None` if certificates cannot be made.
    fn new() -> Option<Self> {
        let database = Database::new("plain.cases.ndjson");
        let mut roots = RootCertStore::empty();
        for name in ["first", "second"] {
            roots.add(CertificateDer::from(make_pair(database.folder(), name)?)).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let tls = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let load = Self {
            database,
            epoch: AtomicU64::new(1),
            address: Mutex::new(None),
            keys: Mutex::default(),
            tls,
            is_over: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            answered: Mutex::default(),
            counts: Mutex::default(),
            lost: AtomicU64::new(0),
        };
        load.use_certificate("first");
        write_private(&load.database.folder().join("tokens.json"), &tokens().to_string());
        load.import_records();
        Some(load)
    }

    /// Imports the applicants that the load changes, and the AML case of the second tenant.
    fn import_records(&self) {
        let mut applicants = String::new();
        for tenant in TENANTS {
            for (thread, number) in
                (0..UPDATERS).flat_map(|own| (0..UPDATED).map(move |number| (own, number)))
            {
                let (id, client) = (tenant.updated(thread, number), tenant.clients[0]);
                applicants += &json!({"id": id, "type": "individual", "clientId": client}).to_string();
                applicants.push('\n');
            }
        }
        let aml_case = json!({
            "id": "aml-load", "createdAt": "2026-03-01 10:00:00", "targetEntityType": "applicant", "targetEntityId": "dana",
            "hits": [{"id": "hit-1", "name": "D"}],
        });
        let store = self.database.open();
        let import = |kind, text: &str| import_records(&store, kind, |import| import.push(text.as_bytes()));
        import(RecordKind::Applicants, &applicants).unwrap();
        import(RecordKind::AmlCases, &aml_case.to_string()).unwrap();
        store.close().unwrap();
    }

    /// Replaces the certificate of the service and its key.
    fn use_certificate(&self, name: &str) {
        let file = |name: &str| self.database.folder().join(name);
        for ending in ["cert", "key"] {
            fs::copy(file(&format!("{name}.{ending}")), file("new.pem")).unwrap();
            fs::rename(file("new.pem"), file(&format!("used.{ending}"))).unwrap();
        }
    }

    /// Starts the service.
    fn start(&self) -> Process {
        let listeners = LISTENERS.to_string();
        let child = casefilter()
            .current_dir(self.database.folder())
            .args(["serve", "--db", "cases.db", "--listen", "127.0.0.1:0", "--tokens", "tokens.json"])
            .args(["--audit", "audit.ndjson", "--audit-rotate", "300000", "--history", "1d", "--extended"])
            .args(["--tls-cert", "used.cert", "--tls-key", "used.key", "--turn-timeout", "60s"])
            .args(["--event-listeners-per-token", &listeners])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let process = Process::listening(child.unwrap());
        *self.address.lock().unwrap() = Some(process.address);
        self.epoch.fetch_add(1, Ordering::SeqCst);
        process
    }

    /// Ends the service by `end`, and starts it again. Returns the new process, and the log of the ended one.
    fn restart(&self, process: Process, end: fn(Process) -> String) -> (Process, String) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let log = end(process);
        (self.start(), log)
    }

    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Returns true if the service was down at some time since an epoch.
    fn was_down_since(&self, epoch: u64) -> bool {
        !epoch.is_multiple_of(2) || self.epoch() != epoch
    }

    fn address(&self) -> SocketAddr {
        self.address.lock().unwrap().unwrap()
    }

    /// Returns the present key of a token.
    fn key(&self, name: &str) -> Key {
        self.keys.lock().unwrap().get(name).cloned().unwrap_or_else(|| key(name))
    }

    fn set_key(&self, name: &str, key: Key) {
        self.keys.lock().unwrap().insert(name.to_owned(), key);
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Like [`goes_on`](Self::goes_on), for threads that write cases or filters. Waits while only records are written.
    fn goes_on_beside_records(&self) -> bool {
        while self.is_held.load(Ordering::Relaxed) && self.goes_on() {
            thread::sleep(Duration::from_millis(5));
        }
        self.goes_on()
    }

    /// Notes a response.
    fn note(&self, request: &str, response: &Response) {
        *self.counts.lock().unwrap().entry((request.to_owned(), response.status)).or_default() += 1;
        let id = response.header("x-correlation-id").unwrap_or_else(|| panic!("{request}: no id")).to_owned();
        let before = self.answered.lock().unwrap().insert(id, response.status);
        assert_eq!(before, None, "two responses have one correlation id");
    }

    /// Fails if a request that began at `start` is not answered in time, or if the test has failed already.
    fn check_patience(&self, start: Instant, request: &str) {
        assert!(!self.has_failed.load(Ordering::Relaxed), "{request}: the test has failed");
        assert!(start.elapsed() < PATIENCE, "{request}: no answer");
    }

    fn note_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the load when it is dropped, even if the test fails.
struct EndOnDrop<'l>(&'l Load);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
        self.0.has_failed.store(thread::panicking(), Ordering::Relaxed);
    }
}

/// Runs the load for some time, and restarts the service: it is stopped and killed in turn. Returns the last process, and the logs
/// of the processes before it.
fn run(load: &Load, mut process: Process, duration: Duration) -> (Process, Vec<String>) {
    let restarts = (duration.as_secs() / RESTART_S).max(2);
    let mut logs = Vec::new();
    for number in 0..u32::try_from(restarts).unwrap() {
        thread::sleep(duration / (u32::try_from(restarts).unwrap() + 1));
        let is_kill = number % 2 == 1;
        load.is_held.store(is_kill, Ordering::Relaxed);
        thread::sleep(if is_kill { RECORDS_ALONE } else { Duration::ZERO });
        let end = if is_kill { Process::kill } else { Process::terminate };
        let (next, log) = load.restart(process, end);
        load.is_held.store(false, Ordering::Relaxed);
        process = next;
        logs.push(log);
    }
    thread::sleep(duration / (u32::try_from(restarts).unwrap() + 1));
    (process, logs)
}

/// Returns a filter that selects every case.
fn every() -> Value {
    json!({"criteria": [{"field": "id", "op": "<>", "values": [""]}]})
}

#[test]
fn nothing_is_lost_under_load() {
    let seconds = std::env::var("CASEFILTER_LOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    let duration = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let Some(load) = Load::new() else {
        eprintln!("skipped: openssl is not installed");
        return;
    };
    let load = &load;
    let process = load.start();
    for tenant in TENANTS {
        let body = every().to_string();
        let put =
            Connection::new(load).call(tenant.name, "PUT", &format!("{STANDING}/every"), body.as_bytes());
        put.response.good();
    }
    let start = Instant::now();
    let (process, done) = thread::scope(|scope| {
        let _over = EndOnDrop(load);
        let spawn_clients = |tenant: Tenant| {
            let updates = (0..UPDATERS).map(|own| scope.spawn(move || clients::update(load, tenant, own)));
            (
                updates.collect::<Vec<_>>(),
                scope.spawn(move || clients::share(load, tenant)),
                scope.spawn(move || clients::review(load, tenant)),
                scope.spawn(move || clients::store_filters(load, tenant)),
                [clients::search, clients::view].map(|own| scope.spawn(move || own(load, tenant))),
                [readers::poll, readers::stream].map(|own| scope.spawn(move || own(load, tenant))),
            )
        };
        let of_tenants = TENANTS.map(spawn_clients);
        let import = scope.spawn(|| operators::import(load));
        let erase = scope.spawn(|| operators::erase(load));
        let others: [fn(&Load); 5] = [
            clients::search_earlier_cases,
            clients::exceed_limits,
            operators::back_up,
            operators::change_tokens,
            operators::change_certificates,
        ];
        let others = others.map(|own| scope.spawn(move || own(load)));
        let (process, logs) = run(load, process, duration);
        load.is_over.store(true, Ordering::Relaxed);
        let mut done = proof::Done {
            logs,
            cases: import.join().unwrap(),
            erased: erase.join().unwrap(),
            tenants: Vec::new(),
        };
        others.into_iter().for_each(|thread| thread.join().unwrap());
        let mut readers = Vec::new();
        for (updates, share, review, filters, rest, events) in of_tenants {
            rest.into_iter().for_each(|thread| thread.join().unwrap());
            done.tenants.push(proof::OfTenant {
                updates: updates.into_iter().flat_map(|thread| thread.join().unwrap()).collect(),
                copies: share.join().unwrap(),
                reviews: review.join().unwrap(),
                filters: filters.join().unwrap(),
                events: Vec::new(),
            });
            readers.push(events);
        }
        // The last events, at which the readers end.
        let markers = TENANTS.map(|tenant| readers::marker(tenant).to_string() + "\n").concat();
        assert_eq!(operate(load, "/imports/cases", &markers).0, 200);
        for (tenant, events) in done.tenants.iter_mut().zip(readers) {
            tenant.events = events.into_iter().map(|thread| thread.join().unwrap()).collect();
        }
        (process, done)
    });
    let elapsed = start.elapsed();
    proof::check(load, process, done);
    let counts = load.counts.lock().unwrap();
    let all: u64 = counts.values().sum();
    let lost = load.lost.load(Ordering::Relaxed);
    println!("{all} responses in {elapsed:?}, and {lost} lost ones");
    for ((request, status), count) in counts.iter() {
        println!("{count:8} {status} {request}");
    }
}
