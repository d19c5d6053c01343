//! The JSON types of sample records, and of the members of a case from which records are created.

use serde::{Deserialize, Serialize};

/// The members of a case from which records are created.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Case {
    pub(super) applicant_reference: Reference,
    pub(super) applicant_info: Info,
    pub(super) client_id: String,
    pub(super) created_at: String,
    #[serde(default)]
    pub(super) aml_cases: Vec<AmlReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) applicant_id: String,
    pub(super) full_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AmlReference {
    pub(super) aml_case_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info {
    pub(super) first_name: String,
    pub(super) last_name: String,
    pub(super) first_name_en: String,
    pub(super) last_name_en: String,
    /// The date of birth in Unix milliseconds, as a string of decimal digits.
    pub(super) dob: Option<String>,
    pub(super) country: Option<String>,
}

/// The `info` object of an applicant. Its members are in the order of the JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApplicantInfo<'c> {
    pub(super) first_name: &'c str,
    pub(super) first_name_en: &'c str,
    pub(super) last_name: &'c str,
    pub(super) last_name_en: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dob: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) country: Option<&'c str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Applicant<'c> {
    pub(super) id: &'c str,
    pub(super) created_at: &'c str,
    pub(super) client_id: &'c str,
    pub(super) r#type: &'static str,
    pub(super) info: ApplicantInfo<'c>,
    pub(super) email: String,
    pub(super) review: Review<'c>,
    pub(super) lang: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review<'c> {
    pub(super) review_id: String,
    pub(super) attempt_id: String,
    pub(super) attempt_cnt: u32,
    pub(super) level_name: &'static str,
    pub(super) create_date: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_result: Option<Answer>,
    pub(super) review_status: &'static str,
    pub(super) priority: u32,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) review_answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reject_labels: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_reject_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) moderation_comment: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'c> {
    pub(super) id: &'static str,
    pub(super) applicant_id: &'c str,
    pub(super) step: &'static str,
    pub(super) created_at: &'c str,
    pub(super) id_doc_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) country: Option<&'c str>,
    pub(super) images: Vec<Image>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) image_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_doc_sub_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_result: Option<Answer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AmlCase<'c> {
    pub(super) id: &'c str,
    pub(super) created_at: &'c str,
    pub(super) target_entity_type: &'static str,
    pub(super) target_entity_id: &'c str,
    pub(super) review: Answer,
    pub(super) risk_labels: Vec<&'static str>,
    pub(super) hits: Vec<Hit<'c>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hit<'c> {
    pub(super) id: String,
    pub(super) name: &'c str,
    pub(super) entity_type: &'static str,
    pub(super) risk_labels: Vec<&'static str>,
    pub(super) review: HitReview,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HitReview {
    pub(super) match_status: &'static str,
    pub(super) whitelisted: bool,
    pub(super) reviewer_name: &'static str,
}
