//! Compiles any bytes, as a request body and as a text filter, to SQL in every dialect. The statement with literals must be a
//! single statement, and its literals must be equal to the parameters.

#![no_main]

use casefilter::sql::{Dialect, Table};
use casefilter::{Catalog, Filter};
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/sql/tokens.rs"]
mod tokens;

fuzz_target!(|bytes: &[u8]| {
    let catalog = Catalog::cases().extended();
    let table = Table::new(&catalog).with_folded().with_elements();
    let from_text =
        std::str::from_utf8(bytes).ok().and_then(|text| Filter::compile_text(&catalog, text).ok());
    for filter in Filter::compile(&catalog, bytes).ok().into_iter().chain(from_text) {
        for dialect in Dialect::ALL {
            tokens::check(&table.count(dialect, &filter).unwrap());
        }
    }
});
