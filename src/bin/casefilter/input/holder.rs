//! Finds the processes that have a file open, as far as this user may see them.

use std::path::Path;

/// The maximum number of processes that are named.
const MOST: usize = 3;

/// Returns the other processes that have a file open, as a subject with its verb, such as `casefilter import (process 17) has`.
pub(crate) fn of(file: &Path) -> Option<String> {
    let holders = processes(file);
    let named: Vec<&str> = holders.iter().take(MOST).map(String::as_str).collect();
    match holders.len() {
        0 => None,
        1 => Some(format!("{} has", named.join(""))),
        count if count > MOST => {
            Some(format!("{} and {} more have", named.join(", "), count.saturating_sub(MOST)))
        }
        _ => Some(format!("{} have", named.join(" and "))),
    }
}

/// Lists the processes that have a file open. Only root can see the open files of other users' processes.
#[cfg(target_os = "linux")]
fn processes(file: &Path) -> Vec<String> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use crate::output::escape::escape;

    let Ok(wanted) = fs::metadata(file) else { return Vec::new() };
    let wanted = (wanted.dev(), wanted.ino());
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut numbers: Vec<u32> = numbers.filter(|number| *number != own).collect();
    numbers.sort_unstable();
    let has_it_open = |number: &u32| {
        let files = fs::read_dir(format!("/proc/{number}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|entry| fs::metadata(entry.path()).ok())
            .any(|found| (found.dev(), found.ino()) == wanted)
    };
    let name = |number: u32| {
        let arguments = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut arguments = arguments.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let program = arguments.next().unwrap_or_default().into_owned();
        let program = program.rsplit('/').next().unwrap_or_default().to_owned();
        // All further arguments may contain secrets, so they are not shown.
        let command = arguments.next().filter(|_| program == "casefilter").unwrap_or_default();
        let command = command.chars().all(|char| char.is_ascii_lowercase()).then_some(command);
        let name = format!("{program} {}", command.unwrap_or_default());
        format!("{} (process {number})", escape(name.trim()))
    };
    numbers.into_iter().filter(has_it_open).map(name).collect()
}

#[cfg(not(target_os = "linux"))]
fn processes(_: &Path) -> Vec<String> {
    Vec::new()
}
