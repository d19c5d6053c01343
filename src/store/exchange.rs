//! Replaces the file of a store with a new file, while searches continue.
//!
//! The new file is an unnamed file in the folder of the database. It is compacted, synced, and renamed to the path of the database
//! in one step. So a crash leaves either the complete old file or the complete new file. Searches that began before the rename
//! continue to read from the old file. The space of the old file is freed when the last of these searches ends. Until then, the
//! disk needs space for two files. Writes wait until the new file has replaced the old one.

use std::fs;
use std::io;

use super::atomic::AtomicFile;
use super::database::Store;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::file::File;
use super::log::Log;

/// A new file that is to replace the file of a store.
pub(super) struct NewFile {
    pub(super) file: File,
    /// The length of the old file, in bytes.
    pub(super) bytes_before: u64,
    pub(super) rename: Box<Rename>,
}

/// A function that syncs the new file, gives it the name of the old file, and syncs the folder. Returns the length of the new file,
/// in bytes.
type Rename = dyn FnOnce(&File) -> Result<u64, NotRenamed>;

/// The fault of a new file that did not get its name, or that may lose its name in a crash.
pub(super) enum NotRenamed {
    /// The old file has the name.
    Old(Fault),
    /// The new file has the name. After a crash, the old file may have it again.
    NotSynced(Fault),
    /// It is not known which file has the name.
    Unknown(Fault),
}

impl Store {
    /// Creates a new file beside the file of the store.
    pub(super) fn new_file(&self) -> Result<NewFile, Fault> {
        let Some(path) = self.file.path() else {
            return Err(Fault::new(StoreErrorKind::Io, "it is not in a file"));
        };
        // The rename must replace the file itself, and not a symbolic link to it.
        let path = fs::canonicalize(path)?;
        let own = fs::metadata(&path)?;
        refuse_links(&own)?;
        // The new file gets its name when it is complete. A crash before that leaves nothing of it.
        let new = AtomicFile::replace(&path)?;
        check_owner(&new.file().metadata()?, &own)?;
        let file = File::prepare_exchange(&new, &self.definition, self.options.cache_bytes)?;
        let rename = move |file: &File| {
            let length = new.file().metadata().map_err(|error| NotRenamed::Old(error.into()))?.len();
            let failed = |error: io::Error| match file.is_at(&path) {
                Some(false) => NotRenamed::Old(error.into()),
                Some(true) => NotRenamed::NotSynced(error.into()),
                None => NotRenamed::Unknown(error.into()),
            };
            new.finish().map_err(failed)?;
            Ok(length)
        };
        Ok(NewFile { file, bytes_before: own.len(), rename: Box::new(rename) })
    }

    /// Replaces the file with a new file. `fill` writes the new file. It is then compacted, and gets the name of the old file.
    /// After that, calls `exchanged` with the result of `fill`. No write may be in progress during the call. Returns the length of
    /// the new file, in bytes.
    pub(super) fn exchange_with<T>(
        &self,
        new: NewFile,
        fill: impl FnOnce(&mut File) -> Result<T, Fault>,
        exchanged: impl FnOnce(T),
    ) -> Result<u64, Fault> {
        let NewFile { mut file, rename, .. } = new;
        let filled = guarded(|| {
            let filled = fill(&mut file)?;
            // A single pass may not move all pages.
            while file.compact()? {}
            Ok(filled)
        })?;
        let renamed = match rename(&file) {
            Ok(length) => Ok(length),
            Err(NotRenamed::Old(fault)) => return Err(fault),
            Err(NotRenamed::Unknown(fault)) => {
                // Later writes to the old file may be lost.
                self.file.sync_failed().set();
                return Err(fault);
            }
            Err(NotRenamed::NotSynced(fault)) => Err(fault),
        };
        // From here on, the new file is the database.
        self.file.exchange(&file);
        exchanged(filled);
        // The rename may not be on disk. After a crash, the path may refer to the old file again, without later writes. So no
        // further write is accepted.
        renamed.inspect_err(|_| self.file.sync_failed().set())
    }

    /// Returns the error of an exchange that failed. If the file of the store cannot be used any more, first marks the store as
    /// failed: then the next write opens the file again.
    pub(super) fn exchange_failed(&self, log: &mut Log, fault: Fault) -> StoreError {
        log.failed |= self.file.sync_failed().is_set() || self.file.is_stuck();
        self.error(fault)
    }
}

/// Returns an error if the file has a second name.
#[cfg(unix)]
fn refuse_links(own: &fs::Metadata) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt;
    if own.nlink() > 1 {
        let detail = "it has another name (a hard link), which would still refer to the old file; remove the hard link first";
        return Err(Fault::new(StoreErrorKind::Exists, detail));
    }
    Ok(())
}

/// Returns an error if the copy does not have the owner and the group of the file.
#[cfg(unix)]
fn check_owner(copy: &fs::Metadata, own: &fs::Metadata) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt;
    if (copy.uid(), copy.gid()) != (own.uid(), own.gid()) {
        let detail = format!(
            "the file belongs to the user {} and the group {}, which this process cannot give to another file",
            own.uid(),
            own.gid()
        );
        return Err(Fault::new(StoreErrorKind::Io, detail));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_links(_: &fs::Metadata) -> Result<(), Fault> {
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &fs::Metadata, _: &fs::Metadata) -> Result<(), Fault> {
    Ok(())
}
