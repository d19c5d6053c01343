//! Tests that few rules are evaluated for a case, and that programs are read as they were written.

use proptest::prelude::*;

use super::super::hasher::Hasher;
use super::builder::Builder;
use super::program::{self, Operation, Step};
use super::segment::{Scratch, Segment};
use crate::catalog::Catalog;
use crate::filter::{Document, Filter};

fn segment(texts: impl Iterator<Item = String>, hasher: &Hasher) -> Segment {
    let cases = Catalog::cases();
    let mut builder = Builder::new(&cases, hasher);
    for (number, text) in texts.enumerate() {
        builder.add(&format!("{number}"), &Filter::compile_text(&cases, &text).unwrap(), None);
    }
    builder.finish()
}

/// Returns the number of rules that are evaluated for a case, and the number of names that are found.
fn work(segment: &Segment, hasher: &Hasher, document: &str) -> (usize, usize) {
    let cases = Catalog::cases();
    let document = Document::parse(&cases, document.as_bytes()).unwrap();
    let mut found = 0;
    segment.matching(document.row(), &cases, hasher, &mut Scratch::default(), |_| found += 1);
    (segment.evaluated(document.row(), hasher), found)
}

#[test]
fn filters_with_a_frequent_value_are_found_by_a_second_key() {
    let hasher = Hasher::default();
    let by_client =
        (0..1000).map(|n| format!("status = open and clientId = c{n} and totalAmountInDefaultCurrency > 5"));
    let by_tag = (0..1000).map(|n| format!("status = open and priority = high and tags in (t{n}, u{n})"));
    let by_amount = (0..1000).map(|n| {
        format!(
            "status = open and totalAmountInDefaultCurrency >= {n} and totalAmountInDefaultCurrency < {}",
            n + 2
        )
    });
    let segment = segment(by_client.chain(by_tag).chain(by_amount), &hasher);
    let document = r#"{"id":"1","clientId":"c7","tags":["t1","u1","t2"],"priority":"high","totalAmountInDefaultCurrency":900,
        "caseReview":{"status":"open"}}"#;
    let (evaluated, found) = work(&segment, &hasher, document);
    assert_eq!(found, 1 + 2 + 2);
    assert!(evaluated < 20, "{evaluated} rules are evaluated");
    assert_eq!(work(&segment, &hasher, r#"{"id":"1","caseReview":{"status":"open"}}"#).1, 0);
}

#[test]
fn prefixes_and_words_are_keys() {
    let hasher = Hasher::default();
    let filters = (0..1000).map(|n| match n % 3 {
        0 => format!("name starts with 'n{n} '"),
        1 => format!("name includes '-{n}-'"),
        _ => format!("name matches 'W{n}x' and status <> open"),
    });
    let segment = segment(filters, &hasher);
    let (evaluated, found) = work(&segment, &hasher, r#"{"id":"1","name":"n300 a -400- b w500X -401-"}"#);
    assert_eq!((evaluated, found), (3, 3));
}

#[test]
fn tests_of_elements_are_found_by_the_values_of_their_elements() {
    let hasher = Hasher::default();
    let text = |n| format!("caseReview.checklistState.checklist has (name = n{n} and checked = true)");
    let segment = segment((0..1000).map(text), &hasher);
    let document = |checked| {
        let list = format!(r#"[{{"name":"n5","checked":{checked}}},{{"name":"x","checked":true}}]"#);
        format!(r#"{{"id":"1","caseReview":{{"checklistState":{{"checklist":{list}}}}}}}"#)
    };
    assert_eq!(work(&segment, &hasher, &document(true)), (1, 1));
    assert_eq!(work(&segment, &hasher, &document(false)), (1, 0));
}

proptest! {
    #[test]
    fn steps_are_read_as_they_were_written(
        field in any::<u16>(),
        is_negated in any::<bool>(),
        jumps in proptest::option::of(any::<(u32, u32)>()),
        ranges in proptest::collection::vec(any::<(i64, i64)>(), 0..5),
        atoms in proptest::collection::vec(any::<u32>(), 0..5),
    ) {
        let words: Vec<u32> = ranges.iter().flat_map(|range| program::range_words(*range)).collect();
        prop_assert_eq!(program::ranges(&words).collect::<Vec<_>>(), ranges);
        for (operation, arguments) in [(Operation::Ranges, &words), (Operation::Atoms, &atoms)] {
            let step = Step { operation, field, is_negated, jumps, arguments };
            let mut written = vec![7];
            program::write(&step, &mut written);
            let (read, next) = program::read(&written, 1).unwrap();
            prop_assert_eq!(next, written.len());
            prop_assert_eq!(program::len(&step), written.len() - 1);
            prop_assert_eq!((read.operation, read.field, read.is_negated), (operation, field, is_negated));
            prop_assert_eq!((read.jumps, read.arguments), (jumps, arguments.as_slice()));
        }
    }

    #[test]
    fn words_that_are_no_program_do_not_panic(words in proptest::collection::vec(0_u32..9, 0..20)) {
        let mut at = 0;
        while let Some((_, next)) = program::read(&words, at) {
            prop_assert!(next > at);
            at = next;
        }
    }
}
