//! Tests tokens with `fields`, `filter` and `clients`: they must get the same responses as if no other fields and cases existed.

use std::fs;

use casefilter::service::ServiceOptions;
use casefilter::{Catalog, Engine, Filter, FilterBuilder, ImportMode, SearchParams};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::client::Client;
use super::server::{FACETS, FILTERS, SEARCH, Server, data, key};

pub(crate) const FIELDS: [&str; 6] =
    ["name", "status", "createdAt", "tags", "priority", "caseReview.checklistState.checklist.checked"];
pub(crate) const FILTER: &str = "clientId in (client01, client02) and createdByType <> byOfficer";

/// Removes hidden fields from a document: a second implementation, independent of the service.
fn visible_part(document: &Value) -> Value {
    let mut left = Map::new();
    for name in ["id", "name", "createdAt", "tags", "priority"] {
        if let Some(value) = document.get(name) {
            left.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(review) = document.get("caseReview") {
        let mut own = Map::new();
        if let Some(status) = review.get("status") {
            own.insert("status".to_owned(), status.clone());
        }
        // Lists of other values than objects are removed, as are items and parents without visible members.
        if let Some(items) = review.get("checklistState").and_then(|state| state["checklist"].as_array()) {
            let checked = |item: &Value| Some(json!({"checked": item.get("checked")?}));
            let items: Vec<Value> = items.iter().filter_map(checked).collect();
            if !items.is_empty() {
                own.insert("checklistState".to_owned(), json!({ "checklist": items }));
            }
        }
        if !own.is_empty() {
            left.insert("caseReview".to_owned(), Value::Object(own));
        }
    }
    Value::Object(left)
}

/// An engine with only the visible cases and fields of a token.
struct Small {
    engine: Engine,
    catalog: Catalog,
}

impl Small {
    fn new(is_narrow: bool, filter: Option<&str>) -> Self {
        let all = Catalog::cases();
        let bound =
            filter.map_or_else(|| Filter::all(&all), |text| Filter::compile_text(&all, text).unwrap());
        let engine = Engine::new(all.clone());
        let mut import = engine.import(ImportMode::Strict);
        for line in fs::read_to_string(data("plain.cases.ndjson")).unwrap().lines() {
            if bound.matches(line.as_bytes()).unwrap() {
                import.push(line.as_bytes()).unwrap();
                import.push(b"\n").unwrap();
            }
        }
        import.commit().unwrap();
        let fields = FIELDS.into_iter().chain(["id"]);
        let catalog = if is_narrow { all.allow(fields).unwrap() } else { all };
        Self { engine, catalog }
    }

    /// Compares the response of the service with that of this engine.
    fn check(&self, client: &mut Client, name: &str, body: &[u8], order: &str, is_narrow: bool) {
        let target = format!("{SEARCH}?countTotalItems=true&limit=50&order={order}");
        let answer = client.call(&key(name), "POST", &target, body);
        let params = SearchParams::new().order(Some(order)).limit("50").count("true");
        let text = String::from_utf8_lossy(body);
        match FilterBuilder::new(&self.catalog).request(body, &params) {
            Err(errors) => assert_eq!(answer.failure(400), errors.message(), "{text}"),
            Ok(request) => {
                let mut expected: Value =
                    serde_json::from_str(&self.engine.search(&request).unwrap().to_json()).unwrap();
                if is_narrow {
                    for item in expected["list"]["items"].as_array_mut().unwrap() {
                        *item = visible_part(item);
                    }
                }
                assert_eq!(answer.good(), expected, "{name} {order} {text}");
            }
        }
    }
}

impl Small {
    /// Compares counts by value of the service with those of this engine. The facets leave their own criteria out, so they would
    /// show other cases if they left out the filter of the token, too.
    fn check_facets(&self, client: &mut Client, name: &str, body: &[u8]) {
        let Ok(mut body) = serde_json::from_slice::<Value>(body) else { return };
        let facets = ["status", "priority", "tags", "clientId", "createdByType", "name"];
        let facets = facets.into_iter().filter(|name| self.catalog.find(name).is_some());
        let facets = facets.map(|name| json!({"field": name, "ownCriteriaApart": true, "limit": 3}));
        body["facets"] = facets.chain([json!({"field": "createdAt", "interval": "month"})]).collect();
        let body = body.to_string();
        let answer = client.call(&key(name), "POST", FACETS, body.as_bytes());
        match FilterBuilder::new(&self.catalog).facets(body.as_bytes()) {
            Err(errors) => assert_eq!(answer.failure(400), errors.message(), "{body}"),
            Ok(request) => {
                let expected = self.engine.facets(&request).unwrap().to_json();
                assert_eq!(answer.good(), serde_json::from_str::<Value>(&expected).unwrap(), "{name} {body}");
            }
        }
        if self.catalog.find("clientId").is_none() {
            let hidden = br#"{"ids":["a"],"facets":[{"field":"clientId"}]}"#;
            let unknown = br#"{"ids":["a"],"facets":[{"field":"clientIx"}]}"#;
            let [hidden, unknown] =
                [&hidden[..], unknown].map(|body| client.call(&key(name), "POST", FACETS, body).failure(400));
            assert_eq!(hidden.replace("clientId", "clientIx"), unknown);
        }
    }
}

/// Generates criteria that try to reach hidden cases and fields.
fn criterion() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "id",
        "name",
        "status",
        "priority",
        "tags",
        "createdAt",
        "clientId",
        "createdByType",
        "updatedAt",
        "caseReview.checklistState.checklist.checked",
    ]);
    let value = prop::sample::select(vec![
        "client00",
        "client01",
        "byOfficer",
        "open",
        "high",
        "medium",
        "cash",
        "vip",
        "true",
        "",
        "2023-06-01 00:00:00",
    ]);
    let op = prop::sample::select(vec!["=", "<>", "$contains", "$all", ">", "<="]);
    let leaf = (field, op, value).prop_map(|(field, op, value)| {
        // Some criteria do not compile: then both report the same errors.
        json!({"field": field, "op": op, "values": [value]})
    });
    leaf.prop_recursive(3, 16, 4, |inner| {
        let op = prop::sample::select(vec!["$or", "$and"]);
        (op, prop::collection::vec(inner, 1..4))
            .prop_map(|(op, children)| json!({"op": op, "children": children}))
    })
}

