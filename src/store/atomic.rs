//! Writes files atomically: either the complete file appears under its name, or no file appears.
//!
//! If the system supports it (`O_TMPFILE` on Linux), the file is unnamed at first. If the process ends before the file gets its
//! name, the system frees the file. On other systems, the file is written under a temporary name in the folder of its target. In
//! both cases the file is synced before it gets its name, and the folder is synced afterwards.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The mode of a new file: only the owner can read and write it.
#[cfg(unix)]
const PRIVATE_MODE: u32 = 0o600;

/// The paths of the temporary files of this process. A path is added and its file is created while the list is locked. So no file
/// is missing from the list when a signal ends the process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The number in the next temporary name.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that appears under its name only when it is complete and synced.
///
/// Write to it through [`file`](Self::file). [`finish`](Self::finish) gives the file its name. If the value is dropped before that,
/// the file is removed. Only the owner can read the file (mode 0600). A file that replaces another file gets the mode of that file
/// before it gets its name.
///
/// ```
/// use std::io::Write as _;
/// use casefilter::AtomicFile;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("report.json");
/// let report = AtomicFile::replace(&path)?;
/// report.file().write_all(b"{}")?;
/// assert!(!path.exists());
/// report.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// The temporary name, or `None` for an unnamed file.
    temporary: Option<Temporary>,
    target: PathBuf,
    replaces: bool,
}

/// A temporary name. Dropping the value removes the file that has this name.
#[derive(Debug)]
pub(super) struct Temporary(PathBuf);

impl AtomicFile {
    /// Creates a file that gets the name `path`. No other file may have this name.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the name is in use. Returns an error if the folder cannot be
    /// written.
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if fs::symlink_metadata(path).is_ok() {
            return Err(exists());
        }
        Self::begin(path.to_owned(), false)
    }

    /// Creates a file that replaces the file at `path`, if that file exists.
    ///
    /// The new file gets the mode of the replaced file. It also gets its owner and group, if this process may set them. If `path`
    /// is a symbolic link, the target of the link is replaced.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written, or if `path` is not a file.
    pub fn replace(path: impl AsRef<Path>) -> io::Result<Self> {
        let target = Self::target_of(path)?;
        let found = match fs::metadata(&target) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let own = Self::begin(target, true)?;
        if let Some(found) = found {
            keep_rights(&own.file, &found)?;
        }
        Ok(own)
    }

    /// Returns the path that [`replace`](Self::replace) writes. Follows symbolic links at the end of `path`, even if the target of
    /// the last link does not exist.
    ///
    /// ```
    /// use casefilter::AtomicFile;
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("report.json");
    /// assert_eq!(AtomicFile::target_of(&path)?, path);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a link cannot be read, or if `path` leads through more links than the system follows.
    pub fn target_of(path: impl AsRef<Path>) -> io::Result<PathBuf> {
        /// The maximum number of links that Linux follows.
        const MOST_LINKS: usize = 40;
        let mut path = path.as_ref().to_owned();
        for _ in 0..MOST_LINKS {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => path = folder_of(&path).join(fs::read_link(&path)?),
                _ => return Ok(path),
            }
        }
        Err(io::Error::other("too many symbolic links"))
    }

    fn begin(target: PathBuf, replaces: bool) -> io::Result<Self> {
        let (file, temporary) = match unnamed(folder_of(&target)) {
            Some(file) => (file, None),
            None => {
                let (file, temporary) = Temporary::file(&target)?;
                (file, Some(temporary))
            }
        };
        make_private(&file)?;
        Ok(Self { file, temporary, target, replaces })
    }

    /// Returns the file to write to.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path that the file will have.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Syncs the file, gives it its name, and syncs the folder, so that the name survives a crash.
    ///
    /// # Errors
    /// Returns an error if the disk fails, or if the name of a [new](Self::create_new) file is now in use. In both cases, the
    /// unfinished file is removed. If only the sync of the folder fails, the complete file keeps its name.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        match (&self.temporary, self.replaces) {
            (None, false) => link(&self.file, &self.target)?,
            (None, true) => {
                // A link cannot replace a file. A rename can replace a file, but needs a name to rename from. If the process is
                // killed between the link and the rename, this temporary name remains.
                match link(&self.file, &self.target) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        let ((), temporary) = Temporary::create(&self.target, |path| link(&self.file, path))?;
                        fs::rename(&temporary.0, &self.target)?;
                    }
                    linked => linked?,
                }
            }
            (Some(temporary), false) => fs::hard_link(&temporary.0, &self.target)?,
            (Some(temporary), true) => fs::rename(&temporary.0, &self.target)?,
        }
        sync_folder(&self.target)
    }

    /// Removes the temporary files of this process. Call this function when a signal is about to end the process. Calls `end` while
    /// the list of temporary names is locked, so no other thread can create a temporary file before the process ends.
    ///
    /// ```
    /// casefilter::AtomicFile::abandon_all(|| {});
    /// ```
    pub fn abandon_all(end: impl FnOnce()) {
        let names = unfinished();
        for name in names.iter() {
            // If a file cannot be removed, its temporary name remains.
            let _ = fs::remove_file(name);
        }
        end();
    }
}

fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "it exists already")
}

