//! A request for counts by value: a filter and facets.

use super::definition::Facet;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind};
use crate::filter::{Filter, FilterApart};
use crate::limits::Limits;
use crate::stop::{CancelToken, Deadline, StopConditions};

/// A request for counts by value: the filter that selects documents, and the facets that count their values.
///
/// [`FilterBuilder::facets`](crate::FilterBuilder::facets) parses the request of a client.
///
/// ```
/// use casefilter::{Catalog, Engine, Facet, FacetsRequest, Filter};
/// let engine = Engine::new(Catalog::cases());
/// engine.upsert_many(br#"[{"id":"a","tags":["vip","cash"]},{"id":"b","tags":["vip"]},{"id":"c"}]"#)?;
/// let request = FacetsRequest::new(Filter::all(engine.catalog()))
///     .with_facet(Facet::values(engine.catalog(), "tags")?);
/// assert_eq!(
///     engine.facets(&request)?.to_json(),
///     r#"{"totalItems":3,"facets":[{"field":"tags","values":[{"value":"vip","count":2},{"value":"cash","count":1}],"absent":1,"otherValues":0,"otherCount":0}]}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacetsRequest {
    /// The filter of the client. The counts of a facet can ignore [the criteria that name only its
    /// field](Facet::with_own_criteria_apart) in this filter.
    pub filter: Filter,
    /// A filter of the host that always applies, such as that of a tenant. All criteria of this filter apply to every facet. The
    /// answer does not mention these criteria.
    pub within: Option<Filter>,
    /// The facets, at most [`Limits::facets`].
    pub facets: Vec<Facet>,
    /// The token and the deadline that may stop the request.
    pub(crate) stop: StopConditions,
}

/// The filter that selects the documents of a facet.
pub(crate) struct FacetSelection {
    pub(crate) filter: Filter,
    /// True if the counts of the facet should ignore the criteria on its field, but some of these criteria still apply.
    pub(crate) with_own_criteria: bool,
}

/// The facets of a request that count the same documents.
pub(crate) struct FacetGroup {
    pub(crate) filter: Filter,
    /// The index of each facet in the request, and its [`with_own_criteria`](FacetSelection::with_own_criteria).
    pub(crate) facets: Vec<(usize, bool)>,
}

