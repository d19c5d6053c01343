//! Reads the rows that the statements for counts by value return.
//!
//! [`Table::facets`](crate::sql::Table::facets) creates the statements. Their columns are cast to types that the driver reads
//! exactly: decimal numbers and sums to text, counts to 64 bits.

use std::ops::ControlFlow;

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::error::{PostgresError, PostgresErrorKind};
use crate::catalog::{Field, FieldType};
use crate::error::Error;
use crate::facet::{
    Facet, FacetAnswer, FacetCounts, FacetForm, FacetStats, HistogramCounts, ValueCounts, ranked,
};
use crate::limits::Limits;
use crate::sql::NO_BUCKET;
use crate::value::{Number, OrderedType, Timestamp, Value, ValueClass};

/// The rows of one facet so far.
pub(super) struct FacetRows<'f> {
    field: &'f Field,
    form: &'f FacetForm,
    limits: Limits,
    /// The number of documents without a value.
    absent: u64,
    /// The sum of the counts of all rows with a value. In a single-valued field, it is the number of documents with a value.
    present: u64,
    values: ValueCounts,
    buckets: HistogramCounts,
    stats: FacetStats,
}

impl<'f> FacetRows<'f> {
    pub(super) fn new(facet: &'f Facet) -> Self {
        Self {
            field: facet.field(),
            form: facet.form(),
            limits: Limits::default(),
            absent: 0,
            present: 0,
            values: ValueCounts::default(),
            buckets: HistogramCounts::default(),
            stats: FacetStats::default(),
        }
    }

