//! What must hold in every world: engine, reference evaluator and plain evaluator agree.

use casefilter::{Answer, Engine, Filter, Limits, Mode, Params, Refusal, Report, Request, reference};
use serde_json::Value;

use super::choices::Choices;
use super::generate::{Asked, World};
use super::plain::{self, Field};

/// Imports files into a new engine, cut into pieces at will.
fn engine(
    world: &World,
    mode: Mode,
    files: &[Vec<u8>],
    choices: &mut Choices<'_>,
) -> (Engine, Result<Vec<Report>, Refusal>) {
    // Small batches bring what only many of them have: values absent from some, pages across several.
    let rows =
        if world.documents.len() > 1000 { 65_536 } else { [65_536, 1, 2, 7, 64, 100][choices.below(6)] };
    let engine = Engine::builder(world.catalog.clone()).batch_rows(rows).build();
    let mut reports = Vec::new();
    let mut run = || {
        for (number, file) in files.iter().enumerate() {
            let mut import = engine.import(mode);
            import.source(&format!("file {number}"))?;
            let mut rest = file.as_slice();
            while !rest.is_empty() {
                let size =
                    if choices.chance(1, 3) { 1 + choices.below(64.min(rest.len())) } else { rest.len() };
                let (piece, behind) = rest.split_at(size);
                import.push(piece)?;
                rest = behind;
            }
            reports.push(import.commit()?);
        }
        Ok(())
    };
    let outcome = run();
    engine.validate().unwrap();
    (engine, outcome.map(|()| reports))
}

/// The documents as one file: a case a line, an array, or a search answer.
fn file(documents: &[String], layout: usize) -> Vec<u8> {
    match layout {
        0 => documents.iter().map(|document| format!("{document}\n")).collect::<String>().into_bytes(),
        1 => documents.join("\n").into_bytes(),
        2 => format!("[{}]", documents.join(",")).into_bytes(),
        _ => format!("{{\"list\": {{\"items\": [{}], \"totalItems\": 9}}}}\n", documents.join(" , "))
            .into_bytes(),
    }
}

/// What is stored after an import: the last document of each `id`, at the place of the first.
fn stored<'d>(documents: impl Iterator<Item = &'d String>) -> (Vec<&'d str>, Vec<Value>) {
    let mut texts: Vec<&str> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for text in documents {
        let value: Value = serde_json::from_str(text).unwrap();
        let place = *places.entry(value["id"].as_str().unwrap().to_owned()).or_insert(texts.len());
        if place == texts.len() {
            texts.push(text);
            values.push(value);
        } else {
            texts[place] = text;
            values[place] = value;
        }
    }
    (texts, values)
}

/// Whether a document can be kept at all: section 4.
fn is_usable(document: &str) -> bool {
    // serde_json sees no repeated keys; the worlds repeat a key in these two shapes only.
    let repeats = document.contains("\"id\":\"q\",\"id\"") || document.contains("\"y\":1,\"y\"");
    let value: Option<Value> = serde_json::from_str(document).ok().filter(Value::is_object);
    let id = value.as_ref().and_then(|value| value["id"].as_str());
    !repeats && id.is_some_and(|id| !id.is_empty() && id.len() <= 1024)
}

fn is_complete(fields: &[Field], document: &str) -> bool {
    let value: Value = serde_json::from_str(document).unwrap();
    fields.iter().all(|field| plain::stored_values(field, &value).is_ok())
}

/// Holds a world's engines equal to both evaluators.
pub(crate) fn check(world: &World, choices: &mut Choices<'_>) {
    let documents = &world.documents;
    let mut engines = Vec::new();
    let is_sound = |text: &String| is_usable(text) && is_complete(&world.fields, text);
    let sound = !world.is_faulty || documents.iter().all(is_sound);
    if sound {
        let (whole, outcome) = engine(world, Mode::Strict, &[file(documents, 0)], &mut Choices::new(&[]));
        assert_eq!(outcome.unwrap().len(), 1);
        engines.push(whole);
        let (first, rest) = documents.split_at(choices.below(documents.len() + 1));
        let (second, third) = rest.split_at(choices.below(rest.len() + 1));
        let files = [first, second, third].map(|part| file(part, choices.below(4)));
        let (parted, outcome) = engine(world, Mode::Strict, &files, choices);
        outcome.unwrap();
        engines.push(parted);
    } else {
        let (empty, outcome) = engine(world, Mode::Strict, &[file(documents, 0)], choices);
        let refusal = outcome.unwrap_err();
        let line = documents.iter().position(|text| !is_sound(text));
        assert_eq!(refusal.line, line.unwrap() as u64 + 1, "{refusal}");
        assert!(empty.is_empty(), "a refused import leaves no trace");
    }
    if world.is_faulty {
        let (lenient, outcome) = engine(world, Mode::Lenient, &[file(documents, choices.below(2))], choices);
        let report = outcome.unwrap().remove(0);
        let usable = documents.iter().filter(|text| is_usable(text));
        let incomplete = usable.filter(|text| !is_complete(&world.fields, text)).count();
        assert_eq!(report.incomplete, incomplete as u64, "{report:?}");
        assert_eq!(
            report.skipped,
            documents.iter().filter(|text| !is_usable(text)).count() as u64,
            "{report:?}"
        );
        engines.push(lenient);
    }
    let (texts, values) = stored(documents.iter().filter(|text| is_usable(text)));
    for engine in &engines {
        assert_eq!(engine.len(), texts.len());
    }
    for asked in &world.requests {
        ask(asked, &engines, &texts, &values, sound);
    }
    for (place, asked) in world.requests.iter().enumerate().take(if texts.len() > 1000 { 2 } else { 8 }) {
        let bound = &world.requests[(place + 1) % world.requests.len()];
        hold_to(asked, bound, &engines, &texts, &values, sound);
    }
}

