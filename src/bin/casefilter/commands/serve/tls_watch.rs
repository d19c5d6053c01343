//! Reads the certificate and the key of a service, and follows their changes while the service runs.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use casefilter::service::Tls;

use super::files::{shown, warn_of_readers};
use super::follow::look_every;
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The time between two looks at the files. A pair that does not fit is an error only at the second look: both files cannot be
/// replaced at once.
const INTERVAL: Duration = Duration::from_secs(1);

/// The files of a certificate and its key, and what was last read.
pub(super) struct TlsWatch {
    certificates: PathBuf,
    key: PathBuf,
    /// The hash of the files that are in force.
    in_force: u64,
    /// The result of the last look, if the files could not be used then: the cause, and whether it was logged.
    failed: Option<(String, bool)>,
}

impl TlsWatch {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read, or do not belong together.
    pub(super) fn start(certificates: &Path, key: &Path) -> Result<(Self, Tls), Failure> {
        let (own, other) = (certificates.to_owned(), key.to_owned());
        let mut watch = Self { certificates: own, key: other, in_force: 0, failed: None };
        let read = |path: &Path| {
            let text = std::fs::read(path);
            text.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
        };
        let pair = (read(certificates)?, read(key)?);
        let tls = Tls::from_pem(&pair.0, &pair.1);
        let tls = tls.map_err(|error| Failure::Failed(format!("{}: {error}", watch.names())))?;
        warn_of_readers(key, "the key");
        watch.in_force = hash(&pair);
        Ok((watch, tls))
    }

    /// Starts a thread that replaces the certificate after each change of the files, or when `reloads` has grown. It runs until the
    /// process ends. Files that are not regular files, such as pipes, are not followed.
    pub(super) fn follow(self, tls: Tls, reloads: Arc<AtomicU64>) -> Result<(), Failure> {
        if !self.certificates.is_file() || !self.key.is_file() {
            return Ok(());
        }
        let thread = look_every(
            ("certificate", INTERVAL),
            reloads,
            (self, tls),
            |(own, tls), is_asked| own.look(tls, is_asked),
            |(_, tls)| tls.note_failure(),
        );
        thread.map_err(|error| Failure::Failed(format!("cannot follow the certificate: {error}")))
    }

    /// Reads the files. Replaces the certificate if they have changed, if the last look failed, or if `is_asked` is true. If the
    /// files cannot be used, keeps the old certificate. Logs each cause once, at the second look. If `is_asked` is true, logs it at
    /// once.
    fn look(&mut self, tls: &Tls, is_asked: bool) {
        let read = || io::Result::Ok((std::fs::read(&self.certificates)?, std::fs::read(&self.key)?));
        let read = read().map_err(|error| escape(&error.to_string()).into_owned());
        if let Ok(pair) = &read
            && hash(pair) == self.in_force
            && !is_asked
            && self.failed.is_none()
        {
            return;
        }
        let is_second = self.failed.is_some() || is_asked;
        let used = read.and_then(|pair| {
            // A pair that does not fit yet must not count as a failure at the first look.
            let checked = if is_second { Ok(()) } else { Tls::from_pem(&pair.0, &pair.1).map(drop) };
            let replaced = checked.and_then(|()| tls.replace(&pair.0, &pair.1));
            replaced.map_err(|error| error.to_string()).map(|()| hash(&pair))
        });
        match used {
            Ok(hash) => {
                self.in_force = hash;
                self.failed = None;
                let expires_s = tls.not_after_s();
                tracing::info!(expires_s, "the certificate was read again, and is in force");
                warn_of_readers(&self.key, "the key");
            }
            Err(cause) => {
                let was_logged = self.failed.take().is_some_and(|(last, logged)| last == cause && logged);
                if is_second {
                    tls.note_failure();
                    if !was_logged || is_asked {
                        let file = self.names();
                        tracing::error!(
                            cause,
                            file,
                            "the certificate or its key has changed, but cannot be used: the service keeps the old ones"
                        );
                    }
                }
                self.failed = Some((cause, is_second));
            }
        }
    }

    fn names(&self) -> String {
        format!("{} and {}", shown(&self.certificates), shown(&self.key))
    }
}

/// Returns a value that differs after a change of the files.
fn hash(pair: &(Vec<u8>, Vec<u8>)) -> u64 {
    let mut hasher = DefaultHasher::new();
    pair.hash(&mut hasher);
    hasher.finish()
}
