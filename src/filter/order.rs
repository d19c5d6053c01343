//! The order of the documents in the answer to a search: parses an [`Order`], checks its fields against a catalogue, and prints it.
//!
//! Execution sorts by `SortKeys`. `position` defines the values of one document in the sort fields, which a cursor contains.

mod position;

use std::fmt;
use std::hash::{Hash, Hasher};

use smallvec::{SmallVec, smallvec};

pub(crate) use self::position::{Position, SortValue, SortValues};
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

/// The order of the documents in an answer: by one to eight single-valued fields, each ascending or descending. Documents with
/// equal values in all of them are in ascending order of `id`.
///
/// Documents without a field come after the documents that have it, in both directions. An order belongs to a [`Catalog`]. A search
/// returns an error if its filter has a different catalogue, or a catalogue that hides a sort field; see
/// [`SearchRequest`](crate::SearchRequest).
///
/// ```
/// use casefilter::{Catalog, Direction, Order};
/// let cases = Catalog::cases();
/// let newest = Order::by(&cases, "createdAt", Direction::Descending)?;
/// assert_eq!(newest.to_string(), "-createdAt");
/// let urgent = Order::by(&cases, "priority", Direction::Descending)?.then_by("createdAt", Direction::Descending)?;
/// assert_eq!(urgent.to_string(), "-priority,-createdAt");
/// # Ok::<(), casefilter::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Order {
    catalog: Catalog,
    /// The sort keys: one to [`Order::MAX_FIELDS`], with different fields.
    keys: SortKeys,
}

/// A field and a direction of an [`Order`] that was checked against a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SortKey {
    pub(crate) field: FieldId,
    pub(crate) descending: bool,
}

/// The sort keys of a search, the most significant first. Without keys, the order is the insertion order.
pub(crate) type SortKeys = SmallVec<[SortKey; 2]>;

