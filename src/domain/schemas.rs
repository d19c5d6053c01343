//! The schemas of all records and of the preview.

use super::schema::{Kind, Member, Schema, Visibility};

/// The verification steps that the interface document lists. An import also accepts any other step, and notes it.
pub(super) const STEPS: &[&str] = &[
    "COMPANY",
    "COMPANY_DATA",
    "COMPANY_DOCUMENTS",
    "COMPANY_BENEFICIARIES",
    "APPLICANT_DATA",
    "IDENTITY",
    "IDENTITY2",
    "IDENTITY3",
    "IDENTITY4",
    "SELFIE",
    "SELFIE2",
    "PROOF_OF_RESIDENCE",
    "PROOF_OF_RESIDENCE2",
    "QUESTIONNAIRE",
    "QUESTIONNAIRE2",
    "QUESTIONNAIRE3",
    "QUESTIONNAIRE4",
    "PHONE_VERIFICATION",
    "EMAIL_VERIFICATION",
    "PAYMENT_METHODS",
    "E_KYC",
    "E_SIGN",
];

/// The types of levels: levels for ordinary verification, and levels for applicant actions.
pub(super) const LEVEL_TYPES: &[&str] = &[STANDARD_LEVEL, ACTIONS_LEVEL];
/// The default type of a level.
const STANDARD_LEVEL: &str = "standard";
/// The type of a level for applicant actions.
pub(super) const ACTIONS_LEVEL: &str = "applicantActions";

/// The parts of the step `COMPANY`.
pub(super) const PARTS: &[&str] = &["company", "ubos", "shareholders", "representatives", "directors"];

const fn id(name: &'static str) -> Member {
    Member::new(name, Kind::Id).required()
}

const fn text(name: &'static str) -> Member {
    Member::new(name, Kind::Text)
}

/// Returns an optional member with an id that no other record refers to.
const fn loose_id(name: &'static str) -> Member {
    Member::new(name, Kind::LooseId)
}

const fn of(name: &'static str, kind: Kind) -> Member {
    Member::new(name, kind)
}

const fn object(name: &'static str, schema: &'static Schema) -> Member {
    Member::new(name, Kind::Object(schema))
}

const fn list(name: &'static str, kind: &'static Kind) -> Member {
    Member::new(name, Kind::List(kind))
}

static TEXT: Kind = Kind::Text;
static LOOSE_ID: Kind = Kind::LooseId;

pub(super) static APPLICANT: Schema = Schema {
    members: &[
        id("id"),
        of("type", Kind::OneOf(&["individual", "company"])).required(),
        loose_id("clientId").decisive(),
        loose_id("inspectionId"),
        loose_id("externalUserId"),
        of("createdAt", Kind::Moment),
        object("info", &INFO),
        object("fixedInfo", &INFO),
        text("email"),
        text("phone"),
        text("applicantPlatform"),
        object("agreement", &AGREEMENT),
        object("requiredIdDocs", &REQUIRED_ID_DOCS),
        list("questionnaires", &Kind::Object(&QUESTIONNAIRE)),
        object("review", &REVIEW),
        text("lang"),
        object(INFO_CHANGED_AT, &CHANGED_AT).visible_to(Visibility::Internal),
        object(COMPANY_INFO_CHANGED_AT, &COMPANY_CHANGED_AT).visible_to(Visibility::Internal),
        list(COPIED_FROM, &Kind::Object(&ORIGIN)).visible_to(Visibility::Internal),
    ],
};

/// The member of a copied applicant that lists its origins: the original applicant, and after it each copy that led to this one.
pub(super) const COPIED_FROM: &str = "copiedFrom";

static ORIGIN: Schema = Schema { members: &[id("applicantId"), of("at", Kind::ZonedMoment)] };

/// The member of an applicant that has the times at which operation 5 (update of extracted info) changed members of `info`.
pub(super) const INFO_CHANGED_AT: &str = "infoChangedAt";

