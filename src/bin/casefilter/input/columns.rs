//! The argument `--columns`: the fields that a command shows.

use casefilter::internal::resolve_field;
use casefilter::{Catalog, Error, ErrorKind, Errors, Field, FieldId, Found};

use crate::output::diagnostics::{Fault, Source};
use crate::output::failure::Failure;
use crate::output::field_tree::{FieldTree, text_of};

/// The fields that a command shows, in order.
pub(crate) struct Columns {
    columns: Vec<Named>,
    tree: FieldTree,
}

/// A field, with the name that the user wrote.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) field: Field,
}

impl Columns {
    /// Parses the names or aliases of fields, separated by commas.
    pub(crate) fn parse(catalog: &Catalog, text: &str) -> Result<Self, Failure> {
        let mut columns: Vec<(String, FieldId)> = Vec::new();
        let mut errors = Vec::new();
        let mut start = 0_usize;
        for part in text.split(',') {
            let name = part.trim();
            let space = part.len().saturating_sub(part.trim_start().len());
            let offset = start.saturating_add(space);
            match resolve_field(catalog, name, offset) {
                Ok(id) if columns.iter().any(|(_, earlier)| *earlier == id) => {
                    errors.push(Error::new(
                        ErrorKind::DuplicateKey,
                        offset,
                        Found::text(name),
                        "each field once",
                    ));
                }
                Ok(id) => columns.push((name.to_owned(), id)),
                Err(error) => errors.push(error),
            }
            start = start.saturating_add(part.len()).saturating_add(1);
        }
        if let Some(errors) = errors.into_iter().map(Errors::from).reduce(Errors::followed_by) {
            let source = Source::argument("--columns", text);
            let sources = errors.as_slice().iter().map(|_| source.clone()).collect();
            return Err(Failure::BadFilter(Fault { errors, sources }.render()));
        }
        Ok(Self::new(
            columns
                .into_iter()
                .filter_map(|(name, id)| Some(Named { name, field: catalog.get(id)?.clone() })),
        ))
    }

    /// Returns all fields of a catalogue that requests may name.
    pub(crate) fn all(catalog: &Catalog) -> Self {
        let fields = catalog.visible_fields();
        Self::new(fields.map(|(_, field)| Named { name: field.name().to_owned(), field: field.clone() }))
    }

    fn new(columns: impl Iterator<Item = Named>) -> Self {
        let columns: Vec<Named> = columns.collect();
        let tree = FieldTree::new(columns.iter().map(|column| &column.field));
        Self { columns, tree }
    }

    pub(crate) fn as_slice(&self) -> &[Named] {
        &self.columns
    }

    /// Returns the names that the user wrote.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Returns the document with the members of these fields only.
    pub(crate) fn only(&self, document: &str) -> String {
        self.tree.only(document)
    }

    /// Returns the cells of a document. Several values of a field are separated by `between`. If a field has a default but no
    /// value, `absent` converts the default to the cell.
    pub(crate) fn cells(
        &self,
        document: &str,
        between: &str,
        absent: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let values = self.tree.values(document).into_iter();
        let cells = values.zip(&self.columns).map(|(values, column)| {
            match (values.as_slice(), column.field.default_value()) {
                ([], Some(default)) => absent(default),
                ([], None) => String::new(),
                ([only], _) => text_of(only).into_owned(),
                (several, _) => several.iter().map(|value| text_of(value)).collect::<Vec<_>>().join(between),
            }
        });
        cells.collect()
    }
}
