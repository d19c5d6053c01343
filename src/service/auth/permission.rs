//! What a token may be used for.

use serde::{Deserialize, Serialize};

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Permission {
    /// Searching cases.
    ViewCases,
    /// Reading the status of an applicant's steps.
    ViewApplicants,
    /// Previewing a profile by its share token.
    CreateApplicants,
    /// Reading AML cases.
    ViewAmlScreening,
    /// Changing extracted info.
    ChangePersonalData,
    /// Seeing who reviewed, and what vendors know, in AML cases.
    ViewPersonalData,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 6] = [
        Self::ViewCases,
        Self::ViewApplicants,
        Self::CreateApplicants,
        Self::ViewAmlScreening,
        Self::ChangePersonalData,
        Self::ViewPersonalData,
    ];

    /// The name that token files have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ViewCases => "viewCases",
            Self::ViewApplicants => "viewApplicants",
            Self::CreateApplicants => "createApplicants",
            Self::ViewAmlScreening => "viewAmlScreening",
            Self::ChangePersonalData => "changePersonalData",
            Self::ViewPersonalData => "viewPersonalData",
        }
    }

    /// Whether it lets a token do something with applicants, whom neither fields nor filter of the token hold.
    pub(super) fn is_for_applicants(self) -> bool {
        match self {
            Self::ViewCases | Self::ViewPersonalData => false,
            Self::ViewApplicants
            | Self::CreateApplicants
            | Self::ViewAmlScreening
            | Self::ChangePersonalData => true,
        }
    }
}
