//! Writes output files, and compresses them if their names end in `.gz` or `.zst`. A file is either written completely or stays
//! unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use casefilter::{AtomicFile, Catalog, Order, Store};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::dash::is_stdout;
use crate::output::escape::{EscapedJson, escape};
use crate::output::failure::Failure;
use crate::output::interrupt;
#[cfg(feature = "arrow")]
use crate::output::parquet::ParquetFile;
#[cfg(not(feature = "arrow"))]
use crate::output::part::Part;
use crate::output::stdout::spooled_stdout;

/// The size of the write buffer of a file, in bytes.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// The columns of a Parquet file.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "without Parquet there are only lines"))]
pub(crate) struct Columns<'c> {
    pub(crate) catalog: &'c Catalog,
    /// The sort order in which the documents are written, if there is one. The Parquet file records it.
    pub(crate) order: Option<&'c Order>,
}

/// A function that writes lines.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Returns the failure for an error that occurred while writing an output file.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        _ if is_stdout(path) => Failure::stdout(error),
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::io("cannot write", &path.display().to_string(), error),
    }
}

/// Writes lines to a file, in the format that its name determines; see [`replace`]. If the name is `-`, writes the lines to
/// standard output. They are unchanged, except on a terminal, where they are escaped. `columns` contains the columns of a Parquet
/// file.
pub(crate) fn to_file(path: &Path, columns: Columns<'_>, fill: Fill<'_>) -> Result<(), Failure> {
    if is_stdout(path) {
        return to_stdout(io::stdout(), fill).map_err(|error| cannot_write(path, &error));
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    replace(path, &mut |mut file| pack(&extension.to_string_lossy(), columns, fill, &mut file))
}

/// Does the same as [`to_file`], for lines that are read from a database. `fill` closes the database when it has read all lines.
/// Some of these lines are possibly written to standard output only after that.
pub(crate) fn from_database(
    database: &Path,
    path: &Path,
    columns: Columns<'_>,
    fill: Fill<'_>,
) -> Result<(), Failure> {
    if is_stdout(path) {
        let written = spooled_stdout(database).and_then(|out| to_stdout(out, fill));
        return written.map_err(|error| cannot_write(path, &error));
    }
    to_file(path, columns, fill)
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

/// Writes a file that gets its name when it is complete; see [`AtomicFile`]. If writing fails, an existing file stays unchanged.
///
/// An existing file keeps its mode. It also keeps its owner and group if this process may set them. Only its owner can read a new
/// file. If the path is a symbolic link, the target of the link is replaced. Devices and pipes are written directly. Databases are
/// rejected.
pub(crate) fn replace(path: &Path, write: &mut dyn FnMut(&File) -> io::Result<()>) -> Result<(), Failure> {
    let fail = |error: io::Error| cannot_write(path, &error);
    if Store::exists(path) {
        let path = path.display().to_string();
        return Err(Failure::Usage(format!("{} is a database, which is never overwritten", escape(&path))));
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        // A device or a pipe cannot be replaced, so it is opened and written.
        let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
        return write(&file).map_err(fail);
    }
    interrupt::watch().map_err(fail)?;
    let file = AtomicFile::replace(path).map_err(fail)?;
    write(file.file()).map_err(fail)?;
    file.finish().map_err(fail)
}

/// Creates a file for a secret. Only its owner can read it.
#[cfg(feature = "service")]
pub(crate) fn create_private(path: &Path) -> Result<AtomicFile, Failure> {
    let fail = |error: io::Error| cannot_write(path, &error);
    interrupt::watch().map_err(fail)?;
    AtomicFile::create_new(path).map_err(fail)
}

/// Writes the contents of a file that [`create_private`] created, and gives the file its name.
#[cfg(feature = "service")]
pub(crate) fn finish_private(path: &Path, new: AtomicFile, text: &str) -> Result<(), Failure> {
    let mut file = new.file();
    file.write_all(text.as_bytes()).and_then(|()| new.finish()).map_err(|error| cannot_write(path, &error))
}

fn pack(
    extension: &str,
    columns: Columns<'_>,
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
        #[cfg(not(feature = "arrow"))]
        "parquet" => {
            let _ = columns;
            Err(io::Error::other(Part::Parquet.missing("Parquet")))
        }
        #[cfg(feature = "arrow")]
        "parquet" => {
            let mut file = ParquetFile::new(out, columns.catalog, columns.order)?;
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
