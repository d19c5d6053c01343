//! The type [`StandingFilter`]: a filter with a name.

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
        Self { name: name.into(), filter: filter.clone(), fields: Vec::new() }
    }

    /// Sets the fields whose changes are of interest while the filter selects a case.
    ///
    /// Writes of an engine or store give an event [`Changed`](crate::EventKind::Changed) for them. Matches do not use them.
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

    /// Returns the filter.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns the fields whose changes are of interest, in the order of the catalogue, without repetitions.
    #[must_use]
    pub fn fields(&self) -> &[FieldId] {
        &self.fields
    }

    pub(super) fn into_parts(self) -> (Box<str>, Filter, Vec<FieldId>) {
        (self.name, self.filter, self.fields)
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
