//! Threads that read ahead while the service already answers: the columns of the database, and new events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::service::operations::case_source::CaseSource;
use crate::service::state::ServiceState;

/// Starts a thread that reads all columns of the database, while the service already answers. So the first request that needs a
/// column usually does not have to read it. The thread ends early when the service drains. There is no thread if searches do not
/// use the database, or if the system has no more threads.
pub(super) fn warm(shared: &Arc<ServiceState>) -> Reading {
    if !matches!(shared.source, CaseSource::Store) {
        return Reading::default();
    }
    let shared = Arc::clone(shared);
    let start = Instant::now();
    Reading::start("columns", move |is_wanted| {
        let goes_on = || is_wanted() && !shared.is_draining.load(Ordering::Relaxed);
        match shared.store.warm_while(&goes_on) {
            Ok(true) => {
                tracing::info!(seconds = start.elapsed().as_secs_f64(), "the columns are in memory");
            }
            Ok(false) => {}
            Err(error) => tracing::error!(cause = %error, "the columns of the database cannot be read"),
        }
    })
}

/// Starts a thread that reads each new event of the database once, and tells the requests that wait for it. There is no thread if
/// writes of cases give no events, or if the system has no more threads.
pub(super) fn follow(shared: &Arc<ServiceState>) -> Reading {
    if !matches!(shared.source, CaseSource::Store) {
        return Reading::default();
    }
    let shared = Arc::clone(shared);
    Reading::start("events", move |is_wanted| {
        let goes_on = || is_wanted() && !shared.is_draining.load(Ordering::Relaxed);
        shared.events.follow(&shared.store, &goes_on);
    })
}

/// A thread that reads columns or events. It ends soon after this value is dropped, for example because the host has dropped the
/// future of the service. If the thread did not end, it would keep the store open.
#[derive(Default)]
pub(super) struct Reading {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reading {
    /// Starts a thread that calls `work`. The argument of `work` is a function that returns false when the work must end.
    fn start(name: &str, work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let read = move || work(&|| !own.load(Ordering::Relaxed));
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(read);
        if let Err(error) = &thread {
            tracing::error!(thread = name, %error, "a thread of the service cannot be started: requests do its work themselves");
        }
        Self { is_over, thread: thread.ok() }
    }

    /// Tells the thread to end, and waits until it has ended.
    pub(super) fn join(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn columns_are_no_longer_read_after_the_service_was_dropped() {
        let (sender, ended) = channel();
        let warming = Reading::start("test", move |goes_on| {
            while goes_on() {
                std::thread::yield_now();
            }
            sender.send(()).unwrap();
        });
        assert!(ended.try_recv().is_err());
        drop(warming);
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
        Reading::start("test", |goes_on| while goes_on() {}).join();
        Reading::default().join();
    }
}
