//! Tests streams of events, and requests that wait for events.

use casefilter::service::{Service, ServiceOptions, TokenFile, Tokens};
use casefilter::{Catalog, StoreOptions};

use super::*;

#[test]
fn a_waiting_request_is_woken_by_a_write() {
    let mut world = World::new(&[]);
    let all = key("all");
    world.put(&all, "x", &tagged("x"));
    let mut waiting = world.process.client();
    let target = format!("{EVENTS}?after=0&wait=20");
    waiting.send((head(&all, "GET", &target, b"") + "\r\n").as_bytes()).unwrap();
    let mut stream = Stream::open(&world.process, &all, "", None).unwrap();
    assert_eq!(stream.block().as_deref(), Some("retry: 1000\nid: 0"));
    // Events of others do not wake it.
    world.put(&key("manageFilters"), "y", &tagged("y"));
    thread::sleep(Duration::from_millis(300));
    world.write(&["1 c y"]);
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    world.write(&["2 c x"]);
    let (events, last) = told(&waiting.receive().unwrap().good());
    assert_eq!((events, last), (vec!["x entered 2".to_owned()], 2));
    assert_eq!(stream.event(), Some(("x entered 2".to_owned(), 2)));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // The time of waiting ends.
    let start = Instant::now();
    let answer = world.client.call(&all, "GET", &format!("{EVENTS}?after=2&wait=1"), b"").good();
    assert_eq!(told(&answer), (vec![], 2));
    assert!((Duration::from_millis(900)..SOON).contains(&start.elapsed()), "{:?}", start.elapsed());
    // An event that has not happened yet.
    let gone = world.client.call(&all, "GET", &format!("{EVENTS}?after=9&wait=20"), b"");
    assert!(gone.failure(410).contains("no event has number 9 yet; the last one has number 2"));
    world.process.terminate();
}

#[test]
fn a_stream_continues_after_the_last_event_that_its_client_has_seen() {
    let mut world = World::new(&["--keep-events", "6"]);
    let all = key("all");
    world.put(&all, "x", &tagged("x"));
    world.put(&key("manageFilters"), "y", &tagged("y"));
    let mut stream = Stream::open(&world.process, &all, "", None).unwrap();
    world.write(&["1 c x", "2 c y", "3 c x"]);
    assert_eq!(stream.event(), Some(("x entered 1".to_owned(), 1)));
    drop(stream);
    let mut again = Stream::open(&world.process, &all, "?after=0", Some(1)).unwrap();
    assert_eq!(again.event(), Some(("x entered 3".to_owned(), 3)));
    // If only events of others happen, the client is told how far it has come.
    world.write(&["4 c y"]);
    let start = Instant::now();
    loop {
        match again.block().as_deref() {
            Some("id: 4") => break,
            other => assert!(start.elapsed() < Duration::from_secs(30), "{other:?}"),
        }
    }
    let cases: Vec<String> = (10..20).map(|id| format!("{id} c x")).collect();
    world.write(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    // Four of these ten events are not kept.
    let gone = world.client.call(&all, "GET", &format!("{EVENTS}?after=4"), b"");
    let told = gone.failure(410);
    assert!(
        told.contains("the oldest one that is kept has number 9") && told.ends_with("after the event 14"),
        "{told}"
    );
    let gone = Stream::open(&world.process, &all, "", Some(4)).map(drop).unwrap_err();
    assert_eq!(gone.failure(410), told);
    assert_eq!(world.events(&all, 8).0.len(), 6);
    // A stream that is too late ends. Then its client connects again, and learns why.
    assert_eq!(again.event(), None);
    world.process.terminate();
}

#[test]
fn a_client_that_does_not_read_blocks_no_other_client() {
    let mut world = World::new(&["--write-timeout", "3s"]);
    let all = key("all");
    // Each write gives many events.
    for name in 0..40 {
        world.put(&all, &format!("{name}{}", "n".repeat(100)), &tagged("x"));
    }
    let mut idle: Vec<Stream> =
        (0..3).map(|_| Stream::open(&world.process, &all, "?after=0", None).unwrap()).collect();
    let mut stream = Stream::open(&world.process, &all, "?after=0", None).unwrap();
    let reader = thread::spawn(move || {
        let mut numbers = Vec::new();
        while numbers.len() < 120_000 {
            numbers.push(stream.event().unwrap().1);
        }
        numbers
    });
    let start = Instant::now();
    for round in 0..3 {
        let cases: Vec<String> = (0..1_000).map(|id| format!("{round}-{id} c x")).collect();
        world.write(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    }
    assert!(start.elapsed() < Duration::from_secs(20), "writes wait: {:?}", start.elapsed());
    assert!(reader.join().unwrap().into_iter().eq(1..=120_000));
    // The others are disconnected, and their permits are free again.
    thread::sleep(Duration::from_secs(5));
    for stream in &mut idle {
        let mut bytes = 0;
        while let Ok(Some(chunk)) = stream.client.chunk() {
            bytes += chunk.len();
        }
        assert!(bytes < 20 << 20, "{bytes}");
    }
    let start = Instant::now();
    while world.process.client().get("/healthz").status != 200 || listeners(&world) > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "{} listeners", listeners(&world));
        thread::sleep(Duration::from_millis(100));
    }
    world.process.terminate();
}

