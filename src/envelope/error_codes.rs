//! The table of error codes. Every error response of the service has an entry in the table, except some responses on the admin
//! socket. The `type` of a response without an entry is another name, such as the `code` of a `StoreErrorKind`.
//!
//! Tests compare the table with the responses, with the docs of the module `service`, and with the schema in the OpenAPI document.

use crate::error::{ErrorKind, Errors};

/// An entry of the table of error codes. Its `errorCode` and `type` tell clients which error occurred.
///
/// The meaning of an `errorCode` never changes. Its first digit is the first digit of the HTTP status.
///
/// ```
/// use casefilter::envelope::ErrorCode;
/// let row = ErrorCode::ALL.iter().find(|row| row.error_type() == "InvalidShareTokenException");
/// assert_eq!(row.map(|row| (row.number(), row.status())), Some((4011, 401)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode {
    number: u32,
    error_type: &'static str,
    status: u16,
    meaning: &'static str,
    kind: Option<ErrorKind>,
}

const fn row(number: u32, error_type: &'static str, status: u16, meaning: &'static str) -> ErrorCode {
    ErrorCode { number, error_type, status, meaning, kind: None }
}

/// Creates an entry for an error in a body or a query parameter. Its status is 400.
const fn parameters(number: u32, kind: ErrorKind, meaning: &'static str) -> ErrorCode {
    ErrorCode { number, error_type: "InvalidParametersException", status: 400, meaning, kind: Some(kind) }
}

pub(crate) const BAD_REQUEST: ErrorCode =
    row(4000, "BadRequestException", 400, "the request is not valid HTTP, such as a body that ends early");
pub(crate) const INVALID_APPLICANT: ErrorCode = row(
    4001,
    "InvalidApplicantException",
    400,
    "no applicant has the id, or the applicant is a company (operation 5) or an individual (company data)",
);
pub(crate) const INVALID_PARAMETERS: ErrorCode = row(
    4100,
    "InvalidParametersException",
    400,
    "the body or a query parameter is wrong, in a way not listed below",
);
pub(crate) const ANSWER_TOO_LARGE: ErrorCode = row(
    4128,
    "InvalidParametersException",
    400,
    "a page over the byte limit of a response; the description has a `limit` that fits",
);
pub(crate) const UNAUTHORIZED: ErrorCode =
    row(4010, "UnauthorizedException", 401, "token, signature or timestamp is missing or wrong");
pub(crate) const INVALID_SHARE_TOKEN: ErrorCode = row(
    4011,
    "InvalidShareTokenException",
    401,
    "the share token is missing, unknown, expired, used, or for another client",
);
pub(crate) const FORBIDDEN: ErrorCode =
    row(4030, "ForbiddenException", 403, "the app token lacks the permission");
const NOT_FOUND: ErrorCode = row(4040, "NotFoundException", 404, "unknown path");
pub(crate) const NO_APPLICANT: ErrorCode = row(
    4041,
    "ApplicantNotFoundException",
    404,
    "no applicant has the id, or the applicant is not a company (company data)",
);
pub(crate) const NO_AML_CASE: ErrorCode =
    row(4042, "AmlCaseNotFoundException", 404, "the applicant has no such active AML case, or is unknown");
pub(crate) const NO_STANDING_FILTER: ErrorCode =
    row(4043, "StandingFilterNotFoundException", 404, "the token has no standing filter of this name");
pub(crate) const NO_STANDING: ErrorCode = row(
    4044,
    "NoStandingFiltersException",
    404,
    "the service has no standing filters: it searches PostgreSQL, or its database has an earlier format",
);
pub(crate) const NO_HIT: ErrorCode =
    row(4045, "AmlHitNotFoundException", 404, "the AML case has no hit with the id");
const METHOD_NOT_ALLOWED: ErrorCode =
    row(4050, "MethodNotAllowedException", 405, "the path does not support the method");
const TIMEOUT: ErrorCode = row(4080, "RequestTimeoutException", 408, "the body did not arrive in time");
const CONFLICT: ErrorCode =
    row(4090, "ConflictException", 409, "admin socket: another database, or a file that already exists");
pub(crate) const OTHER_VERSION: ErrorCode =
    row(4091, "ReviewConflictException", 409, "the review of the hit does not have the version `ifVersion`");
const TOO_LARGE: ErrorCode = row(4130, "PayloadTooLargeException", 413, "the body is over the limit");
pub(crate) const EVENTS_GONE: ErrorCode = row(
    4140,
    "EventsGoneException",
    410,
    "events that are not kept any more, that have not happened yet, or that are from before a change of the token's restrictions",
);
const MEDIA_TYPE: ErrorCode =
    row(4150, "UnsupportedMediaTypeException", 415, "admin socket: the format cannot be imported");
const UNPROCESSABLE: ErrorCode = row(4220, "UnprocessableException", 422, "admin socket: data was rejected");
const TOO_MANY: ErrorCode =
    row(4290, "TooManyRequestsException", 429, "a limit of the token or the peer is used up");
const INTERNAL: ErrorCode =
    row(5000, "InternalServerErrorException", 500, "the request could not be answered; the log says why");
