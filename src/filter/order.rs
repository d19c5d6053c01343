//! The order of the documents in the answer to a search.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::catalog::{Catalog, Field, FieldId};
use crate::error::{Error, ErrorKind, quote};

/// The direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Direction {
    /// The smallest value first.
    #[default]
    Ascending,
    /// The greatest value first.
    Descending,
}

/// The order of the documents in an answer: by one single-valued field. Documents with equal values are in ascending order of `id`.
///
/// Documents without the field are last in both directions. An order belongs to a [`Catalog`]. A search returns an error if its
/// filter has a different catalogue, or a catalogue that hides the sort field; see [`SearchRequest`](crate::SearchRequest).
///
/// ```
/// use casefilter::{Catalog, Direction, Order};
/// let newest = Order::by(&Catalog::cases(), "createdAt", Direction::Descending)?;
/// assert_eq!(newest.to_string(), "-createdAt");
/// # Ok::<(), casefilter::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Order {
    catalog: Catalog,
    key: SortKey,
}

/// The field and the direction of an [`Order`] that was checked against a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SortKey {
    pub(crate) field: FieldId,
    pub(crate) descending: bool,
}

impl Order {
    /// Creates the order by the field with this name or alias.
    ///
    /// ```
    /// use casefilter::{Catalog, Direction, ErrorKind, Order};
    /// let error = Order::by(&Catalog::cases(), "tags", Direction::Ascending).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::OrderByMany);
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is not in the catalogue, or if the field is multi-valued.
    pub fn by(catalog: &Catalog, name: &str, direction: Direction) -> Result<Self, Error> {
        Self::new(catalog, name, direction, 0)
    }

    /// Parses an `order` parameter: the name of a single-valued field, with the prefix `-` for descending order.
    ///
    /// Returns `None` for an empty text. If the name itself begins with `-`, `+-` or `++`, ascending order needs the prefix `+`.
    /// Otherwise the first character of the name would be the direction.
    ///
    /// ```
    /// use casefilter::{Catalog, Direction, Field, FieldType, Order};
    /// let order = Order::parse(&Catalog::cases(), "-createdAt")?.unwrap();
    /// assert_eq!(order.direction(), Direction::Descending);
    /// assert!(Order::parse(&Catalog::cases(), "tags").is_err());
    ///
    /// let catalog = Catalog::new([Field::new("-delta", FieldType::Number)])?;
    /// assert_eq!(Order::parse(&catalog, "+-delta")?, Some(Order::by(&catalog, "-delta", Direction::Ascending)?));
    /// assert_eq!(Order::parse(&catalog, "--delta")?, Some(Order::by(&catalog, "-delta", Direction::Descending)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is not in the catalogue, or if the field is multi-valued.
    pub fn parse(catalog: &Catalog, text: &str) -> Result<Option<Self>, Error> {
        if let Some(error) = other_form(catalog, text) {
            return Err(error);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let (direction, name) = signed(text);
        let offset = text.len().saturating_sub(name.len());
        Self::new(catalog, name, direction, offset).map(Some).map_err(|error| {
            // The client may have meant the minus sign as a part of the name.
            let is_name = direction == Direction::Descending && catalog.find(text).is_some();
            if is_name { error.suggest(Some(quote(&format!("+{text}")))) } else { error }
        })
    }

    fn new(catalog: &Catalog, name: &str, direction: Direction, offset: usize) -> Result<Self, Error> {
        let field = catalog.resolve(name, offset).map_err(|error| error.at("order"))?;
        if catalog.field(field).is_many() {
            return Err(Error::new(
                ErrorKind::OrderByMany,
                offset,
                format!("{}, which is multi-valued", quote(name)),
                "a single-valued field",
            )
            .at("order"));
        }
        let descending = direction == Direction::Descending;
        Ok(Self { catalog: catalog.clone(), key: SortKey { field, descending } })
    }

    /// Returns the field that documents are ordered by.
    #[must_use]
    pub fn field(&self) -> &Field {
        self.catalog.field(self.key.field)
    }

    /// Returns the direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        if self.key.descending { Direction::Descending } else { Direction::Ascending }
    }

    /// Returns the catalogue that the order was created for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Checks the order against `catalog` and returns its sort key.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`] if `catalog` has other fields, or hides the field of this order.
    pub(crate) fn key_in(&self, catalog: &Catalog) -> Result<SortKey, Error> {
        let name = || quote(self.field().name());
        let mismatch = |found: String, expected: String| {
            Err(Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("order"))
        };
        if !self.catalog.is_akin(catalog) {
            return mismatch(
                format!("an order by {} of another catalogue", name()),
                "an order for the catalogue of the filter".to_owned(),
            );
        }
        if !catalog.is_visible(self.key.field) {
            return mismatch(
                format!("an order by {}, which the catalogue of the filter hides or does not contain", name()),
                "a field of that catalogue, or a filter joined by `Filter::and` with one that shows the field"
                    .to_owned(),
            );
        }
        Ok(self.key)
    }
}

/// Compares the fields and the directions.
impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.field() == other.field()
    }
}

