//! Reads the standard `process_*` metrics of Prometheus from `/proc`.
//!
//! These metrics exist only on Linux. A value that cannot be read is left out.

use std::fmt::Write as _;

/// The values of the metrics. A value is `None` if it could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Process {
    /// The CPU time in user and system mode, in ticks.
    cpu_ticks: Option<u64>,
    /// The start time of the process, in ticks since the machine booted.
    start_ticks: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    resident_bytes: Option<u64>,
    open_files: Option<u64>,
    max_files: Option<u64>,
    /// The boot time of the machine, in seconds since the Unix epoch.
    boot_s: Option<u64>,
}

/// The number of ticks per second in `/proc` (`USER_HZ`). It is 100 on every architecture that has a Rust target for Linux.
const TICKS_PER_S: u64 = 100;

/// Appends the metrics of this process to `out`.
pub(in crate::service) fn write(out: &mut String) {
    if cfg!(target_os = "linux") {
        read().write(out);
    }
}

fn read() -> Process {
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut process = Process::default();
    process.read_stat(&text("/proc/self/stat"));
    process.resident_bytes = resident_bytes(&text("/proc/self/status"));
    process.max_files = max_files(&text("/proc/self/limits"));
    process.boot_s = boot_s(&text("/proc/stat"));
    // One of the entries is the file descriptor with which this folder is read.
    let files = std::fs::read_dir("/proc/self/fd").ok();
    process.open_files = files.map(|files| (files.count() as u64).saturating_sub(1));
    process
}

impl Process {
    /// Parses `/proc/self/stat`. The man page proc_pid_stat(5) numbers the fields.
    fn read_stat(&mut self, stat: &str) {
        // Field 2 is the name of the process in parentheses. The name itself may contain spaces and parentheses.
        let Some((_, rest)) = stat.rsplit_once(')') else { return };
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // `fields` starts with field 3.
        let field = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
        self.cpu_ticks = field(14).zip(field(15)).map(|(user, system)| user.saturating_add(system));
        self.threads = field(20);
        self.start_ticks = field(22);
        self.virtual_bytes = field(23);
    }

    fn write(&self, out: &mut String) {
        let mut one = |name: &str, kind: &str, help: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(out, "# HELP process_{name} {help}\n# TYPE process_{name} {kind}");
                let _ = writeln!(out, "process_{name} {value}");
            }
        };
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let help = "Total user and system CPU time in seconds.";
        one("cpu_seconds_total", "counter", help, self.cpu_ticks.map(seconds));
        let start = self
            .boot_s
            .zip(self.start_ticks)
            .map(|(boot, ticks)| seconds(boot.saturating_mul(TICKS_PER_S).saturating_add(ticks)));
        one(
            "start_time_seconds",
            "gauge",
            "Start time of the process since the Unix epoch in seconds.",
            start,
        );
        one("resident_memory_bytes", "gauge", "Resident memory size in bytes.", number(self.resident_bytes));
        one("virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", number(self.virtual_bytes));
        one("open_fds", "gauge", "Number of open file descriptors.", number(self.open_files));
        one("max_fds", "gauge", "Maximum number of open file descriptors.", number(self.max_files));
        one("threads", "gauge", "Number of threads.", number(self.threads));
    }
}

/// Formats a number of ticks as seconds.
fn seconds(ticks: u64) -> String {
    format!("{}.{:02}", ticks / TICKS_PER_S, ticks % TICKS_PER_S)
}

/// Parses the value `VmRSS` in `/proc/self/status`, which is in KiB. Returns bytes.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Parses the soft limit of open files in `/proc/self/limits`. Returns `None` if the limit is `unlimited`.
fn max_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Parses the boot time in `/proc/stat`.
fn boot_s(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_parsed_even_if_the_process_name_has_parentheses() {
        let mut process = Process {
            resident_bytes: resident_bytes("VmSize:\t   20480 kB\nVmRSS:\t   10240 kB\n"),
            max_files: max_files(
                "Limit    Soft Limit   Hard Limit  Units\nMax open files            1024                 1048576              files\n",
            ),
            boot_s: boot_s("cpu 1 2 3\nbtime 1700000000\nprocesses 5\n"),
            open_files: Some(12),
            ..Process::default()
        };
        process.read_stat(
            "71 (a) R 9 (b c) S 1 71 71 0 -1 4194560 500 0 0 0 123 45 0 0 20 0 7 0 1234 21000000 2560 18446744073709551615 1 1",
        );
        let mut out = String::new();
        process.write(&mut out);
        let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            "process_cpu_seconds_total 1.68",
            "process_start_time_seconds 1700000012.34",
            "process_resident_memory_bytes 10485760",
            "process_virtual_memory_bytes 21000000",
            "process_open_fds 12",
            "process_max_fds 1024",
            "process_threads 7",
        ];
        assert_eq!(lines, expected);
        let mut nothing = String::new();
        Process::default().write(&mut nothing);
        assert_eq!(nothing, "");
        assert_eq!(
            max_files("Max open files            unlimited            unlimited            files"),
            None
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_metrics_of_this_process_are_plausible() {
        let process = read();
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1 << 20), "{process:?}");
        assert!(process.virtual_bytes > process.resident_bytes, "{process:?}");
        assert!(process.open_files.is_some_and(|count| count >= 3), "{process:?}");
        assert!(process.cpu_ticks.is_some() && process.start_ticks.is_some(), "{process:?}");
        assert!(process.threads.is_some_and(|count| count > 0), "{process:?}");
    }
}
