//! One field of a catalogue.

use super::error::CatalogError;

use super::field_type::FieldType;

/// A filterable leaf of a document.
///
/// ```
/// use casefilter::{Field, FieldType};
/// let field = Field::new("checks[].result", FieldType::String).with_known(["pass", "fail"]);
/// assert_eq!(field.name(), "checks.result");
/// assert!(field.is_many());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: Box<str>,
    path: Box<str>,
    kind: FieldType,
    unix_millis: bool,
    key: bool,
    known: Box<[Box<str>]>,
    default: Option<Box<str>>,
    aliases: Box<[Box<str>]>,
}

impl Field {
    /// A field at `path`: keys joined by dots, `[]` behind each key that holds an array.
    ///
    /// Its name is the path without the `[]`; it has many values when there is a `[]`.
    #[must_use]
    pub fn new(path: &str, kind: FieldType) -> Self {
        Self {
            name: path.replace("[]", "").into(),
            path: path.into(),
            kind,
            unix_millis: false,
            key: false,
            known: Box::default(),
            default: None,
            aliases: Box::default(),
        }
    }

    /// Values known to occur, in the order in which they sort. Others are allowed, with a warning.
    ///
    /// For string fields with one value.
    ///
    /// ```
    /// use casefilter::{Field, FieldType};
    /// let field = Field::new("level", FieldType::String).with_known(["low", "high"]);
    /// assert_eq!(field.known_rank("high"), Some(1));
    /// ```
    #[must_use]
    pub fn with_known<'v>(mut self, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.known = values.into_iter().map(Box::from).collect();
        self
    }

    /// The value that a document without this field counts as having.
    ///
    /// For string fields with one value.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter};
    /// let catalog = Catalog::new([Field::new("level", FieldType::String).with_default("low")])?;
    /// assert!(Filter::compile_text(&catalog, "level = low")?.matches(br#"{"id":"1"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_default(mut self, value: &str) -> Self {
        self.default = Some(value.into());
        self
    }

    /// One more name for this field.
    #[must_use]
    pub fn with_alias(mut self, name: &str) -> Self {
        let mut aliases = self.aliases.into_vec();
        aliases.push(name.into());
        self.aliases = aliases.into();
        self
    }

    /// In documents the timestamp is Unix milliseconds, as an integer or in a string. Criteria keep the text form.
    ///
    /// For timestamp fields.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter};
    /// let catalog = Catalog::new([Field::new("born", FieldType::Timestamp).unix_millis()])?;
    /// let filter = Filter::compile_text(&catalog, "born = '1970-01-01 00:00:01'")?;
    /// assert!(filter.matches(br#"{"id":"1","born":"1000"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unix_millis(mut self) -> Self {
        self.unix_millis = true;
        self
    }

    /// The values are nearly as many as the documents, and are asked for one by one.
    ///
    /// Engines keep an index from each value to its documents, at 8.5 bytes a document. For string fields with one value.
    #[must_use]
    pub fn key(mut self) -> Self {
        self.key = true;
        self
    }

    /// The name that criteria use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Other names that criteria may use.
    pub fn aliases(&self) -> impl Iterator<Item = &str> + Clone {
        self.aliases.iter().map(Box::as_ref)
    }

    /// Where the values lie in a document, `[]` behind each key that holds an array.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The type of the values.
    #[must_use]
    pub fn field_type(&self) -> FieldType {
        self.kind
    }

    /// True when one document may have several values.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.path.len() != self.name.len()
    }

    /// True when documents hold the timestamp as Unix milliseconds.
    #[must_use]
    pub fn is_unix_millis(&self) -> bool {
        self.unix_millis
    }

    /// True when engines keep an index from each value to its documents.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.key
    }

    /// The known values, in sorting order; empty when any value is as good as another.
    pub fn known_values(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.known.iter().map(Box::as_ref)
    }

    /// The place of a value among the known ones.
    #[must_use]
    pub fn known_rank(&self, value: &str) -> Option<usize> {
        self.known.iter().position(|known| **known == *value)
    }

    /// The value that counts where the field is absent.
    #[must_use]
    pub fn default_value(&self) -> Option<&str> {
        self.default.as_deref()
    }

    pub(super) fn validate(&self) -> Result<(), CatalogError> {
        const PLAIN: &str = "string fields with one value";
        let is_plain = self.kind == FieldType::String && !self.is_many();
        let settings = [
            ("with_known", !self.known.is_empty(), is_plain, PLAIN),
            ("with_default", self.default.is_some(), is_plain, PLAIN),
            ("key", self.key, is_plain, PLAIN),
            ("unix_millis", self.unix_millis, self.kind == FieldType::Timestamp, "timestamp fields"),
        ];
        match settings.into_iter().find(|(_, is_set, fits, _)| *is_set && !fits) {
            None => Ok(()),
            Some((setting, _, _, expected)) => Err(CatalogError::NotForType {
                field: self.name.to_string(),
                setting,
                expected,
                kind: self.kind,
                is_many: self.is_many(),
            }),
        }
    }
}
