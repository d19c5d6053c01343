//! The type [`Document`]: a document that is parsed once, and then tested by many filters.

use std::fmt;

use super::bytes::utf8;
use super::compiled::Filter;
use super::elements::passes;
use super::patterns::Patterns;
use super::program::Program;
use crate::batch::{OwnedRow, Row};
use crate::catalog::{Catalog, FieldId};
#[cfg(feature = "serde")]
use crate::error::ErrorKind;
use crate::error::{Error, Errors};
use crate::ingest;
use crate::limits::Limits;
use crate::predicate::{Leaf, Node};
use crate::value::Value;

/// A document that is parsed once, to test many filters on it.
///
/// [`Filter::matches`] parses the document in each call, which takes nearly all of its time. To test many filters on one document,
/// parse the document once and call [`Filter::selects`]. No engine is needed.
/// [`Engine::upsert_document`](crate::Engine::upsert_document) stores the document without parsing it again.
///
/// ```
/// use casefilter::{Catalog, Document, Filter};
/// let cases = Catalog::cases();
/// let saved = ["status = open", "tags = vip and priority = high", "name matches garcia"]
///     .map(|text| Filter::compile_text(&cases, text).unwrap());
/// let document = Document::parse(&cases, br#"{"id":"1","name":"Garc\u00eda","caseReview":{"status":"open"}}"#)?;
/// let selecting = saved.iter().map(|filter| filter.selects(&document)).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(selecting, [true, false, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With the feature `serde`, `Document::of` creates a document from any value that can be serialised. Examples are a struct of the
/// host and a `serde_json::Value`.
#[derive(Clone)]
pub struct Document {
    catalog: Catalog,
    row: OwnedRow,
    /// The JSON of the document, if it is known.
    text: Option<Box<str>>,
}

impl Document {
    /// Parses a document in JSON under the default [`Limits`].
    ///
    /// # Errors
    /// Returns the errors of a strict import of the document: at most ten, in document order.
    pub fn parse(catalog: &Catalog, json: &[u8]) -> Result<Self, Errors> {
        Self::parse_within(catalog, json, &Limits::default())
    }

    /// Parses a document in JSON under the given [`Limits`].
    ///
    /// # Errors
    /// Returns the same errors as [`parse`](Self::parse).
    pub fn parse_within(catalog: &Catalog, json: &[u8], limits: &Limits) -> Result<Self, Errors> {
        let (document, rejected) = Self::parse_lenient(catalog, json, limits)?;
        Errors::from_unsorted(rejected).map_or(Ok(document), Err)
    }

    /// Parses a document in JSON in the same way as [`ImportMode::Lenient`](crate::ImportMode::Lenient): a rejected field value
    /// counts as absent. Returns the document, and the errors of at most ten rejected values, in no particular order.
    ///
    /// Use this method for the texts of documents that a lenient import has stored.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Limits};
    /// let json = br#"{"id":"a","priority":"high","createdAt":"yesterday"}"#;
    /// let (document, rejected) = Document::parse_lenient(&Catalog::cases(), json, &Limits::default())?;
    /// assert_eq!((document.id(), rejected[0].path.as_str()), ("a", "createdAt"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the document is not JSON, has no valid id, or exceeds the limits.
    pub fn parse_lenient(
        catalog: &Catalog,
        json: &[u8],
        limits: &Limits,
    ) -> Result<(Self, Vec<Error>), Errors> {
        let text = utf8(json)?;
        let mut row = Row::default();
        ingest::read_case(text, catalog, limits, &mut row)?;
        let rejected = row.take_faults();
        let document = Self {
            catalog: catalog.clone(),
            row: OwnedRow::of(&row, catalog.fields().len()),
            // Cannot fail: UTF-8 without the white space around it is UTF-8.
            text: std::str::from_utf8(ingest::trim(json)).ok().map(Into::into),
        };
        Ok((document, rejected))
    }

