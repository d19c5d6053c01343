//! The reference evaluator of counts by value. It applies the specification to one document at a time, and computes buckets and
//! sums itself. It shares only the types of requests and answers with the engine.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of documents, and numbers of buckets of 64-bit values in 128 bits"
)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Days, NaiveDate, TimeDelta};

use super::elements::Places;
use super::stored::{read, stored};
use crate::batch::Row;
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind};
use crate::facet::{
    Buckets, Facet, FacetAnswer, FacetBucket, FacetCounts, FacetForm, FacetInterval, FacetStats, FacetSum,
    FacetsAnswer, FacetsRequest, ValueCounts,
};
use crate::limits::Limits;
use crate::operator::{Complex, Connective};
use crate::predicate::{Node, Written};
use crate::value::{Number, OrderedType, Timestamp, Value};

/// Counts the values of fields in the selected documents. A later document replaces an earlier document with the same `id`. Uses
/// the default [`Limits`].
///
/// ```
/// use casefilter::{Catalog, Facet, FacetsRequest, Filter, reference};
/// let catalog = Catalog::cases();
/// let request = FacetsRequest::new(Filter::all(&catalog)).with_facet(Facet::values(&catalog, "tags")?);
/// let answer = reference::facets(&[r#"{"id":"a","tags":["vip"]}"#, r#"{"id":"b"}"#], &request)?;
/// assert_eq!((answer.total, answer.facets[0].absent), (2, 1));
/// # Ok::<(), casefilter::Error>(())
/// ```
///
/// # Errors
/// Returns an error if a document is not valid, or if a facet does not [fit](crate::ErrorKind::CatalogMismatch) the filter. Returns
/// [`ErrorKind::TooManyBuckets`] for a histogram of too many buckets.
pub fn facets(documents: &[&str], request: &FacetsRequest) -> Result<FacetsAnswer, Error> {
    let filter = request.selected()?;
    let catalog = filter.catalog();
    let limits = Limits::default();
    request.check(catalog, &limits, "reference")?;
    let rows = stored(documents, |document| read(catalog, document))?;
    let rows: Vec<&Row<'_>> = rows.iter().map(|(_, row)| row).collect();
    let written = request.filter.written();
    let within = request.within.as_ref().map(|filter| filter.written());
    let selects = |row: &Row<'_>, wanted: &dyn Fn(&Places<'_, '_>) -> bool| {
        let places = Places::new(row, catalog);
        let all = places.all();
        let held = within.as_ref().is_none_or(|within| places.holds(within, within.root(), &all));
        held && wanted(&places)
    };
    let of_filter = |places: &Places<'_, '_>| places.holds(&written, written.root(), &places.all());
    let total = rows.iter().filter(|row| selects(row, &of_filter)).count() as u64;
    let mut answers = Vec::new();
    for facet in &request.facets {
        let field = facet.field_id();
        // No criteria are left out of a joined filter, because they may be criteria of the host.
        let is_apart = facet.is_own_criteria_apart() && request.filter.source().is_some();
        let apart = Apart { written: &written, field };
        let of_others = |places: &Places<'_, '_>| apart.holds(places);
        let wanted: &dyn Fn(&Places<'_, '_>) -> bool = if is_apart { &of_others } else { &of_filter };
        let selected: Vec<&Row<'_>> = rows.iter().filter(|row| selects(row, wanted)).copied().collect();
        let with_own_criteria = facet.is_own_criteria_apart()
            && if is_apart { apart.has_others() } else { apart.names(written.root()).contains(&field) };
        answers.push(count(catalog, facet, &selected, with_own_criteria, &limits)?);
    }
    Ok(FacetsAnswer { total, facets: answers })
}

/// The criteria of a filter, without the criteria that name only `field`.
struct Apart<'w> {
    written: &'w Written<'static>,
    field: FieldId,
}

