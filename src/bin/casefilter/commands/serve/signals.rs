//! The signals of a running service (`Signals`): SIGTERM and Ctrl-C end it, SIGHUP makes it read files again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
#[cfg(unix)]
use std::sync::atomic::Ordering;

#[cfg(unix)]
use casefilter::AtomicFile;
use tokio::sync::watch;

use crate::output::failure::Failure;

/// The signals that this process receives.
pub(super) struct Signals {
    /// The number of received signals that ask the process to stop.
    pub(super) asked: watch::Receiver<u32>,
    /// The number of received SIGHUPs: the token file and the certificate must be read again.
    pub(super) reloads: Arc<AtomicU64>,
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
    #[cfg(not(unix))]
    ask: watch::Sender<u32>,
}

impl Signals {
    /// Starts to handle SIGHUP, so that the service continues when its terminal is closed or its log is rotated. The signal makes
    /// the service read the token file and the certificate again. All other signals have their previous effect.
    #[cfg(unix)]
    pub(super) fn watch() -> Result<Self, Failure> {
        use signal_hook::consts::SIGHUP;
        let (ask, asked) = watch::channel(0_u32);
        let mut signals = signal_hook::iterator::Signals::new([SIGHUP]).map_err(|error| unwatched(&error))?;
        let handle = signals.handle();
        let reloads = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&reloads);
        let wait = move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    tracing::info!(
                        "SIGHUP: the files that the service follows are read again; SIGTERM ends the service"
                    );
                    counted.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                ask.send_modify(|asked| *asked = asked.saturating_add(1));
                if *ask.borrow() > 2 {
                    // Acknowledged writes are on disk. If another write is interrupted, the database is repaired when it is opened
                    // again.
                    AtomicFile::abandon_all(|| {
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    });
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
        thread.map_err(|error| unwatched(&error))?;
        Ok(Self { asked, reloads, handle })
    }

    #[cfg(not(unix))]
    pub(super) fn watch() -> Result<Self, Failure> {
        let (ask, asked) = watch::channel(0_u32);
        Ok(Self { asked, reloads: Arc::default(), ask })
    }

    /// Returns two futures. The first completes on the first SIGTERM or Ctrl-C, and the second on the second such signal. On Unix,
    /// a third signal ends the process directly.
    pub(super) fn shutdown(self) -> Result<(impl Future<Output = ()>, impl Future<Output = ()>), Failure> {
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            self.handle.add_signal(signal).map_err(|error| unwatched(&error))?;
        }
        #[cfg(not(unix))]
        {
            let ask = self.ask;
            let watched =
                ctrlc::set_handler(move || ask.send_modify(|asked| *asked = asked.saturating_add(1)));
            watched.map_err(|error| unwatched(&io::Error::other(error)))?;
        }
        let times = |wanted: u32, mut asked: watch::Receiver<u32>| async move {
            if asked.wait_for(|asked| *asked >= wanted).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok((times(1, self.asked.clone()), times(2, self.asked)))
    }
}

fn unwatched(error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot watch for signals: {error}"))
}
