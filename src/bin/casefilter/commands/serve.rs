//! The command `serve`: runs the HTTP service.

mod token_watch;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(unix)]
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(unix)]
use casefilter::AtomicFile;
#[cfg(unix)]
use casefilter::service::AdminSocket;
use casefilter::service::{AuditLog, AuditOptions, Service, ServiceOptions, Tls, Tokens};
use casefilter::{Limits, Store, StoreOptions};
use clap::builder::BoolishValueParser;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tracing_subscriber::filter::LevelFilter;

use crate::commands::serve::token_watch::TokenWatch;
use crate::input::admin::Socket;
use crate::input::catalog::CatalogFile;
use crate::input::duration::{self, VALUE, seconds};
#[cfg(feature = "postgres")]
use crate::input::postgres as source;
use crate::input::syntax::extended;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed};
#[cfg(not(feature = "postgres"))]
use crate::output::part::Part;
use crate::output::status::Status;

/// Serve the five operations over HTTP
///
/// The operations are: search of cases, required documents status, profile preview, AML case, and update of extracted info. They
/// use a database that was made by `import`. SIGTERM or Ctrl-C stops the service after it has answered the requests in flight. A
/// second SIGTERM or Ctrl-C stops it at once: requests in flight are abandoned. Every acknowledged update is on disk. SIGHUP makes
/// the service read the token file again.
///
/// While the service has the database open, these commands use its socket, which is beside the database: `search`, `stats`,
/// `why`, `match`, `explain`, `bench`, `import`, `delete`, `erase`, `filters`, `watch`, `export`, `verify`, `backup`, `compact`,
/// `audit replay` and `token share`. Only the user that the service runs as may open the socket.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE", env = "CASEFILTER_DB")]
    db: PathBuf,

    /// Search the cases in a PostgreSQL table instead of the cases in the database
    ///
    /// A connection string such as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require. Other users of this machine may see an
    /// argument in the list of processes. They cannot see the environment variable.
    #[arg(
        long,
        value_name = "URL",
        env = "CASEFILTER_SOURCE",
        hide_env_values = true,
        help_heading = "PostgreSQL",
        hide = !cfg!(feature = "postgres")
    )]
    source: Option<String>,

    #[cfg(feature = "postgres")]
    #[command(flatten)]
    source_options: source::Options,

    /// Address to listen on: an IP address and a port; with port 0 a free port is used, and the log contains it
    #[arg(long, value_name = "ADDR", env = "CASEFILTER_LISTEN", default_value = "127.0.0.1:8080",
          value_parser = address)]
    listen: SocketAddr,

    /// Separate address to listen on for /metrics, /healthz and /readyz: an IP address and a port [default: /metrics is not served]
    ///
    /// This address has no TLS and no signatures: any client that can connect can read the numbers of requests, rows and cases, and the
    /// names of tokens.
    #[arg(long, visible_alias = "metrics-listen", value_name = "ADDR", env = "CASEFILTER_OPS_LISTEN", value_parser = address)]
    ops_listen: Option<SocketAddr>,

    /// The file of app tokens, as `token app` writes it
    ///
    /// The service follows the file: a change is in force within a second, also after SIGHUP. A pipe is read only once, at the
    /// start. If the changed file is not valid, the service logs the error and keeps its tokens.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TOKENS")]
    tokens: PathBuf,

    /// Accept a token file that other users of this machine can read or change
    #[arg(long, env = "CASEFILTER_ALLOW_READABLE_TOKENS", value_parser = BoolishValueParser::new())]
    allow_readable_tokens: bool,

    /// A file to record each answered request in: who asked for what, and what was answered [default: no records]
    ///
    /// The file is created if it does not exist, and only its owner can read it. It contains the filters of searches and the ids of
    /// applicants, but no documents, secrets, or values of updates. `casefilter audit` lists and verifies it. While it cannot be
    /// written, requests get status 503.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_AUDIT", help_heading = "Audit log")]
    audit: Option<PathBuf>,

    /// Size from which a new file is begun, in bytes; the old file is kept as FILE.NUMBER, with the number of its last record
    #[arg(long, value_name = "N", env = "CASEFILTER_AUDIT_ROTATE", help_heading = "Audit log",
          default_value_t = AuditOptions::default().rotate_bytes)]
    audit_rotate: u64,

    /// Answer requests even if the audit log cannot be written; once it can, it gets the number of missing records
    #[arg(long, env = "CASEFILTER_AUDIT_BEST_EFFORT", help_heading = "Audit log",
          value_parser = BoolishValueParser::new())]
    audit_best_effort: bool,

    /// Maximum difference between the timestamp of a request and the clock; timestamps are whole seconds
    #[arg(long, value_name = VALUE, env = "CASEFILTER_CLOCK_WINDOW", default_value = "60s", value_parser = seconds)]
    clock_window: Duration,

    /// Reject a signature that has already been used
    #[arg(long, env = "CASEFILTER_REFUSE_REPLAYS", value_parser = BoolishValueParser::new())]
    refuse_replays: bool,

    /// Maximum number of signatures per token that are remembered for --refuse-replays; further requests get 503
    #[arg(long, value_name = "N", env = "CASEFILTER_REMEMBERED_SIGNATURES",
          default_value_t = ServiceOptions::default().remembered_signatures)]
    remembered_signatures: usize,

    /// Also allow $not, $elem, $exists, $startsWith, $substring and $match in the bodies of searches
    ///
    /// /openapi.json then describes these operators. The filters of tokens are in the text syntax, which always allows them.
    #[arg(long, env = "CASEFILTER_EXTENDED", value_parser = BoolishValueParser::new())]
    extended: bool,

    #[command(flatten)]
    catalog: CatalogFile,

    /// Maximum number of cases on a page
    #[arg(long, value_name = "N", env = "CASEFILTER_MAX_LIMIT", default_value_t = Limits::default().page)]
    max_limit: u64,

    /// Maximum size of a request body, in bytes
    #[arg(long, value_name = "N", env = "CASEFILTER_MAX_BODY", default_value_t = Limits::default().body_bytes)]
    max_body: usize,

    /// Maximum number of open connections
    #[arg(long, value_name = "N", env = "CASEFILTER_CONNECTIONS",
          default_value_t = ServiceOptions::default().connections)]
    connections: usize,

    /// Maximum number of open connections per IP address (for IPv6: per network of 64 bits)
    ///
    /// If clients connect through a proxy, all connections have the proxy's address. Then use the value of --connections.
    #[arg(long, value_name = "N", env = "CASEFILTER_CONNECTIONS_PER_PEER",
          default_value_t = ServiceOptions::default().connections_per_peer)]
    connections_per_peer: usize,

    /// Maximum number of requests that wait for the file or run long searches at the same time; if there are several tokens, each
    /// gets at most half
    #[arg(long, value_name = "N", env = "CASEFILTER_CONCURRENCY",
          default_value_t = ServiceOptions::default().concurrency)]
    concurrency: usize,

    /// Maximum number of requests per second of each token; further requests get 429; 0 means no limit
    #[arg(long, value_name = "N", env = "CASEFILTER_REQUESTS_PER_SECOND",
          default_value_t = ServiceOptions::default().requests_per_second)]
    requests_per_second: u32,

    /// Maximum memory for all request bodies, in bytes; further requests get 503
    #[arg(long, value_name = "N", env = "CASEFILTER_BUFFERED_BYTES",
          default_value_t = ServiceOptions::default().buffered_bytes)]
    buffered_bytes: usize,

    /// Size of all temporary files for large bodies whose signature is not verified yet, in bytes; further requests get 503
    ///
    /// A token gets at most half from one address.
    #[arg(long, value_name = "N", env = "CASEFILTER_SPOOLED_BYTES",
          default_value_t = ServiceOptions::default().spooled_bytes)]
    spooled_bytes: usize,

    /// Directory of these temporary files [default: that of the database, or the temporary directory of the system]
    #[arg(long, value_name = "DIR", env = "CASEFILTER_SPOOL_DIR")]
    spool_dir: Option<PathBuf>,

    /// Maximum size of an answer with cases, in bytes; a larger page gets status 400, with the largest possible `limit` in the
    /// message
    #[arg(long, value_name = "N", env = "CASEFILTER_ANSWER_BYTES",
          default_value_t = ServiceOptions::default().max_response_bytes)]
    answer_bytes: usize,

    /// Maximum memory for all answers that are being sent, in bytes; further requests get 503
    ///
    /// Each token gets at most half. A page of more than 256 KiB is sent while it is read. It takes at most twice the size of its
    /// largest case, or 512 KiB. With --source a page takes its complete size, and the maximum is at least twice --answer-bytes.
    #[arg(long, value_name = "N", env = "CASEFILTER_OUTGOING_BYTES",
          default_value_t = ServiceOptions::default().outgoing_bytes)]
    outgoing_bytes: usize,

    /// Maximum time to receive the head of a request, to receive its body, and to wait for the next request of a connection
    #[arg(long, value_name = VALUE, env = "CASEFILTER_READ_TIMEOUT", default_value = "20s", value_parser = seconds)]
    read_timeout: Duration,

    /// Maximum time in which a client must receive an answer
    #[arg(long, value_name = VALUE, env = "CASEFILTER_WRITE_TIMEOUT", default_value = "30s", value_parser = seconds)]
    write_timeout: Duration,

    /// Maximum time that an update waits for commits of imports and for earlier updates
    #[arg(long, value_name = VALUE, env = "CASEFILTER_TURN_TIMEOUT", default_value = "10s", value_parser = seconds)]
    turn_timeout: Duration,

    /// Maximum time of a search until its answer begins; then the search is stopped and gets 503; 0 means no limit
    #[arg(long, value_name = VALUE, env = "CASEFILTER_SEARCH_TIMEOUT", default_value = "10s", value_parser = seconds)]
    search_timeout: Duration,

    /// Maximum number of standing filters per token; further ones get 400
    #[arg(long, value_name = "N", env = "CASEFILTER_STANDING_FILTERS", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().standing_filters)]
    standing_filters: usize,

    /// Maximum size of all standing filters of a token, in bytes; further ones get 400
    ///
    /// A filter is stored as its body, and as the body joined with the restrictions of the token. So a token with many clients
    /// reaches the limit with fewer filters.
    #[arg(long, value_name = "N", env = "CASEFILTER_STANDING_BYTES", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().standing_bytes)]
    standing_bytes: usize,

    /// Maximum number of requests that wait for events or follow them; further requests get 503
    ///
    /// Each of them also is an open connection.
    #[arg(long, value_name = "N", env = "CASEFILTER_EVENT_LISTENERS", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().event_listeners)]
    event_listeners: usize,

    /// Maximum number of requests per token that wait for events or follow them; further requests get 429
    #[arg(long, value_name = "N", env = "CASEFILTER_EVENT_LISTENERS_PER_TOKEN", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().event_listeners_per_token)]
    event_listeners_per_token: usize,

    /// Number of events that the database keeps, of all tokens together; a client that asks for events before these gets 410
    #[arg(
        long,
        value_name = "N",
        env = "CASEFILTER_KEEP_EVENTS",
        help_heading = "Standing filters",
        default_value_t = 1_000_000
    )]
    keep_events: u64,

    /// Time after SIGTERM in which new connections are still served while /readyz returns 503, so that a load balancer notices
    ///
    /// Use 0 if there is no load balancer. Otherwise, use a few seconds more than the time between two checks of /readyz, such as
    /// 5s.
    #[arg(long, value_name = VALUE, env = "CASEFILTER_DRAIN", default_value = "0s", value_parser = seconds)]
    drain: Duration,

    /// Maximum time for requests in flight when the service stops
    #[arg(long, value_name = VALUE, env = "CASEFILTER_GRACE", default_value = "30s", value_parser = seconds)]
    grace: Duration,

    /// Memory for pages of the database, in MiB, in addition to the columns
    #[arg(long, value_name = "MIB", env = "CASEFILTER_CACHE", default_value_t = 64)]
    cache: usize,

    /// Keep cases that are replaced or deleted from now on, for this time, such as 90d; 0s forgets them [default: as the database does]
    ///
    /// `search --as-of` and `audit replay` then find the cases as they were. The database keeps this setting, also for other commands.
    /// Each write removes only some of what is older; `compact` removes all of it.
    #[arg(long, value_name = VALUE, env = "CASEFILTER_HISTORY", value_parser = seconds)]
    history: Option<Duration>,

    /// Use TLS with the certificates in this PEM file; the certificate of the service must be the first
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the first certificate, in PEM format
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    #[command(flatten)]
    socket: Socket,

    /// Open no socket for other commands, even if --admin-socket is given
    #[arg(long, env = "CASEFILTER_NO_ADMIN_SOCKET", value_parser = BoolishValueParser::new())]
    no_admin_socket: bool,

    /// Level of the log: `info` includes rejected requests, `debug` includes every request
    #[arg(long, value_name = "LEVEL", env = "CASEFILTER_LOG", default_value = "info")]
    log: Level,
}

