//! Generates one sample case from its number and a seed.

use super::draws::{Draws, GOLDEN, mix, nth};
use super::words::{
    APPLICANT_TAGS, BLUEPRINTS, CHECKLIST, COUNTRIES, GROUPINGS, KINDS, NAMES, OFFICERS, REVIEW_STATES,
    RULES, STAGES, TAG_BASES, TAG_SUFFIXES, WORKFLOWS,
};
use super::write::{DAY_S, Json};

/// The number of cases that the generator creates in the three years 2023 to 2025. The case with number 0 is created on 2023-01-01.
///
/// Cases with larger numbers are created later. The creation time increases by about 9.47 seconds from one number to the next.
pub const CASES_IN_THREE_YEARS: u64 = 10_000_000;

/// 2023-01-01 00:00:00 UTC.
const START_S: u64 = 1_672_531_200;

/// The microseconds from one case to the next: 1,096 days divided by [`super::CASES_IN_THREE_YEARS`].
const STEP_US: u64 = 9_469_440;

/// 2026-01-01 00:00:00 UTC. The generator computes the age of a case as if this were the present.
const TODAY_S: u64 = START_S + 1_096 * DAY_S;

/// The modulus of case numbers. With case numbers below the modulus, all years in the dates of a case have four digits.
pub(super) const NUMBERS: u64 = 1_000 * CASES_IN_THREE_YEARS;

/// Appends the case with this case number to `out`, as JSON on one line of about 900 bytes, without a newline.
///
/// The creation time in a case increases with its number, by about nine seconds from one number to the next. All numbers below
/// 10,000,000,000 give different `id`s. To spread fewer than [`CASES_IN_THREE_YEARS`] cases over three years, use
/// [`Cases`](super::Cases), which leaves gaps between the case numbers.
///
/// ```
/// let mut case = Vec::new();
/// casefilter::sample::write_case(7, 42, &mut case);
/// assert!(case.starts_with(br#"{"id":""#) && case.ends_with(b"}"));
/// ```
///
/// Complexity: constant time.
pub fn write_case(number: u64, seed: u64, out: &mut Vec<u8>) {
    let number = number % NUMBERS;
    let mut draws = Draws::new(number, seed);
    let created_s = START_S + (number * STEP_US + draws.below(STEP_US)) / 1_000_000;
    let facts = Facts::draw(created_s, &mut draws);
    let applicant = Applicant::draw(seed, &mut draws);
    let case = Case { number, seed, facts, applicant };
    case.write(&mut draws, &mut Json { out });
}

/// The values of a case that affect several of its members.
struct Facts {
    created_s: u64,
    updated_s: u64,
    status: &'static str,
    resolved: bool,
    created_by: &'static str,
}

impl Facts {
    fn draw(created_s: u64, draws: &mut Draws) -> Self {
        let age_s = TODAY_S.saturating_sub(created_s);
        let resolved = draws.percent(match age_s / DAY_S {
            0..7 => 15,
            7..30 => 45,
            30..90 => 75,
            _ => 93,
        });
        let status = match (resolved, draws.below(100)) {
            (true, 0..84) => "resolvedFalsePositive",
            (true, _) => "resolvedPotentialThreat",
            (false, 0..60) => "open",
            (false, 60..85) => "awaitingUser",
            (false, _) => "blocked",
        };
        let created_by = match draws.below(100) {
            0..46 => "byRule",
            46..68 => "byOngoingAmlHit",
            68..82 => "byWorkflow",
            82..94 => "byApi",
            _ => "byOfficer",
        };
        let worked_s = draws.log_uniform(5, if resolved { 21 } else { 24 });
        let updated_s = if age_s == 0 { created_s + worked_s } else { created_s + worked_s.min(age_s) };
        Self { created_s, updated_s, status, resolved, created_by }
    }
}

/// The applicant of a case. Depends only on the applicant's number and the seed.
struct Applicant {
    id: (u64, u64),
    draws: Draws,
}

