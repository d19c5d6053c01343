//! Reads any bytes as a catalogue file, in JSON and in TOML. An error must have a position in the file. A catalogue that is read
//! must be the same after it is written and read again, by both readers of JSON.

#![no_main]

use casefilter::{Catalog, Errors};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for read in [Catalog::from_json(bytes), Catalog::from_toml(bytes)] {
        match read {
            Ok(catalog) => check(&catalog),
            Err(errors) => check_errors(&errors, bytes),
        }
    }
});

fn check(catalog: &Catalog) {
    let json = catalog.to_json();
    let is_same = |read: &Catalog| read == catalog && read.is_extended() == catalog.is_extended();
    let again: Catalog = serde_json::from_str(&json).unwrap();
    assert!(is_same(&again), "{json}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&json).unwrap(),
        serde_json::to_value(catalog).unwrap()
    );
    // A file that extends the cases may have more fields than a file can list.
    if catalog.fields().len() < 4000 && json.len() < 1 << 20 {
        assert!(is_same(&Catalog::from_json(&json).unwrap()), "{json}");
    }
}

fn check_errors(errors: &Errors, bytes: &[u8]) {
    let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
    assert!(offsets.is_sorted() && (1..=10).contains(&offsets.len()), "{errors}");
    assert!(offsets.iter().all(|offset| *offset <= bytes.len()), "{errors}");
    assert!(errors.to_string().len() < 20_000, "{errors}");
}
