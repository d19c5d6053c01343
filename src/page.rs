//! From selections to the rows of a page.

use std::cmp::Ordering;

use crate::batch::Batch;
use crate::catalog::{Field, FieldId};
use crate::column::{Column, Data, Layout, Selection, Sorted};
use crate::exec::Rows;
use crate::order::Order;
use crate::value::{Number, Timestamp};

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
    pub(crate) fn new(order: Option<Order>, fields: &'c [Field]) -> Self {
        match order.and_then(|order| Some((order, fields.get(order.field.index())?))) {
            Some((order, field)) => Self::Field { field, id: order.field, descending: order.descending },
            None => Self::Place,
        }
    }
}

/// What a row is sorted by; smaller comes first. Rows of one search have keys of one sort, or `Absent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'b> {
    Place(u64),
    Number(Number),
    Timestamp(Timestamp),
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
            (Key::Number(a), Key::Number(b)) => a.cmp(b),
            (Key::Timestamp(a), Key::Timestamp(b)) => a.cmp(b),
            (Key::Boolean(a), Key::Boolean(b)) => a.cmp(b),
            (Key::String(rank_a, a), Key::String(rank_b, b)) => rank_a.cmp(rank_b).then_with(|| a.cmp(b)),
            _ => Ordering::Equal,
        };
        if descending { ascending.reverse() } else { ascending }
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

    fn key(&self, row: usize, by: SortBy<'_>) -> Key<'b> {
        if let SortBy::Place = by {
            return Key::Place(self.batch.place(row));
        }
        let Some(column) = self.column else { return Key::Absent };
        match &column.layout {
            Layout::Single(present) if present.contains(row) => {}
            _ => return Key::Absent,
        }
        match &column.data {
            Data::Strings { codes, .. } => self.of_code(codes.get(row)),
            Data::Numbers { values, .. } => {
                values.get(row).and_then(|value| Number::new(*value)).map_or(Key::Absent, Key::Number)
            }
            Data::Timestamps { values, .. } => {
                values.get(row).map_or(Key::Absent, |millis| Key::Timestamp(Timestamp::from_millis(millis)))
            }
            Data::Booleans { values, .. } => Key::Boolean(values.get(row)),
        }
    }
}

/// The first and the last key that zone map or dictionary allow a batch, whichever rows are selected.
fn key_range<'b>(batch: &'b Batch, by: SortBy<'_>) -> (Key<'b>, Key<'b>) {
    let (id, descending) = match by {
        SortBy::Place => {
            let ends = batch.place_range();
            return ends.map_or((Key::Absent, Key::Absent), |(a, b)| (Key::Place(a), Key::Place(b)));
        }
        SortBy::Field { id, descending, .. } => (id, descending),
    };
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
        Data::Numbers { zone, .. } => zone.map(|(low, high)| (Key::Number(low), Key::Number(high))),
        Data::Timestamps { zone, .. } => zone.map(|(low, high)| (Key::Timestamp(low), Key::Timestamp(high))),
        Data::Booleans { .. } => Some((Key::Boolean(false), Key::Boolean(true))),
    };
    let Some((low, high)) = ends else { return (Key::Absent, Key::Absent) };
    let (first, last) = if descending { (high, low) } else { (low, high) };
    let all_present = matches!(&column.layout, Layout::Single(Selection::All));
    (first, if all_present { last } else { Key::Absent })
}

/// A selected row and its key.
#[derive(Clone, Copy)]
struct Candidate<'b> {
    key: Key<'b>,
    at: At,
}

/// A batch that may have rows on the page.
pub(crate) struct Visit<'b> {
    /// Its number in the snapshot.
    pub(crate) number: usize,
    pub(crate) batch: &'b Batch,
}

