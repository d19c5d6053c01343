//! Tests reviews of AML hits over real sockets.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::process::Process;
use super::server::{Database, Server, aml_of, key, review_of};

#[test]
fn a_review_is_durable_and_the_audit_log_has_only_its_ids() {
    let database = Database::new("plain.cases.ndjson");
    let audit = database.folder().join("audit.ndjson");
    let process = Process::start(&database, &["--audit", audit.to_str().unwrap()]);
    let mut client = process.client();
    let body =
        br#"{"amlCaseId":"aml-2","hitId":"hit-1","matchStatus":"true_positive","reviewerName":"Rhabarber"}"#;
    let reviewed = client.call(&key("tenant-one"), "PATCH", &review_of("anna"), body).good();
    assert_eq!(
        (&reviewed["review"]["reviewedBy"], &reviewed["review"]["reviewerName"]),
        (&json!("tenant-one"), &json!("Rhabarber"))
    );
    // A token without the permission for personal data sees no names.
    let less = client.call(&key("reviewAmlHits"), "PATCH", &review_of("anna"), body).good();
    assert!(less["review"].get("reviewedBy").is_none() && less["review"].get("reviewerName").is_none());
    process.kill();
    let process = Process::start(&database, &["--audit", audit.to_str().unwrap()]);
    let mut client = process.client();
    let case = client.call(&key("all"), "GET", &aml_of("anna"), b"").good();
    let review = &case["hits"][0]["review"];
    assert_eq!((&review["matchStatus"], &review["version"]), (&json!("true_positive"), &json!(2)));
    assert_eq!(review["reviewedBy"], "reviewAmlHits");
    process.terminate();
    let audit = fs::read_to_string(audit).unwrap();
    assert!(!audit.contains("Rhabarber") && !audit.contains("true_positive"), "{audit}");
    let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own: Vec<Value> = records.filter(|record| record["operation"] == "reviewAmlHit").collect();
    assert_eq!(own.len(), 2);
    for record in own {
        let found = json!([record["applicant"], record["amlCase"], record["hit"], record["status"]]);
        assert_eq!(found, json!(["anna", "aml-2", "hit-1", 200]));
    }
}

#[test]
fn of_concurrent_reviews_of_one_version_one_succeeds() {
    let server = Server::start();
    for version in 0..5 {
        let statuses: Vec<u16> = thread::scope(|scope| {
            let reviews: Vec<_> = (0..8)
                .map(|_| {
                    let mut client = server.client();
                    scope.spawn(move || {
                        let body = json!({"amlCaseId": "aml-2", "hitId": "hit-1", "whitelisted": true, "ifVersion": version});
                        let answer =
                            client.call(&key("all"), "PATCH", &review_of("anna"), body.to_string().as_bytes());
                        if answer.status == 409 {
                            assert_eq!(answer.code(), (4091, "ReviewConflictException".to_owned()));
                        }
                        answer.status
                    })
                })
                .collect();
            reviews.into_iter().map(|review| review.join().unwrap()).collect()
        });
        let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(200), count(409)), (1, 7), "{statuses:?}");
    }
    let mut client = server.client();
    let unknown = br#"{"amlCaseId":"aml-2","hitId":"hit-9","whitelisted":true}"#;
    let answer = client.call(&key("all"), "PATCH", &review_of("anna"), unknown);
    answer.failure(404);
    assert_eq!(answer.code().0, 4045);
    let answer = client.call(&key("all"), "PATCH", &review_of("chen"), unknown);
    assert_eq!((answer.failure(404).as_str(), answer.code().0), ("HTTP 404 Not Found", 4042));
    server.stop();
}
