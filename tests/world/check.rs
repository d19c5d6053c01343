//! Checks of a random world: engine, reference evaluator and plain evaluator must agree.

use std::io;
use std::time::Duration;

use casefilter::explain::{Explanation, Node, TotalStrategy};
use casefilter::reference::Why;
use casefilter::{
    Catalog, Criteria, Cursor, Engine, Errors, FieldType, Filter, FilterBuilder, ImportError, ImportMode,
    ImportReport, Limits, Operator, Scan, SearchAnswer, SearchParams, SearchRequest, field, reference,
};
use serde_json::{Value, json};

use super::choices::Choices;
use super::generate::{Query, World};
use super::plain::{self, Field};

/// Imports files into a new engine, in pieces of random sizes.
fn engine(
    world: &World,
    mode: ImportMode,
    files: &[Vec<u8>],
    choices: &mut Choices<'_>,
) -> (Engine, Result<Vec<ImportReport>, ImportError>) {
    // Small batches lead to situations that one large batch does not: fields absent from a batch, pages over several batches.
    let rows =
        if world.documents.len() > 1000 { 65_536 } else { [65_536, 1, 2, 7, 64, 100][choices.below(6)] };
    let limits = Limits::default().with_page(Limits::default().page.max(world.documents.len() as u64));
    let engine = Engine::builder(world.catalog.clone()).batch_rows(rows).limits(limits).build();
    let mut reports = Vec::new();
    let mut run = || {
        for (number, file) in files.iter().enumerate() {
            let mut import = engine.import(mode);
            import.begin_source(&format!("file {number}"))?;
            let mut rest = file.as_slice();
            while !rest.is_empty() {
                let size =
                    if choices.chance(1, 3) { 1 + choices.below(64.min(rest.len())) } else { rest.len() };
                let (piece, after) = rest.split_at(size);
                import.push(piece)?;
                rest = after;
            }
            reports.push(import.commit()?);
        }
        Ok(())
    };
    let outcome = run();
    engine.validate().unwrap();
    (engine, outcome.map(|()| reports))
}

/// The number of layouts of a file.
const LAYOUTS: usize = 6;

/// Writes the documents as one file: a case per line, an array, a search answer, answers one per line, or several arrays.
fn file(documents: &[String], layout: usize) -> Vec<u8> {
    match layout {
        0 => documents.iter().map(|document| format!("{document}\n")).collect::<String>().into_bytes(),
        1 => documents.join("\n").into_bytes(),
        2 => format!("[{}]", documents.join(",")).into_bytes(),
        3 => format!("{{\"list\": {{\"items\": [{}], \"totalItems\": 9}}}}\n", documents.join(" , "))
            .into_bytes(),
        4 => {
            let answer = |page: &[String]| format!("{{\"list\":{{\"items\":[{}]}}}}\n", page.join(","));
            documents.chunks(2).map(answer).collect::<String>().into_bytes()
        }
        _ => {
            let array = |page: &[String]| format!("[\n{}]", page.join(",\n"));
            documents.chunks(3).map(array).collect::<String>().into_bytes()
        }
    }
}

/// Writes the documents as one file, each on two lines.
fn over_lines(documents: &[String]) -> Vec<u8> {
    let break_line = |document: &String| format!("{}\n", document.replacen('{', BROKEN, 1));
    documents.iter().map(break_line).collect::<String>().into_bytes()
}

/// The place where a document is split into two lines. It occurs nowhere else in a document.
const BROKEN: &str = "{\n ";

/// Returns the stored documents after an import: for each `id` the last document, in the order of the first ones.
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

/// Returns true if a document is a case (specification, section 4).
fn is_usable(document: &str) -> bool {
    // serde_json does not report repeated keys. The worlds repeat a key only in these two forms.
    let repeats = document.contains("\"id\":\"q\",\"id\"") || document.contains("\"y\":1,\"y\"");
    let value: Option<Value> = serde_json::from_str(document).ok().filter(Value::is_object);
    let id = value.as_ref().and_then(|value| value["id"].as_str());
    !repeats && id.is_some_and(|id| !id.is_empty() && id.len() <= 1024)
}

fn is_complete(fields: &[Field], document: &str) -> bool {
    let value: Value = serde_json::from_str(document).unwrap();
    fields.iter().all(|field| plain::stored_values(field, &value).is_ok())
}

