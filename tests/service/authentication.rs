//! Tests authentication and authorization: signatures, clocks, replays, permissions.

use std::time::Duration;

use casefilter::service::ServiceOptions;

use super::client::{Client, Key, Response, now_s, sign};
use super::server::{
    COPY, EVENTS, FILTERS, PERMISSIONS, PREVIEW, SEARCH, STANDING, Server, aml_of, changed, company_of,
    comparison_of, info_of, key, review_of, share_tokens_of, status_of,
};

const BODY: &[u8] = br#"{"ids":["x"]}"#;

/// Sends a search with the given headers.
fn search(client: &mut Client, headers: &[(&str, &str)], target: &str, body: &[u8]) -> Response {
    let mut request = format!("POST {target} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let mut request = (request + "\r\n").into_bytes();
    request.extend_from_slice(body);
    client.send(&request).unwrap();
    client.receive().unwrap()
}

#[test]
fn every_authentication_error_gets_the_same_response() {
    let server = Server::start();
    let (mut client, Key { token, secret }) = (server.client(), key("all"));
    let now = now_s().to_string();
    let right = sign(&secret, &now, "POST", SEARCH, BODY);
    let good = [("X-App-Token", &*token), ("X-App-Access-Ts", &*now), ("X-App-Access-Sig", &*right)];
    assert_eq!(search(&mut client, &good, SEARCH, BODY).status, 200);
    // The header `Authorization` is ignored.
    let with_bearer = [&good[..], &[("Authorization", "Bearer nonsense")]].concat();
    assert_eq!(search(&mut client, &with_bearer, SEARCH, BODY).status, 200);

    let (short, long) = (&right[..63], format!("{right}0"));
    let mut flipped = right.clone().into_bytes();
    flipped[63] ^= 1;
    let flipped = String::from_utf8(flipped).unwrap();
    let signed = |timestamp: &str, method: &str, target: &str, body: &[u8]| {
        sign(&secret, timestamp, method, target, body)
    };
    let of_other_secret = sign(&key("none").secret, &now, "POST", SEARCH, BODY);
    let of_nothing = sign("", &now, "POST", SEARCH, BODY);
    let (late, early) = ((now_s() - 62).to_string(), (now_s() + 62).to_string());
    let padded = format!("0{now}");
    let plus = format!("+{now}");
    let huge = "9".repeat(40);
    let of_other_target = signed(&now, "POST", &format!("{SEARCH}?limit=1"), BODY);
    let mut tries: Vec<Vec<(&str, String)>> = Vec::new();
    let with = |timestamp: &str, signature: &str| {
        vec![
            ("X-App-Token", token.clone()),
            ("X-App-Access-Ts", timestamp.to_owned()),
            ("X-App-Access-Sig", signature.to_owned()),
        ]
    };
    for signature in [
        "",
        short,
        &long,
        &flipped,
        "nothing",
        &signed(&now, "GET", SEARCH, BODY),
        &signed(&now, "POST", "/", BODY),
        &of_other_target,
        &signed(&now, "POST", SEARCH, b""),
        &of_other_secret,
        &of_nothing,
    ] {
        tries.push(with(&now, signature));
    }
    for timestamp in ["", "x", "-1", "0", "1e9", &late, &early, &plus, &huge] {
        tries.push(with(timestamp, &signed(timestamp, "POST", SEARCH, BODY)));
    }
    tries.push(with(&padded, &right));
    for left_out in 0..3 {
        let mut headers = with(&now, &right);
        headers.remove(left_out);
        tries.push(headers);
    }
    for twice in 0..3 {
        let mut headers = with(&now, &right);
        headers.push(headers[twice].clone());
        tries.push(headers);
    }
    for other in ["", "token-none", "token-unknown", "TOKEN-ALL", "tökén"] {
        let mut headers = with(&now, &right);
        headers[0].1 = other.to_owned();
        tries.push(headers);
    }
    let mut descriptions = std::collections::BTreeSet::new();
    for headers in &tries {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        let answer = search(&mut client, &headers, SEARCH, BODY);
        assert_eq!(answer.status, 401, "{headers:?}");
        descriptions.insert(answer.failure(401));
    }
    assert_eq!(descriptions.len(), 1, "{descriptions:?}");
    // Body and query are signed too. A 401 never reveals whether the body is valid.
    for (target, body) in [
        (SEARCH, &b"{}"[..]),
        (SEARCH, b""),
        (&format!("{SEARCH}?limit=1"), BODY),
        (SEARCH, b"{\"ids\":[\"y\"]}"),
    ] {
        assert!(descriptions.contains(&search(&mut client, &good, target, body).failure(401)));
    }
    // Timestamps near the edges of the clock window are accepted.
    for seconds in [-58, 58] {
        let timestamp = (now_s() + seconds).to_string();
        let signature = signed(&timestamp, "POST", SEARCH, BODY);
        let headers =
            [("X-App-Token", &*token), ("x-app-access-ts", &*timestamp), ("x-APP-access-sig", &*signature)];
        assert_eq!(search(&mut client, &headers, SEARCH, BODY).status, 200, "{seconds}");
    }
    server.stop();
}

#[test]
fn the_signature_covers_the_bytes_as_sent_without_normalization() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    // Unusual spellings: the signature is over the same bytes.
    for target in [
        format!("{SEARCH}?limit=%31&x=%zz&&order=%2DcreatedAt"),
        format!("{SEARCH}?"),
        SEARCH.replace("cases", "%63ases"),
        format!("{SEARCH}?limit=1?a=b"),
    ] {
        let answer = client.call(&all, "POST", &target, b" {\"ids\" : [ ] }\n");
        assert!([200, 400, 404].contains(&answer.status), "{target}: {}", answer.text());
    }
    // The signature does not cover the chunk framing.
    let now = now_s().to_string();
    let signature = sign(&all.secret, &now, "POST", SEARCH, BODY);
    let head = format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: t\r\nX-App-Token: {}\r\nX-App-Access-Ts: {now}\r\nX-App-Access-Sig: {signature}\r\nTransfer-Encoding: chunked\r\n\r\n",
        all.token
    );
    let (one, two) = BODY.split_at(5);
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    client.send(&[head.as_bytes(), &chunk(one), &chunk(two), b"0\r\n\r\n"].concat()).unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
    server.stop();
}

