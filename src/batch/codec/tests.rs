//! Tests that a batch is equal after writing and reading, and that no bytes produce a batch that violates an invariant.

use proptest::prelude::*;

use super::*;
use crate::batch::{BatchBuilder, Document, Keep, Row};
use crate::catalog::{Field, FieldType};
use crate::value::{Decimal, Number, Timestamp, Value};

/// Returns a catalogue with four fields of each type: single-valued, multi-valued, below one array of objects, and below two.
fn catalog() -> Catalog {
    let kinds = [
        FieldType::String,
        FieldType::Number,
        FieldType::Timestamp,
        FieldType::Boolean,
        FieldType::Integer,
        FieldType::Decimal { scale: 2 },
    ];
    let fields = kinds.into_iter().flat_map(|kind| {
        let paths = [
            format!("{kind:?}"),
            format!("{kind:?}s[]"),
            format!("a[].{kind:?}"),
            format!("a[].b[].{kind:?}s[]"),
        ];
        paths.map(|path| Field::new(&path, kind))
    });
    Catalog::new(fields).unwrap()
}

/// A seeded generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound
    }
}

fn batch(catalog: &Catalog, rows: usize, seed: u64) -> Batch {
    let mut dice = Dice(seed | 1);
    let mut builder = BatchBuilder::new(catalog, Keep::Numbers, 0);
    // For each column: the percentage of absent values, and the number of distinct values.
    let shapes: Vec<(u64, u64)> = catalog
        .field_ids()
        .map(|_| {
            let absent = [0, 1, 50, 99, 100][dice.below(5) as usize];
            (absent, [1, 2, 300, 70_000, 1 << 31][dice.below(5) as usize])
        })
        .collect();
    let gaps = dice.below(2) == 0;
    for row in 0..rows {
        let id = format!("case {row}");
        let mut values = Row::default();
        values.push(FieldId::ID, Value::String((&*id).into()));
        for (field, (absent, distinct)) in catalog.field_ids().zip(&shapes).skip(1) {
            let count = match catalog.field(field).is_many() {
                true => dice.below(4),
                false => 1,
            };
            for _ in 0..count {
                for array in catalog.arrays_around(field) {
                    if dice.below(3) == 0 {
                        values.begin_element(*array);
                    }
                }
                if dice.below(100) < *absent {
                    continue;
                }
                let value = dice.below(*distinct);
                values.push(
                    field,
                    match catalog.field(field).field_type() {
                        FieldType::String => Value::String(format!("{value} é").into()),
                        FieldType::Number => Value::Number(Number::new(value as f64 / 8.0 - 9.0).unwrap()),
                        FieldType::Integer => Value::Integer(match value % 7 {
                            0 => i64::MIN,
                            1 => i64::MAX,
                            _ => value as i64 - (1 << 53),
                        }),
                        FieldType::Decimal { scale } => {
                            Value::Decimal(Decimal::new(value as i64 - (1 << 53), scale).unwrap())
                        }
                        FieldType::Timestamp => {
                            let spread = [1, 1000, 86_400_000][(seed % 3) as usize];
                            Value::Timestamp(Timestamp::from_millis(value as i64 * spread))
                        }
                        FieldType::Boolean => Value::Boolean(value.is_multiple_of(2)),
                    },
                );
            }
        }
        let place = if gaps { (row as u64 * 3) ^ 1 } else { row as u64 + 7 };
        let number = if gaps { place * 7 } else { place + 1 };
        builder.push(&values, Document::Number { number, size_bytes: 0 }, place);
    }
    builder.seal()
}

fn parts(catalog: &Catalog, batch: &Batch, number: u64) -> Vec<(Part, Vec<u8>)> {
    Part::all(catalog).map(|part| (part, write(catalog, batch, number, part))).collect()
}

