//! Defines the arguments that name the source of cases, and loads the cases.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::{AsOf, Catalog, Engine, ImportMode, ImportReport, Store, StoreOptions};

use crate::input::admin::{Admin, Opened};
use crate::input::copy::Copy;
use crate::input::csv_cases::CsvArgs;
use crate::input::database::open_to_read;
use crate::input::file_format::FileFormat;
use crate::input::load_reason::LoadReason;
use crate::input::loaded::LoadedCases;
use crate::input::reading::read_all;
use crate::input::selection::Selection;
use crate::input::served::Served;
use crate::input::service::Service;
use crate::input::streams::{Streams, is_stream};
use crate::input::syntax::unpaged;
use crate::input::taker::{CaseTaker, Taker};
use crate::output::dash::{ONE_STDIN, is_stdin};
use crate::output::ending::check_database;
use crate::output::failure::{Failure, failed};
use crate::output::progress::Working;
use crate::output::refusals::case_refused;

/// The files of an import.
#[derive(clap::Args)]
pub(crate) struct Files {
    /// Input files: .ndjson (or .jsonl), .json or .csv, optionally followed by .gz or .zst; .parquet; or a database made by
    /// `import`. `-` reads standard input
    #[arg(value_name = "CASES", required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,
}

/// The source of the cases: files, standard input or a database.
#[derive(clap::Args)]
pub(crate) struct Cases {
    /// Input files: .ndjson (or .jsonl), .json or .csv, optionally followed by .gz or .zst; .parquet; or a database made by
    /// `import`. `-` reads standard input
    ///
    /// A text file contains one case per line, or cases over several lines, as `jq .` writes them. Or it contains JSON arrays and
    /// search answers, one after another, as `cat page*.json` prints them. The header line of a .csv file names the fields.
    #[arg(value_name = "CASES", required = true)]
    paths: Vec<PathBuf>,

    /// The database to read, instead of CASES
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    db: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,

    #[arg(skip)]
    streams: Streams,
}

/// Determines whether documents are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Documents {
    Kept,
    /// Documents are not kept, because none of them is printed. Loading then takes less time and much less memory.
    Forgotten,
}

/// The loaded cases, the report of their import, and the time that loading took.
pub(crate) struct Loaded {
    pub(crate) cases: LoadedCases,
    pub(crate) report: ImportReport,
    pub(crate) took: Duration,
}

impl Loaded {
    /// If a moment is given, makes all later searches find the cases as they were at that moment.
    pub(crate) fn at_moment(self, moment: Option<AsOf>) -> Result<Self, Failure> {
        let start = Instant::now();
        let cases = self.cases.at_moment(moment)?;
        Ok(Self { cases, took: self.took.saturating_add(start.elapsed()), ..self })
    }
}

impl Files {
    /// Returns the first database among the files.
    pub(crate) fn first_database(&self) -> Option<&Path> {
        self.paths().find(|path| Store::exists(path))
    }

    /// Returns the paths of the files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Rejects names that cannot be files of cases. Does not read the files.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check(&self.paths, &self.csv)
    }

    /// Reads every file. `catalog` determines the fields of CSV files.
    pub(crate) fn read_all(&self, catalog: &Catalog, taker: &mut dyn Taker) -> Result<(), Failure> {
        read_all(&self.paths, &self.csv.columns(catalog)?, &Streams::default(), taker)
    }
}

impl Cases {
    /// Returns true if the arguments name neither files nor a database.
    pub(crate) fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    fn files(&self) -> &[PathBuf] {
        self.db.as_ref().map_or(self.paths.as_slice(), std::slice::from_ref)
    }

