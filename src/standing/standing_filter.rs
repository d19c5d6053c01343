//! The type [`StandingFilter`]: a filter with a name.

use std::borrow::Cow;

use super::key::{has_form, key_of, split_key};
use crate::catalog::FieldId;
use crate::error::{Error, ErrorKind};
use crate::filter::Filter;

/// A filter with a name, for a [`FilterSet`](crate::FilterSet).
///
/// ```
/// use casefilter::{Catalog, Filter, StandingFilter};
/// let filter = Filter::compile_text(&Catalog::cases(), "status = open and priority = high")?;
/// let urgent = StandingFilter::new("urgent", &filter);
/// assert_eq!((urgent.name(), urgent.filter()), ("urgent", &filter));
/// # Ok::<(), casefilter::Errors>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingFilter {
    owner: Option<Box<str>>,
    name: Box<str>,
    filter: Filter,
    fields: Vec<FieldId>,
}

impl StandingFilter {
    /// The maximum length of a name, in bytes of UTF-8.
    pub const MAX_NAME_BYTES: usize = 128;

    /// Creates a standing filter. [`FilterSet::insert`](crate::FilterSet::insert) checks the name and the filter.
    #[must_use]
    pub fn new(name: &str, filter: &Filter) -> Self {
        Self { owner: None, name: name.into(), filter: filter.clone(), fields: Vec::new() }
    }

    /// Creates the standing filter of an owner. Filters of different owners may have the same name.
    #[cfg(feature = "service")]
    pub(crate) fn owned(owner: &str, name: &str, filter: &Filter) -> Self {
        Self { owner: Some(owner.into()), ..Self::new(name, filter) }
    }

    /// Creates the standing filter with this key.
    pub(crate) fn of_key(key: &str, filter: &Filter) -> Self {
        let (owner, name) = split_key(key);
        Self { owner: owner.map(Into::into), ..Self::new(name, filter) }
    }

    /// Sets the fields whose changes are reported while the filter selects a document.
    ///
    /// If their values change, a write of an engine or store gives an event [`Changed`](crate::EventKind::Changed). Matching does
    /// not depend on these fields.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, StandingFilter};
    /// let cases = Catalog::cases();
    /// let filter = Filter::compile_text(&cases, "tags = vip")?;
    /// let status = cases.find("status").ok_or("no such field")?;
    /// let standing = StandingFilter::new("vip", &filter).with_fields([status]);
    /// assert_eq!(standing.fields(), [status]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_fields(self, fields: impl IntoIterator<Item = FieldId>) -> Self {
        let mut fields: Vec<FieldId> = fields.into_iter().collect();
        fields.sort_unstable();
        fields.dedup();
        Self { fields, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the owner, if the filter has one. If a client of a [service](crate::guide::service) has stored the filter, the owner
    /// stands for the token of this client. Filters of different owners may have the same name. A filter that a program or
    /// `casefilter filters` has inserted has no owner.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, StandingFilter};
    /// assert_eq!(StandingFilter::new("all", &Filter::all(&Catalog::cases())).owner(), None);
    /// ```
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Returns the key, which identifies the filter in a set.
    pub(crate) fn key(&self) -> Cow<'_, str> {
        key_of(self.owner(), &self.name)
    }

    /// Returns the filter.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns the fields whose changes are reported, in the order of the catalogue, without repetitions.
    #[must_use]
    pub fn fields(&self) -> &[FieldId] {
        &self.fields
    }

    pub(super) fn into_parts(self) -> (Box<str>, Filter, Vec<FieldId>) {
        (self.key().into(), self.filter, self.fields)
    }

    /// Checks the name, and that the filter does not depend on the current time.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.name.is_empty() {
            return Err(
                Error::new(ErrorKind::BadValue, 0, "an empty name", "a name of 1 to 128 bytes").at("name")
            );
        }
        if self.name.len() > Self::MAX_NAME_BYTES {
            let found = format!("a name of {} bytes", self.name.len());
            let expected = format!("at most {} bytes", Self::MAX_NAME_BYTES);
            return Err(Error::new(ErrorKind::StringTooLong, 0, found, expected).at("name"));
        }
        if !has_form(self.owner(), &self.name, Self::MAX_NAME_BYTES) {
            let found = "a name that begins with the character U+0000";
            return Err(Error::new(
                ErrorKind::BadValue,
                0,
                found,
                "a name that begins with another character",
            )
            .at("name"));
        }
        match self.filter.relative_time() {
            None => Ok(()),
            Some(Error { kind, path, offset, found, .. }) => {
                let expected = "a fixed time, because with `now` or `today` a case would leave a standing filter \
                                without being written";
                Err(Error::new(kind, offset, found, expected).at(path))
            }
        }
    }
}
