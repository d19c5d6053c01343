//! Names of tables and columns.

use std::collections::HashSet;
use std::fmt;

use crate::catalog::Field;

/// The error for a text that is not a valid name of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableNameError(pub(super) String);

impl fmt::Display for TableNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "found table name {}, expected one to three words joined by dots, each of the letters a to z, \
             digits and underscores, no digit first, at most {MAX_NAME_BYTES} bytes",
            crate::error::quote(&self.0)
        )
    }
}

impl std::error::Error for TableNameError {}

/// Returns the name of a field in snake case, with a number appended if the name is taken.
pub(super) fn unique(field: &Field, taken: &mut HashSet<String>) -> String {
    let snake = snake_case(field.name());
    let mut number = 1_u32;
    let mut name = snake.clone();
    while !taken.insert(name.clone()) {
        number = number.saturating_add(1);
        name = format!("{snake}_{number}");
    }
    name
}

/// Returns lower-case words joined by underscores, short enough to append a number.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        snake.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    if !snake.starts_with(|c: char| c.is_ascii_lowercase()) {
        snake.insert_str(0, "f_");
    }
    // Leaves room for an underscore and a number of ten digits.
    snake.truncate(MAX_NAME_BYTES.saturating_sub(11));
    snake
}

/// The maximum length of a name that every dialect accepts, in bytes: the limit of PostgreSQL.
pub(super) const MAX_NAME_BYTES: usize = 63;
