//! The text syntax that people type instead of JSON.
//!
//! ```text
//! filter     = "true" | "false" | ids [ "or" expression ] | expression
//! ids        = "ids" "(" [ value *( "," value ) ] ")"
//! expression = conjuncts *( "or" conjuncts )
//! conjuncts  = term *( "and" term )
//! term       = "(" expression ")" | field compare value | field choose list
//! compare    = "=" | "<>" | ">" | ">=" | "<" | "<="
//! choose     = "in" | "contains" | "$contains" | "all" | "$all"   ("contains" for fields with many values only)
//! list       = "(" value *( "," value ) ")"
//! field, value = word | string
//! ```
//!
//! A *word* is a run of letters, digits and `_ . @ : + - $ / #`. A *string* stands in double
//! quotes, with the escapes of JSON, or in single quotes, a quote within doubled. The words `and`,
//! `or`, `in`, `all`, `not`, `true`, `false` and `ids`, in any case, need quotes as names or values,
//! but for `true` and `false` as values. White space parts words and means nothing else.
//!
//! `and` at the top makes the body's list of criteria; anything else is one criterion. Parentheses
//! may be open as deep as criteria may nest, whether they are needed or not.

mod criterion;
mod habits;
mod lexer;
mod operands;
mod operator;
mod parser;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use self::parser::{Parsed, parse};
