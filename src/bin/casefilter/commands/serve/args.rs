//! The arguments of `serve`, and what they mean for the service.

#[cfg(unix)]
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(unix)]
use casefilter::service::AdminSocket;
use casefilter::service::{AuditLog, AuditOptions, Service, ServiceOptions, Tls};
use casefilter::{Limits, StoreOptions};
use clap::builder::{BoolishValueParser, RangedU64ValueParser};

use crate::commands::serve::config::{
    Setting, UnknownVariable, effective, is_connection_string, unknown_variables,
};
use crate::commands::serve::files::{shown, warn_of_readers};
use crate::commands::serve::logging::Level;
use crate::commands::serve::tls_watch::TlsWatch;
use crate::input::admin::Socket;
use crate::input::catalog::CatalogFile;
use crate::input::duration::{self, VALUE, seconds};
#[cfg(feature = "postgres")]
use crate::input::postgres as source;
use crate::output::failure::Failure;
#[cfg(not(feature = "postgres"))]
use crate::output::part::Part;

/// Serve the five operations over HTTP
///
/// The operations are: search of cases, required documents status, profile preview, AML case, and update of extracted info. They
/// use a database that was made by `import`. SIGTERM or Ctrl-C stops the service after it has answered the requests in flight. A
/// second SIGTERM or Ctrl-C stops it at once: requests in flight are abandoned. Every acknowledged update is on disk. SIGHUP makes
/// the service read the token file and the certificate again.
///
/// While the service has the database open, these commands use its socket, which is beside the database: `search`, `stats`,
/// `why`, `match`, `explain`, `bench`, `import`, `delete`, `erase`, `filters`, `watch`, `export`, `verify`, `backup`, `compact`,
/// `audit replay`, `token share` and `token shares`. Only the user that the service runs as may open the socket.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// A TOML file with settings: its keys are the names of the flags, such as `listen = "0.0.0.0:8080"`
    ///
    /// A flag has precedence over its environment variable, and both over the file. The file must not contain secrets, only paths
    /// of files with secrets. `--check-config` prints all settings in this form.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_CONFIG")]
    pub(super) config: Option<PathBuf>,

    /// Check the settings and all files that they name, print the settings, and end
    ///
    /// Each line has a setting and its origin: flag, environment, file or default. The exit status is 2 if something is wrong. If
    /// another process has the database open, the database is not checked. If the audit log is then also in use, the command prints
    /// a note, not an error. Nothing is written, and no port is opened.
    #[arg(long)]
    pub(super) check_config: bool,

    /// The settings that --check-config prints.
    #[arg(skip)]
    pub(super) settings: Vec<Setting>,

    /// The environment variables that look like settings, and that no command reads.
    #[arg(skip)]
    pub(super) unknown_variables: Vec<UnknownVariable>,

    /// The database
    #[arg(long, value_name = "FILE", env = "CASEFILTER_DB")]
    pub(super) db: PathBuf,

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
    pub(super) source: Option<String>,

    /// A file with the connection string, instead of --source
    #[arg(
        long,
        value_name = "FILE",
        env = "CASEFILTER_SOURCE_FILE",
        help_heading = "PostgreSQL",
        hide = !cfg!(feature = "postgres")
    )]
    pub(super) source_file: Option<PathBuf>,

    #[cfg(feature = "postgres")]
    #[command(flatten)]
    pub(super) source_options: source::Options,

    /// Address to listen on: an IP address and a port; with port 0 a free port is used, and the log contains it
    #[arg(long, value_name = "ADDR", env = "CASEFILTER_LISTEN", default_value = "127.0.0.1:8080",
          value_parser = address)]
    pub(super) listen: SocketAddr,

    /// Separate address to listen on for /metrics, /healthz and /readyz: an IP address and a port [default: only the admin socket
    /// serves /metrics]
    ///
    /// This address has no TLS and no signatures: any client that can connect can read the numbers of requests, rows and cases, and
    /// the names of tokens.
    #[arg(long, visible_alias = "metrics-listen", value_name = "ADDR", env = "CASEFILTER_OPS_LISTEN", value_parser = address)]
    pub(super) ops_listen: Option<SocketAddr>,

    /// The file of app tokens, as `token app` writes it
    ///
    /// The service applies a change of the file within a second. After SIGHUP, it reads the file again, even if the file seems
    /// unchanged. A pipe is read only once, at the start. If the changed file is not valid, the service logs the error and keeps
    /// its tokens.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TOKENS")]
    pub(super) tokens: PathBuf,

    /// Accept a token file that other users of this machine can read or change
    #[arg(long, env = "CASEFILTER_ALLOW_READABLE_TOKENS", value_parser = BoolishValueParser::new())]
    pub(super) allow_readable_tokens: bool,

    /// A file to record each answered request in: who asked for what, and what was answered [default: no records]
    ///
    /// The file is created if it does not exist, and only its owner can read it. It contains the filters of searches and the ids of
    /// applicants, but no documents, secrets, or values of updates. `casefilter audit` lists and verifies it. While it cannot be
    /// written, requests get status 503.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_AUDIT", help_heading = "Audit log")]
    pub(super) audit: Option<PathBuf>,

    /// Maximum size of the audit log file, in bytes; a record that would exceed it begins a new file; the old file is kept as
    /// FILE.NUMBER, where NUMBER is the number of its last record
    #[arg(long, value_name = "N", env = "CASEFILTER_AUDIT_ROTATE", help_heading = "Audit log",
          default_value_t = AuditOptions::default().rotate_bytes)]
    pub(super) audit_rotate: u64,

    /// Answer requests even if the audit log cannot be written; once the log can be written again, the service adds a record with
    /// the number of missing records
    #[arg(long, env = "CASEFILTER_AUDIT_BEST_EFFORT", help_heading = "Audit log",
          value_parser = BoolishValueParser::new())]
    pub(super) audit_best_effort: bool,

    /// Maximum difference between the timestamp of a request and the clock; timestamps are whole seconds
    #[arg(long, value_name = VALUE, env = "CASEFILTER_CLOCK_WINDOW", default_value = "60s", value_parser = seconds)]
    pub(super) clock_window: Duration,

    /// Reject a signature that has already been used
    #[arg(long, env = "CASEFILTER_REFUSE_REPLAYS", value_parser = BoolishValueParser::new())]
    pub(super) refuse_replays: bool,

    /// Maximum number of signatures per token that are remembered for --refuse-replays; further requests get 503
    #[arg(long, value_name = "N", env = "CASEFILTER_REMEMBERED_SIGNATURES",
          default_value_t = ServiceOptions::default().remembered_signatures)]
    pub(super) remembered_signatures: usize,

    /// Also allow $not, $elem, $exists, $startsWith, $substring and $match in the bodies of searches
    ///
    /// /openapi.json then describes these operators. The filters of tokens are in the text syntax, which always allows them.
    #[arg(long, env = "CASEFILTER_EXTENDED", value_parser = BoolishValueParser::new())]
    pub(super) extended: bool,

    #[command(flatten)]
    pub(super) catalog: CatalogFile,

    /// Maximum number of cases on a page
    #[arg(long, value_name = "N", env = "CASEFILTER_MAX_LIMIT", default_value_t = Limits::default().page)]
    pub(super) max_limit: u64,

    /// Maximum size of a request body, in bytes
    #[arg(long, value_name = "N", env = "CASEFILTER_MAX_BODY", default_value_t = Limits::default().body_bytes)]
    pub(super) max_body: usize,

    /// Maximum number of open connections
    ///
    /// On an HTTP/2 connection, each further request at the same time counts as a connection.
    #[arg(long, value_name = "N", env = "CASEFILTER_CONNECTIONS",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..), default_value_t = ServiceOptions::default().connections)]
    pub(super) connections: usize,

    /// Maximum number of open connections per IP address (for IPv6: per network of 64 bits)
    ///
    /// If clients connect through a proxy, all connections have the proxy's address. Then use the value of --connections. Requests
    /// on an HTTP/2 connection count as for --connections.
    #[arg(long, value_name = "N", env = "CASEFILTER_CONNECTIONS_PER_PEER",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..), default_value_t = ServiceOptions::default().connections_per_peer)]
    pub(super) connections_per_peer: usize,

    /// Maximum number of requests that wait for the database file or run a long search at the same time; if there are several
    /// tokens, each gets at most half
    #[arg(long, value_name = "N", env = "CASEFILTER_CONCURRENCY",
          default_value_t = ServiceOptions::default().concurrency)]
    pub(super) concurrency: usize,

    /// Maximum number of requests per second of each token; further requests get 429; 0 means no limit
    #[arg(long, value_name = "N", env = "CASEFILTER_REQUESTS_PER_SECOND",
          default_value_t = ServiceOptions::default().requests_per_second)]
    pub(super) requests_per_second: u32,

    /// Maximum size of all request bodies and answers in flight per token, in bytes; further requests get 429; 0 means no limit
    ///
    /// The first 32 KiB of each body and of each answer do not count. The body and the answer of a request may exceed the limit
    /// while the token has no other request in flight.
    #[arg(long, value_name = "N", env = "CASEFILTER_BYTES_IN_FLIGHT",
          default_value_t = ServiceOptions::default().bytes_in_flight)]
    pub(super) bytes_in_flight: usize,

    /// Maximum memory for all request bodies, in bytes; further requests get 503
    ///
    /// A value below four times --max-body is raised to four times --max-body, so that the largest body fits.
    #[arg(long, value_name = "N", env = "CASEFILTER_BUFFERED_BYTES",
          default_value_t = ServiceOptions::default().buffered_bytes)]
    pub(super) buffered_bytes: usize,

    /// Maximum size of all temporary files for large bodies whose signature is not verified yet, in bytes; further requests get 503
    ///
    /// The requests of one token from one address get at most half. A value below twice --max-body is raised to twice --max-body,
    /// so that the largest body fits.
    #[arg(long, value_name = "N", env = "CASEFILTER_SPOOLED_BYTES",
          default_value_t = ServiceOptions::default().spooled_bytes)]
    pub(super) spooled_bytes: usize,

    /// Directory of the temporary files for large bodies [default: that of the database, or the temporary directory of the system]
    #[arg(long, value_name = "DIR", env = "CASEFILTER_SPOOL_DIR")]
    pub(super) spool_dir: Option<PathBuf>,

    /// Maximum size of an answer with cases, in bytes; a larger page gets status 400, with the largest possible `limit` in the
    /// message
    #[arg(long, value_name = "N", env = "CASEFILTER_ANSWER_BYTES",
          default_value_t = ServiceOptions::default().max_response_bytes)]
    pub(super) answer_bytes: usize,

    /// Maximum memory for all answers that are being sent, in bytes; further requests get 503
    ///
    /// Each token gets at most half. A page of more than 256 KiB is sent while it is read. Such a page takes 512 KiB, or twice the
    /// size of its largest case if that is more. A value of less than 96 MiB is raised to 96 MiB. With --source a page takes its
    /// complete size, and the maximum is at least twice --answer-bytes.
    #[arg(long, value_name = "N", env = "CASEFILTER_OUTGOING_BYTES",
          default_value_t = ServiceOptions::default().outgoing_bytes)]
    pub(super) outgoing_bytes: usize,

    /// Maximum time for each of these steps: receiving the head of a request, receiving its body, and waiting for the next request
    /// of a connection
    #[arg(long, value_name = VALUE, env = "CASEFILTER_READ_TIMEOUT", default_value = "20s", value_parser = seconds)]
    pub(super) read_timeout: Duration,

    /// Maximum time that a client may take to receive an answer
    #[arg(long, value_name = VALUE, env = "CASEFILTER_WRITE_TIMEOUT", default_value = "30s", value_parser = seconds)]
    pub(super) write_timeout: Duration,

    /// Maximum time that an update waits for commits of imports and for earlier updates
    #[arg(long, value_name = VALUE, env = "CASEFILTER_TURN_TIMEOUT", default_value = "10s", value_parser = seconds)]
    pub(super) turn_timeout: Duration,

    /// Maximum time of a search until its answer begins; a longer search is stopped and gets 503; 0 means no limit
    #[arg(long, value_name = VALUE, env = "CASEFILTER_SEARCH_TIMEOUT", default_value = "10s", value_parser = seconds)]
    pub(super) search_timeout: Duration,

    /// Maximum number of standing filters per token; a request to store more gets 400
    #[arg(long, value_name = "N", env = "CASEFILTER_STANDING_FILTERS", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().standing_filters)]
    pub(super) standing_filters: usize,

    /// Maximum size of all standing filters of a token, in bytes; a request to store more gets 400
    ///
    /// Each filter is stored twice: as its body, and as its body joined with the restrictions of the token. The restrictions list
    /// the clients of the token. So a token with many clients reaches the limit with fewer filters.
    #[arg(long, value_name = "N", env = "CASEFILTER_STANDING_BYTES", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().standing_bytes)]
    pub(super) standing_bytes: usize,

    /// Maximum number of requests that wait for events or follow them; further requests get 503
    ///
    /// Each of them also counts as an open connection.
    #[arg(long, value_name = "N", env = "CASEFILTER_EVENT_LISTENERS", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().event_listeners)]
    pub(super) event_listeners: usize,

    /// Maximum number of requests per token that wait for events or follow them; further requests get 429
    #[arg(long, value_name = "N", env = "CASEFILTER_EVENT_LISTENERS_PER_TOKEN", help_heading = "Standing filters",
          default_value_t = ServiceOptions::default().event_listeners_per_token)]
    pub(super) event_listeners_per_token: usize,

    /// Number of events that the database keeps, of all tokens together [default: the setting of the database, at first 1000000]
    ///
    /// A client that asks for events that the database does not keep any more gets 410. The database keeps this setting, also for
    /// other commands.
    #[arg(long, value_name = "N", env = "CASEFILTER_KEEP_EVENTS", help_heading = "Standing filters")]
    pub(super) keep_events: Option<u64>,

    /// Time after SIGTERM in which new connections are still served while /readyz returns 503, so that a load balancer notices the
    /// shutdown
    ///
    /// Use 0 if there is no load balancer. Otherwise, use a few seconds more than the time between two checks of /readyz, such as
    /// 5s.
    #[arg(long, value_name = VALUE, env = "CASEFILTER_DRAIN", default_value = "0s", value_parser = seconds)]
    pub(super) drain: Duration,

    /// Maximum time for requests in flight when the service stops
    #[arg(long, value_name = VALUE, env = "CASEFILTER_GRACE", default_value = "30s", value_parser = seconds)]
    pub(super) grace: Duration,

    /// Memory for pages of the database, in MiB, in addition to the columns
    #[arg(long, value_name = "MIB", env = "CASEFILTER_CACHE", default_value_t = 64)]
    pub(super) cache: usize,

    /// From now on, keep cases that are replaced or deleted for this long, such as 90d; with 0s, none are kept [default: the
    /// setting of the database]
    ///
    /// `search --as-of` and `audit replay` then find the cases as they were. The database keeps this setting, also for other
    /// commands. Each write removes only some of what is older; `compact` removes all of it.
    #[arg(long, value_name = VALUE, env = "CASEFILTER_HISTORY", value_parser = seconds)]
    pub(super) history: Option<Duration>,

    /// Use TLS with the certificates in this PEM file; the certificate of the service must be the first
    ///
    /// The service follows this file and that of the key: a new pair is used for new connections within a few seconds. SIGHUP makes
    /// the service read both files again. If the pair is not valid, the service logs the error and keeps the old one.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TLS_CERT")]
    pub(super) tls_cert: Option<PathBuf>,

    /// The private key of the first certificate, in PEM format
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TLS_KEY")]
    pub(super) tls_key: Option<PathBuf>,

    /// Offer only HTTP/1.1 to clients with TLS, not HTTP/2
    #[arg(long, env = "CASEFILTER_NO_HTTP2", value_parser = BoolishValueParser::new())]
    pub(super) no_http2: bool,

    #[command(flatten)]
    pub(super) socket: Socket,

    /// Open no socket for other commands, even if --admin-socket is given
    #[arg(long, env = "CASEFILTER_NO_ADMIN_SOCKET", value_parser = BoolishValueParser::new())]
    pub(super) no_admin_socket: bool,

    /// Level of the log: `info` includes rejected requests, `debug` includes every request
    #[arg(long, value_name = "LEVEL", env = "CASEFILTER_LOG", default_value = "info")]
    pub(super) log: Level,
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
  casefilter serve --config casefilter.toml --check-config

