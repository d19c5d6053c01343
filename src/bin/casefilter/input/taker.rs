//! The targets of an import: an engine, a database, or the service that has the database open.

#[cfg(feature = "arrow")]
use std::fs::File;

#[cfg(feature = "service")]
use casefilter::domain::RecordImport;
use casefilter::{Error, Import, ImportError, ImportMode};

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

/// The maximum number of empty lines that [`ServiceTaker`] sends at once. They replace lines of the file that have no document.
const EMPTY_LINES: usize = 1 << 16;

/// A target of an import, or a scan. It receives the files one by one.
pub(crate) trait Taker {
    /// Returns true if the files contain records instead of cases.
    fn takes_records(&self) -> bool;

    /// Returns true if this target possibly reads only a part of a Parquet file.
    fn skips_bytes_of_parquet(&self) -> bool {
        false
    }

    /// Notes that the current file was read to its end.
    fn end_source(&mut self) {}

    /// Begins the next input file. `name` is its name. The file contains JSON or CSV, or is a database. The documents of a database
    /// are passed to [`push`](Self::push) as NDJSON.
    fn begin_source(&mut self, name: &str) -> Result<(), Failure>;

    /// Adds the next bytes of the file that [`begin_source`](Self::begin_source) began.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure>;

    /// Adds the document of the CSV row that begins at a line of the file, or the error of this row.
    fn document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), Failure>;

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
    upload: &'t mut Upload,
    takes_records: bool,
    mode: ImportMode,
    /// The name of the file, and the line of its next byte, for documents that are added one by one.
    name: String,
    line: u64,
    /// The errors of documents that a lenient import did not send. The report of the service does not contain these errors.
    left_out: Vec<ImportError>,
}

impl<'t> ServiceTaker<'t> {
    pub(crate) fn new(upload: &'t mut Upload, takes_records: bool, mode: ImportMode) -> Self {
        Self { upload, takes_records, mode, name: String::new(), line: 1, left_out: Vec::new() }
    }

    /// Returns the errors that the report of the service does not contain.
    pub(crate) fn left_out(self) -> Vec<ImportError> {
        self.left_out
    }
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

    fn document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), Failure> {
        self.import.push_document(line, document).map_err(|refusal| case_refused(&refusal, self.mode))
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

    fn document(&mut self, _line: u64, _document: Result<&[u8], Error>) -> Result<(), Failure> {
        Err(no_records("a .csv file"))
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
        name.clone_into(&mut self.name);
        self.line = 1;
        self.upload.begin(name, false)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.upload.push(bytes)
    }

    /// Sends the document as a line of NDJSON. Empty lines before it make its line number the same as in the file. An error is not
    /// sent: in strict mode it is returned, otherwise it is kept for [`left_out`](ServiceTaker::left_out).
    fn document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), Failure> {
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                let refusal = ImportError::new(&self.name, line, error);
                if self.mode == ImportMode::Strict {
                    return Err(case_refused(&refusal, self.mode));
                }
                self.left_out.push(refusal);
                return Ok(());
            }
        };
        let mut before = usize::try_from(line.saturating_sub(self.line)).unwrap_or(usize::MAX);
        while let Some(rest) = before.checked_sub(EMPTY_LINES) {
            self.upload.push(&[b'\n'; EMPTY_LINES])?;
            before = rest;
        }
        let mut text = vec![b'\n'; before];
        text.extend_from_slice(document);
        text.push(b'\n');
        self.line = line.saturating_add(1);
        self.upload.push(&text)
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
