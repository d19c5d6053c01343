//! [`Field`]: one field of a catalogue, with its path, type and settings.

use std::collections::HashSet;

use super::error::CatalogError;
use super::grammar::Grammar;
use super::timestamp_form::TimestampForm;
use crate::value::IdType;
use crate::value::{FieldType, MAX_SCALE, Value};

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
    /// The type of the id in documents. This type has a meaning only for the field of the id.
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

    /// Sets the known values, in the form that criteria use. A filter that tests for any other value gets a warning. A document
    /// with any other value is stored without a warning.
    ///
    /// The known values of a string field have an order: list them from the lowest to the highest. Documents are sorted by this
    /// order. If the sort order is ascending, all other strings come after the known values, and are sorted by code point. Values
    /// of other types have their own order.
    ///
    /// On string fields, the operators `>`, `>=`, `<` and `<=` are [extended](crate::Catalog::extended). They compare by the order
    /// of the known values, and never select a string that is not a known value.
    ///
    /// ```
    /// use casefilter::{Field, FieldType};
    /// let field = Field::new("level", FieldType::String).with_known(["low", "high"]);
    /// assert_eq!(field.known_rank("high"), Some(1));
    /// let rate = Field::new("rate", FieldType::Number).with_known(["0", "7", "1.9e1"]);
    /// assert_eq!(rate.known_values().collect::<Vec<_>>(), ["0", "7", "19"]);
    /// ```
    #[must_use]
    pub fn with_known<'v>(mut self, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.known = values.into_iter().map(|value| self.canonical(value)).collect();
        self
    }

    /// Sets the default: the value of the field in documents without a value. It has the form that criteria use. For a multi-valued
    /// field, it is the only value of such documents.
    ///
    /// The default of a field with [known values](Self::with_known) is one of them. Fields below an array of objects have no
    /// default.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter};
    /// let catalog = Catalog::new([Field::new("level", FieldType::String).with_default("low")])?;
    /// assert!(Filter::compile_text(&catalog, "level = low")?.matches(br#"{"id":"1"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_default(mut self, value: &str) -> Self {
        self.default = Some(self.canonical(value));
        self
    }

    /// Returns the form in which a value of this field is printed. Returns a malformed value unchanged.
    fn canonical(&self, value: &str) -> Box<str> {
        match Value::parse(self.kind, value) {
            Some(Value::String(_)) | None => value.into(),
            Some(parsed) => parsed.to_string().into(),
        }
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
    /// Engines then keep an index of substrings, in each batch with at least 1,024 different values. It takes at most 24 bytes for
    /// each value, and changes no answer. A search tests only the values that the index does not exclude: for a text of five
    /// letters, about one in 500. Texts of one or two letters are searched without the index. Only for string fields.
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

    /// Returns true if one document can have several values.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.path.len() != self.name.len()
    }

    /// Returns the number of arrays of objects around the values.
    pub(crate) fn levels(&self) -> usize {
        let around = self.path.rsplit_once('.').map_or("", |(around, _)| around);
        around.split('.').filter(|segment| segment.ends_with("[]")).count()
    }

    /// Returns the field without its id type, as an ordinary field of a new catalogue. The field possibly comes from another
    /// catalogue, in which it is the id.
    pub(super) fn without_id_type(self) -> Self {
        Self { id_type: IdType::String, ..self }
    }

    /// Returns the type that the id has in documents. This type has a meaning only for the field of the id.
    pub(crate) fn id_type(&self) -> IdType {
        self.id_type
    }

    /// Returns the form in which documents contain the timestamp. This form has no meaning for fields of other types.
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

    /// Returns the known values in their order. Empty if no known values were declared.
    pub fn known_values(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.known.iter().map(Box::as_ref)
    }

    /// Returns the index of `value` among the known values. `value` must have the form of [`known_values`](Self::known_values).
    /// Returns `None` if it is not a known value.
    #[must_use]
    pub fn known_rank(&self, value: &str) -> Option<usize> {
        self.known.iter().position(|known| **known == *value)
    }

    /// Returns true if order comparisons such as `>=` compare the values by their [rank](Self::known_rank). This is true for a
    /// string field with known values, if `grammar` allows the extended operators.
    pub(crate) fn is_ranked(&self, grammar: Grammar) -> bool {
        grammar.allows(true) && self.kind == FieldType::String && !self.known.is_empty()
    }

    /// Returns the default as a value. Returns `None` for a field without a default.
    pub(crate) fn default_as_value(&self) -> Option<Value<'_>> {
        Value::parse(self.kind, self.default.as_deref()?)
    }

    /// Returns true if the value is a known value.
    pub(crate) fn is_known(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) => self.known_rank(text).is_some(),
            other => self.known_rank(&other.to_string()).is_some(),
        }
    }

    /// Returns the default: the value of the field in documents that do not contain the field, in the form that criteria use.
    #[must_use]
    pub fn default_value(&self) -> Option<&str> {
        self.default.as_deref()
    }

    pub(super) fn validate(&self) -> Result<(), CatalogError> {
        if let FieldType::Decimal { scale } = self.kind
            && scale > MAX_SCALE
        {
            return Err(CatalogError::BadScale { field: self.name.to_string(), scale });
        }
        const PLAIN: &str = "single-valued string fields";
        let of_form = if self.is_unix_millis() { "unix_millis" } else { "with_form" };
        let is_plain = self.kind == FieldType::String && !self.is_many();
        let settings = [
            ("with_default", self.default.is_some(), self.levels() == 0, "fields outside arrays of objects"),
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
            None => self.check_values(),
            Some((setting, _, _, expected)) => Err(CatalogError::NotForType {
                field: self.name.to_string(),
                setting,
                expected,
                kind: self.kind,
                is_many: self.is_many(),
            }),
        }
    }

    /// Checks that the known values and the default are values of the field's type, and that no known value is repeated. If there
    /// are known values, checks that the default is one of them.
    fn check_values(&self) -> Result<(), CatalogError> {
        let error = |setting, value: &str, expected: String| CatalogError::BadSetting {
            field: self.name.to_string(),
            setting,
            value: value.to_owned(),
            expected,
        };
        let mut seen = HashSet::new();
        for value in &self.known {
            if Value::parse(self.kind, value).is_none() {
                return Err(error("with_known", value, self.kind.expected().into_owned()));
            }
            if !seen.insert(value) {
                return Err(error("with_known", value, "each known value once".to_owned()));
            }
        }
        let Some(default) = &self.default else { return Ok(()) };
        if Value::parse(self.kind, default).is_none() {
            return Err(error("with_default", default, self.kind.expected().into_owned()));
        }
        if !seen.is_empty() && !seen.contains(default) {
            return Err(error("with_default", default, "one of the known values".to_owned()));
        }
        Ok(())
    }
}
