//! The type of catalogues: made of fields, narrowed and grown.

use std::fmt;
use std::sync::Arc;

use super::cases;
use super::error::CatalogError;
use super::field::Field;
use super::field_type::FieldType;
use super::id::FieldId;
use super::names::Names;
use super::paths::Paths;

/// The fields of a kind of document, and the allow-list of those that requests may name.
///
/// Cloning is cheap. Invariants: field 0 is the string `id`; names and aliases are unique;
/// no path runs through another field's value.
#[derive(Clone)]
pub struct Catalog {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    /// All fields, shared by every narrowing of this catalogue.
    pub(super) fields: Arc<[Field]>,
    /// Names and aliases of the visible fields.
    names: Names,
    /// Where the visible fields lie in a document.
    paths: Paths,
    /// By field number: whether requests may name it.
    pub(super) visible: Box<[bool]>,
    /// The visible fields that have a value where they are absent.
    defaults: Box<[(FieldId, Box<str>)]>,
    /// The catalogue that this one was narrowed from, and that was itself not narrowed.
    root: Option<Catalog>,
    /// The fields of the catalogues that this one grew from, the latest [`MOST_ANCESTORS`], so that they need not be compared.
    pub(super) ancestors: Box<[Arc<[Field]>]>,
}

/// Catalogues that grew more often compare the fields of the oldest ones.
pub(super) const MOST_ANCESTORS: usize = 16;

impl Catalog {
    /// The catalogue of the Case resource: every filterable leaf of it.
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

    /// A catalogue of one's own, for cases with other fields or for other documents.
    ///
    /// The field `id` is added in front when it is not among `fields`.
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
    /// Names or paths that clash, malformed paths, or values that do not fit; see [`CatalogError`].
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Self, CatalogError> {
        let mut fields: Vec<Field> = fields.into_iter().collect();
        match fields.iter().position(|field| field.name() == "id") {
            Some(at) => {
                let id = fields.remove(at);
                if id.key() != Self::id_field() {
                    return Err(CatalogError::BadIdentity);
                }
                fields.insert(0, Self::id_field());
            }
            None => fields.insert(0, Self::id_field()),
        }
        if fields.len() > usize::from(u16::MAX) {
            return Err(CatalogError::TooManyFields);
        }
        for field in &fields {
            field.validate()?;
        }
        let visible = vec![true; fields.len()];
        Self::assemble(fields.into(), visible.into(), None, Box::default())
    }

    fn id_field() -> Field {
        Field::new("id", FieldType::String).key()
    }

    /// A catalogue of `id` alone.
    fn identity() -> Self {
        let mut names = Names::default();
        names.insert("id", FieldId::ID);
        let inner = Inner {
            fields: Arc::new([Self::id_field()]),
            names,
            paths: Paths::identity(),
            visible: Box::new([true]),
            defaults: Box::default(),
            root: None,
            ancestors: Box::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn assemble(
        fields: Arc<[Field]>,
        visible: Box<[bool]>,
        root: Option<Self>,
        ancestors: Box<[Arc<[Field]>]>,
    ) -> Result<Self, CatalogError> {
        let mut names = Names::default();
        let mut paths = Paths::identity();
        let mut defaults = Vec::new();
        for ((number, field), visible) in (0..=u16::MAX).zip(fields.iter()).zip(visible.iter()) {
            if !visible {
                continue;
            }
            let id = FieldId(number);
            for name in std::iter::once(field.name()).chain(field.aliases()) {
                if !names.insert(name, id) {
                    return Err(CatalogError::DuplicateName(name.into()));
                }
            }
            paths.insert(field, id)?;
            defaults.extend(field.default_value().map(|value| (id, value.into())));
        }
        let inner = Inner { fields, names, paths, visible, defaults: defaults.into(), root, ancestors };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns this catalogue with further fields after its own.
    ///
    /// Engines of the grown catalogue take the filters and orders of this one: those in a cache, or on their way. It does not
    /// work the other way round.
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
    /// As for [`Catalog::new`].
    pub fn with(&self, fields: impl IntoIterator<Item = Field>) -> Result<Self, CatalogError> {
        let mut all: Vec<Field> = self.inner.fields.to_vec();
        let mut visible = self.inner.visible.to_vec();
        for field in fields {
            field.validate()?;
            all.push(field);
            visible.push(true);
        }
        if all.len() > usize::from(u16::MAX) {
            return Err(CatalogError::TooManyFields);
        }
        let skipped = self.inner.ancestors.len().saturating_add(1).saturating_sub(MOST_ANCESTORS);
        let ancestors = self.inner.ancestors.iter().chain([&self.inner.fields]).skip(skipped);
        Self::assemble(all.into(), visible.into(), None, ancestors.cloned().collect())
    }

    /// The catalogue that this one was narrowed from, or this one.
    pub(super) fn root(&self) -> &Self {
        self.inner.root.as_ref().unwrap_or(self)
    }

    /// The field of that name or alias, when requests may name it. Exact, constant time.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        self.inner.names.get(name)
    }

    /// The names and aliases that requests may use, in the order of the fields.
    ///
    /// ```
    /// let narrow = casefilter::Catalog::cases().allow(["status"])?;
    /// assert_eq!(narrow.names().collect::<Vec<_>>(), ["caseReview.status", "status"]);
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.visible_fields().flat_map(|(_, field)| std::iter::once(field.name()).chain(field.aliases()))
    }

    /// The fields that requests may name, in order.
    pub fn visible_fields(&self) -> impl Iterator<Item = (FieldId, &Field)> + Clone {
        (0..=u16::MAX)
            .zip(self.inner.fields.iter())
            .zip(self.inner.visible.iter())
            .filter(|(_, visible)| **visible)
            .map(|((number, field), _)| (FieldId(number), field))
    }

    /// Every field, hidden ones too; a [`FieldId`] is an index into it.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.inner.fields
    }

    /// The numbers of all fields, hidden ones too, in order.
    pub(crate) fn field_ids(&self) -> impl Iterator<Item = FieldId> + use<> {
        (0..=u16::MAX).take(self.inner.fields.len()).map(FieldId)
    }

    /// The field of that number, hidden or not; `None` when the number comes from a catalogue with more fields.
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

    /// The field of a number that is known to be of this catalogue.
    #[expect(
        clippy::indexing_slicing,
        reason = "numbers reach it from this catalogue, or through requests that were checked against it"
    )]
    pub(crate) fn field(&self, id: FieldId) -> &Field {
        &self.inner.fields[id.index()]
    }

    /// True when requests may name the field.
    #[must_use]
    pub fn is_visible(&self, id: FieldId) -> bool {
        self.inner.visible.get(id.index()).copied().unwrap_or(false)
    }

    /// The visible fields that have a value where they are absent, and that value.
    pub(crate) fn defaults(&self) -> &[(FieldId, Box<str>)] {
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