impl Eq for Order {}

impl Hash for Order {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
        self.field().name().hash(state);
    }
}

impl fmt::Display for Order {
    /// Prints the text that [`Order::parse`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.field().name();
        let sign = match self.direction() {
            Direction::Descending => "-",
            Direction::Ascending if signed(name) != (Direction::Ascending, name) => "+",
            Direction::Ascending => "",
        };
        write!(f, "{sign}{name}")
    }
}

/// Splits the text of an order into its direction and the name of its field.
///
/// A `+` is a sign only before another sign, so that `+x` is the field with that name.
fn signed(text: &str) -> (Direction, &str) {
    match text.strip_prefix('-') {
        Some(name) => (Direction::Descending, name),
        None => {
            let name = text.strip_prefix('+').filter(|name| name.starts_with(['+', '-']));
            (Direction::Ascending, name.unwrap_or(text))
        }
    }
}

/// Returns the error for an order in the syntax of another language: `createdAt desc`, `createdAt:asc`, `desc(createdAt)`,
/// `+createdAt`, or several fields. Returns `None` for any other text.
fn other_form(catalog: &Catalog, text: &str) -> Option<Error> {
    let (_, own) = signed(text);
    // If the text names a field, it is a valid order, or `Order::parse` suggests the correct sign.
    if catalog.find(own).or_else(|| catalog.find(text)).is_some() {
        return None;
    }
    let error = |expected: &str| Error::new(ErrorKind::UnknownField, 0, quote(text), expected).at("order");
    if text.contains(',') {
        let id = quote(catalog.id_name());
        return Some(error(&format!("one field; cases with equal values are in the order of {id}")));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FieldType;

    fn kind(result: Result<SortKey, Error>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind)
    }

    #[test]
    fn an_order_fits_catalogues_that_show_its_field() {
        let cases = Catalog::cases();
        let order = Order::by(&cases, "status", Direction::Descending).unwrap();
        let key = SortKey { field: cases.find("status").unwrap(), descending: true };
        let grown = cases.with([Field::new("x", FieldType::Number)]).unwrap();
        for fitting in [&cases, &grown, &cases.allow(["status", "tags"]).unwrap()] {
            assert_eq!(order.key_in(fitting), Ok(key));
        }
        let other = Catalog::new([Field::new("status", FieldType::String)]).unwrap();
        for foreign in [&other, &cases.allow(["tags"]).unwrap()] {
            assert_eq!(kind(order.key_in(foreign)), Some(ErrorKind::CatalogMismatch));
        }
        let by_new = Order::by(&grown, "x", Direction::Ascending).unwrap();
        assert_eq!(kind(by_new.key_in(&cases)), Some(ErrorKind::CatalogMismatch));
    }

    #[test]
    fn an_order_is_printed_as_it_is_parsed() {
        let cases = Catalog::cases();
        for text in ["id", "-createdAt", "caseReview.status"] {
            assert_eq!(Order::parse(&cases, text).unwrap().unwrap().to_string(), text);
        }
        assert_eq!(Order::parse(&cases, "").unwrap(), None);
        let [one, other] = ["createdAt", "-createdAt"].map(|text| Order::parse(&cases, text).unwrap());
        assert_ne!(one, other);
    }

    #[test]
    fn equal_orders_and_requests_have_equal_hashes() {
        use std::collections::HashSet;

        use crate::filter::{Filter, SearchRequest};
        let cases = Catalog::cases();
        let grown = cases.with([Field::new("x", FieldType::Number)]).unwrap();
        let orders =
            [(&cases, "createdAt"), (&grown, "createdAt"), (&cases, "-createdAt"), (&cases, "updatedAt")]
                .map(|(catalog, text)| Order::parse(catalog, text).unwrap());
        assert_eq!(orders.iter().collect::<HashSet<_>>().len(), 3);
        let requests =
            orders.map(|order| SearchRequest::new(Filter::all(&cases)).with_order(order).with_limit(20));
        assert_eq!(requests.iter().collect::<HashSet<_>>().len(), 3);
    }

    #[test]
    fn a_name_that_begins_with_a_sign_is_ordered_by_in_both_directions() {
        let names = ["x", "-x", "--x", "+x", "+-x", "++x", "-", "+"];
        let catalog = Catalog::new(names.map(|name| Field::new(name, FieldType::Number))).unwrap();
        let mut texts = std::collections::HashSet::new();
        for name in names {
            for direction in [Direction::Ascending, Direction::Descending] {
                let order = Order::by(&catalog, name, direction).unwrap();
                let text = order.to_string();
                assert_eq!(Order::parse(&catalog, &text).unwrap(), Some(order), "{text}");
                assert!(texts.insert(text));
            }
        }
        let catalog = Catalog::new([Field::new("-x", FieldType::Number)]).unwrap();
        let error = Order::parse(&catalog, "-x").unwrap_err();
        assert_eq!(error.suggestion.unwrap().replacement(), Some("+-x"));
        assert!(Order::parse(&catalog, "+-x").is_ok());
    }
}