    /// Returns the paths of the files, or of the database.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().iter().map(PathBuf::as_path)
    }

    /// Returns true if cases are read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.paths.iter().any(|path| is_stdin(path))
    }

    /// Rejects names that cannot be files of cases. Does not read the files.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.db {
            Some(path) => check_database(path, "; a file of cases is given without --db"),
            None => check(&self.paths, &self.csv),
        }
    }

    /// Does the same as [`check`](Self::check). Also rejects arguments by which both the cases and the filter are read from
    /// standard input.
    pub(crate) fn check_beside(&self, selection: &Selection) -> Result<(), Failure> {
        self.check()?;
        if self.uses_stdin() && selection.uses_stdin() {
            return Err(Failure::Usage(ONE_STDIN.to_owned()));
        }
        Ok(())
    }

    /// Returns the reason why the cases have to be loaded. Returns `None` if a request can be answered while the files are read. In
    /// this case, streams among the files will be copied when they are read, because a scan possibly reads its files twice.
    pub(crate) fn load_reason(&self) -> Option<LoadReason> {
        if self.database().is_some() || self.paths.is_empty() {
            return Some(LoadReason::Database);
        }
        let are_kept = self.paths.iter().filter(|path| is_stream(path)).all(|path| self.streams.keep(path));
        (!are_kept).then_some(LoadReason::Stream)
    }

    /// Reads every file. `catalog` determines the fields of CSV files.
    pub(crate) fn read_all(&self, catalog: &Catalog, taker: &mut dyn Taker) -> Result<(), Failure> {
        read_all(&self.paths, &self.csv.columns(catalog)?, &self.streams, taker)
    }

    /// Returns the path of the database if the arguments name a database and no other file.
    pub(crate) fn database(&self) -> Option<&Path> {
        match (&self.db, self.paths.as_slice()) {
            (Some(path), _) => Some(path),
            (None, [path]) if Store::exists(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the first database among the files. Without --catalog, the catalogue of this database is used.
    pub(crate) fn first_database(&self) -> Option<&Path> {
        self.files().iter().map(PathBuf::as_path).find(|path| Store::exists(path))
    }

    /// Opens the database if the arguments name a database. If a service has it open, connects to the service instead. If the
    /// arguments name files instead, imports them into memory. Returns the error of the first file that cannot be imported.
    pub(crate) fn load_or_ask(
        &self,
        catalog: &Catalog,
        mode: ImportMode,
        documents: Documents,
        admin: &Admin,
    ) -> Result<Loaded, Failure> {
        self.load_or(catalog, mode, documents, admin, |_, service| {
            let is_kept = documents == Documents::Kept;
            Ok(LoadedCases::Service(Box::new(Served::new(service, catalog, is_kept)?)))
        })
    }

    /// Opens the database if the arguments name a database. If a service has it open, opens a copy that the service sends. If the
    /// arguments name files instead, imports them into memory. Returns the error of the first file that cannot be imported.
    pub(crate) fn load_or_copy(
        &self,
        catalog: &Catalog,
        mode: ImportMode,
        documents: Documents,
        admin: &Admin,
    ) -> Result<Loaded, Failure> {
        self.load_or(catalog, mode, documents, admin, |path, service| {
            let Copy { file, name } = Copy::make(path, service)?;
            let options = StoreOptions::default().limits(unpaged());
            let store = Store::open_file(file, &name, catalog.clone(), options);
            Ok(LoadedCases::Database(Box::new(store.map_err(|error| failed(&error))?)))
        })
    }

    /// Opens the database if the arguments name a database. If a service has it open, calls `served` instead. If the arguments name
    /// files instead, imports them into memory. Returns the error of the first file that cannot be imported.
    fn load_or(
        &self,
        catalog: &Catalog,
        mode: ImportMode,
        documents: Documents,
        admin: &Admin,
        served: impl FnOnce(&Path, Service) -> Result<LoadedCases, Failure>,
    ) -> Result<Loaded, Failure> {
        let Some(path) = self.database() else { return self.load_files(catalog, mode, documents) };
        self.check()?;
        let start = Instant::now();
        let cases = match admin.open(path, || open_to_read(path, catalog))? {
            Opened::Local(store) => LoadedCases::Database(Box::new(store)),
            Opened::Served(service) => served(path, service)?,
        };
        Ok(Loaded { cases, report: ImportReport::default(), took: start.elapsed() })
    }

    /// Imports all files into memory. If one file fails, returns its error.
    pub(crate) fn load_files(
        &self,
        catalog: &Catalog,
        mode: ImportMode,
        documents: Documents,
    ) -> Result<Loaded, Failure> {
        self.check()?;
        let start = Instant::now();
        let builder = Engine::builder(catalog.clone()).limits(unpaged());
        let engine = match documents {
            Documents::Kept => builder.build(),
            Documents::Forgotten => builder.without_documents().build(),
        };
        let mut import = engine.import(mode);
        self.read_all(catalog, &mut CaseTaker { import: &mut import, mode })?;
        let working = Working::on("building indexes");
        let report = import.commit().map_err(|refusal| case_refused(&refusal, mode))?;
        drop(working);
        Ok(Loaded { cases: LoadedCases::Memory(Box::new(engine)), report, took: start.elapsed() })
    }
}

/// Rejects names that cannot be files of cases. Does not read the files.
fn check(paths: &[PathBuf], csv: &CsvArgs) -> Result<(), Failure> {
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage("`-` for standard input can be given only once".to_owned()));
    }
    let mut has_csv = false;
    for path in paths {
        has_csv |= matches!(FileFormat::of(path)?, FileFormat::Csv(_));
    }
    if csv.is_given() && !has_csv {
        return Err(Failure::Usage("--map is for .csv files: expected one among CASES".to_owned()));
    }
    Ok(())
}
