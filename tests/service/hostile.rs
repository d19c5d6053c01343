//! Sends thousands of malformed requests. No response may be a 5xx, and no connection may be lost.

use std::fs;

use serde_json::Value;

use super::client::{Client, head};
use super::server::{
    COPY, EVENTS, FACETS, FILTERS, PREVIEW, SEARCH, STANDING, Server, TENANTS, aml_of, company_of,
    comparison_of, data, info_of, key, review_of, share_tokens_of, status_of,
};

/// A deterministic random number generator (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, options: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % options as u64) as usize
    }

    fn pick<'o, T: ?Sized>(&mut self, options: &[&'o T]) -> &'o T {
        options[self.below(options.len())]
    }

    fn bytes(&mut self, most: usize, alphabet: std::ops::RangeInclusive<u8>) -> Vec<u8> {
        let size = usize::from(alphabet.end() - alphabet.start()) + 1;
        (0..self.below(most)).map(|_| alphabet.start() + self.below(size) as u8).collect()
    }

    /// Returns a copy of a text with a random mutation.
    fn mutate(&mut self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(text.len() + 1);
            match self.below(6) {
                0 => text.truncate(at),
                1 => text.insert(at, self.below(256) as u8),
                2 if at < text.len() => text[at] = self.below(256) as u8,
                3 if at < text.len() => drop(text.remove(at)),
                4 => {
                    let word = self.pick(&[
                        "null",
                        "{",
                        "]",
                        "\"\\ud800\"",
                        "1e999",
                        "[[[[[[",
                        "\"$or\"",
                        ",",
                        "\"values\":",
                    ]);
                    text.splice(at..at, word.bytes());
                }
                _ => {
                    let end = at + self.below(text.len() - at + 1);
                    let part = text[at..end].to_vec();
                    text.splice(at..at, part);
                }
            }
        }
        text
    }
}

/// A client that reuses its connection and counts the responses.
struct Sender<'s> {
    server: &'s Server,
    client: Client,
    answers: usize,
}

impl Sender<'_> {
    fn send(&mut self, request: &[u8]) -> u16 {
        let note = || String::from_utf8_lossy(&request[..request.len().min(400)]).into_owned();
        self.client.send(request).unwrap_or_else(|error| panic!("{error}: {}", note()));
        let answer = self.client.receive().unwrap_or_else(|error| panic!("{error}: {}", note()));
        assert!(answer.status < 500, "{}: {}", answer.status, note());
        self.answers += 1;
        if answer.header("connection") == Some("close") {
            self.client = self.server.client();
        } else if !matches!(answer.status, 200 | 201) {
            answer.failure(answer.status);
        }
        answer.status
    }
}

