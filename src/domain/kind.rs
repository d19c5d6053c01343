//! The kinds of records.

use super::records::{AML_CASES, APPLICANTS, DOCUMENTS, LEVELS};
use super::schema::Schema;
use super::schemas;

/// The kind of a record. Cases are not records.
///
/// An import has records of one kind. Import the records that a record refers to before it: levels, then applicants, then documents and AML
/// cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Levels with their steps.
    Levels,
    /// Applicants, individuals and companies.
    Applicants,
    /// Documents with their images.
    Documents,
    /// AML cases with their hits.
    AmlCases,
}

impl RecordKind {
    /// Returns the name of this kind in the store.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Levels => LEVELS,
            Self::Applicants => APPLICANTS,
            Self::Documents => DOCUMENTS,
            Self::AmlCases => AML_CASES,
        }
    }

    pub(super) fn schema(self) -> &'static Schema {
        match self {
            Self::Levels => &schemas::LEVEL,
            Self::Applicants => &schemas::APPLICANT,
            Self::Documents => &schemas::DOCUMENT,
            Self::AmlCases => &schemas::AML_CASE,
        }
    }
}
