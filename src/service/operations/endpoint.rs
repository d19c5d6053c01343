//! The operations: where each is reached, and what it takes to call it.

use axum::routing::MethodFilter;

use crate::service::auth::tokens::Permission;

/// An operation of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Operation {
    /// 1: cases by filters.
    Search,
    /// 1: the fields that filters may name.
    Filters,
    /// 2: required documents status.
    StepStatus,
    /// 3: preview of a profile by its share token.
    Preview,
    /// 4: AML case.
    AmlCase,
    /// 5: update of extracted info.
    UpdateInfo,
}

impl Operation {
    /// All of them, in the order of their numbers as `usize`.
    pub(in crate::service) const ALL: [Self; 6] =
        [Self::Search, Self::Filters, Self::StepStatus, Self::Preview, Self::AmlCase, Self::UpdateInfo];

    /// What logs and metrics call it; in the OpenAPI document it is the `operationId`.
    pub(in crate::service) fn name(self) -> &'static str {
        match self {
            Self::Search => "casesByFilter",
            Self::Filters => "caseFilters",
            Self::StepStatus => "requiredIdDocsStatus",
            Self::Preview => "previewProfile",
            Self::AmlCase => "amlCase",
            Self::UpdateInfo => "updateInfo",
        }
    }

    pub(in crate::service) fn path(self) -> &'static str {
        match self {
            Self::Search => "/resources/api/caseManagement/v2/cases/byFilter",
            Self::Filters => "/resources/api/caseManagement/v2/cases/filters",
            Self::StepStatus => "/resources/applicants/{applicantId}/requiredIdDocsStatus",
            Self::Preview => "/resources/applicants/-/import/preview",
            Self::AmlCase => "/resources/api/applicants/{applicantId}/amlCase",
            Self::UpdateInfo => "/resources/applicants/{applicantId}/info",
        }
    }

    /// Whether its path names an applicant.
    pub(in crate::service) fn is_of_an_applicant(self) -> bool {
        self.path().contains("{applicantId}")
    }

    /// What a path of it has for the applicant, as it is written there.
    pub(in crate::service) fn written_applicant(self, path: &str) -> &str {
        let mut segments = self.path().split('/').zip(path.split('/'));
        segments.find(|(own, _)| *own == "{applicantId}").map_or("", |(_, written)| written)
    }

    pub(in crate::service) fn method(self) -> MethodFilter {
        match self {
            Self::Search => MethodFilter::POST,
            Self::UpdateInfo => MethodFilter::PATCH,
            Self::Filters | Self::StepStatus | Self::Preview | Self::AmlCase => MethodFilter::GET,
        }
    }

    /// What a token needs for it.
    pub(in crate::service) fn permission(self) -> Permission {
        match self {
            Self::Search | Self::Filters => Permission::ViewCases,
            Self::StepStatus => Permission::ViewApplicants,
            Self::Preview => Permission::CreateApplicants,
            Self::AmlCase => Permission::ViewAmlScreening,
            Self::UpdateInfo => Permission::ChangePersonalData,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_operation_is_its_place() {
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
        }
    }

    #[test]
    fn the_applicant_is_read_off_a_path_as_it_is_written() {
        let written = |operation: Operation, path| operation.written_applicant(path);
        assert_eq!(written(Operation::UpdateInfo, "/resources/applicants/%ff/info"), "%ff");
        assert_eq!(written(Operation::AmlCase, "/resources/api/applicants/a%20b/amlCase"), "a%20b");
        assert_eq!(written(Operation::AmlCase, "/resources/api"), "");
        assert_eq!(written(Operation::Search, "/resources/api/caseManagement"), "");
    }
}
