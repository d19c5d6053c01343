//! The arguments `--folded` and `--elements` of the commands that define, write or search an SQL table.

use casefilter::sql::Table;

use crate::output::failure::Failure;

/// The arguments for columns that a table has only on request.
#[derive(clap::Args)]
pub(crate) struct ExtraColumns {
    /// Add columns of folded text (without case and accents), which `matches` needs: for all text fields, or only for these fields
    ///
    /// Use the same value for `export`, `ddl` and `sql`. Each folded column takes about as much space as the field itself.
    #[arg(
        long = "folded",
        value_name = "FIELD,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    folded: Option<String>,

    /// Add columns of element numbers, which `has` needs: for all arrays of objects, or only for these arrays
    ///
    /// Use the same value for `export`, `ddl` and `sql`. The columns contain a number of 8 bytes for each element of an array, and
    /// for each value in an element.
    #[arg(
        long = "elements",
        value_name = "ARRAY,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    elements: Option<String>,
}

impl ExtraColumns {
    /// Returns the name of the first of these arguments that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let folded = self.folded.as_ref().map(|_| "--folded");
        folded.or_else(|| self.elements.as_ref().map(|_| "--elements"))
    }

    /// Adds the columns to a table.
    pub(crate) fn add_to(&self, table: Table) -> Result<Table, Failure> {
        let table = match self.folded.as_deref() {
            None => table,
            Some("") => table.with_folded(),
            Some(names) => table
                .with_folded_fields(names.split(',').map(str::trim))
                .map_err(|error| Failure::Usage(format!("--folded: {error}")))?,
        };
        Ok(match self.elements.as_deref() {
            None => table,
            Some("") => table.with_elements(),
            Some(names) => table
                .with_elements_of(names.split(',').map(str::trim))
                .map_err(|error| Failure::Usage(format!("--elements: {error}")))?,
        })
    }
}
