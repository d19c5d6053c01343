//! The admin socket: creates it, replaces a stale socket file, and removes the socket file at the end.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use axum::http::HeaderValue;
use tokio::net::{UnixListener, UnixStream};

/// A Unix socket for the operators of a [`Service`](super::super::Service). Every process that can open the socket can control the
/// service completely.
///
/// Only the owner can read and write the socket file. Dropping the `AdminSocket` removes the file.
#[derive(Debug)]
pub struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
    own: FileId,
    database: PathBuf,
    database_id: FileId,
}

/// The device number and the inode number of a file. They identify the file independently of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl From<(u64, u64)> for FileId {
    fn from((device, inode): (u64, u64)) -> Self {
        Self { device, inode }
    }
}

impl FileId {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Returns true if the value of `X-Casefilter-Database` names this file.
    pub(super) fn matches(self, header: &HeaderValue) -> bool {
        header.as_bytes() == format!("{}-{}", self.device, self.inode).as_bytes()
    }
}

impl AdminSocket {
    /// Returns the default path of the admin socket for a database: the path of the database with `.sock` appended.
    ///
    /// ```
    /// use std::path::Path;
    /// use casefilter::service::AdminSocket;
    /// assert_eq!(AdminSocket::default_path(Path::new("no/cases.db")), Path::new("no/cases.db.sock"));
    /// ```
    #[must_use]
    pub fn default_path(database: &Path) -> PathBuf {
        let mut name = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
        name.push(".sock");
        name.into()
    }

    /// Returns the value of the header `X-Casefilter-Database` for a database: its device number and inode number.
    ///
    /// # Errors
    /// Returns an error if the file does not exist or cannot be accessed.
    pub fn database_id(database: &Path) -> io::Result<String> {
        let FileId { device, inode } = FileId::of(&fs::metadata(database)?);
        Ok(format!("{device}-{inode}"))
    }

    /// Creates the admin socket for a database that this process has open. Replaces a stale socket file, on which no process
    /// listens.
    ///
    /// # Errors
    /// - [`AddrInUse`](io::ErrorKind::AddrInUse) if another process listens on the socket.
    /// - [`AlreadyExists`](io::ErrorKind::AlreadyExists) if `path` is a file that is not a socket.
    /// - Another kind if the path is too long for a socket, or if the database does not exist.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime with I/O enabled.
    pub fn bind(path: impl Into<PathBuf>, database: &Path) -> io::Result<Self> {
        let path = path.into();
        let database = fs::canonicalize(database)?;
        let database_id = FileId::of(&fs::metadata(&database)?);
        check_replaceable(&path)?;
        // The socket is created in a private folder, so that no process can connect before its permissions are set. The rename then
        // replaces a stale socket file atomically.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = private_folder(parent)?;
        let fresh = folder.path().join("s");
        let listener = UnixListener::bind(&fresh)?;
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
        let own = FileId::of(&fs::symlink_metadata(&fresh)?);
        fs::rename(&fresh, &path)?;
        Ok(Self { listener, path, own, database, database_id })
    }

    /// Returns the path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> (&Path, FileId) {
        (&self.database, self.database_id)
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

/// Creates a folder that only the owner can enter, independently of the umask.
fn private_folder(parent: &Path) -> io::Result<tempfile::TempDir> {
    let owner_only = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(".s").rand_bytes(4).permissions(owner_only).tempdir_in(parent)
}

/// Returns an error if `path` is a file that is not a socket, or a socket on which a process listens.
fn check_replaceable(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists and is not a socket"));
    }
    match Probe::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on the socket")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the socket file, unless another process has replaced it.
impl Drop for AdminSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| FileId::of(&found) == self.own) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(path: &Path, database: &Path) -> io::Result<AdminSocket> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let _entered = runtime.enter();
        AdminSocket::bind(path, database)
    }

    #[test]
    fn only_its_owner_can_enter_the_folder_in_which_a_socket_is_created() {
        let parent = tempfile::tempdir().unwrap();
        let folder = private_folder(parent.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777, 0o700);
    }

    #[test]
    fn only_a_stale_socket_is_replaced_and_only_the_own_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("cases.db");
        let path = AdminSocket::default_path(&database);
        let failed = |path: &Path| bind(path, &database).unwrap_err().kind();
        assert_eq!(failed(&path), io::ErrorKind::NotFound);
        fs::write(&database, "").unwrap();

        let first = bind(&path, &database).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(failed(&path), io::ErrorKind::AddrInUse);
        assert_eq!(failed(&database), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no other file remains");
        drop(first);
        assert!(!path.exists());

        // This creates a stale socket file, like the one that a killed process leaves.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let second = bind(&path, &database).unwrap();
        // Another process replaces the socket file.
        fs::remove_file(&path).unwrap();
        let third = bind(&path, &database).unwrap();
        drop(second);
        assert!(Probe::connect(&path).is_ok());
        drop(third);

        let long = folder.path().join("x".repeat(120)).join("s");
        fs::create_dir(long.parent().unwrap()).unwrap();
        assert_eq!(failed(&long), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_database_is_identified_by_its_file_and_not_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        fs::write(&one, "").unwrap();
        fs::hard_link(&one, &two).unwrap();
        let identity = |path: &Path| AdminSocket::database_id(path).unwrap();
        assert_eq!(identity(&one), identity(&two));
        let own = FileId::of(&fs::metadata(&one).unwrap());
        assert!(own.matches(&HeaderValue::from_str(&identity(&two)).unwrap()));
        fs::remove_file(&two).unwrap();
        fs::write(&two, "").unwrap();
        assert!(!own.matches(&HeaderValue::from_str(&identity(&two)).unwrap()));
    }
}
