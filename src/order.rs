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
        if let Some(error) = other_form(catalog, text) {
            return Err(error);
        }
        let (name, descending) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let field = catalog.resolve(name, usize::from(descending)).map_err(|error| error.at("order"))?;
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

/// The error of a text that other languages have for an order: `createdAt desc`, `createdAt:asc`, `desc(createdAt)`, `+createdAt`, or
/// several fields; `None` of any other.
fn other_form(catalog: &Catalog, text: &str) -> Option<Error> {
    let own = text.strip_prefix('-').unwrap_or(text);
    if catalog.find(own).is_some() {
        return None;
    }
    let error = |expected: &str| Error::new(ErrorKind::UnknownField, 0, quote(text), expected).at("order");
    if text.contains(',') {
        return Some(error("one field, ties being in the order of `id`"));
    }
    let parts: Vec<&str> = text.split([' ', ':', '(', ')', '\t']).filter(|part| !part.is_empty()).collect();
    let direction = |word: &str| match word.to_ascii_lowercase().as_str() {
        "desc" | "descending" | "down" => Some("-"),
        "asc" | "ascending" | "up" => Some(""),
        _ => None,
    };
    let (name, sign) = match parts.as_slice() {
        [one] if one.len() < text.len() => (*one, None),
        [one] => match (one.strip_prefix('+'), one.strip_suffix('-'), one.strip_suffix('+')) {
            (Some(name), ..) | (.., Some(name)) => (name, Some("")),
            (_, Some(name), _) => (name, Some("-")),
            _ => return None,
        },
        [first, second] => match (direction(first), direction(second)) {
            (None, Some(sign)) => (*first, Some(sign)),
            (Some(sign), None) => (*second, Some(sign)),
            _ => (*first, None),
        },
        _ => return None,
    };
    let is_near = |field: &&str| field.eq_ignore_ascii_case(name);
    let field = catalog.find(name).or_else(|| catalog.find(catalog.names().find(is_near)?));
    let field = field.map(|id| catalog.field(id)).filter(|field| !field.is_many());
    let suggestion = sign.zip(field).map(|(sign, field)| quote(&format!("{sign}{}", field.name())));
    Some(error("a field, with `-` in front for descending").suggest(suggestion))
}