    /// Returns a statement that runs the counting statement `counting` as a subquery, and casts its columns to types that the
    /// driver reads.
    pub(super) fn select(&self, counting: &str) -> String {
        let cast = if matches!(self.field.field_type(), FieldType::Decimal { .. }) { "::text" } else { "" };
        let columns = match self.form {
            FacetForm::Values(_) => {
                format!(r#""rank"::int8, "value"{cast}, "documents"::int8, "values"::int8"#)
            }
            FacetForm::Histogram(_) => r#""bucket"::int8, "documents"::int8"#.to_owned(),
            FacetForm::Stats => {
                format!(r#""absent"::int8, "count"::int8, "min"{cast}, "max"{cast}, "sum"::text"#)
            }
        };
        format!("SELECT {columns} FROM ({counting}) AS _f")
    }

    /// Adds a row. Returns `Break` if more rows do not change the answer.
    pub(super) fn add(&mut self, row: &Row) -> Result<ControlFlow<()>, PostgresError> {
        match self.form {
            FacetForm::Values(_) => {
                let (rank, documents) = (get::<i64>(row, 0)?, count(row, 2)?);
                if rank == 0 {
                    self.absent = documents;
                    return Ok(ControlFlow::Continue(()));
                }
                self.present = self.present.saturating_add(documents);
                match value(self.field, row, 1)? {
                    Some(value) => self.values.values.push((value, documents)),
                    None => (self.values.other_values, self.values.other_count) = (count(row, 3)?, documents),
                }
            }
            FacetForm::Histogram(_) => {
                let documents = count(row, 1)?;
                match get::<Option<i64>>(row, 0)? {
                    None => self.absent = documents,
                    Some(NO_BUCKET) => self.buckets.add_too_narrow(),
                    Some(bucket) => {
                        self.buckets.add(bucket, documents);
                        self.present = self.present.saturating_add(documents);
                    }
                }
                if self.buckets.is_over(&self.limits) {
                    return Ok(ControlFlow::Break(()));
                }
            }
            FacetForm::Stats => {
                (self.absent, self.present) = (count(row, 0)?, count(row, 1)?);
                if self.present > 0 {
                    self.stats = self.statistics(row)?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the answer. `total` is the number of documents that the facet counts. If `total` is `None`, this number is computed
    /// from the rows, and the field must be single-valued.
    pub(super) fn finish(self, total: Option<u64>, with_own_criteria: bool) -> Result<FacetAnswer, Error> {
        let counts = match (self.form, ValueClass::of_field(self.field.field_type())) {
            (FacetForm::Histogram(buckets), ValueClass::Ordered(kind)) => FacetCounts::Histogram(
                self.buckets.into_buckets(buckets, (self.field, kind), &self.limits)?,
            ),
            (FacetForm::Stats, _) => FacetCounts::Stats(self.stats),
            (FacetForm::Values(limit), _) => {
                let ValueCounts { values, other_values, other_count } = self.values;
                // Puts the values in order again, and adds the known values that no document has.
                let ValueCounts { values, .. } = ranked(self.field, *limit, values.into_iter());
                FacetCounts::Values(ValueCounts { values, other_values, other_count })
            }
            // Only ordered fields have histograms.
            (FacetForm::Histogram(_), _) => FacetCounts::Histogram(Vec::new()),
        };
        Ok(FacetAnswer {
            field: self.field.name().to_owned(),
            total: total.unwrap_or_else(|| self.absent.saturating_add(self.present)),
            absent: self.absent,
            with_own_criteria,
            counts,
        })
    }

    /// Reads the row of statistics. The selected documents must have at least one value in the field.
    fn statistics(&self, row: &Row) -> Result<FacetStats, PostgresError> {
        let ordinal = |at| Ok(value(self.field, row, at)?.and_then(|value| value.ordinal()));
        let (Some((kind, least)), Some((_, greatest))) = (ordinal(2)?, ordinal(3)?) else {
            return Err(unexpected("statistics without values"));
        };
        let sum: String = get(row, 4)?;
        let (count, range) = (self.present, (least, greatest));
        if kind == OrderedType::Number {
            let sum_and_mean = sum_and_mean(&sum, count).ok_or_else(|| unexpected("a sum"))?;
            return Ok(FacetStats::of_numbers(count, range, sum_and_mean));
        }
        // An ordinal has the same digits as its value, without the decimal point.
        let sum = sum.replace('.', "").parse().map_err(|_| unexpected("a sum"))?;
        Ok(FacetStats::of_ordinals(kind, count, range, sum))
    }
}

/// Returns the sum and the mean of doubles, from the digits of the sum. The sum may be outside the range of a double.
fn sum_and_mean(sum: &str, count: u64) -> Option<(Option<Number>, Number)> {
    let total = Number::new(sum.parse().ok()?);
    let smaller: f64 = format!("{sum}e-30").parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a mean is rounded anyway")]
    let mean = match total {
        Some(total) => total.get() / count as f64,
        None => (smaller / count as f64 * 1e30).clamp(f64::MIN, f64::MAX),
    };
    Some((total, Number::new(mean)?))
}

/// Reads a value of a field.
fn value(field: &Field, row: &Row, at: usize) -> Result<Option<Value<'static>>, PostgresError> {
    let kind = field.field_type();
    Ok(match kind {
        FieldType::String => get::<Option<String>>(row, at)?.map(|text| Value::String(text.into())),
        FieldType::Boolean => get::<Option<&str>>(row, at)?.map(|text| Value::Boolean(text == "true")),
        FieldType::Number => get::<Option<f64>>(row, at)?.and_then(Number::new).map(Value::Number),
        FieldType::Integer => get::<Option<i64>>(row, at)?.map(Value::Integer),
        FieldType::Timestamp => {
            get::<Option<i64>>(row, at)?.map(|ms| Value::Timestamp(Timestamp::from_millis(ms)))
        }
        FieldType::Decimal { .. } => match get::<Option<&str>>(row, at)? {
            None => None,
            Some(text) => {
                let parsed = Value::parse(kind, text).ok_or_else(|| unexpected(text))?;
                Some(parsed.into_owned())
            }
        },
    })
}

fn count(row: &Row, at: usize) -> Result<u64, PostgresError> {
    get::<i64>(row, at).map(|count| u64::try_from(count).unwrap_or_default())
}

fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, PostgresError> {
    row.try_get(at).map_err(PostgresError::of_driver)
}

fn unexpected(found: &str) -> PostgresError {
    PostgresError::new(
        PostgresErrorKind::Rejected,
        format!("the counting statement returned an unexpected value: {found}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_exists_where_the_sum_exceeds_the_doubles() {
        let great = format!("3{}", "0".repeat(308));
        let (sum, mean) = sum_and_mean(&great, 2).unwrap();
        assert_eq!(sum, None);
        assert!((mean.get() / 1.5e308 - 1.0).abs() < 1e-12, "{mean}");
        assert_eq!(sum_and_mean("-7.5", 3).unwrap().1.get(), -2.5);
        assert!(sum_and_mean("NaN", 1).is_none_or(|(sum, _)| sum.is_none()));
    }
}
