//! Strict parser of JSON bodies: reports every error, with its offset and what was probably meant.
//!
//! It runs once the [fast path](super::fast) has refused a body, and finds at least one error in each of those; tests and a fuzz
//! target hold the two to that. Nothing recurses: a stack of frames takes the place of calls, and memory is linear in the text.
//!
//! [`parser`] walks the text, [`criterion`] checks the keys of one criterion, [`open`] holds what was read of it.

mod criterion;
mod open;
mod parser;

pub(crate) use self::parser::parse;