#[test]
fn ten_thousand_malformed_requests_are_answered() {
    let server = Server::start();
    let mut sender = Sender { server: &server, client: server.client(), answers: 0 };
    // Half of the requests are of a token that is bound to clients.
    let (mut dice, keys) = (Dice(7), [key("all"), key(TENANTS[0].0)]);
    let requests = fs::read_to_string(data("plain.requests.ndjson")).unwrap();
    let bodies: Vec<String> = requests
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["request"]["body"].to_string())
        .collect();
    let targets: Vec<(&str, String)> = vec![
        ("POST", SEARCH.to_owned()),
        ("GET", FILTERS.to_owned()),
        ("GET", PREVIEW.to_owned()),
        ("GET", status_of("anna")),
        ("GET", aml_of("anna")),
        ("PATCH", info_of("anna")),
        ("POST", COPY.to_owned()),
        ("PATCH", review_of("anna")),
        ("GET", company_of("anna")),
        ("PATCH", company_of("anna")),
        ("GET", comparison_of("anna")),
        ("POST", FACETS.to_owned()),
        ("POST", share_tokens_of("anna")),
        ("PUT", format!("{STANDING}/anna")),
        ("DELETE", format!("{STANDING}/anna")),
        ("GET", EVENTS.to_owned()),
    ];
    let signed = |round: usize, method: &str, target: &str, body: &[u8]| {
        [head(&keys[round % 2], method, target, body).as_bytes(), b"\r\n", body].concat()
    };
    let mut bad = 0;
    // Mutated bodies.
    for round in 0..5000 {
        let body = bodies[round % bodies.len()].as_bytes();
        let body = if round % 10 == 0 { dice.bytes(300, 0..=255) } else { dice.mutate(body) };
        // Every second body goes to one of the other operations that have a body.
        let others = [5, 6, 7, 9, 11, 12, 13];
        let (method, target) = &targets[if round % 2 == 0 { others[round / 2 % others.len()] } else { 0 }];
        bad += usize::from(sender.send(&signed(round / 3, method, target, &body)) != 200);
    }
    // Queries and paths of all allowed bytes, signed.
    for round in 0..2500 {
        let (method, target) = dice.pick(&targets.iter().collect::<Vec<_>>()).clone();
        let target = match dice.below(3) {
            0 => {
                let name = dice.pick(&[
                    "limit",
                    "offset",
                    "order",
                    "countTotalItems",
                    "shareToken",
                    "fields",
                    "asOf",
                    "after",
                    "pageCursor",
                    "%",
                    "x",
                ]);
                let value = dice.bytes(40, b'!'..=b'~');
                format!("{target}?{name}={}", String::from_utf8(value).unwrap().replace('#', "&"))
            }
            1 => {
                let broken = dice.mutate(target.as_bytes());
                let kept = broken
                    .into_iter()
                    .filter(|byte| byte.is_ascii_graphic() && !b"#\"<>{}^`|\\".contains(byte));
                format!("/{}", String::from_utf8(kept.collect()).unwrap())
            }
            _ => {
                let id: String = dice.bytes(200, 0..=255).iter().map(|byte| format!("%{byte:02x}")).collect();
                target.replace("anna", &id)
            }
        };
        bad += usize::from(sender.send(&signed(round, method, &target, b"{}")) != 200);
    }
    // Signatures, timestamps and tokens of random bytes, and additional headers.
    for _ in 0..2500 {
        let (method, target) = dice.pick(&targets.iter().collect::<Vec<_>>()).clone();
        let good = head(&keys[0], method, &target, b"");
        let mut lines: Vec<Vec<u8>> =
            good.trim_end().split("\r\n").map(|line| line.as_bytes().to_vec()).collect();
        for _ in 0..=dice.below(3) {
            let name = dice.pick(&[
                "X-App-Token",
                "X-App-Access-Ts",
                "X-App-Access-Sig",
                "Content-Type",
                "Accept",
                "X-Y",
                "Cookie",
                "Authorization",
            ]);
            let value = match dice.below(3) {
                0 => dice.bytes(300, 0x80..=0xff),
                1 => dice.bytes(300, b' '..=b'~'),
                _ => dice.bytes(20, b'0'..=b'9'),
            };
            let line = [name.as_bytes(), b": ", &value].concat();
            let at = 2 + dice.below(lines.len() - 2);
            // The length stays correct: without it, the end of the request would be unknown.
            if dice.below(2) == 0 && !lines[at].starts_with(b"Content-Length") {
                lines[at] = line;
            } else {
                lines.insert(at, line);
            }
        }
        bad += usize::from(sender.send(&[lines.join(&b"\r\n"[..]), b"\r\n\r\n".to_vec()].concat()) != 200);
    }
    assert_eq!(sender.answers, 10_000);
    assert!(bad > 8000, "only {bad} were malformed");
    drop(sender);

    // Bytes that are not HTTP close their own connection, and no other.
    for round in 0..300 {
        let mut client = server.client();
        let noise = match round % 3 {
            0 => dice.bytes(600, 0..=255),
            1 => dice.mutate(&signed(round, "POST", SEARCH, b"{}")),
            _ => [
                &dice.mutate(
                    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\n",
                )[..],
                b"\r\n\r\n",
            ]
            .concat(),
        };
        let _ = client.send(&noise);
        let _ = client.stream().shutdown(std::net::Shutdown::Write);
        if let Ok(answer) = client.receive() {
            assert!(answer.status < 500, "{}", String::from_utf8_lossy(&noise));
        }
    }
    let mut client = server.client();
    client.call(&keys[0], "POST", SEARCH, b"{\"ids\":[\"x\"]}").good();
    let metrics = server.metrics();
    assert!(!metrics.text().contains("status=\"5"), "{}", metrics.text());
    server.stop();
}
