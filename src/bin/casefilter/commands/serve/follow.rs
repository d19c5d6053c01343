//! Threads that look at files again and again while the service runs.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Starts a thread that calls `look` again and again, with a pause of `interval` before each call. The second argument of `look` is
/// true if `reloads` has grown since the previous call. If `look` panics, calls `failed` and goes on. The thread runs until the
/// process ends.
pub(super) fn look_every<S: Send + 'static>(
    (name, interval): (&str, Duration),
    reloads: Arc<AtomicU64>,
    mut state: S,
    look: fn(&mut S, bool),
    failed: fn(&S),
) -> io::Result<()> {
    let follow = move || {
        let mut known = 0;
        loop {
            thread::sleep(interval);
            let asked = reloads.load(Ordering::Relaxed);
            let is_asked = std::mem::replace(&mut known, asked) != asked;
            // The panic hook logs the panic. The next look tries again.
            if catch_unwind(AssertUnwindSafe(|| look(&mut state, is_asked))).is_err() {
                failed(&state);
            }
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(follow).map(drop)
}
