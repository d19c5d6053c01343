//! The kinds of data that can be imported and exported: cases, and the kinds of records.

use casefilter::ImportMode;
#[cfg(feature = "service")]
use casefilter::domain::RecordKind;
use casefilter::sample::SampleKind;

use crate::output::failure::Failure;
use crate::output::part::Part;

/// A kind of data that can be imported and exported: cases, or one kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Cases
    Cases,
    /// Levels with their steps
    Levels,
    /// Applicants: both individuals and companies
    Applicants,
    /// Documents with their images
    Documents,
    /// AML cases with their hits
    AmlCases,
}

impl Kind {
    /// Returns the name of the kind in the routes of a service.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Levels => "levels",
            Self::Applicants => "applicants",
            Self::Documents => "documents",
            Self::AmlCases => "aml-cases",
        }
    }

    /// Returns the route of a service that imports data of this kind.
    pub(crate) fn import_route(self, mode: ImportMode) -> String {
        let query = if mode == ImportMode::Lenient { "?mode=lenient" } else { "" };
        format!("/imports/{}{query}", self.name())
    }

    /// Returns the kind of sample records. Returns `None` for cases.
    pub(crate) fn samples(self) -> Option<SampleKind> {
        match self {
            Self::Cases => None,
            Self::Levels => Some(SampleKind::Levels),
            Self::Applicants => Some(SampleKind::Applicants),
            Self::Documents => Some(SampleKind::Documents),
            Self::AmlCases => Some(SampleKind::AmlCases),
        }
    }

    /// Returns an error for kinds of records if this build does not have the feature `service`.
    pub(crate) fn check(self) -> Result<(), Failure> {
        match self {
            Self::Cases => Ok(()),
            _ => Part::Service.require(&format!("records of the kind `{}`", self.name())),
        }
    }

    /// Returns the kind of records, and the noun for one record. Returns `None` for cases.
    #[cfg(feature = "service")]
    pub(crate) fn records(self) -> Option<(RecordKind, &'static str)> {
        match self {
            Self::Cases => None,
            Self::Levels => Some((RecordKind::Levels, "level")),
            Self::Applicants => Some((RecordKind::Applicants, "applicant")),
            Self::Documents => Some((RecordKind::Documents, "document")),
            Self::AmlCases => Some((RecordKind::AmlCases, "AML case")),
        }
    }
}
