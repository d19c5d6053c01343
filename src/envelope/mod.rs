//! The error envelope: the JSON object that tells a client which errors its request has.
//!
//! The service (feature `service`) and `casefilter search --requests` respond with it. A host with its own HTTP server can use the
//! same envelope.

pub(crate) mod error_codes;

use crate::error::{Error, ErrorKind, Errors};

pub use error_codes::ErrorCode;

/// The JSON object that describes a failed request. The service sends it, and the command line prints it. The feature `serde` makes
/// it serialisable.
///
#[cfg_attr(feature = "serde", doc = "```")]
#[cfg_attr(not(feature = "serde"), doc = "```ignore")]
/// use casefilter::envelope::Envelope;
/// use casefilter::{Catalog, Filter};
/// let errors = Filter::compile(&Catalog::cases(), b"[]").unwrap_err();
/// let text = serde_json::to_string(&Envelope::invalid("request-1", &errors))?;
/// assert!(text.starts_with(r#"{"code":400,"correlationId":"request-1","description":"Invalid parameters: "#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Envelope {
    /// The HTTP status.
    pub code: u16,
    /// The correlation id of the failed request.
    pub correlation_id: String,
    /// A description of all errors.
    pub description: String,
    /// The `errorCode` of the first error, from the table [`ErrorCode::ALL`]. `None` if `error_type` is not from this table.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub error_code: Option<u32>,
    /// The `type` of the first error, from the table [`ErrorCode::ALL`]. On the admin socket of the service, it may be another name
    /// instead, such as the `code` of a `StoreErrorKind`.
    #[cfg_attr(feature = "serde", serde(rename = "type", skip_serializing_if = "Option::is_none"))]
    pub error_type: Option<&'static str>,
}

impl Envelope {
    /// Creates the envelope for a request with an invalid body or invalid parameters. Its status is 400.
    #[must_use]
    pub fn invalid(correlation_id: impl Into<String>, errors: &Errors) -> Self {
        let row = ErrorCode::of_errors(errors);
        Self {
            code: 400,
            correlation_id: correlation_id.into(),
            description: errors.message(),
            error_code: Some(row.number()),
            error_type: Some(row.error_type()),
        }
    }

    /// Creates the envelope for a search that was stopped: at its [`Deadline`](crate::Deadline), or by its
    /// [`CancelToken`](crate::CancelToken). Its status is 503.
    ///
    /// [`Error::is_stop`] returns true for the error of such a search.
    ///
    /// ```
    /// use casefilter::envelope::Envelope;
    /// use casefilter::{CancelToken, Catalog, Deadline, Engine, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// let late = SearchRequest::new(Filter::all(engine.catalog())).with_deadline(Deadline::new(|| true));
    /// let envelope = Envelope::stopped("request-1", &engine.search(&late).unwrap_err());
    /// assert_eq!((envelope.code, envelope.error_code), (503, Some(5033)));
    /// assert_eq!(envelope.description, "the search was stopped at its deadline");
    ///
    /// let token = CancelToken::new();
    /// token.cancel();
    /// let cancelled = SearchRequest::new(Filter::all(engine.catalog())).with_cancel(token);
    /// assert_eq!(Envelope::stopped("request-2", &engine.search(&cancelled).unwrap_err()).code, 503);
    /// ```
    #[must_use]
    pub fn stopped(correlation_id: impl Into<String>, error: &Error) -> Self {
        let row = ErrorCode::of_kind(ErrorKind::DeadlineExceeded);
        Self {
            code: row.status(),
            correlation_id: correlation_id.into(),
            description: error.to_string(),
            error_code: Some(row.number()),
            error_type: Some(row.error_type()),
        }
    }
}
