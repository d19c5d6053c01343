//! Types of stored records: their names in the store, and the members from which answers are computed.
//!
//! Each type has only some members of a record. The record has passed the check of its [`schema`](super::schema). Answers copy all
//! other members as text.

use std::collections::HashMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::copy::without_nulls;
use super::error::DomainError;
use super::members::Members;
use super::schemas::{ACTIONS_LEVEL, PARTS};
use crate::limits::Limits;
use crate::store::{RecordWriter, Store};

/// The step that only levels for applicant actions may have.
pub(super) const PAYMENT_METHODS: &str = "PAYMENT_METHODS";

/// The record kind of levels. The key of a record is the name of the level.
pub(super) const LEVELS: &str = "level";
/// The record kind of applicants. The key of a record is the id of the applicant.
pub(super) const APPLICANTS: &str = "applicant";
/// The record kind of documents. The key of a record is its [`applicant_key`].
pub(super) const DOCUMENTS: &str = "document";
/// The record kind of AML cases. The key of a record is its [`applicant_key`].
pub(super) const AML_CASES: &str = "aml-case";
/// The record kind of share tokens that the host or an operator has created. The key of a record is the hash of the token.
pub(super) const SHARE_TOKENS: &str = "share-token";
/// The record kind of share tokens that clients have created. Earlier versions of this library do not read this record kind. An
/// earlier version that found such a share token in the record kind [`SHARE_TOKENS`] would accept it without checking its
/// restrictions. The key of a record is the hash of the token.
pub(super) const CLIENT_SHARE_TOKENS: &str = "client-share-token";
/// The record kind of an index of the share tokens that clients have created. The index finds them by the app token of the client.
/// The key of a record is the text that
/// identifies the app token, followed by the hash of the share token. The text of a record is the id of the applicant.
pub(super) const SHARE_TOKENS_BY_MAKER: &str = "share-token-by-maker";

/// The number of records that are read from the store at a time.
pub(super) const PAGE_RECORDS: usize = 256;
/// The number of bytes that are read at a time, unless a single record has more.
pub(super) const PAGE_BYTES: usize = 1 << 20;

/// Returns the key of a record that belongs to an applicant. Ids contain no control characters, so the separator is unambiguous.
pub(super) fn applicant_key(applicant_id: &str, id: &str) -> String {
    format!("{applicant_id}\0{id}")
}

/// Deserialises a stored record. The import has checked the record, so a record that cannot be deserialised is damaged.
pub(super) fn read<'t, T: Deserialize<'t>>(store: &Store, text: &'t str) -> Result<T, DomainError> {
    serde_json::from_str(text).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}

#[derive(Debug, Deserialize)]
pub(super) struct Applicant {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: ApplicantKind,
    #[serde(rename = "fixedInfo")]
    fixed_info: Option<HashMap<String, Option<serde::de::IgnoredAny>>>,
    questionnaires: Option<Vec<Questionnaire>>,
    review: Option<Review>,
}

/// The members of an applicant that determine which steps it has.
#[derive(Debug, Deserialize)]
pub(super) struct ApplicantHead {
    #[serde(rename = "type")]
    pub(super) kind: ApplicantKind,
    review: Option<Review>,
}

#[derive(Debug, Deserialize)]
struct Questionnaire {
    id: String,
}

/// Stores a record that an operation has changed or copied. The text must not be larger than an import accepts, so that the record
/// can be exported and imported again.
///
/// # Errors
/// Returns [`Invalid`](super::DomainErrorKind::Invalid) for a text that is too large. Returns an error if the file cannot be
/// written.
pub(super) fn put_within_limit(
    records: &mut RecordWriter<'_>,
    kind: &str,
    key: &str,
    text: &str,
) -> Result<(), DomainError> {
    let most = Limits::default().document_bytes;
    if text.len() > most {
        return Err(DomainError::record_too_large(text.len(), most));
    }
    records.put(kind, key, text)?;
    Ok(())
}

#[derive(Debug, Deserialize)]
struct Review {
    #[serde(rename = "levelName")]
    level_name: Option<String>,
}

impl ApplicantHead {
    pub(super) fn level_name(&self) -> Option<&str> {
        self.review.as_ref()?.level_name.as_deref()
    }
}

impl Applicant {
    pub(super) fn level_name(&self) -> Option<&str> {
        self.review.as_ref()?.level_name.as_deref()
    }

    /// Returns true if `fixedInfo` has this member, with a value that is not `null`.
    pub(super) fn has_given(&self, field: &str) -> bool {
        self.fixed_info.as_ref().is_some_and(|info| matches!(info.get(field), Some(Some(_))))
    }

    pub(super) fn has_answered(&self, questionnaire: &str) -> bool {
        self.questionnaires.iter().flatten().any(|own| own.id == questionnaire)
    }
}

/// The type of an applicant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub(super) enum ApplicantKind {
    #[serde(rename = "company")]
    Company,
    #[serde(other)]
    Individual,
}

impl ApplicantKind {
    /// Returns a phrase for one applicant of this type.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Individual => "an individual",
            Self::Company => "a company",
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Level {
    pub(super) name: String,
    /// The type of the level. Any value is accepted here, because earlier versions stored levels without checking their type.
    #[serde(rename = "type")]
    kind: Option<serde_json::Value>,
    #[serde(rename = "docSets")]
    doc_sets: Vec<LevelStep>,
}

impl Level {
    pub(super) fn is_for_actions(&self) -> bool {
        self.kind.as_ref().and_then(serde_json::Value::as_str) == Some(ACTIONS_LEVEL)
    }

