//! Runs the command `serve`: opens the files and the ports, and serves requests until a signal arrives.

use std::sync::Arc;
use std::time::Duration;

use casefilter::Store;
use casefilter::service::{Service, Tokens};
use tokio::net::TcpListener;

use super::args::Args;
use super::check::check;
use super::config::UnknownVariable;
use super::files::{shown, warn_of_readers};
use super::logging::begin_logging;
use super::options::Raised;
use super::runtime::runtime;
use super::signals::Signals;
use super::token_watch::TokenWatch;
use crate::input::syntax::extended;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed};
use crate::output::status::Status;

/// The maximum time that threads get to finish abandoned requests, after all writes are on disk.
const LAST_WORK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    if args.check_config {
        return check(args);
    }
    check_database(&args.db, AS_IMPORTED)?;
    begin_logging(args.log);
    warn_of_settings(args);
    let source = args.source()?;
    let has_source = source.is_some();
    let signals = Signals::watch()?;
    let asked = signals.asked.clone();
    let reloads = Arc::clone(&signals.reloads);
    let options = args.options();
    args.check_spool_folder()?;
    let (watch, file) = TokenWatch::start(&args.tokens, args.allow_readable_tokens)?;
    let catalog = args.catalog.or_kept(&args.db)?;
    let catalog = extended(catalog, args.extended);
    let tokens = Tokens::new(file, &catalog, &options.limits);
    let tokens = tokens.map_err(|error| Failure::Failed(format!("{}: {error}", shown(&args.tokens))))?;
    let tls = args.tls()?;
    let store = Store::open(&args.db, catalog.clone(), args.store_options(&options));
    let store = store.map_err(|error| failed(&error))?;
    warn_of_readers(&args.db, "the cases in it");
    let audit = args.audit_log()?;

    let runtime = runtime(&options).map_err(|error| Failure::io("cannot start", "the service", &error))?;
    runtime.block_on(async {
        #[cfg(feature = "postgres")]
        let source = match &source {
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
        let searches = if has_source { "PostgreSQL" } else { "the database" };
        let counts = (store.len(), tokens.len());
        let service = Service::new(store, tokens, options);
        let service = match audit {
            Some(log) => service.with_audit(log),
            None => service,
        };
        watch.follow(service.token_updater(), Arc::clone(&reloads))?;
        #[cfg(feature = "postgres")]
        let service = match source {
            Some(source) => service.with_source(source),
            None => service,
        };
        let service = args.administered(service)?;
        let service = match tls {
            Some((watch, tls)) => {
                watch.follow(tls.clone(), Arc::clone(&reloads))?;
                service.with_tls(tls)
            }
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

/// Logs the environment variables that no command reads, and the settings that are raised.
fn warn_of_settings(args: &Args) {
    for UnknownVariable { name, near } in &args.unknown_variables {
        let (variable, advice) = (escape(name), near.as_deref());
        tracing::warn!(%variable, advice, "no command reads this environment variable");
    }
    for Raised { flag, given, used } in args.raised() {
        tracing::warn!(flag, given, used, "this setting is too small for the other settings");
    }
}
