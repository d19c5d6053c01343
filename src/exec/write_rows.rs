//! Writes the rows of an access path to a bitmap.
#![expect(clippy::arithmetic_side_effects, reason = "rows of one batch")]

use std::ops::Range;

use super::access_path::AccessPath;
use super::value_test::{ValueTest, write_values};
use crate::column::{Column, ColumnLayout, Sorted, SortedRows};
use crate::kernels::{self, Combine};
use crate::rows::{LANES, RowSet, Selection, clear_tail, flip_rows};

/// Overwrites `words` with the rows of a part of the sorted rows, in a batch of `rows` rows.
fn write_part(sorted: &SortedRows, part: Range<usize>, rows: usize, words: &mut [u64]) {
    let [(until, list), (from, other)] = sorted.pieces(part);
    match (until, from) {
        (RowSet::Bitmap(until), RowSet::Bitmap(from)) => {
            kernels::combine_into(Combine::AndNot, words, &until, &from);
        }
        (RowSet::All, RowSet::Bitmap(from)) => {
            words.iter_mut().zip(&*from).for_each(|(word, from)| *word = !from);
            clear_tail(words, rows);
        }
        (until, from) => {
            until.write(words, rows);
            from.combine_into(Combine::AndNot, words, rows);
        }
    }
    flip_rows(words, list);
    flip_rows(words, other);
}

/// Overwrites `words` with the rows of an access path, in a batch of `rows` rows.
pub(super) fn write(path: &AccessPath<'_>, rows: usize, words: &mut [u64]) {
    match path {
        AccessPath::Rows(ready) => ready.write(words, rows),
        AccessPath::Elements(tests) => tests.write(words),
        AccessPath::Present(column) => write_passing(column, &ValueTest::Present, words),
        AccessPath::Sorted { sorted: Sorted::Listed(sorted), parts, .. } => match parts.as_slice() {
            [part] => write_part(sorted, part.clone(), rows, words),
            parts => {
                words.fill(0);
                let mut more = vec![0; words.len()];
                for part in parts {
                    write_part(sorted, part.clone(), rows, &mut more);
                    kernels::combine(Combine::Or, words, &more);
                }
            }
        },
        AccessPath::Scan(column, tests) => {
            for (number, test) in tests.iter().enumerate() {
                if number == 0 {
                    write_passing(column, test, words);
                } else {
                    let mut more = vec![0; words.len()];
                    write_passing(column, test, &mut more);
                    kernels::combine(Combine::And, words, &more);
                }
            }
        }
        other => {
            words.fill(0);
            for (word, first) in words.iter_mut().zip((0..rows).step_by(LANES)) {
                let lanes = first..rows.min(first + LANES);
                *word = lanes.rev().fold(0, |word, row| word << 1 | u64::from(other.matches_row(row)));
            }
        }
    }
    clear_tail(words, rows);
}

/// Overwrites `words` with the rows that have a value which passes the test, by reading the column.
fn write_passing(column: &Column, test: &ValueTest<'_>, words: &mut [u64]) {
    words.fill(0);
    match &column.layout {
        ColumnLayout::Single(present) => {
            write_values(&column.data, test, words);
            match present {
                Selection::All => {}
                Selection::None => words.fill(0),
                Selection::Bitmap(present) => {
                    kernels::combine(Combine::And, words, present.words());
                }
            }
        }
        ColumnLayout::Many(ends) => match test {
            ValueTest::Present => kernels::non_empty(ends, words),
            _ => {
                let mut values = vec![0; column.values_len().div_ceil(LANES)];
                write_values(&column.data, test, &mut values);
                kernels::any_of_row(&values, ends, words);
            }
        },
    }
}