/// The selected rows of batches that lie in order, from `offset`, at most `limit`.
///
/// `select` gives the live selected rows of a batch, and is asked of each when `visit_all` says so.
pub(crate) fn first_page<'b, 'r>(
    batches: impl Iterator<Item = Visit<'b>>,
    (offset, limit): (usize, usize),
    visit_all: bool,
    mut select: impl FnMut(&Visit<'_>) -> Rows<'r>,
) -> Vec<At> {
    let mut page: Vec<At> = Vec::new();
    let mut skip = offset;
    for visit in batches {
        if page.len() >= limit && !visit_all {
            break;
        }
        let rows = select(&visit);
        if page.len() >= limit {
            continue;
        }
        let count = if skip == 0 { 0 } else { rows.count(visit.batch.rows()) };
        if skip > 0 && count <= skip {
            skip = skip.saturating_sub(count);
            continue;
        }
        let room = limit.saturating_sub(page.len());
        let Ok(batch) = u32::try_from(visit.number) else { continue };
        let wanted = rows.iter(visit.batch.rows()).skip(std::mem::take(&mut skip)).take(room);
        page.extend(wanted.filter_map(|row| Some(At { batch, row: u16::try_from(row).ok()? })));
    }
    page
}

/// Sorts the selected rows of some batches and gives those from `offset`, at most `limit`.
///
/// `select` gives the live selected rows of a batch. Batches are visited in the order of their
/// first keys. Once the page is full, those that cannot improve it are left alone, unless
/// `visit_all` asks for each of them to be selected once; and as long as the offset is not used
/// up, a batch that lies apart from all later ones is counted, not sorted.
pub(crate) fn sorted_page<'r>(
    batches: Vec<Visit<'_>>,
    by: SortBy<'_>,
    (mut offset, limit): (usize, usize),
    visit_all: bool,
    mut select: impl FnMut(&Visit<'_>) -> Rows<'r>,
) -> Vec<At> {
    let descending = matches!(by, SortBy::Field { descending: true, .. });
    let mut ordered: Vec<(Visit<'_>, Key<'_>, Key<'_>)> = batches
        .into_iter()
        .map(|visit| {
            let (first, last) = key_range(visit.batch, by);
            (visit, first, last)
        })
        .collect();
    ordered.sort_by(|(_, a, _), (_, b, _)| a.compare(b, descending));

    let mut best = Best::new(&ordered, by, descending);
    for (at, (visit, first, last)) in ordered.iter().enumerate() {
        let wanted = offset.saturating_add(limit);
        let hopeless = limit == 0 || best.excludes(first, wanted);
        if hopeless && !visit_all {
            break;
        }
        let rows = select(visit);
        if hopeless {
            continue;
        }
        let apart = best.candidates.is_empty()
            && ordered
                .get(at.saturating_add(1))
                .is_none_or(|(_, next, _)| last.compare(next, descending).is_lt());
        if apart && offset > 0 {
            let count = rows.count(visit.batch.rows());
            if count <= offset {
                offset = offset.saturating_sub(count);
                continue;
            }
        }
        let skip = if apart { &mut offset } else { &mut 0 };
        best.take_in(at, visit.batch, &rows, wanted, skip);
    }
    best.page(offset, limit)
}

/// Keeps the first `wanted` in an order, in any order.
fn keep_first<T>(items: &mut Vec<T>, wanted: usize, compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() > wanted {
        if let Some(last) = wanted.checked_sub(1) {
            items.select_nth_unstable_by(last, compare);
        }
        items.truncate(wanted);
    }
}

/// Gathering a row as a candidate takes as long as passing over so many rows in sorted order.
const STEPS_OF_A_CANDIDATE: usize = 16;

/// The best rows so far.
struct Best<'o, 'b, 's> {
    ordered: &'o [(Visit<'b>, Key<'b>, Key<'b>)],
    by: SortBy<'s>,
    descending: bool,
    /// `At::batch` is a place in `ordered` until the end.
    candidates: Vec<Candidate<'b>>,
}

