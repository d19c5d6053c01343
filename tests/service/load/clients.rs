//! The clients of the load that read cases and write records. Each returns what the service has acknowledged.

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::Key;
use super::super::server::{
    COPY, EVENTS, FACETS, FILTERS, PREVIEW, SEARCH, STANDING, STREAM, aml_of, info_of, key, review_of,
    share_tokens_of, status_of,
};
use super::connection::Connection;
use super::{LISTENERS, Load, TENANTS, Tenant, UPDATED, every};

/// Updates applicants that no other thread updates, with operation 5. Returns the last values of each.
pub(super) fn update(
    load: &Load,
    tenant: Tenant,
    thread: usize,
) -> Vec<(String, HashMap<&'static str, String>)> {
    let mut connection = Connection::new(load);
    let ids = (0..UPDATED).map(|number| tenant.updated(thread, number));
    let mut last: Vec<_> = ids.map(|id| (id, HashMap::new())).collect();
    for round in 0.. {
        if !load.goes_on() {
            break;
        }
        let (id, values) = &mut last[round % UPDATED];
        let field = ["firstName", "stateOfBirth", "lastName"][round / UPDATED % 3];
        values.insert(field, format!("Ян {round}"));
        let body = json!({field: values[field]}).to_string();
        // A repeated update has the same effect.
        let info = connection.call(tenant.name, "PATCH", &info_of(id), body.as_bytes()).response.good();
        for (field, value) in values {
            assert_eq!(info[*field], *value, "{id}: {info}");
        }
    }
    last
}

/// Searches and counts cases. Checks that all of them belong to the tenant.
pub(super) fn search(load: &Load, tenant: Tenant) {
    let mut connection = Connection::new(load);
    let tagged = json!({"criteria": [{"field": "tags", "op": "=", "values": ["t1"]}]});
    let is_own = |client: &Value| tenant.clients.contains(&client.as_str().unwrap());
    let mut round = 0;
    while load.goes_on() {
        round += 1;
        let (body, offset) = (if round % 3 == 0 { tagged.clone() } else { every() }.to_string(), round % 40);
        let target = format!("{SEARCH}?order=-createdAt&offset={offset}&limit=50&countTotalItems=true");
        let page = connection.call(tenant.name, "POST", &target, body.as_bytes()).response.good();
        let items = page["list"]["items"].as_array().unwrap();
        let total = page["list"]["totalItems"].as_u64().unwrap();
        assert!(items.iter().all(|item| is_own(&item["clientId"])), "{page}");
        assert_eq!(items.len() as u64, total.saturating_sub(offset).min(50), "{page}");
        let mut counts = every();
        counts["facets"] = json!([{"field": "clientId"}]);
        let counts =
            connection.call(tenant.name, "POST", FACETS, counts.to_string().as_bytes()).response.good();
        let values = counts["facets"][0]["values"].as_array().unwrap();
        assert!(values.iter().all(|own| is_own(&own["value"])), "{counts}");
        connection.call(tenant.name, "GET", FILTERS, b"").response.good();
    }
}

/// Reads applicants with operations 2 and 4. Those of the other tenant do not exist.
pub(super) fn view(load: &Load, tenant: Tenant) {
    let mut connection = Connection::new(load);
    let other = TENANTS.iter().find(|other| other.name != tenant.name).unwrap();
    while load.goes_on() {
        for target in [status_of(tenant.applicant), aml_of(tenant.applicant)] {
            connection.call(tenant.name, "GET", &target, b"").response.good();
        }
        for target in [status_of(other.applicant), aml_of(other.applicant)] {
            connection.call(tenant.name, "GET", &target, b"").response.failure(404);
        }
        // A wrong secret is rejected, also while secrets are rotated.
        load.set_key("wrong", Key { secret: "a secret that is wrong".to_owned(), ..key(tenant.name) });
        connection.call("wrong", "GET", &status_of(tenant.applicant), b"").response.failure(401);
    }
}

/// The copies that a tenant has allowed.
#[derive(Default)]
pub(super) struct Copies {
    /// The id of each copy, and its client.
    pub(super) known: Vec<(String, String)>,
    /// The number of copies whose answer was lost.
    pub(super) unknown: usize,
}

