//! Shows the progress of long work on a terminal.

use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// The time after which the progress of work is shown. After progress has been shown once, the progress of later work is shown
/// after only [`PAUSE`].
const PATIENCE: Duration = Duration::from_secs(1);

/// True after progress has been shown once. The progress of later work is then shown after [`PAUSE`], so that the display continues
/// to move.
static WAS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The time without an advance after which a bar shows a reason for the delay.
const STANDSTILL: Duration = Duration::from_millis(700);

/// The time between two updates of the display.
const PAUSE: Duration = Duration::from_millis(100);

/// A progress bar on standard error. It is shown if standard error is a terminal and the work takes long.
pub(crate) struct Progress {
    bar: Bar,
}

/// A handle to the progress bar, which several threads can share.
#[derive(Clone)]
pub(super) struct Bar {
    bar: ProgressBar,
    since: Instant,
    /// The time of the last advance, in milliseconds after `since`.
    advanced_ms: Arc<AtomicU64>,
    shown: Arc<AtomicBool>,
    wanted: bool,
}

impl Progress {
    /// Creates a bar for bytes. If there is no total, the bar shows only the number of bytes and the rate.
    pub(crate) fn of_bytes(total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {left}",
            None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
        };
        Self::new(total, template, "processing what was read")
    }

    /// Creates a bar for cases.
    pub(crate) fn of_cases(total: u64) -> Self {
        Self::new(
            Some(total),
            "{msg} {wide_bar} {human_pos} of {human_len} cases, {rate} a second, {left}",
            "waiting for the output",
        )
    }

    /// Creates a bar. While it does not advance, it shows `standstill`.
    fn new(total: Option<u64>, template: &str, standstill: &'static str) -> Self {
        let since = Instant::now();
        let advanced_ms = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&advanced_ms);
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let advanced = since.checked_add(Duration::from_millis(own.load(Ordering::Relaxed)));
            // Parallel work reads its input in groups. While it processes a group, it reads nothing.
            let _ = match advanced.is_some_and(|advanced| advanced.elapsed() >= STANDSTILL) {
                true => write!(out, "{standstill}"),
                false => write!(out, "{:#} left", HumanDuration(state.eta())),
            };
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
            };
            bar.set_style(style.with_key("rate", rate).with_key("left", left));
        }
        let wanted = io::stderr().is_terminal();
        Self { bar: Bar { bar, since, advanced_ms, shown: Arc::default(), wanted } }
    }

    /// Sets the description of the work.
    pub(crate) fn say(&self, doing: String) {
        self.bar.bar.set_message(doing);
    }

    pub(crate) fn advance(&self, by: u64) {
        self.bar.advance(by);
    }

    #[cfg(feature = "arrow")]
    pub(super) fn bar(&self) -> Bar {
        self.bar.clone()
    }
}

impl Bar {
    pub(super) fn advance(&self, by: u64) {
        self.bar.inc(by);
        if !self.wanted {
            return;
        }
        let elapsed = self.since.elapsed();
        self.advanced_ms.store(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if elapsed >= patience() && !self.shown.swap(true, Ordering::Relaxed) {
            WAS_SHOWN.store(true, Ordering::Relaxed);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(PAUSE);
        }
    }
}

/// Returns the time after which work is shown.
fn patience() -> Duration {
    if WAS_SHOWN.load(Ordering::Relaxed) { PAUSE } else { PATIENCE }
}

/// Clears the bar from the terminal.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.bar.finish_and_clear();
    }
}

/// A display for work of unknown length: a description and the elapsed time. It is shown on a terminal if the work takes long.
pub(crate) struct Working {
    /// Dropping this sender ends the display.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Working {
    /// Starts the display for work with this description.
    pub(crate) fn on(doing: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self { done: None, thread: None };
        }
        let (done, is_done) = mpsc::channel();
        // If the thread cannot be started, the work continues without a display.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || show(doing, &is_done));
        Self { done: Some(done), thread: thread.ok() }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.done = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Shows the description until the work has ended.
fn show(doing: &'static str, is_done: &Receiver<()>) {
    let patience = patience();
    if is_done.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    WAS_SHOWN.store(true, Ordering::Relaxed);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(patience);
    if let Ok(style) = ProgressStyle::with_template("{msg} {spinner} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(doing);
    while is_done.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        bar.tick();
    }
    bar.finish_and_clear();
}

/// A reader that reports the number of bytes read from it.
pub(crate) struct Watched<'p, R> {
    reader: R,
    progress: &'p Progress,
}

impl<'p, R: Read> Watched<'p, R> {
    pub(crate) fn new(reader: R, progress: &'p Progress) -> Self {
        Self { reader, progress }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.progress.advance(u64::try_from(read).unwrap_or_default());
        Ok(read)
    }
}