/// Returns the end of the help: the examples, and the form of durations.
fn after_help() -> String {
    let form = duration::FORM;
    format!("{EXAMPLES}\nA DURATION is {form}, such as 500ms, 3s or 20m; a bare number is seconds.")
}

const EXAMPLES: &str = "\
Example:
  casefilter token app --file tokens.json --allow viewCases
  casefilter serve --db cases.db --listen 127.0.0.1:8080 --tokens tokens.json

Logs go to standard error, as JSON in a pipe. /healthz, /readyz and /openapi.json need no signature. Prometheus finds /metrics on the
listener of --ops-listen and on the admin socket, not on the public port. Every flag can be set by the environment variable that
is named with it.";

/// Returns the timeout, or one second if the timeout is zero.
fn at_least_some(timeout: Duration) -> Duration {
    if timeout.is_zero() { Duration::from_secs(1) } else { timeout }
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let expected = "expected an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080";
    text.parse().map_err(|_| expected)
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Args {
    fn options(&self) -> ServiceOptions {
        let mut options = ServiceOptions {
            clock_window: self.clock_window,
            reject_replays: self.refuse_replays,
            remembered_signatures: self.remembered_signatures,
            connections: self.connections,
            connections_per_peer: self.connections_per_peer,
            concurrency: self.concurrency.max(1),
            requests_per_second: self.requests_per_second,
            buffered_bytes: self.buffered_bytes,
            spooled_bytes: self.spooled_bytes,
            spool_folder: self.spool_dir.clone(),
            max_response_bytes: self.answer_bytes,
            outgoing_bytes: self.outgoing_bytes,
            read_timeout: at_least_some(self.read_timeout),
            write_timeout: at_least_some(self.write_timeout),
            write_queue_timeout: self.turn_timeout,
            search_timeout: self.search_timeout,
            standing_filters: self.standing_filters,
            standing_bytes: self.standing_bytes,
            event_listeners: self.event_listeners,
            event_listeners_per_token: self.event_listeners_per_token,
            shutdown_delay: self.drain,
            shutdown_timeout: self.grace,
            ..ServiceOptions::default()
        };
        options.limits.page = self.max_limit;
        options.limits.body_bytes = self.max_body;
        options.buffered_bytes = options.buffered_bytes.max(self.max_body.saturating_mul(4));
        // A token at one address gets half of it.
        options.spooled_bytes = options.spooled_bytes.max(self.max_body.saturating_mul(2));
        // Each token gets half of this memory. Half must be enough for twice the largest case, and for three times the largest
        // record.
        let mut least = options.limits.document_bytes.saturating_mul(6);
        if self.source.is_some() {
            least = least.max(self.answer_bytes.saturating_mul(2));
        }
        options.outgoing_bytes = options.outgoing_bytes.max(least);
        options
    }

    /// Opens the audit log, and logs its last record.
    fn audit_log(&self) -> Result<Option<AuditLog>, Failure> {
        let Some(path) = &self.audit else { return Ok(None) };
        let options =
            AuditOptions { rotate_bytes: self.audit_rotate, is_best_effort: self.audit_best_effort };
        let log = AuditLog::open(path, options)
            .map_err(|error| Failure::io("cannot write", &path.display().to_string(), &error))?;
        warn_of_readers(path, "the requests in it");
        let audit_head = log.head().to_string();
        tracing::info!(file = shown(path), audit_head, "the audit log is open");
        Ok(Some(log))
    }

    fn tls(&self) -> Result<Option<Tls>, Failure> {
        let (Some(certificates), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let read = |path: &Path| {
            let text = std::fs::read(path);
            text.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
        };
        let tls = Tls::from_pem(&read(certificates)?, &read(key)?);
        warn_of_readers(key, "the key");
        let files = format!("{} and {}", shown(certificates), shown(key));
        tls.map(Some).map_err(|error| Failure::Failed(format!("{files}: {error}")))
    }
}

#[cfg(unix)]
impl Args {
    /// Returns the service with an admin socket, through which other commands connect to it. With --no-admin-socket, returns it
    /// without a socket. If the default path cannot be used, does the same and logs a warning. Returns an error if another service
    /// uses the path, or if the path of --admin-socket cannot be used.
    fn administered(&self, service: Service) -> Result<Service, Failure> {
        if self.no_admin_socket {
            return Ok(service);
        }
        let path = self.socket.path.clone().unwrap_or_else(|| AdminSocket::default_path(&self.db));
        match AdminSocket::bind(&path, &self.db) {
            Ok(socket) => {
                tracing::info!(socket = shown(&path), "other commands are served");
                Ok(service.with_admin(socket))
            }
            Err(error) if self.socket.path.is_none() && error.kind() != io::ErrorKind::AddrInUse => {
                let (socket, advice) = (shown(&path), "--admin-socket moves the socket");
                tracing::warn!(socket, %error, advice, "other commands cannot be served while this runs");
                Ok(service)
            }
            Err(error) => Err(Failure::io("cannot listen on", &path.display().to_string(), &error)),
        }
    }
}

#[cfg(not(unix))]
impl Args {
    /// Returns the service unchanged, because this system has no Unix sockets. Returns an error if --admin-socket was given.
    fn administered(&self, service: Service) -> Result<Service, Failure> {
        match &self.socket.path {
            Some(_) if !self.no_admin_socket => {
                Err(Failure::Usage("--admin-socket is for systems with Unix sockets".to_owned()))
            }
            _ => Ok(service),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    #[cfg(not(feature = "postgres"))]
    if args.source.is_some() {
        Part::Postgres.require("`--source`")?;
    }
    check_database(&args.db, AS_IMPORTED)?;
    begin_logging(args.log);
    let signals = Signals::watch()?;
    let asked = signals.asked.clone();
    let signals_reload = Arc::clone(&signals.reload);
    let options = args.options();
    if let Some(folder) = args.spool_dir.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::Failed(format!(
            "--spool-dir: found no directory `{}`, expected one that exists",
            shown(folder)
        )));
    }
    let (watch, file) = TokenWatch::start(&args.tokens, args.allow_readable_tokens)?;
    let catalog = args.catalog.or_kept(&args.db)?;
    let catalog = extended(catalog, args.extended);
    let tokens = Tokens::new(file, &catalog, &options.limits);
    let tokens = tokens.map_err(|error| Failure::Failed(format!("{}: {error}", shown(&args.tokens))))?;
    let tls = args.tls()?;
    let cache_bytes = args.cache.saturating_mul(1 << 20);
    let store_options = StoreOptions::default()
        .cache_bytes(cache_bytes)
        .keep_events(args.keep_events)
        .limits(options.limits.clone());
    let store_options = match args.history {
        Some(history) => store_options.history(history),
        None => store_options,
    };
    let store = Store::open(&args.db, catalog.clone(), store_options);
    let store = store.map_err(|error| failed(&error))?;
    warn_of_readers(&args.db, "the cases in it");
    let audit = args.audit_log()?;

    let runtime = runtime(&options).map_err(|error| Failure::io("cannot start", "the service", &error))?;
    runtime.block_on(async {
        #[cfg(feature = "postgres")]
        let source = match &args.source {
            Some(url) => Some(args.source_options.connect(url, &catalog).await?),
            None => None,
        };
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|error| Failure::io("cannot listen on", &args.listen.to_string(), &error))?;
        let address = listener.local_addr().unwrap_or(args.listen);
        let metrics = match args.ops_listen {
            None => None,
            Some(address) => Some(
                TcpListener::bind(address)
                    .await
                    .map_err(|error| Failure::io("cannot listen on", &address.to_string(), &error))?,
            ),
        };
        let (shutdown, abort) = signals.shutdown()?;
        let searches = if args.source.is_some() { "PostgreSQL" } else { "the database" };
        let counts = (store.len(), tokens.len());
        let service = Service::new(store, tokens, options);
        let service = match audit {
            Some(log) => service.with_audit(log),
            None => service,
        };
        watch.follow(service.token_updater(), signals_reload)?;
        #[cfg(feature = "postgres")]
        let service = match source {
            Some(source) => service.with_source(source),
            None => service,
        };
        let service = args.administered(service)?;
        let service = match tls {
            Some(tls) => service.with_tls(tls),
            None => service,
        };
        if let Some(address) = metrics.as_ref().and_then(|listener| listener.local_addr().ok()) {
            tracing::info!(metrics_address = %address, "metrics are served");
        }
        let service = match metrics {
            Some(listener) => service.with_metrics(listener),
            None => service,
        };
        let (cases, tokens) = counts;
        tracing::info!(%address, cases, tokens, searches, "listening");
        service.serve_until(listener, shutdown, abort).await.map_err(|error| failed(&error))
    })?;
    tracing::info!("everything is on disk");
    if *asked.borrow() > 1 {
        // Threads may still be working on abandoned requests.
        runtime.shutdown_timeout(LAST_WORK);
    }
    Ok(Status::Fine)
}

/// The number of threads for blocking work other than client requests: DNS lookups, requests on the admin socket, temporary files
/// of bodies, and the write at shutdown.
const SPARE_THREADS: usize = 40;

fn runtime(options: &ServiceOptions) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(options.concurrency.saturating_add(SPARE_THREADS))
        .thread_name("casefilter")
        .build()
}

