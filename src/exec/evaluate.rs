//! Running the steps of a plan.

use std::borrow::Cow;
use std::ops::Range;

use super::kernels;
use super::plan::{COST_OF_A_ROW, Plan, Source, Step, ValueTest};
use super::query::Query;
use super::rows::{Rows, Union};
use crate::batch::Batch;
use crate::column::{Bitmap, Codes, Column, Data, LANES, Layout, Sorted};
use crate::operator::Connective;
use crate::value::{Number, Timestamp};

/// The rows of a batch that a query selects, live or not.
pub(crate) fn select<'b>(query: &'b Query<'b>, number: usize, batch: &'b Batch) -> Rows<'b> {
    let plan = Plan::new(query, number, batch);
    run(plan, query.predicate.root(), batch.rows())
}

/// A branch that is being evaluated.
struct Open<'b> {
    step: usize,
    /// How many of its children are done.
    done: usize,
    /// What they combine to.
    rows: Rows<'b>,
}

/// Evaluates a step, its branches on a stack of their own.
fn run<'b>(plan: Plan<'b>, root: usize, rows: usize) -> Rows<'b> {
    let mut open: Vec<Open<'b>> = Vec::new();
    let mut next = root;
    loop {
        // Go down to a step that has a result at once.
        let mut result = match plan.steps.get(next) {
            Some(Step::Same(only)) => {
                next = *only;
                continue;
            }
            Some(Step::Branch(connective, children, _)) => {
                open.push(Open { step: next, done: 0, rows: Rows::of(*connective == Connective::And) });
                next = children.first().copied().unwrap_or(next);
                continue;
            }
            Some(Step::Leaf { source, negated, estimate }) => {
                let within = match open.last() {
                    Some(Open { step, rows, .. }) => match plan.steps.get(*step) {
                        Some(Step::Branch(Connective::And, _, _)) => rows,
                        _ => &Rows::All,
                    },
                    None => &Rows::All,
                };
                match few_rows(within, source, *negated, estimate.cost) {
                    Some(few) => few,
                    None if *negated => source_rows(source, rows).invert(rows),
                    None => source_rows(source, rows),
                }
            }
            Some(Step::Settled(value)) => Rows::of(*value),
            None => Rows::None,
        };
        // Hand results up as long as branches finish with them.
        loop {
            let Some(top) = open.last_mut() else { return result };
            let Some(Step::Branch(connective, children, _)) = plan.steps.get(top.step) else { return result };
            let so_far = std::mem::replace(&mut top.rows, Rows::None);
            top.rows = match connective {
                Connective::And => so_far.and(result),
                Connective::Or => so_far.or(result, rows),
            };
            top.done = top.done.saturating_add(1);
            let settled = match connective {
                Connective::And => matches!(top.rows, Rows::None),
                Connective::Or => matches!(top.rows, Rows::All),
            };
            match children.get(top.done) {
                Some(child) if !settled => {
                    next = *child;
                    break;
                }
                _ => {}
            }
            match open.pop() {
                Some(done) => result = done.rows,
                None => return Rows::None,
            }
        }
    }
}

/// Of a conjunction whose rows have become few: those of them that a leaf selects, asked row by row.
fn few_rows<'b>(within: &Rows<'_>, source: &Source<'_>, negated: bool, cost: usize) -> Option<Rows<'b>> {
    let (column, test) = match source {
        Source::Sorted { column, test, .. } => (*column, test),
        Source::Scan(column, tests) => match tests.as_slice() {
            [test] => (*column, test),
            _ => return None,
        },
        _ => return None,
    };
    let Layout::Single(present) = &column.layout else { return None };
    let rows = column.rows();
    if matches!(within, Rows::All) || within.count(rows).saturating_mul(COST_OF_A_ROW) > cost {
        return None;
    }
    let passes = |row: &u16| {
        let row = usize::from(*row);
        (present.contains(row) && value_passes(&column.data, row, test)) != negated
    };
    let few = within.iter(rows).filter_map(|row| u16::try_from(row).ok()).filter(passes).collect();
    Some(Rows::from_list(few))
}

/// Whether the value at a place of a column passes the test.
fn value_passes(data: &Data, at: usize, test: &ValueTest<'_>) -> bool {
    fn in_one<T: Copy + PartialOrd>(ranges: &[(T, T)], value: T) -> bool {
        let behind = ranges.partition_point(|(low, _)| *low <= value);
        behind.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, high)| value <= *high)
    }
    match (data, test) {
        (_, ValueTest::Present) => true,
        (Data::Strings { codes, .. }, ValueTest::Code(code)) => codes.get(at) == *code as usize,
        (Data::Strings { codes, .. }, ValueTest::Codes(set)) => {
            let code = codes.get(at);
            set.get(code / LANES).is_some_and(|word| word >> (code % LANES) & 1 == 1)
        }
        (Data::Numbers { values, .. }, ValueTest::Numbers(ranges)) => {
            values.get(at).and_then(|value| Number::new(*value)).is_some_and(|value| in_one(ranges, value))
        }
        (Data::Timestamps { values, .. }, ValueTest::Timestamps(ranges)) => {
            values.get(at).is_some_and(|millis| in_one(ranges, Timestamp::from_millis(*millis)))
        }
        (Data::Booleans { values }, ValueTest::Boolean(wanted)) => values.get(at) == *wanted,
        _ => false,
    }
}

