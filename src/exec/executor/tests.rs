//! Tests of random programs against row-by-row evaluation.

use std::ops::Range;

use super::super::cost::Cost;
use super::super::ranges::parts;
use super::super::step::Estimate;
use super::super::value_test::ValueTest;
use super::*;
use crate::catalog::Catalog;
use crate::column::{Codes, Column, ColumnBuilder, ColumnData, Sorted};
use crate::rows::clear_tail;
use crate::stop::Pace;
use crate::value::{Number, OrdinalRange, Value};

/// A generator of pseudo-random numbers, which returns the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Returns the number from which the string of a row is made.
fn code(row: usize) -> usize {
    row * 7919 % 50
}

/// The sets and columns that random programs read.
struct Sets {
    rows: usize,
    words: Vec<Vec<u64>>,
    lists: Vec<Vec<u16>>,
    /// A column of distinct numbers below `rows`, in random order. Some rows have no value.
    column: Column,
    /// Columns of up to fifty strings, in random order. In the first column, some rows have no value.
    strings: [Column; 2],
}

impl Sets {
    fn new(rows: usize, random: &mut Random) -> Self {
        let mut word = |shape: u64| match shape {
            0 => random.below(1 << 31) | random.below(1 << 31) << 31,
            1 => 0,
            2 => u64::MAX,
            _ => 1 << random.below(64),
        };
        let words = (0..12).map(|set| {
            let mut words: Vec<u64> = (0..rows.div_ceil(LANES)).map(|_| word(set / 2 % 4)).collect();
            clear_tail(&mut words, rows);
            words
        });
        let words = words.collect();
        let steps = [1, 2, 3, 7, 64, rows];
        let lists = steps.iter().map(|step| (0..rows as u16).step_by(*step).collect()).collect();
        let catalog = Catalog::cases();
        let amount = catalog.find("totalAmountInDefaultCurrency").unwrap();
        let mut builder = ColumnBuilder::new(catalog.field(amount), rows);
        for row in (0..rows).filter(|row| row % 7 != 3) {
            let number = Number::new((row * 7919 % rows) as f64).unwrap();
            builder.push(row, &Value::Number(number));
        }
        let strings = [3, 1].map(|gap| {
            let country = catalog.find("applicantInfo.country").unwrap();
            let mut builder = ColumnBuilder::new(catalog.field(country), rows);
            for row in (0..rows).filter(|row| gap == 1 || row % gap != 0) {
                let text = format!("{:02}", code(row));
                builder.push(row, &Value::String(text.into()));
            }
            builder.seal(rows)
        });
        Self { rows, words, lists, column: builder.seal(rows), strings }
    }

    /// Returns a scan for a random set of strings, and the expected rows. Returns `None` if the column does not have 8-bit codes.
    fn scan(&self, random: &mut Random) -> Option<(AccessPath<'_>, Vec<bool>)> {
        let with_gaps = random.below(2) == 0;
        let column = &self.strings[usize::from(!with_gaps)];
        let ColumnData::Strings { dictionary, codes: Codes::U8(_), .. } = &column.data else { return None };
        let set: Box<[u64]> = [random.below(1 << 31) | random.below(1 << 31) << 31].into();
        let is_in = |row: usize| {
            let code = (0..dictionary.len()).find(|at| dictionary.get(*at) == format!("{:02}", code(row)));
            code.is_some_and(|code| set[0] >> code & 1 == 1) && !(with_gaps && row.is_multiple_of(3))
        };
        let rows = (0..self.rows).map(is_in).collect();
        Some((AccessPath::Scan(column, [ValueTest::Codes(set)].into_iter().collect()), rows))
    }

    /// Returns the access path of a random range of numbers, and the range. Returns `None` if the range contains none of the
    /// numbers in the column, or all of them.
    fn sorted(&self, random: &mut Random) -> Option<(AccessPath<'_>, Range<usize>)> {
        let (ColumnData::Ordered { sorted, .. }, column) = (&self.column.data, &self.column) else {
            return None;
        };
        let sorted = Sorted::new(sorted, column)?;
        let low = random.below(self.rows as u64) as usize;
        let high = low + random.below((self.rows - low) as u64) as usize;
        let [least, greatest] = [low, high].map(|number| Number::new(number as f64).unwrap().ordinal());
        let ranges: &[OrdinalRange] = Box::leak(Box::new([(least, greatest)]));
        let parts = parts(column, sorted, ranges, &Pace::new(None));
        let selected: usize = parts.iter().map(Range::len).sum();
        let is_some = selected > 0 && selected < sorted.len();
        is_some.then_some((AccessPath::Sorted { column, sorted, parts, ranges }, low..high + 1))
    }

    fn number(&self, row: usize) -> Option<usize> {
        (row % 7 != 3).then_some(row * 7919 % self.rows)
    }
}

