//! The top rows of a field: the first and the last rows in ascending order of its values, over all covered batches.
#![expect(clippy::arithmetic_side_effects, reason = "at most 4,096 rows of one order, and sizes in memory")]

use std::sync::{Arc, OnceLock};

use super::global_row::{GlobalRow, join, split};
use crate::catalog::{Catalog, FieldId};
use crate::column::Column;
use crate::rows::LANES;
use crate::value::OrdinalRange;

/// A row and the rank of its value. The rank is the ordinal of the value, or, in descending order, the bitwise complement of the
/// ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopRow {
    pub(crate) rank: i64,
    pub(crate) row: GlobalRow,
}

/// The first rows in ascending or in descending order of the values of a field, deleted rows included.
///
/// Invariant: `rows` has every row of the covered batches whose rank is smaller than `until`, and no other row.
#[derive(Clone, Debug)]
pub(crate) struct TopRows {
    /// The rows, in ascending order of rank.
    rows: Vec<TopRow>,
    /// The rank of the first row that is left out. `None` if no row with a value is left out.
    until: Option<i64>,
    /// For each field, the [numbers](super::StringPostings::number) of the strings that these rows have in it.
    strings: Box<[OnceLock<StringNumbers>]>,
}

/// The numbers of the strings that the top rows have in one field, in chunks of 64 rows. Computed on first use, so that later
/// searches do not have to read the batches.
type StringNumbers = Box<[OnceLock<Box<[u32; LANES]>>]>;

/// The rows with the first values of a field, and the rows with the last values.
///
/// If a filter selects many cases, these rows usually include all rows of the first page in ascending or descending order. Then no
/// covered batch is searched. Memory: 16 bytes per row for at most 8,192 rows. If searches test a string field on these rows, this
/// field takes 4 more bytes per row.
///
/// Each of the two lists is built when it is first read. Clones share the lists that are built, and copy a list only before a
/// change.
#[derive(Clone, Debug)]
pub(crate) struct FieldTopRows {
    ascending: OnceLock<Arc<TopRows>>,
    descending: OnceLock<Arc<TopRows>>,
}

/// The maximum number of top rows of one order (ascending or descending). Further rows are cut off.
const MOST: usize = 1 << 12;

/// Returns the rank of an ordinal: rows with smaller ranks come first.
fn rank(ordinal: i64, descending: bool) -> i64 {
    if descending { !ordinal } else { ordinal }
}

fn unknown_strings(fields: usize) -> Box<[OnceLock<StringNumbers>]> {
    (0..fields).map(|_| OnceLock::new()).collect()
}

impl TopRows {
    /// Creates a list without rows. Rows that are added later are sorted by rank. For example, if the rows 0, 1, 2 have the values
    /// 3, 1, 1, the ascending list is row 1, row 2, row 0.
    fn new(fields: usize) -> Self {
        Self { rows: Vec::new(), until: None, strings: unknown_strings(fields) }
    }

    /// Creates the list of a field whose columns have no sorted rows. It has no rows, and will never have any.
    pub(super) fn unsorted(fields: usize) -> Self {
        Self { until: Some(i64::MIN), ..Self::new(fields) }
    }