impl Apart<'_> {
    /// Returns the node id of the body's `ids`, if any, and the node ids of the criteria that are joined by `$and`. Leaves out each
    /// criterion that names `field` and no other field.
    fn parts(&self) -> (Option<usize>, Vec<usize>) {
        let root = self.written.root();
        let (ids, mut open) = match self.written.get(root) {
            Some(Node::Branch(Complex::Join(Connective::Or), children)) => match children.as_slice() {
                [ids, criteria] => (Some(*ids), vec![*criteria]),
                _ => (None, vec![root]),
            },
            _ => (None, vec![root]),
        };
        let mut kept = Vec::new();
        while let Some(id) = open.pop() {
            match self.written.get(id) {
                Some(Node::Branch(Complex::Join(Connective::And), children)) => {
                    open.extend_from_slice(children);
                }
                _ if self.names(id) == BTreeSet::from([self.field]) => {}
                _ => kept.push(id),
            }
        }
        (ids, kept)
    }

    fn holds(&self, places: &Places<'_, '_>) -> bool {
        let (ids, kept) = self.parts();
        let holds = |id: &usize| places.holds(self.written, *id, &places.all());
        ids.as_ref().is_some_and(holds) || kept.iter().all(holds)
    }

    fn has_others(&self) -> bool {
        let (ids, kept) = self.parts();
        ids.into_iter().chain(kept).any(|id| self.names(id).contains(&self.field))
    }

    /// Returns the fields that a criterion names.
    fn names(&self, id: usize) -> BTreeSet<FieldId> {
        let (mut names, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            match self.written.get(id) {
                Some(Node::Leaf(comparison)) => {
                    names.insert(comparison.field);
                }
                Some(Node::Branch(_, children)) => open.extend_from_slice(children),
                _ => {}
            }
        }
        names
    }
}

