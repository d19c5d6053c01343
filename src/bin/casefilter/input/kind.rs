//! The kinds of things that are imported and exported.

use casefilter::Mode;
#[cfg(feature = "service")]
use casefilter::domain::RecordKind;
use casefilter::sample::SampleKind;

use crate::output::failure::Failure;
use crate::output::part::Part;

/// What can be imported and exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Cases
    Cases,
    /// Levels with their steps
    Levels,
    /// Applicants, individuals and companies
    Applicants,
    /// Documents with their images
    Documents,
    /// AML cases with their hits
    AmlCases,
}

impl Kind {
    /// Returns what a service calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Levels => "levels",
            Self::Applicants => "applicants",
            Self::Documents => "documents",
            Self::AmlCases => "aml-cases",
        }
    }

    /// Returns the route of a service to import it by.
    pub(crate) fn import_route(self, mode: Mode) -> String {
        let query = if mode == Mode::Lenient { "?mode=lenient" } else { "" };
        format!("/imports/{}{query}", self.name())
    }

    /// Returns the sample records of this kind; none for cases.
    pub(crate) fn samples(self) -> Option<SampleKind> {
        match self {
            Self::Cases => None,
            Self::Levels => Some(SampleKind::Levels),
            Self::Applicants => Some(SampleKind::Applicants),
            Self::Documents => Some(SampleKind::Documents),
            Self::AmlCases => Some(SampleKind::AmlCases),
        }
    }

    /// Refuses records in a build without the service.
    pub(crate) fn check(self) -> Result<(), Failure> {
        match self {
            Self::Cases => Ok(()),
            _ => Part::Service.require(&format!("records of the kind `{}`", self.name())),
        }
    }

    /// Returns the kind of records, and one of them in words; none for cases.
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
