//! The permissions of app tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::catalog::ParseNameError;

/// A permission of an app token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Permission {
    /// The permission to search cases.
    ViewCases,
    /// The permission to read the status of an applicant's steps.
    ViewApplicants,
    /// The permission to see the preview of a profile, and to copy the profile, given a share token for it.
    CreateApplicants,
    /// The permission to read AML cases.
    ViewAmlScreening,
    /// The permission to change the data that was extracted from documents.
    ChangePersonalData,
    /// The permission to see reviewer names and vendor data in AML cases.
    ViewPersonalData,
    /// The permission to search cases as they were at an earlier moment. The token also needs the permission to search cases.
    ViewHistory,
    /// The permission to keep standing filters, and to read their events. Like [`ViewCases`](Self::ViewCases), it shows the ids of
    /// the cases that the client's criteria select.
    ///
    /// There is no separate permission for reading events. A token reads only the events of its own filters, so each of two
    /// separate permissions would be useless without the other.
    ManageFilters,
    /// The permission to create share tokens for the profiles of applicants. A client that receives a share token can see the
    /// preview of the profile and copy it.
    ShareApplicants,
    /// The permission to review the hits of AML cases.
    ReviewAmlHits,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 10] = [
        Self::ViewCases,
        Self::ViewApplicants,
        Self::CreateApplicants,
        Self::ViewAmlScreening,
        Self::ChangePersonalData,
        Self::ViewPersonalData,
        Self::ViewHistory,
        Self::ManageFilters,
        Self::ShareApplicants,
        Self::ReviewAmlHits,
    ];

    /// Returns the name that token files use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ViewCases => "viewCases",
            Self::ViewApplicants => "viewApplicants",
            Self::CreateApplicants => "createApplicants",
            Self::ViewAmlScreening => "viewAmlScreening",
            Self::ChangePersonalData => "changePersonalData",
            Self::ViewPersonalData => "viewPersonalData",
            Self::ViewHistory => "viewHistory",
            Self::ManageFilters => "manageFilters",
            Self::ShareApplicants => "shareApplicants",
            Self::ReviewAmlHits => "reviewAmlHits",
        }
    }

    /// Returns true if the permission is about applicants. The `fields` and `filter` of a token do not restrict such a permission.
    pub(super) fn is_for_applicants(self) -> bool {
        match self {
            Self::ViewCases | Self::ViewPersonalData | Self::ViewHistory | Self::ManageFilters => false,
            Self::ViewApplicants
            | Self::CreateApplicants
            | Self::ViewAmlScreening
            | Self::ChangePersonalData
            | Self::ShareApplicants
            | Self::ReviewAmlHits => true,
        }
    }
}

impl FromStr for Permission {
    type Err = ParseNameError;

    /// Parses a [name](Permission::name).
    ///
    /// ```
    /// use casefilter::service::Permission;
    /// assert_eq!("viewCases".parse(), Ok(Permission::ViewCases));
    /// assert!("viewcases".parse::<Permission>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        ParseNameError::find(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