/// Creates share tokens for an applicant of the tenant. The other tenant previews and copies its profile with operation 3, once.
pub(super) fn share(load: &Load, tenant: Tenant) -> Copies {
    let mut connection = Connection::new(load);
    let other = TENANTS.iter().find(|other| other.name != tenant.name).unwrap();
    let (mut copies, client) = (Copies::default(), other.clients[0]);
    while load.goes_on() {
        let body = json!({"forClientId": client, "ttlInSecs": 3600}).to_string();
        let target = share_tokens_of(tenant.applicant);
        let made = connection.call(tenant.name, "POST", &target, body.as_bytes()).response.created();
        let token = made["token"].as_str().unwrap();
        let preview = format!("{PREVIEW}?shareToken={token}");
        let shown = connection.call(other.name, "GET", &preview, b"").response.good();
        assert_eq!(shown["id"], tenant.applicant);
        connection.call(tenant.name, "GET", &preview, b"").response.failure(401);
        let body = json!({"shareToken": token, "clientId": client}).to_string();
        let answer = connection.call(other.name, "POST", COPY, body.as_bytes());
        match answer.response.status {
            401 if answer.was_lost => copies.unknown += 1,
            _ => {
                let copy = answer.response.created();
                assert_eq!(copy["clientId"], client);
                copies.known.push((copy["id"].as_str().unwrap().to_owned(), client.to_owned()));
            }
        }
        connection.call(other.name, "POST", COPY, body.as_bytes()).response.failure(401);
        connection.call(other.name, "GET", &preview, b"").response.failure(401);
        // An app token has a maximum number of share tokens that were used within a day.
        thread::sleep(Duration::from_millis(150));
    }
    copies
}

/// Reviews a hit. Each review is made once. Returns the number of reviews.
pub(super) fn review(load: &Load, tenant: Tenant) -> u64 {
    let mut connection = Connection::new(load);
    let mut version = 0;
    while load.goes_on() {
        let body = json!({
            "amlCaseId": tenant.aml_case, "hitId": "hit-1", "whitelisted": version % 2 == 0, "ifVersion": version,
        });
        let target = review_of(tenant.applicant);
        let answer = connection.call(tenant.name, "PATCH", &target, body.to_string().as_bytes());
        match answer.response.status {
            // The first attempt was executed.
            409 if answer.was_lost => {}
            _ => assert_eq!(answer.response.good()["review"]["version"], version + 1),
        }
        version += 1;
    }
    version
}

/// Stores and removes standing filters. Returns those that are stored in the end.
pub(super) fn store_filters(load: &Load, tenant: Tenant) -> BTreeMap<String, Value> {
    let mut connection = Connection::new(load);
    let mut stored = BTreeMap::from([("every".to_owned(), every())]);
    for round in 0.. {
        if !load.goes_on_beside_records() {
            break;
        }
        let name = format!("f{}", round * 7 % 10);
        let target = format!("{STANDING}/{name}");
        if round % 3 == 0 && stored.remove(&name).is_some() {
            let answer = connection.call(tenant.name, "DELETE", &target, b"");
            assert!(answer.response.status == 200 || answer.response.status == 404 && answer.was_lost);
        } else {
            let body =
                json!({"criteria": [{"field": "tags", "op": "=", "values": [format!("t{}", round % 5)]}]});
            connection.call(tenant.name, "PUT", &target, body.to_string().as_bytes()).response.good();
            stored.insert(name, body);
        }
        let list = connection.call(tenant.name, "GET", STANDING, b"").response.good();
        let names = list["filters"].as_array().unwrap().iter().map(|own| own["name"].as_str().unwrap());
        assert!(names.eq(stored.keys()), "{list}");
    }
    stored
}

/// Searches the cases as they were before the load.
pub(super) fn search_earlier_cases(load: &Load) {
    let mut connection = Connection::new(load);
    let target = format!("{SEARCH}?limit=20&countTotalItems=true&asOf=1");
    let mut totals = [None, None];
    while load.goes_on() {
        for (tenant, total) in TENANTS.iter().zip(&mut totals) {
            let page =
                connection.call(tenant.name, "POST", &target, every().to_string().as_bytes()).response.good();
            let found = page["list"]["totalItems"].as_u64();
            assert_eq!(found, *total.get_or_insert(found), "the cases as of a write have changed");
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Opens as many streams as a token may have, and then asks for events. This request gets 429. Other tokens are not affected.
pub(super) fn exceed_limits(load: &Load) {
    let name = "manageFilters";
    while load.goes_on() {
        let mut streams: Vec<Connection<'_>> = (0..LISTENERS).map(|_| Connection::new(load)).collect();
        let epoch = load.epoch();
        let opened = streams.iter_mut().filter_map(|own| own.open_stream(name, STREAM, 0).ok());
        let count = opened.filter(Result::is_ok).count();
        let answer = Connection::new(load).call(name, "GET", EVENTS, b"");
        // A permit of the last round may not have been free yet.
        if count == LISTENERS && !load.was_down_since(epoch) {
            answer.response.failure(429);
            assert_eq!(answer.response.header("retry-after"), Some("1"));
        }
        drop(streams);
        thread::sleep(Duration::from_millis(500));
    }
}