    /// Creates the list of several batches, given their batch numbers and zone maps. Reads only the columns of batches that can
    /// have one of the first rows. `column` returns the column of a batch.
    pub(super) fn of<'c>(
        descending: bool,
        fields: usize,
        zones: impl Iterator<Item = (usize, OrdinalRange)>,
        column: impl Fn(usize) -> Option<&'c Column>,
    ) -> Self {
        let first = |(least, greatest)| rank(if descending { greatest } else { least }, descending);
        let mut batches: Vec<(i64, usize)> = zones.map(|(number, zone)| (first(zone), number)).collect();
        batches.sort_unstable();
        let mut rows = Self::new(fields);
        for (first, number) in batches {
            // The first row of this batch is left out, and so are all rows of this batch and of the batches after it.
            if !rows.is_before_end(first) {
                break;
            }
            if let Some(column) = column(number) {
                rows.add(number, column, descending);
            }
        }
        rows
    }

    /// Drops the string numbers, because the rows have changed.
    fn forget_strings(&mut self) {
        self.strings = unknown_strings(self.strings.len());
    }

    /// Returns true if the top rows must include all rows of this rank.
    fn is_before_end(&self, rank: i64) -> bool {
        self.until.is_none_or(|until| rank < until)
    }

    /// Adds the rows of a batch that belong to the top rows, and drops rows beyond the maximum. If the column has no sorted rows,
    /// drops all top rows.
    fn add(&mut self, number: usize, column: &Column, descending: bool) {
        let Some(rows) = column.in_order(descending) else {
            *self = Self::unsorted(self.strings.len());
            return;
        };
        let before = self.rows.len();
        // One row more than the maximum is read. So each row that is not read has a rank that is cut off below.
        for (ordinal, row) in rows.take(MOST + 1) {
            let rank = rank(ordinal, descending);
            if !self.is_before_end(rank) {
                break;
            }
            self.rows.extend(join(number, row).map(|row| TopRow { rank, row }));
        }
        if self.rows.len() == before {
            return;
        }
        self.forget_strings();
        // The list consists of two sorted runs, which this stable sort merges.
        self.rows.sort_by_key(|top_row| top_row.rank);
        if let Some(first_out) = self.rows.get(MOST).map(|top_row| top_row.rank) {
            self.rows.truncate(self.rows.partition_point(|top_row| top_row.rank < first_out));
            self.until = Some(first_out);
        }
        self.rows.shrink_to(MOST);
    }

    fn validate(&self, descending: bool, columns: &[(usize, &Column)]) -> bool {
        let mut exact: Vec<(i64, GlobalRow)> = Vec::new();
        for (number, column) in columns {
            let Some(rows) = column.in_order(descending) else { return self.rows.is_empty() };
            let ranked = rows.map(|(ordinal, row)| (rank(ordinal, descending), row));
            let ranked = ranked.take_while(|(rank, _)| self.is_before_end(*rank));
            exact.extend(ranked.filter_map(|(rank, row)| Some((rank, join(*number, row)?))));
        }
        exact.sort_unstable();
        let mut own: Vec<(i64, GlobalRow)> =
            self.rows.iter().map(|top_row| (top_row.rank, top_row.row)).collect();
        let is_sorted = own.is_sorted_by_key(|(rank, _)| *rank);
        own.sort_unstable();
        is_sorted && own == exact && own.len() <= MOST
    }

    pub(crate) fn rows(&self) -> &[TopRow] {
        &self.rows
    }

    /// Returns the numbers of the strings that the 64 rows of chunk `chunk` have in `field`. They are 0 after the last row. Calls
    /// `number` for each row on first use. Returns `None` if there is no such chunk.
    pub(super) fn strings(
        &self,
        field: FieldId,
        chunk: usize,
        number: impl Fn(GlobalRow) -> u32,
    ) -> Option<&[u32; LANES]> {
        let chunks = self.rows.chunks(LANES);
        let strings = self.strings.get(field.index())?;
        let strings = strings.get_or_init(|| chunks.map(|_| OnceLock::new()).collect());
        let own = strings.get(chunk)?.get_or_init(|| {
            let mut numbers = Box::new([0; LANES]);
            let rows = self.rows.iter().skip(chunk * LANES);
            for (own, top_row) in numbers.iter_mut().zip(rows) {
                *own = number(top_row.row);
            }
            numbers
        });
        Some(own)
    }
}

impl FieldTopRows {
    /// Creates empty top rows for a catalogue with `fields` fields.
    pub(super) fn new(fields: usize) -> Self {
        let empty = || OnceLock::from(Arc::new(TopRows::new(fields)));
        Self { ascending: empty(), descending: empty() }
    }

    /// Returns the top rows in one direction. Builds them first by `build` if they are unbuilt.
    pub(super) fn first(&self, descending: bool, build: impl FnOnce() -> TopRows) -> &TopRows {
        let rows = if descending { &self.descending } else { &self.ascending };
        rows.get_or_init(|| Arc::new(build()))
    }

    /// Adds the rows of a batch to the lists that are built. `column` is `None` if the column of the batch has not been read yet.
    /// Then the lists become unbuilt.
    pub(super) fn add(&mut self, number: usize, column: Option<&Column>) {
        for (rows, descending) in [(&mut self.ascending, false), (&mut self.descending, true)] {
            match (column, rows.get_mut()) {
                (Some(column), Some(rows)) => Arc::make_mut(rows).add(number, column, descending),
                (None, _) => drop(rows.take()),
                (_, None) => {}
            }
        }
    }

    /// Removes the rows of a batch. Rows of other batches do not replace them, so the list gets shorter.
    pub(super) fn retire(&mut self, number: usize) {
        let is_own = |top_row: &TopRow| split(top_row.row).0 == number;
        for rows in [&mut self.ascending, &mut self.descending] {
            let Some(rows) = rows.get_mut().filter(|rows| rows.rows.iter().any(is_own)) else { continue };
            let rows = Arc::make_mut(rows);
            rows.rows.retain(|top_row| !is_own(top_row));
            rows.forget_strings();
        }
    }

    /// Returns the lists that are built, each with its direction.
    fn built(&self) -> impl Iterator<Item = (&TopRows, bool)> {
        let both = [(&self.ascending, false), (&self.descending, true)];
        both.into_iter().filter_map(|(rows, descending)| Some((&**rows.get()?, descending)))
    }

