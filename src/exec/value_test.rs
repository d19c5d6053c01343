//! The test of a leaf on values (`ValueTest`): evaluates it on one value of a column, or on all values as a bitmap.
#![expect(clippy::indexing_slicing, reason = "codes below the number of strings")]

use crate::column::{Codes, ColumnData};
use crate::kernels;
use crate::predicate::in_ranges;
use crate::rows::{LANES, has_bit};
use crate::value::OrdinalRange;

/// A test of the values of a row or an element. The row or element passes if at least one of its values passes.
pub(super) enum ValueTest<'p> {
    /// Every value passes.
    Present,
    /// The value is the string with this code.
    Code(u32),
    /// The value is a string whose code is in this bitmap.
    Codes(Box<[u64]>),
    /// The value is in one of these closed ranges. The ranges are in ascending order.
    Ranges(&'p [OrdinalRange]),
    /// The value is this Boolean.
    Boolean(bool),
}

/// Returns true if the value at index `at` of a column passes the test.
pub(super) fn value_passes(data: &ColumnData, at: usize, test: &ValueTest<'_>) -> bool {
    match (data, test) {
        (_, ValueTest::Present) => true,
        (ColumnData::Strings { codes, .. }, ValueTest::Code(code)) => codes.get(at) == *code as usize,
        (ColumnData::Strings { codes, .. }, ValueTest::Codes(set)) => {
            let code = codes.get(at);
            has_bit(set, code)
        }
        (ColumnData::Ordered { values, .. }, ValueTest::Ranges(ranges)) => in_ranges(ranges, values.get(at)),
        (ColumnData::Booleans { values, .. }, ValueTest::Boolean(wanted)) => values.get(at) == *wanted,
        _ => false,
    }
}

/// The maximum number of ranges for which one pass per range is faster than a search per value.
const FEW_RANGES: usize = 4;

/// Sets the bit of each value that passes the test. Bits of rows without a value have no meaning. The words must be zero.
pub(super) fn write_values(data: &ColumnData, test: &ValueTest<'_>, words: &mut [u64]) {
    match (data, test) {
        (_, ValueTest::Present) => words.fill(u64::MAX),
        (ColumnData::Strings { codes, .. }, ValueTest::Code(code)) => match codes {
            // A code that does not fit the width of the column's codes does not occur.
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
        (ColumnData::Strings { codes, .. }, ValueTest::Codes(set)) => match codes {
            Codes::U8(codes) => kernels::in_byte_set(codes, &kernels::byte_set(set), words),
            Codes::U16(codes) => kernels::in_set(codes, set, words),
            Codes::U32(codes) => kernels::in_set(codes, set, words),
        },
        (ColumnData::Ordered { values, .. }, ValueTest::Ranges(ranges)) => {
            let values = values.to_wide();
            if ranges.len() <= FEW_RANGES {
                ranges.iter().for_each(|(low, high)| kernels::in_range(&values, *low, *high, words));
            } else {
                kernels::in_ranges(&values, ranges, words);
            }
        }
        (ColumnData::Booleans { values, .. }, ValueTest::Boolean(wanted)) => {
            for (word, bits) in words.iter_mut().zip(values.words()) {
                *word = if *wanted { *bits } else { !*bits };
            }
        }
        _ => debug_assert!(false, "a test of the column's type"),
    }
}

/// Returns the bitmap of these codes. Each code must be less than `distinct`.
pub(super) fn code_bits(codes: &[u32], distinct: usize) -> Box<[u64]> {
    let mut bits = vec![0_u64; distinct.div_ceil(LANES)];
    for code in codes {
        let code = *code as usize;
        bits[code / LANES] |= 1 << (code % LANES);
    }
    bits.into()
}
