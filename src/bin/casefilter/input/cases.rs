//! Reading case documents from files and from standard input.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::domain::RecordImport;
use casefilter::{
    Catalog, Engine, ErrorKind, Filter, Import, Mode, Refusal, Report, Request, Store, StoreError,
    StoreErrorKind, StoreOptions, is_store,
};

use crate::Status;
use crate::commands::hints::and_more;
use crate::commands::records::Importing;
use crate::input::admin::{Admin, Opened, SendFailure, Upload};
use crate::input::copy::Copy;
use crate::input::loaded::{Held, failed};
use crate::input::selection::{ONE_STDIN, Selection, is_stdin, unpaged};
use crate::input::served::Served;
use crate::input::unpack::{Packed, unpacked};
use crate::output::escape::{escape, one_line};
use crate::output::failure::{Failure, note, windows_path};
use crate::output::file::replace;
use crate::output::progress::{Progress, Watched, WatchedFile, Working};
use crate::output::table::{counted, thousands};

/// How much is read at once: what is still in the second cache when its cases are read.
const CHUNK_BYTES: usize = 1 << 16;

/// How many faults are listed on a terminal; elsewhere all that the report holds are.
pub(crate) const LISTED: usize = 20;

/// Files that cases, or records, are imported from.
#[derive(clap::Args)]
pub(crate) struct Files {
    /// Files of cases: .ndjson or .json, also with .gz or .zst behind, or .parquet; a database made by import;
    /// - for NDJSON on standard input
    #[arg(value_name = "CASES", required = true)]
    paths: Vec<PathBuf>,
}

/// Where cases come from.
#[derive(clap::Args)]
pub(crate) struct Cases {
    /// Input files: .ndjson (or .jsonl) or .json, optionally with .gz or .zst after it; .parquet; or a database made by `import`.
    /// `-` reads standard input
    ///
    /// A text file holds a case on each line; or cases over several lines, one after another, as `jq .` writes them; or JSON arrays
    /// and search answers, one after another, as `cat page*.json` gives them.
    #[arg(value_name = "CASES", required = true)]
    paths: Vec<PathBuf>,

    /// The database to read, in place of CASES
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    db: Option<PathBuf>,
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

impl Files {
    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Refuses names that cannot be cases, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check(&self.paths)
    }

    /// Hands over every file.
    pub(crate) fn read_all(&self, taker: &mut Taker<'_, '_, '_>) -> Result<(), Failure> {
        read_all(&self.paths, taker)
    }
}

impl Cases {
    /// Whether none are named.
    pub(crate) fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    fn files(&self) -> &[PathBuf] {
        self.db.as_ref().map_or(self.paths.as_slice(), std::slice::from_ref)
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().iter().map(PathBuf::as_path)
    }

    /// Whether cases are read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.paths.iter().any(|path| is_stdin(path))
    }

    /// Refuses names that cannot be cases, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check(&self.paths)
    }

    /// As [`check`](Self::check), and refuses to read both cases and filter from standard input.
    pub(crate) fn check_beside(&self, selection: &Selection) -> Result<(), Failure> {
        self.check()?;
        if self.uses_stdin() && selection.uses_stdin() {
            return Err(Failure::Usage(ONE_STDIN.to_owned()));
        }
        Ok(())
    }

    /// The database, if one is all there is.
    pub(crate) fn database(&self) -> Option<&Path> {
        match (&self.db, self.paths.as_slice()) {
            (Some(path), _) => Some(path),
            (None, [path]) if is_store(path) => Some(path),
            _ => None,
        }
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

    /// Imports every file: all of them, or none.
    fn load(&self, catalog: &Catalog, mode: Mode, documents: Documents) -> Result<Loaded, Failure> {
        self.check()?;
        let start = Instant::now();
        let engine = Engine::builder(catalog.clone())
            .documents(documents == Documents::Kept)
            .limits(unpaged())
            .build();
        let mut import = engine.import(mode);
        read_all(&self.paths, &mut Taker::Cases(&mut import, mode))?;
        let working = Working::on("building indexes");
        let report = import.commit().map_err(|refusal| refused(&refusal, mode))?;
        drop(working);
        Ok(Loaded { held: Held::Memory(Box::new(engine)), report, took: start.elapsed() })
    }

    /// Opens the database, if one is all there is, or a copy of it that the service made which has it open; otherwise imports every
    /// file.
    pub(crate) fn load_or_copy(
        &self,
        catalog: &Catalog,
        mode: Mode,
        documents: Documents,
        admin: &Admin,
    ) -> Result<Loaded, Failure> {
        let Some(path) = self.database() else {
            return self.load(catalog, mode, documents);
        };
        self.check()?;
        let start = Instant::now();
        let store = match admin.open(path, || open_to_read(path, catalog))? {
            Opened::Here(store) => store,
            Opened::There(service) => {
                let Copy { file, name } = Copy::make(path, service)?;
                let options = StoreOptions::default().limits(unpaged());
                let store = Store::open_file(file, &name, catalog.clone(), options);
                store.map_err(|error| failed(&error))?
            }
        };
        let held = Held::Database(Box::new(store));
        Ok(Loaded { held, report: Report::default(), took: start.elapsed() })
    }
}

