//! Tests the files of the command line. Files that it writes must be complete and private. It also reads damaged files and files
//! with extra bytes.

#![cfg(all(feature = "full", unix))]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use casefilter::{Catalog, Durability, Store, StoreOptions};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder in which commands run.
struct Folder(TempDir);

struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("casefilter"));
        command.current_dir(self.0.path()).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        self.command(args).output().unwrap().into()
    }

    #[track_caller]
    fn good(&self, args: &[&str]) -> String {
        let Run { code, out, err } = self.run(args);
        assert_eq!(code, Some(0), "{args:?}: {out} {err}");
        out
    }

    #[track_caller]
    fn bad(&self, args: &[&str], expected: &str) {
        let Run { code, out, err } = self.run(args);
        assert!(code == Some(1) && err.contains(expected), "{args:?}: {code:?} {out} {err}");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// Creates a database of sample cases, some of which were replaced.
    fn with_cases(count: u32) -> Self {
        let own = Self::new();
        own.good(&["generate", "--cases", &count.to_string(), "-o", "cases.ndjson"]);
        own.good(&["import", "--db", "cases.db", "cases.ndjson"]);
        own.good(&["import", "--db", "cases.db", "cases.ndjson"]);
        own
    }

    fn count(&self, name: &str) -> u64 {
        let answer: Value =
            serde_json::from_str(&self.good(&["search", name, "--count", "--limit", "0"])).unwrap();
        answer["list"]["totalItems"].as_u64().unwrap()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn an_interrupted_command_leaves_no_file() {
    let folder = Folder::with_cases(4_000);
    folder.good(&["generate", "--cases", "4000", "--seed", "2", "-o", "more.ndjson"]);
    let before = folder.names();
    let commands: [&[&str]; 4] = [
        &["backup", "cases.db", "-o", "new"],
        &["import", "--db", "new", "cases.ndjson", "more.ndjson"],
        &["export", "cases.db", "-o", "new.ndjson"],
        &["generate", "--cases", "20000", "-o", "new.ndjson"],
    ];
    let (mut interrupted, mut done) = (0, 0);
    for args in commands {
        let new = if args.contains(&"new") { "new" } else { "new.ndjson" };
        for signal in ["INT", "TERM", "KILL"] {
            for delay in [5, 20, 40, 80, 160] {
                let mut child = folder.command(args).spawn().unwrap();
                thread::sleep(Duration::from_millis(delay));
                let id = child.id().to_string();
                // The process may have ended already.
                let _ = Command::new("kill").args(["-s", signal, &id]).output();
                let status = child.wait().unwrap();
                if folder.path(new).exists() {
                    done += 1;
                    match args[0] {
                        "backup" => assert_eq!(folder.count(new), 4_000),
                        "import" => assert!(folder.count(new) > 4_000),
                        _ => assert!(fs::read(folder.path(new)).unwrap().ends_with(b"}\n")),
                    }
                    fs::remove_file(folder.path(new)).unwrap();
                } else {
                    interrupted += 1;
                    // The command was interrupted, not rejected: 2 is wrong usage.
                    assert!(!status.success() && status.code() != Some(2), "{args:?}: {status}");
                }
                // A killed import cannot remove the empty file that it had locked. The next import takes the file over.
                let claim = folder.path(".new.new");
                if (args[0], signal) == ("import", "KILL") && claim.exists() {
                    assert_eq!((fs::metadata(&claim).unwrap().len(), mode(&claim)), (0, 0o600));
                    folder.good(&["import", "--db", "new", "more.ndjson"]);
                    fs::remove_file(folder.path("new")).unwrap();
                }
                assert_eq!(folder.names(), before, "{args:?} {signal} {delay}");
            }
        }
    }
    assert!(interrupted > 0, "{done} were done before the signal came");
}

#[test]
fn new_files_are_private_at_once_under_any_umask() {
    let folder = Folder::new();
    let is_done = AtomicBool::new(false);
    let commands = "umask 0
        casefilter generate --cases 3000 -o cases.ndjson &&
        casefilter import --db cases.db cases.ndjson &&
        casefilter backup cases.db -o copy.db &&
        casefilter export cases.db -o out.parquet &&
        casefilter export cases.db --flat -o flat.parquet &&
        casefilter export cases.db -o out.tsv.gz &&
        casefilter token app --allow viewCases --file tokens.json &&
        casefilter compact copy.db &&
        echo '{}' | casefilter search - --lenient --report report.json";
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = 0_u64;
            while !is_done.load(Ordering::Relaxed) {
                for entry in fs::read_dir(folder.0.path()).unwrap() {
                    let Ok(found) = entry.unwrap().metadata() else { continue };
                    assert_eq!(found.mode() & 0o077, 0);
                    seen += 1;
                }
            }
            seen
        });
        let commands = commands.replace("casefilter ", &format!("'{}' ", cargo_bin!("casefilter").display()));
        let run: Run =
            Command::new("sh").args(["-c", &commands]).current_dir(folder.0.path()).output().unwrap().into();
        is_done.store(true, Ordering::Relaxed);
        // The case without an `id` was skipped.
        assert_eq!(run.code, Some(3), "{}", run.err);
        assert!(watch.join().unwrap() > 0);
    });
    let expected = [
        "cases.db",
        "cases.ndjson",
        "copy.db",
        "flat.parquet",
        "out.parquet",
        "out.tsv.gz",
        "report.json",
        "tokens.json",
    ];
    assert_eq!(folder.names(), expected);
    for name in expected {
        assert_eq!(mode(&folder.path(name)), 0o600, "{name}");
    }
}

