//! The answer to a request for counts by value.

use std::fmt;

use crate::value::{Decimal, Number, Value};

/// The answer to a [`FacetsRequest`](crate::FacetsRequest).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetsAnswer {
    /// The number of documents that the filter selects.
    pub total: u64,
    /// The counts of each facet, in the order of the request.
    pub facets: Vec<FacetAnswer>,
}

/// The counts of one facet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetAnswer {
    /// The name of the field.
    pub field: String,
    /// The number of documents that were counted. It differs from [`FacetsAnswer::total`] only if criteria on the field were left
    /// out.
    pub total: u64,
    /// The number of counted documents that have no value of the field.
    pub absent: u64,
    /// True if the facet was requested without [the criteria on its field](crate::Facet::with_own_criteria_apart), but some of
    /// these criteria had to be applied. Such a criterion also names other fields, belongs to a joined filter, or is the list `ids`
    /// of a body.
    pub with_own_criteria: bool,
    /// The counts.
    pub counts: FacetCounts,
}

/// Counts by value, a histogram, or statistics.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FacetCounts {
    /// The number of documents of each value.
    Values(ValueCounts),
    /// The buckets of a histogram in ascending order, with the empty buckets between them.
    Histogram(Vec<FacetBucket>),
    /// Statistics of all values.
    Stats(FacetStats),
}

/// The number of documents of each value of a field.
///
/// In a single-valued field, the counts, `other_count` and [`FacetAnswer::absent`] add up to [`FacetAnswer::total`]. In a
/// multi-valued field, a document counts once for each of its distinct values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueCounts {
    /// The values with their counts, the greatest count first. Among equal counts, the known values of a string field come first,
    /// in the order in which the catalogue lists them. Other values with equal counts follow in ascending order. Known values
    /// without a document are at the end with a count of 0, if the limit allows.
    pub values: Vec<(Value<'static>, u64)>,
    /// The number of values that documents have, but the list does not contain.
    pub other_values: u64,
    /// The sum of the counts of the values that the list does not contain.
    pub other_count: u64,
}

/// A bucket of a histogram. It includes `from` and excludes `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacetBucket {
    /// The lower edge. `None` for the bucket below the first given edge.
    pub from: Option<Value<'static>>,
    /// The upper edge. `None` for the bucket from the last given edge on.
    pub to: Option<Value<'static>>,
    /// The number of documents with a value in the bucket.
    pub count: u64,
}

/// Statistics of the values of a field. All members except `count` are `None` if there is no value.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FacetStats {
    /// The number of values. Equal values of one document count once.
    pub count: u64,
    /// The smallest value.
    pub min: Option<Value<'static>>,
    /// The greatest value.
    pub max: Option<Value<'static>>,
    /// The sum. `None` for timestamps, and for a sum of doubles beyond the largest double.
    pub sum: Option<FacetSum>,
    /// The mean. A number or, for timestamps, a timestamp that is rounded down to a millisecond.
    pub mean: Option<Value<'static>>,
}

/// A sum of values. It does not depend on the order of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FacetSum {
    /// A sum of doubles: the exact sum, rounded once to a double.
    Number(Number),
    /// An exact sum of integers.
    Integer(i128),
    /// An exact sum of decimals.
    Decimal {
        /// The sum, multiplied by 10^scale.
        unscaled: i128,
        /// The number of digits after the point.
        scale: u8,
    },
}

impl fmt::Display for FacetSum {
    /// Prints the sum as a JSON number with all its digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Decimal { unscaled, scale } => {
                let sign = if *unscaled < 0 { "-" } else { "" };
                let digits = usize::from(*scale);
                let text = format!("{:0width$}", unscaled.unsigned_abs(), width = digits.saturating_add(1));
                let (whole, fraction) = text.split_at(text.len().saturating_sub(digits));
                match digits {
                    0 => write!(f, "{sign}{whole}"),
                    _ => write!(f, "{sign}{whole}.{fraction}"),
                }
            }
        }
    }
}

impl FacetSum {
    /// Returns the sum as a double. A sum of integers is rounded to the nearest double. A sum of decimals may be one double away
    /// from the nearest double.
    ///
    /// ```
    /// use casefilter::FacetSum;
    /// assert_eq!(FacetSum::Decimal { unscaled: 250, scale: 2 }.to_f64(), 2.5);
    /// ```
    #[must_use]
    pub fn to_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "the result is rounded")]
        match self {
            Self::Number(number) => number.get(),
            Self::Integer(integer) => integer as f64,
            Self::Decimal { unscaled, scale } => unscaled as f64 / f64::powi(10.0, scale.into()),
        }
    }
}

impl From<Decimal> for FacetSum {
    fn from(decimal: Decimal) -> Self {
        Self::Decimal { unscaled: decimal.unscaled().into(), scale: decimal.scale() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_decimals_are_printed_with_all_digits() {
        let of = |unscaled: i128, scale: u8| FacetSum::Decimal { unscaled, scale }.to_string();
        assert_eq!([of(5, 2), of(-5, 2), of(1234, 0), of(-1234, 3)], ["0.05", "-0.05", "1234", "-1.234"]);
        assert_eq!(of(i128::from(i64::MAX) * 10, 2), "922337203685477580.70");
    }
}