impl Temporary {
    /// Calls `make` to create a file at `path`, and adds the path to the list of unfinished files. The list is locked during the
    /// call, so [`AtomicFile::abandon_all`] never finds it incomplete. `make` must not create or drop other temporary names.
    ///
    /// # Errors
    /// Returns the error of `make`. The path is then not added.
    pub(super) fn at<T, E>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T, E>) -> Result<(T, Self), E> {
        let mut names = unfinished();
        let made = make(&path)?;
        names.push(path.clone());
        Ok((made, Self(path)))
    }

    /// Calls `make` with a path in the folder of the target until the file is created. Each call gets a name that this process has
    /// not used yet.
    fn create<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, Self)> {
        /// The maximum number of names to try. An earlier process with the same process id may have left files with these names.
        const MOST_TRIES: usize = 100;
        let mut tries = 1_usize;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".casefilter-{}-{number}.part", std::process::id());
            match Self::at(folder_of(target).join(name), &make) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MOST_TRIES => {
                    tries = tries.saturating_add(1);
                }
                made => return made,
            }
        }
    }

    /// Creates an empty file with a temporary name in the folder of the target.
    fn file(target: &Path) -> io::Result<(File, Self)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE_MODE);
        Self::create(target, |path| options.open(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut names = unfinished();
        // After a rename, no file has this name.
        let _ = fs::remove_file(&self.0);
        if let Some(at) = names.iter().position(|name| *name == self.0) {
            names.swap_remove(at);
        }
    }
}

/// Creates an unnamed file in a folder. Only the owner can read the file. Closing the file frees its space.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub(crate) fn unnamed_in(folder: &Path) -> io::Result<File> {
    match unnamed(folder) {
        Some(file) => Ok(file),
        // The name is removed immediately, when `_name` is dropped.
        None => Temporary::file(&folder.join("unnamed")).map(|(file, _name)| file),
    }
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the folder of the file that a path leads to. If the path is a symbolic link, the file may be on another disk.
pub(super) fn real_folder_of(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path);
    folder_of(real.as_deref().unwrap_or(path)).to_owned()
}

/// Creates an unnamed file in a folder. Returns `None` if the system or the file system does not support it.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = i32::try_from(rustix::fs::OFlags::TMPFILE.bits()).ok()?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(PRIVATE_MODE).custom_flags(flags);
    // The file gets its name through a link from /proc, which may not be mounted.
    options.open(folder).ok().filter(|file| fs::metadata(own_path(file)).is_ok())
}

/// Returns the path under /proc of a file that this process has open.
#[cfg(target_os = "linux")]
fn own_path(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives an unnamed file the name `name`, which must not exist.
#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, own_path(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_folder: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, _name: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sets the mode of a new file, independently of the umask.
#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(PRIVATE_MODE))
}

#[cfg(not(unix))]
fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Copies the mode of the replaced file to the new file. Also copies the owner and the group, if the system permits it.
#[cfg(unix)]
fn keep_rights(file: &File, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let own = file.metadata()?;
    let mut mode = found.mode() & 0o777;
    // Only root may change the owner of a file. The owner may change the group only to a group that the owner is a member of.
    if own.uid() != found.uid() {
        let _ = fchown(file, Some(found.uid()), None);
    }
    if own.gid() != found.gid() && fchown(file, None, Some(found.gid())).is_err() {
        // The group of the new file differs from that of the replaced file. So the group gets no more rights than all other users
        // have.
        mode &= 0o707 | (mode & 0o007) << 3;
    }
    if own.mode() & 0o777 == mode {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_rights(_file: &File, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Syncs the folder of `path`, so that a new name in it survives a crash.
fn sync_folder(path: &Path) -> io::Result<()> {
    // Some systems cannot open folders. There, the folder is not synced.
    match File::open(folder_of(path)) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Creates a file under a temporary name, as on systems without unnamed files.
    fn named(target: &Path, replaces: bool) -> AtomicFile {
        let (file, temporary) = Temporary::file(target).unwrap();
        AtomicFile { file, temporary: Some(temporary), target: target.to_owned(), replaces }
    }

    #[test]
    fn a_file_appears_when_it_is_finished_and_leaves_nothing_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for is_named in [false, true] {
            let begin = |replaces| match (is_named, replaces) {
                (true, _) => named(&path, replaces),
                (false, true) => AtomicFile::replace(&path).unwrap(),
                (false, false) => AtomicFile::create_new(&path).unwrap(),
            };
            let file = begin(false);
            file.file().write_all(b"one").unwrap();
            assert!(!path.exists());
            drop(file);
            assert!(names(folder.path()).is_empty());

            let (first, second) = (begin(false), begin(false));
            first.file().write_all(b"first").unwrap();
            first.finish().unwrap();
            assert_eq!(second.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"first");

            let file = begin(true);
            file.file().write_all(b"second").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"first");
            file.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"second");
            assert_eq!(names(folder.path()), ["a"]);
            fs::remove_file(&path).unwrap();
        }
        assert!(unfinished().iter().all(|name| !name.starts_with(folder.path())));
    }

    /// `abandon_all` removes the temporary files of all threads, including the files of other tests. So this test runs in a process
    /// of its own.
    #[test]
    fn a_signal_removes_temporary_names() {
        const ALONE: &str = "CASEFILTER_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut own = std::process::Command::new(std::env::current_exe().unwrap());
            let name = "store::atomic::tests::a_signal_removes_temporary_names";
            let output = own.args([name, "--exact"]).env(ALONE, "1").output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8(output.stdout).unwrap().contains("1 passed"));
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = named(&folder.path().join("a"), false);
        assert_eq!(names(folder.path()).len(), 1);
        AtomicFile::abandon_all(|| assert!(names(folder.path()).is_empty()));
        drop(file);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it_from_the_first_moment() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for file in [AtomicFile::create_new(&path).unwrap(), named(&path, true)] {
            assert_eq!(file.file().metadata().unwrap().mode() & 0o777, 0o600);
        }
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        AtomicFile::replace(&path).unwrap().finish().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    }
}
