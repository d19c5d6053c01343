//! Reading case documents from files and from standard input.

use std::fs::{self, File};
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::domain::RecordImport;
use casefilter::{
    Catalog, Engine, ErrorKind, Filter, Import, Mode, Refusal, Report, Request, Store, StoreError,
    StoreErrorKind, StoreOptions, is_store,
};
use flate2::read::MultiGzDecoder;

use crate::Status;
use crate::admin::{Admin, Opened, SendFailure, Upload};
use crate::args::{ONE_STDIN, Selection, is_stdin};
use crate::copy::Copy;
use crate::escape::{escape, one_line};
use crate::failure::{Failure, note};
use crate::file::cannot_write;
use crate::held::{Held, failed};
use crate::progress::{Progress, Watched, WatchedFile};
use crate::records::Importing;
use crate::served::Served;
use crate::table::{counted, thousands};

/// How much is read at once: what is still in the second cache when its cases are read.
const CHUNK_BYTES: usize = 1 << 16;

/// How many faults are listed on a terminal; elsewhere all that the report holds are.
pub(crate) const LISTED: usize = 20;

/// Where cases come from.
#[derive(clap::Args)]
pub(crate) struct Cases {
    /// Files of cases: .ndjson or .json, also with .gz or .zst behind, or .parquet; a database made by import;
    /// - for NDJSON on standard input
    #[arg(value_name = "CASES", required = true)]
    paths: Vec<PathBuf>,
}

/// What becomes of documents that are read into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Documents {
    Kept,
    /// Nobody is going to see one: without them, reading takes less time and much less memory.
    Forgotten,
}

/// The cases of the command line.
pub(crate) struct Loaded {
    pub(crate) held: Held,
    pub(crate) report: Report,
    pub(crate) took: Duration,
}

impl Cases {
    /// Whether none are named.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Whether cases are read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.paths.iter().any(|path| is_stdin(path))
    }

    /// Refuses names that cannot be cases, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(Failure::Usage("`-` for standard input can be given only once".to_owned()));
        }
        self.paths.iter().try_for_each(|path| Packing::of(path).map(drop))
    }

    /// As [`check`](Self::check), and refuses to read both cases and filter from standard input.
    pub(crate) fn check_beside(&self, selection: &Selection) -> Result<(), Failure> {
        self.check()?;
        if self.uses_stdin() && selection.uses_stdin() {
            return Err(Failure::Usage(ONE_STDIN.to_owned()));
        }
        Ok(())
    }

    /// Opens the database, if one is all there is, or finds the service that has it open; otherwise imports every file: all of them,
    /// or none.
    pub(crate) fn load_or_ask(
        &self,
        catalog: &Catalog,
        mode: Mode,
        documents: Documents,
        admin: &Admin,
    ) -> Result<Loaded, Failure> {
        let Some(path) = self.database() else { return self.load(catalog, mode, documents) };
        self.check()?;
        let start = Instant::now();
        let held = match admin.open(path, || open_to_read(path, catalog))? {
            Opened::Here(store) => Held::Database(Box::new(store)),
            Opened::There(service) => Held::Service(Box::new(Served::new(service, catalog)?)),
        };
        Ok(Loaded { held, report: Report::default(), took: start.elapsed() })
    }

    /// The database, if one is all there is.
    fn database(&self) -> Option<&Path> {
        match self.paths.as_slice() {
            [path] if is_store(path) => Some(path),
            _ => None,
        }
    }

    /// Imports every file: all of them, or none.
    fn load(&self, catalog: &Catalog, mode: Mode, documents: Documents) -> Result<Loaded, Failure> {
        self.check()?;
        let start = Instant::now();
        let engine = Engine::builder(catalog.clone()).documents(documents == Documents::Kept).build();
        let mut import = engine.import(mode);
        self.read_all(&mut Taker::Cases(&mut import, mode))?;
        let report = import.commit().map_err(|refusal| refused(&refusal, mode))?;
        Ok(Loaded { held: Held::Memory(Box::new(engine)), report, took: start.elapsed() })
    }

    /// Hands over every file.
    pub(crate) fn read_all(&self, taker: &mut Taker<'_, '_, '_>) -> Result<(), Failure> {
        let progress = Progress::of_bytes(self.total_bytes());
        self.paths.iter().try_for_each(|path| read(path, taker, &progress))
    }

    /// Opens the database, if one is all there is, or a copy of it that the service made which has it open; otherwise imports every
    /// file.
    pub(crate) fn load_or_copy(
        &self,
        catalog: &Catalog,
        documents: Documents,
        admin: &Admin,
    ) -> Result<(Loaded, Option<Copy>), Failure> {
        let Some(path) = self.database() else {
            return Ok((self.load(catalog, Mode::Strict, documents)?, None));
        };
        self.check()?;
        let start = Instant::now();
        let (store, copy) = match admin.open(path, || open_to_read(path, catalog))? {
            Opened::Here(store) => (store, None),
            Opened::There(service) => {
                let copy = Copy::make(path, service)?;
                (open_to_read(copy.path(), catalog).map_err(|error| failed(&error))?, Some(copy))
            }
        };
        let held = Held::Database(Box::new(store));
        Ok((Loaded { held, report: Report::default(), took: start.elapsed() }, copy))
    }

    /// The size of all files; none when one of them is a stream.
    fn total_bytes(&self) -> Option<u64> {
        self.paths.iter().try_fold(0_u64, |total, path| {
            let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            total.checked_add(file.len())
        })
    }
}

