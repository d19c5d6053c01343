//! Creates tables on the server that `tests/postgres/run` starts.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs};

use casefilter::postgres::PostgresOptions;
use casefilter::sql::{Dialect, Table, write_copy};

/// Returns the value of an environment variable that `tests/postgres/run` sets.
pub(crate) fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: tests/postgres/run does that"))
}

/// Returns options that a function has changed.
pub(crate) fn changed<T>(mut options: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut options);
    options
}

/// Returns options for a table, with timeouts that are long enough on a busy machine.
pub(crate) fn options(table: &str) -> PostgresOptions {
    changed(PostgresOptions::default(), |options| {
        options.table = table.to_owned();
        options.max_waiting_searches = 1000;
        options.statement_timeout = Duration::from_secs(60);
        options.acquire_timeout = Duration::from_secs(30);
        options.connect_timeout = Duration::from_secs(20);
    })
}

/// Returns a unique table name.
pub(crate) fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{name}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn command(url: &str) -> Command {
    let mut command = Command::new("psql");
    command.arg(url).args(["-qXAt", "-v", "ON_ERROR_STOP=1"]).stdin(Stdio::piped());
    command
}

/// Runs a script and returns its output.
pub(crate) fn psql(url: &str, script: &str) -> String {
    let mut child = command(url).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{script:.2000}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Runs a script in the background.
pub(crate) fn psql_beside(url: &str, script: &str) -> Child {
    let mut child = command(url).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    child
}

/// Creates a table like a user: from the rows of an export, with the script of `casefilter ddl`.
pub(crate) fn load<'d>(url: &str, table: &Table, documents: impl Iterator<Item = &'d str>) {
    let mut rows = String::new();
    for (place, document) in (0..).zip(documents) {
        write_copy(table, &table.row(place, document).unwrap(), &mut rows).unwrap();
    }
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("cases.tsv");
    fs::write(&file, rows).unwrap();
    psql(url, &table.script(Dialect::Postgres, file.to_str().unwrap()));
}

/// An exclusive lock on a table, released when it is dropped.
pub(crate) struct Locked {
    url: String,
    name: String,
    child: Child,
}

impl Locked {
    pub(crate) fn new(url: &str, table: &str) -> Self {
        let name = unique("lock");
        let script = format!(
            "SET application_name = '{name}'; BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(300);"
        );
        let child = psql_beside(url, &script);
        let asleep = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' AND wait_event = 'PgSleep'"
        );
        while psql(url, &asleep) != "1" {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { url: url.to_owned(), name, child }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
            self.name
        );
        psql(&self.url, &end);
        let _ = self.child.wait();
    }
}
