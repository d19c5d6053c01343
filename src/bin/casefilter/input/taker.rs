//! The targets of an import: an engine, a database, or the service that has the database open.

#[cfg(feature = "arrow")]
use std::fs::File;

#[cfg(feature = "service")]
use casefilter::domain::RecordImport;
use casefilter::{Import, ImportMode};

#[cfg(feature = "arrow")]
use crate::input::service::SendFailure;
use crate::input::service::Upload;
use crate::output::escape::escape;
use crate::output::failure::Failure;
#[cfg(feature = "arrow")]
use crate::output::progress::{Progress, Watched};
#[cfg(feature = "service")]
use crate::output::refusals::Importing;
use crate::output::refusals::case_refused;
#[cfg(feature = "arrow")]
use crate::output::watched_file::WatchedFile;

/// A target of an import. It receives the files one by one.
pub(crate) trait Taker {
    /// Returns true if the files contain records instead of cases.
    fn takes_records(&self) -> bool;

    /// Starts a new text file (JSON or NDJSON) with this name.
    fn begin_source(&mut self, name: &str) -> Result<(), Failure>;

    /// Adds the next bytes of the text file.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure>;

    /// Adds a Parquet file.
    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, file: File, progress: &Progress) -> Result<(), Failure>;
}

/// The target for cases: an engine or a database.
pub(crate) struct CaseTaker<'t, 'e> {
    pub(crate) import: &'t mut Import<'e>,
    pub(crate) mode: ImportMode,
}

/// The target for records: a database.
#[cfg(feature = "service")]
pub(crate) struct RecordTaker<'t, 'e, 's> {
    pub(crate) import: &'t mut RecordImport<'e, 's>,
    pub(crate) mode: ImportMode,
}

/// The target for cases or records: a database that a service has open.
pub(crate) struct ServiceTaker<'t> {
    pub(crate) upload: &'t mut Upload,
    pub(crate) takes_records: bool,
}

impl Taker for CaseTaker<'_, '_> {
    fn takes_records(&self) -> bool {
        false
    }

    fn begin_source(&mut self, name: &str) -> Result<(), Failure> {
        self.import.begin_source(name).map_err(|refusal| case_refused(&refusal, self.mode))
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.import.push(bytes).map_err(|refusal| case_refused(&refusal, self.mode))
    }

    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, file: File, progress: &Progress) -> Result<(), Failure> {
        let file = WatchedFile::new(file, progress);
        self.import.parquet(name, file).map_err(|refusal| case_refused(&refusal, self.mode))
    }
}

#[cfg(feature = "service")]
impl Taker for RecordTaker<'_, '_, '_> {
    fn takes_records(&self) -> bool {
        true
    }

    fn begin_source(&mut self, name: &str) -> Result<(), Failure> {
        self.import.source(name).map_err(|error| Importing::Records(self.mode).failed(&error))
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.import.push(bytes).map_err(|error| Importing::Records(self.mode).failed(&error))
    }

    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, _file: File, _progress: &Progress) -> Result<(), Failure> {
        Err(no_records(name))
    }
}

impl Taker for ServiceTaker<'_> {
    fn takes_records(&self) -> bool {
        self.takes_records
    }

    fn begin_source(&mut self, name: &str) -> Result<(), Failure> {
        self.upload.begin(name, false)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.upload.push(bytes)
    }

    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, file: File, progress: &Progress) -> Result<(), Failure> {
        self.upload.parquet(name, Watched::new(file, progress)).map_err(|failure| match failure {
            SendFailure::Told(failure) => failure,
            SendFailure::Read(error) => Failure::io("cannot read", name, &error),
        })
    }
}

/// Returns the failure for a file of a format that cannot contain records.
pub(crate) fn no_records(name: &str) -> Failure {
    Failure::Failed(format!("cannot read {}: records come as NDJSON or a JSON array", escape(name)))
}