/// Returns the metric with the number of requests that read events.
fn listeners(world: &World) -> u64 {
    let mut stream = UnixStream::connect(world.database.folder().join("cases.db.sock")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("casefilter_event_listeners "));
    line.unwrap().parse().unwrap()
}

#[test]
fn requests_for_events_are_limited() {
    let mut world = World::new(&["--event-listeners", "3", "--event-listeners-per-token", "2"]);
    let (all, other) = (key("all"), key("manageFilters"));
    let own: Vec<Stream> = (0..2).map(|_| Stream::open(&world.process, &all, "", None).unwrap()).collect();
    let refused = Stream::open(&world.process, &all, "", None).map(drop).unwrap_err();
    assert!(refused.failure(429).contains("the token has 2 requests for events already"));
    assert_eq!((refused.code().0, refused.header("retry-after")), (4290, Some("1")));
    let refused = world.client.call(&all, "GET", EVENTS, b"");
    refused.failure(429);
    let third = Stream::open(&world.process, &other, "", None).unwrap();
    let refused = Stream::open(&world.process, &other, "", None).map(drop).unwrap_err();
    refused.failure(503);
    assert_eq!(listeners(&world), 3);
    // Other requests of the token are answered.
    world.put(&all, "x", &tagged("x"));
    drop((own, third));
    let start = Instant::now();
    while Stream::open(&world.process, &all, "", None).is_err() {
        assert!(start.elapsed() < SOON, "the permits of closed streams are not free");
        thread::sleep(Duration::from_millis(50));
    }
    world.process.terminate();
}

#[test]
fn streams_end_with_the_token_and_with_the_service() {
    let mut world = World::new(&[]);
    let (all, other, third) = (key("all"), key("manageFilters"), key("tenant-both"));
    let mut revoked = Stream::open(&world.process, &other, "", None).unwrap();
    let mut waiting = world.process.client();
    let target = format!("{EVENTS}?after=0&wait=30");
    waiting.send((head(&other, "GET", &target, b"") + "\r\n").as_bytes()).unwrap();
    let mut expired = Stream::open(&world.process, &third, "", None).unwrap();
    let mut stream = Stream::open(&world.process, &all, "", None).unwrap();
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    world.change_token(
        "manageFilters",
        |entry| entry["revoked"] = true.into(),
        |client| client.call(&key("manageFilters"), "GET", EVENTS, b"").status == 401,
    );
    assert_eq!(revoked.event(), None);
    assert_eq!(told(&waiting.receive().unwrap().good()), (vec![], 0));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let soon = chrono::DateTime::from_timestamp(super::super::client::now_s() + 2, 0).unwrap().to_rfc3339();
    let start = Instant::now();
    world.change_token(
        "tenant-both",
        |entry| entry["expires"] = soon.into(),
        |client| client.call(&key("tenant-both"), "GET", EVENTS, b"").status == 401,
    );
    assert_eq!(expired.event(), None);
    assert!(start.elapsed() < Duration::from_secs(2) + SOON, "{:?}", start.elapsed());
    // The last stream is still open.
    world.put(&all, "x", &tagged("x"));
    world.write(&["1 c x"]);
    assert_eq!(stream.event(), Some(("x entered 1".to_owned(), 1)));
    let mut waiting = world.process.client();
    waiting
        .send((head(&all, "GET", &target.replace("after=0", "after=1"), b"") + "\r\n").as_bytes())
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    let log = world.process.terminate();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_eq!(stream.event(), None);
    assert_eq!(told(&waiting.receive().unwrap().good()), (vec![], 1));
    assert!(!log.contains("still in flight"), "{log}");
}

