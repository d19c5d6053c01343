//! How a request is answered, as a service tells it and as this process does.

use std::time::Duration;

use casefilter::explain::{Explanation, Phase};
use serde_json::value::RawValue;

/// How a request is answered, as JSON and as a tree to read.
pub(crate) struct Explained {
    pub(crate) json: Box<RawValue>,
    pub(crate) text: String,
}

/// With the time that compiling the filter took in front of the others, where there are some.
pub(crate) fn with_compiling(mut explanation: Explanation, time: Duration) -> Explanation {
    if let Some(analysis) = &mut explanation.analysis {
        analysis.phases.insert(0, Phase { name: "compile", time });
    }
    explanation
}