/// Checks that a world's engines agree with both evaluators.
pub(crate) fn check(world: &World, choices: &mut Choices<'_>) {
    let documents = &world.documents;
    let mut engines = Vec::new();
    let is_valid = |text: &String| is_usable(text) && is_complete(&world.fields, text);
    let sound = !world.is_faulty || documents.iter().all(is_valid);
    if sound {
        let (whole, outcome) =
            engine(world, ImportMode::Strict, &[file(documents, 0)], &mut Choices::new(&[]));
        assert_eq!(outcome.unwrap().len(), 1);
        engines.push(whole);
        let (first, rest) = documents.split_at(choices.below(documents.len() + 1));
        let (second, third) = rest.split_at(choices.below(rest.len() + 1));
        let files = [first, second, third].map(|part| file(part, choices.below(LAYOUTS)));
        let (parted, outcome) = engine(world, ImportMode::Strict, &files, choices);
        outcome.unwrap();
        engines.push(parted);
        check_over_lines(world, choices);
    } else {
        let (empty, outcome) = engine(world, ImportMode::Strict, &[file(documents, 0)], choices);
        let refusal = outcome.unwrap_err();
        let line = documents.iter().position(|text| !is_valid(text));
        assert_eq!(refusal.line, line.unwrap() as u64 + 1, "{refusal}");
        assert!(empty.is_empty(), "a refused import leaves no trace");
    }
    if world.is_faulty {
        let (lenient, outcome) =
            engine(world, ImportMode::Lenient, &[file(documents, choices.below(2))], choices);
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
    for (place, query) in world.requests.iter().enumerate() {
        check_query(query, &engines, &texts, &values, sound, place < 2);
    }
    let mode = if sound { ImportMode::Strict } else { ImportMode::Lenient };
    if let Some(engine) = engines.last() {
        world.requests.iter().for_each(|query| check_scan(query, engine, mode, &file(documents, 0)));
    }
    for (place, query) in world.requests.iter().enumerate().take(2) {
        let bound = &world.requests[(place + 1) % world.requests.len()];
        check_restricted(query, bound, &engines, &texts, &values, sound);
    }
}

/// Checks that a scan of a file gives the answer of an engine that has imported it.
fn check_scan(query: &Query, engine: &Engine, mode: ImportMode, file: &[u8]) {
    let params = SearchParams::new()
        .order(query.params.order.as_deref())
        .offset(query.params.offset.as_deref())
        .limit(query.params.limit.as_deref())
        .count(query.params.count.as_deref());
    let request = FilterBuilder::new(&query.catalog).request(query.body.to_string().as_bytes(), &params);
    let Ok(request) = request.map(|request| request.with_cursor(true)) else { return };
    let scan = Scan::new(engine.catalog(), engine.limits(), mode, &request).unwrap();
    let found = scan.read(io::Cursor::new(file)).unwrap();
    assert_eq!(found.answer.to_json(), engine.search(&request).unwrap().to_json(), "by a scan: {request:?}");
    assert_eq!(found.documents, engine.len() as u64);
}

/// Checks that documents on several lines give the same cases as on one line.
fn check_over_lines(world: &World, choices: &mut Choices<'_>) {
    let (engine, outcome) = engine(world, ImportMode::Strict, &[over_lines(&world.documents)], choices);
    outcome.unwrap();
    let answer = engine
        .search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(engine.len() as u64))
        .unwrap();
    let documents: Vec<String> = answer.documents().map(|text| text.replacen(BROKEN, "{", 1)).collect();
    assert_eq!(documents, stored(world.documents.iter()).0);
}

