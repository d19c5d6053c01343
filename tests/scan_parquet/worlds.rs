//! Random catalogues, documents, forms of files and requests.

use bytes::Bytes;
use casefilter::{Catalog, Engine, Facet, FacetsRequest, FilterBuilder, ImportMode, Limits, SearchParams};
use proptest::prelude::*;

use crate::compare::{MODES, check};
use crate::form::Form;
use crate::world::choices::Choices;
use crate::world::generate::{Size, World};

fn facets(catalog: &Catalog, choices: &mut Choices<'_>) -> Vec<Facet> {
    const FORMS: [&str; 8] =
        ["", ":limit=1", ":stats", ":month", ":width=10", ":edges=0", ":edges=-1,0,9", ":hour"];
    let mut facets = Vec::new();
    for field in catalog.fields() {
        let form = FORMS[choices.below(FORMS.len())];
        if let Ok(facet) = Facet::parse(catalog, &format!("{}{form}", field.name()))
            && choices.chance(1, 3)
        {
            facets.push(facet.with_own_criteria_apart(choices.chance(1, 2)));
        }
    }
    facets.truncate(Limits::default().facets);
    facets
}

/// Returns the documents on whose rows an import has nothing to report.
fn plain_documents(world: &World) -> Vec<String> {
    let engine = Engine::new(world.catalog.clone());
    let is_plain = |document: &&String| {
        let mut import = engine.import(ImportMode::Strict);
        let report = import.push(document.as_bytes()).and_then(|()| import.commit());
        report.is_ok_and(|report| report.stored == 1)
    };
    world.documents.iter().filter(is_plain).cloned().collect()
}

/// Returns the number of answers of scans, and the number of those with notes.
fn check_world(world: &World, choices: &mut Choices<'_>) -> (usize, usize) {
    let plain = if choices.chance(3, 4) { Some(plain_documents(world)) } else { None };
    let documents = plain.as_ref().unwrap_or(&world.documents);
    let (first, second) = documents.split_at(choices.below(documents.len() + 1));
    let parts = if choices.chance(1, 2) { vec![first, second] } else { vec![documents.as_slice()] };
    let mut file = |part: &&[String]| {
        let is_text = choices.chance(1, 4);
        if is_text {
            part.join("\n").into()
        } else {
            Form::any(choices, part.len()).file(&world.catalog, part)
        }
    };
    let files: Vec<Bytes> = parts.iter().map(&mut file).collect();
    let (mut answers, mut noted) = (0, 0);
    for query in &world.requests {
        let params = SearchParams::new()
            .order(query.params.order.as_deref())
            .offset(query.params.offset.as_deref())
            .limit(query.params.limit.as_deref())
            .count(query.params.count.as_deref());
        let Ok(request) =
            FilterBuilder::new(&query.catalog).request(query.body.to_string().as_bytes(), &params)
        else {
            continue;
        };
        let counts = FacetsRequest::new(request.filter.clone()).with_facets(facets(&query.catalog, choices));
        let mode = MODES[choices.below(2)];
        check(&world.catalog, mode, &files, &request, Some(&counts));
        let mut request = request.with_cursor(choices.chance(1, 2));
        if choices.chance(1, 3) {
            request = request.with_limit(1).with_offset(0).with_cursor(true);
        }
        for _ in 0..4 {
            let Some(found) = check(&world.catalog, mode, &files, &request, None) else { break };
            answers += 1;
            noted += usize::from(!found.report.notes.is_empty());
            let Some(next) = found.answer.next() else { break };
            request = request.with_after(next.clone()).with_offset(0);
        }
    }
    (answers, noted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_and_engines_agree_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut choices = Choices::new(&bytes);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }

    #[test]
    fn scans_and_engines_agree_in_full_worlds(seed in any::<u64>()) {
        let mut choices = Choices::seeded(seed);
        let world = World::small(&mut choices);
        check_world(&world, &mut choices);
    }
}

#[test]
fn scans_and_engines_agree_on_many_documents() {
    let (mut answers, mut noted) = (0, 0);
    let mut add = |(own, own_noted)| {
        answers += own;
        noted += own_noted;
    };
    for seed in 0..4 {
        let mut choices = Choices::seeded(seed);
        let size = Size { documents: 2000, requests: 5, repeats: false, faults: false };
        let world = World::new(&mut choices, size);
        add(check_world(&world, &mut choices));
    }
    for seed in 0..20 {
        let mut choices = Choices::seeded(seed);
        let world = World::small(&mut choices);
        add(check_world(&world, &mut choices));
    }
    assert!(answers > 50 && noted > 10, "{answers} answers, {noted} with notes");
}
