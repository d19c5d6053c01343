//! Operation 2 (required documents status): computes the status of each step from the applicant's documents, data and reviews.

use super::clients::Clients;
use super::country::is_same_country;
use super::error::DomainError;
use super::records::{
    APPLICANTS, Answer, Applicant, DOCUMENTS, Document, Image, LEVELS, Level, LevelStep, ReviewResult,
    applicant_key, read,
};
use super::room::Room;
use super::schemas::PARTS;
use super::step_status::{ByImage, ImageStatus, PartStatus, Statuses, StepReview, StepStatus};
use crate::store::Store;

/// Returns the required documents status of an applicant as JSON: the status of each step of the applicant's level.
///
/// The keys are the steps of the level that apply to the type of the applicant, in the order of the level. If the applicant has no
/// level, the object is empty. The docs of the [module](super) describe the rules.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records, step_status};
/// use casefilter::{Catalog, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let level = br#"{"name":"basic","docSets":[{"idDocSetType":"IDENTITY"},{"idDocSetType":"SELFIE"}]}"#;
/// let applicant = br#"{"id":"a1","type":"individual","review":{"levelName":"basic"}}"#;
/// import_records(&store, RecordKind::Levels, |import| import.push(level))?;
/// import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// assert_eq!(step_status(&store, "a1")?, r#"{"IDENTITY":null,"SELFIE":null}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) for an unknown applicant. Returns an error if the store cannot be read.
pub fn step_status(store: &Store, applicant_id: &str) -> Result<String, DomainError> {
    step_status_in(store, applicant_id, Clients::All, &mut Room::new(&mut |_| true))
}

/// Like [`step_status`], but for a caller who sees only the applicants of `clients`, and within the memory budget `room`.
pub(crate) fn step_status_in(
    store: &Store,
    applicant_id: &str,
    clients: Clients<'_>,
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let records = store.records()?;
    if !clients.list(&records, applicant_id)? {
        return Err(DomainError::no_applicant(applicant_id));
    }
    // Three forms of the records are in memory: their text, their parsed members, and the answer.
    let given = records.sizes(DOCUMENTS, &applicant_key(applicant_id, ""))?.all;
    room.take(given.saturating_add(records.size(APPLICANTS, applicant_id)?).saturating_mul(3))?;
    let Some(text) = clients.get(&records, applicant_id)? else {
        return Err(DomainError::no_applicant(applicant_id));
    };
    let applicant: Applicant = read(store, &text)?;
    let Some(name) = applicant.level_name() else { return Ok("{}".to_owned()) };
    room.take(records.size(LEVELS, name)?.saturating_mul(3))?;
    let text = records.get(LEVELS, name)?;
    let text = text.ok_or_else(|| store.corrupt_record("an applicant of a level that is not there"))?;
    let level: Level = read(store, &text)?;
    let mut documents = Vec::new();
    for (_, text) in records.with_prefix(DOCUMENTS, &applicant_key(applicant_id, ""))? {
        let document: Document = read(store, &text)?;
        if document.is_active() {
            documents.push(document);
        }
    }
    let json = serde_json::to_string(&Statuses(statuses(&level, &applicant, &documents)));
    json.map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}

/// Computes the status of each step of a level, in the order of the level.
fn statuses<'d>(
    level: &'d Level,
    applicant: &Applicant,
    documents: &'d [Document],
) -> Vec<(&'d str, Option<StepStatus<'d>>)> {
    let given = |step: &LevelStep| {
        let mut given: Vec<&Document> =
            documents.iter().filter(|document| document.step == step.name).collect();
        given.sort_by_key(|document| {
            (document.part_place(), std::cmp::Reverse((&document.created_at, &document.id)))
        });
        given
    };
    // A step is approved if the step itself and all steps that it depends on are GREEN. A chain of dependencies is not longer than
    // the level.
    let is_approved = |name: &str| {
        let mut next = Some(name);
        for _ in level.steps() {
            let Some(name) = next else { return true };
            let Some(step) = level.steps().find(|step| step.name == name) else { return false };
            // If the applicant cannot have a step, the step does not block other steps.
            if !level.has_step_for(name, applicant.kind) {
                next = step.depends_on.as_deref();
                continue;
            }
            if roll_up(&reviews(&given(step))).and_then(|review| review.answer) != Some(Answer::Green) {
                return false;
            }
            next = step.depends_on.as_deref();
        }
        next.is_none()
    };
    let status = |step: &'d LevelStep| {
        let is_checked = step.depends_on.as_deref().is_none_or(is_approved);
        (&*step.name, status(step, applicant, &given(step), is_checked))
    };
    level.steps().filter(|step| level.has_step_for(&step.name, applicant.kind)).map(status).collect()
}

