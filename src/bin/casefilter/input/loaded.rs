//! Searches the loaded cases. They are in one of three places: in memory, in a database that this process has opened, or in the
//! database of a service.

use std::time::{Duration, Instant};

use casefilter::{
    AsOf, Catalog, Engine, Filter, MemoryUsage, SearchAnswer, SearchRequest, Store, StoreSnapshot,
};
use serde_json::value::to_raw_value;

use crate::input::explained::Explained;
use crate::input::facets::Facets;
use crate::input::served::Served;
use crate::output::failure::{Failure, failed};

/// Evaluates the first expression for an engine, a store, or a snapshot of a store. These types have the same methods, but no
/// common trait. For cases of a service, evaluates the second expression.
macro_rules! local_or_served {
    ($self:expr, $cases:ident => $here:expr, $served:ident => $there:expr) => {
        match $self {
            LoadedCases::Memory($cases) => $here,
            LoadedCases::Database($cases) => $here,
            LoadedCases::Earlier(earlier) => {
                let $cases = earlier.snapshot()?;
                $here
            }
            LoadedCases::Service($served) => $there,
        }
    };
}

/// Cases that can be searched.
pub(crate) enum LoadedCases {
    Memory(Box<Engine>),
    Database(Box<Store>),
    /// The cases of a database at an earlier moment.
    Earlier(Box<Earlier>),
    /// Cases in a database that a service has open.
    Service(Box<Served>),
}

/// A database, and an earlier moment. Searches find the cases as they were at this moment.
pub(crate) struct Earlier {
    store: Store,
    moment: AsOf,
    len: usize,
}

impl Earlier {
    fn snapshot(&self) -> Result<StoreSnapshot<'_>, Failure> {
        self.store.as_of(self.moment).map_err(|error| failed(&error))
    }
}

impl LoadedCases {
    /// If a moment is given, makes all later searches find the cases as they were at that moment.
    pub(crate) fn at_moment(self, moment: Option<AsOf>) -> Result<Self, Failure> {
        let Some(moment) = moment else { return Ok(self) };
        Ok(match self {
            Self::Database(store) => {
                let len = store.as_of(moment).map_err(|error| failed(&error))?.len();
                Self::Earlier(Box::new(Earlier { store: *store, moment, len }))
            }
            Self::Service(served) => Self::Service(Box::new(served.at_moment(moment)?)),
            // Files have no history, and a moment is set only once.
            Self::Memory(_) | Self::Earlier(_) => self,
        })
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        match self {
            Self::Memory(engine) => engine.catalog(),
            Self::Database(store) => store.catalog(),
            Self::Earlier(earlier) => earlier.store.catalog(),
            Self::Service(served) => served.catalog(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        let len = match self {
            Self::Memory(engine) => engine.len(),
            Self::Database(store) => store.len(),
            Self::Earlier(earlier) => earlier.len,
            Self::Service(served) => return served.len(),
        };
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    /// Returns the memory that the cases use. Returns `None` if a service has the database open.
    pub(crate) fn memory(&self) -> Option<MemoryUsage> {
        match self {
            Self::Memory(engine) => Some(engine.memory()),
            Self::Database(store) => Some(store.memory()),
            Self::Earlier(earlier) => Some(earlier.store.memory()),
            Self::Service(_) => None,
        }
    }

    pub(crate) fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        local_or_served!(self, cases => Ok(cases.count(filter)?), served => served.count(filter))
    }

    /// Counts the cases that the filter of a request selects. A deadline of the request stops the count.
    pub(crate) fn total(&self, request: &SearchRequest) -> Result<u64, Failure> {
        let counting = request.clone().with_order(None).with_cursor(false).with_after(None);
        let counting = counting.with_offset(0).with_limit(0).with_count(true);
        match self {
            Self::Service(served) => served.count(&request.filter),
            _ => Ok(self.search(&counting)?.total().unwrap_or_default()),
        }
    }

    /// Sets the maximum time that a service may take for each search. Searches in this process have a deadline in their request
    /// instead.
    pub(crate) fn limit_service(&mut self, timeout: Option<Duration>) {
        if let Self::Service(served) = self {
            served.limit(timeout);
        }
    }

    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Failure> {
        match self {
            Self::Memory(engine) => Ok(engine.search(request)?),
            Self::Database(store) => store.search(request).map_err(|error| failed(&error)),
            Self::Earlier(earlier) => earlier.snapshot()?.search(request).map_err(|error| failed(&error)),
            Self::Service(served) => served.search(request),
        }
    }

    /// Counts the values of fields. Returns the answer as JSON, in the form of the service.
    pub(crate) fn facets(&self, facets: &Facets) -> Result<String, Failure> {
        local_or_served!(
            self,
            cases => Ok(cases.facets(&facets.request)?.to_json()),
            served => served.facets(&facets.question)
        )
    }

    /// Returns how the values of fields are counted.
    pub(crate) fn explain_facets(&self, facets: &Facets) -> Result<Explained, Failure> {
        let explained = local_or_served!(
            self,
            cases => cases.explain_facets(&facets.request)?,
            served => return served.explain_facets(&facets.question)
        );
        let text = explained.iter().map(|facet| format!("{facet}\n")).collect();
        let json = to_raw_value(&explained).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Explained { json, text })
    }

    /// Returns hints about possible reasons why the filter of a request selects no case.
    pub(crate) fn hints(&self, request: &SearchRequest) -> Result<Vec<String>, Failure> {
        let hints = match self {
            Self::Memory(engine) => engine.hints_for(request)?,
            Self::Database(store) => store.hints_for(request)?,
            Self::Earlier(_) => return Ok(Vec::new()),
            Self::Service(served) => return served.hints(&request.filter),
        };
        Ok(hints.iter().map(ToString::to_string).collect())
    }

    /// Returns hints about unknown members. An unknown member of a document is not a field, but its name is similar to the name of
    /// a field of the filter. Returns no hints for cases from files, because the report of their import already contains these
    /// members. Also returns none for an earlier moment.
    pub(crate) fn unknown_members(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        let hints = match self {
            Self::Memory(_) | Self::Earlier(_) => return Ok(Vec::new()),
            Self::Database(store) => store.unknown_members(filter),
            Self::Service(served) => return served.unknown_members(filter),
        };
        Ok(hints.iter().map(ToString::to_string).collect())
    }

    /// Returns the explanation of a request. `compiling` is the time that compiling the request took. If it is given, this method
    /// also executes the request, and the explanation includes the costs.
    pub(crate) fn explain(
        &self,
        request: &SearchRequest,
        compiling: Option<Duration>,
    ) -> Result<Explained, Failure> {
        let start = Instant::now();
        let clock = || start.elapsed();
        let explanation = local_or_served!(
            self,
            cases => match compiling {
                None => cases.explain(request)?,
                Some(_) => cases.analyze(request, &clock)?,
            },
            served => return served.explain(request, compiling)
        );
        let explanation = explanation.with_compile_time(compiling.unwrap_or_default());
        let text = explanation.to_string();
        let json = to_raw_value(&explanation).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Explained { json, text })
    }