    /// Returns true if applicants of a type can have this step of this level.
    ///
    /// Steps about a company are for companies, and steps about a person are for individuals. Payment methods are only in levels
    /// for applicant actions. Any other step is for all applicants.
    pub(super) fn has_step_for(&self, step: &str, kind: ApplicantKind) -> bool {
        match step {
            "COMPANY" | "COMPANY_DATA" | "COMPANY_DOCUMENTS" | "COMPANY_BENEFICIARIES" => {
                kind == ApplicantKind::Company
            }
            "APPLICANT_DATA"
            | "IDENTITY"
            | "IDENTITY2"
            | "IDENTITY3"
            | "IDENTITY4"
            | "SELFIE"
            | "SELFIE2"
            | "PROOF_OF_RESIDENCE"
            | "PROOF_OF_RESIDENCE2" => kind == ApplicantKind::Individual,
            PAYMENT_METHODS => self.is_for_actions(),
            _ => true,
        }
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &LevelStep> {
        self.doc_sets.iter()
    }
}

/// A step of a level: one of its document sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LevelStep {
    #[serde(rename = "idDocSetType")]
    pub(super) name: String,
    /// The accepted types of documents. If absent or empty, all types are accepted.
    pub(super) types: Option<Vec<String>>,
    /// The accepted issuing countries. If absent or empty, all countries are accepted.
    pub(super) countries: Option<Vec<String>>,
    pub(super) min_documents: Option<usize>,
    /// For each type of document, the minimum number of images. The default is 1.
    pub(super) min_images: Option<HashMap<String, Option<usize>>>,
    pub(super) depends_on: Option<String>,
    /// The parts of the step `COMPANY` that its status lists. By default, it lists all parts.
    pub(super) parts: Option<Vec<String>>,
    /// The names of the members of `fixedInfo` that the step requires.
    pub(super) fields: Option<Vec<String>>,
    pub(super) questionnaire_id: Option<String>,
}

/// A document that an applicant provided for a step, with its images; or the result of a check, which has no images.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) applicant_id: String,
    pub(super) step: String,
    pub(super) created_at: String,
    pub(super) part: Option<String>,
    pub(super) id_doc_type: Option<String>,
    pub(super) country: Option<String>,
    active: Option<bool>,
    images: Option<Vec<Image>>,
    pub(super) review_result: Option<Reviewed>,
}

impl Document {
    /// Returns the part of the step `COMPANY` that the document belongs to.
    pub(super) fn part(&self) -> &str {
        self.part.as_deref().unwrap_or("company")
    }

    /// Returns the index of the document's part in [`PARTS`], or `None` for an unknown part. Without a part, the index is 0, that
    /// of the part `company`. Documents of other steps than `COMPANY` have no part.
    pub(super) fn part_place(&self) -> Option<usize> {
        PARTS.iter().position(|part| *part == self.part())
    }

    pub(super) fn images(&self) -> impl Iterator<Item = &Image> {
        self.images.iter().flatten()
    }

    /// Returns the active images.
    pub(super) fn active_images(&self) -> impl Iterator<Item = &Image> {
        self.images().filter(|image| image.active != Some(false))
    }

    /// Returns true if the document is active, and has an active image or no image at all.
    pub(super) fn is_active(&self) -> bool {
        let has_image = self.images().next().is_none() || self.active_images().next().is_some();
        self.active != Some(false) && has_image
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    #[serde(rename = "imageId")]
    pub(super) id: String,
    pub(super) id_doc_sub_type: Option<String>,
    active: Option<bool>,
    pub(super) review_result: Option<Reviewed>,
}

impl Image {
    pub(super) fn is_front_side(&self) -> bool {
        self.id_doc_sub_type.as_deref() == Some("FRONT_SIDE")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Answer {
    Green,
    Red,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum RejectType {
    Retry,
    Final,
}

/// The review of an image or of a whole document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewResult {
    pub(super) moderation_comment: Option<String>,
    pub(super) client_comment: Option<String>,
    pub(super) review_answer: Option<Answer>,
    pub(super) review_reject_type: Option<RejectType>,
}

/// A review, and its JSON text for responses. The text has all members of the review, even members that [`ReviewResult`] does not
/// have. Nulls are left out. If the review is not a rejection, `rejectLabels` is also left out.
#[derive(Clone, Debug)]
pub(super) struct Reviewed {
    pub(super) result: ReviewResult,
    pub(super) text: Box<RawValue>,
}

impl<'de> Deserialize<'de> for Reviewed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let result: ReviewResult = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let mut text = without_nulls(text.get()).map_err(D::Error::custom)?;
        if result.review_answer != Some(Answer::Red) {
            let mut members = Members::read(&text).map_err(D::Error::custom)?;
            members.remove("rejectLabels");
            text = members.to_json();
        }
        Ok(Self { result, text: RawValue::from_string(text).map_err(D::Error::custom)? })
    }
}

/// The members of an AML case that determine which case of an applicant is the latest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AmlHead {
    pub(super) id: String,
    pub(super) target_entity_id: String,
    pub(super) created_at: String,
    pub(super) active: Option<bool>,
}
