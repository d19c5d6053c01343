//! The argument `--folded` of the commands that define, write or search an SQL table.

use casefilter::sql::Table;

use crate::output::failure::Failure;

/// The argument for folded columns.
#[derive(clap::Args)]
pub(crate) struct Folded {
    /// Add columns of folded text, which `matches` needs: for all text fields, or only for these fields
    ///
    /// Use the same value for `export`, `ddl` and `sql`. Each folded column takes about as much space as the field itself.
    #[arg(
        long = "folded",
        value_name = "FIELD,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    fields: Option<String>,
}

impl Folded {
    /// Returns true if the argument was given.
    pub(crate) fn is_given(&self) -> bool {
        self.fields.is_some()
    }

    /// Adds the folded columns to a table.
    pub(crate) fn add_to(&self, table: Table) -> Result<Table, Failure> {
        match self.fields.as_deref() {
            None => Ok(table),
            Some("") => Ok(table.with_folded()),
            Some(names) => table
                .with_folded_fields(names.split(',').map(str::trim))
                .map_err(|error| Failure::Usage(format!("--folded: {error}"))),
        }
    }
}
