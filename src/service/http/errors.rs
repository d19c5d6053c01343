//! The errors of requests (`Failure`), and the JSON envelope of error responses.

#[cfg(unix)]
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::domain::{Cause, DomainError, DomainErrorKind};
#[cfg(unix)]
use crate::engine::ImportError;
use crate::envelope::Envelope;
use crate::envelope::error_codes::{self, ErrorCode};
use crate::error::{Error, ErrorKind, Errors};
#[cfg(unix)]
use crate::service::audit::record::Note;
use crate::service::auth::permission::Permission;
use crate::store::{StoreError, StoreErrorKind};

/// An error that ends a request. It becomes the error response.
#[derive(Clone, Debug)]
pub(in crate::service) struct Failure {
    status: StatusCode,
    description: String,
    code: ErrorCode,
    /// If set, the member `type` of the error response on the admin socket. The response then has no member `errorCode`.
    error_type: Option<&'static str>,
    /// The cause of the error, for the log and for operators. Clients do not see it.
    cause: Option<Box<str>>,
    /// The case or record that an import rejected.
    #[cfg(unix)]
    refusal: Option<Box<ImportError>>,
    /// The note for the audit log, for a request of an operator.
    #[cfg(unix)]
    note: Option<Arc<Note>>,
    /// True if the connection must be closed after the response.
    closes: bool,
    /// True if a 429 or 503 response has `Retry-After`. False if it is unknown when a new attempt can succeed.
    says_when: bool,
}

/// The value of `Retry-After` in 429 and 503 responses, in seconds.
const RETRY_AFTER_S: &str = "1";

impl Failure {
    pub(in crate::service) fn new(status: StatusCode, description: impl Into<String>) -> Self {
        Self {
            status,
            description: description.into(),
            code: ErrorCode::of_status(status.as_u16()),
            error_type: None,
            cause: None,
            #[cfg(unix)]
            refusal: None,
            #[cfg(unix)]
            note: None,
            closes: false,
            says_when: true,
        }
    }

