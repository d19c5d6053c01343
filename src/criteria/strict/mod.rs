//! The strict parser of JSON bodies: reports every error, with its offset and, if possible, a suggestion.
//!
//! It runs after the [fast path](super::fast) has rejected a body, and finds at least one error in each such body. Tests and a
//! fuzz target check this. It does not recurse: a stack of frames replaces calls, and memory is linear in the length of the text.
//!
//! [`parser`] walks the text, [`criterion`] checks the keys of one criterion, and [`open`] stores the keys and values that have
//! been read so far.

mod criterion;
mod open;
mod parser;

pub(crate) use self::parser::parse;