static CHANGED_AT: Schema = Schema {
    members: &[
        of("firstName", Kind::ZonedMoment),
        of("lastName", Kind::ZonedMoment),
        of("dob", Kind::ZonedMoment),
        of("placeOfBirth", Kind::ZonedMoment),
        of("countryOfBirth", Kind::ZonedMoment),
        of("stateOfBirth", Kind::ZonedMoment),
    ],
};

/// The member of an applicant that has the times at which clients changed members of `info.companyInfo`.
pub(super) const COMPANY_INFO_CHANGED_AT: &str = "companyInfoChangedAt";

static COMPANY_CHANGED_AT: Schema = Schema {
    members: &[
        of("companyName", Kind::ZonedMoment),
        of("registrationNumber", Kind::ZonedMoment),
        of("country", Kind::ZonedMoment),
        of("legalAddress", Kind::ZonedMoment),
        of("incorporatedOn", Kind::ZonedMoment),
        of("type", Kind::ZonedMoment),
        of("taxId", Kind::ZonedMoment),
        of("email", Kind::ZonedMoment),
        of("phone", Kind::ZonedMoment),
        of("website", Kind::ZonedMoment),
    ],
};

/// The member of `info` that has the data of a company.
pub(super) const COMPANY_INFO: &str = "companyInfo";

pub(super) static COMPANY: Schema = Schema {
    members: &[
        text("companyName"),
        text("registrationNumber"),
        of("country", Kind::Country),
        text("legalAddress"),
        of("incorporatedOn", Kind::Date),
        text("type"),
        text("taxId"),
        text("email").visible_to(Visibility::Personal),
        text("phone").visible_to(Visibility::Personal),
        text("website"),
    ],
};

static INFO: Schema = Schema {
    members: &[
        text("firstName"),
        text("firstNameEn"),
        text("lastName"),
        text("lastNameEn"),
        text("aliasName"),
        of("dob", Kind::Date),
        of("country", Kind::Country),
        text("placeOfBirth"),
        text("placeOfBirthEn"),
        of("countryOfBirth", Kind::Country),
        text("stateOfBirth"),
        list("idDocs", &Kind::Object(&ID_DOC)),
        object(COMPANY_INFO, &COMPANY),
    ],
};

static ID_DOC: Schema = Schema {
    members: &[
        text("idDocType"),
        of("country", Kind::Country),
        text("firstName"),
        text("firstNameEn"),
        text("lastName"),
        text("lastNameEn"),
        text("aliasName"),
        of("issuedDate", Kind::Date),
        of("validUntil", Kind::Date),
        text("number"),
        of("dob", Kind::Date),
        text("mrzLine1"),
        text("mrzLine2"),
        text("mrzLine3"),
        of("termless", Kind::Boolean),
    ],
};

static AGREEMENT: Schema = Schema {
    members: &[
        list("items", &Kind::Object(&AGREEMENT_ITEM)),
        text("createdAt"),
        text("acceptedAt"),
        text("source"),
        list("recordIds", &LOOSE_ID),
    ],
};

static AGREEMENT_ITEM: Schema = Schema {
    members: &[
        loose_id("id"),
        text("acceptedAt"),
        text("source"),
        text("type"),
        list("recordIds", &LOOSE_ID),
    ],
};

/// The schema of the steps in the preview of a profile. The steps are copied from the level of the applicant.
pub(super) static REQUIRED_ID_DOCS: Schema =
    Schema { members: &[list("docSets", &Kind::Object(&SHOWN_DOC_SET))] };

static SHOWN_DOC_SET: Schema = Schema {
    members: &[
        text("idDocSetType"),
        list("types", &TEXT),
        text("videoRequired"),
        object("nfcVerificationSettings", &NFC_SETTINGS),
    ],
};

static NFC_SETTINGS: Schema = Schema { members: &[text("mode")] };

