//! Parses the responses of a service: frames, answers and errors.

use bytes::BytesMut;
use casefilter::{ImportError, StoreErrorKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::refusals::Importing;

/// Removes the first frame from the received bytes. Returns `None` if the frame is not complete.
pub(super) fn next_frame(waiting: &mut BytesMut) -> Option<(u8, BytesMut)> {
    const HEAD_BYTES: usize = 5;
    let (sort, length) = match waiting.get(..HEAD_BYTES)? {
        &[sort, a, b, c, d] => (sort, u32::from_be_bytes([a, b, c, d])),
        _ => return None,
    };
    let whole = usize::try_from(length).ok()?.checked_add(HEAD_BYTES)?;
    if waiting.len() < whole {
        waiting.reserve(whole.saturating_sub(waiting.len()));
        return None;
    }
    let mut frame = waiting.split_to(whole);
    Some((sort, frame.split_off(HEAD_BYTES)))
}

/// The error response of a service.
#[derive(Deserialize)]
struct Told {
    description: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    refusal: Option<ImportError>,
}

/// The type of the error for a search that exceeded its timeout.
const SEARCH_TIMEOUT: &str = "SearchTimeoutException";

/// Parses the response of a service: an answer or an error. If the request is an import, `importing` describes it.
pub(super) fn read_answer<T: DeserializeOwned>(
    is_good: bool,
    body: &[u8],
    importing: Option<Importing>,
) -> Result<T, Failure> {
    let strange = |error: serde_json::Error| {
        let error = error.to_string();
        Failure::Failed(format!(
            "this version of casefilter does not know the answer of the service: {}",
            escape(&error)
        ))
    };
    if is_good {
        return serde_json::from_slice(body).map_err(strange);
    }
    let told: Told = serde_json::from_slice(body).map_err(strange)?;
    let description = escape(&told.description).into_owned();
    Err(match (told.kind.as_deref(), told.refusal, importing) {
        (Some("refused"), Some(refusal), Some(importing)) => importing.refused(&refusal),
        (Some("refused"), ..) => Failure::Refused(description),
        (Some(SEARCH_TIMEOUT), ..) => Failure::Stopped(description),
        (Some(kind), ..) if kind == StoreErrorKind::HistoryGone.code() => Failure::MomentGone(description),
        _ => Failure::Failed(description),
    })
}
