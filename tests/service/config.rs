//! Tests `serve --config`, `serve --check-config` and `health`, with the binary.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use casefilter::service::{AuditLog, AuditOptions};

use super::client::Client;
use super::process::{Process, casefilter, write_private};
use super::server::{Database, data, tokens};

/// A folder with a database, a token file and a configuration file.
struct World {
    database: Database,
}

impl World {
    fn new(config: &str) -> Self {
        let world = Self { database: Database::new("plain.cases.ndjson") };
        write_private(&world.path("tokens.json"), &tokens().to_string());
        fs::write(world.path("serve.toml"), config).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.database.folder().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = casefilter();
        command.current_dir(self.database.folder()).args(arguments);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CASEFILTER_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs `serve --config serve.toml --check-config`. Returns its status, standard output and standard error.
    fn check(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
        let mut command = self.command(&["serve", "--config", "serve.toml", "--check-config"]);
        let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

const GOOD: &str = "\
# A comment.
db = \"cases.db\"
tokens = \"tokens.json\"
max-limit = 77
extended = true
read-timeout = \"7s\"
log = \"warn\"
";

#[test]
fn a_flag_precedes_its_variable_which_precedes_the_file() {
    let world = World::new(GOOD);
    let (status, out, err) = world.check(&[], &[]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    for line in [
        "db = \"cases.db\"  # file",
        "max-limit = 77  # file",
        "extended = true  # file",
        "read-timeout = \"7s\"  # file",
        "write-timeout = \"30s\"  # default",
        "log = \"warn\"  # file",
    ] {
        assert!(out.lines().any(|own| own == line), "{line}: {out}");
    }
    let variables =
        [("CASEFILTER_MAX_LIMIT", "66"), ("CASEFILTER_READ_TIMEOUT", "6s"), ("CASEFILTER_EXTENDED", "no")];
    let (status, out, _) = world.check(&["--max-limit", "55"], &variables);
    assert_eq!(status, Some(0));
    for line in
        ["max-limit = 55  # flag", "read-timeout = \"6s\"  # environment", "extended = false  # environment"]
    {
        assert!(out.lines().any(|own| own == line), "{line}: {out}");
    }
    // The output is a file with the same meaning.
    fs::write(world.path("serve.toml"), &out).unwrap();
    let (status, again, err) = world.check(&[], &[]);
    assert_eq!(status, Some(0), "{err}");
    let values = |out: &str| -> Vec<String> {
        let lines = out.lines().map(|line| line.rsplit_once("  # ").unwrap().0.to_owned());
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines
    };
    assert_eq!(values(&again), values(&out));
    assert!(again.lines().all(|line| line.ends_with("  # file")), "{again}");
}

#[test]
fn settings_that_are_not_used_as_they_are_are_told() {
    let world = World::new(GOOD);
    let variables = [("CASEFILTER_METRICS_LISTEN", "127.0.0.1:0"), ("CASEFILTER_MAXLIMIT", "9")];
    let arguments = ["--outgoing-bytes", "1000000", "--concurrency", "0", "--write-timeout", "0"];
    let (status, _, err) = world.check(&arguments, &variables);
    assert_eq!(status, Some(0), "{err}");
    for told in [
        "the environment variable CASEFILTER_METRICS_LISTEN: did you mean CASEFILTER_OPS_LISTEN?",
        "the environment variable CASEFILTER_MAXLIMIT: did you mean CASEFILTER_MAX_LIMIT?",
        "--outgoing-bytes: 1000000 is too small for the other settings, so 100663296 is used",
        "--concurrency: 0 is too small",
        "--write-timeout: 0s is too small for the other settings, so 1s is used",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

#[test]
fn a_wrong_variable_that_a_flag_overrides_is_no_error_of_the_file() {
    let world = World::new(GOOD);
    for (flag, variable, wrong, right) in [
        ("--cache", "CASEFILTER_CACHE", "x", "32"),
        ("--listen", "CASEFILTER_LISTEN", "", "127.0.0.1:0"),
        ("--max-limit", "CASEFILTER_MAX_LIMIT", "-1", "9"),
    ] {
        let (status, out, err) = world.check(&[flag, right], &[(variable, wrong)]);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{flag}: {out}");
        assert!(out.contains("db = \"cases.db\"  # file"), "{flag}: {out}");
        let (status, _, err) = world.check(&[], &[(variable, wrong)]);
        assert!(status == Some(2) && err.contains(flag), "{flag}: {err}");
    }
}

#[test]
fn a_wrong_file_is_refused_with_the_place() {
    for (text, line, told) in [
        ("db = \"cases.db\"\nmax_limit = 3\n", "serve.toml:2:1", "did you mean `max-limit`?"),
        ("max-limits = 3\n", "serve.toml:1:1", "did you mean `max-limit`?"),
        ("metrics-listen = \"[::1]:9\"\n", "serve.toml:1:1", "did you mean `ops-listen`?"),
        ("colour = 3\n", "serve.toml:1:1", "the name of a flag"),
        ("config = \"other.toml\"\n", "serve.toml:1:1", "the name of a flag"),
        ("max-limit = \"many\"\n", "serve.toml:1:13", "expected a whole number that is not negative"),
        ("max-limit = 1.5\n", "serve.toml:1:13", "expected a whole number that is not negative"),
        ("cache = 99999999999999999999999\n", "serve.toml:1:9", "expected a smaller whole number"),
        ("listen = \"localhost\"\n", "serve.toml:1:10", "an IP address and a port"),
        ("grace = \"3 weeks\"\n", "serve.toml:1:9", "a whole number and ms, s, m, h or d"),
        ("log = \"loud\"\n", "serve.toml:1:7", "one of `error`, `warn`, `info`, `debug`"),
        ("extended = \"yes\"\n", "serve.toml:1:12", "`true` or `false`"),
        ("db = [\"a\"]\n", "serve.toml:1:6", "a string"),
        ("[limits]\nmax-limit = 3\n", "serve.toml:1:", "the name of a flag"),
        ("source = \"postgres://me:secret@host/db\"\n", "serve.toml:1:1", "this file as `source-file`"),
        // Without quotes, with quotes around the key, and as the value of another key.
        ("source = postgres://me:secret@host/db\n", "serve.toml:1:10", "valid TOML"),
        ("\"source\" = \"postgres://me:secret@host/db\"\n", "serve.toml:1:", "this file as `source-file`"),
        ("SOURCE = \"host=h user=me password=secret\"\n", "serve.toml:1:1", "the name of a flag"),
        ("source_file = \"host=h password=secret\"\n", "serve.toml:1:1", "did you mean `source-file`?"),
        (
            "source-file = \"postgres://me:secret@h/db\"\n",
            "serve.toml:1:15",
            "the path of a file with the connection",
        ),
        (
            "source-file = \"host=h password=secret\"\n",
            "serve.toml:1:15",
            "the path of a file with the connection",
        ),
        ("sources = \"postgres://me:secret@host/db\"\n", "serve.toml:1:1", "the name of a flag"),
        ("audit = false\n", "serve.toml:1:9", "^ expected a string"),
        ("tls-cert = 3\n", "serve.toml:1:12", "^ expected a string"),
        ("db = cases.db\n", "serve.toml:1:6", "valid TOML"),
        ("db = \"a\"\ndb = \"b\"\n", "serve.toml:2:1", "valid TOML"),
    ] {
        let world = World::new(text);
        for check in [&["--check-config"][..], &[]] {
            let output = world.command(&["serve", "--config", "serve.toml"]).args(check).output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{text}: {err}");
            assert!(err.contains(line) && err.contains(told) && err.contains('^'), "{text}: {err}");
            assert!(!err.contains("secret"), "{err}");
        }
    }
    // The flag and its variable do not show a password either.
    for (variable, arguments) in [
        ("CASEFILTER_SOURCE_FILE", &[][..]),
        ("CASEFILTER_OTHER", &["--source-file", "postgres://me:secret@h/db"]),
    ] {
        let world = World::new(GOOD);
        let (status, out, err) = world.check(arguments, &[(variable, "postgres://me:secret@h/db")]);
        assert!(status == Some(2) && err.contains("found a connection string"), "{err}");
        assert!(!out.contains("secret") && !err.contains("secret"), "{out}{err}");
    }
    let output = World::new("").command(&["serve", "--config", "none.toml"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && err.contains("cannot read none.toml"), "{err}");
}

#[test]
fn check_config_names_every_fault_and_starts_nothing() {
    let world = World::new(GOOD);
    for (arguments, told) in [
        (&["--db", "none.db"][..], "none.db"),
        (&["--tokens", "none.json"], "cannot read none.json"),
        (&["--spool-dir", "none"], "--spool-dir: found no directory `none`"),
        (&["--catalog", "none.toml"], "none.toml"),
        (&["--audit", "none/audit.ndjson"], "cannot write none/audit.ndjson"),
        (&["--audit", "cases.db"], "not an audit log"),
        (&["--tls-cert", "cert.pem"], "--tls-cert needs --tls-key"),
        (&["--listen", "[::1]:9", "--ops-listen", "[::1]:9"], "which is the address of --listen"),
        (&["--tls-cert", "tokens.json", "--tls-key", "tokens.json"], "found no certificate"),
    ] {
        let (status, out, err) = world.check(arguments, &[]);
        assert!(status == Some(2) && err.contains(told), "{arguments:?}: {err}");
        assert!(out.contains("max-limit = 77  # file"), "{out}");
    }
    let (_, _, err) = world.check(&["--tokens", "none.json", "--spool-dir", "none"], &[]);
    assert_eq!(err.matches("error: ").count(), 2, "{err}");
    // A file of an earlier format keeps no history.
    fs::copy(data("store/v2.redb"), world.path("old.db")).unwrap();
    let (status, _, err) = world.check(&["--db", "old.db", "--history", "90d"], &[]);
    assert!(status == Some(2) && err.contains("keeps no history"), "{err}");
    for arguments in [&["--db", "old.db"][..], &["--db", "old.db", "--history", "0s"], &["--history", "90d"]]
    {
        assert_eq!(world.check(arguments, &[]).0, Some(0), "{arguments:?}");
    }
    // An audit log that does not exist yet is not created.
    assert_eq!(world.check(&["--audit", "audit.ndjson"], &[]).0, Some(0));
    assert!(!world.path("audit.ndjson").exists() && !world.path("cases.db.sock").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(world.path("tokens.json"), fs::Permissions::from_mode(0o644)).unwrap();
        let (status, _, err) = world.check(&[], &[]);
        assert!(status == Some(2) && err.contains("other users of this machine can read"), "{err}");
    }
}

#[test]
fn check_config_notices_an_audit_log_that_a_service_writes() {
    let world = World::new(GOOD);
    let log = world.path("audit.ndjson");
    let arguments = &["--audit", "audit.ndjson"];
    let other = AuditLog::open(&log, AuditOptions::default()).unwrap();
    let (status, _, err) = world.check(arguments, &[]);
    assert!(status == Some(2) && err.contains("another service writes this audit log"), "{err}");
    other.close().unwrap();
    assert_eq!(world.check(arguments, &[]).0, Some(0));
    // The service that has the database open is replaced by the one that is checked.
    let process = Process::with_source(&world.database, &["--audit", log.to_str().unwrap()], None);
    let (status, _, err) = world.check(arguments, &[]);
    assert!(status == Some(0) && err.contains("another service writes this audit log"), "{err}");
    process.terminate();
}

#[test]
fn a_service_runs_by_its_file_and_tells_its_health() {
    let world = World::new(
        &(GOOD.replace("warn", "info") + "ops-listen = \"127.0.0.1:0\"\nlisten = \"127.0.0.1:0\"\n"),
    );
    let mut command = world.command(&["serve", "--config", "serve.toml"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let process = Process::listening(command.spawn().unwrap());
    let address = process.address.to_string();
    // A running service does not prevent the check.
    let (status, _, err) = world.check(&[], &[]);
    assert!(status == Some(0) && err.contains("another process has it open"), "{err}");
    let health = |arguments: &[&str]| {
        let output = world.command(&["health"]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let url = format!("http://{address}");
    for arguments in [
        &["--listen", &address][..],
        &["--listen", &address, "--ready"],
        &["--url", &url],
        &["--url", &format!("{url}/readyz")],
        &["--ops-listen", &address],
    ] {
        assert_eq!(health(arguments), (Some(0), String::new()), "{arguments:?}");
    }
    let (status, err) = health(&["--url", &format!("{url}/nowhere")]);
    assert!(status == Some(1) && err.contains("status 404"), "{err}");
    assert_eq!(health(&["--url", "nonsense"]).0, Some(2));
    let mut command = world.command(&["health"]);
    assert!(command.env("CASEFILTER_LISTEN", &address).status().unwrap().success());
    // A flag has precedence over the variables of the container, and these over the file.
    let status = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = world.command(&["health"]);
        command.args(arguments).envs(variables.iter().copied()).status().unwrap().code()
    };
    let variables = [("CASEFILTER_LISTEN", "127.0.0.1:1"), ("CASEFILTER_OPS_LISTEN", "127.0.0.1:1")];
    assert_eq!(status(&["--url", &url], &variables), Some(0));
    assert_eq!(status(&[], &variables), Some(1));
    fs::write(world.path("health.toml"), format!("listen = \"{address}\"\nmax-limit = 9\n")).unwrap();
    assert_eq!(status(&["--config", "health.toml"], &[]), Some(0));
    assert_eq!(status(&["--config", "health.toml"], &variables[..1]), Some(1));
    assert_eq!(status(&[], &[("CASEFILTER_CONFIG", "health.toml")]), Some(0));
    drop(Client::new(process.address));
    process.terminate();
    let (status, err) = health(&["--listen", &address]);
    assert!(status == Some(1) && err.contains("no answer from"), "{err}");
    // A port that accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap().to_string();
    let (status, err) = health(&["--listen", &silent_address, "--timeout", "300ms"]);
    assert!(status == Some(1) && err.contains("no answer in 0.3 s"), "{err}");
}

#[test]
fn health_works_over_tls() {
    let world = World::new(GOOD);
    let [cert, key] =
        ["cert", "key"].map(|name| data(&format!("tls/{name}.pem")).to_str().unwrap().to_owned());
    let process = Process::start(&world.database, &["--tls-cert", &cert, "--tls-key", &key]);
    let address = process.address.to_string();
    let status = |arguments: &[&str]| world.command(&["health"]).args(arguments).status().unwrap().code();
    assert_eq!(status(&["--listen", &address, "--tls-cert", &cert]), Some(0));
    assert_eq!(status(&["--url", &format!("https://{address}/readyz")]), Some(0));
    assert_eq!(status(&["--listen", &address]), Some(1));
    process.terminate();
}
