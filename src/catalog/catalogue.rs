//! [`Catalog`]: the fields of one kind of document, and the methods that create, extend and search it.

use std::fmt;
use std::sync::Arc;

use super::arrays::Arrays;
use super::cases;
use super::error::CatalogError;
use super::field::Field;
use super::grammar::Grammar;
use super::id::FieldId;
use super::names::Names;
use super::paths::Paths;
use super::timestamp_form::TimestampForm;
use crate::value::IdType;
use crate::value::{FieldType, Value};

/// The fields of a kind of document, with an allow-list of the fields that requests may name.
///
/// Cloning is cheap. Invariants:
///
/// - Field 0 is the id, whose [values](crate::Document::id) are strings.
/// - Names and aliases are unique.
/// - No path leads through the value of another field.
#[derive(Clone)]
pub struct Catalog {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    /// All fields. Shared by the catalogues that were narrowed from this catalogue.
    pub(super) fields: Arc<[Field]>,
    /// The names and aliases of the visible fields.
    names: Names,
    /// The paths of the visible fields in a document.
    paths: Paths,
    /// The arrays of objects that contain visible fields.
    pub(super) arrays: Arrays,
    /// For each field, true if requests may name it.
    pub(super) visible: Box<[bool]>,
    /// The visible fields with a default, and their default values.
    defaults: Box<[(FieldId, Value<'static>)]>,
    /// The catalogue from which this catalogue was narrowed, perhaps in several steps. `None` if this catalogue was not narrowed.
    root: Option<Catalog>,
    /// The operators that JSON bodies may use.
    grammar: Grammar,
    /// The fields of the latest [`MOST_ANCESTORS`] catalogues from which this catalogue grew. They make it faster to check that a
    /// filter is compatible: addresses are compared instead of all fields.
    pub(super) ancestors: Box<[Arc<[Field]>]>,
}

/// The maximum number of ancestors that a catalogue remembers. A filter of a remembered ancestor is checked by address. For a
/// filter of an older ancestor, all fields are compared, which takes longer.
pub(super) const MOST_ANCESTORS: usize = 16;

impl Catalog {
    /// Returns the catalogue of compliance cases. It contains every field of the Case resource that criteria can test. The
    /// interface document, which specifies the HTTP interface of the service, defines this resource.
    ///
    /// ```
    /// let catalog = casefilter::Catalog::cases();
    /// let status = catalog.find("status").and_then(|id| catalog.get(id)).unwrap();
    /// assert_eq!(status.name(), "caseReview.status");
    /// ```
    #[must_use]
    pub fn cases() -> Self {
        static CASES: std::sync::OnceLock<Catalog> = std::sync::OnceLock::new();
        CASES
            .get_or_init(|| match Self::new(cases::fields()) {
                Ok(catalog) => catalog,
                Err(error) => {
                    debug_assert!(false, "the table of the Case resource is a catalogue: {error}");
                    Self::identity()
                }
            })
            .clone()
    }

    /// Creates a catalogue for your own kind of document.
    ///
    /// If `fields` does not contain `id`, it is added as the first field.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType};
    /// let payments = Catalog::new([
    ///     Field::new("amount", FieldType::Number),
    ///     Field::new("state", FieldType::String).with_known(["new", "settled"]),
    ///     Field::new("legs[].bank", FieldType::String),
    /// ])?;
    /// assert!(payments.find("legs.bank").and_then(|id| payments.get(id)).unwrap().is_many());
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if names or paths clash, if a path is malformed, or if a setting does not fit its field; see
    /// [`CatalogError`].
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Self, CatalogError> {
        Self::of_id(Self::id_field(), fields)
    }

    /// Creates a catalogue as [`new`](Self::new) does, but with the given field `id` for the ids of documents.
    pub(super) fn of_id(id: Field, fields: impl IntoIterator<Item = Field>) -> Result<Self, CatalogError> {
        let mut fields: Vec<Field> = fields.into_iter().collect();
        let mut id = id;
        if let Some(at) = fields.iter().position(|field| field.name() == id.name()) {
            let given = fields.remove(at);
            if given.is_searchable() {
                id = id.searchable();
            }
            if given.key().searchable() != Field::of_id(id.path(), IdType::String).searchable() {
                return Err(CatalogError::BadIdField);
            }
        }
        let fields = fields.into_iter().map(Field::without_id_type);
        let fields: Vec<Field> = std::iter::once(id).chain(fields).collect();
        if fields.len() > usize::from(u16::MAX) {
            return Err(CatalogError::TooManyFields);
        }
        for field in &fields {
            field.validate()?;
        }
        let visible = vec![true; fields.len()];
        Self::assemble(fields.into(), visible.into(), None, Box::default(), Grammar::Interface)
    }

    pub(super) fn id_field() -> Field {
        Field::of_id("id", IdType::String)
    }

    /// Returns a catalogue with only the field `id`.
    fn identity() -> Self {
        let mut names = Names::default();
        names.insert("id", FieldId::ID);
        let inner = Inner {
            fields: Arc::new([Self::id_field()]),
            names,
            paths: Paths::identity("id"),
            arrays: Arrays::default(),
            visible: Box::new([true]),
            defaults: Box::default(),
            root: None,
            grammar: Grammar::Interface,
            ancestors: Box::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn assemble(
        fields: Arc<[Field]>,
        visible: Box<[bool]>,
        root: Option<Self>,
        ancestors: Box<[Arc<[Field]>]>,
        grammar: Grammar,
    ) -> Result<Self, CatalogError> {
        let mut names = Names::default();
        let mut paths = Paths::identity(fields.first().map_or("id", Field::path));
        let mut arrays = Arrays::default();
        let mut defaults = Vec::new();
        for ((number, field), visible) in (0..=u16::MAX).zip(fields.iter()).zip(visible.iter()) {
            let id = FieldId(number);
            if !visible {
                arrays.skip();
                continue;
            }
            for name in std::iter::once(field.name()).chain(field.aliases()) {
                if !names.insert(name, id) {
                    return Err(CatalogError::DuplicateName(name.into()));
                }
            }
            arrays.push(field, id, paths.insert(field, id)?);
            defaults.extend(field.default_as_value().map(|value| (id, value.into_owned())));
        }
        let defaults = defaults.into();
        let inner = Inner { fields, names, paths, arrays, visible, defaults, root, grammar, ancestors };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns a grown catalogue: the fields of this catalogue, followed by `fields`.
    ///
    /// Engines of the grown catalogue accept filters and orders of this catalogue, such as cached filters. Engines of this
    /// catalogue reject filters of the grown catalogue. The file of a `Store` keeps the catalogue with which it was created; see
    /// [the guide](crate::guide::durability#change-the-catalogue-of-a-store).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Field, FieldType, Filter};
    /// let grown = Catalog::cases().with([Field::new("riskScore", FieldType::Number)])?;
    /// assert!(grown.find("riskScore").is_some());
    /// let compiled_before = Filter::compile_text(&Catalog::cases(), "status = open")?;
    /// assert_eq!(Engine::new(grown).count(&compiled_before)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`Catalog::new`].
    pub fn with(&self, fields: impl IntoIterator<Item = Field>) -> Result<Self, CatalogError> {
        let mut all: Vec<Field> = self.inner.fields.to_vec();
        let mut visible = self.inner.visible.to_vec();
        for field in fields {
            field.validate()?;
            all.push(field.without_id_type());
            visible.push(true);
        }
        if all.len() > usize::from(u16::MAX) {
            return Err(CatalogError::TooManyFields);
        }
        let skipped = self.inner.ancestors.len().saturating_add(1).saturating_sub(MOST_ANCESTORS);
        let ancestors = self.inner.ancestors.iter().chain([&self.inner.fields]).skip(skipped);
        Self::assemble(all.into(), visible.into(), None, ancestors.cloned().collect(), self.inner.grammar)
    }

    /// Returns a catalogue whose documents have their id in another member, or with another type. Without this method, the id is a
    /// string in the member `id`.
    ///
    /// Criteria, orders and answers use `name` as the name of the field. The name `id` becomes free for another field. Ids remain
    /// strings everywhere, and are sorted as strings; see [`IdType`]. Documents are not changed. An engine of either catalogue
    /// rejects the filters of the other catalogue.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Filter, IdType};
    /// let fields = [Field::new("state", FieldType::String)];
    /// let orders = Catalog::new(fields)?.with_id("orderId", IdType::Uuid)?;
    /// let filter = Filter::compile_text(&orders, "orderId = F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")?;
    /// assert!(filter.matches(br#"{"orderId":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","state":"paid"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `name` is empty or has a `.` or `[]`, or if another field has this name or path.
    pub fn with_id(&self, name: &str, id_type: IdType) -> Result<Self, CatalogError> {
        if !Self::is_id_name(name) {
            return Err(CatalogError::BadIdName(name.into()));
        }
        let mut fields = self.inner.fields.to_vec();
        if let Some(id) = fields.first_mut() {
            *id = Field::of_id(name, id_type);
        }
        Self::assemble(fields.into(), self.inner.visible.clone(), None, Box::default(), self.inner.grammar)
    }

    /// Returns true if the text can be the name of the id.
    pub(super) fn is_id_name(name: &str) -> bool {
        !name.is_empty() && !name.contains('.') && !name.contains("[]")
    }

    /// Returns the name of the member that contains the id of a document.
    ///
    /// ```
    /// assert_eq!(casefilter::Catalog::cases().id_name(), "id");
    /// ```
    #[must_use]
    pub fn id_name(&self) -> &str {
        self.inner.fields.first().map_or("id", Field::name)
    }

    /// Returns the type that the id has in documents.
    #[must_use]
    pub fn id_type(&self) -> IdType {
        self.inner.fields.first().map_or(IdType::String, Field::id_type)
    }

    /// Returns a catalogue with the same fields, in which JSON bodies may also use the [extended](crate::Operator::is_extended)
    /// operators: `$not`, `$elem`, `$exists`, `$startsWith`, `$substring` and `$match`. They may also use `>`, `>=`, `<` and `<=`
    /// on string fields with [known values](Field::with_known). [`SearchParams`](crate::SearchParams) may then have `pageCursor`,
    /// `after` and an `order` by several fields.
    ///
    /// In a catalogue that is not extended, bodies may use only the operators of the interface document. Any other operator is an
    /// error. Filters in the text syntax may always use all operators. An engine of either catalogue accepts filters of both
    /// catalogues.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let body = br#"{"criteria":[{"op":"$not","children":[{"field":"tags","op":"$exists","values":["true"]}]}]}"#;
    /// assert!(Filter::compile(&Catalog::cases(), body).is_err());
    /// let filter = Filter::compile(&Catalog::cases().extended(), body)?;
    /// assert_eq!(filter.to_text(), "tags is absent");
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn extended(&self) -> Self {
        let Inner { fields, visible, root, ancestors, .. } = &*self.inner;
        let (fields, visible) = (Arc::clone(fields), visible.clone());
        match Self::assemble(fields, visible, root.clone(), ancestors.clone(), Grammar::Extended) {
            Ok(extended) => extended,
            Err(error) => {
                debug_assert!(false, "a catalogue can be assembled again: {error}");
                self.clone()
            }
        }
    }

    /// Returns true if JSON bodies may use the [extended](Self::extended) operators, and parameters may ask for cursors.
    #[must_use]
    pub fn is_extended(&self) -> bool {
        self.inner.grammar == Grammar::Extended
    }

    /// Returns the operators that JSON bodies may use.
    pub(crate) fn grammar(&self) -> Grammar {
        self.inner.grammar
    }

    /// Returns a catalogue whose timestamp fields also accept RFC 3339. This affects timestamp fields of the form
    /// [`Interface`](TimestampForm::Interface), `yyyy-MM-dd HH:mm:ss`. Stored documents keep their text.
    ///
    /// Only values in documents may have the new form. JSON bodies still accept only `yyyy-MM-dd HH:mm:ss`, with or without an
    /// offset. Filters in the text syntax accept RFC 3339 in every catalogue.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let filter = Filter::compile_text(&Catalog::cases().with_rfc3339(), "createdAt = '2025-12-01 10:00:00'")?;
    /// assert!(filter.matches(br#"{"id":"1","createdAt":"2025-12-01T12:00:00+02:00"}"#)?);
    /// assert!(filter.matches(br#"{"id":"1","createdAt":"2025-12-01 10:00:00"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_rfc3339(&self) -> Self {
        let fields = self.fields().iter().map(|field| match field.form() {
            TimestampForm::Interface if field.field_type() == FieldType::Timestamp => {
                field.clone().with_form(TimestampForm::InterfaceOrRfc3339)
            }
            _ => field.clone(),
        });
        let (fields, visible) = (fields.collect(), self.inner.visible.clone());
        match Self::assemble(fields, visible, None, Box::default(), self.inner.grammar) {
            Ok(catalog) => catalog,
            Err(error) => {
                debug_assert!(false, "the form of timestamps affects neither names nor paths: {error}");
                self.clone()
            }
        }
    }

    /// Returns the catalogue from which this catalogue was narrowed, or this catalogue if it was not narrowed.
    pub(super) fn root(&self) -> &Self {
        self.inner.root.as_ref().unwrap_or(self)
    }

    /// Finds a visible field by its exact name or alias, in constant time.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        self.inner.names.get(name)
    }

    /// Returns the names and aliases that requests may use, in the order of the fields.
    ///
    /// To [narrow](Self::allow) a catalogue to all fields but one, use [`visible_fields`](Self::visible_fields) instead. The list
    /// of names also contains the aliases of the omitted field, and an alias makes its field visible.
    ///
    /// ```
    /// let narrow = casefilter::Catalog::cases().allow(["status"])?;
    /// assert_eq!(narrow.names().collect::<Vec<_>>(), ["caseReview.status", "status"]);
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.visible_fields().flat_map(|(_, field)| std::iter::once(field.name()).chain(field.aliases()))
    }

    /// Returns the fields that requests may name, in the order of the catalogue.
    pub fn visible_fields(&self) -> impl Iterator<Item = (FieldId, &Field)> + Clone {
        (0..=u16::MAX)
            .zip(self.inner.fields.iter())
            .zip(self.inner.visible.iter())
            .filter(|(_, visible)| **visible)
            .map(|((number, field), _)| (FieldId(number), field))
    }

    /// Returns all fields, including hidden fields. A [`FieldId`] is an index into this list.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.inner.fields
    }

    /// Returns the ids of all fields, including hidden fields, in order.
    pub(crate) fn field_ids(&self) -> impl Iterator<Item = FieldId> + use<> {
        (0..=u16::MAX).take(self.inner.fields.len()).map(FieldId)
    }

    /// Returns the field with this id, visible or hidden. Returns `None` if this catalogue has no field with this id.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType};
    /// let tickets = Catalog::new([Field::new("subject", FieldType::String)])?;
    /// let subject = tickets.find("subject").and_then(|id| tickets.get(id));
    /// assert_eq!(subject.map(Field::name), Some("subject"));
    /// assert_eq!(Catalog::cases().find("tags").and_then(|id| tickets.get(id)), None);
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    #[must_use]
    pub fn get(&self, id: FieldId) -> Option<&Field> {
        self.inner.fields.get(id.index())
    }

    /// Returns the field with this id. The id must belong to this catalogue.
    #[expect(
        clippy::indexing_slicing,
        reason = "numbers come from this catalogue, or from requests that were checked against it"
    )]
    pub(crate) fn field(&self, id: FieldId) -> &Field {
        &self.inner.fields[id.index()]
    }

    /// Returns true if requests may name the field.
    #[must_use]
    pub fn is_visible(&self, id: FieldId) -> bool {
        self.inner.visible.get(id.index()).copied().unwrap_or(false)
    }

    /// Returns the visible fields with a default, and their default values.
    pub(crate) fn defaults(&self) -> &[(FieldId, Value<'static>)] {
        &self.inner.defaults
    }

    pub(crate) fn paths(&self) -> &Paths {
        &self.inner.paths
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.visible_fields().map(|(_, field)| field)).finish()
    }
}
