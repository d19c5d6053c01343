//! Files that go when the run is interrupted.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is removed when a signal ends the run.
struct Watch {
    is_on: bool,
    files: Vec<PathBuf>,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { is_on: false, files: Vec::new() });

fn watch() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is removed, should the run be interrupted while this lives.
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// To be called before the file is made, so that there is no moment at which it would stay.
    pub(crate) fn new(path: PathBuf) -> io::Result<Self> {
        let mut watch = watch();
        if !watch.is_on {
            listen()?;
            watch.is_on = true;
        }
        watch.files.push(path.clone());
        Ok(Self(path))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut watch = watch();
        if let Some(at) = watch.files.iter().position(|path| *path == self.0) {
            watch.files.swap_remove(at);
        }
    }
}

/// Removes what is unfinished, and ends the process by `end`.
fn interrupted(end: impl FnOnce()) {
    // Held to the end, so that nothing is finished any more.
    let watch = watch();
    for path in &watch.files {
        let _ = fs::remove_file(path);
    }
    end();
}

/// Waits for a signal on a thread of its own. The process dies by it, as it would without.
#[cfg(unix)]
fn listen() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    let heard = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !ignored.contains(signal));
    let mut signals = Signals::new(heard)?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            interrupted(|| {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            });
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

/// The signals that whoever began this run keeps from it, as `nohup` does; where the system does not tell, none.
#[cfg(unix)]
fn ignored_signals() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or_default();
    (1..=64)
        .zip(0_u32..)
        .filter(|(_, bit)| bits.checked_shr(*bit).unwrap_or(0) & 1 == 1)
        .map(|(signal, _)| signal)
        .collect()
}

/// Waits for an interruption on a thread of its own, and ends the process then.
#[cfg(not(unix))]
fn listen() -> io::Result<()> {
    let end = || interrupted(|| std::process::exit(crate::failure::FAILED.into()));
    ctrlc::set_handler(end).map_err(io::Error::other)
}
