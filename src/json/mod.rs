//! A pull reader of JSON text that never recurses and knows the byte offset of everything.
//!
//! It accepts exactly the grammar of RFC 8259 whose strings are Unicode: a lone surrogate is an
//! error. The properties that the engine needs from a reader of hostile input, and that
//! `serde_json` does not give, are offsets of every token, a stack that the input cannot grow,
//! and sight of repeated keys.

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