    /// Returns true if the top rows are correct for `columns`: the columns of all covered batches with their batch numbers.
    pub(super) fn validate(&self, columns: &[(usize, &Column)]) -> bool {
        self.built().all(|(rows, descending)| rows.validate(descending, columns))
    }

    /// Returns true if the cached string numbers equal the results of `number`. Skips rows for which `number` returns `None`.
    pub(super) fn validate_strings(
        &self,
        catalog: &Catalog,
        number: impl Fn(FieldId, GlobalRow) -> Option<u32>,
    ) -> bool {
        self.built().all(|(TopRows { rows, strings, .. }, _)| {
            let mut kept =
                catalog.field_ids().zip(strings).filter_map(|(field, own)| Some((field, own.get()?)));
            kept.all(|(field, strings)| {
                strings.len() == rows.len().div_ceil(LANES)
                    && strings.iter().zip(rows.chunks(LANES)).all(|(own, rows)| {
                        let exact = rows.iter().map(|top_row| number(field, top_row.row));
                        own.get().is_none_or(|own| {
                            exact.zip(own.iter()).all(|(exact, own)| exact.is_none_or(|exact| exact == *own))
                        })
                    })
            })
        })
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let of_strings = |strings: &StringNumbers| {
            let made = strings.iter().filter_map(OnceLock::get).map(|own| size_of_val::<[u32; LANES]>(own));
            size_of_val::<[OnceLock<_>]>(strings) + made.sum::<usize>()
        };
        let of_leading = |top_rows: &TopRows| {
            let rows = top_rows.rows.capacity() * size_of::<TopRow>();
            let strings = top_rows.strings.iter().filter_map(OnceLock::get).map(of_strings);
            rows + size_of_val(&*top_rows.strings) + strings.sum::<usize>()
        };
        self.built().map(|(rows, _)| of_leading(rows)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ColumnBuilder;
    use crate::value::{Number, Value};

    /// Returns a column of numbers. Rows with `None` have no value.
    fn column(values: &[Option<i64>]) -> Column {
        let catalog = Catalog::cases();
        let field = catalog.find("totalAmountInDefaultCurrency").unwrap();
        let mut builder = ColumnBuilder::new(catalog.field(field), values.len());
        for (row, value) in values.iter().enumerate() {
            if let Some(value) = value {
                builder.push(row, &Value::Number(Number::new(*value as f64).unwrap()));
            }
        }
        builder.seal(values.len())
    }

    #[test]
    fn top_rows_stay_correct_as_batches_come_and_go() {
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
            let catalog = Catalog::cases();
            let mut rows = FieldTopRows::new(catalog.field_ids().count());
            // Assigns a distinct string number to each row.
            let string =
                |row: GlobalRow| u32::try_from(split(row).0 * 10_000).unwrap() + u32::from(split(row).1);
            let are_strings_sound = |rows: &FieldTopRows| {
                for top_rows in [false, true].map(|descending| rows.first(descending, || panic!("unbuilt"))) {
                    assert_eq!(top_rows.strings(FieldId::ID, top_rows.rows.len().div_ceil(64), string), None);
                    for (chunk, rows) in top_rows.rows.chunks(LANES).enumerate().step_by(3) {
                        let own = top_rows.strings(FieldId::ID, chunk, string).unwrap();
                        assert!(rows.iter().zip(own).all(|(top_row, own)| string(top_row.row) == *own));
                        assert!(own[rows.len()..].iter().all(|own| *own == 0));
                    }
                }
                rows.validate_strings(&catalog, |_, row| Some(string(row)))
                    && (rows.first(true, || panic!("unbuilt")).rows.is_empty()
                        || !rows.validate_strings(&catalog, |_, _| Some(7)))
            };
            let mut covered: Vec<(usize, &Column)> = Vec::new();
            for (number, column) in columns.iter().enumerate() {
                rows.add(number, Some(column));
                covered.push((number, column));
                assert!(rows.validate(&covered) && are_strings_sound(&rows));
                if number % 3 == 2 {
                    let (gone, column) = covered.remove(number / 3);
                    rows.retire(gone);
                    assert!(rows.validate(&covered) && are_strings_sound(&rows));
                    if number % 2 == 0 {
                        rows.add(gone, Some(column));
                        covered.push((gone, column));
                        assert!(rows.validate(&covered));
                    }
                }
            }
            let values: usize =
                covered.iter().map(|(_, column)| column.in_order(true).unwrap().count()).sum();
            let is_one_value = spread(0) == spread(1);
            // Many values give many top rows, unless all values are equal.
            let least = if is_one_value { 0 } else { values.min(MOST / 2) };
            let [first, last] = [false, true].map(|descending| rows.first(descending, || panic!("unbuilt")));
            assert!(first.rows.len() >= least && last.rows.len() >= least);
            assert!(first.rows.len() <= MOST && rows.size_bytes() <= 2 * MOST * (16 + 4 + 1));
        }
    }
}
