//! Decodes any bytes as the parts of a stored batch. The result must be an error, or a batch with valid invariants.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| casefilter::internal::check_stored_batch(bytes));