/// The maximum time that threads get to finish abandoned requests, after all writes are on disk.
const LAST_WORK: Duration = Duration::from_secs(1);

/// The signals that this process receives.
struct Signals {
    /// The number of received signals that ask the process to stop.
    asked: watch::Receiver<u32>,
    /// Set by SIGHUP: the token file must be read again.
    reload: Arc<AtomicBool>,
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
    #[cfg(not(unix))]
    ask: watch::Sender<u32>,
}

impl Signals {
    /// Starts to handle SIGHUP, so that the service continues when its terminal is closed or its log is rotated. The signal makes the
    /// service read the token file again. All other signals have their previous effect.
    #[cfg(unix)]
    fn watch() -> Result<Self, Failure> {
        use signal_hook::consts::SIGHUP;
        let (ask, asked) = watch::channel(0_u32);
        let mut signals = signal_hook::iterator::Signals::new([SIGHUP]).map_err(|error| unwatched(&error))?;
        let handle = signals.handle();
        let reload = Arc::<AtomicBool>::default();
        let asks_reload = Arc::clone(&reload);
        let wait = move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    tracing::info!("SIGHUP: the token file is read again; SIGTERM ends the service");
                    asks_reload.store(true, Ordering::Relaxed);
                    continue;
                }
                ask.send_modify(|asked| *asked = asked.saturating_add(1));
                if *ask.borrow() > 2 {
                    // Acknowledged writes are on disk. The rest is repaired when the database is opened again.
                    AtomicFile::abandon_all(|| {
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    });
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
        thread.map_err(|error| unwatched(&error))?;
        Ok(Self { asked, reload, handle })
    }