impl FacetsRequest {
    /// Creates a request without facets. Its answer has only the number of documents that the filter selects.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self { filter, within: None, facets: Vec::new(), stop: StopConditions::default() }
    }

    /// Adds a facet.
    #[must_use]
    pub fn with_facet(mut self, facet: Facet) -> Self {
        self.facets.push(facet);
        self
    }

    /// Adds facets.
    #[must_use]
    pub fn with_facets(mut self, facets: impl IntoIterator<Item = Facet>) -> Self {
        self.facets.extend(facets);
        self
    }

    /// Sets a filter of the host that always applies.
    ///
    /// [`Filter::and`] also restricts a client to its documents. But then all criteria apply to every facet, because the request
    /// cannot tell which criteria of the joined filter are the client's.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Facet, FacetsRequest, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","clientId":"acme","priority":"high"},{"id":"b","clientId":"acme","priority":"low"},
    ///     {"id":"c","clientId":"other","priority":"low"}]"#)?;
    /// let catalog = engine.catalog();
    /// let asked = Filter::compile_text(catalog, "priority = high and clientId = other")?;
    /// let request = FacetsRequest::new(asked)
    ///     .within(Filter::compile_text(catalog, "clientId = acme")?)
    ///     .with_facet(Facet::values(catalog, "clientId")?.with_own_criteria_apart(true));
    /// let answer = engine.facets(&request)?;
    /// assert_eq!(answer.total, 0);
    /// assert_eq!(answer.facets[0].total, 1, "the document of the tenant with priority high");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn within(self, filter: impl Into<Option<Filter>>) -> Self {
        Self { within: filter.into(), ..self }
    }

    /// Sets the token that can cancel the request, as [`SearchRequest::with_cancel`](crate::SearchRequest::with_cancel) does.
    #[must_use]
    pub fn with_cancel(self, token: impl Into<Option<CancelToken>>) -> Self {
        Self { stop: StopConditions { cancel: token.into(), ..self.stop }, ..self }
    }

    /// Sets the deadline of the request, as [`SearchRequest::with_deadline`](crate::SearchRequest::with_deadline) does.
    #[must_use]
    pub fn with_deadline(self, deadline: impl Into<Option<Deadline>>) -> Self {
        Self { stop: StopConditions { deadline: deadline.into(), ..self.stop }, ..self }
    }

    /// Checks that the filters and the facets fit `catalog`, and that they are within the limits. `whose` names the owner of the
    /// catalogue in the message.
    ///
    /// # Errors
    /// Returns [`ErrorKind::TooManyFacets`], [`ErrorKind::TooManyBuckets`] or [`ErrorKind::PageTooLarge`] if the facets exceed
    /// [`Limits`]. Returns [`ErrorKind::CatalogMismatch`] if a filter does not fit `catalog`, or if the catalogue of the filter
    /// hides the field of a facet.
    pub(crate) fn check(&self, catalog: &Catalog, limits: &Limits, whose: &str) -> Result<(), Error> {
        for filter in std::iter::once(&self.filter).chain(&self.within) {
            filter.catalog().check_within(catalog, whose)?;
        }
        if self.facets.len() > limits.facets {
            return Err(too_many_facets(self.facets.len(), limits, 0).at("facets"));
        }
        self.facets.iter().try_for_each(|facet| facet.check(self.filter.catalog(), limits))
    }

    /// Returns the filter that selects the documents of the request.
    pub(crate) fn selected(&self) -> Result<Filter, Error> {
        self.held(self.filter.clone())
    }

    /// Returns the filter that selects the documents of a facet.
    pub(crate) fn selected_for(&self, facet: &Facet) -> Result<FacetSelection, Error> {
        if !facet.is_own_criteria_apart() {
            return Ok(FacetSelection { filter: self.selected()?, with_own_criteria: false });
        }
        let FilterApart { filter, has_others } = self.filter.apart_from(facet.field_id());
        Ok(FacetSelection { filter: self.held(filter)?, with_own_criteria: has_others })
    }

    /// Groups the facets by the documents that they count. The first group counts the documents that the request selects.
    pub(crate) fn groups(&self) -> Result<Vec<FacetGroup>, Error> {
        let mut groups = vec![FacetGroup { filter: self.selected()?, facets: Vec::new() }];
        for (number, facet) in self.facets.iter().enumerate() {
            if !facet.is_own_criteria_apart() {
                if let Some(first) = groups.first_mut() {
                    first.facets.push((number, false));
                }
                continue;
            }
            let selection = self.selected_for(facet)?;
            let own = (number, selection.with_own_criteria);
            match groups.iter_mut().find(|group| group.filter == selection.filter) {
                Some(group) => group.facets.push(own),
                None => groups.push(FacetGroup { filter: selection.filter, facets: vec![own] }),
            }
        }
        Ok(groups)
    }

    /// Joins a filter with the filter of the host.
    fn held(&self, filter: Filter) -> Result<Filter, Error> {
        match &self.within {
            Some(within) => filter.and(within),
            None => Ok(filter),
        }
    }
}

/// Returns the error for more facets than the limit.
pub(super) fn too_many_facets(count: usize, limits: &Limits, offset: usize) -> Error {
    let expected = format!("at most {} facets", limits.facets);
    Error::new(ErrorKind::TooManyFacets, offset, format!("{count} facets"), expected)
}

/// Returns the place of a facet in a request, for errors. `number` counts from 0.
pub(crate) fn place_of(number: usize) -> String {
    format!("facets[{number}]")
}
