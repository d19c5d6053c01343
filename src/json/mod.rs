//! A pull parser of JSON text that does not recurse and that reports the byte offset of every token.
//!
//! It accepts exactly the grammar of RFC 8259, with one restriction: a lone surrogate in a string is an error.
//!
//! The engine reads hostile input and needs three properties that `serde_json` does not have:
//!
//! - Every token has an offset.
//! - Nested input does not make the call stack grow.
//! - The caller sees a key that is repeated in an object.

mod brackets;
mod paths;
mod plain;
mod reader;
mod scalars;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub(crate) use self::paths::paths_at;
pub(crate) use self::plain::plain_len;
pub(crate) use self::reader::Reader;
pub(crate) use self::text::{text, trim, trim_start};
pub(crate) use self::types::{JsonType, Result};
