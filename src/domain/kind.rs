//! The kinds of records: levels, applicants, documents and AML cases, with the table and the schema of each.

use super::records::{AML_CASES, APPLICANTS, DOCUMENTS, LEVELS};
use super::schema::Schema;
use super::schemas;

/// The kind of a record. Cases are not records.
///
/// Each import has records of one kind. Import a record after the records that it refers to: first levels, then applicants, then
/// documents and AML cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Verification levels. A level contains its steps.
    Levels,
    /// Applicants: individuals and companies.
    Applicants,
    /// Documents, with their images.
    Documents,
    /// AML cases, with their hits.
    AmlCases,
}

impl RecordKind {
    /// Returns the name of this kind of record in the store.
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
