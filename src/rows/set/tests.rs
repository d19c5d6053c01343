//! Tests of every operation on every pair of representations, compared with a `BTreeSet` of rows.

use std::collections::BTreeSet;

use super::*;

/// Returns sample sets of rows: multiples of a step, no row, a range, the last row, and pseudo-random rows.
fn models(rows: usize) -> Vec<BTreeSet<usize>> {
    let mut models: Vec<BTreeSet<usize>> =
        [1, 2, 3, 70].iter().map(|step| (0..rows).filter(|row| row % step == step - 1).collect()).collect();
    models.push(BTreeSet::new());
    models.push((rows / 3..rows - rows / 4).collect());
    models.push(BTreeSet::from([rows - 1]));
    models.push((0..rows).filter(|row| row.wrapping_mul(0x9e37_79b9) >> 7 & 3 == 0).collect());
    models
}

/// Returns the set of the rows of `model`, in every representation that can hold it.
fn sets(model: &BTreeSet<usize>, rows: usize) -> Vec<RowSet<'static>> {
    let list: Vec<u16> = model.iter().map(|row| *row as u16).collect();
    let mut bits = vec![0; rows.div_ceil(LANES)];
    words::set_rows(&mut bits, &list);
    let mut sets = vec![RowSet::from_list(list), RowSet::Bitmap(Cow::Owned(bits))];
    if model.len() == rows {
        sets.push(RowSet::All);
    }
    let start = model.first().copied().unwrap_or(0);
    let range = start..start + model.len();
    if model.iter().copied().eq(range.clone()) {
        sets.push(RowSet::Range(range));
    }
    if model.is_empty() {
        sets.push(RowSet::List(Cow::Owned(Vec::new())));
        sets.push(RowSet::Range(rows..rows));
    }
    sets
}

const ROWS: [usize; 5] = [1, 63, 64, 65, 200];

#[test]
fn every_representation_is_the_set_that_it_stands_for() {
    for rows in ROWS {
        for model in models(rows) {
            for set in sets(&model, rows) {
                assert_eq!(set.count(rows), model.len(), "{set:?}");
                assert!(set.iter(rows).eq(model.iter().copied()), "{set:?}");
                for number in 0..=model.len() {
                    assert_eq!(set.nth(number, rows), model.iter().nth(number).copied(), "{set:?}");
                }
                for row in 0..=rows {
                    assert_eq!(set.count_below(row, rows), model.range(..row).count(), "{row} of {set:?}");
                    assert!(row == rows || set.contains(row) == model.contains(&row), "{row} of {set:?}");
                }
                let mut bits = vec![7; rows.div_ceil(LANES)];
                set.write(&mut bits, rows);
                assert!(words::ones(bits.iter().copied()).eq(model.iter().copied()), "{set:?}");
                let mut list = vec![7];
                words::list_bits(&bits, &mut list);
                assert!(list.iter().map(|row| usize::from(*row)).eq(model.iter().copied()));
                for negated in [false, true] {
                    let mut some: Vec<u16> = (0..rows as u16).rev().step_by(3).collect();
                    let mut expected = some.clone();
                    expected.retain(|row| model.contains(&usize::from(*row)) != negated);
                    set.retain_unless(negated, &mut some);
                    assert_eq!(some, expected, "{set:?}");
                }
                for start in 0..=rows {
                    let end = (start * 7 + 1).min(rows).max(start);
                    let mut within = vec![7];
                    set.list_within(start..end, &mut within);
                    let within = within.into_iter().skip(1).map(usize::from);
                    assert!(within.eq(model.range(start..end).copied()), "{start}..{end} of {set:?}");
                }
            }
        }
    }
}

#[test]
fn every_two_representations_combine_as_sets_do() {
    for rows in ROWS {
        let all: BTreeSet<usize> = (0..rows).collect();
        for (first, second) in
            models(rows).iter().flat_map(|a| models(rows).into_iter().map(move |b| (a.clone(), b)))
        {
            let both: BTreeSet<usize> = &first & &second;
            let others: BTreeSet<usize> = &all - &second;
            let expected = [
                (Combine::And, both.clone()),
                (Combine::AndNot, &first & &others),
                (Combine::Or, &first | &second),
                (Combine::OrNot, &first | &others),
            ];
            for one in sets(&first, rows) {
                for other in sets(&second, rows) {
                    assert_eq!(one.count_both(&other, rows), both.len(), "{one:?} and {other:?}");
                    assert!(one.iter_both(&other, rows).eq(both.iter().copied()), "{one:?} and {other:?}");
                    if let RowSet::Bitmap(words) = &other {
                        assert_eq!(one.count_words(words), both.len(), "{one:?} and {other:?}");
                    }
                    for (how, expected) in &expected {
                        let combined = one.combined(*how, &other, rows);
                        assert!(
                            combined.iter(rows).eq(expected.iter().copied()),
                            "{one:?} {how:?} {other:?}"
                        );
                        // A result that is reported as uniform must be uniform.
                        let mut bits = vec![0; rows.div_ceil(LANES)];
                        one.write(&mut bits, rows);
                        let uniform = other.combine_into(*how, &mut bits, rows);
                        assert!(words::ones(bits.iter().copied()).eq(expected.iter().copied()));
                        assert!(uniform != Some(false) || expected.is_empty());
                        assert!(uniform != Some(true) || expected.len() == rows);
                    }
                }
            }
        }
    }
}
