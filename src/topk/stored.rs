//! A page of rows in the order in which they are stored.

use super::sorted::Visit;
use crate::batch::RowAddr;
use crate::exec::Selected;

/// The selected rows of batches that lie in order, from `offset`, at most `limit`.
///
/// With a `total`, every batch is asked and its rows are added to it.
pub(crate) fn first_page<'b>(
    batches: impl Iterator<Item = Visit<'b>>,
    (offset, limit): (usize, usize),
    mut total: Option<&mut u64>,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Vec<RowAddr> {
    let mut page: Vec<RowAddr> = Vec::new();
    let mut skip = offset;
    for visit in batches {
        let room = limit.saturating_sub(page.len());
        if room == 0 && total.is_none() {
            break;
        }
        let selected = select(&visit);
        if skip > 0 || room == 0 {
            let count = selected.count();
            add(&mut total, count);
            if room == 0 || count <= skip {
                let passed_over = u64::from(room > 0);
                selected.note(|work| work.passed_over = work.passed_over.saturating_add(passed_over));
                skip = skip.saturating_sub(count);
                continue;
            }
        }
        let rows = selected.rows();
        if skip == 0 && total.is_some() {
            add(&mut total, rows.count(visit.batch.rows()));
        }
        let Ok(batch) = u32::try_from(visit.number) else { continue };
        let wanted = rows.iter(visit.batch.rows()).skip(std::mem::take(&mut skip)).take(room);
        page.extend(wanted.filter_map(|row| Some(RowAddr { batch, row: u16::try_from(row).ok()? })));
    }
    page
}

pub(super) fn add(total: &mut Option<&mut u64>, count: usize) {
    if let Some(total) = total {
        **total = total.saturating_add(count as u64);
    }
}
