//! In which order a search gives its cases.

use crate::catalog::{Catalog, FieldId};
use crate::error::{Error, ErrorKind, quote};

/// The order of an answer: by one field, ties by `id` ascending.
///
/// Cases without the field come last in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The field whose value decides.
    pub field: FieldId,
    /// Greatest first.
    pub descending: bool,
}

impl Order {
    /// Reads an `order` parameter: a single-valued field, `-` in front for descending.
    ///
    /// An empty text is no order.
    ///
    /// ```
    /// use casefilter::{Catalog, Order};
    /// let order = Order::parse(&Catalog::cases(), "-createdAt")?.unwrap();
    /// assert!(order.descending);
    /// assert!(Order::parse(&Catalog::cases(), "tags").is_err());
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name outside the catalogue, or a field with many values.
    pub fn parse(catalog: &Catalog, text: &str) -> Result<Option<Self>, Error> {
        if text.is_empty() {
            return Ok(None);
        }
        let (name, descending) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let field = catalog.resolve(name, usize::from(descending)).map_err(|error| {
            let suggestion = meant_order(catalog, name).or_else(|| error.suggestion.clone());
            Error { suggestion, ..error }.at("order")
        })?;
        if catalog.field(field).is_many() {
            return Err(Error::new(
                ErrorKind::OrderByMany,
                usize::from(descending),
                format!("{}, which has many values", quote(name)),
                "a field with one value",
            )
            .at("order"));
        }
        Ok(Some(Self { field, descending }))
    }
}

/// The order that a text in the words of SQL stands for.
fn meant_order(catalog: &Catalog, text: &str) -> Option<String> {
    let (name, direction) = text.trim().split_once(char::is_whitespace)?;
    let field = catalog.find(name).filter(|field| !catalog.field(*field).is_many())?;
    let name = catalog.field(field).name();
    match direction.trim().to_ascii_lowercase().as_str() {
        "desc" | "descending" => Some(quote(&format!("-{name}"))),
        "asc" | "ascending" => Some(quote(name)),
        _ => None,
    }
}
