//! The hits of an AML case: reads and writes the list, and removes the members that say who has reviewed a hit.

use serde_json::value::RawValue;

use super::members::Members;
use super::schemas::REVIEW_VERSION;
use crate::error::{Error, ErrorKind};
use crate::json;

/// The members of a review that name the reviewer, or that show that a client has made the review. Copies of profiles do not have
/// these members.
const REVIEWERS: [&str; 3] = ["reviewerName", "reviewedBy", REVIEW_VERSION];

/// Returns the texts of the hits. `hits` is the text of the member `hits`.
///
/// # Errors
/// Returns an error if the text is neither a list nor `null`.
pub(super) fn hits_of(hits: &str) -> json::Result<Vec<&RawValue>> {
    let hits: Option<Vec<&RawValue>> = serde_json::from_str(hits)
        .map_err(|fault| Box::new(Error::new(ErrorKind::Syntax, 0, fault.to_string(), "a list of hits")))?;
    Ok(hits.unwrap_or_default())
}

/// Returns the text of a list with these elements.
pub(super) fn list<'t>(elements: impl IntoIterator<Item = &'t str>) -> String {
    let mut out = String::from("[");
    for element in elements {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(element);
    }
    out.push(']');
    out
}

/// Returns a copy of the hits. Leaves out the members that name the reviewer of a hit, or that show that a client has reviewed the
/// hit.
///
/// # Errors
/// Returns an error if the text is not a list of hits.
pub(super) fn without_reviewers(hits: &str) -> json::Result<String> {
    let mut copies = Vec::new();
    for text in hits_of(hits)? {
        let mut hit = Members::read(text.get())?;
        if let Some(review) = hit.get("review").filter(|review| review.starts_with('{')).map(str::to_owned) {
            let mut review = Members::read(&review)?;
            REVIEWERS.iter().for_each(|name| review.remove(name));
            hit.set("review", review.to_json());
        }
        copies.push(hit.to_json());
    }
    Ok(list(copies.iter().map(String::as_str)))
}
