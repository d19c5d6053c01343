//! Tests the parameter `asOf` of searches and counts: cases as of an earlier moment.

use serde_json::Value;

use super::client::Response;
use super::process::{Process, casefilter};
use super::server::{Database, FACETS, SEARCH, key};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
const COUNTS: &[u8] =
    br#"{"criteria":[{"field":"id","op":"<>","values":[""]}],"facets":[{"field":"clientId"}]}"#;

/// Runs a command in the folder of the database.
fn command(database: &Database, arguments: &[&str]) {
    let output = casefilter().current_dir(database.folder()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn total(response: &Response) -> Value {
    response.good()["list"]["totalItems"].clone()
}

#[test]
fn cases_are_searched_and_counted_as_of_an_earlier_moment() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::with_source(&database, &["--extended", "--history", "1d"], None);
    let mut client = process.client();
    let (all, own) = (key("all"), key("own"));
    let page = format!("{SEARCH}?order=-createdAt&limit=50&countTotalItems=true");
    let before = client.call(&all, "POST", &page, ALL);
    let (cases, of_own) = (total(&before), total(&client.call(&own, "POST", &page, ALL)));
    assert_eq!(cases, 700);
    let counts = client.call(&all, "POST", FACETS, COUNTS).good();
    command(&database, &["delete", "--db", "cases.db", "--where", "clientId = client01", "--yes"]);
    assert_eq!(total(&client.call(&own, "POST", &page, ALL)), 0);

    // A search that was fast runs on another thread the next time.
    for _ in 0..3 {
        let then = client.call(&all, "POST", &format!("{page}&asOf=1"), ALL);
        assert_eq!(then.good(), before.good());
        client.call(&all, "POST", &format!("{page}&asOf=2"), ALL).good();
    }
    assert_eq!(client.call(&all, "POST", &format!("{FACETS}?asOf=1"), COUNTS).good(), counts);
    assert!(client.call(&all, "POST", FACETS, COUNTS).good() != counts);
    let long = client.call(&all, "POST", &format!("{SEARCH}?limit=700&asOf=1"), ALL).good();
    assert_eq!(long["list"]["items"].as_array().unwrap().len(), 700);
    // The filter of a token applies, and its permission is needed.
    let (limited, status) = (key("viewCases"), |response: Response| response.status);
    assert_eq!(status(client.call(&limited, "POST", &page, ALL)), 200);
    let refused = client.call(&limited, "POST", &format!("{page}&asOf=1"), ALL);
    assert_eq!(refused.failure(403), "the token does not have the permission `viewHistory`");
    client.call(&limited, "POST", &format!("{FACETS}?asOf=1"), COUNTS).failure(403);
    let history = key("tenant-one");
    assert_eq!(total(&client.call(&history, "POST", &format!("{page}&asOf=1"), ALL)), of_own);
    for (moment, told) in [
        ("9", "write 9 has not come yet; the last write is 2"),
        ("2020-01-01", "the oldest moment kept is write 1"),
        ("yesterday", "expected the number of a write, or a time"),
    ] {
        for _ in 0..3 {
            let description = client.call(&all, "POST", &format!("{page}&asOf={moment}"), ALL).failure(400);
            assert!(
                description.starts_with("Invalid parameters: asOf") && description.contains(told),
                "{description}"
            );
        }
        client.call(&all, "POST", &format!("{FACETS}?asOf={moment}"), COUNTS).failure(400);
    }
    // The counts of now would be the wrong answer.
    for (query, told) in [("asof=1", "did you mean `asOf`"), ("asOf=1&asOf=2", "`2` again")] {
        let description = client.call(&all, "POST", &format!("{FACETS}?{query}"), COUNTS).failure(400);
        assert!(description.contains(told), "{description}");
    }
    process.terminate();

    // Without --extended, the parameter is refused: the cases of now would be the wrong answer.
    let process = Process::with_source(&database, &[], None);
    let mut client = process.client();
    for (path, body) in [(&page, ALL), (&format!("{FACETS}?x=1"), COUNTS)] {
        let description = client.call(&limited, "POST", &format!("{path}&asOf=1"), body).failure(400);
        assert!(description.contains("without --extended"), "{description}");
        client.call(&limited, "POST", path, body).good();
    }
    process.terminate();
}