/// How cases lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    Parquet,
    Database,
}

impl Packing {
    /// Tells it by the file's name.
    fn of(path: &Path) -> Result<Self, Failure> {
        const ALLOWED: &str = "expected .ndjson or .json, also with .gz or .zst behind, .parquet, a database, or - for NDJSON on standard input";
        if is_stdin(path) {
            return Ok(Self::Plain);
        }
        if is_store(path) {
            return Ok(Self::Database);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let shown = path.display().to_string();
        let (inner, packing) = match name.rsplit_once('.') {
            Some((inner, "gz")) => (inner, Self::Gzip),
            Some((inner, "zst")) => (inner, Self::Zstd),
            _ => (name.as_str(), Self::Plain),
        };
        let fault = match inner.rsplit_once('.').map(|(_, extension)| extension) {
            Some("ndjson" | "json") => return Ok(packing),
            Some("parquet") if packing == Self::Plain => return Ok(Self::Parquet),
            Some("parquet") => {
                "found a compressed .parquet file, which compresses its columns itself".to_owned()
            }
            Some("db" | "redb" | "casefilter") if !path.exists() => "there is no such database".to_owned(),
            Some("db" | "redb" | "casefilter") => "found a file that is no database of cases".to_owned(),
            Some(other) => format!("found the file extension .{}", escape(other)),
            None => "found no file extension".to_owned(),
        };
        Err(Failure::Failed(format!("cannot read {}: {fault}; {ALLOWED}", escape(&shown))))
    }
}

fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// What takes in the sources of an import.
pub(crate) enum Taker<'t, 'e, 's> {
    /// Cases, into memory or a database.
    Cases(&'t mut Import<'e>, Mode),
    /// Records, into a database.
    Records(&'t mut RecordImport<'e, 's>, Mode),
    /// Either, into a database that a service has; whether they are records.
    Service(&'t mut Upload, bool),
}

impl Taker<'_, '_, '_> {
    fn takes_records(&self) -> bool {
        matches!(self, Self::Records(..) | Self::Service(_, true))
    }

    fn source(&mut self, name: &str) -> Result<(), Failure> {
        match self {
            Self::Cases(import, mode) => import.source(name).map_err(|refusal| refused(&refusal, *mode)),
            Self::Records(import, mode) => {
                import.source(name).map_err(|error| Importing::Records(*mode).failed(&error))
            }
            Self::Service(upload, _) => upload.begin(name, false),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Cases(import, mode) => import.push(bytes).map_err(|refusal| refused(&refusal, *mode)),
            Self::Records(import, mode) => {
                import.push(bytes).map_err(|error| Importing::Records(*mode).failed(&error))
            }
            Self::Service(upload, _) => upload.push(bytes),
        }
    }

    fn parquet(&mut self, name: &str, file: File, progress: &Progress) -> Result<(), Failure> {
        match self {
            Self::Cases(import, mode) => import
                .parquet(name, WatchedFile::new(file, progress))
                .map_err(|refusal| refused(&refusal, *mode)),
            Self::Records(..) => Err(no_records(name)),
            Self::Service(upload, _) => {
                upload.parquet(name, Watched::new(file, progress)).map_err(|failure| match failure {
                    SendFailure::Told(failure) => failure,
                    SendFailure::Read(error) => Failure::io("cannot read", name, &error),
                })
            }
        }
    }
}

fn no_records(name: &str) -> Failure {
    Failure::Failed(format!("cannot read {}: records come as NDJSON or a JSON array", escape(name)))
}

/// Hands over one file.
fn read(path: &Path, taker: &mut Taker<'_, '_, '_>, progress: &Progress) -> Result<(), Failure> {
    let name = name_of(path);
    let fail = |error: io::Error| Failure::io("cannot read", &name, &error);
    progress.say(format!("reading {}", escape(&name)));
    let packing = Packing::of(path)?;
    if taker.takes_records() && matches!(packing, Packing::Parquet | Packing::Database) {
        return Err(no_records(&name));
    }
    if packing == Packing::Parquet {
        let file = File::open(path).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            let message = format!(
                "cannot read {}: Parquet has to be a file, which is read here and there",
                escape(&name)
            );
            return Err(Failure::Failed(message));
        }
        return taker.parquet(&name, file, progress);
    }
    taker.source(&name)?;
    if packing == Packing::Database {
        let store = open_to_read(path, &Catalog::cases());
        let held = Held::Database(Box::new(store.map_err(|error| failed(&error))?));
        let all = Request::new(Filter::all(held.catalog())).limit(u64::MAX);
        return held.each_document(&all, |document| {
            let mut line = document.to_owned();
            one_line(&mut line);
            line.push('\n');
            taker.push(line.as_bytes())
        });
    }
    each_chunk(path, &name, progress, |chunk| taker.push(chunk))
}

