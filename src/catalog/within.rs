//! Compares catalogues: checks that an engine of one catalogue accepts the filters of another catalogue.

use std::sync::Arc;

use super::catalogue::Catalog;
use super::field::Field;
use crate::error::{Error, ErrorKind, quote};

/// Compares the fields and the allow-lists.
impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.inner, &other.inner);
        self.is_same(other) || own.visible == others.visible && own.fields == others.fields
    }
}

impl Eq for Catalog {}

impl Catalog {
    /// Returns true if filters of `self` run on engines of `other`.
    ///
    /// This is true if `self` equals `other`, if `self` was [narrowed](Self::allow) from `other`, or if `other` [grew](Self::with)
    /// from `self`. Fields are compared by content, with all settings: two catalogues that were created from equal fields are
    /// equal. Fields with different known values or aliases are different fields.
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
        // Usually, both are the same catalogue.
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return true;
        }
        let visible = || self.inner.visible.iter().zip(&other.inner.visible);
        self.is_prefix_of(other) && visible().all(|(own, others)| !own || *others)
    }

    /// Returns true if both are the same catalogue in memory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns true if the fields of this catalogue are a prefix of the fields of `other`.
    fn is_prefix_of(&self, other: &Self) -> bool {
        let (own, others) = (&self.inner.fields, &other.inner.fields);
        Arc::ptr_eq(own, others)
            || other.inner.ancestors.iter().any(|ancestor| Arc::ptr_eq(own, ancestor))
            || others.starts_with(own)
    }

    /// Returns true if every field id that is valid in both catalogues denotes the same field in both.
    pub(crate) fn is_akin(&self, other: &Self) -> bool {
        self.is_prefix_of(other) || other.is_prefix_of(self)
    }

    /// Returns the catalogue that contains all fields of both: `self` or `other`. If neither contains them, makes the same
    /// comparison between the two catalogues from which `self` and `other` were [narrowed](Self::allow). Returns `None` if neither
    /// of these two catalogues contains all fields of both.
    pub(crate) fn common<'c>(&'c self, other: &'c Self) -> Option<&'c Self> {
        let wider = |a: &'c Self, b: &'c Self| match (a.is_within(b), b.is_within(a)) {
            (true, _) => Some(b),
            (false, true) => Some(a),
            (false, false) => None,
        };
        wider(self, other).or_else(|| wider(self.root(), other.root()))
    }

    /// Checks that the engine (or other owner) of the catalogue `other` accepts filters of this catalogue. `whose` is the word for
    /// the owner in the error message, such as `engine`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`] if this catalogue is not [within](Self::is_within) `other`.
    #[inline]
    pub(crate) fn check_within(&self, other: &Self, whose: &str) -> Result<(), Error> {
        if self.is_within(other) { Ok(()) } else { Err(self.mismatch(other, whose)) }
    }

    /// Returns the error for a filter of this catalogue that is used with an owner of `other`.
    #[cold]
    pub(crate) fn mismatch(&self, other: &Self, whose: &str) -> Error {
        let (own, others) = (self.fields(), other.fields());
        let name =
            |field: Option<&Field>| field.map_or("none".to_owned(), |field| quote(field.name()).to_string());
        let found = match own.iter().enumerate().find(|(at, field)| others.get(*at) != Some(*field)) {
            Some((at, field)) if others.get(at).is_some_and(|other| other.name() == field.name()) => {
                format!("a filter of a catalogue that describes {} differently", quote(field.name()))
            }
            Some((at, field)) => format!(
                "a filter of a catalogue whose field {at} is {}, while field {at} of the {whose} is {}",
                name(Some(field)),
                name(others.get(at))
            ),
            None => format!("a filter of a catalogue with fields that the catalogue of the {whose} hides"),
        };
        let expected = format!(
            "a filter compiled for the catalogue of the {whose}, for a narrowed copy of it, or for this catalogue before fields were added"
        );
        Error::new(ErrorKind::CatalogMismatch, 0, found, expected).at("filter")
    }
}
