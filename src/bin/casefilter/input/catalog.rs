//! The argument that names a catalogue, and the catalogues of databases.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use casefilter::{Catalog, Errors, Store};

use crate::input::admin::{Admin, Opened};
use crate::output::diagnostics::{Fault, Source};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed};

/// The maximum number of bytes of a catalogue file that are read. It is greater than the limit on the length, so that the error can
/// state the length.
const MOST_FILE_BYTES: u64 = 16 << 20;

/// The argument that names a catalogue.
#[derive(Clone, clap::Args)]
pub(crate) struct CatalogFile {
    /// The catalogue: a TOML or JSON file that describes the fields of the documents, or a database that keeps one
    /// [default: that of the database, else the fields of cases]
    ///
    /// The guide has a chapter on catalogue files: docs/guide/catalogues.md. `casefilter fields --catalog FILE` shows what a
    /// file means.
    #[arg(
        long = "catalog",
        alias = "catalogue",
        value_name = "FILE",
        env = "CASEFILTER_CATALOG",
        hide_env = true
    )]
    catalog: Option<PathBuf>,
}

impl CatalogFile {
    /// Returns the catalogue of the file. Without a file, returns the catalogue of cases.
    pub(crate) fn or_cases(&self) -> Result<Catalog, Failure> {
        self.catalog.as_deref().map_or_else(|| Ok(Catalog::cases()), read)
    }

    /// Returns the catalogue of the file, if a file was given.
    #[cfg(feature = "service")]
    pub(crate) fn given(&self) -> Result<Option<Catalog>, Failure> {
        self.catalog.as_deref().map(read).transpose()
    }

    /// Returns the catalogue of the file. Without a file, returns the catalogue in the database. No other process may have the
    /// database open.
    #[cfg(feature = "service")]
    pub(crate) fn or_kept(&self, database: &Path) -> Result<Catalog, Failure> {
        match &self.catalog {
            Some(file) => read(file),
            None => Store::catalog_of(database).map_err(|error| failed(&error)),
        }
    }

    /// Returns the catalogue of the file. Without a file, returns the catalogue in the database. Without a file and a database,
    /// returns the catalogue of cases.
    pub(crate) fn or_stored(&self, database: Option<&Path>, admin: &Admin) -> Result<Catalog, Failure> {
        match (&self.catalog, database) {
            (Some(file), _) => read(file),
            (None, Some(database)) => stored(database, admin),
            (None, None) => Ok(Catalog::cases()),
        }
    }
}

/// Returns the catalogue of a database, from its file or from the service that has it open.
pub(crate) fn stored(database: &Path, admin: &Admin) -> Result<Catalog, Failure> {
    match admin.open(database, || Store::catalog_of(database))? {
        Opened::Local(catalog) => Ok(catalog),
        Opened::Served(mut service) => service.catalog(),
    }
}

/// Reads a catalogue file, or the catalogue of a database.
pub(crate) fn read(path: &Path) -> Result<Catalog, Failure> {
    let name = path.display().to_string();
    if Store::exists(path) {
        return Store::catalog_of(path).map_err(|error| failed(&error));
    }
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_FILE_BYTES).read_to_end(&mut text));
    read.map_err(|error| without_file(path, &error))?;
    let is_json = match path.extension().map(std::ffi::OsStr::to_ascii_lowercase) {
        Some(ending) if ending == "json" => true,
        Some(ending) if ending == "toml" => false,
        Some(ending) if ["ndjson", "jsonl", "parquet", "gz", "zst"].iter().any(|other| ending == *other) => {
            let message =
                "--catalog takes a description of the fields, in a .toml or .json file, not documents";
            return Err(Failure::Usage(format!("{}: {message}", escape(&name))));
        }
        _ => text.trim_ascii_start().first() == Some(&b'{'),
    };
    let catalog = if is_json { Catalog::from_json(&text) } else { Catalog::from_toml(&text) };
    catalog.map_err(|errors| fault(errors, &name, text))
}

fn fault(errors: Errors, name: &str, text: Vec<u8>) -> Failure {
    // An excerpt of text in another encoding would be unreadable.
    let source = Source::file(name, if str::from_utf8(&text).is_ok() { text } else { Vec::new() });
    let sources = errors.iter().map(|_| source.clone()).collect();
    Failure::BadFilter(Fault { errors, sources }.render())
}

fn without_file(path: &Path, error: &io::Error) -> Failure {
    let name = path.display().to_string();
    if error.kind() == io::ErrorKind::NotFound && name == "cases" {
        return Failure::Usage(
            "--catalog takes the name of a file: leave it out for the fields of cases".to_owned(),
        );
    }
    Failure::io("cannot read the catalogue", &name, error)
}