impl<'o, 'b, 's> Best<'o, 'b, 's> {
    fn new(ordered: &'o [(Visit<'b>, Key<'b>, Key<'b>)], by: SortBy<'s>, descending: bool) -> Self {
        Self { ordered, by, descending, candidates: Vec::new() }
    }

    fn id(&self, at: At) -> &'b str {
        self.ordered.get(at.batch as usize).map_or("", |(visit, _, _)| visit.batch.id(usize::from(at.row)))
    }

    fn compare(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        a.key.compare(&b.key, self.descending).then_with(|| match self.by {
            SortBy::Place => Ordering::Equal,
            SortBy::Field { .. } => self.id(a.at).cmp(self.id(b.at)),
        })
    }

    /// The last of the candidates, once there are as many as are wanted.
    fn worst(&self, wanted: usize) -> Option<Candidate<'b>> {
        if self.candidates.len() < wanted {
            return None;
        }
        self.candidates.iter().max_by(|a, b| self.compare(a, b)).copied()
    }

    /// True when no row of a key from `first` on can be among the wanted.
    fn excludes(&self, first: &Key<'_>, wanted: usize) -> bool {
        self.worst(wanted).is_some_and(|worst| first.compare(&worst.key, self.descending).is_gt())
    }

    /// Takes in the selected rows of a batch, and keeps the best `wanted` of all.
    ///
    /// Of a batch that is the first and lies apart, up to `skip` rows may be passed over, which is
    /// then lowered by as many.
    fn take_in(&mut self, at: usize, batch: &'b Batch, rows: &Rows<'_>, mut wanted: usize, skip: &mut usize) {
        let Ok(number) = u32::try_from(at) else { return };
        let worst = self.worst(wanted);
        let keys = Keys::new(batch, self.by);
        let candidate =
            |row: u16| Candidate { key: keys.key(usize::from(row), self.by), at: At { batch: number, row } };
        let better = |candidate: &Candidate<'_>| match &worst {
            Some(worst) => self.compare(candidate, worst).is_lt(),
            None => true,
        };
        let sorted = match (rows, keys.column.map(|column| &column.data)) {
            // Few rows are sooner sorted than found among all.
            (Rows::List(_), _) => None,
            (rows, Some(Data::Numbers { sorted, .. } | Data::Timestamps { sorted, .. })) => {
                keys.column.and_then(|column| Sorted::new(sorted, column)).filter(|sorted| {
                    // Of rows evenly spread, so many are met before as many as wanted are selected.
                    let count = rows.count(batch.rows());
                    let steps =
                        wanted.saturating_mul(sorted.len()).checked_div(count).unwrap_or(0).min(sorted.len());
                    steps <= count.saturating_mul(STEPS_OF_A_CANDIDATE)
                })
            }
            _ => None,
        };
        let mut found: Vec<Candidate<'b>> = Vec::new();
        let is_behind =
            |key: &Key<'_>| worst.is_some_and(|worst| key.compare(&worst.key, self.descending).is_gt());
        let is_selected = |row: &u16| rows.contains(usize::from(*row));
        // Whether rows without a value may still be wanted, those with one all having been met.
        let mut absent_wanted = !is_behind(&Key::Absent);
        match (sorted, keys.column.map(|column| &column.data)) {
            _ if matches!(self.by, SortBy::Place) && batch.ordered_places().is_some() => {
                // Rows that stand in order need no sorting, and none behind the wanted are met.
                let all = rows.iter(batch.rows()).filter_map(|row| u16::try_from(row).ok());
                found.extend(all.take(wanted).map(candidate).take_while(better));
                absent_wanted = false;
            }
            (Some(sorted), _) => {
                let len = sorted.len();
                let walk = (0..len).filter_map(|step| {
                    let place = if self.descending { len.checked_sub(step)?.checked_sub(1)? } else { step };
                    sorted.get(place).and_then(|row| u16::try_from(row).ok())
                });
                let mut groups: usize = 0;
                for candidate in walk.filter(is_selected).map(candidate) {
                    // Rows of one key may still change places by id, so they come or go together.
                    if found.last().is_some_and(|last| last.key != candidate.key) {
                        if groups == 0 && found.len() <= *skip {
                            *skip = skip.saturating_sub(found.len());
                            wanted = wanted.saturating_sub(found.len());
                            found.clear();
                        } else {
                            groups = groups.saturating_add(1);
                        }
                        if found.len() >= wanted {
                            absent_wanted = false;
                            break;
                        }
                    }
                    if is_behind(&candidate.key) {
                        absent_wanted = false;
                        break;
                    }
                    found.push(candidate);
                }
            }
            (None, Some(Data::Strings { dictionary, postings: Some(postings), .. }))
                if !matches!(rows, Rows::List(_)) =>
            {
                let mut codes: Vec<(Key<'_>, u32)> =
                    (0..).zip(0..dictionary.len()).map(|(code, at)| (keys.of_code(at), code)).collect();
                codes.sort_by(|(a, _), (b, _)| a.compare(b, self.descending));
                for (key, code) in codes {
                    if found.len() >= wanted || is_behind(&key) {
                        absent_wanted = false;
                        break;
                    }
                    let with_code = Rows::from(postings.get(code));
                    let with_code = with_code.iter(batch.rows()).filter_map(|row| u16::try_from(row).ok());
                    found.extend(with_code.filter(is_selected).map(candidate));
                }
            }
            _ => {
                let all = rows.iter(batch.rows()).filter_map(|row| u16::try_from(row).ok());
                found.extend(all.map(candidate).filter(better));
                absent_wanted = false;
            }
        }
        if absent_wanted && found.len() < wanted {
            let all = rows.iter(batch.rows()).filter_map(|row| u16::try_from(row).ok());
            found.extend(all.map(candidate).filter(|candidate| candidate.key == Key::Absent));
        }
        // Within a batch the codes of ids, being ranks, compare as the ids do, and faster.
        let ids = batch.column(FieldId::ID).map(|ids| &ids.data);
        let id_rank = |candidate: &Candidate<'_>| match (self.by, ids) {
            (SortBy::Field { .. }, Some(Data::Strings { codes, .. })) => {
                codes.get(usize::from(candidate.at.row))
            }
            _ => 0,
        };
        keep_first(&mut found, wanted, |a, b| {
            a.key.compare(&b.key, self.descending).then_with(|| id_rank(a).cmp(&id_rank(b)))
        });
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.extend(found);
        keep_first(&mut candidates, wanted, |a, b| self.compare(a, b));
        self.candidates = candidates;
    }

    fn page(mut self, offset: usize, limit: usize) -> Vec<At> {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.sort_unstable_by(|a, b| self.compare(a, b));
        let page = candidates.into_iter().skip(offset).take(limit);
        page.filter_map(|candidate| {
            let (visit, _, _) = self.ordered.get(candidate.at.batch as usize)?;
            Some(At { batch: u32::try_from(visit.number).ok()?, row: candidate.at.row })
        })
        .collect()
    }
}
