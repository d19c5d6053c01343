//! The rows with the first values of a field, over all covered batches together.

use super::GlobalRow;
use super::keys::{join, split};
use crate::column::Column;

/// A row, and what stands for its value: the ordinal, or in descending order that turned over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) rank: i64,
    pub(crate) row: GlobalRow,
}

/// The rows with the first values in one order, dead ones among them.
#[derive(Clone, Debug, Default)]
struct Leading {
    /// Ascending by rank.
    leaders: Vec<Leader>,
    /// Rows of this rank or a greater one are not among them, all others are; none, and all are that have a value.
    until: Option<i64>,
}

/// The rows with the first values of a field, and those with the last ones.
///
/// A page of the first or last cases of many that match is found among them, however many batches
/// there are. 32 bytes for each of up to 4,096 rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaders {
    ascending: Leading,
    descending: Leading,
}

/// The most leaders of one order.
const MOST: usize = 1 << 12;

fn rank(ordinal: i64, descending: bool) -> i64 {
    if descending { !ordinal } else { ordinal }
}

impl Leading {
    fn is_before_end(&self, rank: i64) -> bool {
        self.until.is_none_or(|until| rank < until)
    }

    fn add(&mut self, number: usize, column: &Column, descending: bool) {
        let Some(rows) = column.in_order(descending) else {
            *self = Self { leaders: Vec::new(), until: Some(i64::MIN) };
            return;
        };
        let before = self.leaders.len();
        // One more than can stay, so that what is left out is no better than what then goes.
        for (ordinal, row) in rows.take(MOST.saturating_add(1)) {
            let rank = rank(ordinal, descending);
            if !self.is_before_end(rank) {
                break;
            }
            self.leaders.extend(join(number, row).map(|row| Leader { rank, row }));
        }
        if self.leaders.len() == before {
            return;
        }
        // Of two runs in order, which are merged.
        self.leaders.sort_by_key(|leader| leader.rank);
        if let Some(first_out) = self.leaders.get(MOST).map(|leader| leader.rank) {
            self.leaders.truncate(self.leaders.partition_point(|leader| leader.rank < first_out));
            self.until = Some(first_out);
        }
        self.leaders.shrink_to(MOST);
    }

    fn validate(&self, descending: bool, columns: &[(usize, &Column)]) -> bool {
        let mut exact: Vec<(i64, GlobalRow)> = Vec::new();
        for (number, column) in columns {
            let Some(rows) = column.in_order(descending) else { return self.leaders.is_empty() };
            let ranked = rows.map(|(ordinal, row)| (rank(ordinal, descending), row));
            let ranked = ranked.take_while(|(rank, _)| self.is_before_end(*rank));
            exact.extend(ranked.filter_map(|(rank, row)| Some((rank, join(*number, row)?))));
        }
        exact.sort_unstable();
        let mut own: Vec<(i64, GlobalRow)> =
            self.leaders.iter().map(|leader| (leader.rank, leader.row)).collect();
        let is_sorted = own.is_sorted_by_key(|(rank, _)| *rank);
        own.sort_unstable();
        is_sorted && own == exact && own.len() <= MOST
    }
}

impl Leaders {
    /// Takes in the rows of a batch.
    pub(super) fn add(&mut self, number: usize, column: &Column) {
        self.ascending.add(number, column, false);
        self.descending.add(number, column, true);
    }

    /// Forgets the rows of a batch. Those of others do not move up in their place until they are added anew.
    pub(super) fn retire(&mut self, number: usize) {
        for leading in [&mut self.ascending, &mut self.descending] {
            leading.leaders.retain(|leader| split(leader.row).0 != number);
        }
    }

    /// The first rows in an order; no row that has a value comes before the last of them but these.
    pub(crate) fn first(&self, descending: bool) -> &[Leader] {
        if descending { &self.descending.leaders } else { &self.ascending.leaders }
    }

    /// Whether they are those of these columns, each with the number of its batch.
    pub(super) fn validate(&self, columns: &[(usize, &Column)]) -> bool {
        self.ascending.validate(false, columns) && self.descending.validate(true, columns)
    }

    /// Heap memory, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let leaders = self.ascending.leaders.capacity().saturating_add(self.descending.leaders.capacity());
        leaders.saturating_mul(size_of::<Leader>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::column::ColumnBuilder;
    use crate::order::Order;
    use crate::value::{Number, Value};

    /// A column of numbers; rows of which there is none are absent.
    fn column(values: &[Option<i64>]) -> Column {
        let catalog = Catalog::cases();
        let field = Order::parse(&catalog, "totalAmountInDefaultCurrency").unwrap().unwrap().field;
        let mut builder = ColumnBuilder::new(catalog.field(field), values.len());
        for (row, value) in values.iter().enumerate() {
            if let Some(value) = value {
                builder.push(row, &Value::Number(Number::new(*value as f64).unwrap()));
            }
        }
        builder.seal(values.len())
    }

    #[test]
    fn the_first_rows_of_all_batches_are_there_whatever_comes_and_goes() {
        let spreads: [fn(i64) -> Option<i64>; 5] = [
            |n| Some(n * 7919 % 10_007),
            |n| Some(n * 7919 % 7),
            |n| (n % 3 == 0).then_some(n / 50),
            |_| Some(4),
            |_| None,
        ];
        for spread in spreads {
            let columns: Vec<Column> = (0..12)
                .map(|batch| {
                    let rows = [10, 3000, 1000, 5000][batch % 4];
                    let first = batch as i64 * 5000;
                    column(&(first..first + rows).map(spread).collect::<Vec<_>>())
                })
                .collect();
            let mut leaders = Leaders::default();
            let mut covered: Vec<(usize, &Column)> = Vec::new();
            for (number, column) in columns.iter().enumerate() {
                leaders.add(number, column);
                covered.push((number, column));
                assert!(leaders.validate(&covered));
                if number % 3 == 2 {
                    let (gone, column) = covered.remove(number / 3);
                    leaders.retire(gone);
                    assert!(leaders.validate(&covered));
                    if number % 2 == 0 {
                        leaders.add(gone, column);
                        covered.push((gone, column));
                        assert!(leaders.validate(&covered));
                    }
                }
            }
            let values: usize =
                covered.iter().map(|(_, column)| column.in_order(true).unwrap().count()).sum();
            let is_one_value = spread(0) == spread(1);
            // Where they are many, so are the leaders, unless all have one value.
            let least = if is_one_value { 0 } else { values.min(MOST / 2) };
            assert!(leaders.first(true).len() >= least && leaders.first(false).len() >= least);
            assert!(leaders.first(false).len() <= MOST && leaders.size_bytes() <= 2 * MOST * 16);
        }
    }
}
