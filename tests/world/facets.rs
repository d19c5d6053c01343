//! Random requests for counts by value, and the comparison of their answers, for the tests of counts alone.

use casefilter::{Catalog, FacetCounts, FacetInterval, FacetSum, FacetsAnswer, FieldType, Value};
use serde_json::json;

use crate::world::choices::Choices;

/// Returns random facets on the fields of a catalogue, as the list of a body.
pub(crate) fn random_facets(catalog: &Catalog, choices: &mut Choices<'_>) -> Vec<serde_json::Value> {
    let names: Vec<&str> = catalog.names().collect();
    let mut facets = Vec::new();
    for _ in 0..=choices.below(16) {
        let name = names[choices.below(names.len())];
        let field = catalog.get(catalog.find(name).unwrap()).unwrap();
        let mut facet = json!({ "field": name });
        match (field.field_type(), choices.below(4)) {
            (FieldType::Timestamp, 0 | 1) => {
                facet["interval"] = json!(FacetInterval::ALL[choices.below(6)].name());
                if choices.chance(1, 2) {
                    facet["utcOffset"] = json!(["+00:00", "+05:30", "-1800", "+0100"][choices.below(4)]);
                }
            }
            (FieldType::Number | FieldType::Integer | FieldType::Decimal { .. }, form @ (0 | 1)) => {
                let is_number = field.field_type() == FieldType::Number;
                if form == 0 {
                    let edges: [&[f64]; 4] =
                        [&[0.0], &[-1.0, 1.0], &[0.0, 1.0, 2.0, 100.0], &[0.5, 1.5, 1e300]];
                    let edges = edges[choices.below(if is_number { 4 } else { 3 })];
                    facet["edges"] = match is_number {
                        true => json!(edges),
                        false => edges.iter().map(|edge| *edge as i64).collect(),
                    };
                } else if is_number {
                    facet["width"] = json!([0.1, 1.0, 7.0, 1e3, 1e300, 1e-9][choices.below(6)]);
                } else {
                    facet["width"] = json!([1, 7, 1000, 9_000_000_000_i64][choices.below(4)]);
                }
            }
            (
                FieldType::Number | FieldType::Integer | FieldType::Decimal { .. } | FieldType::Timestamp,
                2,
            ) => {
                facet["stats"] = json!(true);
            }
            _ if choices.chance(1, 2) => facet["limit"] = json!([0, 1, 2, 5, 100, 10_000][choices.below(6)]),
            _ => {}
        }
        if choices.chance(1, 3) {
            facet["ownCriteriaApart"] = json!(true);
        }
        facets.push(facet);
    }
    facets
}

/// Replaces sums and means that differ only by rounding, so that the answers can be compared. They may differ by one part in 10^12,
/// and by `slack` times the greatest value.
pub(crate) fn rounded(mut answer: FacetsAnswer, exact: &FacetsAnswer, slack: f64) -> FacetsAnswer {
    for (facet, exact) in answer.facets.iter_mut().zip(&exact.facets) {
        let (FacetCounts::Stats(stats), FacetCounts::Stats(exact)) = (&mut facet.counts, &exact.counts)
        else {
            continue;
        };
        let ends = [&exact.min, &exact.max].map(|end| match end {
            Some(Value::Number(number)) => number.get().abs(),
            _ => 0.0,
        });
        let most = slack * ends[0].max(ends[1]);
        let is_near =
            |one: f64, other: f64| (one - other).abs() <= (1e-12 * one.abs().max(other.abs())).max(most);
        if let (Some(FacetSum::Number(one)), Some(FacetSum::Number(other))) = (stats.sum, exact.sum)
            && is_near(one.get(), other.get())
        {
            stats.sum = exact.sum;
        }
        if let (Some(Value::Number(one)), Some(Value::Number(other))) = (&stats.mean, &exact.mean)
            && is_near(one.get(), other.get())
        {
            stats.mean.clone_from(&exact.mean);
        }
    }
    answer
}
