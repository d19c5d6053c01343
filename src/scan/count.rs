//! Counts the values of fields in the selected documents of a scan.
#![expect(clippy::arithmetic_side_effects, reason = "counts of documents, in 64 bits")]

use std::borrow::Cow;
use std::collections::HashMap;

use smallvec::SmallVec;

use crate::batch::Row;
use crate::catalog::{Catalog, Field};
use crate::error::Error;
use crate::facet::{
    Facet, FacetAnswer, FacetCounts, FacetForm, FacetGroup, FacetsAnswer, FacetsRequest, HistogramCounts,
    StatsCounts, ValueCounts, place_of, ranked,
};
use crate::filter::PreparedFilter;
use crate::limits::Limits;
use crate::value::{Value, ValueClass};

type Hasher = foldhash::quality::RandomState;

/// The facets whose values a scan counts, in groups. All facets of a group count the same documents.
pub(super) struct Counting {
    request: FacetsRequest,
    groups: Vec<Group>,
}

/// The facets that count the same documents.
struct Group {
    filter: PreparedFilter,
    /// The index of each facet in the request, and the value of [`FacetAnswer::with_own_criteria`] for the facet.
    facets: Vec<(usize, bool)>,
}

/// The counts of some documents: for each group, the number of its documents and the counts of its facets.
pub(super) struct Counts(Vec<(u64, Vec<FacetTally>)>);

/// The counts of one facet.
struct FacetTally {
    /// The number of counted documents that have a value.
    with_value: u64,
    values: Values,
}

/// The counts of the values of a facet.
enum Values {
    Strings(HashMap<Box<str>, u64, Hasher>),
    Ordered(HashMap<i64, u64, Hasher>),
    /// The number of documents with `false`, and with `true`.
    Booleans([u64; 2]),
    Histogram(HistogramCounts),
    /// The ordinals of all documents of a block, for statistics. They are distinct within each document.
    List(Vec<i64>),
    Stats(StatsCounts),
}

impl Counting {
    /// Creates the counts of a request, which must fit the catalogue of the documents.
    pub(super) fn new(request: &FacetsRequest) -> Result<Self, Error> {
        let group = |group: FacetGroup| {
            let FacetGroup { filter, facets } = group;
            Group { filter: PreparedFilter::new(&filter), facets }
        };
        Ok(Self { groups: request.groups()?.into_iter().map(group).collect(), request: request.clone() })
    }

    pub(super) fn request(&self) -> &FacetsRequest {
        &self.request
    }

    /// Returns the filters of all groups.
    pub(super) fn filters(&self) -> impl Iterator<Item = &PreparedFilter> + Clone {
        self.groups.iter().map(|group| &group.filter)
    }

    /// Returns empty counts, to which the counts of blocks are added.
    pub(super) fn none(&self, catalog: &Catalog) -> Counts {
        self.counts(|facet| {
            let class = ValueClass::of_field(catalog.field(facet.field_id()).field_type());
            match (facet.form(), class) {
                (FacetForm::Stats, ValueClass::Ordered(kind)) => Values::Stats(StatsCounts::new(kind)),
                _ => Values::new(facet, class),
            }
        })
    }

    /// Returns empty counts, to which the documents of one block are added.
    pub(super) fn of_block(&self, catalog: &Catalog) -> Counts {
        self.counts(|facet| {
            Values::new(facet, ValueClass::of_field(catalog.field(facet.field_id()).field_type()))
        })
    }

    fn counts(&self, values: impl Fn(&Facet) -> Values) -> Counts {
        let tally = |(number, _): &(usize, bool)| {
            Some(FacetTally { with_value: 0, values: values(self.request.facets.get(*number)?) })
        };
        Counts(self.groups.iter().map(|group| (0, group.facets.iter().filter_map(tally).collect())).collect())
    }

    /// Adds a document to counts. `selects` returns true if a filter selects the document.
    pub(super) fn add(
        &self,
        counts: &mut Counts,
        row: &Row<'_>,
        limits: &Limits,
        selects: impl Fn(&PreparedFilter) -> bool,
    ) {
        for (group, (total, tallies)) in self.groups.iter().zip(&mut counts.0) {
            if !selects(&group.filter) {
                continue;
            }
            *total += 1;
            for ((number, _), tally) in group.facets.iter().zip(tallies) {
                if let Some(facet) = self.request.facets.get(*number) {
                    tally.add(facet, row, limits);
                }
            }
        }
    }