/// Computes the status of a step from its documents. `given` must be sorted by part, and within each part from the newest to the
/// oldest document. Returns `None` if the step has neither documents nor data.
fn status<'d>(
    step: &LevelStep,
    applicant: &Applicant,
    given: &[&'d Document],
    is_checked: bool,
) -> Option<StepStatus<'d>> {
    let fields: Vec<bool> = step.fields.iter().flatten().map(|field| applicant.has_given(field)).collect();
    let questionnaire = step.questionnaire_id.as_deref().map(|id| applicant.has_answered(id));
    let has_data = fields.contains(&true) || questionnaire == Some(true);
    if given.is_empty() && !has_data {
        return None;
    }
    let asks_for_data = !fields.is_empty() || questionnaire.is_some();
    let enough = given.iter().filter(|document| has_enough_images(step, document)).count()
        >= step.min_documents.unwrap_or(usize::from(!asks_for_data));
    let leading = given.first();
    let images: Vec<&Image> = given.iter().flat_map(|document| front_side_first(document)).collect();
    let review = |image: &&'d Image| {
        let review = image.review_result.as_ref().filter(|_| is_checked)?;
        Some((&*image.id, &*review.text))
    };
    Some(StepStatus {
        review_result: roll_up(&reviews(given)).filter(|_| is_checked),
        country: leading.and_then(|document| document.country.as_deref()),
        id_doc_type: leading.and_then(|document| document.id_doc_type.as_deref()),
        image_ids: images.iter().map(|image| &*image.id).collect(),
        image_review_results: ByImage(images.iter().filter_map(review).collect()),
        forbidden: given.iter().any(|document| is_forbidden(step, document)),
        partial_completion: enough && !fields.contains(&false) && questionnaire != Some(false),
        step_statuses: (step.name == "COMPANY").then(|| part_statuses(step, given, is_checked)),
        image_statuses: images.iter().map(|image| ImageStatus::of(image, None, is_checked)).collect(),
    })
}

/// Computes the status of each part of the step `COMPANY`.
fn part_statuses<'d>(step: &LevelStep, given: &[&'d Document], is_checked: bool) -> Vec<PartStatus<'d>> {
    let is_wanted =
        |part: &&&str| step.parts.as_ref().is_none_or(|parts| parts.iter().any(|own| own == **part));
    let status = |part: &'static str| {
        let own: Vec<&Document> = given.iter().filter(|document| document.part() == part).copied().collect();
        let reviews = reviews(&own);
        let is_reviewed = reviews.iter().all(|review| review.is_some_and(|own| own.review_answer.is_some()));
        let images = own.iter().flat_map(|document| {
            let id_doc_type = document.id_doc_type.as_deref();
            front_side_first(document).into_iter().map(move |image| (image, id_doc_type))
        });
        PartStatus {
            name: part,
            review_status: match (own.is_empty(), is_reviewed && is_checked) {
                (true, _) => "init",
                (false, false) => "pending",
                (false, true) => "completed",
            },
            review_result: roll_up(&reviews).filter(|_| is_checked),
            images: images.map(|(image, of)| ImageStatus::of(image, of, is_checked)).collect(),
        }
    };
    PARTS.iter().filter(is_wanted).map(|part| status(part)).collect()
}

/// Returns the active images of a document. Images of the front side come first.
fn front_side_first(document: &Document) -> Vec<&Image> {
    let mut images: Vec<&Image> = document.active_images().collect();
    images.sort_by_key(|image| !image.is_front_side());
    images
}

/// Returns true if a document has as many images as the step requires for documents of its type. A check has no document type, and
/// requires no images.
fn has_enough_images(step: &LevelStep, document: &Document) -> bool {
    let of_type = document.id_doc_type.as_ref().map(|own| {
        let configured = step.min_images.as_ref().and_then(|images| images.get(own).copied().flatten());
        configured.unwrap_or(1)
    });
    document.active_images().count() >= of_type.unwrap_or(0)
}

/// Returns true if the step does not accept the type or the country of the document. An empty list of types or countries accepts
/// all.
fn is_forbidden(step: &LevelStep, document: &Document) -> bool {
    type Same = fn(&str, &str) -> bool;
    let is_outside = |accepted: &Option<Vec<String>>, own: &Option<String>, same: Same| match (accepted, own)
    {
        (Some(accepted), Some(own)) => {
            !accepted.is_empty() && !accepted.iter().any(|accepted| same(accepted, own))
        }
        _ => false,
    };
    is_outside(&step.types, &document.id_doc_type, |one, other| one == other)
        || is_outside(&step.countries, &document.country, is_same_country)
}

