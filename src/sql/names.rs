//! Chooses the names of columns, and defines the error for an invalid table name.

use std::collections::HashSet;
use std::fmt;

use super::element_columns::{ElementNumbers, Numbered};
use crate::catalog::Catalog;

/// The error for a string that is not a valid table name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableNameError(pub(super) String);

impl fmt::Display for TableNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "found the table name {}, expected one to three words joined by dots, each with 1 to \
             {MAX_NAME_BYTES} letters a to z, digits and underscores, and no digit at its start",
            crate::error::quote(&self.0)
        )
    }
}

impl std::error::Error for TableNameError {}

/// The names of the columns that contain fields.
pub(super) struct Names {
    /// For each field, the name of its column. Hidden fields have names too, so that an allow-list does not change the other names.
    pub(super) of_fields: Vec<String>,
    /// For each field, the name of its folded column. These names are chosen after those of the fields, so that they do not change
    /// the names of other columns.
    pub(super) of_folded: Vec<String>,
    /// All element columns with their names. These names are chosen after those of the folded columns.
    pub(super) of_elements: Vec<(ElementNumbers, String)>,
}

impl Names {
    /// Chooses names for all fields of a catalogue. They differ from each other and from the names in `reserved`.
    pub(super) fn new(catalog: &Catalog, reserved: &[&str]) -> Self {
        let mut taken: HashSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
        let name = |field| unique(snake_case(catalog.field(field).name()), &mut taken);
        let of_fields: Vec<String> = catalog.field_ids().map(name).collect();
        let mut suffixed = |name: &str, suffix: &str| {
            let mut name = name.to_owned();
            // Column names are ASCII, so truncation does not split a character.
            name.truncate(MAX_NAME_BYTES.saturating_sub(NUMBER_BYTES).saturating_sub(suffix.len()));
            name.push_str(suffix);
            unique(name, &mut taken)
        };
        let of_folded = of_fields.iter().map(|name| suffixed(name, FOLDED)).collect();
        let of_elements = ElementNumbers::all(catalog).into_iter().map(|column| {
            let array_name = |array| catalog.array(array).map_or("", |array| catalog.array_name(array));
            let name = match column.of {
                Numbered::Values(field) => of_fields.get(field.index()).cloned().unwrap_or_default(),
                Numbered::Elements(array) => snake_case(array_name(array)),
            };
            (column, suffixed(&name, &column.suffix(catalog)))
        });
        let of_elements = of_elements.collect();
        Self { of_fields, of_folded, of_elements }
    }
}

/// The suffix of the name of a folded column.
const FOLDED: &str = "_folded";

/// Returns `snake` if this name is free, or else `snake` with an underscore and a number appended. Adds the returned name to
/// `taken`.
fn unique(snake: String, taken: &mut HashSet<String>) -> String {
    let mut number = 1_u32;
    let mut name = snake.clone();
    while !taken.insert(name.clone()) {
        number = number.saturating_add(1);
        name = format!("{snake}_{number}");
    }
    name
}

/// Converts a field name to lower-case words joined by underscores. The result is so short that a number can be appended.
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
    snake.truncate(MAX_NAME_BYTES.saturating_sub(NUMBER_BYTES));
    snake
}

/// The length of an underscore and a number of ten digits, in bytes.
const NUMBER_BYTES: usize = 11;

/// The maximum length of a name that every dialect accepts, in bytes. It is PostgreSQL's limit.
pub(super) const MAX_NAME_BYTES: usize = 63;
