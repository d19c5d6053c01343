//! Runs the command line as a process, in a temporary folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn casefilter(args: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("casefilter"));
    command.args(args);
    command
}

/// The output of a run, and its exit status.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(args: &[&str]) -> Run {
    run_with(args, b"")
}

pub(crate) fn run_with(args: &[&str], stdin: &[u8]) -> Run {
    ended(casefilter(args).write_stdin(stdin))
}

pub(crate) fn ended(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn err_has(self, part: &str) -> Self {
        assert!(self.err.contains(part), "no {part:?} in {}", self.err);
        self
    }

    #[track_caller]
    pub(crate) fn err_is(self, whole: &str) -> Self {
        assert_eq!(self.err, whole);
        self
    }
}

/// A folder with files, in which the command line runs.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// Returns a folder with `cases.ndjson`, a thousand sample cases.
    pub(crate) fn with_cases() -> Self {
        let folder = Self::new();
        folder.run(&["generate", "--cases", "1000", "-o", "cases.ndjson"]).code(0);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.path().join(name), content).unwrap();
        self.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect()
    }

    /// Returns a command in this folder, whose arguments are names of files in it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = casefilter(args);
        command.current_dir(self.0.path()).env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        ended(&mut self.command(args))
    }

    /// Returns the ids of all cases of a file, one on each line.
    pub(crate) fn ids(&self, file: &str) -> String {
        self.run(&["search", file, "--format", "ids", "--limit", "all"]).code(0).out
    }
}

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

pub(crate) fn zst(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 0).unwrap()
}

/// A body that selects the open cases.
pub(crate) const OPEN: &str = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;

/// Three cases, `a` and `c` open.
pub(crate) const THREE: &str = concat!(
    r#"{"id":"a","caseReview":{"status":"open"},"createdAt":"2024-01-03 00:00:00+0000","tags":["x","y"]}"#,
    "\n",
    r#"{"id":"b","caseReview":{"status":"blocked"},"createdAt":"2024-01-02 00:00:00+0000"}"#,
    "\n",
    r#"{"id":"c","caseReview":{"status":"open"},"createdAt":"2024-01-01 00:00:00+0000","extra":[1.50,{"k":1e2}]}"#,
    "\n"
);

/// Waits until a condition holds, while the process runs.
#[cfg(unix)]
#[track_caller]
pub(crate) fn wait_for(child: &mut process::Child, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(unix)]
pub(crate) fn signal(child: &process::Child, name: &str) {
    let kill = process::Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

/// Returns the signal that ended the process, and its standard error.
#[cfg(unix)]
pub(crate) fn death(child: process::Child) -> (Option<i32>, String) {
    use std::os::unix::process::ExitStatusExt;
    let output = child.wait_with_output().unwrap();
    (output.status.signal(), String::from_utf8(output.stderr).unwrap())
}

/// Returns the bytes that a process has written to new files in the folder, which have no name on Linux.
#[cfg(unix)]
pub(crate) fn written(files: &Folder, id: u32) -> u64 {
    let folder = files.0.path().canonicalize().unwrap();
    let len = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    let named = files.names().into_iter().filter(|name| name.starts_with('.')).map(|name| folder.join(name));
    let open =
        fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let unnamed = open.filter(|path| fs::read_link(path).is_ok_and(|file| file.starts_with(&folder)));
    named.chain(unnamed).map(len).sum()
}

#[cfg(unix)]
pub(crate) fn mode(path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