/// Opens a database that is read alone, beside others who read it; one that was not closed in order is mended first.
pub(crate) fn open_to_read(path: &Path, catalog: &Catalog) -> Result<Store, StoreError> {
    let options = StoreOptions::default();
    Store::open_read_only(path, catalog.clone(), options.clone()).or_else(|error| match error.kind() {
        // Or somebody has it open to write, which this one says as well.
        StoreErrorKind::InUse => Store::open(path, catalog.clone(), options),
        // Who may not write it is told that it has to be mended.
        StoreErrorKind::Failed => Store::open(path, catalog.clone(), options)
            .map_err(|other| if other.kind() == StoreErrorKind::Io { error } else { other }),
        _ => Err(error),
    })
}

/// Hands over the text of a file, unpacked, a piece after the other.
fn each_chunk(
    path: &Path,
    name: &str,
    progress: &Progress,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::io("cannot read", name, &error);
    let mut source: Box<dyn Read + '_> = if is_stdin(path) {
        if io::stdin().is_terminal() {
            note("reading from the terminal, one document a line; end with Ctrl-D\n");
        }
        Box::new(Watched::new(io::stdin().lock(), progress))
    } else {
        let file = Watched::new(File::open(path).map_err(fail)?, progress);
        match Packing::of(path)? {
            Packing::Plain | Packing::Parquet | Packing::Database => Box::new(file),
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, file))),
            Packing::Zstd => Box::new(zstd::Decoder::new(file).map_err(fail)?),
        }
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => take(chunk.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
}

/// The failure of an import.
pub(crate) fn refused(refusal: &Refusal, mode: Mode) -> Failure {
    let advice = match mode {
        _ if refusal.line == 0 || refusal.error.kind == ErrorKind::BadFile => {
            "a .parquet file has to be whole, and its columns of the types that the fields have; with --lenient, \
             columns that are no field may have any type, and are listed"
        }
        Mode::Strict => "with --lenient such cases are left out, or kept without the field, and listed",
        Mode::Lenient => "behind this place it cannot be told where a case begins",
    };
    Failure::Refused(format!("{}\nnothing was read; {advice}", line_of(refusal)))
}

/// A refusal on one line: file, line, path, what was found and expected.
pub(crate) fn line_of(refusal: &Refusal) -> String {
    let Refusal { source, line, error, .. } = refusal;
    let path = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path) };
    let line = if *line == 0 { String::new() } else { format!("{line}:") };
    escape(&format!("{source}:{line} {path}{} [{}]", error.message(), error.kind.code())).into_owned()
}

/// Writes what a lenient import left out to a file.
pub(crate) fn write_report(path: &Path, report: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(report).map_err(|error| Failure::Failed(error.to_string()))?;
    text.push(b'\n');
    fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

/// Says on standard error what a lenient import left out, and gives the status that tells of it.
///
/// On a terminal the first 20 are listed, elsewhere all that the report holds.
pub(crate) fn tell_left_out(report: &Report) -> Status {
    if report.skipped == 0 && report.incomplete == 0 && report.refusals.is_empty() {
        return Status::Fine;
    }
    let mut text = format!(
        "{} left out, {} kept with a field counted as absent\n",
        counted(report.skipped, "case"),
        thousands(report.incomplete)
    );
    let listed = if io::stderr().is_terminal() { LISTED } else { usize::MAX };
    for refusal in report.refusals.iter().take(listed) {
        let what = match refusal.kept {
            true if refusal.line == 0 => "column left out",
            true => "kept",
            false => "left out",
        };
        text.push_str(&format!("  {what}: {}\n", line_of(refusal)));
    }
    let more = (report.refusals.len().saturating_sub(listed) as u64).saturating_add(report.unlisted);
    if more > 0 {
        let hint = if listed == LISTED { "; 2> FILE writes more of them" } else { "" };
        text.push_str(&format!("  … and {} more{hint}\n", thousands(more)));
    }
    note(text);
    Status::LeftOut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_packing() {
        let of = |name: &str| Packing::of(Path::new(name)).ok();
        assert_eq!(of("-"), Some(Packing::Plain));
        assert_eq!(of("a/b.ndjson"), Some(Packing::Plain));
        assert_eq!(of("a.b.JSON.GZ"), Some(Packing::Gzip));
        assert_eq!(of("cases.ndjson.zst"), Some(Packing::Zstd));
        assert_eq!(of("cases.Parquet"), Some(Packing::Parquet));
        for name in ["cases", "cases.gz", "cases.csv", "cases.parquet.gz", "x.json/cases", ".."] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