fn count(
    catalog: &Catalog,
    facet: &Facet,
    selected: &[&Row<'_>],
    with_own_criteria: bool,
    limits: &Limits,
) -> Result<FacetAnswer, Error> {
    let field = catalog.field(facet.field_id());
    let sets: Vec<BTreeSet<Value<'_>>> =
        selected.iter().map(|row| values(field, row, facet.field_id())).collect();
    let counts = match facet.form() {
        FacetForm::Values(limit) => FacetCounts::Values(by_value(field, *limit, &sets)),
        FacetForm::Histogram(buckets) => FacetCounts::Histogram(histogram(field, buckets, &sets, limits)?),
        FacetForm::Stats => FacetCounts::Stats(stats(field, &sets)),
    };
    Ok(FacetAnswer {
        field: field.name().to_owned(),
        total: sets.len() as u64,
        absent: sets.iter().filter(|set| set.is_empty()).count() as u64,
        with_own_criteria,
        counts,
    })
}

/// Returns the distinct values of a field. In a single-valued field, only the first value is used.
fn values<'r>(field: &Field, row: &'r Row<'_>, id: FieldId) -> BTreeSet<Value<'r>> {
    let most = if field.is_many() { usize::MAX } else { 1 };
    row.values(id).take(most).map(Value::as_borrowed).collect()
}

fn by_value(field: &Field, limit: u64, sets: &[BTreeSet<Value<'_>>]) -> ValueCounts {
    let mut counts: BTreeMap<Value<'static>, u64> = BTreeMap::new();
    for value in sets.iter().flatten() {
        *counts.entry(value.clone().into_owned()).or_default() += 1;
    }
    let known: Vec<Value<'_>> =
        field.known_values().filter_map(|known| Value::parse(field.field_type(), known)).collect();
    for value in &known {
        counts.entry(value.clone().into_owned()).or_default();
    }
    let rank = |value: &Value<'_>| match field.field_type() {
        FieldType::String => known.iter().position(|known| known == value).unwrap_or(known.len()),
        _ => 0,
    };
    let mut all: Vec<(Value<'static>, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(value, count)| (Reverse(*count), rank(value), value.clone()));
    let others = all.split_off(all.len().min(usize::try_from(limit).unwrap_or(usize::MAX)));
    let other_values = others.iter().filter(|(_, count)| *count > 0).count() as u64;
    let other_count = others.iter().map(|(_, count)| count).sum();
    ValueCounts { values: all, other_values, other_count }
}

fn histogram(
    field: &Field,
    buckets: &Buckets,
    sets: &[BTreeSet<Value<'_>>],
    limits: &Limits,
) -> Result<Vec<FacetBucket>, Error> {
    let too_many = || Error::new(ErrorKind::TooManyBuckets, 0, field.name(), "fewer buckets");
    let mut counts: BTreeMap<i128, u64> = BTreeMap::new();
    for set in sets {
        let numbers: Option<BTreeSet<i128>> = set.iter().map(|value| number(buckets, value)).collect();
        for number in numbers.ok_or_else(too_many)? {
            *counts.entry(number).or_default() += 1;
        }
    }
    if let Buckets::Edges(edges) = buckets {
        for number in 1..edges.len() {
            counts.entry(number as i128).or_default();
        }
    }
    let (Some((first, _)), Some((last, _))) = (counts.first_key_value(), counts.last_key_value()) else {
        return Ok(Vec::new());
    };
    if last - first >= i128::from(limits.facet_buckets) {
        return Err(too_many());
    }
    let kind = sets.iter().flatten().find_map(Value::ordinal).map(|(kind, _)| kind);
    let kind = kind.unwrap_or(match field.field_type() {
        FieldType::Integer => OrderedType::Integer,
        FieldType::Decimal { scale } => OrderedType::Decimal(scale),
        FieldType::Timestamp => OrderedType::Timestamp,
        _ => OrderedType::Number,
    });
    let bucket = |number: i128| FacetBucket {
        from: edge(buckets, kind, number),
        to: edge(buckets, kind, number + 1),
        count: counts.get(&number).copied().unwrap_or(0),
    };
    Ok((*first..=*last).map(bucket).collect())
}

/// The number of milliseconds of a day.
const DAY: i128 = 86_400_000;
/// The number of days of 400 years, after which the calendar repeats.
const ERA: i128 = 146_097;

/// Returns the number of the bucket of a value. Returns `None` if the width is too small.
fn number(buckets: &Buckets, value: &Value<'_>) -> Option<i128> {
    let (_, ordinal) = value.ordinal()?;
    match buckets {
        Buckets::Edges(edges) => Some(edges.iter().filter(|edge| **edge <= ordinal).count() as i128),
        Buckets::Width(width) => Some(i128::from(ordinal).div_euclid(i128::from(*width))),
        Buckets::NumberWidth(width) => {
            let Value::Number(number) = value else { return None };
            let near = (number.get() / width.get()).floor();
            if near.abs() >= f64::powi(2.0, 52) {
                return None;
            }
            let holds =
                |step: &f64| step * width.get() <= number.get() && number.get() < (step + 1.0) * width.get();
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
            [near, near - 1.0, near + 1.0].iter().find(|step| holds(step)).map(|step| *step as i128)
        }
        Buckets::Calendar { interval, offset_s } => {
            let local = i128::from(ordinal) + i128::from(*offset_s) * 1000;
            let (day, hour) = (local.div_euclid(DAY), local.rem_euclid(DAY) / 3_600_000);
            let (era, date) = (day.div_euclid(ERA), date(day.rem_euclid(ERA))?);
            let years = era * 400 + i128::from(date.year()) - 1970;
            Some(match interval {
                FacetInterval::Hour => day * 24 + hour,
                FacetInterval::Day => day,
                // `chrono` counts the days from the Monday of the week to the date.
                FacetInterval::Week => (day - i128::from(date.weekday().num_days_from_monday()) + 3) / 7,
                FacetInterval::Month => years * 12 + i128::from(date.month0()),
                FacetInterval::Quarter => years * 4 + i128::from(date.month0() / 3),
                FacetInterval::Year => years,
            })
        }
    }
}

/// Returns the date that is this number of days after 1970-01-01. The number is less than [`ERA`].
fn date(days: i128) -> Option<NaiveDate> {
    DateTime::UNIX_EPOCH.date_naive().checked_add_days(Days::new(u64::try_from(days).ok()?))
}

/// Returns the smallest value of a bucket.
fn edge(buckets: &Buckets, kind: OrderedType, number: i128) -> Option<Value<'static>> {
    let ordinal = match buckets {
        Buckets::Edges(edges) => *edges.get(usize::try_from(number - 1).ok()?)?,
        Buckets::Width(width) => i64::try_from(number.checked_mul(i128::from(*width))?).ok()?,
        Buckets::NumberWidth(width) => {
            #[expect(clippy::cast_precision_loss, reason = "an integer of at most 2^52")]
            let product = number as f64 * width.get();
            return Number::new(product).map(Value::Number);
        }
        Buckets::Calendar { interval, offset_s } => {
            let first_of = |months: i128| {
                let (years, month) = (months.div_euclid(12), months.rem_euclid(12));
                let (era, year) = (years.div_euclid(400), years.rem_euclid(400));
                let year = 1970 + i32::try_from(year).ok()?;
                let date = NaiveDate::from_ymd_opt(year, u32::try_from(month).ok()? + 1, 1)?;
                let days: TimeDelta = date - DateTime::UNIX_EPOCH.date_naive();
                Some((era * ERA + i128::from(days.num_days())) * DAY)
            };
            let local = match interval {
                FacetInterval::Hour => number * 3_600_000,
                FacetInterval::Day => number * DAY,
                FacetInterval::Week => (number * 7 - 3) * DAY,
                FacetInterval::Month => first_of(number)?,
                FacetInterval::Quarter => first_of(number * 3)?,
                FacetInterval::Year => first_of(number * 12)?,
            };
            i64::try_from(local - i128::from(*offset_s) * 1000).ok()?
        }
    };
    Some(kind.value(ordinal))
}

fn stats(field: &Field, sets: &[BTreeSet<Value<'_>>]) -> FacetStats {
    let all: Vec<&Value<'_>> = sets.iter().flatten().collect();
    let (Some(min), Some(max)) = (all.iter().min(), all.iter().max()) else { return FacetStats::default() };
    let [min, max] = [min, max].map(|value| Some((*value).clone().into_owned()));
    let count = all.len() as u64;
    let ordinals: i128 = all.iter().filter_map(|value| value.ordinal()).map(|(_, own)| i128::from(own)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a mean is rounded")]
    let (sum, mean) = match field.field_type() {
        FieldType::Timestamp => {
            let mean = i64::try_from(ordinals.div_euclid(i128::from(count))).unwrap_or_default();
            (None, Some(Value::Timestamp(Timestamp::from_millis(mean))))
        }
        FieldType::Integer => (
            Some(FacetSum::Integer(ordinals)),
            Number::new(ordinals as f64 / count as f64).map(Value::Number),
        ),
        FieldType::Decimal { scale } => {
            let mean = ordinals as f64 / count as f64 / f64::powi(10.0, scale.into());
            (Some(FacetSum::Decimal { unscaled: ordinals, scale }), Number::new(mean).map(Value::Number))
        }
        _ => {
            // Scaled by 2^-20, a sum of great numbers does not overflow.
            const SMALLER: f64 = 1.0 / 1_048_576.0;
            let numbers: Vec<f64> = all
                .iter()
                .filter_map(|value| if let Value::Number(number) = value { Some(number.get()) } else { None })
                .collect();
            let is_great = numbers.iter().any(|number| number.abs() > 1e290);
            let unit = if is_great { SMALLER } else { 1.0 };
            let sum = exact_sum(numbers.iter().map(|number| number * unit));
            (
                Number::new(sum / unit).map(FacetSum::Number),
                Number::new(sum / count as f64 / unit).map(Value::Number),
            )
        }
    };
    FacetStats { count, min, max, sum, mean }
}

/// Returns the sum of doubles, by the algorithm of J. R. Shewchuk, 1996: doubles that do not overlap represent the exact sum.
fn exact_sum(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for mut number in numbers {
        let mut kept = Vec::new();
        for mut part in parts {
            if number.abs() < part.abs() {
                std::mem::swap(&mut number, &mut part);
            }
            let high = number + part;
            let low = part - (high - number);
            if low != 0.0 {
                kept.push(low);
            }
            number = high;
        }
        kept.push(number);
        parts = kept;
    }
    parts.iter().sum()
}
