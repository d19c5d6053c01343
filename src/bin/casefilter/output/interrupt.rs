//! Handles the signals that end the process: first removes the temporary files of the process.

use std::io;
use std::sync::{Mutex, PoisonError};

use casefilter::AtomicFile;

/// True if a thread is already waiting for signals.
static LISTENS: Mutex<bool> = Mutex::new(false);

/// Ensures that temporary files are removed before a signal ends the process.
pub(crate) fn watch() -> io::Result<()> {
    let mut listens = LISTENS.lock().unwrap_or_else(PoisonError::into_inner);
    if !*listens {
        listen()?;
        *listens = true;
    }
    Ok(())
}

/// Starts a thread that waits for a signal. After removing the temporary files, the thread ends the process by the same signal.
#[cfg(unix)]
fn listen() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    let heard = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !ignored.contains(signal));
    let mut signals = Signals::new(heard)?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            AtomicFile::abandon_all(|| {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            });
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

/// Returns the signals that this process ignores because its parent process requested it, as `nohup` does. Empty if the system does
/// not provide this information.
#[cfg(unix)]
fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or_default();
    (1..=64)
        .zip(0_u32..)
        .filter(|(_, bit)| bits.checked_shr(*bit).unwrap_or(0) & 1 == 1)
        .map(|(signal, _)| signal)
        .collect()
}

/// Waits for an interruption on a separate thread, and then ends the process.
#[cfg(not(unix))]
fn listen() -> io::Result<()> {
    let end = || AtomicFile::abandon_all(|| std::process::exit(crate::output::status::FAILED.into()));
    ctrlc::set_handler(end).map_err(io::Error::other)
}