    /// Creates a document from a value, such as a struct, a map or a `serde_json::Value`, without printing JSON first. Applies
    /// the default [`Limits`].
    ///
    /// The result is the same as for the JSON that `serde_json` would print: `null` for `None`, the names of variants for enums,
    /// and objects for maps with keys that are strings, numbers or characters.
    ///
    /// To read a text, use [`parse`](Self::parse), not a `serde_json::Value` of the text. In such a value, decimals and large
    /// numbers are already rounded to doubles, and only the last of two equal keys remains.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Field, FieldType, Filter};
    /// #[derive(serde::Serialize)]
    /// struct Ticket<'t> {
    ///     id: &'t str,
    ///     labels: Vec<&'t str>,
    ///     amount: Option<f64>,
    /// }
    /// let tickets = Catalog::new([
    ///     Field::new("labels[]", FieldType::String),
    ///     Field::new("amount", FieldType::Number),
    /// ])?;
    /// let ticket = Ticket { id: "1", labels: vec!["printer", "urgent"], amount: None };
    /// let document = Document::of(&tickets, &ticket)?;
    /// assert!(Filter::compile_text(&tickets, "labels = urgent and amount is absent")?.selects(&document)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of a strict import of that JSON, at most ten. Their offsets are 0. If the implementation of `Serialize`
    /// fails, returns an error of kind [`BadValue`](crate::ErrorKind::BadValue) with the message of that implementation.
    #[cfg(feature = "serde")]
    pub fn of<T: serde::Serialize + ?Sized>(catalog: &Catalog, value: &T) -> Result<Self, Errors> {
        let row = ingest::read_serialized(value, catalog, &Limits::default())?;
        Ok(Self { catalog: catalog.clone(), row, text: None })
    }

    /// Creates a document from a value like [`of`](Self::of), and keeps its JSON, so that an engine can
    /// [store](crate::Engine::upsert_document) the document.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// let document = Document::of_with_text(engine.catalog(), &serde_json::json!({"id": "a", "tags": ["vip"]}))?;
    /// if Filter::compile_text(engine.catalog(), "tags = vip")?.selects(&document)? {
    ///     engine.upsert_document(&document)?;
    /// }
    /// assert_eq!(engine.get("a").as_deref(), document.text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`of`](Self::of).
    #[cfg(feature = "serde")]
    pub fn of_with_text<T: serde::Serialize + ?Sized>(catalog: &Catalog, value: &T) -> Result<Self, Errors> {
        let document = Self::of(catalog, value)?;
        let text = serde_json::to_string(value).map_err(|error| {
            Error::new(ErrorKind::BadValue, 0, error.to_string(), "a value that can be serialised as JSON")
        })?;
        Ok(Self { text: Some(text.into()), ..document })
    }

    /// Returns the catalogue that the document was parsed for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the `id`.
    ///
    /// ```
    /// use casefilter::{Catalog, Document};
    /// assert_eq!(Document::parse(&Catalog::cases(), br#"{"id":"a"}"#)?.id(), "a");
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> &str {
        self.row.id()
    }

    /// Returns the JSON of the document, without whitespace around it. Returns `None` if the document was created from a
    /// [value](Self#method.of), unless its text was kept.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(crate) fn row(&self) -> &OwnedRow {
        &self.row
    }

    /// Returns the values of a field in document order, or the default value of the field. Returns no values for a field of another
    /// catalogue.
    ///
    /// ```
    /// use casefilter::{Catalog, Document};
    /// let cases = Catalog::cases();
    /// let document = Document::parse(&cases, br#"{"id":"1","tags":["vip","cash"]}"#)?;
    /// let tags: Vec<String> = document.values(cases.find("tags").unwrap()).map(|tag| tag.to_string()).collect();
    /// assert_eq!(tags, ["vip", "cash"]);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    pub fn values(&self, field: FieldId) -> impl Iterator<Item = Value<'_>> + Clone {
        self.row.values(field)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for id in self.catalog.field_ids() {
            let values: Vec<String> = self.values(id).map(|value| value.to_string()).collect();
            if !values.is_empty() {
                map.entry(&self.catalog.field(id).name(), &values);
            }
        }
        map.finish()
    }
}