fn read_back(catalog: &Catalog, number: u64, parts: &[(Part, Vec<u8>)]) -> Result<Batch, Fault> {
    let read = read(catalog, number, |wanted| {
        let found = parts.iter().find(|(part, _)| *part == wanted);
        Ok(found.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    });
    read.map(|ReadBatch { batch, .. }| batch)
}

#[track_caller]
fn assert_round_trip(rows: usize, seed: u64) {
    let catalog = catalog();
    let before = batch(&catalog, rows, seed);
    assert_eq!(before.validate(&catalog), Ok(()));
    let bytes = parts(&catalog, &before, seed);
    let after = read_back(&catalog, seed, &bytes).unwrap();
    assert_eq!(after.validate(&catalog), Ok(()));
    assert!(after.columns().eq(before.columns()), "{rows} rows of seed {seed}");
    assert_eq!(after.places, before.places);
    assert!((0..rows).all(|row| after.document_number(row) == before.document_number(row)));
    assert!(parts(&catalog, &after, seed) == bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_come_back_as_they_were(rows in 0_usize..300, seed in any::<u64>()) {
        assert_round_trip(rows, seed);
    }

    #[test]
    fn changed_bytes_are_refused_or_keep_every_invariant(
        rows in 0_usize..70,
        seed in any::<u64>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..4),
    ) {
        let catalog = catalog();
        let bytes = parts(&catalog, &batch(&catalog, rows, seed), seed);
        let largest = bytes.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            let (part, bytes) = &mut forged[at];
            let mut contents = bytes[9..].to_vec();
            for (index, value, how) in &changes {
                let place = index.index(contents.len().max(1));
                match how {
                    0 if place < contents.len() => contents[place] = *value,
                    1 if place < contents.len() => contents[place] ^= 1 << (value % 8),
                    2 => contents.truncate(place),
                    _ => contents.insert(place.min(contents.len()), *value),
                }
            }
            let is_changed = contents != bytes[9..];
            // If the checksum is not updated, every change is detected.
            let mut damaged = bytes[..9].to_vec();
            damaged.extend_from_slice(&contents);
            prop_assert!(open(&catalog, seed, *part, &damaged).is_err() || !is_changed);
            // With a valid checksum, reading either fails or returns a batch that satisfies its invariants.
            damaged[1..9].copy_from_slice(&checksum(seed, *part, version(&catalog, *part), &contents).to_le_bytes());
            *bytes = damaged;
            if let Ok(batch) = read_back(&catalog, seed, &forged) {
                prop_assert_eq!(batch.validate(&catalog), Ok(()));
                let size: usize = batch.columns().map(|column| column.data_bytes() + column.index_bytes()).sum();
                prop_assert!(size < 64 * (largest + 256) * forged.len());
            }
        }
    }
}

#[test]
fn batches_come_back_at_the_sizes_of_words_and_of_a_batch() {
    for (rows, seeds) in [(0, 0..2), (1, 0..20), (63, 0..20), (64, 0..20), (65, 0..20)] {
        seeds.for_each(|seed| assert_round_trip(rows, seed));
    }
    for rows in [65_535, 65_536] {
        (0..3).for_each(|seed| assert_round_trip(rows, seed));
    }
}

#[test]
fn a_part_of_another_batch_or_field_or_version_is_refused() {
    let catalog = catalog();
    let batch = batch(&catalog, 10, 5);
    let bytes = write(&catalog, &batch, 5, Part::Rows);
    assert!(open(&catalog, 5, Part::Rows, &bytes).is_ok());
    assert_eq!(open(&catalog, 6, Part::Rows, &bytes), Err("a wrong checksum".to_owned()));
    assert_eq!(open(&catalog, 5, Part::Column(FieldId::ID), &bytes), Err("a wrong checksum".to_owned()));
    let mut newer = bytes;
    newer[0] = 2;
    assert_eq!(
        open(&catalog, 5, Part::Rows, &newer),
        Err("version 2 of a part, where 1 is known".to_owned())
    );
}

#[test]
fn a_row_without_an_id_is_refused() {
    let catalog = Catalog::new([]).unwrap();
    let mut builder = BatchBuilder::new(&catalog, Keep::Nothing, 0);
    for id in ["", "a"] {
        let mut row = Row::default();
        row.push(FieldId::ID, Value::String(id.into()));
        builder.push(&row, Document::Text(""), 0);
    }
    let batch = builder.seal();
    let refused = read_back(&catalog, 1, &parts(&catalog, &batch, 1));
    assert_eq!(refused.map(drop), Err("batch 1, id: a row without an id".to_owned()));
}

#[test]
fn any_bytes_are_refused_or_keep_every_invariant() {
    // Two rows and all columns, in the input format of `check_stored_batch`.
    let mut bytes = Vec::new();
    let rows = [&2_u64.to_le_bytes()[..], &[FROM], &1_u64.to_le_bytes(), &[NO_NUMBERS]].concat();
    let ids = [&[1][..], &2_u64.to_le_bytes(), &2_u64.to_le_bytes(), b"ab", &[1, 1, 1], &[0, 1]].concat();
    let absent = [0; 17];
    let strings = [vec![0], absent[1..].to_vec(), vec![1]].concat();
    let many_strings = [vec![3, 1, 0, 0], absent[1..].to_vec(), vec![1]].concat();
    let parts: [&[u8]; 10] = [
        &rows,
        &ids,
        &strings,
        &many_strings,
        &[0, 0],
        &[3, 1, 0, 0, 0],
        &[0, 1, 0, 0],
        &[3, 1, 0, 0, 0, 0],
        &[0],
        &[3, 1, 0, 0],
    ];
    for part in parts {
        bytes.extend((part.len() as u16).to_le_bytes());
        bytes.extend(part);
    }
    check_stored_batch(&bytes);
    let mut dice = Dice(77);
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(changed.len() as u64) as usize;
            changed[at] = dice.below(256) as u8;
        }
        check_stored_batch(&changed);
    }
}

