//! What the system says about this process, under the names that Prometheus clients share.
//!
//! On Linux alone, from `/proc`; a value that cannot be read is left out.

use std::fmt::Write as _;

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Process {
    /// Time on a processor, in hundredths of a second.
    cpu_ticks: Option<u64>,
    /// When it began, in hundredths of a second after the machine.
    start_ticks: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    resident_bytes: Option<u64>,
    open_files: Option<u64>,
    most_files: Option<u64>,
    /// When the machine began, in seconds since the Unix epoch.
    boot_s: Option<u64>,
}

/// `USER_HZ`, in which `/proc` counts: 100 on every architecture that Rust has a Linux target for.
const TICKS_PER_S: u64 = 100;

/// Appends the metrics of this process.
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
    process.most_files = most_files(&text("/proc/self/limits"));
    process.boot_s = boot_s(&text("/proc/stat"));
    // The handle that reads the folder is among them.
    let files = std::fs::read_dir("/proc/self/fd").ok();
    process.open_files = files.map(|files| (files.count() as u64).saturating_sub(1));
    process
}

impl Process {
    /// Reads `/proc/self/stat`: proc_pid_stat(5).
    fn read_stat(&mut self, stat: &str) {
        // The name of the process, in parentheses, may have spaces and parentheses in it.
        let Some((_, rest)) = stat.rsplit_once(')') else { return };
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Behind the name stands field 3.
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
        let help = "Time that the process spent on processors, in user and system mode.";
        one("cpu_seconds_total", "counter", help, self.cpu_ticks.map(seconds));
        let start = self
            .boot_s
            .zip(self.start_ticks)
            .map(|(boot, ticks)| seconds(boot.saturating_mul(TICKS_PER_S).saturating_add(ticks)));
        one("start_time_seconds", "gauge", "When the process began, since the Unix epoch.", start);
        one("resident_memory_bytes", "gauge", "Resident memory.", number(self.resident_bytes));
        one("virtual_memory_bytes", "gauge", "Virtual memory.", number(self.virtual_bytes));
        one("open_fds", "gauge", "File descriptors that are open.", number(self.open_files));
        one("max_fds", "gauge", "File descriptors that may be open.", number(self.most_files));
        one("threads", "gauge", "Threads of the process.", number(self.threads));
    }
}

/// Hundredths of a second, written in seconds.
fn seconds(ticks: u64) -> String {
    format!("{}.{:02}", ticks / TICKS_PER_S, ticks % TICKS_PER_S)
}

/// Reads `VmRSS` of `/proc/self/status`, which is in KiB.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads the soft limit of open files off `/proc/self/limits`; none when it is unlimited.
fn most_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Reads when the machine began off `/proc/stat`.
fn boot_s(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read_whatever_the_process_is_called() {
        let mut process = Process {
            resident_bytes: resident_bytes("VmSize:\t   20480 kB\nVmRSS:\t   10240 kB\n"),
            most_files: most_files(
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
            most_files("Max open files            unlimited            unlimited            files"),
            None
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_read() {
        let process = read();
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1 << 20), "{process:?}");
        assert!(process.virtual_bytes > process.resident_bytes, "{process:?}");
        assert!(process.open_files.is_some_and(|count| count >= 3), "{process:?}");
        assert!(process.cpu_ticks.is_some() && process.start_ticks.is_some(), "{process:?}");
        assert!(process.threads.is_some_and(|count| count > 0), "{process:?}");
    }
}
