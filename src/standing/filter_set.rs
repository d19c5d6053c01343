//! The type [`FilterSet`]: named filters, and which of them select a document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use super::hasher::Hasher;
use super::matches::FilterMatches;
use super::segment::Watched;
use super::shared::Shared;
use super::snapshot::{Place, Snapshot};
use super::standing_filter::StandingFilter;
use crate::batch::OwnedRow;
use crate::catalog::{Catalog, FieldId};
use crate::error::{Error, ErrorKind, Errors};
use crate::filter::{Document, Filter};

/// A set of named filters, which finds the filters that select a document.
///
/// Testing a document with many filters one by one takes a time that grows with their number. A set has an index of the values in
/// its filters, so a document is tested with few of them. All filters of a set belong to one catalogue.
///
/// A set is `Send + Sync`. Filters are inserted and removed while other threads match documents: each match sees the set at one
/// moment.
///
/// ```
/// use casefilter::{Catalog, Document, Filter, FilterSet, StandingFilter};
/// let cases = Catalog::cases();
/// let set = FilterSet::new(&cases);
/// for (name, text) in [
///     ("open", "status = open"),
///     ("urgent", "status = open and priority = high"),
///     ("García", "name matches garcia"),
///     ("without tags", "tags is absent"),
/// ] {
///     set.insert(StandingFilter::new(name, &Filter::compile_text(&cases, text)?))?;
/// }
/// let document = br#"{"id":"1","name":"LUIS GARC\u00cdA","caseReview":{"status":"open"}}"#;
/// let matches = set.matching(&Document::parse(&cases, document)?)?;
/// assert_eq!(matches.sorted(), ["García", "open", "without tags"]);
/// assert!(set.remove("open"));
/// assert_eq!(set.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FilterSet {
    catalog: Catalog,
    pub(super) hasher: Hasher,
    pub(super) shared: Shared,
    most: usize,
}

/// The result of [`FilterSet::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InsertOutcome {
    /// The set had no filter of this name.
    New,
    /// The set had a filter of this name, which was replaced.
    Replaced,
}

/// The memory of a [`FilterSet`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FilterSetMemory {
    /// The number of filters.
    pub filters: u64,
    /// The size of the names and of the texts from which the filters were compiled, including removed ones that still take memory.
    pub texts_bytes: u64,
    /// The size of everything else: the tests of the filters, and the indexes by which filters and names are found.
    pub index_bytes: u64,
}

impl FilterSet {
    /// The maximum number of filters, unless the host [sets](Self::with_max_filters) another maximum.
    pub const MAX_FILTERS: usize = 10_000_000;

