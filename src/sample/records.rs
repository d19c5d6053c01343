//! Generates records that match the sample cases: verification levels, applicants, their documents, and AML cases. The applicants
//! and the AML cases have the ids that the sample cases contain.

use std::collections::HashSet;

use chrono::DateTime;
use serde::Serialize;

use super::case::write_case;
use super::cases::Cases;
use super::draws::Draws;
use super::record_types::{
    AmlCase, Answer, Applicant, ApplicantInfo, Case, Document, Hit, HitReview, Image, Review,
};
use super::write::Json;

/// A kind of sample record. The variants are in the order in which the records must be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SampleKind {
    /// Two verification levels: `basic` for individuals, `company` for companies.
    Levels,
    /// The applicants. First come two fixed applicants: `anna`, whose record has the most members, and `firm`, a company. Then come
    /// the applicants of the sample cases.
    Applicants,
    /// Documents of most of the applicants. If an image was reviewed, its document includes the result of the review.
    Documents,
    /// AML case records. First comes the record of one AML case of `anna`, then a record for each AML case that a sample case
    /// refers to.
    AmlCases,
}

/// An iterator over sample records of one kind, each a line of JSON. They match the sample [`Cases`] with the same count and seed.
///
/// ```
/// use casefilter::sample::{Records, SampleKind};
/// let applicants: Vec<String> = Records::new(SampleKind::Applicants, 100, 1).collect();
/// assert!(applicants[0].starts_with(r#"{"id":"anna","#) && applicants.len() > 90);
/// assert_eq!(applicants, Records::new(SampleKind::Applicants, 100, 1).collect::<Vec<_>>());
/// ```
///
/// The bytes depend only on the kind, the count and the seed. For applicants and documents, the iterator keeps a hash set of the
/// ids of all applicants, of 16 bytes each.
#[derive(Debug)]
pub struct Records {
    kind: SampleKind,
    cases: Cases,
    seed: u64,
    next: u64,
    /// The ids of the applicants in the cases that have been read so far.
    seen: HashSet<u128>,
    /// The records that have been created but not returned yet, in reverse order. At the start, these are the fixed records.
    pending: Vec<String>,
}

impl Records {
    /// Creates an iterator over the records of one kind that match the cases of [`Cases::new`] with the same count and seed.
    #[must_use]
    pub fn new(kind: SampleKind, count: u64, seed: u64) -> Self {
        let fixed = match kind {
            SampleKind::Levels => LEVELS,
            SampleKind::Applicants => APPLICANTS,
            SampleKind::Documents => DOCUMENTS,
            SampleKind::AmlCases => AML_CASES,
        };
        let pending = fixed.iter().rev().map(|line| (*line).to_owned()).collect();
        let count = if kind == SampleKind::Levels { 0 } else { count };
        Self { kind, cases: Cases::new(count, seed), seed, next: 0, seen: HashSet::new(), pending }
    }
}

impl Iterator for Records {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.pending.pop() {
                return Some(line);
            }
            if self.next >= self.cases.count {
                return None;
            }
            let mut text = Vec::new();
            write_case(self.cases.number(self.next), self.seed, &mut text);
            self.next += 1;
            // Every sample case has these members, so this cannot fail.
            let Ok(case) = serde_json::from_slice::<Case>(&text) else { continue };
            self.of_case(&case);
        }
    }
}

/// The progress of the verification of an applicant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Pending,
    Approved,
    Rejected,
}

impl Records {
    fn of_case(&mut self, case: &Case) {
        let id = &case.applicant_reference.applicant_id;
        if self.kind == SampleKind::AmlCases {
            let cases = case.aml_cases.iter().map(|aml| aml_case(&aml.aml_case_id, case, self.seed));
            self.pending = lines(cases);
            self.pending.reverse();
            return;
        }
        // The id has 24 hex digits.
        let number = u128::from_str_radix(id, 16).unwrap_or_default();
        if !self.seen.insert(number) {
            return;
        }
        let mut draws = Draws::new((number >> 32) as u64, self.seed.rotate_left(16) ^ 0xD0C);
        let progress = match draws.below(100) {
            0..15 => Progress::Nothing,
            15..30 => Progress::Pending,
            30..85 => Progress::Approved,
            _ => Progress::Rejected,
        };
        self.pending = match self.kind {
            SampleKind::Applicants => lines([applicant(case, progress, &mut draws)].into_iter()),
            _ => lines(documents(case, progress, &mut draws).into_iter()),
        };
        self.pending.reverse();
    }
}

/// Returns each record as a line of JSON. Serialisation of these types cannot fail.
fn lines(records: impl Iterator<Item = impl Serialize>) -> Vec<String> {
    records.filter_map(|record| serde_json::to_string(&record).ok()).collect()
}

fn answer(progress: Progress) -> Option<Answer> {
    let answer = |review_answer| Answer {
        review_answer,
        reject_labels: None,
        review_reject_type: None,
        moderation_comment: None,
    };
    match progress {
        Progress::Nothing | Progress::Pending => None,
        Progress::Approved => Some(answer("GREEN")),
        Progress::Rejected => Some(Answer {
            reject_labels: Some(["BAD_QUALITY"]),
            review_reject_type: Some("RETRY"),
            moderation_comment: Some("blurred, please take another picture"),
            ..answer("RED")
        }),
    }
}

