//! Reads and writes the token file. Several commands may change it at the same time.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use casefilter::AtomicFile;
use casefilter::service::TokenFile;

use crate::output::failure::Failure;
use crate::output::file::{cannot_write, replace};
use crate::output::interrupt;
use crate::output::overwrite::is_same_inode;

/// A locked token file. Other commands cannot change the file until this value is dropped.
///
/// A change replaces the file by a new file. So the lock is valid only while the path refers to the locked file. If the file does
/// not exist yet, there is no lock. In that case, the first command that creates the file succeeds, and all other commands read it
/// again.
pub(super) struct LockedTokens<'p> {
    path: &'p Path,
    pub(super) tokens: TokenFile,
    /// The locked file, or `None` if the file does not exist yet. Closing it releases the lock.
    lock: Option<File>,
}

impl<'p> LockedTokens<'p> {
    /// Locks and reads the file. Waits while another command has it locked.
    pub(super) fn read(path: &'p Path) -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::io("cannot read", &path.display().to_string(), &error);
        loop {
            let mut file = match File::open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { path, tokens: TokenFile::default(), lock: None });
                }
                Err(error) => return Err(fail(error)),
            };
            // Some file systems do not support locks. On these, one command at a time is still safe.
            let _ = file.lock();
            if has_name(&file, path) {
                // On some systems, only the handle with the lock can read the file.
                let mut text = Vec::new();
                file.read_to_end(&mut text).map_err(fail)?;
                let tokens = TokenFile::parse(&text).map_err(fail)?;
                return Ok(Self { path, tokens, lock: Some(file) });
            }
        }
    }

    /// Locks and reads a file that exists. Waits while another command has it locked.
    pub(super) fn read_existing(path: &'p Path) -> Result<Self, Failure> {
        let locked = Self::read(path)?;
        if locked.lock.is_none() {
            let error = io::Error::from(io::ErrorKind::NotFound);
            return Err(Failure::io("cannot read", &path.display().to_string(), &error));
        }
        Ok(locked)
    }

    /// Writes the file. If another command has created the file since it was read, returns false and writes nothing.
    pub(super) fn write(self, text: &str) -> Result<bool, Failure> {
        let Self { path, lock, .. } = self;
        if lock.is_some() {
            return replace(path, &mut |mut file| file.write_all(text.as_bytes())).map(|()| true);
        }
        match create(path, text) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => created.map(|()| true).map_err(|error| cannot_write(path, &error)),
        }
    }
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    interrupt::watch()?;
    // The path may be a symbolic link whose target does not exist.
    let new = AtomicFile::create_new(AtomicFile::target_of(path)?)?;
    new.file().write_all(text.as_bytes())?;
    new.finish()
}

/// Returns true if `path` still refers to the open file. On systems without inode numbers, this is assumed.
fn has_name(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => cfg!(not(unix)) || is_same_inode(&open, &named),
        _ => false,
    }
}
