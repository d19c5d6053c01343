//! The sort keys of documents, by which the documents of a page are chosen.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::batch::Row;
use crate::catalog::Catalog;
use crate::filter::order::{Position, SortKey, SortKeys, SortValue};
use crate::topk::Key;
use crate::value::Value;

/// The sort keys of a document, borrowed from its row.
pub(super) type RowKeys<'r> = SmallVec<[Key<'r>; 2]>;

/// The position of a document in the order of the answer.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    values: SmallVec<[RankValue; 2]>,
    pub(super) id: Box<str>,
    /// The insertion-order number. In a block that is not merged yet: the number of earlier documents of the same block.
    pub(super) place: u64,
}

/// The value of a document in a sort field.
#[derive(Clone, Debug)]
struct RankValue {
    value: SortValue,
    /// The index of a string among the known values of its field, or `usize::MAX`.
    known: usize,
}

impl RankValue {
    fn new(key: &Key<'_>) -> Self {
        let known = if let Key::String(known, _) = key { *known } else { usize::MAX };
        Self { value: key.value(), known }
    }

    fn key(&self) -> Key<'_> {
        match &self.value {
            SortValue::Absent => Key::Absent,
            SortValue::Ordinal(ordinal) => Key::Ordinal(*ordinal),
            SortValue::Boolean(boolean) => Key::Boolean(*boolean),
            SortValue::Text(text) => Key::String(self.known, text),
        }
    }
}

impl Rank {
    pub(super) fn new(keys: &[Key<'_>], id: &str, place: u64) -> Self {
        Self { values: keys.iter().map(RankValue::new).collect(), id: id.into(), place }
    }

    /// Returns the position directly after the document.
    pub(super) fn position(&self) -> Position {
        if self.values.is_empty() {
            return Position::Inserted(self.place);
        }
        let values = self.values.iter().map(|value| value.value.clone()).collect();
        Position::Sorted { values, id: self.id.clone() }
    }
}

/// The order of an answer: the sort keys of its request, and the position after which its page begins.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    catalog: Catalog,
    keys: SortKeys,
    after: Option<Rank>,
}

impl Ranking {
    /// Creates the order of these keys, or the insertion order if there are none.
    pub(super) fn new(catalog: &Catalog, keys: SortKeys, after: Option<&Position>) -> Self {
        let after = after.map(|position| match position {
            Position::Inserted(place) => Rank::new(&[], "", *place),
            Position::Sorted { values, id } => {
                let pairs = keys.iter().zip(values);
                let of_values: RowKeys<'_> =
                    pairs.map(|(key, value)| Key::of_value(value, catalog.field(key.field))).collect();
                Rank::new(&of_values, id, 0)
            }
        });
        Self { catalog: catalog.clone(), keys, after }
    }

    pub(super) fn keys(&self) -> &SortKeys {
        &self.keys
    }

    /// Returns true if documents are in the order in which they were inserted.
    pub(super) fn is_by_place(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns true if the page begins after a place in the insertion order.
    pub(super) fn is_behind_place(&self) -> bool {
        self.is_by_place() && self.after.is_some()
    }

    /// Returns the sort keys of a row.
    pub(super) fn keys_of<'r>(&self, row: &'r Row<'_>) -> RowKeys<'r> {
        let of_key = |key: &SortKey| match row.values(key.field).next() {
            None => Key::Absent,
            Some(Value::String(text)) => {
                let known = self.catalog.field(key.field).known_rank(text);
                Key::String(known.unwrap_or(usize::MAX), text)
            }
            Some(Value::Boolean(boolean)) => Key::Boolean(*boolean),
            Some(ordered) => ordered.ordinal().map_or(Key::Absent, |(_, ordinal)| Key::Ordinal(ordinal)),
        };
        self.keys.iter().map(of_key).collect()
    }

    /// Compares a document with another one.
    fn compare_keys(&self, (keys, id, place): (&[Key<'_>], &str, u64), other: &Rank) -> Ordering {
        if self.is_by_place() {
            return place.cmp(&other.place);
        }
        let mut pairs = self.keys.iter().zip(keys.iter().zip(&other.values));
        let decided = pairs.find_map(|(key, (own, other))| {
            Some(own.compare(&other.key(), key.descending)).filter(|ordering| ordering.is_ne())
        });
        decided.unwrap_or_else(|| id.cmp(&other.id))
    }

    /// Compares the positions of two documents.
    pub(super) fn compare(&self, a: &Rank, b: &Rank) -> Ordering {
        if self.is_by_place() {
            return a.place.cmp(&b.place);
        }
        let mut pairs = self.keys.iter().zip(a.values.iter().zip(&b.values));
        let decided = pairs.find_map(|(key, (a, b))| {
            Some(a.key().compare(&b.key(), key.descending)).filter(|ordering| ordering.is_ne())
        });
        decided.unwrap_or_else(|| a.id.cmp(&b.id))
    }

    /// Returns true if a document with these keys may be on the page: it is after the position where the page begins, and before
    /// `bound`. Must not be called for the insertion order, because the place of the document is not known yet.
    pub(super) fn takes_keys(&self, keys: &[Key<'_>], id: &str, bound: Option<&Rank>) -> bool {
        let document = (keys, id, 0);
        bound.is_none_or(|bound| self.compare_keys(document, bound).is_lt())
            && self.after.as_ref().is_none_or(|after| self.compare_keys(document, after).is_gt())
    }

    /// Returns true if a document may be on the page: it is after the position where the page begins, and before `bound`.
    pub(super) fn takes(&self, rank: &Rank, bound: Option<&Rank>) -> bool {
        bound.is_none_or(|bound| self.compare(rank, bound).is_lt())
            && self.after.as_ref().is_none_or(|after| self.compare(rank, after).is_gt())
    }
}
