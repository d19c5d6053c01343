//! Buckets of a histogram: their numbers and edges, as ordinals.
#![expect(clippy::arithmetic_side_effects, reason = "the next number of a bucket, which is far below 2^63")]

use std::sync::Arc;

use super::interval::FacetInterval;
use crate::value::{Number, OrderedType};

/// The buckets of a histogram of ordinals.
///
/// Buckets have consecutive numbers, in ascending order of their values. Each ordinal is in exactly one bucket. A bucket contains
/// the ordinals from its [edge](Self::edge) up to, but not including, the edge of the next bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Buckets {
    /// Intervals of the calendar, in local time with a fixed offset from UTC.
    Calendar { interval: FacetInterval, offset_s: i32 },
    /// Strictly ascending edges, at least one. Bucket `n` starts at edge `n - 1`. Bucket 0 is below the first edge, and the last
    /// bucket has no end.
    Edges(Arc<[i64]>),
    /// Integers and decimals: bucket `n` starts at ordinal `n * width`. The width is positive.
    Width(i64),
    /// Doubles: bucket `n` starts at the double nearest to `n * width`. The width is positive.
    NumberWidth(Number),
}

/// The bound of bucket numbers for doubles: 2^52. A value has no bucket if the absolute value of its bucket number would reach this
/// bound. Below the bound, no two buckets have the same lower edge after rounding to doubles.
pub(crate) const MOST_STEPS: f64 = 4_503_599_627_370_496.0;

impl Buckets {
    /// Returns the number of the bucket that holds an ordinal. Returns `None` if the width is too small to number the bucket.
    pub(crate) fn number(&self, ordinal: i64) -> Option<i64> {
        match self {
            Self::Calendar { interval, offset_s } => Some(interval.number(ordinal, offset_ms(*offset_s))),
            Self::Edges(edges) => i64::try_from(edges.partition_point(|edge| *edge <= ordinal)).ok(),
            Self::Width(width) => ordinal.checked_div_euclid(*width),
            Self::NumberWidth(width) => {
                let quotient = (Number::of_ordinal(ordinal)?.get() / width.get()).floor();
                if quotient.abs() >= MOST_STEPS {
                    return None;
                }
                #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^52")]
                let number = quotient as i64;
                // The division rounds, so the quotient may be one too small or one too large. An edge outside the range of a double
                // is below all doubles, or above all doubles.
                if self.edge(number).map_or(number > 0, |edge| ordinal < edge) {
                    Some(number - 1)
                } else if self.edge(number + 1).is_some_and(|edge| edge <= ordinal) {
                    Some(number + 1)
                } else {
                    Some(number)
                }
            }
        }
    }

    /// Returns the smallest ordinal of a bucket. Returns `None` if the bucket has no lower edge, or if this edge is not a value of
    /// the type.
    pub(crate) fn edge(&self, number: i64) -> Option<i64> {
        match self {
            Self::Calendar { interval, offset_s } => interval.start(number, offset_ms(*offset_s)),
            Self::Edges(edges) => edges.get(usize::try_from(number.checked_sub(1)?).ok()?).copied(),
            Self::Width(width) => number.checked_mul(*width),
            Self::NumberWidth(width) => {
                #[expect(clippy::cast_precision_loss, reason = "an integer of at most 2^52")]
                let edge = number as f64 * width.get();
                Number::new(edge).map(Number::ordinal)
            }
        }
    }

    /// Returns the numbers of the first and the last bucket between the edges that a request gives. An answer always lists these
    /// buckets and those between them. Returns `None` if the request gives fewer than two edges.
    pub(crate) fn fixed(&self) -> Option<(i64, i64)> {
        match self {
            Self::Edges(edges) if edges.len() > 1 => Some((1, i64::try_from(edges.len()).ok()? - 1)),
            _ => None,
        }
    }

    /// Returns the width, the interval or the edges, with a preposition, for messages.
    pub(crate) fn size(&self, kind: OrderedType) -> String {
        match self {
            Self::Calendar { interval, .. } => format!("by {}", interval.name()),
            Self::Edges(_) => "between the given edges".to_owned(),
            Self::Width(width) => format!("of width {}", kind.value(*width)),
            Self::NumberWidth(width) => format!("of width {width}"),
        }
    }
}

fn offset_ms(offset_s: i32) -> i64 {
    i64::from(offset_s) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_double_is_between_the_edges_of_its_bucket() {
        for width in [0.1, 0.2, 0.01, 1.0, 3.0, 1e-300, 1e300, 5e-324, 7.25] {
            let buckets = Buckets::NumberWidth(Number::new(width).unwrap());
            for step in [-1e15, -100_001.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 435.0, 99_999.0, 1e15] {
                let Some(edge) = Number::new(step * width) else { continue };
                for ordinal in edge.ordinal() - 2..=edge.ordinal() + 2 {
                    if Number::of_ordinal(ordinal).is_none() {
                        continue;
                    }
                    let number = buckets.number(ordinal).unwrap();
                    assert!(buckets.edge(number).is_none_or(|edge| edge <= ordinal), "{width} {step}");
                    assert!(buckets.edge(number + 1).is_none_or(|edge| ordinal < edge), "{width} {step}");
                }
            }
        }
        let wide = Buckets::NumberWidth(Number::new(1e308).unwrap());
        let numbers = [-1.7e308, -1e308, -5e-324, 5e-324, 1.7e308]
            .map(|number| wide.number(Number::new(number).unwrap().ordinal()).unwrap());
        assert_eq!(numbers, [-2, -1, -1, 0, 1]);
        let narrow = Buckets::NumberWidth(Number::new(1e-9).unwrap());
        assert_eq!(narrow.number(Number::new(1e30).unwrap().ordinal()), None);
        assert_eq!(narrow.number(Number::MAX.ordinal()), None);
    }

    #[test]
    fn given_edges_have_open_buckets_on_both_sides() {
        let buckets = Buckets::Edges([0, 100].into());
        let numbers = [-1, 0, 99, 100, i64::MAX].map(|ordinal| buckets.number(ordinal).unwrap());
        assert_eq!(numbers, [0, 1, 1, 2, 2]);
        assert_eq!([0, 1, 2, 3].map(|number| buckets.edge(number)), [None, Some(0), Some(100), None]);
        assert_eq!(buckets.fixed(), Some((1, 1)));
        let tens = Buckets::Width(10);
        assert_eq!([-11, -10, -1, 0, 9, i64::MIN].map(|o| tens.number(o).unwrap()).first(), Some(&-2));
        assert_eq!(tens.edge(i64::MAX), None);
    }
}
