//! Encodes columns as bytes, for the store. Reading a column needs no parsing and no sorting.
//!
//! A column consists of these parts, in this order. All numbers are little-endian.
//!
//! 1. The layout, one byte:
//!    - 0: single-valued, and no row has a value.
//!    - 1: single-valued, and every row has a value.
//!    - 2: single-valued, and only some rows have a value. A bitmap of the rows with a value follows.
//!    - 3: multi-valued. For each row, the number of its values follows.
//! 2. The values, including a filler for each row without a value in layout 2:
//!    - Strings: the number of distinct strings, their total size in bytes, their bytes, and the length of each string. Then a
//!      code for each value, in the smallest width for this number of strings.
//!    - Numbers: a double for each value.
//!    - Other ordered types: one byte, then the ordinals of the values. If the byte is 0, an ordinal of 64 bits follows for each
//!      value. If the byte is 1, each ordinal is stored as its distance from the smallest ordinal. A distance is stored as a number
//!      of steps. All steps of a column have the same size. First come the smallest ordinal (64 bits) and the size of a step (32
//!      bits), then the number of steps for each value (32 bits).
//!    - Booleans: a bitmap of the values.
//! 3. For numbers and other ordered types, the sorted rows. They start with one byte:
//!    - 0: the sorted rows are not stored, because the column is multi-valued or its rows are already in order.
//!    - 1: the number of sorted rows follows, then a `u16` for each row.
//!
//! 4. The elements of arrays of objects that contain the values. Only a field below such arrays has this part, and only from
//!    [format version 2](crate::batch::codec) on. It starts with one byte:
//!    - 0: nothing follows. There are no elements, or the field is below one array and each element has exactly one value.
//!    - 1: several lists of counts follow. The first list has, for each row, the number of its elements in the outermost array.
//!      Then a list follows for each array, from the outermost to the innermost. It has one count for each element: the number of
//!      elements of the next array in this element. In the list of the innermost array, a count is the number of values in the
//!      element.
//!
//! All other indexes are computed when a column is read. These are zone maps, postings, indexes of searchable fields, the rows of
//! `false` and of `true`, and the bitmaps and fence keys of sorted rows. Computing them takes linear time, and so would verifying
//! stored copies. A computed index always agrees with the values. Sorted rows are stored, because verifying an order is faster than
//! sorting.
//!
//! The reader does not trust the bytes. It returns either a column that satisfies every invariant, or a fault. It takes linear
//! time, and memory of at most a small multiple of the size of the bytes.

mod bytes;

pub(crate) use bytes::{ByteReader, ByteWriter, Fault};

use super::dictionary::{Codes, Dictionary};
use super::elements::Elements;
use super::index_values;
use super::ordinals::Ordinals;
use super::sealed::{Column, ColumnData, ColumnLayout};
use super::sorted_rows::SortedRows;
use crate::catalog::Field;
use crate::rows::{Bitmap, LANES, Selection};
use crate::value::{Number, OrderedType, OrdinalRange, ValueClass};

const NONE: u8 = 0;
const ALL: u8 = 1;
const BITMAP: u8 = 2;
const MANY: u8 = 3;

const WIDE: u8 = 0;
const STEPS: u8 = 1;

const AS_STORED: u8 = 0;
const LISTED: u8 = 1;

const NO_ELEMENTS: u8 = 0;
const ELEMENTS: u8 = 1;