    /// Reads all columns of a database, so that no search that is measured has to read them.
    pub(crate) fn warm(&self) -> Result<(), Failure> {
        match self {
            Self::Memory(_) | Self::Service(_) => Ok(()),
            Self::Database(store) => Ok(store.warm()?),
            Self::Earlier(earlier) => Ok(earlier.store.warm()?),
        }
    }

    /// Closes the database. Returns the errors that occur while closing.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {
            Self::Memory(_) | Self::Service(_) => Ok(()),
            Self::Database(store) => store.close().map_err(|error| failed(&error)),
            Self::Earlier(earlier) => earlier.store.close().map_err(|error| failed(&error)),
        }
    }

    /// Calls `take` for each document of the page.
    pub(crate) fn each_document(
        &self,
        request: &SearchRequest,
        mut take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Memory(engine) => engine.search(request)?.documents().try_for_each(take),
            Self::Database(store) => store
                .documents(request)?
                .try_for_each(|document| take(&document.map_err(|error| failed(&error))?)),
            Self::Earlier(earlier) => earlier
                .snapshot()?
                .documents(request)?
                .try_for_each(|document| take(&document.map_err(|error| failed(&error))?)),
            Self::Service(served) => served.cases(request, true, |_, document| take(document)).map(drop),
        }
    }

    /// Calls `take` for each id of the page.
    pub(crate) fn each_id(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Memory(engine) => engine.search(request)?.ids().try_for_each(take),
            Self::Database(store) => store.each_id(request, take),
            Self::Earlier(earlier) => earlier.snapshot()?.each_id(request, take),
            Self::Service(served) => served.each_id(request, take),
        }
    }
}

/// Returns the number of cases on a page.
pub(crate) fn len_of(answer: &SearchAnswer) -> u64 {
    u64::try_from(answer.len()).unwrap_or(u64::MAX)
}
