//! Which fields there are, of which type, and which of them a request may name.

mod cases;
mod field;
mod names;
mod paths;
mod stray;

use std::fmt;
use std::sync::Arc;

pub use field::{Field, FieldType};
use names::Names;
pub(crate) use paths::{Expected, PathId, Paths, Shape};
pub(crate) use stray::Stray;

use crate::error::{Error, ErrorKind, nearest_two, quote};

/// A field's number in its [`Catalog`]: stable under narrowing, `0` for `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(u16);

impl FieldId {
    /// The field `id`, which every catalogue has.
    pub const ID: Self = Self(0);

    /// The number as an index into [`Catalog::fields`].
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The fields of a kind of document, and the allow-list of those that requests may name.
///
/// Cloning is cheap. Invariants: field 0 is the string `id`; names and aliases are unique;
/// no path runs through another field's value.
#[derive(Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

struct Inner {
    /// All fields, shared by every narrowing of this catalogue.
    fields: Arc<[Field]>,
    /// Names and aliases of the visible fields.
    names: Names,
    /// Where the visible fields lie in a document.
    paths: Paths,
    /// By field number: whether requests may name it.
    visible: Box<[bool]>,
    /// The visible fields that have a value where they are absent.
    defaults: Box<[(FieldId, Box<str>)]>,
}

/// Why a set of fields is no catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogError {
    /// Two fields, or a field and an alias, have this name.
    DuplicateName(String),
    /// The path is empty, has an empty segment, or `[]` stands elsewhere than behind a segment.
    BadPath(String),
    /// The path runs through, or treats as another shape, what another field's path uses.
    PathConflict(String),
    /// The name in an allow-list is no field; the second is the nearest that is.
    UnknownField(String, Option<String>),
    /// The known or default values are not of the field's type, or the field is not a plain string.
    BadValues(String),
    /// `id` must be a plain string field without known values or default.
    BadIdentity,
    /// More than 65,535 fields.
    TooManyFields,
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName(name) => write!(f, "two fields are named {}", quote(name)),
            Self::BadPath(path) => write!(
                f,
                "found path {}, expected keys joined by dots, `[]` behind each key that holds an array",
                quote(path)
            ),
            Self::PathConflict(path) => {
                write!(f, "path {} needs another shape where another field's path lies", quote(path))
            }
            Self::UnknownField(name, None) => write!(f, "{} is not a field", quote(name)),
            Self::UnknownField(name, Some(near)) => {
                write!(f, "{} is not a field; did you mean {}?", quote(name), quote(near))
            }
            Self::BadValues(name) => {
                write!(
                    f,
                    "known and default values are for plain string fields, found them on {}",
                    quote(name)
                )
            }
            Self::BadIdentity => f.write_str("field `id` must be a plain string at path `id`"),
            Self::TooManyFields => f.write_str("more than 65,535 fields"),
        }
    }
}

impl std::error::Error for CatalogError {}

impl Catalog {
    /// The catalogue of the Case resource: every filterable leaf of it.
    ///
    /// ```
    /// let catalog = casefilter::Catalog::cases();
    /// let status = catalog.find("status").unwrap();
    /// assert_eq!(catalog.field(status).name(), "caseReview.status");
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
    ///     Field::new("state", FieldType::String).known(["new", "settled"]),
    ///     Field::new("legs[].bank", FieldType::String),
    /// ])?;
    /// assert_eq!(payments.field(payments.find("legs.bank").unwrap()).is_many(), true);
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
        Self::assemble(fields.into(), visible.into())
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
        };
        Self { inner: Arc::new(inner) }
    }

    fn assemble(fields: Arc<[Field]>, visible: Box<[bool]>) -> Result<Self, CatalogError> {
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
            defaults.extend(field.default().map(|value| (id, value.into())));
        }
        let inner = Inner { fields, names, paths, visible, defaults: defaults.into() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// This catalogue with further fields behind its own.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType};
    /// let wider = Catalog::cases().with([Field::new("riskScore", FieldType::Number)])?;
    /// assert!(wider.find("riskScore").is_some());
    /// # Ok::<(), casefilter::CatalogError>(())
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
        Self::assemble(all.into(), visible.into())
    }

    /// This catalogue narrowed to an allow-list of names or aliases.
    ///
    /// Any other name is then rejected exactly like one that never existed. Filters of a
    /// narrowed catalogue run on engines of the one it came from.
    ///
    /// ```
    /// let narrow = casefilter::Catalog::cases().allow(["caseReview.status", "createdAt"])?;
    /// assert!(narrow.find("priority").is_none());
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::UnknownField`] for a name that is not in this catalogue.
    pub fn allow<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Self, CatalogError> {
        let mut visible = vec![false; self.inner.fields.len()];
        for name in names {
            let near = || self.meant_by(name).first().map(|near| String::from(*near));
            let id = self.find(name).ok_or_else(|| CatalogError::UnknownField(name.into(), near()))?;
            if let Some(slot) = visible.get_mut(id.index()) {
                *slot = true;
            }
        }
        Self::assemble(Arc::clone(&self.inner.fields), visible.into())
    }

    /// The field of that name or alias, when requests may name it. Exact, constant time.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        self.inner.names.get(name)
    }

    /// The field of that name, or the error that a request gets for naming another.
    pub(crate) fn resolve(&self, name: &str, offset: usize) -> Result<FieldId, Error> {
        self.find(name).ok_or_else(|| {
            let meant: Vec<String> = self.meant_by(name).into_iter().map(quote).collect();
            let suggestion = match meant.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                [first @ .., last] => Some(format!("{} or {last}", first.join(", "))),
            };
            Error::new(ErrorKind::UnknownField, offset, quote(name), "a field of the catalogue")
                .suggest(suggestion)
        })
    }

    /// The fields probably meant by a name that is none, at most three: what an object of that name holds, else what is spelled almost so,
    /// else those whose last key has it as a word.
    fn meant_by(&self, name: &str) -> Vec<&str> {
        const MOST: usize = 3;
        let is_inside = |field: &&str| {
            let front = field.get(..name.len()).unwrap_or_default();
            front.eq_ignore_ascii_case(name)
                && field.get(name.len()..).is_some_and(|rest| rest.starts_with('.'))
        };
        let inside: Vec<&str> = self.names().filter(is_inside).take(MOST).collect();
        if !inside.is_empty() {
            return inside;
        }
        let mut near = nearest_two(name, self.names()).to_vec();
        // A field and its alias are one suggestion.
        near.dedup_by_key(|name| self.find(name));
        if !near.is_empty() {
            return near;
        }
        let has_word = |field: &&str| {
            let leaf = field.rsplit('.').next().unwrap_or(field);
            words_of(leaf).any(|word| word.eq_ignore_ascii_case(name))
        };
        let by_word: Vec<&str> = self.names().filter(has_word).collect();
        // What so many have says nothing.
        if by_word.len() > MOST { Vec::new() } else { by_word }
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

    /// The field of that number.
    ///
    /// # Panics
    /// When the number comes from a catalogue with more fields.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "a number from another catalogue is the caller's bug")]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.inner.fields[id.index()]
    }

    /// True when requests may name the field.
    #[must_use]
    pub fn is_visible(&self, id: FieldId) -> bool {
        self.inner.visible.get(id.index()).copied().unwrap_or(false)
    }

    /// True when `self` is `other` or a narrowing of it, so that its filters run on engines of `other`.
    ///
    /// ```
    /// let all = casefilter::Catalog::cases();
    /// let narrow = all.allow(["tags"])?;
    /// assert!(narrow.is_within(&all) && !all.is_within(&narrow));
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        // Most often they are the same one.
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return true;
        }
        let (own, others) = (&*self.inner, &*other.inner);
        let same_fields = Arc::ptr_eq(&own.fields, &others.fields) || own.fields == others.fields;
        same_fields && own.visible.iter().zip(&others.visible).all(|(own, others)| !own || *others)
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