    /// Sets an error code that is more specific than the default code of the status.
    pub(in crate::service) fn coded(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    /// Creates a 401 error. Its description is the same for an unknown token, a wrong signature and a wrong timestamp.
    pub(in crate::service) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unknown app token, bad signature, or timestamp outside the allowed window",
        )
    }

    /// Sets the cause, for the log.
    pub(in crate::service) fn because(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into().into()), ..self }
    }

    pub(in crate::service) fn forbidden(permission: Permission) -> Self {
        let description = format!("the token does not have the permission `{}`", permission.name());
        Self::new(StatusCode::FORBIDDEN, description)
    }

    pub(in crate::service) fn overloaded() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once, try again in a moment")
    }

    /// Creates a 429 error for a request for events, if the token has `most` such requests already.
    pub(in crate::service) fn too_many_listeners(most: usize) -> Self {
        let description = format!(
            "the token has {most} requests for events already, which is the maximum; end one of them first"
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, description)
    }

    /// Creates a 429 error for a token that has sent more than `most` requests in a second.
    pub(in crate::service) fn too_fast(most: u32) -> Self {
        let description =
            format!("the token has sent more than {most} requests in a second, try again in a moment");
        Self::new(StatusCode::TOO_MANY_REQUESTS, description)
    }

    /// Creates a 429 error for a token that would have more than `most` bytes in flight.
    pub(in crate::service) fn too_many_bytes(most: usize) -> Self {
        let description = format!(
            "the requests and responses of the token have more than {most} bytes in flight, try again in a moment"
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, description)
    }

    /// Returns true for a request that was [refused](Self::overloaded) because a limit on work or memory is used up.
    pub(in crate::service) fn is_overload(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE && self.code == Self::overloaded().code
    }

    /// Creates a 503 error for an update that waited too long for other writes.
    pub(in crate::service) fn no_turn() -> Self {
        let description = "other writes are still running, try again in a moment; nothing was changed";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, description).coded(error_codes::NO_TURN)
    }

    /// Creates a 503 error for a temporary error of the case source.
    #[cfg(feature = "postgres")]
    pub(in crate::service) fn unavailable(cause: impl Into<String>) -> Self {
        let description = "the cases cannot be searched at the moment, try again in a moment";
        let failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, description);
        Self { cause: Some(cause.into().into()), ..failure.coded(error_codes::SOURCE_UNAVAILABLE) }
    }

    /// Creates a 500 error for an answer that needs `needed` bytes of memory. A token can never get more than `most` bytes.
    pub(in crate::service) fn records_too_large(needed: usize, most: usize) -> Self {
        let description = "the records of the applicant are larger than this service can answer with; the log says what to change";
        let cause = format!(
            "the answer needs {needed} bytes of memory, and a token gets at most {most}: set `outgoing_bytes` to at least {}",
            needed.saturating_mul(2)
        );
        let failure = Self::new(StatusCode::INTERNAL_SERVER_ERROR, description);
        Self { cause: Some(cause.into()), ..failure.coded(error_codes::RECORDS_TOO_LARGE) }
    }

    /// Creates a 503 error for a body whose temporary file cannot be written or read.
    pub(in crate::service) fn unspooled(cause: String) -> Self {
        let description = "the service cannot keep a body of this size at the moment, try again later or send a smaller one";
        let failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, description);
        Self { cause: Some(cause.into()), ..failure.coded(error_codes::BODY_SPOOL) }
    }

    /// Creates a 503 error for a request that could not be recorded in the audit log. The cause is logged only once.
    pub(in crate::service) fn unrecorded() -> Self {
        let description = "the service cannot record requests at the moment, try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, description).coded(error_codes::AUDIT_LOG)
    }

    /// Creates a 503 error for a search that took too long. Also used for a cancelled search, for which no response is sent.
    pub(in crate::service) fn stopped() -> Self {
        let description =
            "the search took longer than the service allows, search for fewer cases or try again later";
        let code = ErrorCode::of_kind(ErrorKind::DeadlineExceeded);
        Self::new(StatusCode::SERVICE_UNAVAILABLE, description).coded(code)
    }

    pub(in crate::service) fn internal(cause: impl Into<String>) -> Self {
        let description = "the request could not be answered; the log says why";
        Self { cause: Some(cause.into().into()), ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, description) }
    }

    /// Sets the note for the audit log about a request of an operator.
    #[cfg(unix)]
    pub(in crate::service) fn noted(self, note: Note) -> Self {
        Self { note: Some(Arc::new(note)), ..self }
    }

    /// Makes the service close the connection after the response.
    pub(in crate::service) fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    /// Sets the member `type` of the error response on the admin socket. The response then has no member `errorCode`.
    #[cfg(unix)]
    pub(in crate::service) fn typed(self, error_type: &'static str) -> Self {
        Self { error_type: Some(error_type), ..self }
    }

    /// Converts an error of the store for an operator, with the full message of the store.
    #[cfg(unix)]
    pub(in crate::service) fn of_store(error: &StoreError) -> Self {
        let status = match error.kind() {
            StoreErrorKind::RejectedDocument => StatusCode::UNPROCESSABLE_ENTITY,
            StoreErrorKind::Exists => StatusCode::CONFLICT,
            StoreErrorKind::NotFound => StatusCode::NOT_FOUND,
            StoreErrorKind::HistoryGone => StatusCode::GONE,
            // The store recovers by itself, so the request may succeed later.
            StoreErrorKind::Failed => StatusCode::SERVICE_UNAVAILABLE,
            StoreErrorKind::TemporaryFile => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let refusal = error.import_error().cloned().map(Box::new);
        Self { refusal, ..Self::new(status, error.to_string()).typed(error.kind().code()) }
    }

    /// Converts the error of a rejected case or record of an import over the admin socket.
    #[cfg(all(unix, feature = "arrow"))]
    pub(in crate::service) fn of_refusal(refusal: &ImportError) -> Self {
        let failure = Self::new(StatusCode::UNPROCESSABLE_ENTITY, refusal.to_string());
        Self {
            refusal: Some(Box::new(refusal.clone())),
            ..failure.typed(StoreErrorKind::RejectedDocument.code())
        }
    }

    /// Sets the description.
    #[cfg(unix)]
    pub(in crate::service) fn described(self, description: String) -> Self {
        Self { description, ..self }
    }

    /// Returns true for the error of a search that was [stopped](Self::stopped).
    pub(in crate::service) fn is_stop(&self) -> bool {
        self.code == ErrorCode::of_kind(ErrorKind::DeadlineExceeded)
    }

    /// Returns true for a body that could not be [spooled](Self::unspooled).
    pub(in crate::service) fn is_spool_fault(&self) -> bool {
        self.code == error_codes::BODY_SPOOL
    }

    /// Creates a 507 error for a temporary file of an import that cannot be written or read.
    #[cfg(unix)]
    pub(in crate::service) fn temporary_file(description: String) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, description).typed(StoreErrorKind::TemporaryFile.code())
    }

    /// Returns true for an error of the service with a 5xx status. Returns false for an error of a temporary file, and for an
    /// update that waited too long. If the result is true for the error of a write, the database file probably cannot be written.
    pub(in crate::service) fn is_write_failure(&self) -> bool {
        self.status.is_server_error()
            && self.error_type != Some(StoreErrorKind::TemporaryFile.code())
            && self.code != error_codes::NO_TURN
    }

    pub(in crate::service) fn status(&self) -> StatusCode {
        self.status
    }

    pub(in crate::service) fn description(&self) -> &str {
        &self.description
    }

    pub(in crate::service) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    pub(in crate::service) fn envelope(self, correlation_id: String) -> Envelope {
        Envelope {
            code: self.status.as_u16(),
            correlation_id,
            description: self.description,
            error_code: self.error_type.is_none().then(|| self.code.number()),
            error_type: Some(self.error_type.unwrap_or(self.code.error_type())),
        }
    }

    /// Creates the error response for a client. The envelope contains this correlation id.
    pub(in crate::service) fn respond(self, correlation_id: String) -> Response {
        let (status, closes, says_when) = (self.status, self.closes, self.says_when);
        Self::response(status, (closes, says_when), &self.envelope(correlation_id))
    }

    /// Creates the error response for an operator. If the failure has a cause, the cause becomes the description. If the failure
    /// has a note, the note becomes an extension of the response.
    #[cfg(unix)]
    pub(in crate::service) fn respond_to_operator(mut self, correlation_id: String) -> Response {
        #[derive(Serialize)]
        struct OperatorEnvelope {
            #[serde(flatten)]
            envelope: Envelope,
            #[serde(skip_serializing_if = "Option::is_none")]
            refusal: Option<Box<ImportError>>,
        }
        let (status, refusal, note) = (self.status, self.refusal.take(), self.note.take());
        let headers = (self.closes, self.says_when);
        if let Some(cause) = self.cause.take() {
            self.description = cause.into();
        }
        let envelope = OperatorEnvelope { envelope: self.envelope(correlation_id), refusal };
        let mut response = Self::response(status, headers, &envelope);
        if let Some(note) = note {
            response.extensions_mut().insert(note);
        }
        response
    }

    fn response(
        status: StatusCode,
        (closes, says_when): (bool, bool),
        envelope: &impl Serialize,
    ) -> Response {
        // Serialising a struct of strings and numbers cannot fail.
        let mut response = json(serde_json::to_vec(envelope).unwrap_or_default());
        *response.status_mut() = status;
        if says_when && [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&status) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        }
        if closes {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Creates a placeholder response that contains the failure. The server later replaces it with the result of
/// [`respond`](Failure::respond), which needs the correlation id.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Creates a 200 response with a JSON body and `Cache-Control: no-store`.
pub(in crate::service) fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        let code = ErrorCode::of_errors(&errors);
        Self::new(StatusCode::BAD_REQUEST, errors.message()).coded(code)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.request_error().is_some_and(Error::is_stop) {
            return Self::stopped();
        }
        // The sort values of a case are too long for the cursor that the client asks for.
        if let Some(error) = error.request_error().filter(|error| error.kind == ErrorKind::StringTooLong) {
            return Self::from(Errors::from(error.clone()));
        }
        Self { status: client_status(&error), ..Self::internal(error.to_string()) }
    }
}

