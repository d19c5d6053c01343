//! How far a long piece of work has come, for people who watch a terminal.

use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether anything was shown. What comes next is shown at once then, so that the terminal does not stand still.
static WAS_SHOWN: AtomicBool = AtomicBool::new(false);

/// How long a bar may stand still until it says why.
const STANDSTILL: Duration = Duration::from_millis(700);

/// How often what is shown is drawn again.
const PAUSE: Duration = Duration::from_millis(100);

/// A bar on standard error, when that is a terminal and the work takes long.
pub(crate) struct Progress {
    bar: Bar,
}

/// The bar, for those who advance it.
#[derive(Clone)]
pub(super) struct Bar {
    bar: ProgressBar,
    since: Instant,
    /// When it advanced last, in milliseconds after `since`.
    advanced_ms: Arc<AtomicU64>,
    shown: Arc<AtomicBool>,
    wanted: bool,
}

impl Progress {
    /// Progress through bytes; without a total only how many and how fast.
    pub(crate) fn of_bytes(total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {left}",
            None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
        };
        Self::new(total, template, "taking in what was read")
    }

    /// Progress through cases.
    pub(crate) fn of_cases(total: u64) -> Self {
        Self::new(
            Some(total),
            "{msg} {wide_bar} {human_pos} of {human_len} cases, {rate} a second, {left}",
            "waiting for the output",
        )
    }

    /// Returns a bar that stands at `standstill` when it does not advance.
    fn new(total: Option<u64>, template: &str, standstill: &'static str) -> Self {
        let since = Instant::now();
        let advanced_ms = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&advanced_ms);
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let advanced = since.checked_add(Duration::from_millis(own.load(Ordering::Relaxed)));
            // Work that is done in groups takes in a group while nothing is read.
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

    /// What is being done.
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

/// Returns how long work takes before it is shown.
fn patience() -> Duration {
    if WAS_SHOWN.load(Ordering::Relaxed) { PAUSE } else { PATIENCE }
}

/// Takes the bar off the terminal.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.bar.finish_and_clear();
    }
}

/// Work that has no measure: on a terminal, what is done and how long it has taken, once it takes long.
pub(crate) struct Working {
    /// Dropped when the work is done.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Working {
    /// Begins with what is being done.
    pub(crate) fn on(doing: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self { done: None, thread: None };
        }
        let (done, is_done) = mpsc::channel();
        // Without a thread to show it, the work is as silent as before.
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

/// Shows what is being done until that is done.
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

/// A reader that reports the bytes read from it.
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
