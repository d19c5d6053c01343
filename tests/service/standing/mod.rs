//! Tests standing filters and events over the service, with the binary and real sockets.

mod restrictions;
mod streams;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Key, Response, head};
use super::process::{Process, casefilter, write_private};
use super::server::{Database, EVENTS, SEARCH, STANDING, STREAM, key};

/// The time within which a client is told of an event. Other tests of this process may take the processor for a while.
const SOON: Duration = Duration::from_secs(5);

/// A service on a file, even if the tests run with PostgreSQL, whose writes give no events.
struct World {
    database: Database,
    process: Process,
    client: Client,
}

impl World {
    fn new(arguments: &[&str]) -> Self {
        let database = Database::new("plain.cases.ndjson");
        let process = Process::run(casefilter(), &database, arguments, None);
        let client = process.client();
        Self { database, process, client }
    }

    /// Sends a request to the admin socket.
    fn operate(&self, target: &str, body: &str) {
        let mut stream = UnixStream::connect(self.database.folder().join("cases.db.sock")).unwrap();
        let length = body.len();
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Writes cases, each `id clientId tag`.
    fn write(&self, cases: &[&str]) {
        let line = |case: &&str| {
            let [id, client, tag] = case.split(' ').collect::<Vec<_>>()[..] else { panic!("{case}") };
            json!({"id": id, "clientId": client, "tags": [tag]}).to_string() + "\n"
        };
        self.operate("/imports/cases", &cases.iter().map(line).collect::<String>());
    }

    fn put(&mut self, key: &Key, name: &str, body: &Value) -> Value {
        self.client.call(key, "PUT", &format!("{STANDING}/{name}"), body.to_string().as_bytes()).good()
    }

    fn events(&mut self, key: &Key, after: u64) -> (Vec<String>, u64) {
        told(&self.client.call(key, "GET", &format!("{EVENTS}?after={after}"), b"").good())
    }

    fn last(&mut self, key: &Key) -> u64 {
        let (events, last) = told(&self.client.call(key, "GET", EVENTS, b"").good());
        assert!(events.is_empty());
        last
    }

    /// Starts the service again, with other options.
    fn restart(self, arguments: &[&str]) -> Self {
        let Self { database, process, .. } = self;
        process.terminate();
        let process = Process::run(casefilter(), &database, arguments, None);
        let client = process.client();
        Self { database, process, client }
    }

    /// Waits until the filters of a token are stored anew, after the event `after`.
    fn wait_for_change(&mut self, key: &Key, after: u64) {
        let start = Instant::now();
        while self.client.call(key, "GET", &format!("{EVENTS}?after={after}"), b"").status != 410 {
            assert!(start.elapsed() < SOON, "the filters are not stored anew");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Changes the entry of a token in the token file, and waits until a request with the token gets what is expected.
    fn change_token(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Value),
        is_done: impl Fn(&mut Client) -> bool,
    ) {
        let path = self.database.folder().join("tokens.json");
        let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let entries = file["tokens"].as_array_mut().unwrap();
        change(entries.iter_mut().find(|entry| entry["name"] == name).unwrap());
        entries.retain(|entry| !entry["revoked"].as_bool().unwrap_or(false));
        write_private(&path, &file.to_string());
        let start = Instant::now();
        while !is_done(&mut self.client) {
            assert!(start.elapsed() < SOON, "the change is not in force");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns the events of an answer as `filter kind id`, and the number to go on from.
fn told(answer: &Value) -> (Vec<String>, u64) {
    let text = |event: &Value| {
        assert!(event["time"].as_str().unwrap().ends_with('Z') && event.get("owner").is_none());
        ["filter", "kind", "id"].map(|name| event[name].as_str().unwrap()).join(" ")
    };
    let events: Vec<String> = answer["events"].as_array().unwrap().iter().map(text).collect();
    (events, answer["last"].as_u64().unwrap())
}

fn tagged(tag: &str) -> Value {
    json!({"criteria": [{"field": "tags", "op": "=", "values": [tag]}]})
}

/// A stream of server-sent events.
struct Stream {
    client: Client,
    text: String,
}

impl Stream {
    fn open(process: &Process, key: &Key, query: &str, last_event_id: Option<u64>) -> Result<Self, Response> {
        Self::over(process.client(), key, query, last_event_id)
    }

    fn over(
        mut client: Client,
        key: &Key,
        query: &str,
        last_event_id: Option<u64>,
    ) -> Result<Self, Response> {
        let mut request = head(key, "GET", &format!("{STREAM}{query}"), b"");
        if let Some(id) = last_event_id {
            request += &format!("Last-Event-ID: {id}\r\n");
        }
        client.send((request + "\r\n").as_bytes()).unwrap();
        let response = client.receive().unwrap();
        if response.status != 200 {
            return Err(response);
        }
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        assert_eq!(response.header("transfer-encoding"), Some("chunked"));
        assert!(response.header("x-correlation-id").is_some());
        let of_proxies = ["cache-control", "x-accel-buffering"].map(|name| response.header(name));
        assert_eq!(of_proxies, [Some("no-store"), Some("no")]);
        Ok(Self { client, text: String::new() })
    }

    /// Returns the next block. Returns `None` at the end of the stream.
    fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                return Some(block);
            }
            self.text += &self.client.chunk().unwrap()?;
        }
    }

    /// Returns the next event as `filter kind id`, and its number.
    fn event(&mut self) -> Option<(String, u64)> {
        loop {
            let block = self.block()?;
            let member = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let Some(data) = member("data: ") else { continue };
            let event: Value = serde_json::from_str(data).unwrap();
            let (mut told, _) = told(&json!({"events": [event.clone()], "last": 0}));
            assert_eq!(member("event: "), event["kind"].as_str());
            let number = event["number"].as_u64().unwrap();
            assert_eq!(member("id: "), Some(&*number.to_string()));
            return Some((told.remove(0), number));
        }
    }
}

#[test]
fn each_token_has_filters_and_events_of_its_own() {
    let mut world = World::new(&[]);
    let (all, other) = (key("all"), key("manageFilters"));
    let stored = world.put(&all, "x", &tagged("x"));
    assert_eq!(stored, json!({"name": "x", "replaced": false}));
    assert_eq!(world.put(&all, "x", &tagged("x"))["replaced"], true);
    world.put(&other, "x", &tagged("y"));
    let begin = world.last(&all);
    world.write(&["1 c x", "2 c y", "3 c z"]);
    world.write(&["1 c y"]);
    // A client goes on after the events of other tokens.
    assert_eq!(world.events(&all, begin), (vec!["x entered 1".to_owned(), "x left 1".to_owned()], 4));
    assert_eq!(world.events(&other, begin), (vec!["x entered 2".to_owned(), "x entered 1".to_owned()], 4));
    assert_eq!(world.events(&all, 4), (vec![], 4));
    let page = world.client.call(&all, "GET", &format!("{EVENTS}?after=0&limit=1"), b"").good();
    assert_eq!(told(&page), (vec!["x entered 1".to_owned()], 1));

    // Fields whose changes are of interest, and a name that has to be escaped.
    let target = format!("{STANDING}/a%20%2F%C3%A9?fields=tags,clientId");
    world.client.call(&all, "PUT", &target, br#"{"ids":["7"]}"#).good();
    world.write(&["7 c x"]);
    world.write(&["7 d x"]);
    let changed = world.client.call(&all, "GET", &format!("{EVENTS}?after=4"), b"").good();
    assert_eq!(changed["events"][2]["fields"], json!(["clientId"]));
    let (mut events, _) = told(&changed);
    events.sort();
    assert_eq!(events, ["a /é changed 7", "a /é entered 7", "x entered 7"]);
    let shown = world.client.call(&all, "GET", &format!("{STANDING}/a%20%2F%C3%A9"), b"").good();
    assert_eq!(shown, json!({"name": "a /é", "body": {"ids": ["7"]}, "fields": ["clientId", "tags"]}));
    let list = world.client.call(&all, "GET", STANDING, b"").good();
    assert_eq!(list, json!({"filters": [shown, {"name": "x", "body": tagged("x")}]}));
    let list = world.client.call(&other, "GET", STANDING, b"").good();
    assert_eq!(list, json!({"filters": [{"name": "x", "body": tagged("y")}]}));

    let removed = world.client.call(&all, "DELETE", &format!("{STANDING}/x"), b"").good();
    assert_eq!(removed, json!({"name": "x"}));
    for method in ["GET", "DELETE"] {
        for name in ["x", "%ff", "none"] {
            let answer = world.client.call(&all, method, &format!("{STANDING}/{name}"), b"");
            answer.failure(404);
            assert_eq!(answer.code().0, 4043, "{method} {name}");
        }
    }
    for (method, target) in [
        ("PUT", format!("{STANDING}/x")),
        ("GET", STANDING.to_owned()),
        ("GET", EVENTS.to_owned()),
        ("GET", STREAM.to_owned()),
    ] {
        let answer = world.client.call(&key("viewCases"), method, &target, br#"{"ids":[]}"#);
        assert!(answer.failure(403).contains("manageFilters"));
    }
    // Filters are kept, and operators see them with their owners.
    let log = world.process.terminate();
    assert!(!log.contains("ERROR"), "{log}");
    let list = casefilter().args(["filters", "list", "--db"]).arg(world.database.path()).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let lines: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["owner"].as_str().unwrap().len() == 65), "{list}");
    let owner = lines.iter().find(|line| line["name"] == "x").unwrap()["owner"].as_str().unwrap();
    let remove = |arguments: &[&str]| {
        let mut command = casefilter();
        command.args(["filters", "remove", "x", "--db"]).arg(world.database.path()).args(arguments);
        command.output().unwrap().status.code()
    };
    assert_eq!((remove(&[]), remove(&["--owner", owner])), (Some(1), Some(0)));
}

#[test]
fn wrong_filters_and_parameters_are_explained() {
    let mut world = World::new(&["--standing-filters", "3", "--standing-bytes", "300"]);
    let all = key("all");
    let put = |client: &mut Client, name: &str, body: &[u8]| {
        client.call(&all, "PUT", &format!("{STANDING}/{name}"), body)
    };
    // The errors of a body are those of a search.
    for body in
        [&b"{}"[..], b"[1]", b"\xff", br#"{"criteria":[{"field":"statis","op":"=","values":["open"]}]}"#]
    {
        let of_search = world.client.call(&all, "POST", SEARCH, body);
        let of_filter = put(&mut world.client, "a", body);
        assert_eq!(of_filter.failure(400), of_search.failure(400));
        assert_eq!(of_filter.code(), of_search.code());
    }
    let long = "n".repeat(129);
    for (target, code, expected) in [
        ("a?fields=tags,nope", 4111, "fields (byte 0): found `nope`, expected a field of the catalogue"),
        ("a?fields=tags&fields=id", 4106, "found `id` again"),
        ("a?field=tags", 4105, "did you mean `fields`?"),
        (&*long, 4127, "name (byte 0): found a name of 129 bytes, expected at most 128 bytes"),
        ("%ff", 4102, "a name that decodes to UTF-8"),
    ] {
        let answer = put(&mut world.client, target, br#"{"ids":["1"]}"#);
        assert!(answer.failure(400).contains(expected), "{}", answer.text());
        assert_eq!(answer.code().0, code, "{}", answer.text());
    }
    for (query, code) in [("after=x", 4119), ("after=0&wait=61", 4119), ("limit=0", 4119), ("afte=1", 4105)] {
        for target in [EVENTS, STREAM] {
            let answer = world.client.call(&all, "GET", &format!("{target}?{query}"), b"");
            answer.failure(400);
            assert_eq!(answer.code().0, code, "{target}?{query}");
        }
    }
    // Limits.
    for name in ["a", "b", "c", "a"] {
        put(&mut world.client, name, br#"{"ids":["1"]}"#).good();
    }
    let told = put(&mut world.client, "d", br#"{"ids":["1"]}"#);
    assert!(told.failure(400).contains("found 4 standing filters of the token, expected at most 3"));
    assert_eq!(told.code().0, 4136);
    let long = json!({ "ids": ["1".repeat(300)] }).to_string();
    let told = put(&mut world.client, "a", long.as_bytes()).failure(400);
    assert!(told.contains("expected at most 300 bytes"), "{told}");
    // Another token has its own.
    world.put(&key("manageFilters"), "d", &tagged("x"));
    world.process.terminate();
}

#[test]
fn a_token_is_told_only_of_cases_and_fields_that_it_may_see() {
    let mut world = World::new(&[]);
    let (one, two, narrow) = (key("tenant-one"), key("tenant-two"), key("tenant-narrow"));
    let every = json!({"criteria": [{"field": "id", "op": "<>", "values": [""]}]});
    for token in [&one, &two, &narrow] {
        world.put(token, "every", &every);
    }
    world.write(&["1 client01 x", "2 client02 x", "3 client03 x"]);
    assert_eq!(world.events(&one, 0).0, ["every entered 1"]);
    assert_eq!(world.events(&two, 0).0, ["every entered 2"]);
    let (mut both, last) = world.events(&narrow, 0);
    both.sort();
    assert_eq!(both, ["every entered 1", "every entered 2"]);
    // A case that moves to another client leaves, as if it were deleted.
    world.write(&["1 client03 x", "2 client01 x"]);
    assert_eq!(world.events(&one, last).0, ["every left 1", "every entered 2"]);
    assert_eq!(world.events(&two, last).0, ["every left 2"]);
    // A hidden field is an unknown field.
    for name in ["clientId", "clientIq"] {
        let body = json!({"criteria": [{"field": name, "op": "=", "values": ["client01"]}]}).to_string();
        let of_body =
            world.client.call(&narrow, "PUT", &format!("{STANDING}/a"), body.as_bytes()).failure(400);
        let target = format!("{STANDING}/a?fields={name}");
        let of_fields = world.client.call(&narrow, "PUT", &target, br#"{"ids":["1"]}"#).failure(400);
        assert_eq!(
            [of_body, of_fields].map(|told| told.replace(name, "NAME")),
            [
                "Invalid parameters: criteria[0].field (byte 22): found `NAME`, expected a field of the catalogue",
                "Invalid parameters: fields (byte 0): found `NAME`, expected a field of the catalogue",
            ]
        );
    }
    world.process.terminate();
}

#[test]
fn databases_of_earlier_formats_have_no_standing_filters() {
    for version in ["v1", "v2"] {
        let database = Database::new("plain.cases.ndjson");
        let kept = format!("{}/tests/data/store/{version}.redb", env!("CARGO_MANIFEST_DIR"));
        fs::copy(kept, database.path()).unwrap();
        let process = Process::run(casefilter(), &database, &[], None);
        let mut client = process.client();
        for (method, target) in [
            ("GET", STANDING.to_owned()),
            ("PUT", format!("{STANDING}/x")),
            ("GET", format!("{STANDING}/x")),
            ("DELETE", format!("{STANDING}/x")),
            ("GET", EVENTS.to_owned()),
            ("GET", format!("{EVENTS}?after=0&wait=5")),
            ("GET", STREAM.to_owned()),
        ] {
            let answer = client.call(&key("all"), method, &target, br#"{"ids":["1"]}"#);
            assert!(
                answer.failure(404).contains("an earlier format"),
                "{method} {target}: {}",
                answer.text()
            );
            assert_eq!(answer.code().0, 4044);
        }
        let log = process.terminate();
        assert!(!log.contains("ERROR"), "{log}");
    }
}

#[test]
fn filters_and_told_events_are_recorded() {
    let database = Database::new("plain.cases.ndjson");
    let path = database.folder().join("audit.ndjson");
    let process = Process::run(casefilter(), &database, &["--audit", path.to_str().unwrap()], None);
    let client = process.client();
    let mut world = World { database, process, client };
    let one = key("tenant-one");
    let target = format!("{STANDING}/x?fields=clientId");
    let put = world.client.call(&one, "PUT", &target, tagged("x").to_string().as_bytes());
    put.good();
    let mut stream = Stream::open(&world.process, &one, "?after=0", None).unwrap();
    world.write(&["1 client01 x", "2 client01 x"]);
    assert!(stream.event().is_some() && stream.event().is_some());
    let read = world.client.call(&one, "GET", &format!("{EVENTS}?after=1"), b"");
    read.good();
    let deleted = world.client.call(&one, "DELETE", &format!("{STANDING}/x"), b"");
    deleted.good();
    world.process.terminate();
    let records: Vec<Value> =
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |response: &Response| {
        let id = response.header("x-correlation-id").unwrap();
        records.iter().find(|record| record["id"] == id).unwrap()
    };
    let stored = of(&put);
    assert_eq!((&stored["operation"], &stored["standingFilter"]), (&json!("putStandingFilter"), &json!("x")));
    assert_eq!(stored["filter"], "clientId in (acme, client01) and tags = x", "{stored}");
    assert!(stored["filterHash"].is_string() && stored["fields"] == json!(["clientId"]));
    let told = of(&read);
    let of_events =
        |record: &Value| ["afterEvent", "firstEvent", "lastEvent", "items"].map(|name| record[name].as_u64());
    assert_eq!(of_events(told), [Some(1), Some(2), Some(2), Some(1)]);
    assert_eq!(of(&deleted)["standingFilter"], "x");
    // The stream has a record when it begins, and one for each piece that is told, with the same correlation id.
    let pieces: Vec<&Value> =
        records.iter().filter(|record| record["operation"] == "caseEventStream").collect();
    assert_eq!(of_events(pieces[0]), [Some(0), None, None, None]);
    assert!(pieces.iter().all(|piece| piece["id"] == pieces[0]["id"] && piece["token"] == "tenant-one"));
    let items: u64 = pieces.iter().filter_map(|piece| piece["items"].as_u64()).sum();
    assert_eq!(items, 2);
    let verify =
        casefilter().current_dir(world.database.folder()).args(["audit", "verify", "audit.ndjson"]).output();
    assert!(verify.unwrap().status.success());
}

/// Returns the exit status of a command, its standard output and its standard error.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = casefilter().current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn commands_use_the_service_that_has_the_database_open() {
    let mut world = World::new(&[]);
    let folder = world.database.folder().to_owned();
    let good = |arguments: &[&str]| {
        let (status, out, told) = run(&folder, arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {told}");
        out
    };
    let db = ["--db", "cases.db"];
    let with = |start: &[&'static str], more: &[&'static str]| [start, &db[..], more].concat();
    fs::write(
        world.database.folder().join("filters.ndjson"),
        "{\"name\":\"x\",\"where\":\"tags = x\",\"fields\":[\"clientId\"]}\n{\"name\":\"none\",\"where\":\"id = none\"}\n",
    )
    .unwrap();
    let add = with(&["filters", "add"], &["filters.ndjson"]);
    assert_eq!(good(&add), "{\"added\":2,\"replaced\":0}\n");
    world.put(&key("all"), "x", &tagged("x"));
    world.write(&["1 c x"]);
    let entering = with(&["filters", "add"], &["filters.ndjson", "--entering"]);
    assert_eq!(good(&entering), "{\"added\":0,\"replaced\":2}\n");
    let once = with(&["watch"], &["--once"]);
    let events = good(&once);
    let lines: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().map(|line| line["number"].as_u64().unwrap()).eq(1..=3), "{events}");
    assert_eq!(lines.iter().filter(|line| line["owner"].is_string()).count(), 1, "{events}");
    let later = run(&folder, &with(&["watch"], &["--once", "--after", "99"]));
    assert!(later.0 == Some(1) && later.2.contains("no event has number 99 yet"), "{later:?}");

    // Events are printed as soon as they happen, and after a restart of the service.
    let mut follower = casefilter();
    follower.current_dir(world.database.folder()).args(with(&["watch"], &["--after", "3"]));
    let mut child = follower.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    world.write(&["2 c x"]);
    let told = [next(), next()];
    assert!(told.iter().all(|line| line["id"] == "2" && line["kind"] == "entered"), "{told:?}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let list = good(&with(&["filters", "list"], &[]));
    world.process.terminate();
    assert_eq!(list.lines().count(), 3);
    assert_eq!(good(&with(&["filters", "list", "--wait", "30s"], &[])), list);
    assert!(good(&once).starts_with(&events));
    world.process = Process::run(casefilter(), &world.database, &[], None);
    world.write(&["2 d x"]);
    let told = next();
    assert_eq!((&told["kind"], &told["fields"]), (&json!("changed"), &json!(["clientId"])));
    child.kill().unwrap();
    child.wait().unwrap();

    let owner: Value = serde_json::from_str(list.lines().next_back().unwrap()).unwrap();
    let owner = owner["owner"].as_str().unwrap();
    let removed = run(&folder, &["filters", "remove", "--db", "cases.db", "--owner", owner, "x"]);
    assert_eq!(removed.1, "{\"removed\":1}\n", "{removed:?}");
    let unknown = run(&folder, &with(&["filters", "remove"], &["none", "unknown", "x"]));
    assert!(unknown.0 == Some(1) && unknown.2.contains("no standing filter `unknown`"), "{unknown:?}");
    assert_eq!(good(&with(&["filters", "list"], &[])).lines().count(), 1);
    fs::write(world.database.folder().join("bad.ndjson"), "{\"name\":\"\\u0000x\",\"where\":\"tags = x\"}\n")
        .unwrap();
    let refused = run(&folder, &with(&["filters", "add"], &["bad.ndjson"]));
    assert_eq!(refused.0, Some(2), "{refused:?}");
    let log = world.process.terminate();
    assert!(log.contains("POST /standing-filters"), "{log}");
}
