//! Reads the answer to a request for counts, which an engine or a service wrote as JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::failure::Failure;
use crate::output::field_tree::text_of;

/// The answer to a request for counts.
#[derive(Deserialize)]
pub(super) struct Answer {
    /// The number of selected cases.
    #[serde(rename = "totalItems")]
    pub(super) total: u64,
    pub(super) facets: Vec<Facet>,
}

/// The counts of one field. Exactly one of `values`, `buckets` and `stats` is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facet {
    pub(super) field: String,
    pub(super) values: Option<Vec<Value>>,
    pub(super) buckets: Option<Vec<Bucket>>,
    pub(super) stats: Option<Stats>,
    pub(super) absent: u64,
    #[serde(default)]
    pub(super) other_values: u64,
    #[serde(default)]
    pub(super) other_count: u64,
    /// True if criteria on the field were kept, although the request asks for counts without them. Criteria are kept if they also
    /// name other fields, belong to a joined filter, or are the `ids` of a body.
    #[serde(default)]
    pub(super) with_own_criteria: bool,
}

/// A value of a field, and the number of cases that have this value.
#[derive(Deserialize)]
pub(super) struct Value {
    value: Box<RawValue>,
    pub(super) count: u64,
}

/// A bucket of a histogram, and the number of cases with a value in this bucket.
#[derive(Deserialize)]
pub(super) struct Bucket {
    from: Option<Box<RawValue>>,
    to: Option<Box<RawValue>>,
    pub(super) count: u64,
}

/// Statistics of all values of a field.
#[derive(Deserialize)]
pub(super) struct Stats {
    pub(super) count: u64,
    min: Option<Box<RawValue>>,
    max: Option<Box<RawValue>>,
    sum: Option<Box<RawValue>>,
    mean: Option<Box<RawValue>>,
}

impl Answer {
    pub(super) fn read(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|error| Failure::Failed(error.to_string()))
    }
}

impl Value {
    /// Returns the value as text.
    pub(super) fn text(&self) -> String {
        text_of(&self.value).into_owned()
    }
}

impl Bucket {
    pub(super) fn from(&self) -> Option<String> {
        self.from.as_deref().map(|edge| text_of(edge).into_owned())
    }

    pub(super) fn to(&self) -> Option<String> {
        self.to.as_deref().map(|edge| text_of(edge).into_owned())
    }
}

impl Stats {
    /// Returns the minimum, maximum, sum and mean that are present, each with its name.
    pub(super) fn named(&self) -> Vec<(&'static str, String)> {
        let all = [("min", &self.min), ("max", &self.max), ("sum", &self.sum), ("mean", &self.mean)];
        let known =
            all.into_iter().filter_map(|(name, value)| Some((name, text_of(value.as_deref()?).into_owned())));
        known.collect()
    }
}