impl Order {
    /// The maximum number of fields of an order.
    pub const MAX_FIELDS: usize = 8;

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
        let key = sort_key(catalog, name, direction, 0)?;
        Ok(Self { catalog: catalog.clone(), keys: smallvec![key] })
    }

    /// Adds a field, which decides between documents with equal values in all fields before it.
    ///
    /// ```
    /// use casefilter::{Catalog, Direction, ErrorKind, Order};
    /// let order = Order::by(&Catalog::cases(), "status", Direction::Ascending)?;
    /// let error = order.then_by("caseReview.status", Direction::Descending).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::DuplicateSortField);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error in these cases:
    ///
    /// - The name is not in the catalogue, or the field is multi-valued.
    /// - The order already has the field ([`ErrorKind::DuplicateSortField`]), or already has eight fields
    ///   ([`ErrorKind::TooManySortFields`]).
    /// - [`parse`](Self::parse) would read the printed order as other fields ([`ErrorKind::BadValue`]). This is possible only in a
    ///   catalogue in which the name of a field contains a comma.
    pub fn then_by(mut self, name: &str, direction: Direction) -> Result<Self, Error> {
        let catalog = self.catalog.clone();
        let key = sort_key(&catalog, name, direction, 0)?;
        add(&catalog, &mut self.keys, key, name, 0)?;
        if catalog.names().any(|name| name.contains(',')) {
            let text = self.to_string();
            if Self::parse_list(&catalog, &text).ok().flatten().as_ref() != Some(&self) {
                let found = format!("an order whose text, {}, means other fields", quote(&text));
                let expected = "fields whose names, joined by commas, are not the name of another field";
                return Err(Error::new(ErrorKind::BadValue, 0, found, expected).at("order"));
            }
        }
        Ok(self)
    }

    /// Parses an `order` parameter: the name of a single-valued field, with the prefix `-` for descending order. In an
    /// [extended](Catalog::extended) catalogue, it can be a list of fields, as in [`parse_list`](Self::parse_list).
    ///
    /// Returns `None` for an empty text. If the name itself begins with `-`, `+-` or `++`, ascending order needs the prefix `+`.
    /// Without this prefix, the first character of the name would be read as the direction.
    ///
    /// ```
    /// use casefilter::{Catalog, Direction, Field, FieldType, Order};
    /// let order = Order::parse(&Catalog::cases(), "-createdAt")?.unwrap();
    /// assert_eq!(order.direction(), Direction::Descending);
    /// assert!(Order::parse(&Catalog::cases(), "tags").is_err());
    /// assert!(Order::parse(&Catalog::cases(), "priority,-createdAt").is_err());
    /// assert!(Order::parse(&Catalog::cases().extended(), "priority,-createdAt").is_ok());
    ///
    /// let catalog = Catalog::new([Field::new("-delta", FieldType::Number)])?;
    /// assert_eq!(Order::parse(&catalog, "+-delta")?, Some(Order::by(&catalog, "-delta", Direction::Ascending)?));
    /// assert_eq!(Order::parse(&catalog, "--delta")?, Some(Order::by(&catalog, "-delta", Direction::Descending)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a name is not in the catalogue, if a field is multi-valued, or if a field occurs twice.
    pub fn parse(catalog: &Catalog, text: &str) -> Result<Option<Self>, Error> {
        if catalog.is_extended() {
            return Self::parse_list(catalog, text);
        }
        if let Some(error) = other_form(catalog, text, 0) {
            return Err(error);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let key = parse_key(catalog, text, 0)?;
        Ok(Some(Self { catalog: catalog.clone(), keys: smallvec![key] }))
    }

    /// Parses a list of one to eight fields, joined by commas, each with its own direction. Accepts the list for every catalogue,
    /// even for one that is not [extended](Catalog::extended).
    ///
    /// Returns `None` for an empty text. If the name of a field contains a comma, the longest name that fits is read.
    ///
    /// ```
    /// use casefilter::{Catalog, Direction, Order};
    /// let order = Order::parse_list(&Catalog::cases(), "status,-createdAt")?.unwrap();
    /// let keys: Vec<_> = order.keys().map(|(field, direction)| (field.name(), direction)).collect();
    /// assert_eq!(keys, [("caseReview.status", Direction::Ascending), ("createdAt", Direction::Descending)]);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a name is not in the catalogue, or if a field is multi-valued or occurs twice. At most eight fields are
    /// allowed. [`Error::offset`] is the position of the field in the text.
    pub fn parse_list(catalog: &Catalog, text: &str) -> Result<Option<Self>, Error> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut keys = SortKeys::new();
        let mut rest = Some(text);
        while let Some(own) = rest {
            let offset = text.len().saturating_sub(own.len());
            let (part, behind) = first_part(catalog, own);
            if let Some(error) = other_form(catalog, part, offset) {
                return Err(error);
            }
            if part.is_empty() {
                let error = Error::new(ErrorKind::UnknownField, offset, "no name", "the name of a field");
                return Err(error.at("order"));
            }
            let key = parse_key(catalog, part, offset)?;
            add(catalog, &mut keys, key, part, offset)?;
            rest = behind;
        }
        Ok(Some(Self { catalog: catalog.clone(), keys }))
    }

    /// Returns the fields and their directions, the most significant first. There is at least one field.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (&Field, Direction)> + Clone {
        self.keys.iter().map(|key| (self.catalog.field(key.field), key.direction()))
    }

    /// Returns the first field.
    #[must_use]
    pub fn field(&self) -> &Field {
        self.catalog.field(self.first().field)
    }

    /// Returns the direction of the first field.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.first().direction()
    }

    fn first(&self) -> SortKey {
        let none = SortKey { field: FieldId::ID, descending: false };
        self.keys.first().copied().unwrap_or(none)
    }

    /// Returns the catalogue that the order was created for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Checks the order against `catalog` and returns its sort keys.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`] if `catalog` has other fields, or hides a field of this order.
    pub(crate) fn keys_in(&self, catalog: &Catalog) -> Result<SortKeys, Error> {
        let name = |key: &SortKey| quote(self.catalog.field(key.field).name());
        let mismatch = |found: String, expected: String| {
            Err(Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("order"))
        };
        if !self.catalog.is_akin(catalog) {
            return mismatch(
                format!("an order by {} of another catalogue", name(&self.first())),
                "an order for the catalogue of the filter".to_owned(),
            );
        }
        if let Some(hidden) = self.keys.iter().find(|key| !catalog.is_visible(key.field)) {
            return mismatch(
                format!(
                    "an order by {}, which the catalogue of the filter hides or does not contain",
                    name(hidden)
                ),
                "a field of that catalogue, or a filter joined by `Filter::and` with one that shows the field"
                    .to_owned(),
            );
        }
        Ok(self.keys.clone())
    }
}

impl SortKey {
    fn direction(self) -> Direction {
        if self.descending { Direction::Descending } else { Direction::Ascending }
    }
}

/// Returns the sort key of the field with this name.
fn sort_key(catalog: &Catalog, name: &str, direction: Direction, offset: usize) -> Result<SortKey, Error> {
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
    Ok(SortKey { field, descending: direction == Direction::Descending })
}

/// Parses a field with its sign. `offset` is the position of `text` in the whole order.
fn parse_key(catalog: &Catalog, text: &str, offset: usize) -> Result<SortKey, Error> {
    let (direction, name) = signed(text);
    let sign = text.len().saturating_sub(name.len());
    sort_key(catalog, name, direction, offset.saturating_add(sign)).map_err(|error| {
        // The client may have meant the minus sign as a part of the name.
        let is_name = direction == Direction::Descending && catalog.find(text).is_some();
        if is_name { error.suggest(Some(quote(&format!("+{text}")))) } else { error }
    })
}

