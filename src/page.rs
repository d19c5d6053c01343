//! From selections to the rows of a page.

mod best;
mod floor;
mod ordered;
mod ranked;

use std::borrow::Cow;
use std::cmp::Ordering;

use self::best::Best;
use self::floor::floor;
use self::ordered::{Ordered, Ranged};
use self::ranked::ranked;
pub(crate) use self::ranked::{Covered, listed_page, listed_page_as_stored};
use crate::batch::{Batch, FewRows, MAX_ROWS};
use crate::catalog::{Field, FieldId};
use crate::column::{Column, Data, Layout, Ordinals, Postings, Selection, Sorted};
use crate::exec::Selected;
use crate::order::SortKey;
use crate::value::Value;

/// A row of a batch: the number of the batch in its snapshot, and of the row in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SortBy<'c> {
    /// The order in which cases were first stored.
    Place,
    Field {
        field: &'c Field,
        id: FieldId,
        descending: bool,
    },
}

impl<'c> SortBy<'c> {
    pub(crate) fn new(order: Option<SortKey>, fields: &'c [Field]) -> Self {
        match order.and_then(|order| Some((order, fields.get(order.field.index())?))) {
            Some((order, field)) => Self::Field { field, id: order.field, descending: order.descending },
            None => Self::Place,
        }
    }

    fn is_descending(self) -> bool {
        matches!(self, Self::Field { descending: true, .. })
    }
}

/// What a row is sorted by; smaller comes first. Rows of one search have keys of one sort, or `Absent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'b> {
    Place(u64),
    /// The ordinal of a value of an ordered type.
    Ordinal(i64),
    Boolean(bool),
    /// Place among the known values, all others behind them, and the string itself.
    String(usize, &'b str),
    Absent,
}

impl Key<'_> {
    fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let ascending = match (self, other) {
            (Key::Absent, Key::Absent) => return Ordering::Equal,
            (Key::Absent, _) => return Ordering::Greater,
            (_, Key::Absent) => return Ordering::Less,
            (Key::Place(a), Key::Place(b)) => a.cmp(b),
            (Key::Ordinal(a), Key::Ordinal(b)) => a.cmp(b),
            (Key::Boolean(a), Key::Boolean(b)) => a.cmp(b),
            (Key::String(rank_a, a), Key::String(rank_b, b)) => rank_a.cmp(rank_b).then_with(|| a.cmp(b)),
            _ => Ordering::Equal,
        };
        if descending { ascending.reverse() } else { ascending }
    }

    /// A number that is less only for keys that come first; different keys may have the same.
    fn rank(&self, descending: bool) -> u64 {
        let unsigned = |ordinal: i64| ordinal.cast_unsigned() ^ (1 << 63);
        let ascending = match self {
            Key::Absent => return u64::MAX,
            Key::Place(place) => *place,
            Key::Ordinal(ordinal) => unsigned(*ordinal),
            Key::Boolean(boolean) => u64::from(*boolean),
            // Of the others, the first six bytes.
            Key::String(usize::MAX, text) => {
                let text = text.as_bytes().iter().copied().chain(std::iter::repeat(0)).take(6);
                text.fold(u64::from(u16::MAX), |rank, byte| rank << 8 | u64::from(byte))
            }
            Key::String(known, _) => u64::try_from(*known).unwrap_or(u64::MAX).min(0xfffe) << 48,
        };
        if descending { !ascending } else { ascending }
    }
}

/// The keys of one batch.
struct Keys<'b> {
    batch: &'b Batch,
    column: Option<&'b Column>,
    /// Of a string column whose field has known values: the place of each code among them.
    ranks: Vec<usize>,
}

impl<'b> Keys<'b> {
    fn new(batch: &'b Batch, by: SortBy<'_>) -> Self {
        let SortBy::Field { field, id, .. } = by else {
            return Self { batch, column: None, ranks: Vec::new() };
        };
        let column = batch.column(id);
        let ranks = match column.map(|column| &column.data) {
            Some(Data::Strings { dictionary, .. }) if field.known_values().len() > 0 => (0..dictionary.len())
                .map(|code| field.known_rank(dictionary.get(code)).unwrap_or(usize::MAX))
                .collect(),
            _ => Vec::new(),
        };
        Self { batch, column, ranks }
    }

