//! The errors that end a scan, in the form in which it keeps them.

use std::sync::Arc;

use super::answer::ScanError;
use crate::engine::ImportError;
use crate::error::Error;
use crate::ingest::FileFault;

/// The error that ended a scan. Later calls return it again.
#[derive(Clone)]
pub(super) enum Failed {
    Refused(Box<ImportError>),
    Search(Box<Error>),
    /// The host has to import the source with this name, because the scan cannot read it.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only for Parquet files"))]
    ImportNeeded(Arc<str>),
}

impl From<Failed> for ScanError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(refusal) => Self::Refused(*refusal),
            Failed::Search(error) => Self::Search(*error),
            Failed::ImportNeeded(name) => Self::ImportNeeded((*name).to_owned()),
        }
    }
}

impl From<Box<ImportError>> for Failed {
    fn from(refusal: Box<ImportError>) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Search(Box::new(error))
    }
}

/// The error that ended a call of the splitter.
pub(super) enum SplitError {
    Failed(Failed),
    /// An error of the file itself, such as a missing bracket.
    File(FileFault),
}

impl From<FileFault> for SplitError {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<Failed> for SplitError {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}