    /// Creates an empty set for filters of a catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        Self::on(catalog, Shared::new)
    }

    pub(super) fn on(catalog: &Catalog, shared: impl FnOnce(Snapshot) -> Shared) -> Self {
        Self {
            catalog: catalog.clone(),
            hasher: Hasher::default(),
            shared: shared(Snapshot::default()),
            most: Self::MAX_FILTERS,
        }
    }

    /// Sets the maximum number of filters. The default is [`MAX_FILTERS`](Self::MAX_FILTERS).
    ///
    /// ```
    /// use casefilter::{Catalog, ErrorKind, Filter, FilterSet, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases).with_max_filters(1);
    /// let all = Filter::all(&cases);
    /// set.insert(StandingFilter::new("a", &all))?;
    /// set.insert(StandingFilter::new("a", &!all.clone()))?;
    /// assert_eq!(set.insert(StandingFilter::new("b", &all)).unwrap_err().kind, ErrorKind::TooManyFilters);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    #[must_use]
    pub fn with_max_filters(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Returns the catalogue of the filters.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Inserts a filter, or replaces the filter of the same name. A call of [`matching`](Self::matching) that begins after this
    /// call sees the filter.
    ///
    /// Complexity: the filter is moved to larger parts of the index a number of times that grows with the logarithm of the number
    /// of filters. An insertion that moves many filters takes long; other threads go on matching. To insert many filters,
    /// [`insert_many`](Self::insert_many) is faster.
    ///
    /// # Errors
    /// - [`ErrorKind::BadValue`] for an empty name, [`ErrorKind::StringTooLong`] for a name of more than 128 bytes
    /// - [`ErrorKind::BadTimestamp`] for a filter text with `now` or `today`: such a filter would select other documents after some
    ///   time, without a write
    /// - [`ErrorKind::CatalogMismatch`] for a filter whose catalogue is not [within](Catalog::is_within) that of the set
    /// - [`ErrorKind::CatalogMismatch`] for [fields](StandingFilter::with_fields) that the set's catalogue does not have
    /// - [`ErrorKind::TooManyFilters`] if the set is full
    pub fn insert(&self, filter: StandingFilter) -> Result<InsertOutcome, Error> {
        self.check(&filter)?;
        match self.insert_checked(vec![filter])? {
            0 => Ok(InsertOutcome::New),
            _ => Ok(InsertOutcome::Replaced),
        }
    }

    /// Inserts many filters at once. Returns the number of filters of the set that were replaced. Of several filters with one name,
    /// the last is inserted.
    ///
    /// A call of [`matching`](Self::matching) during this call sees either none of these filters or all of them.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterSet, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// let filters = ["a", "b", "a"].map(|name| StandingFilter::new(name, &Filter::all(&cases)));
    /// assert_eq!((set.insert_many(filters.clone())?, set.len()), (0, 2));
    /// assert_eq!((set.insert_many(filters)?, set.len()), (2, 2));
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert). If there is an error, no filter is inserted. The path of the error begins
    /// with the index of the filter, such as `filters[2].name`. The error [`ErrorKind::TooManyFilters`] has no path.
    pub fn insert_many(&self, filters: impl IntoIterator<Item = StandingFilter>) -> Result<usize, Error> {
        self.insert_checked(self.checked(filters)?)
    }

    /// Checks filters. Returns the last one of each name.
    ///
    /// # Errors
    /// Returns the errors of [`insert_many`](Self::insert_many), except [`ErrorKind::TooManyFilters`].
    pub(crate) fn checked(
        &self,
        filters: impl IntoIterator<Item = StandingFilter>,
    ) -> Result<Vec<StandingFilter>, Error> {
        let mut checked: Vec<StandingFilter> = Vec::new();
        let mut places: HashMap<Box<str>, usize> = HashMap::new();
        for (number, filter) in filters.into_iter().enumerate() {
            self.check(&filter).map_err(|mut error| {
                let rest = if error.path.is_empty() { "" } else { "." };
                error.path = format!("filters[{number}]{rest}{}", error.path);
                error
            })?;
            match places.get(&*filter.key()).and_then(|place| checked.get_mut(*place)) {
                Some(earlier) => *earlier = filter,
                None => {
                    places.insert(filter.key().into(), checked.len());
                    checked.push(filter);
                }
            }
        }
        Ok(checked)
    }

    /// Checks the name, the filter and the fields of a standing filter.
    pub(crate) fn check(&self, filter: &StandingFilter) -> Result<(), Error> {
        filter.filter().catalog().check_within(&self.catalog, "filter set")?;
        if let Some(field) = filter.fields().iter().find(|field| self.catalog.get(**field).is_none()) {
            let found = format!("field {} of another catalogue", field.index());
            let error =
                Error::new(ErrorKind::CatalogMismatch, 0, found, "fields of the catalogue of the filter set");
            return Err(error.at("fields"));
        }
        filter.check()
    }

    fn check_len(&self, len: usize) -> Result<(), Error> {
        if len <= self.most {
            return Ok(());
        }
        let found = format!("{len} standing filters");
        let expected = format!("at most {}", self.most);
        Err(Error::new(ErrorKind::TooManyFilters, 0, found, expected))
    }

    /// Checks that the set has room for filters with different names, which were [checked](Self::checked).
    #[cfg(feature = "store")]
    pub(crate) fn check_room(&self, filters: &[StandingFilter]) -> Result<(), Error> {
        let snapshot = self.shared.load();
        let new = filters.iter().filter(|filter| snapshot.find(&self.hasher, &filter.key()).is_none());
        self.check_len(snapshot.len().saturating_add(new.count()))
    }

    /// Replaces all filters of the set by `filters`.
    ///
    /// # Errors
    /// Returns the errors of [`insert_many`](Self::insert_many). If there is an error, nothing is changed.
    #[cfg(feature = "store")]
    pub(crate) fn replace_all(&self, filters: Vec<StandingFilter>) -> Result<(), Error> {
        let filters = self.checked(filters)?;
        self.check_len(filters.len())?;
        let writing = self.shared.write();
        let mut next = Snapshot::default();
        self.add(&mut next, filters);
        writing.publish(next);
        Ok(())
    }

    fn add(&self, next: &mut Snapshot, filters: Vec<StandingFilter>) {
        let added = filters.into_iter().map(|filter| {
            let (name, filter, fields) = filter.into_parts();
            (name, filter, (!fields.is_empty()).then(|| Watched::from(fields)))
        });
        next.add(added.collect(), &self.catalog, &self.hasher);
    }

    /// Inserts filters with different names. Returns the number of filters of the set that were replaced.
    fn insert_checked(&self, filters: Vec<StandingFilter>) -> Result<usize, Error> {
        self.exchange(&[], filters)
    }

    /// Removes the filters with these keys, and inserts filters with different names, which were [checked](Self::checked). A call
    /// of [`matching`](Self::matching) during this call sees either the set before the change or the set after it. Returns the
    /// number of filters of the set that were removed or replaced.
    ///
    /// # Errors
    /// Returns [`ErrorKind::TooManyFilters`] if the set would have too many filters. Nothing is changed in this case.
    pub(crate) fn exchange(&self, removed: &[String], filters: Vec<StandingFilter>) -> Result<usize, Error> {
        let writing = self.shared.write();
        let mut next = Snapshot::clone(&writing.current());
        let before = next.len();
        let mut replaced: usize = 0;
        let inserted = filters.iter().map(StandingFilter::key);
        for key in removed.iter().map(|key| Cow::Borrowed(key.as_str())).chain(inserted) {
            if let Some(place) = next.find(&self.hasher, &key) {
                next.remove(place);
                replaced = replaced.saturating_add(1);
            }
        }
        self.check_len(before.saturating_add(filters.len()).saturating_sub(replaced))?;
        self.add(&mut next, filters);
        if replaced > 0 {
            next.tidy(&self.catalog, &self.hasher);
        }
        writing.publish(next);
        Ok(replaced)
    }

    /// Removes the filter of this name. Returns false if there is none.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterSet};
    /// assert!(!FilterSet::new(&Catalog::cases()).remove("unknown"));
    /// ```
    pub fn remove(&self, name: &str) -> bool {
        let writing = self.shared.write();
        let current = writing.current();
        let Some(place) = current.find(&self.hasher, name) else { return false };
        let mut next = Snapshot::clone(&current);
        next.remove(place);
        next.tidy(&self.catalog, &self.hasher);
        writing.publish(next);
        true
    }

    /// Returns the filter of this name.
    ///
    /// The set keeps the text of a filter, and compiles it again for this call.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterSet, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// let vip = StandingFilter::new("vip", &Filter::compile_text(&cases, "tags = vip")?);
    /// set.insert(vip.clone())?;
    /// assert_eq!(set.get("vip"), Some(vip));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<StandingFilter> {
        let snapshot = self.shared.load();
        self.at(&snapshot, snapshot.find(&self.hasher, name)?)
    }

    /// Returns true if the set has a filter of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.shared.load().find(&self.hasher, name).is_some()
    }

    fn at(&self, snapshot: &Snapshot, place: Place) -> Option<StandingFilter> {
        let (filter, watched) = match place {
            Place::Recent(at) => {
                let recent = snapshot.recent.get(at as usize)?;
                (recent.filter.filter().clone(), recent.watched.as_deref())
            }
            Place::Layer(at, id) => {
                let names = &snapshot.layers.get(at as usize)?.segment.names;
                let filter = Filter::of_kept(&self.catalog, names.kept(id));
                debug_assert!(filter.is_ok(), "a filter that was compiled before: {filter:?}");
                (filter.ok()?, names.watched(id).map(|watched| &**watched))
            }
        };
        let fields: &[FieldId] = watched.unwrap_or_default();
        Some(StandingFilter::of_key(snapshot.name(place), &filter).with_fields(fields.iter().copied()))
    }

    /// Returns all filters, in no particular order. Later insertions and removals do not change them. The iterator compiles filters
    /// again, as [`get`](Self::get) does.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterSet, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// set.insert(StandingFilter::new("all", &Filter::all(&cases)))?;
    /// assert!(set.iter().all(|standing| standing.name() == "all"));
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = StandingFilter> {
        let snapshot = self.shared.load();
        let places: Vec<Place> = snapshot.places().collect();
        places.into_iter().filter_map(move |place| self.at(&snapshot, place))
    }

    /// Returns the number of filters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.load().len()
    }

    /// Returns true if the set has no filter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory of the set.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterSet};
    /// assert_eq!(FilterSet::new(&Catalog::cases()).memory().filters, 0);
    /// ```
    #[must_use]
    pub fn memory(&self) -> FilterSetMemory {
        let snapshot = self.shared.load();
        let (mut texts, mut index) = (0_usize, 0_usize);
        for layer in &snapshot.layers {
            texts = texts.saturating_add(layer.segment.names.text_bytes());
            index =
                index.saturating_add(layer.segment.size_bytes()).saturating_add(layer.removed.size_bytes());
        }
        for recent in &snapshot.recent {
            texts = texts.saturating_add(recent.name.len());
            index = index.saturating_add(recent.filter.filter().size_bytes());
        }
        FilterSetMemory {
            filters: snapshot.len() as u64,
            texts_bytes: texts as u64,
            index_bytes: index as u64,
        }
    }

    /// Returns the names of the filters that select a document.
    ///
    /// # Errors
    /// Returns an error of kind [`CatalogMismatch`](ErrorKind::CatalogMismatch) if the catalogue of the set is not
    /// [within](Catalog::is_within) the catalogue of the document.
    pub fn matching(&self, document: &Document) -> Result<FilterMatches, Error> {
        let mut matches = FilterMatches::new();
        self.matching_into(document, &mut matches)?;
        Ok(matches)
    }

    /// Replaces the names in `matches` by those of the filters that select a document. Reuses the memory of `matches`.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Filter, FilterSet, FilterMatches, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// set.insert(StandingFilter::new("vip", &Filter::compile_text(&cases, "tags = vip")?))?;
    /// let mut matches = FilterMatches::new();
    /// let mut found = 0;
    /// for document in [r#"{"id":"1","tags":["vip"]}"#, r#"{"id":"2"}"#] {
    ///     set.matching_into(&Document::parse(&cases, document.as_bytes())?, &mut matches)?;
    ///     found += matches.len();
    /// }
    /// assert_eq!(found, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of [`matching`](Self::matching). If there is an error, `matches` stays unchanged.
    pub fn matching_into(&self, document: &Document, matches: &mut FilterMatches) -> Result<(), Error> {
        self.catalog.check_within(document.catalog(), "document")?;
        self.matching_row(document.row(), document.catalog(), matches);
        Ok(())
    }

    /// Replaces the names in `matches` by those of the filters that select a document in JSON.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterSet, FilterMatches, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// set.insert(StandingFilter::new("vip", &Filter::compile_text(&cases, "tags = vip")?))?;
    /// let mut matches = FilterMatches::new();
    /// set.matching_json(br#"{"id":"1","tags":["vip"]}"#, &mut matches)?;
    /// assert!(matches.iter().eq(["vip"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Document::parse`]. If there is an error, `matches` stays unchanged.
    pub fn matching_json(&self, json: &[u8], matches: &mut FilterMatches) -> Result<(), Errors> {
        let document = Document::parse(&self.catalog, json)?;
        self.matching_row(document.row(), &self.catalog, matches);
        Ok(())
    }

    /// Replaces the names in `matches` by those of the filters that select a row. `catalog` is the catalogue with which the row was
    /// read; the catalogue of the set must be within it.
    pub(crate) fn matching_row(&self, row: &OwnedRow, catalog: &Catalog, matches: &mut FilterMatches) {
        matches.fill(self.shared.load(), |snapshot, scratch, found| {
            snapshot.matching(row, catalog, &self.hasher, scratch, |place| found.push(place));
        });
    }
}

impl fmt::Debug for FilterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterSet").field("len", &self.len()).finish_non_exhaustive()
    }
}