    /// The key of the rows that have this code.
    fn of_code(&self, code: usize) -> Key<'b> {
        match self.column.map(|column| &column.data) {
            Some(Data::Strings { dictionary, .. }) => {
                Key::String(self.ranks.get(code).copied().unwrap_or(usize::MAX), dictionary.get(code))
            }
            _ => Key::Absent,
        }
    }

    /// All codes of a string column with their keys.
    fn codes(&self) -> impl Iterator<Item = (Key<'b>, u32)> {
        let codes = match self.column.map(|column| &column.data) {
            Some(Data::Strings { dictionary, .. }) => 0..dictionary.len(),
            _ => 0..0,
        };
        (0..).zip(codes).map(|(code, at)| (self.of_code(at), code))
    }

    /// The key at so many steps from the first, `Absent` behind the last; `None` where rows are not kept sorted.
    fn at_step(&self, step: usize, by: SortBy<'_>) -> Option<Key<'b>> {
        let column = self.column?;
        let Data::Ordered { sorted, .. } = &column.data else { return None };
        let sorted = Sorted::new(sorted, column)?;
        let place = if by.is_descending() {
            sorted.len().checked_sub(step).and_then(|end| end.checked_sub(1))
        } else {
            Some(step)
        };
        Some(
            place.and_then(|place| sorted.get(place)).map_or(Key::Absent, |row| self.key_of_present(row, by)),
        )
    }

    fn key(&self, row: usize, by: SortBy<'_>) -> Key<'b> {
        let is_present = |column: &Column| match &column.layout {
            Layout::Single(present) => present.contains(row),
            Layout::Many(_) => false,
        };
        match by {
            SortBy::Field { .. } if !self.column.is_some_and(is_present) => Key::Absent,
            _ => self.key_of_present(row, by),
        }
    }

    /// What the rows are sorted by, if that is a field of an ordered type.
    fn ordinals(&self, by: SortBy<'_>) -> Option<&'b Ordinals> {
        match (by, &self.column?.data) {
            (SortBy::Field { .. }, Data::Ordered { values, .. }) => Some(values),
            _ => None,
        }
    }

    /// The key of a row that has a value.
    fn key_of_present(&self, row: usize, by: SortBy<'_>) -> Key<'b> {
        if let SortBy::Place = by {
            return Key::Place(self.batch.place(row));
        }
        let Some(column) = self.column else { return Key::Absent };
        match &column.data {
            Data::Strings { codes, .. } => self.of_code(codes.get(row)),
            Data::Ordered { values, .. } => ordinal_key(values, row),
            Data::Booleans { values, .. } => Key::Boolean(values.get(row)),
        }
    }
}

#[inline]
fn ordinal_key<'b>(values: &Ordinals, row: usize) -> Key<'b> {
    values.get(row).map_or(Key::Absent, Key::Ordinal)
}

/// The first and the last key that zone map or dictionary allow a batch, whichever rows are selected.
fn key_range<'b>(batch: &'b Batch, by: SortBy<'_>) -> (Key<'b>, Key<'b>) {
    let (field, id, descending) = match by {
        SortBy::Place => {
            let ends = batch.place_range();
            return ends.map_or((Key::Absent, Key::Absent), |(a, b)| (Key::Place(a), Key::Place(b)));
        }
        SortBy::Field { field, id, descending } => (field, id, descending),
    };
    if let Some(rows) = batch.few_rows() {
        return few_keys_range(rows, field, id, descending);
    }
    let Some(column) = batch.column(id) else { return (Key::Absent, Key::Absent) };
    let ends = match &column.data {
        Data::Strings { dictionary, .. } => {
            let keys = Keys::new(batch, by);
            let key =
                |code| Key::String(keys.ranks.get(code).copied().unwrap_or(usize::MAX), dictionary.get(code));
            let compare = |a: &Key<'_>, b: &Key<'_>| a.compare(b, false);
            if keys.ranks.is_empty() {
                dictionary.len().checked_sub(1).map(|last| (key(0), key(last)))
            } else {
                let all = (0..dictionary.len()).map(key);
                all.clone().min_by(compare).zip(all.max_by(compare))
            }
        }
        Data::Ordered { zone, .. } => zone.map(|(low, high)| (Key::Ordinal(low), Key::Ordinal(high))),
        Data::Booleans { .. } => Some((Key::Boolean(false), Key::Boolean(true))),
    };
    let Some((low, high)) = ends else { return (Key::Absent, Key::Absent) };
    let (first, last) = if descending { (high, low) } else { (low, high) };
    let all_present = matches!(&column.layout, Layout::Single(Selection::All));
    (first, if all_present { last } else { Key::Absent })
}

/// As [`key_range`], of rows for which no column need be made: most often they are ruled out.
fn few_keys_range<'b>(rows: FewRows<'b>, field: &Field, id: FieldId, descending: bool) -> (Key<'b>, Key<'b>) {
    let key = |row| match rows.row(row).and_then(|row| row.values(id).next()) {
        Some(value @ (Value::Number(_) | Value::Timestamp(_))) => {
            value.ordinal().map_or(Key::Absent, |(_, ordinal)| Key::Ordinal(ordinal))
        }
        Some(Value::Boolean(boolean)) => Key::Boolean(boolean),
        Some(Value::String(Cow::Borrowed(text))) => {
            Key::String(field.known_rank(text).unwrap_or(usize::MAX), text)
        }
        Some(Value::String(Cow::Owned(_))) | None => Key::Absent,
    };
    let compare = |a: &Key<'_>, b: &Key<'_>| a.compare(b, descending);
    let keys = (0..rows.len()).map(key);
    keys.clone().min_by(compare).zip(keys.max_by(compare)).unwrap_or((Key::Absent, Key::Absent))
}

/// The rows of a batch that have a key, in its order, where it keeps them so.
fn sorted_rows<'b>(batch: &'b Batch, by: SortBy<'_>) -> Option<Sorted<'b>> {
    match by {
        SortBy::Place => batch.ordered_places().map(|_| Sorted::AsStored(batch.rows())),
        SortBy::Field { id, .. } => match &batch.column(id)?.data {
            Data::Ordered { sorted, .. } => Sorted::new(sorted, batch.column(id)?),
            _ => None,
        },
    }
}

/// How the rows of a batch are met in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Walk<'b> {
    /// In the order of their values, unless it takes less to gather them.
    Sorted(Sorted<'b>),
    /// String by string.
    Strings(&'b Postings),
    /// All are gathered first.
    Gather,
}

impl<'b> Walk<'b> {
    pub(crate) fn new(batch: &'b Batch, by: SortBy<'_>) -> Self {
        let SortBy::Field { id, .. } = by else { return Self::Gather };
        let Some(column) = batch.column(id) else { return Self::Gather };
        match &column.data {
            Data::Ordered { sorted, .. } => Sorted::new(sorted, column).map_or(Self::Gather, Self::Sorted),
            Data::Strings { postings: Some(postings), .. } => Self::Strings(postings),
            _ => Self::Gather,
        }
    }
}

/// A batch that may have rows on the page.
#[derive(Clone, Copy)]
pub(crate) struct Visit<'b> {
    /// Its number in the snapshot.
    pub(crate) number: usize,
    pub(crate) batch: &'b Batch,
    /// Those of its rows that are cases.
    pub(crate) live: &'b Selection,
}

/// The selected rows of batches that lie in order, from `offset`, at most `limit`.
///
/// With a `total`, every batch is asked and its rows are added to it.
pub(crate) fn first_page<'b>(
    batches: impl Iterator<Item = Visit<'b>>,
    (offset, limit): (usize, usize),
    mut total: Option<&mut u64>,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Vec<At> {
    let mut page: Vec<At> = Vec::new();
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
        page.extend(wanted.filter_map(|row| Some(At { batch, row: u16::try_from(row).ok()? })));
    }
    page
}

