//! Reads case documents and records from files and from standard input.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use casefilter::{Filter, SearchRequest, Store};

use crate::input::csv_cases::CsvColumns;
use crate::input::database::open_to_read;
use crate::input::file_format::FileFormat;
use crate::input::loaded::LoadedCases;
use crate::input::streams::Streams;
use crate::input::taker::{Taker, no_records};
use crate::input::unpack::{Packed, unpacked};
use crate::output::dash::is_stdin;
use crate::output::escape::{escape, one_line};
use crate::output::failure::{Failure, failed, note};
use crate::output::progress::{Progress, Watched};

/// The size of a read, in bytes. With this size, a chunk is still in the processor's second-level cache when its cases are parsed.
const CHUNK_BYTES: usize = 1 << 16;

/// Reads all files, and passes their contents to `taker`.
pub(super) fn read_all(
    paths: &[PathBuf],
    columns: &CsvColumns<'_>,
    streams: &Streams,
    taker: &mut dyn Taker,
) -> Result<(), Failure> {
    let progress = Progress::of_bytes(total_bytes(paths, taker));
    for path in paths {
        read(path, columns, streams, taker, &progress)?;
        taker.end_source();
    }
    columns.check_found()
}

/// Returns the number of bytes that will be read. Returns `None` if the number is not known: a file is a stream, a database, or a
/// Parquet file of which only a part is read. Also returns `None` if a file cannot be read.
fn total_bytes(paths: &[PathBuf], taker: &dyn Taker) -> Option<u64> {
    paths.iter().try_fold(0_u64, |total, path| {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let is_part_read = match FileFormat::of(path).ok()? {
            FileFormat::Database => true,
            FileFormat::Parquet => taker.skips_bytes_of_parquet(),
            FileFormat::Json(_) | FileFormat::Csv(_) => false,
        };
        if is_part_read { None } else { total.checked_add(file.len()) }
    })
}

fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads one file, and passes its contents to `taker`.
fn read(
    path: &Path,
    columns: &CsvColumns<'_>,
    streams: &Streams,
    taker: &mut dyn Taker,
    progress: &Progress,
) -> Result<(), Failure> {
    let name = name_of(path);
    let fail = |error: io::Error| Failure::io("cannot read", &name, &error);
    progress.say(format!("reading {}", escape(&name)));
    let format = FileFormat::of(path)?;
    if taker.takes_records() && !matches!(format, FileFormat::Json(_)) {
        return Err(no_records(&name));
    }
    if format == FileFormat::Parquet {
        let file = File::open(path).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            let message = format!(
                "cannot read {}: it must be a regular file, because Parquet needs random access",
                escape(&name)
            );
            return Err(Failure::Failed(message));
        }
        #[cfg(feature = "arrow")]
        return taker.parquet(&name, file, progress);
    }
    taker.begin_source(&name)?;
    if format == FileFormat::Database {
        // Only the documents are read, so the catalogue of the database may differ from that of the import.
        let catalog = Store::catalog_of(path).map_err(|error| failed(&error))?;
        let store = open_to_read(path, &catalog);
        let cases = LoadedCases::Database(Box::new(store.map_err(|error| failed(&error))?));
        let all = SearchRequest::new(Filter::all(cases.catalog())).with_limit(u64::MAX);
        cases.each_document(&all, |document| {
            let mut line = document.to_owned();
            one_line(&mut line);
            line.push('\n');
            progress.advance(line.len() as u64);
            taker.push(line.as_bytes())
        })?;
        return cases.close();
    }
    let mut source = text_of(path, (format, &name), streams, progress)?;
    if let FileFormat::Csv(_) = format {
        return columns.read(&name, source, taker);
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => taker.push(chunk.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
}

/// Returns a reader of the decompressed text of a file.
fn text_of<'p>(
    path: &Path,
    (format, name): (FileFormat, &str),
    streams: &'p Streams,
    progress: &'p Progress,
) -> Result<Box<dyn Read + 'p>, Failure> {
    let fail = |error: io::Error| Failure::io("cannot read", name, &error);
    let by_name = match format {
        FileFormat::Json(packed) | FileFormat::Csv(packed) => packed,
        FileFormat::Parquet | FileFormat::Database => Packed::No,
    };
    let file = streams.open(path, || {
        if !is_stdin(path) {
            return Ok(Box::new(File::open(path)?) as Box<dyn Read>);
        }
        if io::stdin().is_terminal() {
            note("reading from the terminal, one document a line; end with Ctrl-D\n");
        }
        Ok(Box::new(io::stdin().lock()))
    });
    let watched = Watched::new(file.map_err(fail)?, progress);
    unpacked(watched, by_name, CHUNK_BYTES).map_err(fail)
}