Logs go to standard error, as JSON in a pipe. /healthz, /readyz and /openapi.json need no signature. Prometheus finds /metrics on the
listener of --ops-listen and on the admin socket, not on the public port. Every flag can be set by the environment variable that
is named with it, and by --config.";

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let expected = "expected an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080";
    text.parse().map_err(|_| expected)
}

impl Args {
    /// Opens the audit log, and logs its last record.
    pub(super) fn audit_log(&self) -> Result<Option<AuditLog>, Failure> {
        let Some(path) = &self.audit else { return Ok(None) };
        let mut options = AuditOptions::default();
        options.rotate_bytes = self.audit_rotate;
        options.is_best_effort = self.audit_best_effort;
        let log = AuditLog::open(path, options)
            .map_err(|error| Failure::io("cannot write", &path.display().to_string(), &error))?;
        warn_of_readers(path, "the requests in it");
        let audit_head = log.head().to_string();
        tracing::info!(file = shown(path), audit_head, "the audit log is open");
        Ok(Some(log))
    }

    /// Reads the certificate and its key, if they are given.
    pub(super) fn tls(&self) -> Result<Option<(TlsWatch, Tls)>, Failure> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => TlsWatch::start(certificates, key).map(Some),
            (None, None) => Ok(None),
            (Some(_), None) => Err(Failure::Usage("--tls-cert needs --tls-key".to_owned())),
            (None, Some(_)) => Err(Failure::Usage("--tls-key needs --tls-cert".to_owned())),
        }
    }
}

