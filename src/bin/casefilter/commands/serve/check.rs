//! `serve --check-config`: checks what `serve` needs, and prints the settings.

use std::io::ErrorKind;

use casefilter::service::{Tokens, check_audit_file};
use casefilter::{Catalog, Store, StoreError, StoreErrorKind};

use super::args::Args;
use super::config::UnknownVariable;
use super::files::shown;
use super::logging::begin_logging;
use super::options::Raised;
use super::token_watch::TokenWatch;
use crate::input::syntax::extended;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed, note};
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Prints the settings, and checks the database and the files that they name.
///
/// # Errors
/// Returns the errors of all checks as one failure. Returns an error if standard output cannot be written.
pub(super) fn check(args: &Args) -> Result<Status, Failure> {
    begin_logging(args.log);
    let mut out = Output::new();
    for setting in &args.settings {
        out.line(&setting.line())?;
    }
    out.finish()?;
    for UnknownVariable { name, near } in &args.unknown_variables {
        let advice = near.as_ref().map_or_else(String::new, |near| format!(": did you mean {near}?"));
        note(format!("no command reads the environment variable {}{advice}\n", escape(name)));
    }
    for Raised { flag, given, used } in args.raised() {
        note(format!("--{flag}: {given} is too small for the other settings, so {used} is used\n"));
    }
    let mut faults = Faults(String::new());
    faults.add(check_database(&args.db, AS_IMPORTED));
    faults.add(args.check_addresses());
    faults.add(args.check_spool_folder());
    faults.add(args.tls());
    let source = faults.add(args.source()).flatten();
    let kept = Store::catalog_of(&args.db);
    let is_in_use = kept.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::InUse);
    faults.add(check_audit_log(args, is_in_use));
    let catalog = faults.add(catalog(args, kept)).flatten();
    let tokens = faults.add(TokenWatch::start(&args.tokens, args.allow_readable_tokens));
    if let (Some(catalog), Some((_, file))) = (&catalog, tokens) {
        let tokens = Tokens::new(file, catalog, &args.options().limits);
        let tokens = tokens.map_err(|error| Failure::Failed(format!("{}: {error}", shown(&args.tokens))));
        faults.add(tokens);
    }
    faults.add(reach(args, source.as_deref(), catalog.as_ref()));
    match faults.0 {
        text if text.is_empty() => Ok(Status::Fine),
        text => Err(Failure::BadFilter(text)),
    }
}

/// The texts of errors, one after the other.
struct Faults(String);

impl Faults {
    fn add<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.0.push_str(&failure.text())).ok()
    }
}

/// Checks the audit log. If another process writes the log, and the database is also in use, prints only a note.
fn check_audit_log(args: &Args, is_database_in_use: bool) -> Result<(), Failure> {
    let Some(path) = &args.audit else { return Ok(()) };
    match check_audit_file(path) {
        Err(error) if error.kind() == ErrorKind::WouldBlock && is_database_in_use => {
            note(format!("{}: {error}; the file has no other fault\n", shown(path)));
            Ok(())
        }
        checked => checked.map_err(|error| Failure::io("cannot write", &path.display().to_string(), &error)),
    }
}

/// Returns the catalogue of the service: the one that the settings name, or else the one that the database keeps. Opens the
/// database for reading only. If --history is given, checks that the database can keep a history. Returns `None` if another process
/// has the database open and the settings name no catalogue.
fn catalog(args: &Args, kept: Result<Catalog, StoreError>) -> Result<Option<Catalog>, Failure> {
    let kept = match kept {
        Ok(kept) => Some(kept),
        Err(error) if error.kind() == StoreErrorKind::InUse => {
            note(format!("{}: another process has it open, so it was not checked\n", shown(&args.db)));
            None
        }
        Err(error) => return Err(failed(&error)),
    };
    let catalog = match (args.catalog.given()?, &kept) {
        (Some(catalog), _) => catalog,
        (None, Some(kept)) => kept.clone(),
        (None, None) => return Ok(None),
    };
    let catalog = extended(catalog, args.extended);
    if kept.is_some() {
        let opened = Store::open_read_only(&args.db, catalog.clone(), args.store_options(&args.options()));
        match opened {
            // A crash left the database open: `serve` repairs it.
            Err(error) if error.kind() == StoreErrorKind::Failed => {}
            opened => check_history(args, &opened.map_err(|error| failed(&error))?)?,
        }
    }
    Ok(Some(catalog))
}

/// If --history is given, checks that the format of a database can keep a history. The database is open for reading only.
fn check_history(args: &Args, store: &Store) -> Result<(), Failure> {
    match args.history.map(|history| store.set_history(history)) {
        Some(Err(error)) if error.kind() == StoreErrorKind::OldFormat => Err(failed(&error)),
        // Nothing was changed, because the store is open for reading only.
        _ => Ok(()),
    }
}

/// Connects to the source of cases, if there is one.
#[cfg(feature = "postgres")]
fn reach(args: &Args, source: Option<&str>, catalog: Option<&Catalog>) -> Result<(), Failure> {
    let (Some(url), Some(catalog)) = (source, catalog) else { return Ok(()) };
    let runtime = super::runtime::runtime(&args.options());
    let runtime = runtime.map_err(|error| Failure::io("cannot start", "a connection", &error))?;
    runtime.block_on(args.source_options.connect(url, catalog)).map(drop)
}

#[cfg(not(feature = "postgres"))]
fn reach(_: &Args, _: Option<&str>, _: Option<&Catalog>) -> Result<(), Failure> {
    Ok(())
}