/// A random generator with a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound
    }
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_wrong_answer() {
    const SEARCH: [&str; 7] = ["search", "db", "--order", "-createdAt", "--limit", "10000", "--count"];
    let folder = Folder::with_cases(700);
    let applicants: String =
        (0..50).map(|n| format!("{{\"id\":\"a{n}\",\"type\":\"individual\"}}\n")).collect();
    fs::write(folder.path("applicants.ndjson"), applicants).unwrap();
    folder.good(&["import", "--db", "cases.db", "--kind", "applicants", "applicants.ndjson"]);
    fs::write(folder.path("one.ndjson"), "{\"id\":\"one more\"}\n").unwrap();
    let whole = fs::read(folder.path("cases.db")).unwrap();
    fs::write(folder.path("db"), &whole).unwrap();
    let answer = folder.good(&SEARCH);
    let exported = folder.good(&["export", "db", "-o", "-"]);

    let check = |seed: u64, args: &[&str]| {
        let run = folder.run(args);
        let both = format!("seed {seed}, {args:?}: {:?}\n{}", run.code, run.err);
        for part in ["panicked at", "redb", "RUST_BACKTRACE", "unwrap", "assertion", ".rs:"] {
            assert!(!run.err.contains(part), "{part}: {both}");
        }
        assert!(matches!(run.code, Some(0 | 1)), "{both}");
        assert!(run.code == Some(0) || run.err.starts_with("error: "), "{both}");
        run
    };
    let (mut refused, mut right) = (0, 0);
    for seed in 1..=40_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = whole.clone();
        // Every fourth round damages the header and the first pages.
        let end = if seed % 4 == 0 { 3 * 4096 } else { bytes.len() as u64 };
        for _ in 0..40 {
            let at = usize::try_from(dice.below(end)).unwrap();
            bytes[at] ^= 1 << dice.below(8);
        }
        let damage = || fs::write(folder.path("db"), &bytes).unwrap();

        damage();
        let searched = check(seed, &SEARCH);
        assert!(searched.code != Some(0) || searched.out == answer, "seed {seed}");
        let written = check(seed, &["export", "db", "-o", "-"]);
        assert!(written.code != Some(0) || written.out == exported, "seed {seed}");
        damage();
        let verified = check(seed, &["verify", "db"]);
        if verified.code == Some(0) {
            let told: Value = serde_json::from_str(&verified.out).unwrap();
            // 50 applicants, and a record that says that their index is complete.
            assert_eq!((&told["cases"], &told["records"]), (&700.into(), &51.into()), "seed {seed}");
            right += 1;
        } else {
            refused += 1;
        }
        assert!(fs::read(folder.path("db")).unwrap() == bytes, "seed {seed}: verify wrote to the file");
        if check(seed, &["backup", "db", "-o", "copy"]).code == Some(0) {
            let copied = check(seed, &["verify", "copy"]);
            assert!(copied.code != Some(0) || copied.out.contains("\"cases\":700"), "seed {seed}");
            fs::remove_file(folder.path("copy")).unwrap();
        }
        assert!(!folder.path("copy").exists());
        for args in [&["compact", "db"][..], &["import", "--db", "db", "one.ndjson"]] {
            damage();
            if check(seed, args).code == Some(0) {
                let again = check(seed, &["export", "db", "-o", "-"]);
                let found = again.out.lines().filter(|line| !line.contains("one more"));
                assert!(again.code != Some(0) || found.eq(exported.lines()), "seed {seed}, {args:?}");
            }
        }
    }
    assert!(refused > 10, "{refused} refused, {right} right");
}

#[test]
fn extra_bytes_at_the_end_do_no_harm() {
    let folder = Folder::with_cases(300);
    let whole = fs::read(folder.path("cases.db")).unwrap();
    let answer = folder.good(&["search", "cases.db", "--limit", "300"]);
    for more in [1, 511, 4_095, 4_096, 5_000] {
        for byte in [0, b'\n'] {
            let mut bytes = whole.clone();
            bytes.resize(whole.len() + more, byte);
            fs::write(folder.path("db"), &bytes).unwrap();
            folder.good(&["verify", "db"]);
            assert!(fs::read(folder.path("db")).unwrap() == bytes);
            assert_eq!(folder.good(&["search", "db", "--limit", "300"]), answer, "{more}");
            fs::write(folder.path("db"), &bytes).unwrap();
            folder.good(&["import", "--db", "db", "cases.ndjson"]);
            folder.good(&["compact", "db"]);
            folder.good(&["verify", "db"]);
            assert_eq!(folder.count("db"), 300);
        }
    }
    for less in [1, 4_096, whole.len() - 9, whole.len() - 4_000] {
        fs::write(folder.path("db"), &whole[..whole.len() - less]).unwrap();
        let before = fs::read(folder.path("db")).unwrap();
        let verified = folder.run(&["verify", "db"]);
        assert_eq!(verified.code, Some(1), "{less}: {}", verified.out);
        let searched = folder.run(&["search", "db", "--limit", "300"]);
        assert!(searched.code == Some(1) || searched.out == answer, "{less}: {}", searched.out);
        assert!(less == 1 || fs::read(folder.path("db")).unwrap() == before, "{less}");
    }
}