impl Filter {
    /// Returns true if the filter selects the document. See [`Document`] for an example.
    ///
    /// The first call compiles the filter to steps, which the filter keeps. Each test of a field becomes a step of 64 bytes.
    ///
    /// # Errors
    /// Returns an error of kind [`CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of the filter is not
    /// [within](Catalog::is_within) the catalogue of the document.
    #[inline]
    pub fn selects(&self, document: &Document) -> Result<bool, Error> {
        self.catalog().check_within(&document.catalog, "document")?;
        let row = &document.row;
        let passes = |leaf: &Leaf| passes(leaf, row, &document.catalog, &Patterns::NONE);
        Ok(match self.program() {
            Some(program) => program.selects(
                row,
                |node| matches!(self.predicate().get(node as usize), Some(Node::Leaf(leaf)) if passes(leaf)),
            ),
            None => self.predicate().decides(passes),
        })
    }
}

impl Filter {
    /// Returns the program of the filter, which the first call compiles. Returns `None` if the program would be too large.
    #[inline]
    pub(super) fn program(&self) -> Option<&Program> {
        self.inner.program.get_or_init(|| Program::new(self.predicate())).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Field, FieldType};
    #[cfg(not(feature = "serde"))]
    use crate::error::ErrorKind;

    const DOCUMENTS: [&str; 5] = [
        r#"{"id":"1"}"#,
        r#"{"id":"2","tags":["vip","cash","vip"],"totalAmountInDefaultCurrency":10,"priority":"high"}"#,
        r#"{"id":"3","caseReview":{"checklistState":{"checklist":[{"name":"a","checked":true},{"name":"b"},null]}}}"#,
        r#"{"id":"4","createdAt":"2024-02-29 00:00:00+0100","applicantInfo":{"dob":"86400000"}}"#,
        r#"{"id":"5","name":"García","tags":[],"applicantInfo":null}"#,
    ];

    #[test]
    fn a_parsed_document_is_selected_as_its_text_is() {
        let cases = Catalog::cases();
        let filters = [
            "true",
            "false",
            "id = 2",
            "tags all (cash, vip)",
            "not tags all (cash, vip)",
            "tags <> vip and priority = medium",
            "totalAmountInDefaultCurrency > 9 or caseReview.checklistState.checklist.checked = true",
            "createdAt < '2024-02-29 00:00:00' or applicantInfo.dob >= '1970-01-02 00:00:00'",
            "name matches GARCIA and (tags is absent or id in (1, 2))",
            "(id = 1 or id = 2) and (priority = high or priority = medium) and not (id = 3)",
        ]
        .map(|text| Filter::compile_text(&cases, text).unwrap());
        for text in DOCUMENTS {
            let document = Document::parse(&cases, text.as_bytes()).unwrap();
            for filter in &filters {
                let expected = filter.matches(text.as_bytes());
                assert_eq!(filter.selects(&document), expected, "{filter} {text}");
                assert_eq!(filter.unoptimized().selects(&document), expected, "{filter} {text}");
            }
        }
    }

    #[test]
    fn all_errors_of_a_document_are_returned() {
        let errors = Document::parse(&Catalog::cases(), br#"{"id":"1","tags":"vip","name":1}"#).unwrap_err();
        let paths: Vec<&str> = errors.as_slice().iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["tags", "name"]);
        assert!(Document::parse(&Catalog::cases(), b"{}").is_err());
        assert!(Document::parse(&Catalog::cases(), b"\xff").is_err());
    }

    #[test]
    fn a_filter_of_another_catalogue_is_an_error() {
        let other = Catalog::new([Field::new("x", FieldType::String)]).unwrap();
        let filter = Filter::compile_text(&other, "x = a").unwrap();
        let document = Document::parse(&Catalog::cases(), br#"{"id":"1"}"#).unwrap();
        assert_eq!(filter.selects(&document).unwrap_err().kind, ErrorKind::CatalogMismatch);
        let narrow = Catalog::cases().allow(["tags"]).unwrap();
        assert_eq!(Filter::compile_text(&narrow, "tags = a").unwrap().selects(&document), Ok(false));
    }
}
