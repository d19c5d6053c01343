//! The explanation of a request, created by this process or by a service.

use std::time::Duration;

use casefilter::explain::{Explanation, Phase};
use serde_json::value::RawValue;

/// The explanation of a request, as JSON and as a tree for people.
pub(crate) struct Explained {
    pub(crate) json: Box<RawValue>,
    pub(crate) text: String,
}

/// Inserts the time of compiling the filter before the other phases, if the explanation contains times.
pub(crate) fn with_compiling(mut explanation: Explanation, time: Duration) -> Explanation {
    if let Some(analysis) = &mut explanation.analysis {
        analysis.phases.insert(0, Phase { name: "compile", time });
    }
    explanation
}