/// Returns the status that a client gets for an error of the store.
fn client_status(error: &StoreError) -> StatusCode {
    match error.kind() {
        // The store recovers by itself, so the request may succeed later.
        StoreErrorKind::Failed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<DomainError> for Failure {
    fn from(error: DomainError) -> Self {
        let status = match error.kind() {
            DomainErrorKind::NotFound => StatusCode::NOT_FOUND,
            DomainErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
            DomainErrorKind::Invalid => StatusCode::BAD_REQUEST,
            DomainErrorKind::Busy => return Self::overloaded(),
            DomainErrorKind::Conflict => StatusCode::CONFLICT,
            DomainErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            DomainErrorKind::Store => {
                let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
                source.map_or(StatusCode::INTERNAL_SERVER_ERROR, client_status)
            }
        };
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause =
            cause.or_else(|| (status == StatusCode::INTERNAL_SERVER_ERROR).then(|| error.to_string()));
        let failure = Self::new(status, error.to_string());
        let code = match error.cause() {
            Cause::NoApplicant => error_codes::NO_APPLICANT,
            Cause::NoAmlCase => error_codes::NO_AML_CASE,
            Cause::InvalidApplicant => error_codes::INVALID_APPLICANT,
            Cause::NoHit => error_codes::NO_HIT,
            Cause::OtherVersion => error_codes::OTHER_VERSION,
            Cause::ShareToken => error_codes::INVALID_SHARE_TOKEN,
            Cause::Body(kind) => ErrorCode::of_kind(kind),
            Cause::Other => failure.code,
        };
        // If there are too many share tokens, the next one may expire only after days.
        let says_when = error.kind() != DomainErrorKind::TooMany;
        Self { cause: cause.map(Into::into), says_when, ..failure.coded(code) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Filter};

    #[test]
    fn a_failure_has_the_code_of_its_cause_or_the_default_code_of_its_status() {
        let of = |failure: Failure| {
            let envelope = failure.envelope(String::new());
            (envelope.code, envelope.error_code, envelope.error_type)
        };
        let errors = Filter::compile(&Catalog::cases(), b"{}").unwrap_err();
        assert_eq!(of(errors.into()), (400, Some(4104), Some("InvalidParametersException")));
        assert_eq!(of(Failure::unauthorized()), (401, Some(4010), Some("UnauthorizedException")));
        assert_eq!(of(Failure::overloaded()), (503, Some(5030), Some("ServiceUnavailableException")));
        assert_eq!(of(Failure::no_turn()), (503, Some(5031), Some("WriteQueueException")));
        let teapot = Failure::new(StatusCode::IM_A_TEAPOT, "");
        assert_eq!(of(teapot), (418, Some(4000), Some("BadRequestException")));
        assert_eq!(of(DomainError::no_applicant("x").into()).1, Some(4041));
        assert_eq!(of(DomainError::no_aml_case().into()).1, Some(4042));
        assert_eq!(of(DomainError::invalid_applicant("x", "").into()).1, Some(4001));
        #[cfg(unix)]
        assert_eq!(of(Failure::overloaded().typed("io")), (503, None, Some("io")));
    }
}
