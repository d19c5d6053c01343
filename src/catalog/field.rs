//! [`Field`]: one field of a catalogue, with its path, type and settings.

use super::error::CatalogError;
use super::field_type::FieldType;
use super::id_type::IdType;
use super::timestamp_form::TimestampForm;

/// A filterable leaf of a document.
///
/// ```
/// use casefilter::{Field, FieldType};
/// let field = Field::new("checks[].result", FieldType::String).with_known(["pass", "fail"]);
/// assert_eq!(field.name(), "checks.result");
/// assert!(field.is_many());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    name: Box<str>,
    path: Box<str>,
    kind: FieldType,
    form: TimestampForm,
    key: bool,
    searchable: bool,
    known: Box<[Box<str>]>,
    default: Option<Box<str>>,
    aliases: Box<[Box<str>]>,
    /// The type of the id in documents. It has a meaning only for the field of the id.
    id_type: IdType,
}

impl Field {
    /// Creates a field at `path`: the keys that lead to the value, joined by dots, with `[]` after each key whose value is an
    /// array.
    ///
    /// The name of the field is the path without `[]`. The field is multi-valued if the path contains `[]`.
    #[must_use]
    pub fn new(path: &str, kind: FieldType) -> Self {
        Self {
            name: path.replace("[]", "").into(),
            path: path.into(),
            kind,
            form: TimestampForm::default(),
            key: false,
            searchable: false,
            known: Box::default(),
            default: None,
            aliases: Box::default(),
            id_type: IdType::default(),
        }
    }

    /// Creates the field of the id, which is always a key.
    pub(super) fn of_id(name: &str, id_type: IdType) -> Self {
        Self { id_type, ..Self::new(name, FieldType::String).key() }
    }

    /// Sets the known values, in their sorting order. A filter that uses any other value gets a warning. A document with any other
    /// value is stored without a warning. In ascending order, other values follow the known values, sorted by code point.
    ///
    /// Only for single-valued string fields.
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

    /// Sets the default: the value of the field in documents that do not have it.
    ///
    /// Only for single-valued string fields.
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

    /// Adds another name for this field.
    #[must_use]
    pub fn with_alias(mut self, name: &str) -> Self {
        let mut aliases = self.aliases.into_vec();
        aliases.push(name.into());
        self.aliases = aliases.into();
        self
    }

    /// Sets the form in which documents contain the timestamp.
    ///
    /// Only for timestamp fields.
    #[must_use]
    pub fn with_form(mut self, form: TimestampForm) -> Self {
        self.form = form;
        self
    }

    /// Declares that documents contain the timestamp in Unix milliseconds, as an integer or as a string that contains an integer.
    /// Criteria still use the text form.
    ///
    /// Only for timestamp fields.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter};
    /// let catalog = Catalog::new([Field::new("born", FieldType::Timestamp).unix_millis()])?;
    /// let filter = Filter::compile_text(&catalog, "born = '1970-01-01 00:00:01'")?;
    /// assert!(filter.matches(br#"{"id":"1","born":"1000"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unix_millis(self) -> Self {
        self.with_form(TimestampForm::UnixMillis)
    }

    /// Declares that the field is a key: most documents have different values, and filters test for single values.
    ///
    /// Engines keep an index from each value to its documents, which takes 8.5 bytes per document. Only for single-valued string
    /// fields.
    #[must_use]
    pub fn key(mut self) -> Self {
        self.key = true;
        self
    }

    /// Declares that filters often search parts of the values, by `includes`, `starts with` or `matches`.
    ///
    /// Engines then keep an index of substrings, in each batch with at least 1,024 different values. It takes at most 24 bytes for each value,
    /// and changes no answer. A search tests only the values that the index does not exclude: for a text of five letters, about one in 500.
    /// Texts of one or two letters are searched without the index. Only for string fields.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Field, FieldType, Filter};
    /// let catalog = Catalog::new([Field::new("owner", FieldType::String).searchable()])?;
    /// let engine = Engine::new(catalog);
    /// engine.upsert(br#"{"id": "1", "owner": "Garc\u00eda L\u00f3pez, Ana"}"#)?;
    /// assert_eq!(engine.count(&Filter::compile_text(engine.catalog(), "owner matches garcia")?)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn searchable(mut self) -> Self {
        self.searchable = true;
        self
    }

    /// Returns the name that criteria use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the other names that criteria may use.
    pub fn aliases(&self) -> impl Iterator<Item = &str> + Clone {
        self.aliases.iter().map(Box::as_ref)
    }

    /// Returns the path of the values in a document, with `[]` after each key of an array.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the type of the values.
    #[must_use]
    pub fn field_type(&self) -> FieldType {
        self.kind
    }

    /// Returns true if one document may have several values.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.path.len() != self.name.len()
    }

    /// Returns the number of arrays of objects around the values.
    pub(crate) fn levels(&self) -> usize {
        let around = self.path.rsplit_once('.').map_or("", |(around, _)| around);
        around.split('.').filter(|segment| segment.ends_with("[]")).count()
    }

    /// Returns the field for a position at which it is not the id, even if it was the id of another catalogue.
    pub(super) fn without_id_type(self) -> Self {
        Self { id_type: IdType::String, ..self }
    }

    /// Returns the type that the id has in documents. It has a meaning only for the field of the id.
    pub(crate) fn id_type(&self) -> IdType {
        self.id_type
    }

    /// Returns the form in which documents contain the timestamp. It has no meaning for fields of other types.
    #[must_use]
    pub fn form(&self) -> TimestampForm {
        self.form
    }

    /// Returns true if documents contain the timestamp in Unix milliseconds.
    #[must_use]
    pub fn is_unix_millis(&self) -> bool {
        self.form == TimestampForm::UnixMillis
    }

    /// Returns true if engines keep an index from each value to its documents.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.key
    }

    /// Returns true if the field was declared [searchable](Self::searchable).
    #[must_use]
    pub fn is_searchable(&self) -> bool {
        self.searchable
    }

    /// Returns the known values in their sorting order. Empty if no known values were declared.
    pub fn known_values(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.known.iter().map(Box::as_ref)
    }

    /// Returns the index of a value among the known values, or `None` if it is not a known value.
    #[must_use]
    pub fn known_rank(&self, value: &str) -> Option<usize> {
        self.known.iter().position(|known| **known == *value)
    }

    /// Returns the default: the value of the field in documents that do not contain the field.
    #[must_use]
    pub fn default_value(&self) -> Option<&str> {
        self.default.as_deref()
    }

    pub(super) fn validate(&self) -> Result<(), CatalogError> {
        const PLAIN: &str = "single-valued string fields";
        let of_form = if self.is_unix_millis() { "unix_millis" } else { "with_form" };
        let is_plain = self.kind == FieldType::String && !self.is_many();
        let settings = [
            ("with_known", !self.known.is_empty(), is_plain, PLAIN),
            ("with_default", self.default.is_some(), is_plain, PLAIN),
            ("key", self.key, is_plain, PLAIN),
            ("searchable", self.searchable, self.kind == FieldType::String, "string fields"),
            (
                of_form,
                self.form != TimestampForm::default(),
                self.kind == FieldType::Timestamp,
                "timestamp fields",
            ),
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