fn applicant<'c>(case: &'c Case, progress: Progress, draws: &mut Draws) -> Applicant<'c> {
    let (info, id) = (&case.applicant_info, case.applicant_reference.applicant_id.as_str());
    Applicant {
        id,
        created_at: utc(&case.created_at),
        client_id: &case.client_id,
        r#type: "individual",
        info: ApplicantInfo {
            first_name: &info.first_name,
            first_name_en: &info.first_name_en,
            last_name: &info.last_name,
            last_name_en: &info.last_name_en,
            dob: info.dob.as_deref().and_then(date),
            country: info.country.as_deref(),
        },
        email: format!("{}@mail.example", id.get(..8).unwrap_or(id)),
        review: Review {
            review_id: hex(draws.next(), 12),
            attempt_id: hex(draws.next(), 5),
            attempt_cnt: 1,
            level_name: "basic",
            create_date: &case.created_at,
            review_result: answer(progress),
            review_status: match progress {
                Progress::Nothing => "init",
                Progress::Pending => "pending",
                Progress::Approved | Progress::Rejected => "completed",
            },
            priority: 0,
        },
        lang: "en",
    }
}

fn documents<'c>(case: &'c Case, progress: Progress, draws: &mut Draws) -> Vec<Document<'c>> {
    if progress == Progress::Nothing {
        return Vec::new();
    }
    let country = case.applicant_info.country.as_deref();
    let mut image = |id_doc_sub_type, progress| Image {
        image_id: (100_000_000 + draws.below(900_000_000)).to_string(),
        id_doc_sub_type,
        review_result: answer(progress),
    };
    let id_card = vec![image(Some("FRONT_SIDE"), progress), image(Some("BACK_SIDE"), progress)];
    // If the applicant is rejected, the selfie is still approved: only the identity card is rejected.
    let of_selfie = if progress == Progress::Rejected { Progress::Approved } else { progress };
    let selfie = vec![image(None, of_selfie)];
    let document = |id, step, id_doc_type, images| Document {
        id,
        applicant_id: &case.applicant_reference.applicant_id,
        step,
        created_at: utc(&case.created_at),
        id_doc_type,
        country,
        images,
    };
    vec![document("d1", "IDENTITY", "ID_CARD", id_card), document("d2", "SELFIE", "SELFIE", selfie)]
}

fn aml_case<'c>(id: &'c str, case: &'c Case, seed: u64) -> AmlCase<'c> {
    let number = u64::from_str_radix(id.trim_start_matches("aml"), 16).unwrap_or_default();
    let mut draws = Draws::new(number, seed.rotate_left(16) ^ 0xA31);
    let label = draws.pick(&["pep", "sanctions", "adverseMedia"]);
    let is_match = draws.percent(20);
    let hits = 1 + draws.skewed(3);
    let hits = (1..=hits).map(|hit| Hit {
        id: format!("{id}-{hit}"),
        name: &case.applicant_reference.full_name,
        entity_type: "individual",
        risk_labels: vec![label],
        review: HitReview {
            match_status: if is_match { "true_positive" } else { "false_positive" },
            whitelisted: false,
            reviewer_name: "Kim Reviewer",
        },
    });
    let review = if is_match { "RED" } else { "GREEN" };
    AmlCase {
        id,
        created_at: utc(&case.created_at),
        target_entity_type: "applicant",
        target_entity_id: &case.applicant_reference.applicant_id,
        review: Answer {
            review_answer: review,
            reject_labels: None,
            review_reject_type: None,
            moderation_comment: None,
        },
        risk_labels: vec![label],
        hits: hits.collect(),
    }
}

/// Removes the offset `+0000` from a timestamp of a case, because times in records have no offset.
fn utc(timestamp: &str) -> &str {
    timestamp.strip_suffix("+0000").unwrap_or(timestamp)
}

/// Returns the lowest `digits` hexadecimal digits of a number.
fn hex(number: u64, digits: u32) -> String {
    let mut out = Vec::new();
    Json { out: &mut out }.hex(number, digits);
    String::from_utf8(out).unwrap_or_default()
}

/// Converts milliseconds since 1970 to `yyyy-MM-dd`.
fn date(millis: &str) -> Option<String> {
    let time = DateTime::from_timestamp_millis(millis.parse().ok()?)?;
    Some(time.date_naive().to_string())
}