/// Writes the column of `field` to `out`.
pub(crate) fn write(field: &Field, column: &Column, out: &mut ByteWriter) {
    match &column.layout {
        ColumnLayout::Single(Selection::None) if field.is_many() => {
            out.u8(MANY);
            out.lengths(&vec![0; column.rows]);
        }
        ColumnLayout::Single(Selection::None) => out.u8(NONE),
        ColumnLayout::Single(Selection::All) => out.u8(ALL),
        ColumnLayout::Single(Selection::Bitmap(bitmap)) => {
            out.u8(BITMAP);
            out.all(bitmap.words());
        }
        ColumnLayout::Many(ends) => {
            out.u8(MANY);
            out.lengths(ends);
        }
    }
    match &column.data {
        ColumnData::Strings { dictionary, codes, .. } => {
            let (text, ends) = dictionary.parts();
            out.all(&[ends.len() as u64, text.len() as u64]);
            out.bytes(text.as_bytes());
            out.lengths(ends);
            match codes {
                Codes::U8(codes) => out.all(codes),
                Codes::U16(codes) => out.all(codes),
                Codes::U32(codes) => out.all(codes),
            }
        }
        ColumnData::Ordered { kind, values, sorted, .. } => {
            match (kind, values) {
                (OrderedType::Number, values) => {
                    let double = |ordinal: &i64| Number::of_ordinal(*ordinal).map_or(0.0, Number::get);
                    out.all(&values.to_wide().iter().map(double).collect::<Vec<f64>>());
                }
                (_, Ordinals::Wide(values)) => {
                    out.u8(WIDE);
                    out.all(values);
                }
                (_, Ordinals::Steps { base, step, steps }) => {
                    out.u8(STEPS);
                    out.all(&[*base]);
                    out.all(&[*step]);
                    out.all(steps);
                }
            }
            write_sorted(sorted.as_ref(), out);
        }
        ColumnData::Booleans { values, .. } => out.all(values.words()),
    }
    match &column.elements {
        _ if field.levels() == 0 => {}
        None => out.u8(NO_ELEMENTS),
        Some(elements) => {
            out.u8(ELEMENTS);
            elements.ends().for_each(|ends| out.lengths(ends));
        }
    }
}

fn write_sorted(sorted: Option<&SortedRows>, out: &mut ByteWriter) {
    match sorted {
        None => out.u8(AS_STORED),
        Some(sorted) => {
            out.u8(LISTED);
            out.all(&[sorted.rows().len() as u64]);
            out.all(sorted.rows());
        }
    }
}

/// Reads the column of `field` in a batch of `rows` rows. `rows` is at most 65,536. Returns a fault if the bytes are not a valid
/// column.
///
/// `has_elements` is false for bytes of version 1 of the format, which do not store the elements of arrays of objects.
pub(crate) fn read(field: &Field, rows: usize, has_elements: bool, bytes: &[u8]) -> Result<Column, Fault> {
    let mut reader = ByteReader::new(bytes);
    let layout = read_layout(field, rows, &mut reader)?;
    let values = match &layout {
        ColumnLayout::Single(Selection::None) => 0,
        ColumnLayout::Single(_) => rows,
        ColumnLayout::Many(ends) => ends.last().map_or(0, |end| *end as usize),
    };
    let data = match ValueClass::of_field(field.field_type()) {
        ValueClass::Strings => read_strings(rows, field.is_searchable(), &layout, values, &mut reader)?,
        ValueClass::Ordered(kind @ OrderedType::Number) => {
            let values = read_doubles(values, &mut reader)?;
            let (sorted, zone) =
                read_order(rows, &layout, |at| values.get(at).copied(), values.len(), &mut reader)?;
            let values = index_values::ordinals(values, &layout, zone);
            ColumnData::Ordered { kind, values, zone, sorted }
        }
        ValueClass::Ordered(kind) => {
            let values = read_ordinals(values, &mut reader)?;
            let (sorted, zone) = read_order(
                rows,
                &layout,
                |at| (at < values.len()).then(|| values.get(at)),
                values.len(),
                &mut reader,
            )?;
            if zone.is_some_and(|(low, high)| low < kind.range().0 || high > kind.range().1) {
                return Err("values outside the range of the field's type".to_owned());
            }
            ColumnData::Ordered { kind, values, zone, sorted }
        }
        ValueClass::Booleans => {
            let values = read_bitmap(values, &mut reader)?;
            let holders = Box::new(index_values::holders(rows, &layout, &values));
            ColumnData::Booleans { values, holders }
        }
    };
    let elements = if field.levels() == 0 || !has_elements {
        None
    } else {
        read_elements(field.levels(), rows, &mut reader)?
    };
    reader.finish()?;
    let column = Column { rows, layout, data, elements };
    if let Some(elements) = &column.elements {
        elements.validate(rows, |row| column.places(row))?;
    }
    Ok(column)
}