static QUESTIONNAIRE: Schema = Schema { members: &[id("id")] };

static REVIEW: Schema = Schema {
    members: &[
        loose_id("reviewId"),
        loose_id("attemptId"),
        of("attemptCnt", Kind::Integer),
        of("elapsedSincePendingMs", Kind::Integer),
        of("elapsedSinceQueuedMs", Kind::Integer),
        of("reprocessing", Kind::Boolean),
        of("levelName", Kind::Id),
        of("createDate", Kind::ZonedMoment),
        of("reviewDate", Kind::ZonedMoment),
        object("reviewResult", &ANSWER),
        text("reviewStatus"),
        of("priority", Kind::Integer),
    ],
};

static ANSWER: Schema = Schema { members: &[text("reviewAnswer")] };

/// The schema of a preview. A preview contains only these members of an applicant.
pub(super) static PREVIEW: Schema = Schema {
    members: &[
        text("id"),
        of("createdAt", Kind::Moment),
        loose_id("clientId"),
        loose_id("inspectionId"),
        loose_id("externalUserId"),
        object("info", &PREVIEW_INFO),
        text("email"),
        text("applicantPlatform"),
        object("agreement", &AGREEMENT),
        object("requiredIdDocs", &REQUIRED_ID_DOCS),
        object("review", &REVIEW),
        text("lang"),
        text("type"),
    ],
};

static PREVIEW_INFO: Schema = Schema {
    members: &[
        text("firstName"),
        text("firstNameEn"),
        text("lastName"),
        text("lastNameEn"),
        text("aliasName"),
        of("dob", Kind::Date),
        of("country", Kind::Country),
        list("idDocs", &Kind::Object(&ID_DOC)),
    ],
};

pub(super) static LEVEL: Schema = Schema {
    members: &[
        id("name"),
        of("type", Kind::OneOf(LEVEL_TYPES)).decisive(),
        list("docSets", &Kind::Object(&DOC_SET)).required(),
    ],
};

/// A step of a level.
static DOC_SET: Schema = Schema {
    members: &[
        of("idDocSetType", Kind::Step).required(),
        list("types", &TEXT).decisive(),
        text("videoRequired"),
        object("nfcVerificationSettings", &NFC_SETTINGS),
        list("countries", &Kind::Country).decisive(),
        of("minDocuments", Kind::Count).decisive(),
        of("minImages", Kind::Map(&Kind::Count)).decisive(),
        of("dependsOn", Kind::Step).decisive(),
        list("parts", &Kind::OneOf(PARTS)).decisive(),
        list("fields", &TEXT).decisive(),
        of("questionnaireId", Kind::Id).decisive(),
    ],
};

pub(super) static DOCUMENT: Schema = Schema {
    members: &[
        id("id"),
        id("applicantId"),
        of("step", Kind::Step).required(),
        of("createdAt", Kind::Moment).required(),
        of("part", Kind::OneOf(PARTS)).decisive(),
        text("idDocType"),
        of("country", Kind::Country),
        of("active", Kind::Boolean).decisive(),
        list("images", &Kind::Object(&IMAGE)),
        object("reviewResult", &REVIEW_RESULT),
    ],
};

static IMAGE: Schema = Schema {
    members: &[
        id("imageId"),
        text("idDocSubType"),
        of("active", Kind::Boolean).decisive(),
        object("reviewResult", &REVIEW_RESULT),
    ],
};

pub(super) static REVIEW_RESULT: Schema = Schema {
    members: &[
        text("moderationComment"),
        text("clientComment"),
        of("reviewAnswer", Kind::OneOf(&["GREEN", "RED"])),
        list("rejectLabels", &TEXT),
        of("reviewRejectType", Kind::OneOf(&["RETRY", "FINAL"])),
        list("buttonIds", &LOOSE_ID),
    ],
};