/// Refuses names that cannot be cases, before anything is read.
fn check(paths: &[PathBuf]) -> Result<(), Failure> {
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage("`-` for standard input can be given only once".to_owned()));
    }
    paths.iter().try_for_each(|path| Packing::of(path).map(drop))
}

/// Hands over every file.
fn read_all(paths: &[PathBuf], taker: &mut Taker<'_, '_, '_>) -> Result<(), Failure> {
    let progress = Progress::of_bytes(total_bytes(paths));
    paths.iter().try_for_each(|path| read(path, taker, &progress))
}

/// The size of all files; none when one of them is a stream.
fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().try_fold(0_u64, |total, path| {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        // How much of a database is read is not told by its length.
        if is_store(path) { None } else { total.checked_add(file.len()) }
    })
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
        const ALLOWED: &str = "expected .ndjson or .json (or .jsonl), optionally with .gz or .zst after it, .parquet, a database, or - for standard input";
        if is_stdin(path) {
            return Ok(Self::Plain);
        }
        check_access(path)?;
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
            Some("ndjson" | "jsonl" | "json") => return Ok(packing),
            Some("parquet") if packing == Self::Plain => return Ok(Self::Parquet),
            Some("parquet") => {
                "found a compressed .parquet file, which compresses its columns itself".to_owned()
            }
            Some("db" | "redb" | "casefilter") if !path.exists() => "there is no such database".to_owned(),
            Some("db" | "redb" | "casefilter") => "found a file that is no database of cases".to_owned(),
            Some(other) => format!("found the file extension .{}", escape(other)),
            None if is_word_of_a_filter(&name) && !path.exists() => {
                let message = format!(
                    "`{}` is read as the name of a file: put the whole text of a filter in quotes, as in --where 'status = open'",
                    escape(&shown)
                );
                return Err(Failure::Usage(message));
            }
            None => "found no file extension".to_owned(),
        };
        if !path.exists()
            && let Some(advice) = windows_path(&shown)
        {
            return Err(Failure::Failed(format!(
                "cannot read {}: there is no such file{advice}",
                escape(&shown)
            )));
        }
        Err(Failure::Failed(format!("cannot read {}: {fault}; {ALLOWED}", escape(&shown))))
    }
}

/// Whether a word stands in filters, and is likely the name of no file.
fn is_word_of_a_filter(word: &str) -> bool {
    matches!(word, "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "and" | "or" | "not" | "is" | "all")
        || word.starts_with(['(', '='])
}

/// Says when a file cannot be opened, which would look like one of another kind.
fn check_access(path: &Path) -> Result<(), Failure> {
    let access = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => File::open(path).map(drop),
        // What is read once, as a pipe, is not opened before that.
        Ok(_) => Ok(()),
        // The message for a name without a file depends on its kind.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    access.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
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
        held.each_document(&all, |document| {
            let mut line = document.to_owned();
            one_line(&mut line);
            line.push('\n');
            progress.advance(line.len() as u64);
            taker.push(line.as_bytes())
        })?;
        return held.close();
    }
    each_chunk(path, &name, progress, |chunk| taker.push(chunk))
}