/// Adds a key to the keys of an order. `text` and `offset` are its text and position in the whole order.
fn add(catalog: &Catalog, keys: &mut SortKeys, key: SortKey, text: &str, offset: usize) -> Result<(), Error> {
    let error =
        |kind, found: String, expected: String| Err(Error::new(kind, offset, found, expected).at("order"));
    if keys.len() >= Order::MAX_FIELDS {
        return error(
            ErrorKind::TooManySortFields,
            format!("one more field, {}", quote(text)),
            format!("at most {} fields", Order::MAX_FIELDS),
        );
    }
    if keys.iter().any(|own| own.field == key.field) {
        let name = quote(catalog.field(key.field).name());
        return error(
            ErrorKind::DuplicateSortField,
            format!("{}, which orders by {name} again", quote(text)),
            "each field at most once".to_owned(),
        );
    }
    keys.push(key);
    Ok(())
}

/// Splits the text of a list at the comma after its first field. Returns the text of this field, and the text after the comma.
///
/// Names can contain commas. The first field is the longest start of the text that names a field and ends before a comma or at the
/// end. If there is no such start, the first field is the text before the first comma.
fn first_part<'t>(catalog: &Catalog, text: &'t str) -> (&'t str, Option<&'t str>) {
    if !text.contains(',') {
        return (text, None);
    }
    // No name has more than `most` commas, so parts with more commas are not looked up.
    let commas = |text: &str| text.bytes().filter(|byte| *byte == b',').count();
    let most = catalog.names().map(commas).max().unwrap_or(0);
    let ends = text.match_indices(',').map(|(at, _)| at).chain(std::iter::once(text.len()));
    let split = |at: usize| {
        let (part, behind) = text.split_at_checked(at).unwrap_or((text, ""));
        (part, behind.strip_prefix(','))
    };
    let named = ends.take(most.saturating_add(1)).map(split).filter(|(part, _)| {
        let (_, name) = signed(part);
        catalog.find(name).is_some()
    });
    named.last().unwrap_or_else(|| split(text.find(',').unwrap_or(text.len())))
}

/// Compares the fields and the directions.
impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys && self.keys().eq(other.keys())
    }
}

impl Eq for Order {}

impl Hash for Order {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.keys.hash(state);
        self.keys().for_each(|(field, _)| field.name().hash(state));
    }
}

impl fmt::Display for Order {
    /// Prints the text that [`Order::parse_list`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (field, direction)) in self.keys().enumerate() {
            let name = field.name();
            let comma = if at > 0 { "," } else { "" };
            let sign = match direction {
                Direction::Descending => "-",
                Direction::Ascending if signed(name) != (Direction::Ascending, name) => "+",
                Direction::Ascending => "",
            };
            write!(f, "{comma}{sign}{name}")?;
        }
        Ok(())
    }
}

/// Splits the text of an order into its direction and the name of its field.
///
/// A `+` is a sign only before another sign. So `+x` is the field `+x`, and `+-x` is the field `-x` in ascending order.
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
/// `+createdAt`, or several fields. Returns `None` for any other text. `offset` is the position of `text` in the whole order.
fn other_form(catalog: &Catalog, text: &str, offset: usize) -> Option<Error> {
    let (_, own) = signed(text);
    // If the text names a field, it is a valid order, or `Order::parse` suggests the correct sign.
    if catalog.find(own).or_else(|| catalog.find(text)).is_some() {
        return None;
    }
    let error =
        |expected: &str| Error::new(ErrorKind::UnknownField, offset, quote(text), expected).at("order");
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

    fn kind(result: Result<SortKeys, Error>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind)
    }

    #[test]
    fn an_order_fits_catalogues_that_show_its_field() {
        let cases = Catalog::cases();
        let order = Order::by(&cases, "status", Direction::Descending).unwrap();
        let key: SortKeys = smallvec![SortKey { field: cases.find("status").unwrap(), descending: true }];
        let grown = cases.with([Field::new("x", FieldType::Number)]).unwrap();
        for fitting in [&cases, &grown, &cases.allow(["status", "tags"]).unwrap()] {
            assert_eq!(order.keys_in(fitting), Ok(key.clone()));
        }
        let other = Catalog::new([Field::new("status", FieldType::String)]).unwrap();
        for foreign in [&other, &cases.allow(["tags"]).unwrap()] {
            assert_eq!(kind(order.keys_in(foreign)), Some(ErrorKind::CatalogMismatch));
        }
        let by_new = Order::by(&grown, "x", Direction::Ascending).unwrap();
        assert_eq!(kind(by_new.keys_in(&cases)), Some(ErrorKind::CatalogMismatch));
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
