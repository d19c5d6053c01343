//! Types that serialise the status of steps as JSON.

use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::records::{Answer, Image, RejectType};

pub(super) struct Statuses<'d>(pub(super) Vec<(&'d str, Option<StepStatus<'d>>)>);

impl Serialize for Statuses<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, status)| (name, status)))
    }
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepStatus<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_result: Option<StepReview>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) country: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_doc_type: Option<&'d str>,
    pub(super) image_ids: Vec<&'d str>,
    pub(super) image_review_results: ByImage<'d>,
    pub(super) forbidden: bool,
    /// True if the step has all that it asks for: enough documents and images, all data fields, and the questionnaire. The
    /// interface document defines the name of the member.
    pub(super) partial_completion: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) step_statuses: Option<Vec<PartStatus<'d>>>,
    pub(super) image_statuses: Vec<ImageStatus<'d>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct StepReview {
    #[serde(rename = "moderationComment", skip_serializing_if = "Option::is_none")]
    pub(super) moderation_comment: Option<String>,
    #[serde(rename = "clientComment", skip_serializing_if = "Option::is_none")]
    pub(super) client_comment: Option<String>,
    #[serde(rename = "reviewAnswer", skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Answer>,
    #[serde(rename = "reviewRejectType", skip_serializing_if = "Option::is_none")]
    pub(super) reject_type: Option<RejectType>,
}

#[derive(Debug)]
pub(super) struct ByImage<'d>(pub(super) Vec<(&'d str, &'d RawValue)>);

impl Serialize for ByImage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartStatus<'d> {
    pub(super) name: &'static str,
    pub(super) review_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_result: Option<StepReview>,
    pub(super) images: Vec<ImageStatus<'d>>,
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageStatus<'d> {
    pub(super) image_id: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_doc_type: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_doc_sub_type: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review_result: Option<&'d RawValue>,
}

impl<'d> ImageStatus<'d> {
    pub(super) fn of(image: &'d Image, id_doc_type: Option<&'d str>, is_checked: bool) -> Self {
        Self {
            image_id: &image.id,
            id_doc_type,
            id_doc_sub_type: image.id_doc_sub_type.as_deref(),
            review_result: image.review_result.as_ref().filter(|_| is_checked).map(|own| &*own.text),
        }
    }
}
