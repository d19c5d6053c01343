//! The counts of one facet so far, over the batches of one snapshot.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of documents, in 64 bits, of which parts are subtracted"
)]

use super::histogram;
use super::rows::Selected;
use super::stats;
use super::strategy::{FacetStrategy, Uses};
use super::values::ValueTally;
use crate::batch::Batch;
use crate::catalog::Field;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::facet::{Facet, FacetAnswer, FacetCounts, FacetForm, HistogramCounts, StatsCounts};
use crate::limits::Limits;
use crate::stop::Pace;
use crate::value::ValueClass;

/// The counts of one facet so far.
pub(super) struct Tally<'v> {
    facet: &'v Facet,
    /// The field in the catalogue of the engine.
    field: &'v Field,
    counts: Counts<'v>,
    /// The number of counted documents that have a value.
    with_value: u64,
    pub(super) uses: Uses,
    /// True if the index has given the counts of all covered batches.
    pub(super) is_indexed: bool,
}

enum Counts<'v> {
    Values(ValueTally<'v>),
    Histogram(HistogramCounts),
    Stats(StatsCounts),
}

impl<'v> Tally<'v> {
    /// Creates the counts of a facet, all 0. `field` is its field in the catalogue of the engine.
    pub(super) fn new(facet: &'v Facet, field: &'v Field) -> Self {
        let class = ValueClass::of_field(field.field_type());
        let counts = match (facet.form(), class) {
            (FacetForm::Histogram(_), ValueClass::Ordered(_)) => {
                Counts::Histogram(HistogramCounts::default())
            }
            (FacetForm::Stats, ValueClass::Ordered(kind)) => Counts::Stats(StatsCounts::new(kind)),
            // Histograms and statistics exist only for ordered types.
            _ => Counts::Values(ValueTally::new(class)),
        };
        Self { facet, field, counts, with_value: 0, uses: Uses::default(), is_indexed: false }
    }

    /// Adds the counts of all covered batches from the index, if the index has them. All documents must be selected.
    pub(super) fn add_index(&mut self, view: &'v View, batches: u64, pace: &Pace<'_>) {
        if let Counts::Values(tally) = &mut self.counts
            && let Some(with_value) = tally.add_index(self.facet.field_id(), view, pace)
        {
            self.with_value += with_value;
            self.uses.add(FacetStrategy::Index, batches);
            self.is_indexed = true;
        }
    }

    /// Adds the selected rows of a batch.
    pub(super) fn add(&mut self, batch: &'v Batch, selected: &Selected<'_>, pace: &Pace<'_>) {
        let Some(column) = batch.column(self.facet.field_id()) else { return };
        let (strategy, with_value) = match (&mut self.counts, self.facet.form()) {
            (Counts::Values(tally), _) => tally.add(column, selected, pace),
            (Counts::Histogram(counts), FacetForm::Histogram(buckets)) => {
                histogram::add(counts, buckets, column, selected, pace)
            }
            (Counts::Stats(counts), _) => stats::add(counts, column, selected, pace),
            (Counts::Histogram(_), _) => return,
        };
        self.with_value += with_value as u64;
        self.uses.add(strategy, 1);
    }

    /// Returns true if the answer will be an error, so no more batches need to be counted.
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        matches!(&self.counts, Counts::Histogram(counts) if counts.is_over(limits))
    }

    /// Returns the answer for `total` counted documents.
    pub(super) fn finish(
        self,
        (total, with_own_criteria): (u64, bool),
        limits: &Limits,
        pace: &Pace<'_>,
    ) -> Result<FacetAnswer, Error> {
        let class = ValueClass::of_field(self.field.field_type());
        let counts = match (self.counts, self.facet.form(), class) {
            (Counts::Values(tally), FacetForm::Values(limit), _) => {
                FacetCounts::Values(tally.finish(self.field, *limit, pace))
            }
            (Counts::Histogram(counts), FacetForm::Histogram(buckets), ValueClass::Ordered(kind)) => {
                FacetCounts::Histogram(counts.into_buckets(buckets, (self.field, kind), limits)?)
            }
            (Counts::Stats(counts), ..) => FacetCounts::Stats(counts.finish()),
            // The counts were created for the form of the facet.
            _ => FacetCounts::Values(crate::facet::ValueCounts::default()),
        };
        Ok(FacetAnswer {
            field: self.field.name().to_owned(),
            total,
            absent: total.saturating_sub(self.with_value),
            with_own_criteria,
            counts,
        })
    }
}
