//! Files that commands write: whole, or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use casefilter::{AtomicFile, Order, is_store};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::input::selection::is_stdin;
use crate::output::escape::{EscapedJson, escape};
use crate::output::failure::Failure;
use crate::output::interrupt;
use crate::output::parquet::ParquetFile;
use crate::output::stdout::unhurried;

/// How much is gathered before it is written.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

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
        return to_stdout(io::stdout(), fill).map_err(|error| cannot_write(path, &error));
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    replace(path, &mut |mut file| pack(&extension.to_string_lossy(), order, fill, &mut file))
}

/// As [`to_file`], what is read from a database. `fill` closes it at its end, which on standard output comes before all is written.
pub(crate) fn from_database(
    database: &Path,
    path: &Path,
    order: Option<&Order>,
    fill: Fill<'_>,
) -> Result<(), Failure> {
    if is_stdout(path) {
        let written = unhurried(database).and_then(|out| to_stdout(out, fill));
        return written.map_err(|error| cannot_write(path, &error));
    }
    to_file(path, order, fill)
}

fn to_stdout(out: impl Write, fill: Fill<'_>) -> io::Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, out);
    if is_terminal {
        fill(&mut EscapedJson(&mut out))?;
    } else {
        fill(&mut out)?;
    }
    out.flush()
}

/// Writes a file that appears under its name whole, or not at all; see [`AtomicFile`]. It stays as it was when that fails.
///
/// A file that is there keeps its mode, and its owner and group where this process may give it to them; a new one is for its owner
/// alone. Of a symbolic link, the target is written.
pub(crate) fn replace(path: &Path, write: &mut dyn FnMut(&File) -> io::Result<()>) -> Result<(), Failure> {
    let fail = |error: io::Error| cannot_write(path, &error);
    if is_store(path) {
        let path = path.display().to_string();
        return Err(Failure::Usage(format!(
            "{} is a database, which nothing is written over",
            escape(&path)
        )));
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        // A device or a pipe cannot be replaced.
        let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
        return write(&file).map_err(fail);
    }
    interrupt::watch().map_err(fail)?;
    let file = AtomicFile::replace(path).map_err(fail)?;
    write(file.file()).map_err(fail)?;
    file.finish().map_err(fail)
}

/// Begins a new file that only its owner can read, for a secret that is made afterwards.
pub(crate) fn create_private(path: &Path) -> Result<AtomicFile, Failure> {
    let fail = |error: io::Error| cannot_write(path, &error);
    interrupt::watch().map_err(fail)?;
    AtomicFile::create_new(path).map_err(fail)
}

/// Writes a file that [`create_private`] began, and gives it its name.
pub(crate) fn finish_private(path: &Path, new: AtomicFile, text: &str) -> Result<(), Failure> {
    let mut file = new.file();
    file.write_all(text.as_bytes()).and_then(|()| new.finish()).map_err(|error| cannot_write(path, &error))
}

/// Makes a file without a name, beside another one if that can be, or else where temporary files lie. Only its owner can read it, and
/// the system removes it when the process ends.
pub(crate) fn unnamed_beside(other: Option<&Path>) -> io::Result<File> {
    let beside = other.map(|other| tempfile::tempfile_in(folder_of(other)));
    // There may be room beside the other file only, or permission elsewhere only.
    beside.unwrap_or_else(tempfile::tempfile).or_else(|_| tempfile::tempfile())
}

/// The folder in which a file lies.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Resolves the symbolic links at the end of a path, also if there is no file at its end.
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