fn read_elements(
    levels: usize,
    rows: usize,
    reader: &mut ByteReader<'_>,
) -> Result<Option<Box<Elements>>, Fault> {
    match reader.u8()? {
        NO_ELEMENTS => Ok(None),
        ELEMENTS => {
            let mut all = Vec::new();
            let mut count = rows;
            for _ in 0..=levels {
                let ends = reader.ends(count)?;
                count = ends.last().map_or(0, |end| *end as usize);
                all.push(ends);
            }
            Ok(Elements::new(all))
        }
        form => Err(format!("elements of form {form}")),
    }
}

fn read_layout(field: &Field, rows: usize, reader: &mut ByteReader<'_>) -> Result<ColumnLayout, Fault> {
    let layout = match (reader.u8()?, field.is_many()) {
        (NONE, false) => ColumnLayout::Single(Selection::None),
        (ALL, false) => ColumnLayout::Single(Selection::All),
        (BITMAP, false) => match Selection::from_bitmap(read_bitmap(rows, reader)?) {
            Selection::Bitmap(bitmap) => ColumnLayout::Single(Selection::Bitmap(bitmap)),
            _ => return Err("a bitmap of all rows or none".to_owned()),
        },
        (MANY, true) => ColumnLayout::many(reader.ends(rows)?),
        (layout, _) => return Err(format!("layout {layout}, which the field cannot have")),
    };
    Ok(layout)
}

fn read_bitmap(rows: usize, reader: &mut ByteReader<'_>) -> Result<Bitmap, Fault> {
    let words: Vec<u64> = reader.all(rows.div_ceil(LANES))?;
    let bitmap = Bitmap::filled_by(rows, |own| own.copy_from_slice(&words));
    if bitmap.words() == words { Ok(bitmap) } else { Err("bits after the last row".to_owned()) }
}

fn read_strings(
    rows: usize,
    is_searchable: bool,
    layout: &ColumnLayout,
    values: usize,
    reader: &mut ByteReader<'_>,
) -> Result<ColumnData, Fault> {
    let mut count = || reader.one::<u64>().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let (distinct, length) = (count()?, count()?);
    let text = str::from_utf8(reader.bytes(length)?).map_err(|fault| fault.to_string())?;
    let dictionary = Dictionary::from_parts(text.into(), reader.ends(distinct)?);
    dictionary.validate()?;
    let codes = if distinct <= 1 << 8 {
        Codes::U8(reader.all(values)?.into())
    } else if distinct <= 1 << 16 {
        Codes::U16(reader.all(values)?.into())
    } else {
        Codes::U32(reader.all(values)?.into())
    };
    match &codes {
        Codes::U8(codes) => check_codes(codes, layout, distinct),
        Codes::U16(codes) => check_codes(codes, layout, distinct),
        Codes::U32(codes) => check_codes(codes, layout, distinct),
    }?;
    Ok(index_values::strings(rows, is_searchable, layout, dictionary, codes))
}

/// Checks that the dictionary contains every code, and that every string of the dictionary is the value of at least one row.
fn check_codes<C: Copy + Into<u32>>(
    codes: &[C],
    layout: &ColumnLayout,
    distinct: usize,
) -> Result<(), Fault> {
    let mut used = vec![false; distinct];
    // Fillers are never looked up in the dictionary, but their codes are checked too.
    for (at, code) in codes.iter().enumerate() {
        match used.get_mut((*code).into() as usize) {
            Some(flag) => {
                *flag |= match layout {
                    ColumnLayout::Single(present) => present.contains(at),
                    ColumnLayout::Many(_) => true,
                };
            }
            None => return Err("a code that the dictionary lacks".to_owned()),
        }
    }
    if used.contains(&false) {
        return Err("a string in the dictionary that no row has".to_owned());
    }
    Ok(())
}

/// Reads `values` doubles, and returns their ordinals. Returns a fault if a double is not finite.
fn read_doubles(values: usize, reader: &mut ByteReader<'_>) -> Result<Vec<i64>, Fault> {
    let doubles: Vec<f64> = reader.all(values)?;
    let ordinal =
        |double: f64| Number::new(double).map(Number::ordinal).ok_or_else(|| format!("the number {double}"));
    doubles.into_iter().map(ordinal).collect()
}

