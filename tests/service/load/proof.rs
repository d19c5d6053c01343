//! The proof after the load: compares the files that the service has left with all that it has acknowledged.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::Output;
use std::sync::atomic::Ordering;

use casefilter::{Event, Filter, SearchRequest, Store};
use serde_json::{Value, json};

use super::super::process::{Process, casefilter};
use super::super::server::STANDING;
use super::clients::Copies;
use super::connection::Connection;
use super::operators::Cases;
use super::readers::Told;
use super::{Load, TENANTS, Tenant};

/// The writes that the service has acknowledged, and its logs.
pub(super) struct Done {
    /// The logs of the service before its restarts.
    pub(super) logs: Vec<String>,
    pub(super) cases: Cases,
    /// The names of erased persons.
    pub(super) erased: Vec<String>,
    pub(super) tenants: Vec<OfTenant>,
}

/// The writes that the service has acknowledged to a tenant, and the events that it was told.
pub(super) struct OfTenant {
    pub(super) updates: Vec<(String, HashMap<&'static str, String>)>,
    pub(super) copies: Copies,
    pub(super) reviews: u64,
    pub(super) filters: BTreeMap<String, Value>,
    /// The events that each of the two readers was told.
    pub(super) events: Vec<Vec<Told>>,
}

/// Stops the service, and checks what it leaves.
pub(super) fn check(load: &Load, process: Process, mut done: Done) {
    for (tenant, own) in TENANTS.iter().zip(&done.tenants) {
        check_filters(load, *tenant, &own.filters);
    }
    done.logs.push(process.terminate());
    for log in &done.logs {
        let errors: Vec<&str> = log.lines().filter(|line| line.contains("\"level\":\"ERROR\"")).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    check_audit_log(load, done.logs.len());
    run(load, &["verify", "cases.db"]);
    let bytes = fs::read(load.database.path()).unwrap();
    assert!(!done.erased.is_empty() && memchr::memmem::find(&bytes, b"Quetzalcoatlus").is_none());
    let store = load.database.open();
    check_cases(&store, &done.cases);
    check_records(&store, &done);
    check_events(&store, &done);
    let Done { cases, erased, .. } = &done;
    assert!(!cases.deleted.is_empty() || load.lost.load(Ordering::Relaxed) > 0);
    println!(
        "{} cases imported, {} deleted, {} persons erased",
        cases.entered.len(),
        cases.deleted.len(),
        erased.len()
    );
    for own in &done.tenants {
        let (copies, events) = (own.copies.known.len(), own.events[0].len());
        println!(
            "{copies} copies, {} of unknown id, {} reviews, {events} events",
            own.copies.unknown, own.reviews
        );
    }
    store.close().unwrap();
}

/// Runs a command that must succeed.
fn run(load: &Load, arguments: &[&str]) -> Output {
    let output = casefilter().current_dir(load.database.folder()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Checks the standing filters of a tenant.
fn check_filters(load: &Load, tenant: Tenant, expected: &BTreeMap<String, Value>) {
    let list = Connection::new(load).call(tenant.name, "GET", STANDING, b"").response.good();
    let shown = list["filters"].as_array().unwrap().iter();
    let shown: BTreeMap<String, Value> =
        shown.map(|own| (own["name"].as_str().unwrap().to_owned(), own["body"].clone())).collect();
    assert_eq!(shown, *expected);
}

/// Checks that the audit log is sound, and that it has a record of each response and of each start of the service.
fn check_audit_log(load: &Load, starts: usize) {
    run(load, &["audit", "verify", "audit.ndjson"]);
    let listed = String::from_utf8(run(load, &["audit", "list", "audit.ndjson"]).stdout).unwrap();
    let (mut of_requests, mut events) = (HashMap::new(), Vec::new());
    for line in listed.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        match record["id"].as_str() {
            Some(id) => drop(of_requests.insert(id.to_owned(), record["status"].as_u64().unwrap())),
            None => events.push(record["event"].as_str().unwrap_or_default().to_owned()),
        }
    }
    let answered = load.answered.lock().unwrap();
    for (id, status) in answered.iter() {
        assert_eq!(of_requests.get(id), Some(&u64::from(*status)), "the record of the response {id}");
    }
    // The others are records of requests whose response was lost.
    let (others, lost) = (of_requests.len() - answered.len(), load.lost.load(Ordering::Relaxed));
    assert!(others as u64 <= lost, "{others} records without a response, and {lost} lost responses");
    let count = |name: &str| events.iter().filter(|event| *event == name).count();
    assert_eq!((count("opened"), count("resumed")), (starts, 0), "{events:?}");
}

/// Checks that the store has exactly the cases that were acknowledged.
fn check_cases(store: &Store, cases: &Cases) {
    let request = SearchRequest::new(Filter::all(store.catalog())).with_limit(u64::MAX);
    let documents = store.documents(&request).unwrap();
    let (mut found, mut others) = (BTreeMap::new(), 0);
    for document in documents {
        let document: Value = serde_json::from_str(&document.unwrap()).unwrap();
        let id = document["id"].as_str().unwrap().to_owned();
        match id.starts_with("load-") {
            true => drop(found.insert(id, document)),
            false => others += 1,
        }
    }
    assert_eq!(others, 700 + TENANTS.len(), "the cases of before, and the markers");
    assert!(found.keys().eq(cases.stored.keys()), "cases are missing, or too many");
    for (id, document) in &found {
        assert_eq!(*document, cases.stored[id]);
    }
}

/// Checks the records of applicants, copies and AML cases.
fn check_records(store: &Store, done: &Done) {
    let records = store.records().unwrap();
    let parsed = |kind: &str, key: &str| -> Value {
        let text = records.get(kind, key).unwrap().unwrap_or_else(|| panic!("{kind} {key} is missing"));
        serde_json::from_str(&text).unwrap()
    };
    let applicants = records.with_prefix("applicant", "").unwrap();
    assert!(!applicants.iter().any(|(id, _)| id.starts_with("gone-")));
    let copies = applicants.iter().filter(|(_, text)| text.contains("copiedFrom")).count();
    let mut expected = 0;
    for (tenant, own) in TENANTS.iter().zip(&done.tenants) {
        for (id, values) in &own.updates {
            let applicant = parsed("applicant", id);
            for (field, value) in values {
                assert_eq!(applicant["info"][*field], *value, "{id}");
            }
        }
        for (id, client) in &own.copies.known {
            let copy = parsed("applicant", id);
            assert_eq!(
                (&copy["clientId"], &copy["copiedFrom"][0]["applicantId"]),
                (&json!(client), &json!(tenant.applicant))
            );
            assert!(records.get("aml-case", &format!("{id}\0{}", tenant.aml_case)).unwrap().is_some());
        }
        expected += own.copies.known.len() + own.copies.unknown;
        let aml_case = parsed("aml-case", &format!("{}\0{}", tenant.applicant, tenant.aml_case));
        assert_eq!(aml_case["hits"][0]["review"]["version"], own.reviews);
        assert!(own.reviews > 0 && own.updates.iter().all(|(_, values)| !values.is_empty()));
    }
    assert_eq!(copies, expected);
}

/// Checks that each tenant was told its events, each once and in order, and that the events are those of the writes.
fn check_events(store: &Store, done: &Done) {
    let events = store.events_after(0, usize::MAX).unwrap();
    assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));
    for (tenant, own) in TENANTS.iter().zip(&done.tenants) {
        let marker = own.events[0].last().unwrap().number;
        let owner = events[usize::try_from(marker).unwrap() - 1].owner.as_deref().unwrap();
        let of_tenant = events.iter().filter(|event| event.owner.as_deref() == Some(owner)).map(told);
        let of_tenant: Vec<Told> = of_tenant.collect();
        for read in &own.events {
            assert!(*read == of_tenant, "{}: the told events are not those of the store", tenant.name);
        }
        let ids = |kind: &str| {
            let every = of_tenant.iter().filter(|event| event.filter == "every" && event.kind == kind);
            let mut ids: Vec<String> = every.map(|event| event.id.clone()).collect();
            ids.sort();
            ids
        };
        let is_own = |id: &&String| done.cases.entered[*id] == tenant.clients[1];
        let mut entered: Vec<String> = done.cases.entered.keys().filter(is_own).cloned().collect();
        entered.push(format!("marker-{}", tenant.name));
        assert_eq!(ids("entered"), entered);
        assert_eq!(ids("left"), done.cases.deleted.iter().filter(is_own).cloned().collect::<Vec<_>>());
    }
}

fn told(event: &Event) -> Told {
    Told {
        number: event.number,
        filter: event.filter.clone(),
        kind: event.kind.name().to_owned(),
        id: event.id.clone(),
    }
}