#[test]
fn places_and_numbers_at_the_end_of_all_numbers_do_no_harm() {
    for last in [u64::MAX, u64::MAX - 1] {
        let each = [&[EACH][..], &last.to_le_bytes(), &last.to_le_bytes()].concat();
        let from = [&[FROM][..], &last.to_le_bytes()].concat();
        for places in [&each, &from] {
            for numbers in [&each, &from] {
                let contents = [&2_u64.to_le_bytes()[..], places, numbers].concat();
                let (rows, places, documents) = rows_from(&contents).unwrap();
                assert!(places.get(1) >= last && documents.number(1) >= Some(last) && rows == 2);
                assert_eq!(places.validate(2), Ok(()));
            }
        }
    }
}

/// Parts of version 1 have no elements of arrays of objects. The elements are then read from the documents.
#[test]
fn parts_without_elements_are_read_and_completed() {
    let fields =
        [Field::new("legs[].bank", FieldType::String), Field::new("legs[].amount", FieldType::Number)];
    let catalog = Catalog::new(fields).unwrap();
    let documents = [
        r#"{"id":"1","legs":[{"bank":"a"},{"amount":1},null]}"#,
        r#"{"id":"2","legs":[{"bank":"b","amount":2},{}]}"#,
        r#"{"id":"3"}"#,
        r#"{"id":"4","legs":[{"amount":4},{"bank":"a","amount":5}]}"#,
    ];
    let mut builder = BatchBuilder::new(&catalog, Keep::Numbers, 0);
    for (number, document) in (0..).zip(documents) {
        let mut row = Row::default();
        crate::ingest::read_case(document, &catalog, &crate::limits::Limits::default(), &mut row).unwrap();
        builder.push(&row, Document::Number { number, size_bytes: document.len() }, number);
    }
    let before = builder.seal();
    assert_eq!(before.validate(&catalog), Ok(()));
    let old = parts(&catalog, &before, 7).into_iter().map(|(part, bytes)| {
        if version(&catalog, part) == VERSION {
            return (part, bytes);
        }
        // The elements are at the end of the contents. They start with a tag (one byte). A list of counts for the rows follows,
        // and then a list of counts for the elements. Each list starts with the width of its counts, which is one byte here.
        let elements = match part {
            Part::Column(field) => before.column(field).unwrap().elements_len(1),
            Part::Rows | Part::Keys(_) => 0,
        };
        let end = bytes.len() - (1 + 1 + documents.len() + 1 + elements);
        let contents = &bytes[9..end];
        let mut out = vec![VERSION];
        out.extend_from_slice(&checksum(7, part, VERSION, contents).to_le_bytes());
        out.extend_from_slice(contents);
        (part, out)
    });
    let old: Vec<(Part, Vec<u8>)> = old.collect();
    let read = read(&catalog, 7, |wanted| {
        let found = old.iter().find(|(part, _)| *part == wanted);
        Ok::<_, Fault>(found.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    });
    let ReadBatch { mut batch, outdated } = read.unwrap();
    assert_eq!(outdated.len(), 2);
    batch
        .set_elements(&catalog, &outdated, |row, take| {
            let mut document = Row::default();
            // The document of the last row has been deleted.
            let Some(text) = documents.get(row).filter(|_| row < 3) else { return Ok::<_, Fault>(false) };
            crate::ingest::read_case(text, &catalog, &crate::limits::Limits::default(), &mut document)
                .unwrap();
            take(&document);
            Ok(true)
        })
        .unwrap();
    assert_eq!(batch.validate(&catalog), Ok(()));
    for field in outdated {
        let (own, expected) = (batch.column(field).unwrap(), before.column(field).unwrap());
        for row in 0..3 {
            assert_eq!(own.below(0, row..row + 1), expected.below(0, row..row + 1));
        }
        for element in 0..expected.below(0, 0..3).len() {
            assert_eq!(own.below(1, element..element + 1), expected.below(1, element..element + 1));
        }
        // All columns have the same elements in the row whose document has been deleted.
        assert_eq!(own.below(0, 3..4).len(), 1);
    }
}