/// Opens a database that is read alone, beside others who read it; one that was not closed in order is mended first.
pub(crate) fn open_to_read(path: &Path, catalog: &Catalog) -> Result<Store, StoreError> {
    let options = StoreOptions::default().limits(unpaged());
    Store::open_read_only(path, catalog.clone(), options.clone()).or_else(|error| match error.kind() {
        // It is mended, and opened again to be read beside others.
        StoreErrorKind::Failed => {
            match Store::open(path, catalog.clone(), options.clone()).and_then(Store::close) {
                Ok(()) => Store::open_read_only(path, catalog.clone(), options),
                // A user who may not write it reads it as mended in memory.
                Err(other) if other.kind() == StoreErrorKind::Io => match File::open(path) {
                    Ok(file) => Store::open_file(file, &path.display().to_string(), catalog.clone(), options),
                    Err(_) => Err(error),
                },
                Err(other) => Err(other),
            }
        }
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
    let (file, by_name): (Box<dyn Read + '_>, _) = if is_stdin(path) {
        if io::stdin().is_terminal() {
            note("reading from the terminal, one document a line; end with Ctrl-D\n");
        }
        (Box::new(Watched::new(io::stdin().lock(), progress)), Packed::No)
    } else {
        let by_name = match Packing::of(path)? {
            Packing::Plain | Packing::Parquet | Packing::Database => Packed::No,
            Packing::Gzip => Packed::Gzip,
            Packing::Zstd => Packed::Zstd,
        };
        (Box::new(Watched::new(File::open(path).map_err(fail)?, progress)), by_name)
    };
    let mut source = unpacked(file, by_name, CHUNK_BYTES).map_err(fail)?;
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
    let is_parquet =
        Path::new(&refusal.source).extension().is_some_and(|name| name.eq_ignore_ascii_case("parquet"));
    let advice = match mode {
        _ if refusal.error.kind == ErrorKind::BadFile && !is_parquet => "",
        _ if refusal.line == 0 || refusal.error.kind == ErrorKind::BadFile => {
            "; a .parquet file has to be whole, and its columns of the types that the fields have; with --lenient, \
             columns that are no field may have any type, and are listed"
        }
        Mode::Strict => "; with --lenient such cases are left out, or kept without the field, and listed",
        Mode::Lenient => "; after this place it cannot be told where a case begins",
    };
    Failure::Refused(format!("{}\nnothing was read{advice}", line_of(refusal)))
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
    replace(path, &mut |mut file| file.write_all(&text))
}

/// Faults of one kind, in the order in which they were first met: the first of them, and how many more there are.
fn grouped(refusals: &[Refusal]) -> Vec<(&Refusal, u64)> {
    let mut groups: Vec<(&Refusal, u64)> = Vec::new();
    let mut places: HashMap<(&str, ErrorKind, bool, String), usize> = HashMap::new();
    for refusal in refusals {
        // Which element of an array it is does not make another kind.
        let mut path = String::new();
        for (number, part) in refusal.error.path.split('[').enumerate() {
            path.push_str(if number == 0 {
                part
            } else {
                part.split_once(']').map_or(part, |(_, rest)| rest)
            });
        }
        let key = (refusal.source.as_str(), refusal.error.kind, refusal.kept, path);
        // What is wrong with a source as a whole stands for itself.
        let place = if refusal.line == 0 { groups.len() } else { *places.entry(key).or_insert(groups.len()) };
        match groups.get_mut(place) {
            Some((_, more)) => *more = more.saturating_add(1),
            None => groups.push((refusal, 0)),
        }
    }
    groups
}

/// Says on standard error what a lenient import left out, faults of one kind in one line, and gives the status that tells of it.
///
/// On a terminal the first 20 lines are listed, elsewhere all.
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
    let groups = grouped(&report.refusals);
    for (refusal, more) in groups.iter().take(listed) {
        let what = match refusal.kept {
            true if refusal.line == 0 => "column left out",
            true => "kept",
            false => "left out",
        };
        text.push_str(&format!("  {what}: {}{}\n", line_of(refusal), and_more(*more)));
    }
    let untold =
        groups.iter().skip(listed).map(|(_, more)| more.saturating_add(1)).fold(0, u64::saturating_add);
    let more = untold.saturating_add(report.unlisted);
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
        assert_eq!(of("a.jsonl"), Some(Packing::Plain));
        assert_eq!(of("a.jsonl.zst"), Some(Packing::Zstd));
        assert_eq!(of("cases.ndjson.zst"), Some(Packing::Zstd));
        assert_eq!(of("cases.Parquet"), Some(Packing::Parquet));
        for name in ["cases", "cases.gz", "cases.csv", "cases.parquet.gz", "x.json/cases", ".."] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