pub(super) static AML_CASE: Schema = Schema {
    members: &[
        id("id"),
        of("createdAt", Kind::Moment).required(),
        of("active", Kind::Boolean).decisive().visible_to(Visibility::Internal),
        of("targetEntityType", Kind::OneOf(&["applicant"])).required(),
        id("targetEntityId"),
        text("vendorAttribution"),
        object("ongoingMonitoring", &MONITORING),
        object("review", &ANSWER),
        list("riskLabels", &TEXT),
        list("hits", &Kind::Object(&HIT)),
        object("vendorInfo", &VENDOR_INFO),
    ],
};

static MONITORING: Schema = Schema { members: &[of("enabled", Kind::Boolean)] };

static HIT: Schema = Schema {
    members: &[
        id("id"),
        text("name"),
        text("entityType"),
        list("birthDates", &Kind::Date),
        list("birthYears", &Kind::DateOrYear),
        of("monitoringUpdatedAt", Kind::Moment),
        list("sources", &Kind::Object(&SOURCE)),
        object("review", &HIT_REVIEW),
        list("riskLabels", &TEXT),
        object("vendorInfo", &HIT_VENDOR_INFO),
    ],
};

static SOURCE: Schema = Schema {
    members: &[
        of("type", Kind::OneOf(&["watchlist", "media", "related"])),
        text("url"),
        text("name"),
        of("startDate", Kind::Moment),
        of("endDate", Kind::Moment),
        of("publishedDate", Kind::Moment),
        text("title"),
        text("annotation"),
    ],
};

/// The statuses of a hit.
pub(super) const MATCH_STATUSES: &[&str] = &["unknown", "potential_match", "false_positive", "true_positive"];

/// The member of a hit's review that has its version. The version increases when a client reviews the hit, and when an import
/// replaces such a review.
pub(super) const REVIEW_VERSION: &str = "version";

pub(super) static HIT_REVIEW: Schema = Schema {
    members: &[
        of("matchStatus", Kind::OneOf(MATCH_STATUSES)),
        of("whitelisted", Kind::Boolean),
        of("modifiedAt", Kind::Moment),
        text("reviewerName").visible_to(Visibility::Personal),
        text("reviewedBy").visible_to(Visibility::Personal),
        of(REVIEW_VERSION, Kind::Integer),
    ],
};

static VENDOR_INFO: Schema = Schema {
    members: &[
        list("warnings", &TEXT),
        object("searchRequestEnrichment", &ENRICHMENT),
        loose_id("segmentId"),
    ],
};

static ENRICHMENT: Schema =
    Schema { members: &[text("linguisticGroup"), list("nameRarity", &Kind::Object(&RARITY))] };

static RARITY: Schema = Schema { members: &[text("country"), text("rarity"), text("rarityDescription")] };

static HIT_VENDOR_INFO: Schema = Schema {
    members: &[
        object("dataSource", &DATA_SOURCE),
        text("riskLevel"),
        list("riskFactors", &Kind::Object(&RISK_FACTOR)),
        text("evidence"),
        text("confidenceLevel"),
        of("nameMatchScore", Kind::Number),
        text("title"),
        text("sourceDetail"),
        text("datePublished"),
        text("url"),
        list("attributes", &Kind::Object(&ATTRIBUTE)).visible_to(Visibility::Personal),
        list("clusteredLinks", &Kind::Object(&CLUSTERED_LINK)).visible_to(Visibility::Personal),
    ],
};

static DATA_SOURCE: Schema =
    Schema { members: &[text("shortName"), text("longName"), text("maxConfidenceLevel")] };

static RISK_FACTOR: Schema = Schema { members: &[text("riskLevel"), text("name")] };

static ATTRIBUTE: Schema = Schema { members: &[text("name"), text("value")] };

static CLUSTERED_LINK: Schema =
    Schema { members: &[text("title"), text("sourceDetail"), text("datePublished"), text("url")] };