/// Reads `values` ordinals, which are stored in full width or as distances from the smallest ordinal. This function does not read
/// the values of fields of the type `number`, because they are stored as doubles.
fn read_ordinals(values: usize, reader: &mut ByteReader<'_>) -> Result<Ordinals, Fault> {
    match reader.u8()? {
        WIDE => Ok(Ordinals::Wide(reader.all(values)?.into())),
        STEPS => {
            let (base, step): (i64, u32) = (reader.one()?, reader.one()?);
            if ![1, 1000].contains(&step) {
                return Err(format!("ordinals in steps of {step}, expected 1 or 1000"));
            }
            let steps: Vec<u32> = reader.all(values)?;
            let most = i64::from(steps.iter().max().copied().unwrap_or(0));
            match most.checked_mul(i64::from(step)).and_then(|most| base.checked_add(most)) {
                Some(_) => Ok(Ordinals::Steps { base, step, steps: steps.into() }),
                None => Err("steps beyond the greatest 64-bit integer".to_owned()),
            }
        }
        form => Err(format!("ordinals of unknown form {form}")),
    }
}

/// Reads the sorted rows, and computes the smallest and the greatest value.
fn read_order(
    rows: usize,
    layout: &ColumnLayout,
    value: impl Fn(usize) -> Option<i64>,
    values: usize,
    reader: &mut ByteReader<'_>,
) -> Result<(Option<SortedRows>, Option<OrdinalRange>), Fault> {
    let sorted = read_sorted(rows, layout, |at| value(at).unwrap_or(0), values, reader)?;
    let zone = zone(layout, values, sorted.as_ref(), value);
    Ok((sorted, zone))
}

/// Reads the sorted rows. Checks that they are exactly the rows that have a value, sorted by value and then by row.
fn read_sorted(
    rows: usize,
    layout: &ColumnLayout,
    ordinal: impl Fn(usize) -> i64,
    values: usize,
    reader: &mut ByteReader<'_>,
) -> Result<Option<SortedRows>, Fault> {
    let wrong = || Err("sorted rows that are not the rows with values in ascending order".to_owned());
    match (reader.u8()?, layout) {
        (AS_STORED, ColumnLayout::Many(_)) => Ok(None),
        (AS_STORED, ColumnLayout::Single(present)) => {
            let in_order = (0..values).is_sorted_by_key(&ordinal);
            if in_order && present.count(rows) == values { Ok(None) } else { wrong() }
        }
        (LISTED, ColumnLayout::Single(present)) => {
            let count = usize::try_from(reader.one::<u64>()?).unwrap_or(usize::MAX);
            let sorted: Vec<u16> = reader.all(count)?;
            // The pairs of value and row are strictly ascending, so no row occurs twice. Every sorted row has a value, and their
            // count equals the count of rows with a value. So they are exactly the rows with a value.
            let keyed = |row: &u16| (ordinal(usize::from(*row)), *row);
            let in_order = sorted.is_sorted_by(|a, b| keyed(a) < keyed(b));
            let all_present =
                sorted.iter().all(|row| usize::from(*row) < rows && present.contains((*row).into()));
            if !(in_order && all_present && count == present.count(rows)) {
                return wrong();
            }
            Ok(Some(SortedRows::new(sorted, rows, ordinal)))
        }
        (form, _) => Err(format!("sorted rows of form {form}, which the column cannot have")),
    }
}