pub(crate) const RECORDS_TOO_LARGE: ErrorCode = row(
    5001,
    "RecordsTooLargeException",
    500,
    "the records of the applicant are too large for the memory that one token may use",
);
const NOT_IMPLEMENTED: ErrorCode =
    row(5010, "NotImplementedException", 501, "a transfer coding other than `chunked`");
const UNAVAILABLE: ErrorCode =
    row(5030, "ServiceUnavailableException", 503, "too many requests at once, or the service is not ready");
pub(crate) const NO_TURN: ErrorCode =
    row(5031, "WriteQueueException", 503, "an update waited too long for other writes; nothing was changed");
pub(crate) const SOURCE_UNAVAILABLE: ErrorCode =
    row(5032, "SourceUnavailableException", 503, "PostgreSQL cannot search the cases at the moment");
/// The search was stopped at its deadline.
const SEARCH_TIMEOUT: ErrorCode = ErrorCode {
    kind: Some(ErrorKind::DeadlineExceeded),
    ..row(5033, "SearchTimeoutException", 503, "the search took longer than the service allows")
};
pub(crate) const BODY_SPOOL: ErrorCode =
    row(5034, "BodySpoolException", 503, "the service cannot write a large body to a temporary file");
pub(crate) const AUDIT_LOG: ErrorCode =
    row(5035, "AuditLogException", 503, "the service cannot record requests in its audit log");
const NO_SPACE: ErrorCode = row(5070, "InsufficientStorageException", 507, "admin socket: the disk is full");

