//! A simulated folder in which a file on one disk takes the name of a file on another.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::super::error::Fault;
use super::super::exchange::{NewFile, NotRenamed};
use super::super::file::File;
use super::disk::Disk;
use crate::catalog::Catalog;

/// A folder that contains one file name. Each file has a disk of its own, and all disks belong to one machine.
#[derive(Clone, Debug)]
pub(super) struct Folder(Arc<Mutex<Names>>);

#[derive(Debug)]
struct Names {
    /// The disk that the name leads to.
    shown: Disk,
    /// The disk that the name led to when the folder was last synced. After a crash, the name leads to this disk or to `shown`.
    synced: Disk,
    /// The number of operations before the last rename.
    renamed_at: u64,
}

impl Folder {
    pub(super) fn new(disk: &Disk) -> Self {
        Self(Arc::new(Mutex::new(Names { shown: disk.clone(), synced: disk.clone(), renamed_at: 0 })))
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the disk that the name leads to.
    pub(super) fn disk(&self) -> Disk {
        self.names().shown.clone()
    }

    /// Returns the number of operations before the last rename.
    pub(super) fn renamed_at(&self) -> u64 {
        self.names().renamed_at
    }

    /// Returns the disks that the name may lead to after a crash.
    pub(super) fn disks_after_crash(&self) -> [Disk; 2] {
        let names = self.names();
        [names.shown.clone(), names.synced.clone()]
    }

    /// Opens the file that has the name.
    pub(super) fn open(&self, catalog: &Catalog) -> Result<File, Fault> {
        File::in_backend(Named { folder: self.clone(), disk: self.disk() }, catalog)
    }

    /// Creates a file that is to get the name.
    pub(super) fn new_file(&self, catalog: &Catalog) -> Result<NewFile, Fault> {
        let disk = self.disk().beside();
        let file = File::in_backend(disk.clone(), catalog)?;
        let folder = self.clone();
        Ok(NewFile { file, bytes_before: 0, rename: Box::new(move |_| folder.rename(&disk)) })
    }

    fn rename(&self, disk: &Disk) -> Result<u64, NotRenamed> {
        disk.sync_data().map_err(|error| NotRenamed::Old(error.into()))?;
        self.names().renamed_at = disk.operations();
        if let Err(error) = disk.step() {
            // A rename that returns an error may have taken effect nevertheless, and it may be impossible to find out if it has.
            let fate = disk.operations() % 3;
            if fate == 1 {
                self.names().shown = disk.clone();
            }
            return Err(if fate == 0 {
                NotRenamed::Old(error.into())
            } else {
                NotRenamed::Unknown(error.into())
            });
        }
        self.names().shown = disk.clone();
        disk.step().map_err(|error| NotRenamed::NotSynced(error.into()))?;
        self.names().synced = disk.clone();
        disk.len().map_err(|error| NotRenamed::NotSynced(error.into()))
    }
}

/// The disk of a file that was opened by the name. Cloning gives the disk to which the name leads at that moment. So a store that
/// opens its file again follows the name.
#[derive(Debug)]
struct Named {
    folder: Folder,
    disk: Disk,
}

impl Clone for Named {
    fn clone(&self) -> Self {
        Self { folder: self.folder.clone(), disk: self.folder.disk() }
    }
}

impl StorageBackend for Named {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write(offset, bytes)
    }
}