const LEVELS: &[&str] = &[
    r#"{"name":"basic","docSets":[{"idDocSetType":"APPLICANT_DATA","fields":["firstName","lastName"]},{"idDocSetType":"IDENTITY","types":["PASSPORT","ID_CARD","DRIVERS"],"minImages":{"ID_CARD":2}},{"idDocSetType":"SELFIE","types":["SELFIE"]},{"idDocSetType":"PROOF_OF_RESIDENCE","types":["UTILITY_BILL","BANK_STATEMENT"],"dependsOn":"IDENTITY"},{"idDocSetType":"QUESTIONNAIRE","questionnaireId":"source-of-funds"},{"idDocSetType":"PHONE_VERIFICATION"}]}"#,
    r#"{"name":"company","docSets":[{"idDocSetType":"COMPANY_DATA","fields":["companyName"]},{"idDocSetType":"COMPANY_DOCUMENTS","types":["COMPANY_DOC"]},{"idDocSetType":"COMPANY_BENEFICIARIES","dependsOn":"COMPANY_DOCUMENTS"}]}"#,
];

const APPLICANTS: &[&str] = &[
    r#"{"id":"anna","createdAt":"2025-11-03 08:00:00","clientId":"client00","externalUserId":"user-1","type":"individual","info":{"firstName":"Änne","firstNameEn":"Aenne","lastName":"Grün","lastNameEn":"Gruen","dob":"1990-05-17","country":"DEU","placeOfBirth":"Köln","placeOfBirthEn":"Koeln","countryOfBirth":"DEU","idDocs":[{"idDocType":"ID_CARD","country":"DEU","firstName":"Änne","lastName":"Grün","issuedDate":"2020-01-02","validUntil":"2030-01-01","number":"L01X00T47","dob":"1990-05-17"}]},"fixedInfo":{"firstName":"Änne","lastName":"Grün"},"email":"anna@mail.example","phone":"+490000000","applicantPlatform":"Web","questionnaires":[{"id":"source-of-funds","sections":{"income":{"value":"salary"}}}],"review":{"reviewId":"review-anna","attemptId":"a1","attemptCnt":1,"levelName":"basic","createDate":"2025-11-03 08:00:00+0000","reviewDate":"2025-11-03 08:01:01+0000","reviewResult":{"reviewAnswer":"GREEN"},"reviewStatus":"completed","priority":0},"lang":"de"}"#,
    r#"{"id":"firm","createdAt":"2025-11-04 09:00:00","clientId":"client00","type":"company","info":{"companyInfo":{"companyName":"Sample GmbH"}},"fixedInfo":{"companyName":"Sample GmbH"},"review":{"reviewId":"review-firm","attemptId":"f1","attemptCnt":1,"levelName":"company","createDate":"2025-11-04 09:00:00+0000","reviewStatus":"pending","priority":0},"lang":"de"}"#,
];

const DOCUMENTS: &[&str] = &[
    r#"{"id":"d1","applicantId":"anna","step":"IDENTITY","createdAt":"2025-11-03 08:00:10","idDocType":"ID_CARD","country":"DEU","images":[{"imageId":"1001","idDocSubType":"FRONT_SIDE","reviewResult":{"reviewAnswer":"GREEN"}},{"imageId":"1002","idDocSubType":"BACK_SIDE","reviewResult":{"reviewAnswer":"GREEN"}}]}"#,
    r#"{"id":"d2","applicantId":"anna","step":"SELFIE","createdAt":"2025-11-03 08:00:20","idDocType":"SELFIE","country":"DEU","images":[{"imageId":"1003","reviewResult":{"reviewAnswer":"GREEN"}}]}"#,
    r#"{"id":"d3","applicantId":"anna","step":"PROOF_OF_RESIDENCE","createdAt":"2025-11-03 08:00:30","idDocType":"UTILITY_BILL","country":"DEU","images":[{"imageId":"1004","reviewResult":{"reviewAnswer":"RED","rejectLabels":["DOCUMENT_PAGE_MISSING"],"reviewRejectType":"RETRY","moderationComment":"page 2 is missing"}}]}"#,
    r#"{"id":"d4","applicantId":"anna","step":"PHONE_VERIFICATION","createdAt":"2025-11-03 08:00:40","reviewResult":{"reviewAnswer":"GREEN"}}"#,
    r#"{"id":"d1","applicantId":"firm","step":"COMPANY_DOCUMENTS","createdAt":"2025-11-04 09:01:00","idDocType":"COMPANY_DOC","country":"DEU","images":[{"imageId":"2001","idDocSubType":"INCORPORATION_CERT","reviewResult":{"reviewAnswer":"GREEN"}},{"imageId":"2002","idDocSubType":"SHAREHOLDER_REGISTRY"}]}"#,
];

const AML_CASES: &[&str] = &[
    r#"{"id":"aml-anna","createdAt":"2025-11-03 08:02:00","targetEntityType":"applicant","targetEntityId":"anna","ongoingMonitoring":{"enabled":true},"review":{"reviewAnswer":"RED"},"riskLabels":["pep"],"hits":[{"id":"hit-1","name":"Änne Grün","entityType":"individual","birthDates":["1990-05-17"],"birthYears":["1990"],"sources":[{"type":"watchlist","url":"https://example.org/list","name":"Sample list"}],"review":{"matchStatus":"potential_match","whitelisted":false,"reviewerName":"Kim Reviewer"},"riskLabels":["pep"]}]}"#,
];
