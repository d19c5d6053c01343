//! The arguments for counts by value, and the request that is built from them.

use std::path::PathBuf;

use casefilter::internal::{FacetDefaults, parse_facet};
use casefilter::{AsOf, Catalog, Deadline, Error, Errors, FacetsRequest, Filter, Limits, SearchRequest};
use serde::Serialize;

use crate::input::selection::Criteria;
use crate::output::dash::is_stdin;
use crate::output::diagnostics::{Fault, Source};
use crate::output::failure::Failure;

/// The arguments that name the fields to count.
#[derive(clap::Args)]
pub(crate) struct FacetArgs {
    /// Count the cases of each value of a field; may be repeated
    ///
    /// FORM says how the values are counted. `limit=N` shows at most N values. For a field of times, `hour`, `day`, `week`,
    /// `month`, `quarter` or `year` counts by interval. For a field of numbers, `width=100` or `edges=0,100,1000` counts by bucket.
    /// For a field of times or numbers, `stats` shows the count, minimum, maximum, sum and mean.
    #[arg(long, value_name = "FIELD[:FORM]", required_unless_present = "facets")]
    by: Vec<String>,

    /// A request in the form of the service, with the filter and `facets`; from a file or from standard input
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["by", "body", "text", "limit", "own_criteria_apart"])]
    facets: Option<PathBuf>,

    /// Show at most N values of a field [default: 10]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Count each field without the criteria that name only this field
    ///
    /// With such counts, a dashboard can show the other values of a field beside the chosen value.
    #[arg(long)]
    own_criteria_apart: bool,
}

/// A request for counts, and the same request as a service receives it.
pub(crate) struct Facets {
    pub(crate) request: FacetsRequest,
    pub(crate) question: FacetsQuestion,
}

/// The body of a request for counts to a service.
#[derive(Clone, Default, Serialize)]
pub(crate) struct FacetsQuestion {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    by: Vec<String>,
    limit: Option<u64>,
    utc_offset_s: Option<i32>,
    own_criteria_apart: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    explain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

impl FacetsQuestion {
    /// Returns a copy of the question that asks about the cases as of `moment`, or about the present cases if `moment` is `None`.
    pub(crate) fn as_of(&self, moment: Option<AsOf>) -> Self {
        Self { as_of: moment.map(|moment| moment.to_string()), ..self.clone() }
    }

    /// Returns a copy of the question that asks how each facet is counted, instead of asking for the counts.
    pub(crate) fn explaining(&self) -> Self {
        Self { explain: true, ..self.clone() }
    }
}

impl Facets {
    /// Creates the request from a body in the form of the service.
    pub(crate) fn of_body(request: FacetsRequest, text: &str) -> Self {
        let question = FacetsQuestion { request: Some(text.to_owned()), ..FacetsQuestion::default() };
        Self { request, question }
    }

    /// Sets the deadline of a request that is answered in this process.
    pub(crate) fn with_deadline(self, deadline: Option<Deadline>) -> Self {
        Self { request: self.request.with_deadline(deadline), ..self }
    }
}

impl FacetArgs {
    /// Returns true if the request is read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.facets.as_deref().is_some_and(is_stdin)
    }

    /// Builds the request from the arguments and the filter.
    pub(crate) fn request(&self, catalog: &Catalog, criteria: &Criteria) -> Result<Facets, Failure> {
        if let Some(path) = &self.facets {
            let (request, text) = criteria.facets(catalog, path)?;
            return Ok(Facets::of_body(request, &text));
        }
        let filter = criteria.request(catalog, None)?.filter;
        if let Some(limit) = self.limit.filter(|limit| *limit > Limits::default().facet_values) {
            return Err(Failure::Usage(format!(
                "--limit: found {limit}, expected at most {}",
                Limits::default().facet_values
            )));
        }
        let defaults = FacetDefaults {
            limit: self.limit,
            utc_offset: Some(criteria.utc_offset()),
            own_criteria_apart: self.own_criteria_apart,
        };
        Facets::parse(catalog, filter, &self.by, &defaults)
    }
}

impl Facets {
    /// Parses the values of `--by`.
    pub(crate) fn parse(
        catalog: &Catalog,
        filter: Filter,
        by: &[String],
        defaults: &FacetDefaults,
    ) -> Result<Self, Failure> {
        let most = Limits::default().facets;
        if by.len() > most {
            return Err(Failure::Usage(format!("found {} times --by, expected at most {most}", by.len())));
        }
        let mut request = FacetsRequest::new(filter);
        let mut faults: Vec<(Error, &str)> = Vec::new();
        for text in by {
            match parse_facet(catalog, text, defaults) {
                Ok(facet) => request = request.with_facet(facet),
                Err(error) => faults.push((error, text)),
            }
        }
        let sources = faults.iter().map(|(_, text)| Source::argument("--by", text)).collect();
        let errors = faults.into_iter().map(|(error, _)| Errors::from(error)).reduce(Errors::followed_by);
        if let Some(errors) = errors {
            return Err(Failure::BadFilter(Fault { errors, sources }.render()));
        }
        let question = FacetsQuestion {
            body: (!request.filter.is_all()).then(|| request.filter.to_json()),
            by: by.to_vec(),
            limit: defaults.limit,
            utc_offset_s: defaults.utc_offset.map(|offset| offset.local_minus_utc()),
            own_criteria_apart: defaults.own_criteria_apart,
            ..FacetsQuestion::default()
        };
        Ok(Self { request, question })
    }

    /// Returns a search with the same filter, for warnings and hints.
    pub(crate) fn search(&self) -> SearchRequest {
        SearchRequest::new(self.request.filter.clone())
    }
}
