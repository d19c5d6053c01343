//! From selections to the rows of a page.

use std::cmp::Ordering;

use crate::batch::Batch;
use crate::catalog::{Field, FieldId};
use crate::column::{Column, Data, Layout, Selection};
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
            Data::Strings { dictionary, codes } => {
                let code = codes.get(row);
                Key::String(self.ranks.get(code).copied().unwrap_or(usize::MAX), dictionary.get(code))
            }
            Data::Numbers { values, .. } => {
                values.get(row).and_then(|value| Number::new(*value)).map_or(Key::Absent, Key::Number)
            }
            Data::Timestamps { values, .. } => {
                values.get(row).map_or(Key::Absent, |millis| Key::Timestamp(Timestamp::from_millis(*millis)))
            }
            Data::Booleans { values } => Key::Boolean(values.get(row)),
        }
    }
}

/// The first of a batch's keys that zone map or dictionary allow, whichever rows are selected.
fn best_key<'b>(batch: &'b Batch, by: SortBy<'_>) -> Key<'b> {
    let (id, descending) = match by {
        SortBy::Place => {
            let first = (0..batch.rows()).map(|row| batch.place(row)).min();
            return first.map_or(Key::Absent, Key::Place);
        }
        SortBy::Field { id, descending, .. } => (id, descending),
    };
    fn end<T>(descending: bool, low: T, high: T) -> T {
        if descending { high } else { low }
    }
    match batch.column(id).map(|column| &column.data) {
        Some(Data::Strings { dictionary, .. }) => {
            let keys = Keys::new(batch, by);
            let all = (0..dictionary.len()).map(|code| {
                Key::String(keys.ranks.get(code).copied().unwrap_or(usize::MAX), dictionary.get(code))
            });
            if keys.ranks.is_empty() {
                let code = end(descending, 0, dictionary.len().saturating_sub(1));
                return if dictionary.len() == 0 {
                    Key::Absent
                } else {
                    Key::String(usize::MAX, dictionary.get(code))
                };
            }
            all.min_by(|a, b| a.compare(b, descending)).unwrap_or(Key::Absent)
        }
        Some(Data::Numbers { zone: Some((low, high)), .. }) => Key::Number(end(descending, *low, *high)),
        Some(Data::Timestamps { zone: Some((low, high)), .. }) => {
            Key::Timestamp(end(descending, *low, *high))
        }
        Some(Data::Booleans { .. }) => Key::Boolean(descending),
        _ => Key::Absent,
    }
}

/// A selected row and its key.
#[derive(Clone, Copy)]
struct Candidate<'b> {
    key: Key<'b>,
    at: At,
}

/// Sorts the selected rows of some batches and gives those from `offset`, at most `limit`.
///
/// `select` gives the live selected rows of a batch. Batches are visited in the order of their
/// best keys, so that, once the page is full, those that cannot improve it are left alone, unless
/// `visit_all` asks for each of them to be selected once.
pub(crate) fn sorted_page(
    batches: &[&Batch],
    by: SortBy<'_>,
    (offset, limit): (usize, usize),
    visit_all: bool,
    mut select: impl FnMut(usize) -> Selection,
) -> Vec<At> {
    let wanted = offset.saturating_add(limit);
    let descending = matches!(by, SortBy::Field { descending: true, .. });
    let id = |at: At| batches.get(at.batch as usize).map_or("", |batch| batch.id(usize::from(at.row)));
    let compare = |a: &Candidate<'_>, b: &Candidate<'_>| {
        a.key.compare(&b.key, descending).then_with(|| match by {
            SortBy::Place => Ordering::Equal,
            SortBy::Field { .. } => id(a.at).cmp(id(b.at)),
        })
    };
    let mut order: Vec<(usize, &Batch, Key<'_>)> =
        batches.iter().enumerate().map(|(at, batch)| (at, *batch, best_key(batch, by))).collect();
    order.sort_by(|(_, _, a), (_, _, b)| a.compare(b, descending));

    let mut best: Vec<Candidate<'_>> = Vec::new();
    for (number, batch, first) in order {
        // `best` holds no more than what is wanted here, so its greatest decides.
        let full = limit == 0 || best.len() >= wanted;
        let worst =
            if best.len() >= wanted { best.iter().max_by(|a, b| compare(a, b)).copied() } else { None };
        let hopeless =
            full && worst.is_none_or(|worst| first.compare(&worst.key, descending) == Ordering::Greater);
        if hopeless && !visit_all {
            break;
        }
        let selection = select(number);
        if hopeless || limit == 0 {
            continue;
        }
        let keys = Keys::new(batch, by);
        let Ok(number) = u32::try_from(number) else { continue };
        best.extend(selection.iter(batch.rows()).filter_map(|row| {
            let candidate =
                Candidate { key: keys.key(row, by), at: At { batch: number, row: u16::try_from(row).ok()? } };
            match &worst {
                Some(worst) if compare(&candidate, worst) == Ordering::Greater => None,
                _ => Some(candidate),
            }
        }));
        if let Some(last) = wanted.checked_sub(1)
            && best.len() > wanted
        {
            best.select_nth_unstable_by(last, compare);
            best.truncate(wanted);
        }
    }
    best.sort_unstable_by(compare);
    best.into_iter().skip(offset).take(limit).map(|candidate| candidate.at).collect()
}
