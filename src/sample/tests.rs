//! Tests that sample cases and records have fixed bytes, are valid, and have the intended distribution.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::case::NUMBERS;
use super::*;
use crate::catalog::Catalog;
use crate::filter::Filter;

fn case(number: u64, seed: u64) -> Vec<u8> {
    let mut case = Vec::new();
    write_case(number, seed, &mut case);
    case
}

fn has_value(document: &Value, path: &str) -> bool {
    let pointer = path.replace("[]", "/0").replace('.', "/");
    document.pointer(&format!("/{pointer}")).is_some()
}

/// Computes the 64-bit FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_bytes_never_change() {
    let mut out = Vec::new();
    let mut cases = Cases::new(2_000, 42);
    while cases.write_next(&mut out) {}
    assert_eq!(hash(&out), 0xeaac_47eb_5817_ff46, "{:#x}", hash(&out));
}

#[test]
fn every_case_is_valid_and_every_field_occurs() {
    let catalog = Catalog::cases();
    let all = Filter::all(&catalog);
    let mut present: HashMap<&str, usize> = HashMap::new();
    let cases: Vec<Vec<u8>> = Cases::new(3_000, 1).collect();
    for case in &cases {
        assert!(all.matches(case).unwrap());
        let text = std::str::from_utf8(case).unwrap();
        assert!(!text.contains('\\') && !text.contains('\n'));
        let document: Value = serde_json::from_str(text).unwrap();
        for field in catalog.fields() {
            *present.entry(field.name()).or_default() += usize::from(has_value(&document, field.path()));
        }
    }
    for field in catalog.fields() {
        assert!(present[field.name()] > 50, "{} is there {} times", field.name(), present[field.name()]);
    }
    let bytes: usize = cases.iter().map(Vec::len).sum();
    assert!((850..960).contains(&(bytes / cases.len())), "{} bytes a case", bytes / cases.len());
}

#[test]
fn creation_times_increase_and_ids_are_unique() {
    let mut ids = HashSet::new();
    let mut last = String::new();
    for case in Cases::new(5_000, 9) {
        let case: Value = serde_json::from_slice(&case).unwrap();
        let created = case["createdAt"].as_str().unwrap().to_owned();
        assert!(last <= created);
        assert!(created.as_str() <= case["updatedAt"].as_str().unwrap_or("9"));
        last = created;
        assert!(ids.insert(case["id"].as_str().unwrap().to_owned()));
    }
    assert!(last.starts_with("2025-12"), "{last}");
}

#[test]
fn any_number_and_seed_make_a_valid_case() {
    let all = Filter::all(&Catalog::cases());
    for number in [0, 1, CASES_IN_THREE_YEARS, NUMBERS - 1, NUMBERS, u64::MAX] {
        for seed in [0, 1, u64::MAX] {
            assert!(all.matches(&case(number, seed)).unwrap());
        }
    }
    assert_ne!(case(5, 1), case(5, 2));
    assert_ne!(case(5, 1), case(6, 1));
}

#[test]
fn a_sample_of_any_size_has_ascending_numbers() {
    for count in [0, 1, 2, 3, 1_000, CASES_IN_THREE_YEARS - 1, CASES_IN_THREE_YEARS, u64::MAX] {
        let cases = Cases::new(count, 3);
        let numbers: Vec<u64> = (0..count.min(1_000)).map(|index| cases.number(index)).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{count}");
    }
}

#[test]
fn records_match_the_cases() {
    let (count, seed) = (2_000, 42);
    let of = |kind| Records::new(kind, count, seed).map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let levels: HashSet<String> = of(SampleKind::Levels).map(|level| text(&level["name"])).collect();
    let applicants: Vec<Value> = of(SampleKind::Applicants).collect();
    let ids: HashSet<String> = applicants.iter().map(|applicant| text(&applicant["id"])).collect();
    assert_eq!(ids.len(), applicants.len());
    let cases: Vec<Value> =
        Cases::new(count, seed).map(|case| serde_json::from_slice::<Value>(&case).unwrap()).collect();
    let named: HashSet<String> =
        cases.iter().map(|case| text(&case["applicantReference"]["applicantId"])).collect();
    let fixed: HashSet<String> = ["anna", "firm"].map(str::to_owned).into();
    assert_eq!(ids, named.union(&fixed).cloned().collect());
    for applicant in &applicants {
        assert!(levels.contains(applicant["review"]["levelName"].as_str().unwrap()), "{applicant}");
    }
    let documents: Vec<Value> = of(SampleKind::Documents).collect();
    assert!(documents.len() > count as usize, "{} documents", documents.len());
    assert!(documents.iter().all(|document| ids.contains(document["applicantId"].as_str().unwrap())));
    let mut aml: HashSet<(String, String)> = HashSet::new();
    for record in of(SampleKind::AmlCases) {
        assert!(aml.insert((text(&record["targetEntityId"]), text(&record["id"]))), "{record}");
    }
    for case in &cases {
        let applicant = text(&case["applicantReference"]["applicantId"]);
        for own in case["amlCases"].as_array().into_iter().flatten() {
            assert!(aml.contains(&(applicant.clone(), text(&own["amlCaseId"]))), "{case}");
        }
    }
    let mut all = String::new();
    for kind in [SampleKind::Levels, SampleKind::Applicants, SampleKind::Documents, SampleKind::AmlCases] {
        for line in Records::new(kind, count, seed) {
            all += &line;
        }
    }
    assert_eq!(hash(all.as_bytes()), 0xdea7_6fb9_0295_a5fe, "{:#x}", hash(all.as_bytes()));
}
