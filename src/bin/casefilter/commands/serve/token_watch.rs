//! Reads the token file of a service, and follows its changes while the service runs.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use casefilter::service::{TokenFile, TokenUpdater};

use super::files::is_followed;
use super::follow::look_every;
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The time between two looks at the file. A change is in force within a second.
const INTERVAL: Duration = Duration::from_millis(400);

/// A token file, and the result of its last reading.
pub(super) struct TokenWatch {
    path: PathBuf,
    /// True if the service accepts a file that other users can read or change.
    may_be_open: bool,
    /// The result of the last reading: the hash of the contents with the mode, or the error.
    seen: Result<(u64, u32), String>,
}

/// The contents of a token file, and its mode.
struct Contents {
    text: Vec<u8>,
    mode: u32,
}

impl TokenWatch {
    /// Reads a token file for the first time, and logs warnings about its tokens.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a token file. Also returns an error if other users can read or
    /// change the file, unless `may_be_open` is true.
    pub(super) fn start(path: &Path, may_be_open: bool) -> Result<(Self, TokenFile), Failure> {
        let mut watch = Self { path: path.to_owned(), may_be_open, seen: Err(String::new()) };
        let contents = watch.contents().map_err(Failure::Failed)?;
        watch.seen = Ok(contents.stamp());
        let file = watch.parse(&contents).map_err(Failure::Failed)?;
        watch.warn(&file, contents.mode);
        Ok((watch, file))
    }

    /// Starts a thread that replaces the tokens after each change of the file, or when `reloads` has grown. It runs until the
    /// process ends. If the file is not a regular file, such as a pipe, it is not followed.
    pub(super) fn follow(self, updater: TokenUpdater, reloads: Arc<AtomicU64>) -> Result<(), Failure> {
        if !is_followed(&self.path) {
            return Ok(());
        }
        let thread = look_every(
            ("tokens", INTERVAL),
            reloads,
            (self, updater),
            |(own, updater), is_asked| own.look(updater, is_asked),
            |(_, updater)| updater.note_failure(),
        );
        thread.map_err(|error| Failure::Failed(format!("cannot follow the token file: {error}")))
    }

    /// Reads the file. Replaces the tokens if the file has changed, if the last reading failed, or if `is_asked` is true. If the
    /// file cannot be read or is not valid, keeps the tokens, and logs the error.
    fn look(&mut self, updater: &TokenUpdater, is_asked: bool) {
        let read = self.contents();
        let stamp = read.as_ref().map(Contents::stamp);
        if !is_asked && stamp.as_ref().is_ok_and(|stamp| self.seen.as_ref() == Ok(stamp)) {
            return;
        }
        let replaced = read.and_then(|contents| {
            let file = self.parse(&contents)?;
            let tokens = updater.replace(file.clone()).map_err(|error| error.to_string())?;
            Ok((contents, file, tokens))
        });
        match replaced {
            Ok((contents, file, tokens)) => {
                self.seen = Ok(contents.stamp());
                tracing::info!(tokens, "the token file was read again, and is in force");
                self.warn(&file, contents.mode);
            }
            Err(cause) => {
                updater.note_failure();
                // The next look tries again. The log has each cause once.
                if is_asked || self.seen.as_ref() != Err(&cause) {
                    tracing::error!(
                        cause,
                        "the token file has changed, but is not valid: the service keeps its tokens"
                    );
                }
                self.seen = Err(cause);
            }
        }
    }

    fn contents(&self) -> Result<Contents, String> {
        let read = || {
            let mut file = File::open(&self.path)?;
            let mode = mode_of(&file)?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            Ok(Contents { text, mode })
        };
        read().map_err(|error: io::Error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &io::Error) -> String {
        format!("cannot read {}: {}", escape(&self.path.display().to_string()), escape(&error.to_string()))
    }

    fn parse(&self, contents: &Contents) -> Result<TokenFile, String> {
        let file = TokenFile::parse(&contents.text).map_err(|error| self.unreadable(&error))?;
        if is_open_to_others(contents.mode) && !self.may_be_open {
            return Err(format!(
                "other users of this machine can read or change the secrets in {}: chmod 600, or start the service with --allow-readable-tokens",
                escape(&self.path.display().to_string())
            ));
        }
        Ok(file)
    }

    /// Logs warnings about a token file that is in force.
    fn warn(&self, tokens: &TokenFile, mode: u32) {
        if is_open_to_others(mode) {
            let file = escape(&self.path.display().to_string()).into_owned();
            let what = "the secrets in it";
            tracing::warn!(file, "other users of this machine may read {what}: chmod 600 is enough");
        }
        let mut names = HashSet::new();
        for name in tokens.names() {
            if names.contains(&name) {
                tracing::warn!(name, "two tokens have this name: logs cannot tell them apart");
            }
            names.insert(name);
        }
        for warning in tokens.warnings() {
            tracing::warn!("{}", escape(&warning));
        }
        if tokens.entries().is_empty() {
            tracing::warn!("the file of tokens has no token: every request will be rejected");
        }
    }
}

impl Contents {
    /// Returns a hash of the text, and the mode. At least one of them differs after a change of the file.
    fn stamp(&self) -> (u64, u32) {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        (hasher.finish(), self.mode)
    }
}

/// Returns the mode of a file. Returns 0 on systems without modes.
#[cfg(unix)]
fn mode_of(file: &File) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode_of(_file: &File) -> io::Result<u32> {
    Ok(0)
}

/// Returns true if users other than the owner can read or change a file with this mode.
fn is_open_to_others(mode: u32) -> bool {
    mode & 0o066 != 0
}
