//! Prints the answer to a request for counts by value as JSON, as the service sends it.

use std::fmt::Write as _;

use super::answer::{FacetAnswer, FacetBucket, FacetCounts, FacetStats, FacetsAnswer, ValueCounts};
use crate::predicate::json_string;
use crate::value::Value;

impl FacetsAnswer {
    /// Prints the answer as one line of JSON, in the form of the service.
    ///
    /// Strings and timestamps are JSON strings. Numbers of all types are JSON numbers with all their digits. A facet has the
    /// member `"withOwnCriteria": true` if [`with_own_criteria`](FacetAnswer::with_own_criteria) is true.
    ///
    /// ```text
    /// {"totalItems": n, "facets": [
    ///     {"field": name, "values": [{"value": v, "count": n}, …], "absent": n, "otherValues": n, "otherCount": n},
    ///     {"field": name, "buckets": [{"from": v, "to": v, "count": n}, …], "absent": n},
    ///     {"field": name, "stats": {"count": n, "min": v, "max": v, "sum": v, "mean": v}, "absent": n}]}
    /// ```
    ///
    /// The bucket below the first given edge has no `from`. The bucket that starts at the last given edge has no `to`. Statistics
    /// of no value have only a `count`. Timestamps have no `sum`.
    #[must_use]
    pub fn to_json(&self) -> String {
        answer(self)
    }
}

/// Prints an answer as one line.
fn answer(answer: &FacetsAnswer) -> String {
    let mut out = format!(r#"{{"totalItems":{},"facets":["#, answer.total);
    for (at, facet) in answer.facets.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        self::facet(facet, &mut out);
    }
    out.push_str("]}");
    out
}

fn facet(facet: &FacetAnswer, out: &mut String) {
    out.push_str(r#"{"field":"#);
    json_string(&facet.field, out);
    let absent = format!(r#","absent":{}"#, facet.absent);
    match &facet.counts {
        FacetCounts::Values(ValueCounts { values, other_values, other_count }) => {
            out.push_str(r#","values":["#);
            list(values, out, |(value, count), out| {
                out.push_str(r#"{"value":"#);
                self::value(value, out);
                let _ = write!(out, r#","count":{count}}}"#);
            });
            let _ = write!(out, r#"]{absent},"otherValues":{other_values},"otherCount":{other_count}"#);
        }
        FacetCounts::Histogram(buckets) => {
            out.push_str(r#","buckets":["#);
            list(buckets, out, |FacetBucket { from, to, count }, out| {
                out.push('{');
                for (name, edge) in [("from", from), ("to", to)] {
                    if let Some(edge) = edge {
                        let _ = write!(out, r#""{name}":"#);
                        value(edge, out);
                        out.push(',');
                    }
                }
                let _ = write!(out, r#""count":{count}}}"#);
            });
            let _ = write!(out, "]{absent}");
        }
        FacetCounts::Stats(FacetStats { count, min, max, sum, mean }) => {
            let _ = write!(out, r#","stats":{{"count":{count}"#);
            for (name, edge) in [("min", min), ("max", max)] {
                if let Some(edge) = edge {
                    let _ = write!(out, r#","{name}":"#);
                    value(edge, out);
                }
            }
            if let Some(sum) = sum {
                let _ = write!(out, r#","sum":{sum}"#);
            }
            if let Some(mean) = mean {
                out.push_str(r#","mean":"#);
                value(mean, out);
            }
            let _ = write!(out, "}}{absent}");
        }
    }
    if facet.with_own_criteria {
        out.push_str(r#","withOwnCriteria":true"#);
    }
    out.push('}');
}

fn list<T>(items: &[T], out: &mut String, print: impl Fn(&T, &mut String)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        print(item, out);
    }
}

/// Prints a value: strings and timestamps as JSON strings, numbers and booleans without quotation marks.
fn value(value: &Value<'_>, out: &mut String) {
    match value {
        Value::String(text) => json_string(text, out),
        Value::Timestamp(timestamp) => json_string(&timestamp.to_string(), out),
        Value::Number(_) | Value::Integer(_) | Value::Decimal(_) | Value::Boolean(_) => {
            let _ = write!(out, "{value}");
        }
    }
}