/// Returns the reviews of documents and of their active images. For an image without a review, the list has `None`. It also has
/// `None` for a document that has neither a review nor active images.
fn reviews<'d>(given: &[&'d Document]) -> Vec<Option<&'d ReviewResult>> {
    let mut reviews = Vec::new();
    for document in given {
        let before = reviews.len();
        reviews.extend(
            document.active_images().map(|image| image.review_result.as_ref().map(|own| &own.result)),
        );
        if let Some(own) = &document.review_result {
            reviews.push(Some(&own.result));
        } else if reviews.len() == before {
            reviews.push(None);
        }
    }
    reviews
}

/// Combines the reviews of images and documents into the review of a step. Returns `None` if `parts` is empty.
///
/// One RED review makes the step RED. Its reject type is the most severe type of the RED reviews: FINAL before RETRY. If all
/// reviews are GREEN, the step is GREEN. Otherwise, some images or documents have not been reviewed yet, and the combined review
/// has no answer. The comments are the distinct comments of the reviews that decided the answer, one per line.
fn roll_up(parts: &[Option<&ReviewResult>]) -> Option<StepReview> {
    let with = |answer| -> Vec<&ReviewResult> {
        parts.iter().flatten().filter(|part| part.review_answer == Some(answer)).copied().collect()
    };
    let (red, green) = (with(Answer::Red), with(Answer::Green));
    let (answer, deciding) = match () {
        () if parts.is_empty() => return None,
        () if !red.is_empty() => (Some(Answer::Red), red),
        () if green.len() == parts.len() => (Some(Answer::Green), green),
        () => (None, Vec::new()),
    };
    Some(StepReview {
        answer,
        moderation_comment: joined(deciding.iter().map(|part| part.moderation_comment.as_deref())),
        client_comment: joined(deciding.iter().map(|part| part.client_comment.as_deref())),
        reject_type: match answer {
            Some(Answer::Red) => deciding.iter().filter_map(|part| part.review_reject_type).max(),
            _ => None,
        },
    })
}

/// Joins the distinct comments, one per line. Returns `None` if there are no comments.
fn joined<'c>(comments: impl Iterator<Item = Option<&'c str>>) -> Option<String> {
    let mut distinct: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for comment in comments.flatten().filter(|comment| !comment.is_empty()) {
        if seen.insert(comment) {
            distinct.push(comment);
        }
    }
    (!distinct.is_empty()).then(|| distinct.join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::records::RejectType;
    use super::*;

    fn review() -> impl Strategy<Value = Option<ReviewResult>> {
        let answer = prop_oneof![Just(None), Just(Some(Answer::Green)), Just(Some(Answer::Red))];
        let reject = prop_oneof![Just(None), Just(Some(RejectType::Retry)), Just(Some(RejectType::Final))];
        let comment = || prop::option::of(prop_oneof!["", "a", "b", "c"]);
        let review =
            (answer, reject, comment(), comment()).prop_map(|(answer, reject, moderation, client)| {
                ReviewResult {
                    moderation_comment: moderation,
                    client_comment: client,
                    review_answer: answer,
                    review_reject_type: reject,
                }
            });
        prop::option::weighted(0.8, review)
    }

    proptest! {
        /// Checks each rule on the combined review.
        #[test]
        fn a_step_is_what_its_images_are(parts in prop::collection::vec(review(), 0..6)) {
            let rolled = roll_up(&parts.iter().map(Option::as_ref).collect::<Vec<_>>());
            let answers: Vec<Option<Answer>> =
                parts.iter().map(|part| part.as_ref().and_then(|own| own.review_answer)).collect();
            let Some(rolled) = rolled else {
                prop_assert!(parts.is_empty());
                return Ok(());
            };
            let expected = if answers.contains(&Some(Answer::Red)) {
                Some(Answer::Red)
            } else if answers.contains(&None) {
                None
            } else {
                Some(Answer::Green)
            };
            prop_assert_eq!(rolled.answer, expected);
            let deciding: Vec<&ReviewResult> = parts.iter().flatten()
                .filter(|part| expected.is_some() && part.review_answer == expected).collect();
            let has = |reject| expected == Some(Answer::Red)
                && deciding.iter().any(|part| part.review_reject_type == Some(reject));
            let reject = if has(RejectType::Final) {
                Some(RejectType::Final)
            } else if has(RejectType::Retry) {
                Some(RejectType::Retry)
            } else {
                None
            };
            prop_assert_eq!(rolled.reject_type, reject);
            for comment in ["a", "b", "c"] {
                let times = |text: &Option<String>| {
                    text.iter().flat_map(|text| text.split('\n')).filter(|line| *line == comment).count()
                };
                let said = deciding.iter().any(|part| part.moderation_comment.as_deref() == Some(comment));
                prop_assert_eq!(times(&rolled.moderation_comment), usize::from(said));
                let said = deciding.iter().any(|part| part.client_comment.as_deref() == Some(comment));
                prop_assert_eq!(times(&rolled.client_comment), usize::from(said));
            }
        }
    }
}
