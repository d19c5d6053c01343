//! Reads the certificate and the key of a service, and follows their changes while the service runs.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use casefilter::service::Tls;

use super::files::{is_followed, shown, warn_of_readers};
use super::follow::look_every;
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The time between two looks at the files. Changed files are used only when two looks in a row find the same contents. One of the
/// two files may be replaced before the other, and a file may be incomplete while it is written.
const INTERVAL: Duration = Duration::from_secs(1);

/// The files of a certificate and its key, and the result of the last look at them.
pub(super) struct TlsWatch {
    certificates: PathBuf,
    key: PathBuf,
    /// The hash of the files that the service uses.
    in_force: u64,
    /// The result of the last look: the hash of the files, or why they could not be read.
    last: Result<u64, String>,
    /// The cause that was logged last, if the files cannot be used.
    failed: Option<String>,
}

impl TlsWatch {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read, or do not belong together.
    pub(super) fn start(certificates: &Path, key: &Path) -> Result<(Self, Tls), Failure> {
        let (own, other) = (certificates.to_owned(), key.to_owned());
        let mut watch = Self { certificates: own, key: other, in_force: 0, last: Ok(0), failed: None };
        let read = |path: &Path| {
            let text = std::fs::read(path);
            text.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
        };
        let pair = (read(certificates)?, read(key)?);
        let tls = Tls::from_pem(&pair.0, &pair.1);
        let tls = tls.map_err(|error| Failure::Failed(format!("{}: {error}", watch.names())))?;
        warn_of_readers(key, "the key");
        watch.in_force = hash(&pair);
        watch.last = Ok(watch.in_force);
        Ok((watch, tls))
    }

    /// Starts a thread that replaces the certificate after changes of the files, or when `reloads` has grown. It runs until the
    /// process ends. Files that are not regular files, such as pipes, are not followed.
    pub(super) fn follow(self, tls: Tls, reloads: Arc<AtomicU64>) -> Result<(), Failure> {
        if !(is_followed(&self.certificates) && is_followed(&self.key)) {
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

    /// Reads the files. If `is_asked` is true, replaces the certificate. If it is false, replaces the certificate under two
    /// conditions: the files have changed or could not be used before, and the previous look found the same contents.
    ///
    /// If the files cannot be used, keeps the old certificate, and logs the cause. Logs the same cause again only if `is_asked` is
    /// true.
    fn look(&mut self, tls: &Tls, is_asked: bool) {
        let read = || io::Result::Ok((std::fs::read(&self.certificates)?, std::fs::read(&self.key)?));
        let read = read().map_err(|error| escape(&error.to_string()).into_owned());
        let found = read.as_ref().map(hash).map_err(String::clone);
        let is_in_force = found == Ok(self.in_force) && self.failed.is_none();
        let is_second = found == self.last;
        self.last = found;
        if !is_asked && (is_in_force || !is_second) {
            return;
        }
        let used = read.and_then(|pair| {
            let replaced = tls.replace(&pair.0, &pair.1);
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
                tls.note_failure();
                if is_asked || self.failed.as_ref() != Some(&cause) {
                    let (cause, file) = (cause.as_str(), self.names());
                    tracing::error!(
                        cause,
                        file,
                        "the certificate or its key has changed, but cannot be used: the service keeps the old ones"
                    );
                }
                self.failed = Some(cause);
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