/// Appends a random member, and returns the rows that it selects.
fn member<'s>(
    sets: &'s Sets,
    random: &mut Random,
    depth: u64,
    ops: &mut Vec<Op<'s>>,
    steps: &mut Vec<PlanStep<'s>>,
) -> Vec<bool> {
    let rows = sets.rows;
    let negated = random.below(4) == 0;
    let effort = if random.below(2) == 0 { Cost::NONE } else { Cost::of_words(1_000_000) };
    let having = |is_in: &dyn Fn(usize) -> bool| (0..rows).map(|row| is_in(row) != negated).collect();
    let estimate = Estimate { rows, is_exact: false, cost: Cost::NONE };
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 | 1 => {
            let words = sets.words[random.below(sets.words.len() as u64) as usize].as_slice();
            ops.push(Op::Rows { rows: RowSet::bits(words), negated });
            having(&|row| words[row / LANES] >> (row % LANES) & 1 == 1)
        }
        2 => {
            let list = sets.lists[random.below(sets.lists.len() as u64) as usize].as_slice();
            ops.push(Op::Rows { rows: RowSet::listed(list), negated });
            having(&|row| list.contains(&(row as u16)))
        }
        3 => {
            let end = 1 + random.below(rows as u64) as usize;
            let span = random.below(end as u64) as usize..end;
            ops.push(Op::Rows { rows: RowSet::Range(span.clone()), negated });
            having(&|row| span.contains(&row))
        }
        4 => {
            // A bitmap that the set owns, as after testing a few rows one by one.
            let mut bits = vec![0; rows.div_ceil(LANES)];
            if random.below(3) > 0 {
                bits[0] = random.below(1 << 31) | random.below(1 << 31) << 33;
            }
            clear_tail(&mut bits, rows);
            let first = bits[0];
            ops.push(Op::Rows { rows: RowSet::Bitmap(bits.into()), negated });
            having(&|row| row < 64 && first >> row & 1 == 1)
        }
        5 if random.below(2) == 0
            && let Some((path, scanned)) = sets.scan(random) =>
        {
            ops.push(Op::Computed { step: steps.len(), effort, negated });
            steps.push(PlanStep::Leaf { path, negated: false, estimate });
            having(&|row| scanned[row])
        }
        5 if let Some((path, range)) = sets.sorted(random) => {
            ops.push(Op::Computed { step: steps.len(), effort, negated });
            steps.push(PlanStep::Leaf { path, negated: false, estimate });
            having(&|row| sets.number(row).is_some_and(|number| range.contains(&number)))
        }
        5 => {
            ops.push(Op::Rows { rows: RowSet::None, negated });
            having(&|_| false)
        }
        _ => {
            let connective = if random.below(2) == 0 { Connective::And } else { Connective::Or };
            let open = ops.len();
            ops.push(Op::Close { negated: false });
            let mut own = vec![connective == Connective::And; rows];
            for _ in 0..1 + random.below(3) {
                let next = member(sets, random, depth - 1, ops, steps);
                for (own, next) in own.iter_mut().zip(next) {
                    *own = if connective == Connective::And { *own && next } else { *own || next };
                }
            }
            ops[open] = Op::Open { connective, close: ops.len(), effort, by_row: None };
            ops.push(Op::Close { negated });
            having(&|row| own[row])
        }
    }
}

#[test]
fn a_program_finds_and_counts_the_rows_that_pass_one_by_one() {
    let mut random = Random(7);
    let mut scratch = Scratch::default();
    for number in 0..30_000_u32 {
        // Sorted rows have prefix bitmaps only if there are many rows.
        let few = [1, 63, 64, 65, 130, 200][random.below(6) as usize];
        let rows = if number.is_multiple_of(100) { 9_000 } else { few };
        let sets = Sets::new(rows, &mut random);
        let (mut ops, mut steps) = (Vec::new(), Vec::new());
        let mut expected = vec![true; rows];
        for _ in 0..1 + random.below(3) {
            let next = member(&sets, &mut random, 3, &mut ops, &mut steps);
            expected.iter_mut().zip(next).for_each(|(own, next)| *own &= next);
        }
        let program = Program { steps, ops, pace: None };
        let selected: Vec<usize> = (0..rows).filter(|row| expected[*row]).collect();
        let passing: Vec<usize> = (0..rows).filter(|row| program.passes(0, *row)).collect();
        assert_eq!(passing, selected, "program {number} row by row: {:?}", program.ops);
        let counted = count(&program, rows, &mut scratch);
        assert_eq!(counted, selected.len(), "program {number} of {rows} rows: {:?}", program.ops);
        let found = run(&program, rows, &mut scratch);
        assert!(found.iter(rows).eq(selected), "program {number} of {rows} rows: {:?}", program.ops);
    }
}
