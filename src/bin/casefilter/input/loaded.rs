//! Loaded cases: in memory, in a database that is open here, or in one that a service has open.

use std::time::{Duration, Instant};

use casefilter::{Answer, Catalog, Engine, Filter, Memory, Request, Store, WrittenAnswer};
use serde_json::value::to_raw_value;

use crate::input::explained::{Explained, with_compiling};
use crate::input::served::Served;
use crate::output::failure::{Failure, failed};

/// Calls the same method of either an engine or a store: they have the same methods, and no trait in common.
macro_rules! here_or_there {
    ($self:expr, $cases:ident => $here:expr, $served:ident => $there:expr) => {
        match $self {
            LoadedCases::Memory($cases) => $here,
            LoadedCases::Database($cases) => $here,
            LoadedCases::Service($served) => $there,
        }
    };
}

/// Calls the same method of an answer and of a written one.
macro_rules! either {
    ($self:expr, $answer:ident => $call:expr) => {
        match $self {
            Found::Memory($answer) => $call,
            Found::Written($answer) => $call,
        }
    };
}

/// Cases that can be searched.
pub(crate) enum LoadedCases {
    Memory(Box<Engine>),
    Database(Box<Store>),
    /// A service has them.
    Service(Box<Served>),
}

/// The page that a search found.
pub(crate) enum Found {
    Memory(Answer),
    Written(WrittenAnswer),
}

impl LoadedCases {
    pub(crate) fn catalog(&self) -> &Catalog {
        here_or_there!(self, cases => cases.catalog(), served => served.catalog())
    }

    pub(crate) fn len(&self) -> u64 {
        let len = here_or_there!(self, cases => cases.len(), served => return served.len());
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    /// Returns what the cases take in memory; none when a service has them.
    pub(crate) fn memory(&self) -> Option<Memory> {
        here_or_there!(self, cases => Some(cases.memory()), _served => None)
    }

    pub(crate) fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        here_or_there!(self, cases => Ok(cases.count(filter)?), served => served.count(filter))
    }

    pub(crate) fn search(&self, request: &Request) -> Result<Found, Failure> {
        match self {
            Self::Memory(engine) => Ok(Found::Memory(engine.search(request)?)),
            Self::Database(store) => {
                store.search(request).map(Found::Written).map_err(|error| failed(&error))
            }
            Self::Service(served) => served.search(request).map(Found::Written),
        }
    }

    /// Returns why a filter may select no case.
    pub(crate) fn hints(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        let hints = here_or_there!(self, cases => cases.hints(filter), served => return served.hints(filter));
        Ok(hints.iter().map(ToString::to_string).collect())
    }

    /// Returns the members of the cases of a database that look like fields of a filter. Those of files are in the report of their
    /// import.
    pub(crate) fn unknown_members(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        let hints = match self {
            Self::Memory(_) => return Ok(Vec::new()),
            Self::Database(store) => store.unknown_members(filter),
            Self::Service(served) => return served.unknown_members(filter),
        };
        Ok(hints.iter().map(ToString::to_string).collect())
    }

    /// Returns how a request is answered; with the time of compiling, what that cost too.
    pub(crate) fn explain(
        &self,
        request: &Request,
        compiling: Option<Duration>,
    ) -> Result<Explained, Failure> {
        let start = Instant::now();
        let clock = || start.elapsed();
        let explanation = here_or_there!(
            self,
            cases => match compiling {
                None => cases.explain(request),
                Some(_) => cases.analyze(request, &clock),
            },
            served => return served.explain(request, compiling)
        );
        let explanation = with_compiling(explanation?, compiling.unwrap_or_default());
        let text = explanation.to_string();
        let json = to_raw_value(&explanation).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Explained { json, text })
    }

    /// Closes the database, and says what that finds wrong.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {
            Self::Memory(_) | Self::Service(_) => Ok(()),
            Self::Database(store) => store.close().map_err(|error| failed(&error)),
        }
    }

    /// Hands over every document that a request asks for.
    pub(crate) fn each_document(
        &self,
        request: &Request,
        mut take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Memory(engine) => engine.search(request)?.documents().try_for_each(take),
            Self::Database(store) => store
                .documents(request)?
                .try_for_each(|document| take(&document.map_err(|error| failed(&error))?)),
            Self::Service(served) => served.cases(request, true, |_, document| take(document)).map(drop),
        }
    }

    /// Hands over the id of every case that a request asks for.
    pub(crate) fn each_id(
        &self,
        request: &Request,
        take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Memory(engine) => engine.search(request)?.ids().try_for_each(take),
            Self::Database(store) => store.each_id(request, take),
            Self::Service(served) => served.each_id(request, take),
        }
    }
}

impl Found {
    pub(crate) fn len(&self) -> u64 {
        let len = either!(self, answer => answer.len());
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    pub(crate) fn total(&self) -> Option<u64> {
        either!(self, answer => answer.total())
    }

    pub(crate) fn ids(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        either!(self, answer => Box::new(answer.ids()))
    }

    pub(crate) fn documents(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        either!(self, answer => Box::new(answer.documents()))
    }

    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            Self::Memory(answer) => answer.write_json(out),
            Self::Written(answer) => out.push_str(answer.as_json()),
        }
    }
}
