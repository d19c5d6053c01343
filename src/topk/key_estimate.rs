//! Estimates the last key of a page, from the sorted rows of the batches.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "at most 2^33 rows wanted times the rows of a batch; two batches or more, each of which has a key"
)]

use super::batch_order::{Ordered, Ranged};
use super::key::{Key, Keys, SortBy};
use crate::batch::MAX_ROWS;
use crate::exec::{Scan, Visit};

/// An estimate of the last key of a page.
pub(super) struct KeyEstimate<'b> {
    pub(super) key: Key<'b>,
    /// The approximate number of rows of each batch that come before the key.
    pub(super) near: usize,
}

/// Estimates the last key of a page of `wanted` rows, if the key ranges of batches overlap.
///
/// With an estimate, the search reads only the rows of each batch that come before the estimated key. Without an estimate, it reads
/// the first batches as if the complete page came from them. A wrong estimate cannot produce a wrong page: if the page is not full,
/// the caller searches again without an estimate.
///
/// Returns `None` if an estimate would not save work, or if a batch does not keep its rows sorted.
pub(super) fn estimate<'b>(
    ordered: &mut Ordered<'b, '_, impl Iterator<Item = Visit<'b>>>,
    by: SortBy<'_>,
    wanted: usize,
    scan: &Scan<'b>,
) -> Option<KeyEstimate<'b>> {
    let SortBy::Field { descending, .. } = by else { return None };
    if wanted == 0 {
        return None;
    }
    let is_apart = |a: &Ranged<'_>, b: &Ranged<'_>| a.last.compare(&b.first, descending).is_le();
    let mut ahead = (0..).map_while(|at| ordered.get(at)).filter(|ranged| !by.is_behind_key(&ranged.last));
    let (start, next) = (ahead.next()?, ahead.next()?);
    let is_large = [start, next].iter().all(|ranged| ranged.visit.batch.rows() > MAX_ROWS / 4);
    if is_large && is_apart(&start, &next) {
        return None;
    }
    // Small batches contain recent writes. They contribute little to the page and are not typical of the large batches.
    let mut all = ordered.all().to_vec();
    all.retain(|ranged| !by.is_behind_key(&ranged.last));
    let most = all.iter().map(|ranged| ranged.visit.batch.rows()).max()?;
    let large: Vec<&Ranged<'b>> = all.iter().filter(|ranged| ranged.visit.batch.rows() > most / 4).collect();
    let [start, next, ..] = large.as_slice() else { return None };
    if is_apart(start, next) {
        return None;
    }
    // Assumes that the other batches are like the first batch, and adds a quarter for random variation.
    let likely = scan.likely(&start.visit);
    if likely == 0 {
        return None;
    }
    let steps = wanted * start.visit.batch.rows() / likely;
    let steps = steps + steps / 4;
    // In `sharing` batches, which are three quarters of the large batches, about `share` rows or more come before the estimated
    // key. Together, these batches have about `steps` rows or more before it.
    let sharing = (large.len() * 3).div_ceil(4);
    let share = steps.div_ceil(sharing);
    let keys = large.iter().map(|ranged| Keys::new(ranged.visit.batch, by).at_step(share, by));
    let mut keys = keys.collect::<Option<Vec<Key<'b>>>>()?;
    keys.sort_by(|a, b| a.compare(b, descending));
    let key = keys[sharing - 1];
    (key != Key::Absent).then_some(KeyEstimate { key, near: share + share / 8 })
}