impl Applicant {
    /// Draws the applicant of a case. A quarter of the cases belong to 40,000 applicants, some of whom have many more cases than
    /// others. All other cases belong to five million applicants.
    fn draw(seed: u64, draws: &mut Draws) -> Self {
        let number = if draws.percent(25) {
            let regulars = 40_000;
            draws.below(regulars) * draws.below(regulars) / regulars
        } else {
            40_000 + draws.below(5_000_000)
        };
        let mut own = Draws::new(number, seed.rotate_left(32) ^ 0xA99);
        Self { id: (own.next(), number), draws: own }
    }
}

struct Case {
    number: u64,
    seed: u64,
    facts: Facts,
    applicant: Applicant,
}

impl Case {
    fn write(mut self, draws: &mut Draws, json: &mut Json<'_>) {
        json.raw("{\"id\":\"");
        json.hex(mix(mix(self.seed).wrapping_add(self.number.wrapping_mul(GOLDEN))), 16);
        json.hex(self.number, 8);
        json.raw("\",\"name\":\"");
        json.raw(draws.pick_skewed(KINDS));
        json.raw(" #");
        json.decimal(self.number);
        json.raw("\"");
        self.applicant(json);
        self.creation(draws, json);
        json.key("clientId");
        json.numbered("client", draws.skewed(12), 2);
        if draws.percent(30) {
            self.review(draws, json);
        }
        if draws.percent(94) {
            let blueprint = draws.skewed(BLUEPRINTS.len() as u64);
            json.raw(",\"blueprintReference\":{\"name\":\"");
            json.raw(nth(BLUEPRINTS, blueprint));
            json.raw("\",\"blueprintId\":");
            json.numbered("bp", blueprint, 3);
            json.raw("}");
        }
        self.case_review(draws, json);
        self.aml_cases(draws, json);
        match draws.below(100) {
            0..12 => {}
            12..32 => json.text("priority", "low"),
            32..87 => json.text("priority", "medium"),
            _ => json.text("priority", "high"),
        }
        if draws.percent(70) {
            json.list("sourceKeys", 1 + draws.below(4) / 3, |json| json.numbered("src", draws.skewed(25), 2));
        }
        self.tags(draws, json);
        if draws.percent(70) {
            json.key("totalAmountInDefaultCurrency");
            let most = 20 + draws.skewed(12);
            json.cents(draws.log_uniform(8, most));
        }
        json.raw("}");
    }

    fn applicant(&mut self, json: &mut Json<'_>) {
        let draws = &mut self.applicant.draws;
        let (country, names) = nth(COUNTRIES, draws.skewed(COUNTRIES.len() as u64));
        let mut pick = |list: &[(&'static str, &'static str)]| nth(list, draws.below(list.len() as u64));
        let ((first, first_en), (middle, middle_en), (last, last_en)) = match NAMES.get(names) {
            Some(names) => (pick(names.first), pick(names.first), pick(names.last)),
            None => Default::default(),
        };
        json.raw(",\"applicantReference\":{\"applicantId\":\"");
        json.hex(self.applicant.id.0, 16);
        json.hex(self.applicant.id.1, 8);
        json.raw("\",\"fullName\":\"");
        json.raw(first);
        json.raw(" ");
        json.raw(last);
        json.raw("\"},\"applicantInfo\":{\"firstName\":\"");
        json.raw(first);
        json.raw("\"");
        let has_middle = draws.percent(25);
        if has_middle {
            json.text("middleName", middle);
        }
        json.text("lastName", last);
        json.text("firstNameEn", first_en);
        if has_middle {
            json.text("middleNameEn", middle_en);
        }
        json.text("lastNameEn", last_en);
        if draws.percent(95) {
            // The date of birth is from 1940 to 2005. It is written as milliseconds before or after 1970.
            let days = draws.below(24_000);
            json.raw(if days < 10_957 { ",\"dob\":\"-" } else { ",\"dob\":\"" });
            json.decimal(days.abs_diff(10_957) * DAY_S * 1_000);
            json.raw("\"");
        }
        if draws.percent(97) {
            json.text("country", country);
        }
        if draws.percent(25) {
            json.distinct(
                "applicantTags",
                1 + draws.skewed(3),
                APPLICANT_TAGS.len() as u64,
                draws,
                |json, tag| {
                    json.quoted(nth(APPLICANT_TAGS, tag));
                },
            );
        }
        json.raw("}");
    }