#[test]
fn streams_end_when_the_host_drops_the_service() {
    let database = Database::new("plain.cases.ndjson");
    let store = database.open();
    let file: TokenFile = serde_json::from_value(super::super::server::tokens()).unwrap();
    let options = ServiceOptions::default();
    let tokens = Tokens::new(file, store.catalog(), &options.limits).unwrap();
    let service = Service::new(store, tokens, options);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = runtime.spawn(service.serve(listener, std::future::pending()));
    let mut stream = Stream::over(Client::new(address), &key("all"), "", None).unwrap();
    assert!(stream.block().is_some());
    let start = Instant::now();
    serving.abort();
    assert_eq!(stream.event(), None);
    drop(stream);
    // The store is closed.
    while casefilter::Store::open(database.path(), Catalog::cases(), StoreOptions::default()).is_err() {
        assert!(start.elapsed() < SOON, "the store is still open");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn streams_end_when_their_secret_is_not_valid_any_more() {
    let mut world = World::new(&[]);
    let old = key("all");
    let rotated = |text: &str| Key { token: old.token.clone(), secret: format!("the {text} secret of all") };
    let with = |key: &Key| {
        let (token, secret) = (key.token.clone(), key.secret.clone());
        move |client: &mut Client| client.call(&Key { token, secret }, "GET", EVENTS, b"").status
    };
    world.put(&old, "x", &tagged("x"));
    let mut stream = Stream::open(&world.process, &old, "", None).unwrap();
    // Rotated with an overlap, the secret is still valid: the stream goes on.
    let (second, until_s) = (rotated("second"), super::super::client::now_s() + 4);
    let until = chrono::DateTime::from_timestamp(until_s, 0).unwrap().to_rfc3339();
    let previous = json!({"secret": old.secret.clone(), "until": until});
    let is_new = with(&second);
    world.change_token(
        "all",
        |entry| (entry["secret"], entry["previous"]) = (second.secret.clone().into(), previous),
        |client| is_new.clone()(client) == 200,
    );
    world.write(&["1 c x"]);
    assert_eq!(stream.event(), Some(("x entered 1".to_owned(), 1)));
    let mut next = Stream::open(&world.process, &second, "?after=1", None).unwrap();
    // It ends with the overlap, and so does a request that waits.
    let mut waiting = world.process.client();
    let target = format!("{EVENTS}?after=1&wait=30");
    waiting.send((head(&old, "GET", &target, b"") + "\r\n").as_bytes()).unwrap();
    assert_eq!(stream.event(), None);
    assert!(super::super::client::now_s() >= until_s);
    assert_eq!(told(&waiting.receive().unwrap().good()), (vec![], 1));
    world.write(&["2 c x"]);
    assert_eq!(next.event(), Some(("x entered 2".to_owned(), 2)));
    // Rotated without an overlap, as after a leak.
    let third = rotated("third");
    let is_new = with(&third);
    let start = Instant::now();
    world.change_token(
        "all",
        |entry| (entry["secret"], entry["previous"]) = (third.secret.clone().into(), Value::Null),
        |client| is_new.clone()(client) == 200,
    );
    assert_eq!(next.event(), None);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    world.process.terminate();
}

#[test]
fn a_client_that_asks_while_the_service_drains_does_not_ask_again_at_once() {
    let world = World::new(&["--drain", "4s"]);
    let World { process, mut client, database } = world;
    let mut stream = Stream::open(&process, &key("all"), "", None).unwrap();
    let clients: Vec<Client> = (0..2).map(|_| process.client()).collect();
    let ending = thread::spawn(move || process.terminate());
    assert_eq!(stream.event(), None);
    let start = Instant::now();
    for mut client in clients {
        let answer = client.call(&key("all"), "GET", &format!("{EVENTS}?after=0&wait=30"), b"").good();
        assert_eq!(told(&answer), (vec![], 0));
    }
    assert!((Duration::from_millis(1_900)..SOON).contains(&start.elapsed()), "{:?}", start.elapsed());
    client.call(&key("all"), "GET", STREAM, b"").failure(503);
    let log = ending.join().unwrap();
    assert!(!log.contains("still in flight"), "{log}");
    drop(database);
}
