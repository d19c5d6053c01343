//! Inserts, replaces and removes standing filters, and checks that a set of filters finds those that the reference evaluator
//! selects.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use casefilter::{Document, Filter, FilterMatches, FilterSet, InsertOutcome, StandingFilter, reference};

use super::world::choices::Choices;
use super::world::generate::World;

/// A filter, and for each document of the world whether it selects the document.
struct Candidate {
    filter: Filter,
    selects: Vec<bool>,
}

impl Candidate {
    fn new(filter: Filter, world: &World) -> Self {
        let selects = world.documents.iter().map(|document| reference::matches(&filter, document).unwrap());
        Self { selects: selects.collect(), filter }
    }
}

/// Returns the filters of the requests, and some that join them.
fn candidates(world: &World, choices: &mut Choices<'_>) -> Vec<Candidate> {
    let compile =
        |body: &serde_json::Value, catalog| Filter::compile(catalog, body.to_string().as_bytes()).ok();
    let mut filters: Vec<Filter> =
        world.requests.iter().filter_map(|query| compile(&query.body, &query.catalog)).collect();
    filters.push(Filter::all(&world.catalog));
    filters.push(Filter::none(&world.catalog));
    for _ in 0..filters.len() / 2 {
        let (a, b) = (&filters[choices.below(filters.len())], &filters[choices.below(filters.len())]);
        let joined = match choices.below(4) {
            0 => Ok(!a),
            1 => a.and(b),
            2 => a.or(b),
            _ => (!a).or(b),
        };
        filters.extend(joined);
    }
    filters.retain(|filter| filter.catalog().is_within(&world.catalog));
    filters.into_iter().map(|filter| Candidate::new(filter, world)).collect()
}

/// Does `writes` writes to a set, and checks it after some of them. At the end the set has `filters` filters.
pub(crate) fn check(world: &World, choices: &mut Choices<'_>, writes: usize, filters: usize) {
    if world.is_faulty {
        return;
    }
    let candidates = candidates(world, choices);
    let documents: Vec<Document> = world
        .documents
        .iter()
        .map(|text| Document::parse(&world.catalog, text.as_bytes()).unwrap())
        .collect();
    let set = FilterSet::new(&world.catalog);
    let mut stored: BTreeMap<String, usize> = BTreeMap::new();
    let mut matches = FilterMatches::new();
    let mut check_all = |stored: &BTreeMap<String, usize>| {
        assert_eq!(set.len(), stored.len());
        for (at, document) in documents.iter().enumerate() {
            let expected: Vec<&str> = stored
                .iter()
                .filter(|(_, candidate)| candidates[**candidate].selects[at])
                .map(|(name, _)| name.as_str())
                .collect();
            set.matching_into(document, &mut matches).unwrap();
            let note = || {
                let of =
                    |name: &&str| stored.get(*name).map(|at| format!("{name}: {}", candidates[*at].filter));
                let found = matches.sorted();
                let wrong = found.iter().filter(|name| !expected.contains(name));
                let missing = expected.iter().filter(|name| !found.contains(name));
                let wrong: Vec<_> = wrong.map(of).collect();
                let missing: Vec<_> = missing.map(of).collect();
                format!("{}\nwrong {wrong:#?}\nmissing {missing:#?}", world.documents[at])
            };
            assert_eq!(matches.sorted(), expected, "{}", note());
        }
    };
    let standing = |name: &str, candidate: usize| StandingFilter::new(name, &candidates[candidate].filter);
    check_all(&stored);
    let names = filters.max(4) + 3;
    for _ in 0..writes {
        let name = format!("n{}", choices.below(names));
        match choices.below(8) {
            0 | 1 => assert_eq!(set.remove(&name), stored.remove(&name).is_some()),
            2 => {
                let many: Vec<(String, usize)> = (0..choices.below(80))
                    .map(|_| (format!("n{}", choices.below(names)), choices.below(candidates.len())))
                    .collect();
                let before = stored.len();
                let all = many.iter().map(|(name, candidate)| standing(name, *candidate));
                let replaced = set.insert_many(all).unwrap();
                let new: std::collections::BTreeSet<&String> = many.iter().map(|(name, _)| name).collect();
                let new_names = new.len();
                stored.extend(many.iter().cloned());
                assert_eq!(stored.len(), before + new_names - replaced);
            }
            _ => {
                let candidate = choices.below(candidates.len());
                let inserted = set.insert(standing(&name, candidate)).unwrap();
                assert_eq!(inserted == InsertOutcome::Replaced, stored.insert(name, candidate).is_some());
            }
        }
        if choices.chance(1, 4) {
            check_all(&stored);
        }
    }
    let mut next = 0;
    while stored.len() != filters {
        let name = format!("n{next}");
        if stored.len() > filters {
            assert_eq!(set.remove(&name), stored.remove(&name).is_some());
        } else if let Entry::Vacant(entry) = stored.entry(name) {
            let candidate = choices.below(candidates.len());
            assert_eq!(set.insert(standing(entry.key(), candidate)), Ok(InsertOutcome::New));
            entry.insert(candidate);
        }
        next += 1;
    }
    check_all(&stored);
    let mut kept: Vec<(String, Filter)> =
        set.iter().map(|standing| (standing.name().to_owned(), standing.filter().clone())).collect();
    kept.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert_eq!(kept.len(), stored.len());
    for ((name, filter), (expected, candidate)) in kept.iter().zip(&stored) {
        assert_eq!(name, expected);
        assert_eq!(set.get(name).as_ref().map(StandingFilter::filter), Some(filter));
        // The filter was compiled again for the catalogue of the set, which may have more fields than its own.
        for (text, selected) in world.documents.iter().zip(&candidates[*candidate].selects) {
            assert_eq!(reference::matches(filter, text), Ok(*selected), "{filter} {text}");
        }
    }
}
