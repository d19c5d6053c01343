//! Pages from the batches, one after the other.

use super::batch_order::{Ordered, Ranged};
use super::heap::Best;
use super::key::SortBy;
use super::key_estimate::guess;
use super::seek::floor;
use super::sorted::Visit;
use super::stored::add;
use super::top_rows_page::{Covered, ranked};
use crate::batch::RowAddr;
use crate::exec::Selected;

/// Sorts the selected rows of some batches and gives those from `offset`, at most `limit`.
///
/// Where many batches overlap, their first rows together may have the page. Else they are visited in the order of
/// their first keys, in which the `covered` come already. Once the page
/// is full, those that cannot improve it are left alone, unless there is a `total` to which the rows of each are to
/// be added; and as long as the offset is not used up, a batch that lies apart from all later ones is counted, not
/// sorted. Where batches overlap, a long offset is used up by a [`floor`].
pub(crate) fn sorted_page<'b>(
    covered: Covered<'_, 'b, impl Iterator<Item = Visit<'b>> + Clone>,
    others: impl Iterator<Item = Visit<'b>> + Clone,
    by: SortBy<'_>,
    (mut offset, limit): (usize, usize),
    mut total: Option<&mut u64>,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Vec<RowAddr> {
    let descending = by.is_descending();
    let wanted = offset.saturating_add(limit);
    if total.is_none()
        && limit > 0
        && let Some(best) = ranked(&covered, others.clone(), by, wanted, &select)
    {
        return best.page(offset, limit);
    }
    let mut ordered = Ordered::new(covered.in_order, others, by);

    let floor = floor(&mut ordered, by, if limit == 0 { 0 } else { offset }, &select);
    offset = offset.saturating_sub(floor.map_or(0, |floor| floor.passed));
    let wanted = offset.saturating_add(limit);
    if total.is_none()
        && floor.is_none()
        && let Some(guess) = guess(&mut ordered, by, wanted, &select)
    {
        let mut best = Best::new(by).guessing(guess);
        best.wanted = wanted;
        for Ranged { visit, first, .. } in ordered.all() {
            if best.is_behind(first) {
                break;
            }
            best.take_in(visit, &select(visit), &mut 0);
        }
        if best.is_full() {
            return best.page(offset, limit);
        }
    }

    let mut best = Best::new(by);
    best.floor = floor.map(|floor| floor.key);
    let mut at = 0;
    while let Some(Ranged { visit, first, last }) = ordered.get(at) {
        at = at.saturating_add(1);
        best.wanted = offset.saturating_add(limit);
        let hopeless = limit == 0 || best.is_behind(&first);
        if hopeless && total.is_none() {
            break;
        }
        let is_passed = best.is_before(&last);
        if is_passed && total.is_none() {
            continue;
        }
        let selected = select(&visit);
        let mut count = None;
        if total.is_some() {
            add(&mut total, *count.insert(selected.count()));
        }
        if hopeless || is_passed {
            continue;
        }
        let may_skip = offset > 0
            && floor.is_none()
            && best.is_empty()
            && ordered.get(at).is_none_or(|next| last.compare(&next.first, descending).is_lt());
        if may_skip {
            let count = count.unwrap_or_else(|| selected.count());
            if count <= offset {
                selected.note(|work| work.passed_over = work.passed_over.saturating_add(1));
                offset = offset.saturating_sub(count);
                continue;
            }
        }
        let skip = if may_skip { &mut offset } else { &mut 0 };
        best.take_in(&visit, &selected, skip);
    }
    best.page(offset, limit)
}
