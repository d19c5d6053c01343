//! Running the steps of a plan.

use super::kernels;
use super::plan::{Plan, Scan, Step, ValueTest};
use crate::batch::Batch;
use crate::column::{Bitmap, Codes, Column, Data, Layout, Selection};
use crate::operator::Connective;
use crate::predicate::{Leaf, Tree};
use crate::value::{Number, Timestamp};

/// The rows of a batch that a predicate selects, live or not.
pub(crate) fn select(predicate: &Tree<Leaf>, batch: &Batch) -> Selection {
    let plan = Plan::new(predicate, batch);
    run(&plan, predicate.root())
}

/// A branch that is being evaluated.
struct Open {
    step: usize,
    /// How many of its children are done.
    done: usize,
    /// What they combine to.
    selection: Selection,
}

/// Evaluates a step, its branches on a stack of their own.
fn run(plan: &Plan<'_>, root: usize) -> Selection {
    let mut open: Vec<Open> = Vec::new();
    let mut next = root;
    loop {
        // Go down to a step that has a result at once.
        let mut result = match plan.steps.get(next) {
            Some(Step::Same(only)) => {
                next = *only;
                continue;
            }
            Some(Step::Branch(connective, children, _)) => {
                let neutral = Selection::of(*connective == Connective::And);
                open.push(Open { step: next, done: 0, selection: neutral });
                next = children.first().copied().unwrap_or(next);
                continue;
            }
            Some(Step::Scan(scan)) => run_scan(scan),
            Some(Step::Settled(value)) => Selection::of(*value),
            None => Selection::None,
        };
        // Hand results up as long as branches finish with them.
        loop {
            let Some(top) = open.last_mut() else { return result };
            let Some(Step::Branch(connective, children, _)) = plan.steps.get(top.step) else { return result };
            let so_far = std::mem::replace(&mut top.selection, Selection::None);
            top.selection = match connective {
                Connective::And => so_far.and(&result),
                Connective::Or => so_far.or(&result),
            };
            top.done = top.done.saturating_add(1);
            let settled = match connective {
                Connective::And => top.selection == Selection::None,
                Connective::Or => top.selection == Selection::All,
            };
            match children.get(top.done) {
                Some(child) if !settled => {
                    next = *child;
                    break;
                }
                _ => {}
            }
            match open.pop() {
                Some(done) => result = done.selection,
                None => return result,
            }
        }
    }
}

fn run_scan(scan: &Scan<'_>) -> Selection {
    let mut selection = Selection::All;
    for test in &scan.tests {
        selection = selection.and(&rows_passing(scan.column, test));
        if selection == Selection::None {
            break;
        }
    }
    if scan.negated { selection.invert() } else { selection }
}

/// The rows that have a value which passes the test.
fn rows_passing(column: &Column, test: &ValueTest<'_>) -> Selection {
    let rows = column.rows();
    match &column.layout {
        Layout::Single(present) => match test {
            ValueTest::Present => present.clone(),
            _ => Selection::from_bitmap(values_passing(&column.data, rows, test)).and(present),
        },
        Layout::Many(ends) => Selection::from_bitmap(Bitmap::filled_by(rows, |words| match test {
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
                Codes::U8(codes) => u8::try_from(*code).map_or((), |code| kernels::equal(codes, code, words)),
                Codes::U16(codes) => {
                    u16::try_from(*code).map_or((), |code| kernels::equal(codes, code, words))
                }
                Codes::U32(codes) => kernels::equal(codes, *code, words),
            },
            (Data::Strings { codes, .. }, ValueTest::Codes(set)) => match codes {
                Codes::U8(codes) => kernels::in_set(codes, set, words),
                Codes::U16(codes) => kernels::in_set(codes, set, words),
                Codes::U32(codes) => kernels::in_set(codes, set, words),
            },
            (Data::Numbers { values, .. }, ValueTest::Numbers(ranges)) => {
                in_ranges(values, ranges, |number: Number| number.get(), words);
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
