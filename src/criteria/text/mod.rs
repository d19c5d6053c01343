//! Parses the text syntax of filters, which people type instead of JSON.
//!
//! ```text
//! filter     = "true" | "false" | ids [ "or" expression ] | expression
//! ids        = "ids" "(" [ value *( "," value ) ] ")"
//! expression = conjuncts *( "or" conjuncts )
//! conjuncts  = term *( "and" term )
//! term       = "not" term | "(" expression ")" | array "has" "(" expression ")" | field test
//! test       = ( compare | "on" ) value | choose list | "is" ( "present" | "absent" ) | search ( value | list )
//! compare    = "=" | "<>" | ">" | ">=" | "<" | "<="
//! choose     = "in" | "contains" | "$contains" | "all" | "$all"   ("contains" for multi-valued fields only)
//! search     = "starts with" | "includes" | "matches"           ("matches" for one value)
//! list       = "(" value *( "," value ) ")"
//! array, field, value = word | string
//! ```
//!
//! A *word* is a sequence of letters, digits and `_ . @ : + - $ / #`. A *string* has double quotes and the escapes of JSON, or
//! single quotes; a single quote inside it is written twice. A name or value needs quotes if it is one of the words `and`, `or`,
//! `in`, `all`, `not` and `ids`, in any letter case. A name also needs quotes if it is `true` or `false`, in any letter case. White
//! space separates words and has no other meaning.
//!
//! The values of a timestamp field are times in the forms of [`Clock`](crate::value::Clock): instants, whole days, `now` and
//! `today`. A shift may follow a day or `now`, as in `now - 7d`. A whole day is a span of time. The operators `=` and `on` select
//! the times within the day. `<` selects the times before the day, and `>` selects the times after it. `<=` and `>=` also select
//! the times within the day. Only timestamp fields accept `on`.
//!
//! The expression after `has` tests single elements of an array of objects. The fields and arrays in it lie below that array, and
//! their names may omit the path of the array. If a list of values follows `has`, the parser treats `has` as an operator of another
//! language, and reports an error.
//!
//! The operands of the outermost `and` become the list of criteria of the body. Any other expression becomes a list with one
//! criterion. The limit of the nesting depth of criteria also applies to parentheses, including redundant parentheses.
//!
//! To add a form that only this syntax has, such as `on`, change `operator.rs`, `criterion.rs`, `phrase.rs`, `place.rs` and
//! `filter/completions.rs`.

mod criterion;
mod foreign_words;
mod lexer;
mod operands;
mod operator;
mod parser;
mod phrase;
mod place;
mod searches;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use self::parser::{Parsed, parse};
pub(crate) use self::place::{Expected, Place, place};
