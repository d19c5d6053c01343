//! Tests tokens that are bound to clients, with the binary and real sockets: a tenant gets the same responses, log lines and
//! effects as if the cases and applicants of other tenants did not exist.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, Response};
use super::process::{Process, casefilter, write_private};
use super::server::{
    Database, FACETS, FILTERS, PREVIEW, SEARCH, TENANTS, aml_of, company_of, comparison_of, data, info_of,
    key, review_of, share_tokens_of, status_of, tokens,
};

/// Returns the sample applicants, each with its client.
fn applicants() -> Vec<(String, Option<String>)> {
    let text = fs::read_to_string(data("domain/applicants.ndjson")).unwrap();
    let of = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        (value["id"].as_str().unwrap().to_owned(), value["clientId"].as_str().map(str::to_owned))
    };
    text.lines().map(of).collect()
}

/// The requests on one applicant that may give different answers to different tenants: operations 2, 4 and 5, and those that are
/// not part of the interface document, with valid and invalid bodies. Their answers depend only on the request and on the database.
fn requests(id: &str) -> Vec<(&'static str, String, &'static [u8])> {
    vec![
        ("GET", status_of(id), b""),
        ("GET", aml_of(id), b""),
        ("GET", status_of(id) + "?x=1", b""),
        ("PATCH", info_of(id), br#"{"stateOfBirth":"y"}"#),
        ("PATCH", info_of(id), br#"{"dob":"tomorrow"}"#),
        ("PATCH", info_of(id), b"{}"),
        ("PATCH", info_of(id) + "?unsetFields=dob", br#"{"stateOfBirth":"y"}"#),
        ("POST", share_tokens_of(id), b"{}"),
        ("POST", share_tokens_of(id), br#"{"forClientId":"acme","ttlInSecs":1}"#),
        ("POST", share_tokens_of(id), br#"{"ttlInSecs":0}"#),
        ("PATCH", review_of(id), br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true}"#),
        ("PATCH", review_of(id), br#"{"amlCaseId":"aml-2","hitId":"hit-9","whitelisted":true}"#),
        (
            "PATCH",
            review_of(id),
            br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true,"ifVersion":99}"#,
        ),
        ("PATCH", review_of(id), br#"{"amlCaseId":"aml-9","hitId":"hit-1","matchStatus":"unknown"}"#),
        ("PATCH", review_of(id), br#"{"amlCaseId":"aml-2"}"#),
        ("GET", company_of(id), b""),
        ("GET", comparison_of(id), b""),
        ("GET", comparison_of(id) + "?fields=lastName", b""),
        ("GET", comparison_of(id) + "?fields=lastNam", b""),
        ("GET", comparison_of(id) + "?field=lastName", b""),
        ("PATCH", company_of(id), br#"{"taxId":"y"}"#),
        ("PATCH", company_of(id), br#"{"country":"XX"}"#),
        ("PATCH", company_of(id) + "?unsetFields=taxId", br#"{"taxId":"y"}"#),
    ]
}

/// Returns status, headers and body, without what differs between any two responses.
fn essence(response: &Response, id: &str) -> (u16, Vec<(String, String)>, String) {
    let correlation = response.header("x-correlation-id").unwrap();
    let mut left_out = vec!["x-correlation-id", "date"];
    let mut body = response.text().replace(correlation, "CORRELATION").replace(id, "ID");
    let mut answer = response.json();
    if response.status < 400 && (answer.get("token").is_some() || answer.get("review").is_some()) {
        // A new token is random, and a review has the time and the name of the app token.
        for (member, names) in [
            ("", &["token", "expiresAt"][..]),
            ("/review", &["modifiedAt", "version", "reviewedBy", "reviewerName"]),
        ] {
            let object = answer.pointer_mut(member).and_then(Value::as_object_mut);
            object
                .into_iter()
                .flatten()
                .filter(|(name, _)| names.contains(&name.as_str()))
                .for_each(|(_, value)| *value = json!("X"));
        }
        body = answer.to_string();
        left_out.push("content-length");
    }
    let headers = response.headers.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
    (response.status, headers.cloned().collect(), body)
}

/// An unknown id with the length of `id`.
fn unknown(id: &str) -> String {
    "~".repeat(id.len())
}

#[test]
fn every_operation_answers_each_tenant_as_if_other_applicants_did_not_exist() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let mut compared = 0;
    for (tenant, clients) in TENANTS {
        for (id, owner) in applicants() {
            let is_own = owner.as_deref().is_some_and(|owner| clients.contains(&owner));
            let unknown = unknown(&id);
            let requests = requests(&id).into_iter().zip(self::requests(&unknown));
            for ((method, target, body), (_, of_unknown, _)) in requests {
                let mut call = |name: &str, target: &str| client.call(&key(name), method, target, body);
                let answer = essence(&call(tenant, &target), &id);
                if is_own {
                    let whole = essence(&call("all", &target), &id);
                    assert_eq!(answer, whole, "{tenant}: {method} {target}");
                } else {
                    let expected = essence(&call(tenant, &of_unknown), &unknown);
                    assert_eq!(answer, expected, "{tenant}: {method} {target}");
                    assert!(answer.0 >= 400, "{tenant}: {method} {target}");
                    assert_eq!(expected, essence(&call("all", &of_unknown), &unknown));
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 9 * 23);
    process.terminate();
    // Only the tenants of an applicant could change it.
    let store = database.open();
    for (id, owner) in applicants() {
        let record = store.records().unwrap().get("applicant", &id).unwrap().unwrap();
        let is_changed = serde_json::from_str::<Value>(&record).unwrap()["info"]["stateOfBirth"] == "y";
        let is_company = record.contains(r#""type":"company""#);
        assert_eq!(is_changed, owner.is_some() && !is_company, "{record}");
    }
}

#[test]
fn the_log_has_the_same_line_for_an_unknown_applicant_and_one_of_another_tenant() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &["--log", "debug"]);
    let mut client = process.client();
    let mut pairs = Vec::new();
    // The log has at most 20 lines per second for each token and status, so the tenants take turns.
    let tenants = ["tenant-two", "tenant-three"].into_iter().cycle();
    let requests = requests("anna").into_iter().zip(requests("~~~~")).zip(tenants);
    for (((method, target, body), (_, of_unknown, _)), tenant) in requests {
        let ids = [target, of_unknown].map(|target| {
            let response = client.call(&key(tenant), method, &target, body);
            response.header("x-correlation-id").unwrap().to_owned()
        });
        pairs.push((tenant, ids));
    }
    let log = process.terminate();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (tenant, pair) in pairs {
        let [foreign, expected] = pair.map(|id| {
            let own: Vec<&Value> = events.iter().filter(|event| event["correlation_id"] == *id).collect();
            assert_eq!(own.len(), 1, "{id}: {log}");
            let mut event = own[0].clone();
            for name in ["correlation_id", "timestamp", "took_us"] {
                assert!(event.as_object_mut().unwrap().remove(name).is_some(), "{name}");
            }
            event
        });
        assert_eq!(foreign, expected);
        assert_eq!(foreign["token"], tenant);
    }
    assert!(!log.contains("anna"), "{log}");
}

#[test]
fn operation_3_is_opened_by_the_share_token_alone() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let target = format!("{PREVIEW}?shareToken={}", database.share_token);
    let whole = client.call(&key("all"), "GET", &target, b"").good();
    for (tenant, _) in TENANTS {
        assert_eq!(client.call(&key(tenant), "GET", &target, b"").good(), whole);
        client.call(&key(tenant), "GET", &format!("{PREVIEW}?shareToken=x"), b"").failure(401);
    }
    process.terminate();
}

/// Searches as a tenant, and returns the `clientId` of each case that was found, and the total.
fn search(client: &mut Client, tenant: &str, target: &str, body: &Value) -> (Vec<String>, u64) {
    let answer = client.call(&key(tenant), "POST", target, body.to_string().as_bytes()).good();
    let items = answer["list"]["items"].as_array().unwrap().clone();
    let clients = items.iter().map(|item| item["clientId"].as_str().unwrap_or_default().to_owned());
    (clients.collect(), answer["list"]["totalItems"].as_u64().unwrap_or_default())
}

#[test]
fn searches_counts_facets_and_cursors_show_the_cases_of_a_tenant_only() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &["--extended"]);
    let mut client = process.client();
    let cases = fs::read_to_string(data("plain.cases.ndjson")).unwrap();
    let cases: Vec<Value> = cases.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = cases.iter().map(|case| &case["id"]).collect();
    let everything = json!({ "ids": ids });
    for (tenant, clients) in TENANTS {
        let is_own = |case: &&Value| case["clientId"].as_str().is_some_and(|own| clients.contains(&own));
        let expected = cases.iter().filter(is_own).count();
        assert!(expected > 0);
        for order in ["", "&order=-createdAt", "&order=clientId", "&order=priority,-createdAt"] {
            let target = format!("{SEARCH}?limit=1000&countTotalItems=true{order}");
            let (found, total) = search(&mut client, tenant, &target, &everything);
            assert!(found.iter().all(|own| clients.contains(&&**own)));
            assert_eq!((found.len(), total), (expected, expected as u64));
        }
        // Page by page, each with the cursor of the page before it.
        let (mut after, mut found) = (String::new(), 0);
        loop {
            let target = format!("{SEARCH}?limit=7&order=-createdAt&pageCursor=true{after}");
            let body = everything.to_string();
            let answer = client.call(&key(tenant), "POST", &target, body.as_bytes()).good();
            found += answer["list"]["items"].as_array().unwrap().len();
            let Some(next) = answer["list"]["pageInfo"]["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert_eq!(found, expected);
        let body = json!({"ids": ids, "facets": [{"field": "clientId", "ownCriteriaApart": true}, {"field": "status"}]});
        let counted = client.call(&key(tenant), "POST", FACETS, body.to_string().as_bytes()).good();
        assert_eq!(counted["totalItems"], expected);
        for value in counted["facets"][0]["values"].as_array().unwrap() {
            assert!(clients.contains(&value["value"].as_str().unwrap()), "{counted}");
        }
        assert_eq!(
            (&counted["facets"][0]["absent"], &counted["facets"][0]["otherCount"]),
            (&json!(0), &json!(0))
        );
        client.call(&key(tenant), "GET", FILTERS, b"").good();
    }
    // A cursor of one tenant is a position for another, who sees its own cases after it.
    let target = format!("{SEARCH}?limit=3&order=createdAt&pageCursor=true");
    let first = client.call(&key("tenant-one"), "POST", &target, everything.to_string().as_bytes()).good();
    let next = first["list"]["pageInfo"]["next"].as_str().unwrap();
    let target = format!("{SEARCH}?limit=500&order=createdAt&after={next}");
    let (found, _) = search(&mut client, "tenant-two", &target, &everything);
    assert!(found.iter().all(|own| own == "client02"));
    process.terminate();
}

/// Runs a command that must succeed, and returns its output.
fn run(database: &Database, arguments: &[&str]) -> String {
    let output = casefilter().current_dir(database.folder()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn imports_over_the_socket_move_applicants_and_cases_between_tenants() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let mut statuses =
        |id: &str| TENANTS.map(|(tenant, _)| client.call(&key(tenant), "GET", &status_of(id), b"").status);
    assert_eq!(statuses("nomad"), [404; 4]);
    for (owner, expected) in [("acme", [200, 404, 404, 200]), ("other", [404, 200, 404, 200])] {
        let record = json!({"id": "nomad", "type": "individual", "clientId": owner}).to_string();
        fs::write(database.folder().join("moved.ndjson"), record).unwrap();
        run(&database, &["import", "--db", "cases.db", "--kind", "applicants", "moved.ndjson"]);
        assert_eq!(statuses("nomad"), expected);
    }
    // The search index of another database is not changed, so this applies only to the file.
    if database.source().is_none() {
        let body = json!({"ids": ["moved"]});
        for (owner, expected) in [("client01", [1, 0, 0, 1]), ("client02", [0, 1, 0, 1])] {
            let case = json!({"id": "moved", "clientId": owner}).to_string();
            fs::write(database.folder().join("moved.ndjson"), case).unwrap();
            run(&database, &["import", "--db", "cases.db", "moved.ndjson"]);
            let found = TENANTS.map(|(tenant, _)| search(&mut client, tenant, SEARCH, &body).0.len());
            assert_eq!(found, expected);
        }
    }
    process.terminate();
}

#[test]
fn the_clients_of_a_token_are_stored_listed_and_kept_by_a_rotation() {
    let database = Database::new("plain.cases.ndjson");
    let app =
        ["token", "app", "--file", "own.json", "--name", "a", "--allow", "viewApplicants", "-o", "a.json"];
    run(&database, &[&app[..], &["--client", "acme,other", "--client", "third"]].concat());
    let clients = || -> Vec<Value> {
        let listed: Value =
            serde_json::from_str(&run(&database, &["token", "list", "--file", "own.json"])).unwrap();
        let file = fs::read(database.folder().join("own.json")).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        vec![listed[0]["clients"].clone(), file["tokens"][0]["clients"].clone()]
    };
    let expected = vec![json!(["acme", "other", "third"]); 2];
    assert_eq!(clients(), expected);
    run(&database, &["token", "rotate", "--file", "own.json", "--name", "a"]);
    assert_eq!(clients(), expected);
    for (client, said) in [("", "`clients`: found ``"), ("a\u{1}", "`clients`: found `a\\u{1}`")] {
        let output = casefilter()
            .current_dir(database.folder())
            .args(["token", "app", "--allow", "viewCases", "--client", client])
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(said), "{told}");
    }
    // Cases of a catalogue without clients cannot be told apart.
    fs::write(database.folder().join("own.toml"), "[[fields]]\npath = \"total\"\ntype = \"number\"\n")
        .unwrap();
    let output = casefilter()
        .current_dir(database.folder())
        .args(["token", "app", "--allow", "viewCases", "--client", "a", "--catalog", "own.toml"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("the catalogue has no field `clientId` that is one string"), "{told}");
}

#[test]
fn a_service_warns_about_restrictions_that_do_not_apply_to_applicants() {
    let database = Database::new("plain.cases.ndjson");
    let path = database.folder().join("own.json");
    let token = |name: &str, rest: Value| {
        let mut token = json!({"token": name, "name": name, "secret": "0123456789abcdef", "permissions": ["viewApplicants"]});
        token.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        token
    };
    let file = json!({"tokens": [
        token("held", json!({"filter": "clientId = acme"})),
        token("narrow", json!({"fields": ["name"]})),
        token("bound", json!({"filter": "clientId = acme", "clients": ["acme"]})),
        token("free", json!({})),
    ]});
    write_private(&path, &file.to_string());
    // The process ends because the certificate does not exist.
    let output = casefilter()
        .args(["serve", "--tls-cert", "no.pem", "--tls-key", "no.pem", "--db"])
        .arg(database.path())
        .arg("--tokens")
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let warnings: Vec<&str> =
        said.lines().filter(|line| line.contains("bind the token by --client")).collect();
    assert_eq!(warnings.len(), 2, "{said}");
    assert!(
        warnings[0].contains("token `held`: --filter") && warnings[1].contains("token `narrow`: --fields")
    );
}

#[test]
fn a_change_of_the_clients_of_a_token_is_in_force_for_the_next_request() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let mut status = || client.call(&key("tenant-two"), "GET", &status_of("anna"), b"").status;
    assert_eq!(status(), 404);
    let mut file = tokens();
    let all = file["tokens"].as_array_mut().unwrap();
    let own = all.iter_mut().find(|token| token["name"] == "tenant-two").unwrap();
    own["clients"] = json!(["acme"]);
    write_private(&database.folder().join("tokens.json"), &file.to_string());
    let start = std::time::Instant::now();
    while status() != 200 {
        assert!(start.elapsed().as_secs() < 10, "not in force");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    process.terminate();
}