#[test]
fn a_signature_can_be_reused_unless_replays_are_rejected() {
    for reject_replays in [false, true] {
        let options = changed(ServiceOptions::default(), |options| {
            options.reject_replays = reject_replays;
            options.remembered_signatures = 3;
        });
        let server = Server::with("plain.cases.ndjson", options);
        let (mut client, all) = (server.client(), key("all"));
        let now = now_s().to_string();
        let mut at = |body: &[u8]| {
            let signature = sign(&all.secret, &now, "POST", SEARCH, body);
            let headers =
                [("X-App-Token", &*all.token), ("X-App-Access-Ts", &*now), ("X-App-Access-Sig", &*signature)];
            search(&mut client, &headers, SEARCH, body).status
        };
        let statuses =
            [at(BODY), at(BODY), at(b"{\"ids\":[]}"), at(b"{\"ids\":[\"1\"]}"), at(b"{\"ids\":[\"2\"]}")];
        // The replay cache is bounded: a request whose signature does not fit is rejected.
        assert_eq!(statuses, if reject_replays { [200, 401, 200, 200, 503] } else { [200; 5] });
        server.stop();
    }
}

#[test]
fn each_operation_needs_its_permission() {
    let server = Server::start();
    let mut client = server.client();
    let preview = format!("{PREVIEW}?shareToken={}", server.database.share_token);
    let (status, aml, info) = (status_of("anna"), aml_of("anna"), info_of("anna"));
    let (share, review, company) = (share_tokens_of("anna"), review_of("anna"), company_of("firm-one"));
    let comparison = comparison_of("anna");
    // A copy for no client is a 400, which does not use the share token up.
    let copy = format!("{COPY}?shareToken={}", server.database.share_token);
    let calls: [(&str, &str, &[u8], &str); 14] = [
        ("POST", SEARCH, BODY, "viewCases"),
        ("GET", FILTERS, b"", "viewCases"),
        ("GET", &status, b"", "viewApplicants"),
        ("GET", &preview, b"", "createApplicants"),
        ("POST", &copy, b"{}", "createApplicants"),
        ("GET", &aml, b"", "viewAmlScreening"),
        ("PATCH", &info, b"{\"stateOfBirth\":\"x\"}", "changePersonalData"),
        ("POST", &share, b"{}", "shareApplicants"),
        ("PATCH", &review, br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true}"#, "reviewAmlHits"),
        ("GET", &company, b"", "viewApplicants"),
        ("GET", &comparison, b"", "viewApplicants"),
        ("PATCH", &company, b"{\"taxId\":\"x\"}", "changePersonalData"),
        ("GET", STANDING, b"", "manageFilters"),
        ("GET", EVENTS, b"", "manageFilters"),
    ];
    for (method, target, body, needed) in calls {
        // PostgreSQL gives no events.
        if needed == "manageFilters" && server.database.source().is_some() {
            continue;
        }
        for own in PERMISSIONS.into_iter().chain(["none", "all"]) {
            let answer = client.call(&key(own), method, target, body);
            if own == needed || own == "all" {
                let expected = if needed == "shareApplicants" { 201 } else { 200 };
                assert_eq!(answer.status, if target == copy { 400 } else { expected });
            } else {
                let description = answer.failure(403);
                assert!(description.contains(needed), "{own}: {description}");
            }
        }
    }
    server.stop();
}

#[test]
fn the_clock_window_is_configurable() {
    let options = changed(ServiceOptions::default(), |options| options.clock_window = Duration::from_secs(5));
    let server = Server::with("plain.cases.ndjson", options);
    let (mut client, all) = (server.client(), key("all"));
    for (seconds, expected) in [(-3, 200), (-8, 401), (8, 401)] {
        let timestamp = (now_s() + seconds).to_string();
        let signature = sign(&all.secret, &timestamp, "POST", SEARCH, BODY);
        let headers = [
            ("X-App-Token", &*all.token),
            ("X-App-Access-Ts", &*timestamp),
            ("X-App-Access-Sig", &*signature),
        ];
        assert_eq!(search(&mut client, &headers, SEARCH, BODY).status, expected, "{seconds}");
    }
    server.stop();
}