/// Checks that a filter restricted by another one selects what both select, in every way of evaluation.
fn check_restricted(
    query: &Query,
    bound: &Query,
    engines: &[Engine],
    texts: &[&str],
    values: &[Value],
    is_valid: bool,
) {
    let compile = |query: &Query| {
        let filter = Filter::compile(&query.catalog, query.body.to_string().as_bytes()).ok()?;
        // Only the selection matters, not the page.
        let expected =
            plain::request(&query.fields, query.is_extended, &query.body, &plain::Params::default()).ok()?;
        Some((filter, expected))
    };
    let (Some((filter, expected)), Some((own, allowed))) = (compile(query), compile(bound)) else { return };
    if !filter.catalog().is_within(own.catalog()) && !own.catalog().is_within(filter.catalog()) {
        return;
    }
    let both = filter.and(&own).unwrap();
    let note = || format!("{filter}\nheld to {own}\nmeans {both}");
    let wanted: Vec<usize> = (0..values.len())
        .filter(|at| plain::selects(&expected, &values[*at]) && plain::selects(&allowed, &values[*at]))
        .collect();
    let printed_for = if query.is_extended || bound.is_extended {
        both.catalog().extended()
    } else {
        both.catalog().clone()
    };
    check_printed(&both, Filter::compile(&printed_for, both.to_json().as_bytes()), &note);
    if is_valid {
        for (at, text) in texts.iter().enumerate().take(200) {
            let selected = wanted.binary_search(&at).is_ok();
            assert_eq!(both.matches(text.as_bytes()), Ok(selected), "{text}: {}", note());
            assert_eq!(reference::matches(&both, text), Ok(selected), "{text}: {}", note());
        }
    }
    for engine in engines {
        for filter in [&both, &both.unoptimized(), &own.and(&filter).unwrap()] {
            let answer = engine
                .search(&SearchRequest::new(filter.clone()).with_limit(10_000).with_count(true))
                .unwrap();
            let documents: Vec<&str> = answer.documents().collect();
            assert_eq!(documents, wanted.iter().map(|at| texts[*at]).collect::<Vec<_>>(), "{}", note());
            assert_eq!(answer.total(), Some(wanted.len() as u64), "{}", note());
        }
    }
}

/// Returns the criteria of a body, built by [`Criteria`].
///
/// Returns `None` if the body has `ids`, criteria without children, or a branch directly below a branch of the same connective. The
/// builder joins such branches, and the normal form of the joined branch may differ from that of the nested ones.
fn built(body: &Value) -> Option<Criteria> {
    let criteria = body.get("criteria")?.as_array()?;
    if body.get("ids").is_some_and(|ids| !ids.is_null()) {
        return None;
    }
    joined("$and", criteria).map(|(built, _)| built)
}

/// Returns the criterion that joins these criteria, and its connective. The connective is empty if the criterion is not a branch.
fn joined<'v>(connective: &'v str, criteria: &'v [Value]) -> Option<(Criteria, &'v str)> {
    let mut children = criteria.iter().map(built_criterion).collect::<Option<Vec<_>>>()?;
    if children.len() == 1 {
        return children.pop();
    }
    let is_nested = children.iter().any(|(_, own)| *own == connective);
    let join = if connective == "$and" { Criteria::and } else { Criteria::or };
    let built = children.into_iter().map(|(child, _)| child).reduce(join)?;
    (!is_nested).then_some((built, connective))
}

fn built_criterion(json: &Value) -> Option<(Criteria, &str)> {
    let (field_name, op) = (json["field"].as_str(), json["op"].as_str()?);
    let Some(children) = json["children"].as_array() else {
        let values = json["values"].as_array()?.iter().map(|value| value.as_str().unwrap());
        return Some((field(field_name?).test(op.parse::<Operator>().unwrap(), values), ""));
    };
    match op {
        "$and" | "$or" => joined(op, children),
        "$not" => Some((built_criterion(children.first()?)?.0.negated(), "")),
        "$elem" => Some((field(field_name?).has_element(joined("$and", children)?.0), "")),
        op => panic!("{op}"),
    }
}

/// Checks a filter that was made from others, printed, and compiled again.
fn check_printed(filter: &Filter, again: Result<Filter, Errors>, note: &dyn Fn() -> String) {
    match again {
        Ok(again) => assert_eq!(again, *filter, "printed and compiled again: {}", note()),
        // One body can have only one `ids`. Other tests of ids are printed as criteria on `id`, which the catalogue may hide.
        Err(errors) => assert!(
            filter.catalog().names().all(|name| name != "id")
                && errors.as_slice().iter().all(|error| error.found.as_text() == Some("id")),
            "{errors}: {}",
            note()
        ),
    }
}