#[cfg(unix)]
impl Args {
    /// Returns the service with an admin socket, through which other commands connect to it. With --no-admin-socket, returns it
    /// without a socket. If the default path cannot be used, logs a warning and returns the service without a socket. Returns an
    /// error if another service uses the path, or if the path of --admin-socket cannot be used.
    pub(super) fn administered(&self, service: Service) -> Result<Service, Failure> {
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
    pub(super) fn administered(&self, service: Service) -> Result<Service, Failure> {
        match &self.socket.path {
            Some(_) if !self.no_admin_socket => {
                Err(Failure::Usage("--admin-socket is for systems with Unix sockets".to_owned()))
            }
            _ => Ok(service),
        }
    }
}

impl Args {
    /// Stores the unknown variables, and with --check-config also the settings. `tree` is the tree of commands that parsed the
    /// arguments.
    pub(crate) fn note_settings(&mut self, matches: &clap::ArgMatches, tree: &clap::Command) {
        self.unknown_variables = unknown_variables(tree);
        if self.check_config {
            self.settings = effective(matches, tree);
        }
    }

    /// Returns the connection string of the source of cases, if there is one.
    pub(super) fn source(&self) -> Result<Option<String>, Failure> {
        #[cfg(not(feature = "postgres"))]
        if self.source.is_some() || self.source_file.is_some() {
            Part::Postgres.require("`--source`")?;
        }
        match (&self.source, &self.source_file) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, None) => Ok(None),
            // The error must not show the password.
            (None, Some(path)) if path.to_str().is_some_and(is_connection_string) => {
                let found =
                    "--source-file: found a connection string, expected the path of a file that has it";
                Err(Failure::Failed(found.to_owned()))
            }
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path);
                let text =
                    text.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))?;
                warn_of_readers(path, "the connection string in it");
                Ok(Some(text.trim().to_owned()))
            }
        }
    }

    /// Returns an error if both listeners have the same address.
    pub(super) fn check_addresses(&self) -> Result<(), Failure> {
        match self.ops_listen.filter(|address| *address == self.listen && address.port() != 0) {
            None => Ok(()),
            Some(address) => Err(Failure::Failed(format!(
                "--ops-listen: found {address}, which is the address of --listen, expected another one"
            ))),
        }
    }

    /// Returns an error if the folder of --spool-dir does not exist.
    pub(super) fn check_spool_folder(&self) -> Result<(), Failure> {
        match self.spool_dir.as_ref().filter(|folder| !folder.is_dir()) {
            None => Ok(()),
            Some(folder) => Err(Failure::Failed(format!(
                "--spool-dir: found no directory `{}`, expected one that exists",
                shown(folder)
            ))),
        }
    }

    pub(super) fn store_options(&self, options: &ServiceOptions) -> StoreOptions {
        let store_options = StoreOptions::default()
            .cache_bytes(self.cache.saturating_mul(1 << 20))
            .limits(options.limits.clone());
        let store_options = match self.keep_events {
            Some(count) => store_options.keep_events(count),
            None => store_options,
        };
        match self.history {
            Some(history) => store_options.history(history),
            None => store_options,
        }
    }
}
