//! The socket of operators: made, found, taken over and removed.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use axum::http::HeaderValue;
use tokio::net::{UnixListener, UnixStream};

/// A socket in the file system for a [`Service`](super::super::Service)'s operators: whoever may open it may administer.
///
/// Its file is readable and writable by its owner alone, and goes when this is dropped.
#[derive(Debug)]
pub struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
    own: Identity,
    database: PathBuf,
    database_is: Identity,
}

/// What tells a file from all others of this machine, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

impl From<(u64, u64)> for Identity {
    fn from((device, number): (u64, u64)) -> Self {
        Self { device, number }
    }
}

impl Identity {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// Whether a header means this file.
    pub(super) fn is(self, meant: &HeaderValue) -> bool {
        meant.as_bytes() == format!("{}-{}", self.device, self.number).as_bytes()
    }
}

impl AdminSocket {
    /// Where the socket of a database is, unless it was moved: beside it, under its name with `.sock` behind.
    ///
    /// ```
    /// use std::path::Path;
    /// use casefilter::service::AdminSocket;
    /// assert_eq!(AdminSocket::beside(Path::new("no/cases.db")), Path::new("no/cases.db.sock"));
    /// ```
    #[must_use]
    pub fn beside(database: &Path) -> PathBuf {
        let mut name = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
        name.push(".sock");
        name.into()
    }

    /// How a client names the database that it means, in the header `X-Casefilter-Database`.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn identity(database: &Path) -> io::Result<String> {
        let Identity { device, number } = Identity::of(&fs::metadata(database)?);
        Ok(format!("{device}-{number}"))
    }

    /// Makes the socket of a database, which this process has open.
    ///
    /// A socket that nobody listens on is replaced.
    ///
    /// # Errors
    /// When another process listens there ([`AddrInUse`](io::ErrorKind::AddrInUse)); when something else than a socket is
    /// there ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), or the path is too long for a socket; when there is no
    /// such database.
    ///
    /// # Panics
    /// Outside a Tokio runtime that has I/O.
    pub fn bind(path: impl Into<PathBuf>, database: &Path) -> io::Result<Self> {
        let path = path.into();
        let database = fs::canonicalize(database)?;
        let database_is = Identity::of(&fs::metadata(&database)?);
        refuse_what_lives(&path)?;
        // In a folder that only its owner can enter, so that nobody connects before the permissions are set, and moved to its
        // place in one step, which replaces what a dead process left.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = private_folder(parent)?;
        let fresh = folder.path().join("s");
        let listener = UnixListener::bind(&fresh)?;
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
        let own = Identity::of(&fs::symlink_metadata(&fresh)?);
        fs::rename(&fresh, &path)?;
        Ok(Self { listener, path, own, database, database_is })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> (&Path, Identity) {
        (&self.database, self.database_is)
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

/// Makes a folder that only its owner can enter, whatever the umask is.
fn private_folder(parent: &Path) -> io::Result<tempfile::TempDir> {
    let owner_only = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(".s").rand_bytes(4).permissions(owner_only).tempdir_in(parent)
}

/// Says when there is something that must not be replaced.
fn refuse_what_lives(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file, and it is no socket"));
    }
    match Probe::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the file, unless it is that of somebody else by now.
impl Drop for AdminSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| Identity::of(&found) == self.own) {
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
    fn only_its_owner_can_enter_the_folder_in_which_a_socket_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let folder = private_folder(parent.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777, 0o700);
    }

    #[test]
    fn only_what_is_dead_is_replaced_and_only_ones_own_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("cases.db");
        let path = AdminSocket::beside(&database);
        let failed = |path: &Path| bind(path, &database).unwrap_err().kind();
        assert_eq!(failed(&path), io::ErrorKind::NotFound);
        fs::write(&database, "").unwrap();

        let first = bind(&path, &database).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(failed(&path), io::ErrorKind::AddrInUse);
        assert_eq!(failed(&database), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
        drop(first);
        assert!(!path.exists());

        // As a process leaves it that is killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let second = bind(&path, &database).unwrap();
        // Another took the place.
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
    fn a_database_is_told_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        fs::write(&one, "").unwrap();
        fs::hard_link(&one, &two).unwrap();
        let identity = |path: &Path| AdminSocket::identity(path).unwrap();
        assert_eq!(identity(&one), identity(&two));
        let own = Identity::of(&fs::metadata(&one).unwrap());
        assert!(own.is(&HeaderValue::from_str(&identity(&two)).unwrap()));
        fs::remove_file(&two).unwrap();
        fs::write(&two, "").unwrap();
        assert!(!own.is(&HeaderValue::from_str(&identity(&two)).unwrap()));
    }
}