#[test]
fn criteria_cannot_bypass_the_restrictions_of_a_token() {
    let server = Server::start();
    let worlds = [
        ("held", Small::new(true, Some(FILTER)), true),
        ("narrow", Small::new(true, None), true),
        ("own", Small::new(false, Some("clientId = client01")), false),
        ("tenant-one", Small::new(false, Some("clientId = client01")), false),
        ("tenant-both", Small::new(false, Some("clientId in (client01, client02)")), false),
        ("tenant-narrow", Small::new(true, Some(FILTER)), true),
    ];
    let everything: Vec<Value> = fs::read_to_string(data("plain.cases.ndjson"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    let mut client = server.client();
    for (name, world, is_narrow) in &worlds {
        // Bodies with ids, with criteria that every case matches, with their negation, and without anything.
        for body in [
            json!({ "ids": everything }),
            json!({"ids": [], "criteria": [{"field": "id", "op": "<>", "values": [""]}]}),
            json!({"ids": everything, "criteria": [{"op": "$or", "children": [
                {"field": "name", "op": "=", "values": ["x"]}, {"field": "name", "op": "<>", "values": ["x"]}]}]}),
            json!({"criteria": [{"field": "clientId", "op": "=", "values": ["client00"]}]}),
            json!({"criteria": [{"field": "createdByType", "op": "=", "values": ["byOfficer"]}]}),
            json!({"ids": []}),
        ] {
            for order in ["", "-createdAt", "clientId", "-status", "updatedAt", "name"] {
                world.check(&mut client, name, body.to_string().as_bytes(), order, *is_narrow);
            }
        }
    }
    // The vectors, some of whose fields are hidden from some tokens.
    for line in fs::read_to_string(data("plain.requests.ndjson")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = match &line["request"]["body"] {
            Value::String(raw) => raw.clone(),
            body => body.to_string(),
        };
        for (name, world, is_narrow) in &worlds {
            world.check(&mut client, name, body.as_bytes(), "-createdAt", *is_narrow);
            world.check_facets(&mut client, name, body.as_bytes());
        }
    }
    let client = std::cell::RefCell::new(client);
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let criteria = prop::collection::vec(criterion(), 1..3);
    let run = TestRunner::new(config).run(&criteria, |criteria| {
        let body = json!({ "criteria": criteria }).to_string();
        for (name, world, is_narrow) in &worlds {
            world.check(&mut client.borrow_mut(), name, body.as_bytes(), "", *is_narrow);
            world.check_facets(&mut client.borrow_mut(), name, body.as_bytes());
        }
        Ok(())
    });
    run.unwrap();
    drop(client);
    server.stop();
}

#[test]
fn hidden_fields_are_never_named() {
    let server = Server::with("plain.cases.ndjson", ServiceOptions::default());
    let mut client = server.client();
    let names = client.call(&key("held"), "GET", FILTERS, b"").good();
    let mut expected = vec!["id", "caseReview.status"];
    expected.extend(FIELDS);
    let mut found: Vec<&str> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for name in ["clientId", "clientIq", "clientid"] {
        let body = json!({"criteria": [{"field": name, "op": "=", "values": ["x"]}]}).to_string();
        let description = client.call(&key("held"), "POST", SEARCH, body.as_bytes()).failure(400);
        assert_eq!(
            description.replace(name, "NAME"),
            "Invalid parameters: criteria[0].field (byte 22): found `NAME`, expected a field of the catalogue"
        );
    }
    server.stop();
}