#[test]
fn verify_only_reads_also_after_a_crash() {
    let folder = Folder::with_cases(300);
    let path = folder.path("cases.db");
    let told = |name: &str| -> Value { serde_json::from_str(&folder.good(&["verify", name])).unwrap() };
    let options = StoreOptions::default;
    let reader = Store::open_read_only(&path, Catalog::cases(), options()).unwrap();
    let other = Store::open_file(fs::File::open(&path).unwrap(), "x", Catalog::cases(), options()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!((&told("cases.db")["cases"], &told("cases.db")["was_clean"]), (&300.into(), &true.into()));
    assert!(fs::read(&path).unwrap() == before);
    folder.good(&["search", "cases.db"]);
    assert!(Store::open(&path, Catalog::cases(), options()).is_err(), "readers keep writers out");
    other.close().unwrap();
    reader.close().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    let writer = Store::open(&path, Catalog::cases(), options()).unwrap();
    folder.bad(&["verify", "cases.db"], "has it open");
    writer.upsert(b"{\"id\":\"last\"}", Durability::Synced).unwrap();
    // The state of the file after a crash.
    fs::copy(&path, folder.path("crashed")).unwrap();
    writer.close().unwrap();
    let before = fs::read(folder.path("crashed")).unwrap();
    let found = told("crashed");
    assert_eq!((&found["cases"], &found["was_clean"]), (&301.into(), &false.into()));
    assert!(fs::read(folder.path("crashed")).unwrap() == before);
    assert_eq!(folder.count("crashed"), 301);
    assert_eq!(told("crashed")["was_clean"], true);
}

#[test]
fn a_database_is_named_with_or_without_a_flag() {
    let folder = Folder::with_cases(20);
    let id = "--id=e5483df060c0fd95004c2bba";
    for args in [
        &["search", "--limit", "3"][..],
        &["explain", "--where", "status = open"],
        &["export", "-o", "-"],
        &["verify"],
    ] {
        let with = |database: &[&str]| folder.run(&[args, database].concat());
        let (flag, bare) = (with(&["--db", "cases.db"]), with(&["cases.db"]));
        assert_eq!((flag.code, &flag.err), (Some(0), &bare.err), "{args:?}");
        assert_eq!(flag.out, bare.out, "{args:?}");
        let both = with(&["--db", "cases.db", "cases.db"]);
        assert!(both.code == Some(2) && both.err.contains("cannot be used with"), "{args:?}: {}", both.err);
    }
    folder.bad(&["why", "--db", "cases.db", id], "no case has the id");
    folder.good(&["backup", "--db", "cases.db", "-o", "one.db"]);
    folder.good(&["backup", "cases.db", "-o", "two.db"]);
    folder.good(&["compact", "--db", "one.db"]);
    folder.good(&["compact", "two.db"]);
    assert_eq!((folder.count("one.db"), folder.count("two.db")), (20, 20));
    for command in ["verify", "compact"] {
        let run = folder.run(&[command]);
        assert!(run.code == Some(2) && run.err.contains("required"), "{command}: {}", run.err);
    }
    folder.bad(
        &["search", "--db", "cases.ndjson"],
        "found the ending .ndjson, expected a database of cases; a file of cases is given without --db",
    );
}

#[test]
fn a_file_that_cannot_be_opened_is_reported() {
    let folder = Folder::with_cases(20);
    fs::create_dir(folder.path("folder.db")).unwrap();
    std::os::unix::fs::symlink("loop.db", folder.path("loop.db")).unwrap();
    fs::copy(folder.path("cases.db"), folder.path("locked.db")).unwrap();
    fs::set_permissions(folder.path("locked.db"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read any file.
    let may_read = fs::File::open(folder.path("locked.db")).is_ok();
    for command in ["search", "explain", "export", "verify", "backup", "compact"] {
        let run = |name: &str| match command {
            "export" => folder.run(&[command, name, "-o", "out.ndjson"]),
            "backup" => folder.run(&[command, name, "-o", "out.db"]),
            _ => folder.run(&[command, name]),
        };
        let (looped, directory) = (run("loop.db"), run("folder.db"));
        let told = format!("{command}: {} {}", looped.err, directory.err);
        assert!(looped.code == Some(1) && looped.err.contains("symbolic links"), "{told}");
        assert!(directory.code == Some(1) && !directory.err.contains("no database"), "{told}");
        if !may_read {
            let locked = run("locked.db");
            assert!(locked.code == Some(1) && locked.err.contains("ermission denied"), "{}", locked.err);
        }
    }
}
