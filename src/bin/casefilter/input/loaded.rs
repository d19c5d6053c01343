//! Cases wherever they are held: in memory, or in a database.

use std::time::{Duration, Instant};

use casefilter::explain::{Explanation, Phase};
use casefilter::{
    Answer, Catalog, Engine, Filter, Memory, Request, Store, StoreError, StoreErrorKind, WrittenAnswer,
};
use serde_json::value::{RawValue, to_raw_value};

use crate::input::served::Served;
use crate::output::escape::escape;
use crate::output::failure::{Failure, windows_path};

/// Cases that can be searched.
pub(crate) enum Held {
    Memory(Box<Engine>),
    Database(Box<Store>),
    /// A service has them.
    Service(Box<Served>),
}

/// How a request is answered, as JSON and as a tree to read.
pub(crate) struct Explained {
    pub(crate) json: Box<RawValue>,
    pub(crate) text: String,
}

/// The page that a search found.
pub(crate) enum Found {
    Memory(Answer),
    Written(WrittenAnswer),
}

impl Held {
    pub(crate) fn catalog(&self) -> &Catalog {
        match self {
            Self::Memory(engine) => engine.catalog(),
            Self::Database(store) => store.catalog(),
            Self::Service(served) => served.catalog(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        let len = match self {
            Self::Memory(engine) => engine.len(),
            Self::Database(store) => store.len(),
            Self::Service(served) => return served.len(),
        };
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    /// What the cases take in memory; none when a service has them.
    pub(crate) fn memory(&self) -> Option<Memory> {
        match self {
            Self::Memory(engine) => Some(engine.memory()),
            Self::Database(store) => Some(store.memory()),
            Self::Service(_) => None,
        }
    }

    pub(crate) fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        match self {
            Self::Memory(engine) => Ok(engine.count(filter)?),
            Self::Database(store) => Ok(store.count(filter)?),
            Self::Service(served) => served.count(filter),
        }
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

    /// The ids of all cases that look like this one, the nearest first, at most three.
    pub(crate) fn near_ids(&self, id: &str) -> Result<Vec<String>, Failure> {
        let request = Request::new(Filter::all(self.catalog())).limit(u64::MAX);
        let mut nearest = Nearest::new(id);
        self.each_id(&request, |other| {
            nearest.take(other);
            Ok(())
        })?;
        Ok(nearest.found.into_iter().map(|(_, id)| id).collect())
    }

    /// Why a filter may select no case.
    pub(crate) fn hints(&self, filter: &Filter) -> Result<Vec<String>, Failure> {
        let hints = match self {
            Self::Memory(engine) => engine.hints(filter),
            Self::Database(store) => store.hints(filter),
            Self::Service(served) => return served.hints(filter),
        };
        Ok(hints.iter().map(ToString::to_string).collect())
    }

    /// How a request is answered; with the time of compiling, what that cost too.
    pub(crate) fn explain(
        &self,
        request: &Request,
        compiling: Option<Duration>,
    ) -> Result<Explained, Failure> {
        let start = Instant::now();
        let clock = || start.elapsed();
        let explanation = match (self, compiling) {
            (Self::Memory(engine), None) => engine.explain(request),
            (Self::Memory(engine), Some(_)) => engine.analyze(request, &clock),
            (Self::Database(store), None) => store.explain(request),
            (Self::Database(store), Some(_)) => store.analyze(request, &clock),
            (Self::Service(served), _) => return served.explain(request, compiling),
        };
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
}

impl Held {
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

    /// At which place of all the cases that a request selects, in its order, the one of an id stands, counted from 1.
    pub(crate) fn place_of(&self, id: &str, request: &Request) -> Result<Option<u64>, Failure> {
        let all = request.clone().offset(0).limit(u64::MAX);
        let (mut place, mut found) = (0_u64, None);
        self.each_id(&all, |other| {
            place = place.saturating_add(1);
            if other == id {
                found = Some(place);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl Found {
    pub(crate) fn len(&self) -> u64 {
        let len = match self {
            Self::Memory(answer) => answer.len(),
            Self::Written(answer) => answer.len(),
        };
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    pub(crate) fn total(&self) -> Option<u64> {
        match self {
            Self::Memory(answer) => answer.total(),
            Self::Written(answer) => answer.total(),
        }
    }

    pub(crate) fn ids(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Memory(answer) => Box::new(answer.ids()),
            Self::Written(answer) => Box::new(answer.ids()),
        }
    }

    pub(crate) fn documents(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Memory(answer) => Box::new(answer.documents()),
            Self::Written(answer) => Box::new(answer.documents()),
        }
    }

    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            Self::Memory(answer) => answer.write_json(out),
            Self::Written(answer) => out.push_str(answer.as_json()),
        }
    }
}

/// With the time that compiling the filter took in front of the others, where there are some.
pub(crate) fn with_compiling(mut explanation: Explanation, time: Duration) -> Explanation {
    if let Some(analysis) = &mut explanation.analysis {
        analysis.phases.insert(0, Phase { name: "compile", time });
    }
    explanation
}

/// The failure of a database.
pub(crate) fn failed(error: &StoreError) -> Failure {
    match error.kind() {
        StoreErrorKind::NotFound => {
            let text = error.to_string();
            let advice = text.rsplit_once(": ").and_then(|(name, _)| windows_path(name));
            Failure::Failed(format!("{}{}", escape(&text), advice.unwrap_or_default()))
        }
        StoreErrorKind::Refused => Failure::Refused(escape(&error.to_string()).into_owned()),
        StoreErrorKind::InUse => Failure::Failed(format!(
            "{}; stop it, or, if it is a service, ask that or take a copy by `casefilter backup`",
            escape(&error.to_string())
        )),
        _ => Failure::Failed(escape(&error.to_string()).into_owned()),
    }
}

/// The ids that are few typing errors away from one, the nearest first, at most three.
struct Nearest {
    wanted: String,
    /// How many errors there may be.
    errors: usize,
    found: Vec<(usize, String)>,
}

impl Nearest {
    /// The distance is quadratic, and longer ids are not typed.
    const LONGEST: usize = 64;
    const MOST: usize = 3;

    fn new(id: &str) -> Self {
        let wanted = id.trim().to_lowercase();
        let errors = (wanted.len() / 4).clamp(1, 2);
        Self { wanted, errors, found: Vec::new() }
    }

    fn take(&mut self, other: &str) {
        let Self { wanted, errors, found } = self;
        let is_long = other.len().max(wanted.len()) > Self::LONGEST;
        if is_long || other.len().abs_diff(wanted.len()) > errors.saturating_mul(4) {
            return;
        }
        let distance = strsim::damerau_levenshtein(wanted, &other.to_lowercase());
        let is_nearer = found.len() < Self::MOST || found.iter().any(|(most, _)| distance < *most);
        if distance <= *errors && is_nearer {
            found.push((distance, other.to_owned()));
            found.sort_unstable();
            found.truncate(Self::MOST);
        }
    }
}