    #[cfg(not(unix))]
    fn watch() -> Result<Self, Failure> {
        let (ask, asked) = watch::channel(0_u32);
        Ok(Self { asked, reload: Arc::default(), ask })
    }

    /// Returns two futures. The first completes on the first SIGTERM or Ctrl-C, and the second on the second such signal. Only a
    /// third signal ends the process directly.
    fn shutdown(self) -> Result<(impl Future<Output = ()>, impl Future<Output = ()>), Failure> {
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            self.handle.add_signal(signal).map_err(|error| unwatched(&error))?;
        }
        #[cfg(not(unix))]
        {
            let ask = self.ask;
            let watched =
                ctrlc::set_handler(move || ask.send_modify(|asked| *asked = asked.saturating_add(1)));
            watched.map_err(|error| unwatched(&io::Error::other(error)))?;
        }
        let times = |wanted: u32, mut asked: watch::Receiver<u32>| async move {
            if asked.wait_for(|asked| *asked >= wanted).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok((times(1, self.asked.clone()), times(2, self.asked)))
    }
}

fn unwatched(error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot watch for signals: {error}"))
}

fn begin_logging(level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_ansi(false);
    // If the log can no longer be written, the service continues.
    let log = log.log_internal_errors(false);
    let log = log.with_writer(io::stderr);
    // Initialising fails only if there is already a subscriber. This process sets no other subscriber.
    let _ = if io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    };
    // A panic during a request is caught, answered and logged like any other error. The store itself reports the panics that it
    // catches.
    std::panic::set_hook(Box::new(|panic| {
        if Store::catches_panics() {
            return;
        }
        let place = panic.location().map(ToString::to_string);
        let payload = panic.payload();
        let cause = payload.downcast_ref::<&str>().copied();
        let cause = cause.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        tracing::error!(place, cause, "a panic");
    }));
}

/// Warns if other users of this machine can read a file that contains secrets or cases.
#[cfg(unix)]
fn warn_of_readers(path: &Path, what: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o077);
    if mode.is_ok_and(|others| others != 0) {
        let file = shown(path);
        tracing::warn!(file, "other users of this machine may read {what}: chmod 600 is enough");
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_path: &Path, _what: &str) {}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string()).into_owned()
}