    /// Returns the answer.
    ///
    /// # Errors
    /// Returns an error if a histogram has too many buckets.
    pub(super) fn finish(
        &self,
        counts: Counts,
        catalog: &Catalog,
        limits: &Limits,
    ) -> Result<FacetsAnswer, Error> {
        let total = counts.0.first().map_or(0, |(total, _)| *total);
        let mut answers: Vec<(usize, FacetAnswer)> = Vec::with_capacity(self.request.facets.len());
        for (group, (total, tallies)) in self.groups.iter().zip(counts.0) {
            for ((number, with_own_criteria), tally) in group.facets.iter().zip(tallies) {
                let Some(facet) = self.request.facets.get(*number) else { continue };
                let field = catalog.field(facet.field_id());
                let counts = tally.values.finish(facet, field, limits);
                let answer = FacetAnswer {
                    field: field.name().to_owned(),
                    total,
                    absent: total.saturating_sub(tally.with_value),
                    with_own_criteria: *with_own_criteria,
                    counts: counts.map_err(|error| error.at(place_of(*number)))?,
                };
                answers.push((*number, answer));
            }
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(FacetsAnswer { total, facets: answers.into_iter().map(|(_, answer)| answer).collect() })
    }
}

impl Counts {
    /// Adds the counts of other documents, which were made for the same request.
    pub(super) fn append(&mut self, other: Self, limits: &Limits) {
        for ((total, tallies), (more, others)) in self.0.iter_mut().zip(other.0) {
            *total += more;
            for (tally, other) in tallies.iter_mut().zip(others) {
                tally.with_value += other.with_value;
                tally.values.append(other.values, limits);
            }
        }
    }
}

impl FacetTally {
    /// Adds the distinct values of a document.
    fn add(&mut self, facet: &Facet, row: &Row<'_>, limits: &Limits) {
        let values = row.values(facet.field_id());
        if let Values::Strings(counts) = &mut self.values {
            let mut texts: SmallVec<[&str; 8]> = SmallVec::new();
            texts.extend(
                values.filter_map(|value| if let Value::String(text) = value { Some(&**text) } else { None }),
            );
            self.with_value += u64::from(!texts.is_empty());
            if texts.len() > 1 {
                texts.sort_unstable();
                texts.dedup();
            }
            for text in texts {
                match counts.get_mut(text) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(text.into(), 1)),
                }
            }
            return;
        }
        let mut own: SmallVec<[i64; 8]> = SmallVec::new();
        own.extend(values.filter_map(|value| match value {
            Value::Boolean(boolean) => Some(i64::from(*boolean)),
            ordered => ordered.ordinal().map(|(_, ordinal)| ordinal),
        }));
        self.with_value += u64::from(!own.is_empty());
        own.sort_unstable();
        own.dedup();
        match (&mut self.values, facet.form()) {
            (Values::Ordered(counts), _) => {
                own.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
            }
            (Values::Booleans([no, yes]), _) => {
                own.iter().for_each(|value| *if *value == 0 { &mut *no } else { &mut *yes } += 1);
            }
            (Values::Histogram(counts), FacetForm::Histogram(buckets)) if !counts.is_over(limits) => {
                let mut numbers: SmallVec<[i64; 8]> = SmallVec::new();
                for ordinal in own {
                    match buckets.number(ordinal) {
                        Some(number) => numbers.push(number),
                        None => counts.add_too_narrow(),
                    }
                }
                // The values are in ascending order, and so are the numbers of their buckets.
                numbers.dedup();
                numbers.iter().for_each(|number| counts.add(*number, 1));
            }
            (Values::List(list), _) => list.extend(own),
            (Values::Stats(counts), _) => counts.add_ordinals(own.into_iter()),
            (Values::Strings(_) | Values::Histogram(_), _) => {}
        }
    }
}

impl Values {
    /// Returns empty counts for the documents of a block.
    fn new(facet: &Facet, class: ValueClass) -> Self {
        match (facet.form(), class) {
            (FacetForm::Histogram(_), ValueClass::Ordered(_)) => Self::Histogram(HistogramCounts::default()),
            (FacetForm::Stats, ValueClass::Ordered(_)) => Self::List(Vec::new()),
            (_, ValueClass::Strings) => Self::Strings(HashMap::default()),
            (_, ValueClass::Ordered(_)) => Self::Ordered(HashMap::default()),
            (_, ValueClass::Booleans) => Self::Booleans([0; 2]),
        }
    }

    fn append(&mut self, other: Self, limits: &Limits) {
        match (self, other) {
            (Self::Strings(own), Self::Strings(other)) => {
                other.into_iter().for_each(|(text, count)| *own.entry(text).or_default() += count);
            }
            (Self::Ordered(own), Self::Ordered(other)) => {
                other.into_iter().for_each(|(value, count)| *own.entry(value).or_default() += count);
            }
            (Self::Booleans(own), Self::Booleans(other)) => {
                own.iter_mut().zip(other).for_each(|(own, count)| *own += count);
            }
            (Self::Histogram(own), Self::Histogram(other)) if !own.is_over(limits) => own.append(other),
            (Self::Stats(own), Self::List(list)) => own.add_ordinals(list.into_iter()),
            // A histogram over the limit needs no more counts. No other pair occurs, because both were made for the same facet.
            _ => {}
        }
    }

    fn finish(self, facet: &Facet, field: &Field, limits: &Limits) -> Result<FacetCounts, Error> {
        let class = ValueClass::of_field(field.field_type());
        let values = match (self, facet.form(), class) {
            (Self::Strings(counts), FacetForm::Values(limit), _) => {
                let counted =
                    counts.iter().map(|(text, count)| (Value::String(Cow::Borrowed(&**text)), *count));
                ranked(field, *limit, counted)
            }
            (Self::Ordered(counts), FacetForm::Values(limit), ValueClass::Ordered(kind)) => {
                let counted = counts.into_iter().map(|(ordinal, count)| (kind.value(ordinal), count));
                ranked(field, *limit, counted)
            }
            (Self::Booleans(counts), FacetForm::Values(limit), _) => {
                let counted = [false, true].map(Value::Boolean).into_iter().zip(counts);
                ranked(field, *limit, counted.filter(|(_, count)| *count > 0))
            }
            (Self::Histogram(counts), FacetForm::Histogram(buckets), ValueClass::Ordered(kind)) => {
                return counts.into_buckets(buckets, (field, kind), limits).map(FacetCounts::Histogram);
            }
            (Self::Stats(counts), ..) => return Ok(FacetCounts::Stats(counts.finish())),
            // The counts were created for the form of the facet.
            _ => ValueCounts::default(),
        };
        Ok(FacetCounts::Values(values))
    }
}
