//! Files that commands write: whole, or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use casefilter::{Order, is_store};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::args::is_stdin;
use crate::escape::{EscapedJson, escape};
use crate::failure::Failure;
use crate::interrupt::Unfinished;
use crate::parquet::ParquetFile;

/// How much is gathered before it is written.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// What everybody may do with a new file, as far as the umask lets them.
pub(crate) const USUAL_MODE: u32 = 0o666;
/// What is for its owner alone.
pub(crate) const PRIVATE_MODE: u32 = 0o600;

/// Writes lines.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Whether the name of an output stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses `-` for what has to be a file; `why` says that.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    match is_stdout(path) {
        true => Err(Failure::Usage(format!("`-` is no file: {why}"))),
        false => Ok(()),
    }
}

/// The failure to write an output.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        _ if is_stdout(path) => Failure::stdout(error),
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::io("cannot write", &path.display().to_string(), error),
    }
}

/// Writes lines into a file, packed as its name says, or as they are to standard output where the name is `-`; see [`replace`].
/// The cases come in `order`, if there is one.
pub(crate) fn to_file(path: &Path, order: Option<&Order>, fill: Fill<'_>) -> Result<(), Failure> {
    if is_stdout(path) {
        return to_stdout(fill).map_err(|error| cannot_write(path, &error));
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    replace(path, USUAL_MODE, &mut |file| pack(&extension.to_string_lossy(), order, fill, file))
}

fn to_stdout(fill: Fill<'_>) -> io::Result<()> {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, stdout.lock());
    if is_terminal {
        fill(&mut EscapedJson(&mut out))?;
    } else {
        fill(&mut out)?;
    }
    out.flush()
}

/// Writes a file under a temporary name first, so that nobody ever sees half of it, and it stays as it was when that fails.
///
/// A file that is there keeps its mode, and its owner and group where this process may give it to them; a new one has `mode`, as far as the
/// umask lets it. Behind a symbolic link, what it points to is written.
pub(crate) fn replace(
    path: &Path,
    mode: u32,
    write: &mut dyn FnMut(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    let fail = |error: io::Error| cannot_write(path, &error);
    if is_store(path) {
        let path = path.display().to_string();
        return Err(Failure::Usage(format!(
            "{} is a database, which nothing is written over",
            escape(&path)
        )));
    }
    let found = fs::metadata(path).ok();
    if found.as_ref().is_some_and(Metadata::is_dir) {
        return Err(fail(io::ErrorKind::IsADirectory.into()));
    }
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        // A device or a pipe cannot be replaced.
        let mut file = OpenOptions::new().write(true).open(path).map_err(fail)?;
        return write(&mut file).map_err(fail);
    }
    let target = behind_links(path).map_err(fail)?;
    let mut unfinished = None;
    // Nobody may read what nobody could read before.
    let mode = if found.is_some() { PRIVATE_MODE } else { mode };
    let mut file = tempfile::Builder::new()
        .prefix(".casefilter-")
        .suffix(".part")
        .make_in(folder_of(&target), |path| {
            unfinished = Some(Unfinished::new(path.to_owned())?);
            create(path, mode)
        })
        .map_err(fail)?;
    if let Some(found) = &found {
        keep_rights(file.as_file(), found).map_err(fail)?;
    }
    write(file.as_file_mut()).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(&target).map_err(|error| fail(error.error))?;
    Ok(())
}

/// The folder in which a file lies.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What a path names when every link at its end is followed, though it be not there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder_of(&path).join(fs::read_link(&path)?),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Makes a file that is not there yet, with this mode as far as the umask lets it.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Gives a file the mode, and where that may be the owner and the group, of the one that it replaces.
#[cfg(unix)]
fn keep_rights(file: &File, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let own = file.metadata()?;
    let mut mode = found.mode() & 0o777;
    // Only root may give a file away; its owner may give it to a group of theirs.
    if own.uid() != found.uid() {
        let _ = fchown(file, Some(found.uid()), None);
    }
    if own.gid() != found.gid() && fchown(file, None, Some(found.gid())).is_err() {
        // What one group could do is not for another that others do not share it with.
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

/// Whether two names are of one file, also by links of either kind, or would be, were it there.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (behind_links(one), behind_links(other)) else { return false };
    if let (Ok(one), Ok(other)) = (fs::metadata(&one), fs::metadata(&other))
        && is_same_inode(&one, &other)
    {
        return true;
    }
    let whole = |path: &Path| Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
    whole(&one).is_some_and(|one| whole(&other) == Some(one))
}

#[cfg(unix)]
fn is_same_inode(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_inode(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

/// Refuses a report that would be written over something that the run reads or fills.
pub(crate) fn check_report<'p>(
    report: Option<&Path>,
    used: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(report) = report else { return Ok(()) };
    refuse_stdout(report, "--report goes into one, since standard output has the answer")?;
    // Nothing is lost where a terminal or a pipe is written to.
    if fs::metadata(report).is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    for used in used {
        let (file, name) = match is_stdin(used) {
            true => (Path::new("/dev/stdin"), "standard input".to_owned()),
            false => (used, used.display().to_string()),
        };
        if is_same(report, file) {
            let (report, name) = (report.display().to_string(), escape(&name).into_owned());
            let message =
                format!("--report {} would be written over {name}, which this run uses", escape(&report));
            return Err(Failure::Usage(message));
        }
    }
    Ok(())
}

fn pack(
    extension: &str,
    order: Option<&Order>,
    fill: Fill<'_>,
    out: &mut (impl Write + Send),
) -> io::Result<()> {
    match extension {
        "gz" => {
            let mut packed = GzEncoder::new(BufWriter::new(out), Compression::default());
            fill(&mut packed)?;
            packed.finish()?.flush()
        }
        "zst" => {
            let mut packed = zstd::Encoder::new(BufWriter::new(out), 3)?;
            fill(&mut packed)?;
            packed.finish()?.flush()
        }
        "parquet" => {
            let mut file = ParquetFile::new(out, order)?;
            fill(&mut file)?;
            file.finish()
        }
        _ => {
            let mut out = BufWriter::with_capacity(CHUNK_BYTES, out);
            fill(&mut out)?;
            out.flush()
        }
    }
}