fn add(total: &mut Option<&mut u64>, count: usize) {
    if let Some(total) = total {
        **total = total.saturating_add(count as u64);
    }
}

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
) -> Vec<At> {
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

/// A key that as many rows as are wanted are probably not behind.
struct Guess<'b> {
    key: Key<'b>,
    /// About so many rows of a batch are not behind it.
    near: usize,
}

/// Of batches whose values overlap, a key that as many rows as are wanted are probably not behind.
///
/// Without it the first batches are walked as far as if they had the whole page; with it, each only as
/// far as its share. Whatever is guessed, the page is right: one that is not full is made again.
fn guess<'b>(
    ordered: &mut Ordered<'b, '_, impl Iterator<Item = Visit<'b>>>,
    by: SortBy<'_>,
    wanted: usize,
    select: impl Fn(&Visit<'b>) -> Selected<'b>,
) -> Option<Guess<'b>> {
    let SortBy::Field { descending, .. } = by else { return None };
    if wanted == 0 {
        return None;
    }
    let is_apart = |a: &Ranged<'_>, b: &Ranged<'_>| a.last.compare(&b.first, descending).is_le();
    let (start, next) = (ordered.get(0)?, ordered.get(1)?);
    let is_large = [start, next].iter().all(|ranged| ranged.visit.batch.rows() > MAX_ROWS / 4);
    if is_large && is_apart(&start, &next) {
        return None;
    }
    // Small ones, written of late, neither have a share nor tell of the others.
    let all = ordered.all();
    let most = all.iter().map(|ranged| ranged.visit.batch.rows()).max()?;
    let large: Vec<&Ranged<'b>> = all.iter().filter(|ranged| ranged.visit.batch.rows() > most / 4).collect();
    let [start, next, ..] = large.as_slice() else { return None };
    if is_apart(start, next) {
        return None;
    }
    // As if the other batches were like the first; a quarter more makes up for chance.
    let likely = select(&start.visit).likely();
    let steps = wanted.saturating_mul(start.visit.batch.rows()).checked_div(likely)?;
    let steps = steps.saturating_add(steps / 4);
    // Each of so many batches has as many rows before the guess as are its share.
    let sharing = large.len().saturating_mul(3).div_ceil(4);
    let share = steps.div_ceil(sharing);
    let keys = large.iter().map(|ranged| Keys::new(ranged.visit.batch, by).at_step(share, by));
    let mut keys = keys.collect::<Option<Vec<Key<'b>>>>()?;
    keys.sort_by(|a, b| a.compare(b, descending));
    let key = keys.get(sharing.checked_sub(1)?).copied().filter(|key| *key != Key::Absent)?;
    Some(Guess { key, near: share.saturating_add(share / 8) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesser_rank_is_that_of_a_key_that_comes_first() {
        let ordinals = [i64::MIN, -1, 0, 1, i64::MAX].map(Key::Ordinal);
        let texts = ["", "\0", "a", "a\0", "abcdef", "abcdefg", "abcdeg", "é", "😀"];
        let known = [0, 1, 65_533, 65_534, 65_535, 65_536, 1 << 40];
        let strings = known.map(|rank| Key::String(rank, "x")).into_iter();
        let sorts: [Vec<Key<'_>>; 4] = [
            ordinals.into(),
            [0, 1, u64::MAX].map(Key::Place).into(),
            [false, true].map(Key::Boolean).into(),
            strings.chain(texts.map(|text| Key::String(usize::MAX, text))).collect(),
        ];
        for mut keys in sorts {
            keys.push(Key::Absent);
            for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
                for descending in [false, true] {
                    let ranks = a.rank(descending).cmp(&b.rank(descending));
                    assert!(ranks.is_eq() || ranks == a.compare(b, descending), "{a:?}, {b:?}, {descending}");
                }
            }
        }
    }
}