/// Runs one request on all engines and evaluators.
///
/// An explanation takes many times as long as an answer, so it is only made if `explains` is true.
pub(super) fn check_query(
    query: &Query,
    engines: &[Engine],
    texts: &[&str],
    values: &[Value],
    is_valid: bool,
    explains: bool,
) {
    let body = query.body.to_string();
    let params = SearchParams::new()
        .order(query.params.order.as_deref())
        .offset(query.params.offset.as_deref())
        .limit(query.params.limit.as_deref())
        .count(query.params.count.as_deref());
    let request = FilterBuilder::new(&query.catalog).request(body.as_bytes(), &params);
    let expected = plain::request(&query.fields, query.is_extended, &query.body, &query.params);
    let (request, expected) = match (request, expected) {
        (Ok(request), Ok(expected)) => (request, expected),
        (Err(_), Err(_)) => return,
        (got, expected) => panic!("{body} {params:?}: {got:?}, expected {expected:?}"),
    };
    let note =
        || format!("{body} {params:?}\nmeans {}\nof {:#?}", request.filter, &texts[..texts.len().min(200)]);
    let (page, total) = plain::search(values, &expected);
    if is_valid {
        let answer = reference::search(texts, &request).unwrap();
        assert_eq!(answer, (page.clone(), total as u64), "the reference: {}", note());
        for (text, value) in texts.iter().zip(values).take(200) {
            let selected = plain::selects(&expected, value);
            assert_eq!(request.filter.matches(text.as_bytes()), Ok(selected), "{text}: {}", note());
            assert_eq!(reference::matches(&request.filter, text), Ok(selected), "{text}: {}", note());
        }
    }
    for (text, value) in texts.iter().zip(values).take(if explains { 40 } else { 0 }) {
        let why = reference::why(&request.filter, text).unwrap();
        assert_eq!(why.selected, plain::selects(&expected, value), "{why}: {}", note());
        check_why(&why, query, (text, value), is_valid, &note);
    }
    let mut unoptimized = request.clone();
    unoptimized.filter = request.filter.unoptimized();
    let again = Filter::compile(&query.catalog, request.filter.to_json().as_bytes()).unwrap();
    assert_eq!(again, request.filter, "printed and compiled again: {}", note());
    let again = Filter::compile_text(&query.catalog, &request.filter.to_text()).unwrap();
    assert_eq!(again, request.filter, "printed as text and compiled again: {}", note());
    if let Some(criteria) = built(&query.body) {
        assert_eq!(criteria.compile(&query.catalog), Ok(request.filter.clone()), "built in Rust: {}", note());
    }
    let negated = request.filter.negated();
    check_printed(&negated, Filter::compile_text(&query.catalog, &negated.to_text()), &note);
    for engine in engines {
        assert_eq!(engine.count(&request.filter).unwrap(), total as u64, "count: {}", note());
        let others = values.len() - total;
        assert_eq!(engine.count(&negated).unwrap(), others as u64, "count of {negated}: {}", note());
        let twice = negated.negated();
        assert_eq!(engine.count(&twice).unwrap(), total as u64, "count of {twice}: {}", note());
        for request in [&request, &unoptimized] {
            let answer = engine.search(request).unwrap();
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
    if total <= 300 {
        let all = plain::all_selected(values, &expected);
        let wanted: Vec<&str> = all.iter().map(|at| values[*at]["id"].as_str().unwrap()).collect();
        for (at, engine) in engines.iter().enumerate() {
            check_cursors(engine, &request, 1 + (total / 3 + at) % 7 * 11, &wanted, &note);
        }
        if let (Some(engine), true) = (engines.first(), is_valid) {
            check_references(engine, &request, texts, values, &note);
        }
    }
    // The last engine has the most batches, or fields with rejected values.
    let is_worth = explains && (texts.len() <= 200 || query.params.order.is_some());
    let (Some(engine), true) = (engines.last(), is_worth) else {
        return;
    };
    for request in [&request, &unoptimized] {
        let explanation = engine.analyze(request, &|| Duration::ZERO).unwrap();
        let analysis = explanation.analysis.as_ref().unwrap();
        assert_eq!((analysis.selected, analysis.on_page), (total as u64, page.len() as u64), "{}", note());
        let texts = if is_valid { texts } else { &[] };
        check_explanation(&explanation, engine, request, texts, &note);
    }
}

/// Checks that the pages of `limit` documents, each after the cursor of the page before, are all selected documents in order.
fn check_cursors(
    engine: &Engine,
    request: &SearchRequest,
    limit: usize,
    wanted: &[&str],
    note: &dyn Fn() -> String,
) {
    let mut request =
        request.clone().with_offset(0).with_limit(limit as u64).with_count(true).with_cursor(true);
    let mut left = wanted;
    loop {
        let answer = engine.search(&request).unwrap();
        let (page, rest) = left.split_at(left.len().min(limit));
        assert_eq!(answer.ids().collect::<Vec<_>>(), page, "{limit}, {:?}: {}", request.after, note());
        assert_eq!(answer.total(), Some(wanted.len() as u64), "{limit}: {}", note());
        assert_eq!(answer.next().is_some(), !rest.is_empty(), "{limit}: {}", note());
        envelope(&answer, &request);
        let Some(next) = answer.next() else { return };
        let next: Cursor = next.to_string().parse().unwrap();
        request = request.with_after(next);
        left = rest;
    }
}

/// Checks the page after a cursor: the reference evaluator must find the same documents as the engine. Checks nothing for a request
/// without an order.
fn check_references(
    engine: &Engine,
    request: &SearchRequest,
    texts: &[&str],
    values: &[Value],
    note: &dyn Fn() -> String,
) {
    let first = request.clone().with_offset(0).with_limit(3).with_cursor(true);
    let answer = engine.search(&first).unwrap();
    let (Some(next), true) = (answer.next(), request.order.is_some()) else { return };
    let behind = first.with_after(next.clone()).with_limit(5);
    let (page, _) = reference::search(texts, &behind).unwrap();
    let page: Vec<&str> = page.iter().map(|at| values[*at]["id"].as_str().unwrap()).collect();
    let found = engine.search(&behind).unwrap();
    assert_eq!(found.ids().collect::<Vec<_>>(), page, "the reference after a cursor: {}", note());
}

/// Checks an explanation: its count for each criterion is that of a request with this criterion alone.
fn check_explanation(
    analyzed: &Explanation,
    engine: &Engine,
    request: &SearchRequest,
    texts: &[&str],
    note: &dyn Fn() -> String,
) {
    let about = |node: &Node| format!("{}\n{analyzed}\n{}", node.test, note());
    let query = analyzed.batches.all - analyzed.batches.ruled_out;
    for (at, node) in analyzed.nodes.iter().enumerate() {
        let answered: u64 = node.answered.iter().map(|answered| answered.batches).sum();
        assert_eq!(answered, query, "{}", about(node));
        let kept = node.kept.unwrap();
        match analyzed.batches.ruled_out {
            0 if node.exact => assert_eq!(node.expected, kept, "{}", about(node)),
            _ if node.exact => assert!(node.expected <= kept, "{}", about(node)),
            _ => {}
        }
        let settles = |value| node.answered.iter().all(|answered| answered.settles == Some(value));
        if settles(false) && analyzed.batches.ruled_out == 0 {
            assert_eq!(kept, 0, "{}", about(node));
        }
        if settles(true) && analyzed.batches.ruled_out == 0 {
            assert_eq!(kept, analyzed.documents, "{}", about(node));
        }
        let text = text_of(&analyzed.nodes[at..], request.filter.catalog());
        let Ok(filter) = Filter::compile_text(request.filter.catalog(), &text) else {
            assert_eq!(request.filter.catalog().find("id"), None, "{text}");
            continue;
        };
        assert_eq!(kept, engine.count(&filter).unwrap(), "{text}: {}", about(node));
        if texts.len() <= 40 && !texts.is_empty() {
            let count = texts.iter().filter(|text| reference::matches(&filter, text).unwrap()).count();
            assert_eq!(kept, count as u64, "{text}: {}", about(node));
        }
    }
    let root = &analyzed.nodes[0];
    match analyzed.total.by {
        TotalStrategy::Index => assert_eq!(analyzed.total.documents, root.kept, "{}", about(root)),
        TotalStrategy::NotRequested => assert!(!request.count),
        _ => assert!(request.count),
    }
    let work = &analyzed.analysis.as_ref().unwrap().work;
    assert!(work.batches <= query, "{}", about(root));
    if !analyzed.page.stops_early {
        assert_eq!(work.batches, query, "{}", about(root));
    }
    let unmeasured = |mut explanation: Explanation| {
        explanation.analysis = None;
        for node in &mut explanation.nodes {
            (node.kept, node.time) = (None, None);
        }
        explanation
    };
    let explains_alike = || {
        engine.explain(request).unwrap() == unmeasured(engine.analyze(request, &|| Duration::ZERO).unwrap())
    };
    // A lazy batch builds columns after many searches. That may happen between the two calls, once per batch.
    assert!((0..=analyzed.batches.all).any(|_| explains_alike()), "{}", note());
}

/// Returns the first criterion in the text syntax. Its children follow it in the list.
fn text_of(nodes: &[Node], catalog: &Catalog) -> String {
    let (node, rest) = nodes.split_first().unwrap();
    let between = match node.test.as_str() {
        "all of" => ") and (",
        "any of" => ") or (",
        constant @ ("every case" | "no case") => {
            let connective = if constant == "every case" { "or" } else { "and" };
            let Some((_, field)) = catalog.visible_fields().next() else { return constant.to_owned() };
            let value = match field.field_type() {
                FieldType::String => "x",
                FieldType::Number | FieldType::Integer | FieldType::Decimal { .. } => "1",
                FieldType::Timestamp => "\"2024-01-01 00:00:00\"",
                FieldType::Boolean => "true",
                other => panic!("no value of {other:?}"),
            };
            return format!("{0} = {value} {connective} {0} <> {value}", field.name());
        }
        test => return test.to_owned(),
    };
    let below = rest.iter().take_while(|other| other.depth > node.depth).count();
    let children: Vec<String> = (0..below)
        .filter(|at| rest[*at].depth == node.depth + 1)
        .map(|at| text_of(&rest[at..], catalog))
        .collect();
    format!("({})", children.join(between))
}

/// Checks `why`: its result for each criterion is that of a request with this criterion alone. A criterion on an element of an
/// array is true if the criteria below it are true.
fn check_why(
    why: &Why,
    query: &Query,
    (text, value): (&str, &Value),
    is_valid: bool,
    note: &dyn Fn() -> String,
) {
    assert_eq!(why.criteria[0].holds, why.selected);
    let mut criteria = why.criteria.as_slice();
    while let Some((criterion, rest)) = criteria.split_first() {
        criteria = rest;
        if let reference::Test::Elements { element, .. } = criterion.test {
            let below = rest.iter().take_while(|other| other.depth > criterion.depth).count();
            let (below, others) = rest.split_at(below);
            criteria = others;
            let mut children = below.iter().filter(|other| other.depth == criterion.depth + 1);
            let is_passed = element.is_some() && children.all(|child| child.holds);
            assert_eq!(criterion.holds, is_passed, "{text}\n{why}\n{}", note());
        }
        let alone = match criterion.path.as_str() {
            "" => query.body.clone(),
            key @ ("ids" | "criteria") => json!({ key: query.body[key] }),
            path => json!({ "criteria": [at_path(&query.body, path)] }),
        };
        let about = || format!("{} of {text}\n{why}\n{}", criterion.path, note());
        let request =
            plain::request(&query.fields, query.is_extended, &alone, &plain::Params::default()).unwrap();
        assert_eq!(criterion.holds, plain::selects(&request, value), "{}", about());
        if is_valid {
            let filter = Filter::compile(&query.catalog, alone.to_string().as_bytes()).unwrap();
            assert_eq!(reference::matches(&filter, text), Ok(criterion.holds), "{}", about());
        }
    }
    for (name, stored) in &why.fields {
        let field = plain::find(&query.fields, name);
        // If an allow-list hides `id`, `why` still reports it for `ids`.
        let Ok(field) = field else { continue };
        let own = plain::stored_values(field, value).unwrap_or_default();
        assert_eq!(stored.absent, own.is_empty(), "{name} of {text}: {}", note());
        assert_eq!(stored.values.is_empty(), plain::value_set(field, value).is_empty());
    }
}

/// Returns the criterion at a path such as `criteria[0].children[2]`.
fn at_path<'v>(body: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(body, |value, step| {
        let (key, place) = step.strip_suffix(']').unwrap().split_once('[').unwrap();
        &value[key][place.parse::<usize>().unwrap()]
    })
}

/// Checks the answer as JSON.
fn envelope(answer: &SearchAnswer, request: &SearchRequest) {
    let json: Value = serde_json::from_str(&answer.to_json()).unwrap();
    let list = &json["list"];
    let items: Vec<Value> = answer.documents().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(list["items"], Value::from(items));
    assert_eq!(list.get("totalItems").and_then(Value::as_u64), answer.total());
    assert_eq!(list["pageInfo"]["limit"], request.limit);
    assert_eq!(list["pageInfo"]["offset"], request.offset);
    let next = answer.next().map(ToString::to_string);
    assert_eq!(list["pageInfo"].get("next").and_then(Value::as_str), next.as_deref());
}
