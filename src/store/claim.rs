//! Claims on the names of new databases: if two processes create the same database, the later process fails at once, and not only
//! when its database is complete.
//!
//! A new database has no name until it is complete. Meanwhile its creator holds the lock of a file `.NAME.new` in the same folder,
//! and removes this file at the end. The system releases the lock when the process ends. A killed process leaves the empty file,
//! and the next claim uses this file again.
//!
//! Backups take no claim: they are short, and a killed backup must not leave a file.
//!
//! A claim is advisory. In a folder without file locks, the first complete database gets the name, and the creation of any other
//! database with this name fails.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::atomic::{Temporary, folder_of};
use super::error::{Fault, StoreErrorKind};

/// A claim on the name of a new database. Dropping the claim releases the name.
pub(super) struct Claim {
    /// The file of the claim. It is removed before the lock is released.
    _name: Temporary,
    _lock: File,
}

impl Claim {
    /// Claims the name of a new file. Returns `None` if the folder does not allow claims.
    ///
    /// # Errors
    /// Returns an error if another process, or another store of this process, has a claim on the name.
    pub(super) fn take(target: &Path) -> Result<Option<Self>, Fault> {
        /// The maximum number of attempts. A holder may remove its file between two steps of this function.
        const MOST_TRIES: usize = 100;
        let Some(name) = target.file_name() else { return Ok(None) };
        let mut own = std::ffi::OsString::from(".");
        own.push(name);
        own.push(".new");
        let path = folder_of(target).join(own);
        for _ in 0..MOST_TRIES {
            match Temporary::at(path.clone(), lock) {
                Ok((lock, name)) => return Ok(Some(Self { _name: name, _lock: lock })),
                Err(Refusal::Moved) => {}
                Err(Refusal::Unsupported) => return Ok(None),
                Err(Refusal::Held) => {
                    return Err(Fault::new(
                        StoreErrorKind::BeingCreated,
                        "this process or another process is creating it",
                    ));
                }
            }
        }
        Ok(None)
    }
}

/// The reason why the file of a claim could not be locked.
enum Refusal {
    /// Another process, or another store of this process, holds the lock.
    Held,
    /// The holder removed the file before it was locked here.
    Moved,
    /// The folder does not permit files or locks.
    Unsupported,
}

/// Opens or creates the file of a claim, and locks it.
fn lock(path: &Path) -> Result<File, Refusal> {
    let file = open(path).map_err(|_| Refusal::Unsupported)?;
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => Ok(file),
        Ok(()) => Err(Refusal::Moved),
        Err(TryLockError::WouldBlock) => Err(Refusal::Held),
        Err(TryLockError::Error(_)) => Err(Refusal::Unsupported),
    }
}

/// Opens or creates an empty file that only its owner can read. Does not follow a symbolic link.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(target_os = "linux")]
    if let Ok(flags) = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()) {
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options.open(path)
}

/// Returns true if the path still leads to the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |found: std::fs::Metadata| found.is_file().then(|| (found.dev(), found.ino()));
    let own = file.metadata().ok().and_then(identity);
    own.is_some() && std::fs::symlink_metadata(path).ok().and_then(identity) == own
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_claim_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let first = Claim::take(&path).unwrap().unwrap();
        assert_eq!(Claim::take(&path).err().unwrap().kind, StoreErrorKind::BeingCreated);
        Claim::take(&folder.path().join("other.db")).unwrap().unwrap();
        drop(first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // A killed process leaves the file without a lock.
        std::fs::write(folder.path().join(".cases.db.new"), "").unwrap();
        drop(Claim::take(&path).unwrap().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn without_a_lock_there_is_no_claim() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Claim::take(&folder.path().join("none/cases.db")).unwrap().is_none());
        assert!(Claim::take(&folder.path().join("x".repeat(255))).unwrap().is_none());
        let victim = folder.path().join("victim");
        std::os::unix::fs::symlink(&victim, folder.path().join(".cases.db.new")).unwrap();
        assert!(Claim::take(&folder.path().join("cases.db")).unwrap().is_none());
        assert!(!victim.exists());
    }

    #[test]
    fn claims_of_many_threads_exclude_each_other() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(claim) = Claim::take(&path) else { continue };
                        let claim = claim.expect("the folder allows claims");
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(claim);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
