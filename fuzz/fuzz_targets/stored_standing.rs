//! Decodes any bytes as standing filters and events of a store. The result must be an error, or what a store writes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| casefilter::internal::check_stored_standing(bytes));