/// Returns the smallest and the greatest value. Returns `None` if there are no values.
fn zone(
    layout: &ColumnLayout,
    values: usize,
    sorted: Option<&SortedRows>,
    value: impl Fn(usize) -> Option<i64>,
) -> Option<OrdinalRange> {
    match (sorted.map(SortedRows::rows), layout) {
        (Some(rows), _) => value((*rows.first()?).into()).zip(value((*rows.last()?).into())),
        (None, ColumnLayout::Single(_)) => value(0).zip(value(values.checked_sub(1)?)),
        (None, ColumnLayout::Many(_)) => {
            let all = || (0..values).filter_map(&value);
            all().min().zip(all().max())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FieldType;

    #[track_caller]
    fn assert_refused(kind: FieldType, path: &str, rows: usize, parts: &[&[u8]], fault: &str) {
        let found = read(&Field::new(path, kind), rows, true, &parts.concat());
        assert_eq!(found.map(drop), Err(fault.to_owned()));
    }

    #[test]
    fn impossible_columns_are_rejected() {
        let (number, time, flag, text) =
            (FieldType::Number, FieldType::Timestamp, FieldType::Boolean, FieldType::String);
        let lengths = |distinct: u64, bytes: u64| [distinct.to_le_bytes(), bytes.to_le_bytes()].concat();
        let one = 1_f64.to_le_bytes();
        let two = 2_f64.to_le_bytes();
        let nan = f64::NAN.to_le_bytes();
        let bit = |bits: u64| bits.to_le_bytes();
        let disorder = "sorted rows that are not the rows with values in ascending order";
        assert_refused(number, "n", 1, &[&[ALL], &nan, &[AS_STORED]], "the number NaN");
        assert_refused(number, "n", 2, &[&[BITMAP], &bit(1), &one, &nan], "the number NaN");
        assert_refused(number, "n", 1, &[&[ALL], &one, &[AS_STORED, 0]], "1 bytes after the end");
        assert_refused(number, "n", 2, &[&[ALL], &two, &one, &[AS_STORED]], disorder);
        assert_refused(number, "n", 2, &[&[BITMAP], &bit(1), &one, &two, &[AS_STORED]], disorder);
        let listed = |rows: &[u16]| {
            let rows = rows.iter().flat_map(|row| row.to_le_bytes());
            [LISTED].into_iter().chain((rows.clone().count() as u64 / 2).to_le_bytes()).chain(rows).collect()
        };
        let listed: [Vec<u8>; 5] =
            [listed(&[1, 0]), listed(&[0, 1]), listed(&[1]), listed(&[1, 1]), listed(&[1, 2])];
        for wrong in &listed[1..] {
            assert_refused(number, "n", 2, &[&[ALL], &two, &one, wrong], disorder);
        }
        assert!(
            read(&Field::new("n", number), 2, true, &[&[ALL], &two[..], &one, &listed[0]].concat()).is_ok()
        );
        assert_refused(
            number,
            "n[]",
            1,
            &[&[MANY, 1, 1], &one, &listed[2]],
            "sorted rows of form 1, which the column cannot have",
        );
        assert_refused(flag, "b", 2, &[&[BITMAP], &bit(7), &bit(0)], "bits after the last row");
        assert_refused(flag, "b", 2, &[&[ALL], &bit(4)], "bits after the last row");
        assert_refused(flag, "b", 2, &[&[BITMAP], &bit(3), &bit(0)], "a bitmap of all rows or none");
        assert_refused(flag, "b[]", 2, &[&[ALL]], "layout 1, which the field cannot have");
        assert_refused(flag, "b", 2, &[&[MANY, 1, 1, 1]], "layout 3, which the field cannot have");
        let steps = |step: u32| [&[ALL, STEPS][..], &0_i64.to_le_bytes(), &step.to_le_bytes()].concat();
        assert_refused(
            time,
            "t",
            1,
            &[&steps(0), &[0; 4], &[AS_STORED]],
            "ordinals in steps of 0, expected 1 or 1000",
        );
        let late = [&[ALL, STEPS][..], &i64::MAX.to_le_bytes(), &[1, 0, 0, 0]].concat();
        assert_refused(time, "t", 1, &[&late, &[1, 0, 0, 0]], "steps beyond the greatest 64-bit integer");
        assert_refused(
            text,
            "s",
            1,
            &[&[ALL], &lengths(1, 1), &[255]],
            "invalid utf-8 sequence of 1 bytes from index 0",
        );
        assert_refused(
            text,
            "s",
            1,
            &[&[ALL], &lengths(2, 2), b"ba", &[1, 1, 1, 0]],
            "a dictionary out of order at code 1",
        );
        assert_refused(
            text,
            "s",
            1,
            &[&[ALL], &lengths(1, 1), b"a", &[1, 1, 1]],
            "a code that the dictionary lacks",
        );
        assert_refused(
            text,
            "s",
            1,
            &[&[ALL], &lengths(2, 2), b"ab", &[1, 1, 1, 1]],
            "a string in the dictionary that no row has",
        );
        assert_refused(
            text,
            "s",
            1,
            &[&[ALL], &lengths(u64::MAX, 1), b"a", &[4]],
            &format!("0 bytes left, expected {} or more", usize::MAX),
        );
    }
}