impl ErrorCode {
    /// All entries, sorted by `errorCode`.
    pub const ALL: &'static [Self] = &[
        BAD_REQUEST,
        INVALID_APPLICANT,
        UNAUTHORIZED,
        INVALID_SHARE_TOKEN,
        FORBIDDEN,
        NOT_FOUND,
        NO_APPLICANT,
        NO_AML_CASE,
        NO_STANDING_FILTER,
        NO_STANDING,
        NO_HIT,
        METHOD_NOT_ALLOWED,
        TIMEOUT,
        CONFLICT,
        OTHER_VERSION,
        INVALID_PARAMETERS,
        parameters(4101, ErrorKind::Syntax, "not JSON"),
        parameters(4102, ErrorKind::NotUtf8, "not UTF-8"),
        parameters(4103, ErrorKind::WrongType, "a JSON value of the wrong type"),
        parameters(4104, ErrorKind::EmptyBody, "neither `ids` nor `criteria`, or an update without members"),
        parameters(4105, ErrorKind::UnknownKey, "an unknown key or query parameter"),
        parameters(4106, ErrorKind::DuplicateKey, "a duplicate key or query parameter"),
        parameters(4107, ErrorKind::MissingKey, "a missing key"),
        parameters(
            4108,
            ErrorKind::MixedCriterion,
            "a criterion with the keys of both a complex criterion and a field criterion",
        ),
        parameters(4109, ErrorKind::EmptyList, "an empty array where an element is needed"),
        parameters(4110, ErrorKind::UnknownOperator, "an unknown operator"),
        parameters(4111, ErrorKind::UnknownField, "an unknown field"),
        parameters(
            4112,
            ErrorKind::OperatorNotForType,
            "an operator that the type of the field does not support",
        ),
        parameters(4113, ErrorKind::TooManyOperands, "more than one value for an operator that takes one"),
        parameters(4114, ErrorKind::BadNumber, "a value that is not a number"),
        parameters(4115, ErrorKind::BadTimestamp, "a value that is not a timestamp"),
        parameters(4116, ErrorKind::BadBoolean, "a value that is not `true` or `false`"),
        parameters(4117, ErrorKind::BadValue, "a value that is not allowed in its place"),
        parameters(4118, ErrorKind::OrderByMany, "an order by a multi-valued field"),
        parameters(
            4119,
            ErrorKind::BadInteger,
            "a value such as `offset`, `limit`, `after`, `wait`, `ttlInSecs` or `ifVersion` that is not an integer or is out of range",
        ),
        parameters(
            4120,
            ErrorKind::PageTooLarge,
            "a `limit` above the largest page, or a `limit` of a facet above its limit",
        ),
        parameters(
            4121,
            ErrorKind::BadFlag,
            "a `countTotalItems` or `pageCursor` that is not `true` or `false`",
        ),
        parameters(4122, ErrorKind::BodyTooLarge, "a body over the limit of the parser"),
        parameters(4123, ErrorKind::TooDeep, "criteria nested too deeply"),
        parameters(4124, ErrorKind::TooManyCriteria, "more criteria than the limit"),
        parameters(4125, ErrorKind::TooManyValues, "more values than the limit"),
        parameters(4126, ErrorKind::TooManyIds, "more ids than the limit"),
        parameters(4127, ErrorKind::StringTooLong, "a string longer than the limit"),
        ANSWER_TOO_LARGE,
        parameters(4129, ErrorKind::EmptyText, "a string without the text that the operator needs"),
        TOO_LARGE,
        parameters(4131, ErrorKind::TooManySortFields, "an `order` by more fields than the limit"),
        parameters(4132, ErrorKind::DuplicateSortField, "a field that occurs twice in `order`"),
        parameters(4133, ErrorKind::BadCursor, "an `after` that is not a cursor of this order"),
        parameters(4134, ErrorKind::TooManyFacets, "more facets than the limit"),
        parameters(4135, ErrorKind::TooManyBuckets, "a histogram with more buckets than the limit"),
        parameters(
            4136,
            ErrorKind::TooManyFilters,
            "more standing filters, or more bytes of standing filters, than the limit",
        ),
        EVENTS_GONE,
        MEDIA_TYPE,
        UNPROCESSABLE,
        TOO_MANY,
        INTERNAL,
        RECORDS_TOO_LARGE,
        NOT_IMPLEMENTED,
        UNAVAILABLE,
        NO_TURN,
        SOURCE_UNAVAILABLE,
        SEARCH_TIMEOUT,
        BODY_SPOOL,
        AUDIT_LOG,
        NO_SPACE,
    ];

    /// Returns the `errorCode`.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the `type`.
    #[must_use]
    pub fn error_type(&self) -> &'static str {
        self.error_type
    }

    /// Returns the HTTP status of the response.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns a short description of the error.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Returns the entry for the first error in a request.
    pub(crate) fn of_errors(errors: &Errors) -> Self {
        errors.as_slice().first().map_or(INVALID_PARAMETERS, |error| Self::of_kind(error.kind))
    }

    /// Returns the entry for an error of this kind in a body or a parameter.
    pub(crate) fn of_kind(kind: ErrorKind) -> Self {
        Self::ALL.iter().find(|row| row.kind == Some(kind)).copied().unwrap_or(INVALID_PARAMETERS)
    }

    /// Returns the first entry with this status, for an error without further details. If no entry has the status, returns the
    /// general entry for client errors (4000) or for server errors (5000).
    #[cfg(feature = "service")]
    pub(crate) fn of_status(status: u16) -> Self {
        let general = if status < 500 { BAD_REQUEST } else { INTERNAL };
        Self::ALL.iter().find(|row| row.status == status).copied().unwrap_or(general)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write as _;

    use serde_json::Value;

    use super::*;

    #[test]
    fn rows_are_in_order_and_their_numbers_are_unique() {
        let numbers: Vec<u32> = ErrorCode::ALL.iter().map(ErrorCode::number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let mut statuses = BTreeMap::new();
        for row in ErrorCode::ALL {
            let first_digit = u32::from(row.status) / 100;
            assert_eq!(row.number / 1000, first_digit, "{row:?}");
            let status = statuses.entry(row.error_type).or_insert(row.status);
            assert_eq!(*status, row.status, "{row:?}");
            assert!(row.error_type.ends_with("Exception") && !row.meaning.is_empty(), "{row:?}");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn every_kind_that_a_request_can_have_has_a_row() {
        let error = serde_json::from_str::<ErrorKind>("\"\"").unwrap_err().to_string();
        // These kinds are about case documents, files and hosts, and not about requests. A cancelled search has no response.
        let others = [
            "bad_id",
            "case_too_large",
            "too_many_batches",
            "bad_file",
            "catalog_mismatch",
            "no_folded_column",
            "not_in_sql",
            "search_cancelled",
        ];
        for name in error.split('`').skip(1).step_by(2).filter(|name| !name.is_empty()) {
            let kind: ErrorKind = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            let has_row = ErrorCode::of_kind(kind) != INVALID_PARAMETERS;
            assert_eq!(has_row, !others.contains(&name), "{name}: give it a row in ErrorCode::ALL");
        }
    }

    #[test]
    fn the_openapi_document_has_the_table() {
        let document: Value = serde_json::from_str(include_str!("../service/openapi.json")).unwrap();
        let error = &document["components"]["schemas"]["Error"]["properties"];
        // The OpenAPI document does not describe the admin socket.
        let public = || ErrorCode::ALL.iter().filter(|row| !row.meaning.starts_with("admin socket"));
        let numbers: Vec<u32> = public().map(ErrorCode::number).collect();
        let types: BTreeSet<&str> = public().map(ErrorCode::error_type).collect();
        let listed: BTreeSet<&str> =
            error["type"]["enum"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(error["errorCode"]["enum"], serde_json::json!(numbers));
        assert_eq!(listed, types);
        let told = error["errorCode"]["description"].as_str().unwrap();
        for row in public() {
            let line = format!("- `{}`: {}", row.number, row.meaning);
            assert!(told.lines().any(|own| own == line), "openapi.json lacks the line {line}");
        }
    }

    #[test]
    fn the_docs_have_the_table() {
        let mut table = String::new();
        for row in ErrorCode::ALL {
            let ErrorCode { number, error_type, status, meaning, .. } = row;
            let _ = writeln!(table, "//! | {number} | `{error_type}` | {status} | {meaning} |");
        }
        let docs = include_str!("../service/mod.rs");
        assert!(docs.contains(&table), "src/service/mod.rs lacks this table:\n{table}");
    }
}
