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
    /// The catalogue that this one was narrowed from, and that was itself not narrowed.
    root: Option<Catalog>,
    /// The fields of the catalogues that this one grew from, the latest [`MOST_ANCESTORS`], so that they need not be compared.
    ancestors: Box<[Arc<[Field]>]>,
}

/// Catalogues that grew more often compare the fields of the oldest ones.
const MOST_ANCESTORS: usize = 16;

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
    /// A setting that fields of this type, or with many values, do not have.
    NotForType {
        /// The name of the field.
        field: String,
        /// The method of [`Field`] that made the setting, such as `unix_millis`.
        setting: &'static str,
        /// The fields that have the setting, such as `timestamp fields`.
        expected: &'static str,
        /// The type of this field.
        kind: FieldType,
        /// Whether it has many values.
        is_many: bool,
    },
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
            Self::NotForType { field, setting, expected, kind, is_many } => {
                let many = if *is_many { " with many values" } else { "" };
                write!(
                    f,
                    "`{setting}` is for {expected}, found it on {}, which is a {kind} field{many}",
                    quote(field)
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
    ///     Field::new("state", FieldType::String).known(["new", "settled"]),
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

    fn assemble(
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
            defaults.extend(field.default().map(|value| (id, value.into())));
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
        let ancestors = self.inner.ancestors.clone();
        Self::assemble(Arc::clone(&self.inner.fields), visible.into(), Some(self.root().clone()), ancestors)
    }

    /// The catalogue that this one was narrowed from, or this one.
    fn root(&self) -> &Self {
        self.inner.root.as_ref().unwrap_or(self)
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

    /// True when the filters of `self` run on engines of `other`.
    ///
    /// So it is when `self` is `other`, was [narrowed](Self::allow) from it, or is what it [grew](Self::with) from. Fields are
    /// compared by what they are: a catalogue that is made again from the same fields is the same one.
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType};
    /// let all = Catalog::cases();
    /// let narrow = all.allow(["tags"])?;
    /// assert!(narrow.is_within(&all) && !all.is_within(&narrow));
    /// let grown = all.with([Field::new("riskScore", FieldType::Number)])?;
    /// assert!(narrow.is_within(&grown) && all.is_within(&grown) && !grown.is_within(&all));
    /// # Ok::<(), casefilter::CatalogError>(())
    /// ```
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        // Most often they are the same one.
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return true;
        }
        let visible = || self.inner.visible.iter().zip(&other.inner.visible);
        self.is_prefix_of(other) && visible().all(|(own, others)| !own || *others)
    }

    /// True when the fields of `other` begin with all fields of this catalogue.
    fn is_prefix_of(&self, other: &Self) -> bool {
        let (own, others) = (&self.inner.fields, &other.inner.fields);
        Arc::ptr_eq(own, others)
            || other.inner.ancestors.iter().any(|ancestor| Arc::ptr_eq(own, ancestor))
            || others.starts_with(own)
    }

    /// True when the same number is the same field in both, as far as both have it.
    pub(crate) fn is_akin(&self, other: &Self) -> bool {
        self.is_prefix_of(other) || other.is_prefix_of(self)
    }

    /// The catalogue that both are within: one of them, or the one that both were narrowed from.
    pub(crate) fn common<'c>(&'c self, other: &'c Self) -> Option<&'c Self> {
        let wider = |a: &'c Self, b: &'c Self| match (a.is_within(b), b.is_within(a)) {
            (true, _) => Some(b),
            (false, true) => Some(a),
            (false, false) => None,
        };
        wider(self, other).or_else(|| wider(self.root(), other.root()))
    }

    /// Checks that filters of this catalogue run where `other` is in force; `whose` says where that is.
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`] when this catalogue is not [within](Self::is_within) `other`.
    #[inline]
    pub(crate) fn check_within(&self, other: &Self, whose: &str) -> Result<(), Error> {
        if self.is_within(other) { Ok(()) } else { Err(self.mismatch(other, whose)) }
    }

    /// The error for a filter of this catalogue that meets `other`.
    #[cold]
    pub(crate) fn mismatch(&self, other: &Self, whose: &str) -> Error {
        let (own, others) = (self.fields(), other.fields());
        let name = |field: Option<&Field>| field.map_or("none".to_owned(), |field| quote(field.name()));
        let found = match own.iter().enumerate().find(|(at, field)| others.get(*at) != Some(*field)) {
            Some((at, field)) if others.get(at).is_some_and(|other| other.name() == field.name()) => {
                format!("one of a catalogue that describes {} in another way", quote(field.name()))
            }
            Some((at, field)) => format!(
                "one of a catalogue whose field {at} is {}, where that of the {whose} has {}",
                name(Some(field)),
                name(others.get(at))
            ),
            None => format!("one of a catalogue with fields that that of the {whose} hides"),
        };
        let expected = format!(
            "one compiled for the catalogue of the {whose}, for one narrowed from it, or for one that it grew from"
        );
        Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("filter")
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
    fn a_grown_catalogue_takes_the_filters_of_those_that_it_grew_from() {
        let all = Catalog::cases();
        let field = |name: &str| Field::new(name, FieldType::Number);
        let narrow = all.allow(["status"]).unwrap();
        let grown = all.with([field("x")]).unwrap();
        let again = grown.with([field("y")]).unwrap();
        for (smaller, larger) in [(&all, &grown), (&all, &again), (&grown, &again), (&narrow, &again)] {
            assert!(smaller.is_within(larger) && !larger.is_within(smaller));
            assert!(smaller.is_akin(larger) && larger.is_akin(smaller));
        }
        // By content, not only by descent.
        let twin = Catalog::new(all.fields().iter().cloned().chain([field("x")])).unwrap();
        assert!(all.is_within(&twin) && twin.is_within(&grown) && grown.is_within(&twin));
        let mut old = all.clone();
        for number in 0..3 * MOST_ANCESTORS {
            old = old.with([field(&format!("f{number}"))]).unwrap();
        }
        assert!(all.is_within(&old) && old.inner.ancestors.len() == MOST_ANCESTORS);
        // Siblings have nothing to do with each other.
        let sibling = all.with([field("y")]).unwrap();
        assert!(!sibling.is_akin(&grown) && sibling.common(&grown).is_none());
        let error = sibling.check_within(&grown, "engine").unwrap_err();
        assert_eq!(error.kind, ErrorKind::CatalogMismatch);
        assert!(
            error.to_string().starts_with("filter: found one of a catalogue whose field 43 is `y`"),
            "{error}"
        );
        assert!(narrow.check_within(&grown, "engine").is_ok());
    }

    #[test]
    fn two_narrowings_have_what_they_were_narrowed_from_in_common() {
        let all = Catalog::cases();
        let [status, tags] = [["status", "id"], ["tags", "id"]].map(|names| all.allow(names).unwrap());
        let is = |found: Option<&Catalog>, expected: &Catalog| {
            found.is_some_and(|found| Arc::ptr_eq(&found.inner, &expected.inner))
        };
        assert!(is(status.common(&tags), &all));
        assert!(is(status.common(&all), &all) && is(all.common(&status), &all));
        let twice = status.allow(["status"]).unwrap();
        assert!(is(twice.common(&tags), &all), "narrowed twice");
        let grown = all.with([Field::new("x", FieldType::Number)]).unwrap();
        let of_grown = grown.allow(["x"]).unwrap();
        assert!(is(of_grown.common(&tags), &grown) && is(tags.common(&of_grown), &grown));
        let twin = Catalog::new(all.fields().to_vec()).unwrap().allow(["name"]).unwrap();
        assert!(twin.common(&tags).is_some_and(|found| found.is_within(&all)));
        let other = Catalog::new([Field::new("tags[]", FieldType::String)]).unwrap();
        assert!(other.common(&tags).is_none() && other.common(&all).is_none());
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
    }

    #[test]
    fn a_setting_is_refused_by_its_name_on_fields_that_do_not_have_it() {
        use FieldType::{Boolean, Number, String as Text, Timestamp};
        const PLAIN: &str = "string fields with one value";
        type Set = fn(Field) -> Field;
        let settings: [(&str, &str, Set); 4] = [
            ("known", PLAIN, |field| field.known(["a"])),
            ("default_value", PLAIN, |field| field.default_value("a")),
            ("key", PLAIN, Field::key),
            ("unix_millis", "timestamp fields", Field::unix_millis),
        ];
        for kind in [Text, Number, Timestamp, Boolean] {
            for path in ["f", "f[]", "a[].f"] {
                let field = Field::new(path, kind);
                let (name, is_many) = (field.name().to_owned(), field.is_many());
                assert!(Catalog::new([field.clone()]).is_ok(), "{kind} at {path} without a setting");
                for (setting, expected, set) in settings {
                    let fits =
                        if setting == "unix_millis" { kind == Timestamp } else { kind == Text && !is_many };
                    let error =
                        CatalogError::NotForType { field: name.clone(), setting, expected, kind, is_many };
                    let wanted = if fits { None } else { Some(error) };
                    assert_eq!(
                        Catalog::new([set(field.clone())]).err(),
                        wanted,
                        "{setting} of {kind} at {path}"
                    );
                    assert_eq!(Catalog::cases().with([set(field.clone())]).err(), wanted);
                }
            }
        }
        let error = Catalog::new([Field::new("n", Number).key()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`key` is for string fields with one value, found it on `n`, which is a number field"
        );
        let error = Catalog::new([Field::new("at", Text).unix_millis()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`unix_millis` is for timestamp fields, found it on `at`, which is a string field"
        );
        let error = Catalog::new([Field::new("tags[]", Text).known(["a"])]).unwrap_err();
        assert!(error.to_string().ends_with("`tags`, which is a string field with many values"), "{error}");
    }
}