    fn creation(&self, draws: &mut Draws, json: &mut Json<'_>) {
        json.text("createdByType", self.facts.created_by);
        if draws.percent(90) {
            json.text("groupByType", draws.pick_skewed(GROUPINGS));
        }
        match self.facts.created_by {
            "byRule" => {
                let rule = draws.skewed(120);
                json.raw(",\"createdByRule\":{\"id\":");
                json.numbered("rule", rule, 3);
                json.raw(",\"name\":");
                json.numbered("RULE_", rule, 3);
                json.text("title", nth(RULES, rule % RULES.len() as u64));
                json.key("revision");
                json.decimal(1 + draws.skewed(9));
                json.raw("}");
            }
            "byOfficer" => json.text("createdByOfficer", draws.pick_skewed(OFFICERS)),
            "byWorkflow" => {
                let workflow = draws.skewed(WORKFLOWS.len() as u64);
                json.raw(",\"createdByWorkflowRef\":{\"id\":");
                json.numbered("wf", workflow, 2);
                json.text("title", nth(WORKFLOWS, workflow));
                json.raw("}");
            }
            _ => {}
        }
        json.key("createdAt");
        json.timestamp(self.facts.created_s);
        if draws.percent(95) {
            json.key("updatedAt");
            json.timestamp(self.facts.updated_s);
        }
    }

    fn review(&self, draws: &mut Draws, json: &mut Json<'_>) {
        json.raw(",\"review\":{\"reviewId\":\"");
        json.hex(draws.next(), 12);
        json.raw("\",\"attemptId\":\"");
        json.hex(draws.next(), 5);
        json.raw("\",\"attemptCnt\":");
        json.decimal(draws.skewed(8));
        json.key("createDate");
        json.timestamp(self.facts.created_s);
        let state = if self.facts.resolved { 0 } else { draws.below(REVIEW_STATES.len() as u64) };
        json.text("reviewStatus", nth(REVIEW_STATES, state));
        json.raw("}");
    }

    fn case_review(&self, draws: &mut Draws, json: &mut Json<'_>) {
        let facts = &self.facts;
        json.raw(",\"caseReview\":{\"status\":\"");
        json.raw(facts.status);
        json.raw("\"");
        if draws.percent(92) {
            json.text("stage", draws.pick_skewed(STAGES));
        }
        if facts.resolved || draws.percent(60) {
            json.raw(",\"assignee\":\"");
            json.raw(draws.pick(OFFICERS));
            json.raw("@corp.example\"");
            json.key("startDate");
            json.timestamp(
                facts.created_s + draws.below(facts.updated_s.saturating_sub(facts.created_s) + 1),
            );
        }
        if draws.percent(55) {
            let items = draws.skewed(CHECKLIST.len() as u64);
            let done = if facts.resolved { 90 } else { 35 };
            let mut item = 0;
            json.raw(",\"checklistState\":{\"checklist\":[");
            while item < items {
                json.raw(if item == 0 { "{\"name\":\"" } else { ",{\"name\":\"" });
                json.raw(nth(CHECKLIST, item));
                json.raw(if draws.percent(done) { "\",\"checked\":true}" } else { "\",\"checked\":false}" });
                item += 1;
            }
            json.raw("]}");
        }
        json.raw("}");
    }

    fn aml_cases(&self, draws: &mut Draws, json: &mut Json<'_>) {
        let count = match self.facts.created_by {
            "byOngoingAmlHit" => 1 + draws.skewed(3),
            _ if draws.percent(88) => return,
            _ => draws.below(2),
        };
        json.list("amlCases", count, |json| {
            json.raw("{\"amlCaseId\":\"aml");
            json.hex(draws.next(), 12);
            json.raw("\"}");
        });
    }

    fn tags(&self, draws: &mut Draws, json: &mut Json<'_>) {
        let bases = TAG_BASES.len() as u64;
        let count = match draws.below(100) {
            0..12 => return,
            12..25 => 0,
            _ => 1 + draws.skewed(6),
        };
        json.distinct("tags", count, bases * TAG_SUFFIXES.len() as u64, draws, |json, tag| {
            json.raw("\"");
            json.raw(nth(TAG_BASES, tag % bases));
            json.raw(nth(TAG_SUFFIXES, tag / bases));
            json.raw("\"");
        });
    }
}