fn source_rows<'b>(source: &Source<'b>, rows: usize) -> Rows<'b> {
    match source {
        Source::Present(column) => rows_passing(column, &ValueTest::Present),
        Source::AnyPosting(postings, codes) => match codes.as_slice() {
            [code] => postings.get(*code).into(),
            codes => {
                let mut union = Union::new(rows);
                for code in codes {
                    union.add(&postings.get(*code).into());
                }
                union.finish()
            }
        },
        Source::EachPosting(postings, codes) => {
            let mut all = Rows::All;
            for code in codes {
                all = all.and(postings.get(*code).into());
                if matches!(all, Rows::None) {
                    break;
                }
            }
            all
        }
        Source::Sorted { sorted, parts, .. } => match sorted {
            Sorted::AsStored(_) => {
                let mut words = vec![0; rows.div_ceil(LANES)];
                parts.iter().for_each(|part| kernels::set_range(part.clone(), &mut words));
                Rows::Words(Cow::Owned(words))
            }
            Sorted::Listed(list) => sorted_rows(list, parts, rows),
        },
        Source::Listed(list) => Rows::List(Cow::Owned(list.clone())),
        Source::Scan(column, tests) => {
            let mut selected = Rows::All;
            for test in tests {
                selected = selected.and(rows_passing(column, test));
                if matches!(selected, Rows::None) {
                    break;
                }
            }
            selected
        }
    }
}

/// The rows in some parts of the sorted rows.
fn sorted_rows<'b>(sorted: &'b [u16], parts: &[Range<usize>], rows: usize) -> Rows<'b> {
    let slices = parts.iter().filter_map(|part| sorted.get(part.clone()));
    let matched: usize = slices.clone().map(<[u16]>::len).sum();
    if matched.saturating_mul(LANES) <= rows {
        let mut list: Vec<u16> = slices.flatten().copied().collect();
        list.sort_unstable();
        return if list.is_empty() { Rows::None } else { Rows::List(Cow::Owned(list)) };
    }
    if sorted.len() == rows && matched.saturating_mul(2) > rows {
        // Fewer rows lie outside of the parts.
        let mut gaps: Vec<&[u16]> = Vec::with_capacity(parts.len().saturating_add(1));
        let mut from = 0;
        for part in parts {
            gaps.extend(sorted.get(from..part.start));
            from = part.end;
        }
        gaps.extend(sorted.get(from..));
        let mut words = vec![0; rows.div_ceil(LANES)];
        gaps.iter().for_each(|gap| kernels::set_bits(gap, &mut words));
        return Rows::Words(Cow::Owned(words)).invert(rows);
    }
    let mut words = vec![0; rows.div_ceil(LANES)];
    slices.for_each(|slice| kernels::set_bits(slice, &mut words));
    Rows::Words(Cow::Owned(words))
}

/// The rows that have a value which passes the test, by reading the column.
fn rows_passing<'b>(column: &'b Column, test: &ValueTest<'_>) -> Rows<'b> {
    let rows = column.rows();
    match &column.layout {
        Layout::Single(present) => match test {
            ValueTest::Present => present.into(),
            _ => Rows::from(values_passing(&column.data, rows, test)).and(present.into()),
        },
        Layout::Many(ends) => Rows::from(Bitmap::filled_by(rows, |words| match test {
            ValueTest::Present => kernels::non_empty(ends, words),
            _ => {
                let values = values_passing(&column.data, column.values_len(), test);
                kernels::any_of_row(values.words(), ends, words);
            }
        })),
    }
}

/// Up to this many ranges, one pass for each is faster than a search for each value.
const FEW_RANGES: usize = 4;

/// A bit for each value, of meaning only where the row is present.
fn values_passing(data: &Data, values: usize, test: &ValueTest<'_>) -> Bitmap {
    match (data, test) {
        (Data::Booleans { values }, ValueTest::Boolean(wanted)) => {
            let mut bitmap = values.clone();
            if !wanted {
                bitmap.invert();
            }
            bitmap
        }
        _ => Bitmap::filled_by(values, |words| match (data, test) {
            (Data::Strings { codes, .. }, ValueTest::Code(code)) => match codes {
                // A code that does not fit the width of the column's codes is none of them.
                Codes::U8(codes) => {
                    if let Ok(code) = u8::try_from(*code) {
                        kernels::equal(codes, code, words);
                    }
                }
                Codes::U16(codes) => {
                    if let Ok(code) = u16::try_from(*code) {
                        kernels::equal(codes, code, words);
                    }
                }
                Codes::U32(codes) => kernels::equal(codes, *code, words),
            },
            (Data::Strings { codes, .. }, ValueTest::Codes(set)) => match codes {
                Codes::U8(codes) => kernels::in_set(codes, set, words),
                Codes::U16(codes) => kernels::in_set(codes, set, words),
                Codes::U32(codes) => kernels::in_set(codes, set, words),
            },
            (Data::Numbers { values, .. }, ValueTest::Numbers(ranges)) => {
                in_ranges(values, ranges, Number::get, words);
            }
            (Data::Timestamps { values, .. }, ValueTest::Timestamps(ranges)) => {
                in_ranges(values, ranges, Timestamp::as_millis, words);
            }
            _ => debug_assert!(false, "a test of the column's type"),
        }),
    }
}

fn in_ranges<T: Copy, V: Copy + PartialOrd>(
    values: &[V],
    ranges: &[(T, T)],
    convert: impl Fn(T) -> V,
    words: &mut [u64],
) {
    if ranges.len() <= FEW_RANGES {
        for (low, high) in ranges {
            kernels::in_range(values, convert(*low), convert(*high), words);
        }
    } else {
        let ranges: Vec<(V, V)> = ranges.iter().map(|(low, high)| (convert(*low), convert(*high))).collect();
        kernels::in_ranges(values, &ranges, words);
    }
}