/// The words of a key such as `totalAmount`, each from a capital letter on.
fn words_of(key: &str) -> impl Iterator<Item = &str> {
    let mut rest = key;
    std::iter::from_fn(move || {
        let end = rest.char_indices().skip(1).find(|(_, c)| c.is_ascii_uppercase());
        let (word, behind) = rest.split_at_checked(end.map_or(rest.len(), |(at, _)| at))?;
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_resource_has_its_43_fields() {
        let catalog = Catalog::cases();
        assert_eq!(catalog.fields().len(), 43);
        assert_eq!(catalog.find("id"), Some(FieldId::ID));
        assert_eq!(catalog.find("status"), catalog.find("caseReview.status"));
        assert_eq!(catalog.find("caseReview"), None);
        assert_eq!(catalog.find("amlCases[].amlCaseId"), None);
        assert_eq!(catalog.names().count(), 44);
    }

    #[test]
    fn narrowing_hides_names_and_keeps_numbers() {
        let all = Catalog::cases();
        let narrow = all.allow(["status", "tags"]).unwrap();
        assert_eq!(narrow.find("tags"), all.find("tags"));
        assert_eq!(narrow.find("id"), None);
        assert_eq!(narrow.names().collect::<Vec<_>>(), ["caseReview.status", "status", "tags"]);
        assert!(narrow.is_within(&all));
        assert!(!all.is_within(&narrow));
        assert_eq!(
            all.allow(["tagz"]).unwrap_err(),
            CatalogError::UnknownField("tagz".into(), Some("tags".into()))
        );
    }

    #[test]
    fn clashing_fields_are_refused() {
        let text = |path: &str| Field::new(path, FieldType::String);
        let err = |fields: Vec<Field>| Catalog::new(fields).unwrap_err();
        assert_eq!(err(vec![text("a"), text("a")]), CatalogError::DuplicateName("a".into()));
        assert_eq!(err(vec![text("a"), text("b").alias("a")]), CatalogError::DuplicateName("a".into()));
        assert_eq!(err(vec![text("a"), text("a.b")]), CatalogError::PathConflict("a.b".into()));
        assert_eq!(err(vec![text("a.b"), text("a")]), CatalogError::PathConflict("a".into()));
        assert_eq!(err(vec![text("a.b"), text("a[].c")]), CatalogError::PathConflict("a[].c".into()));
        assert_eq!(err(vec![text("a[]"), text("a[].c")]), CatalogError::PathConflict("a[].c".into()));
        assert_eq!(err(vec![text("id[]")]), CatalogError::BadIdentity);
        assert_eq!(err(vec![text("")]), CatalogError::BadPath("".into()));
        assert_eq!(err(vec![text("a..b")]), CatalogError::BadPath("a..b".into()));
        assert_eq!(err(vec![text("[].b")]), CatalogError::BadPath("[].b".into()));
        assert_eq!(
            err(vec![Field::new("n", FieldType::Number).known(["1"])]),
            CatalogError::BadValues("n".into())
        );
        assert_eq!(err(vec![text("t[]").default_value("x")]), CatalogError::BadValues("t".into()));
    }
}