/// A filter that is held to another selects what both select, however it is run.
fn hold_to(
    asked: &Asked,
    bound: &Asked,
    engines: &[Engine],
    texts: &[&str],
    values: &[Value],
    is_sound: bool,
) {
    let compile = |asked: &Asked| {
        let filter = Filter::compile(&asked.catalog, asked.body.to_string().as_bytes()).ok()?;
        // Only what selects counts, not the page.
        let expected = plain::request(&asked.fields, &asked.body, &plain::Params::default()).ok()?;
        Some((filter, expected))
    };
    let (Some((filter, expected)), Some((own, allowed))) = (compile(asked), compile(bound)) else { return };
    if !filter.catalog().is_within(own.catalog()) && !own.catalog().is_within(filter.catalog()) {
        return;
    }
    let both = filter.and(&own);
    let note = || format!("{filter}\nheld to {own}\nmeans {both}");
    let wanted: Vec<usize> = (0..values.len())
        .filter(|at| plain::selects(&expected, &values[*at]) && plain::selects(&allowed, &values[*at]))
        .collect();
    let again = Filter::compile(both.catalog(), both.to_json().as_bytes()).unwrap();
    assert_eq!(again, both, "printed and compiled again: {}", note());
    if is_sound {
        for (at, text) in texts.iter().enumerate().take(200) {
            let selected = wanted.binary_search(&at).is_ok();
            assert_eq!(both.matches(text.as_bytes()), Ok(selected), "{text}: {}", note());
            assert_eq!(reference::matches(&both, text), Ok(selected), "{text}: {}", note());
        }
    }
    for engine in engines {
        for filter in [&both, &both.unoptimized(), &own.and(&filter)] {
            let answer = engine.search(&Request::new(filter.clone()).limit(u64::MAX).count(true));
            let documents: Vec<&str> = answer.documents().collect();
            assert_eq!(documents, wanted.iter().map(|at| texts[*at]).collect::<Vec<_>>(), "{}", note());
            assert_eq!(answer.total(), Some(wanted.len() as u64), "{}", note());
        }
    }
}

/// Asks one request of everyone.
fn ask(asked: &Asked, engines: &[Engine], texts: &[&str], values: &[Value], is_sound: bool) {
    let body = asked.body.to_string();
    let params = Params {
        order: asked.params.order.as_deref(),
        offset: asked.params.offset.as_deref(),
        limit: asked.params.limit.as_deref(),
        count: asked.params.count.as_deref(),
    };
    let request = Request::parse(&asked.catalog, &Limits::default(), body.as_bytes(), &params);
    let expected = plain::request(&asked.fields, &asked.body, &asked.params);
    let (request, expected) = match (request, expected) {
        (Ok(request), Ok(expected)) => (request, expected),
        (Err(_), Err(_)) => return,
        (got, expected) => panic!("{body} {params:?}: {got:?}, expected {expected:?}"),
    };
    let note =
        || format!("{body} {params:?}\nmeans {}\nof {:#?}", request.filter, &texts[..texts.len().min(200)]);
    let (page, total) = plain::search(values, &expected);
    if is_sound {
        let answer = reference::search(texts, &request).unwrap();
        assert_eq!(answer, (page.clone(), total as u64), "the reference: {}", note());
        for (text, value) in texts.iter().zip(values).take(200) {
            let selected = plain::selects(&expected, value);
            assert_eq!(request.filter.matches(text.as_bytes()), Ok(selected), "{text}: {}", note());
            assert_eq!(reference::matches(&request.filter, text), Ok(selected), "{text}: {}", note());
        }
    }
    let unoptimized = Request { filter: request.filter.unoptimized(), ..request.clone() };
    let again = Filter::compile(&asked.catalog, request.filter.to_json().as_bytes()).unwrap();
    assert_eq!(again, request.filter, "printed and compiled again: {}", note());
    for engine in engines {
        assert_eq!(engine.count(&request.filter), total as u64, "count: {}", note());
        for request in [&request, &unoptimized] {
            let answer = engine.search(request);
            let ids: Vec<&str> = answer.ids().collect();
            let wanted: Vec<&str> = page.iter().map(|at| values[*at]["id"].as_str().unwrap()).collect();
            assert_eq!(ids, wanted, "{}", note());
            let documents: Vec<&str> = answer.documents().collect();
            let wanted: Vec<&str> = page.iter().map(|at| texts[*at]).collect();
            assert_eq!(documents, wanted, "{}", note());
            assert_eq!(answer.len(), page.len());
            assert_eq!(answer.total(), expected.count.then_some(total as u64), "{}", note());
            envelope(&answer, request);
        }
    }
}

/// The answer as JSON is the answer.
fn envelope(answer: &Answer, request: &Request) {
    let json: Value = serde_json::from_str(&answer.to_json()).unwrap();
    let list = &json["list"];
    let items: Vec<Value> = answer.documents().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(list["items"], Value::from(items));
    assert_eq!(list.get("totalItems").and_then(Value::as_u64), answer.total());
    assert_eq!(list["pageInfo"]["limit"], request.limit);
    assert_eq!(list["pageInfo"]["offset"], request.offset);
}
