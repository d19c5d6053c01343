//! The table of the fields of the Case resource that filters can test. They come from the interface document, which specifies the
//! HTTP interface of the service.

use super::field::Field;
use crate::value::FieldType::{self, Boolean, Number, String, Timestamp};

/// The path and type of each field. `[]` marks a key whose value is an array.
const TABLE: &[(&str, FieldType)] = &[
    ("id", String),
    ("name", String),
    ("applicantReference.applicantId", String),
    ("applicantReference.fullName", String),
    ("createdByType", String),
    ("groupByType", String),
    ("createdByRule.id", String),
    ("createdByRule.name", String),
    ("createdByRule.title", String),
    ("createdByRule.revision", Number),
    ("createdByOfficer", String),
    ("createdByWorkflowRef.id", String),
    ("createdByWorkflowRef.title", String),
    ("createdAt", Timestamp),
    ("updatedAt", Timestamp),
    ("totalAmountInDefaultCurrency", Number),
    ("clientId", String),
    ("review.reviewId", String),
    ("review.attemptId", String),
    ("review.attemptCnt", Number),
    ("review.createDate", Timestamp),
    ("review.reviewStatus", String),
    ("applicantInfo.firstName", String),
    ("applicantInfo.middleName", String),
    ("applicantInfo.lastName", String),
    ("applicantInfo.firstNameEn", String),
    ("applicantInfo.middleNameEn", String),
    ("applicantInfo.lastNameEn", String),
    ("applicantInfo.dob", Timestamp),
    ("applicantInfo.country", String),
    ("applicantInfo.applicantTags[]", String),
    ("blueprintReference.name", String),
    ("blueprintReference.blueprintId", String),
    ("caseReview.status", String),
    ("caseReview.stage", String),
    ("caseReview.assignee", String),
    ("caseReview.startDate", Timestamp),
    ("caseReview.checklistState.checklist[].name", String),
    ("caseReview.checklistState.checklist[].checked", Boolean),
    ("amlCases[].amlCaseId", String),
    ("priority", String),
    ("sourceKeys[]", String),
    ("tags[]", String),
];

const CREATED_BY_TYPES: [&str; 5] = ["byOfficer", "byRule", "byWorkflow", "byOngoingAmlHit", "byApi"];
const STATUSES: [&str; 5] =
    ["open", "awaitingUser", "blocked", "resolvedFalsePositive", "resolvedPotentialThreat"];
const PRIORITIES: [&str; 3] = ["low", "medium", "high"];

pub(super) fn fields() -> impl Iterator<Item = Field> {
    TABLE.iter().map(|(path, kind)| {
        let field = Field::new(path, *kind);
        match *path {
            "applicantReference.applicantId" => field.key(),
            "createdByType" => field.with_known(CREATED_BY_TYPES),
            "caseReview.status" => field.with_known(STATUSES).with_alias("status"),
            "priority" => field.with_known(PRIORITIES).with_default("medium"),
            "applicantInfo.dob" => field.unix_millis(),
            _ => field,
        }
    })
}
