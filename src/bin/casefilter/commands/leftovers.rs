//! Warns of copies of a database that interrupted commands left in its folder.
//!
//! If the system does not support unnamed files, a command that is killed leaves a file `.casefilter-<process>-<number>.part`. If a
//! service had the database open, the commands `verify` and `export` of older versions wrote a copy to `FILE.<process>.copy`. If
//! such a command was interrupted, the copy remained.

use std::fs;
use std::path::{Path, PathBuf};

use casefilter::Store;

use crate::output::escape::escape;
use crate::output::failure::note;
use crate::output::figures::thousands;
use crate::output::unnamed::folder_of;

/// Warns of copies of a database in its folder, if no running process uses them.
///
/// The copies are not removed. They contain cases, and one of them may be the only copy that still exists.
pub(crate) fn warn(database: &Path) {
    for (path, bytes) in of(database) {
        note(format!(
            "warning: {} ({} bytes) is a copy of a database that an interrupted command left: remove it if you do not need it\n",
            escape(&path.display().to_string()),
            thousands(bytes)
        ));
    }
}

/// Returns the paths of the copies, with their lengths in bytes.
fn of(database: &Path) -> Vec<(PathBuf, u64)> {
    let Some(name) = database.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let mut found: Vec<(PathBuf, u64)> = fs::read_dir(folder_of(database))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let own = entry.file_name();
            let Some(own) = own.to_str() else { return false };
            let copied = own.strip_prefix(name).and_then(|own| own.strip_prefix('.')?.strip_suffix(".copy"));
            copied.is_some_and(|process| is_number(process) && !is_running(process))
                || is_unfinished(own, &entry.path())
        })
        .map(|entry| database.with_file_name(entry.file_name()))
        .filter(|path| Store::exists(path) || path.extension().is_some_and(|kind| kind == "part"))
        .filter_map(|path| fs::metadata(&path).ok().map(|found| (path, found.len())))
        .collect();
    found.sort_unstable();
    found
}

/// Returns true if `name` is the name of a file that a process did not finish before the process ended.
///
/// In a container, each process may have the same id as an earlier process. So the process is still writing the file only if a
/// process with this id has the file open.
fn is_unfinished(name: &str, path: &Path) -> bool {
    let numbers =
        name.strip_prefix(".casefilter-").and_then(|name| name.strip_suffix(".part")?.split_once('-'));
    numbers
        .is_some_and(|(process, number)| is_number(process) && is_number(number) && !has_open(process, path))
}

/// Returns true if a process has a file open. Returns false if the system does not provide this information.
fn has_open(process: &str, path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    let links = fs::read_dir(Path::new("/proc").join(process).join("fd"));
    links.into_iter().flatten().flatten().any(|link| fs::read_link(link.path()).is_ok_and(|to| to == path))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a casefilter process has this id. Returns false if the system does not provide this information.
fn is_running(process: &str) -> bool {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let program = arguments.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(program).contains("casefilter")
}
