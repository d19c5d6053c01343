//! Tests what a token is told when its restrictions change, and beside many events of other tokens.

use super::*;

#[test]
fn changed_restrictions_of_a_token_hold_for_its_filters_and_events() {
    let mut world = World::new(&[]);
    let one = key("tenant-one");
    let every = json!({"criteria": [{"field": "id", "op": "<>", "values": [""]}]});
    world.put(&one, "every", &every);
    let by_client = json!({"criteria": [{"field": "clientId", "op": "<>", "values": ["none"]}]});
    world.put(&one, "client", &by_client);
    world.write(&["1 client01 x", "2 client03 x"]);
    let (events, last) = world.events(&one, 0);
    assert_eq!((events.len(), last), (2, 2));
    let mut stream = Stream::open(&world.process, &one, "?after=1", None).unwrap();
    assert_eq!(stream.event().map(|(_, number)| number), Some(2));

    let events_status = |client: &mut Client, after: u64| {
        client.call(&key("tenant-one"), "GET", &format!("{EVENTS}?after={after}"), b"").status
    };
    world.change_token(
        "tenant-one",
        |entry| entry["clients"] = json!(["client03"]),
        |client| events_status(client, 0) == 410,
    );
    // The events before were found under other restrictions. The client begins again.
    let gone = world.client.call(&one, "GET", &format!("{EVENTS}?after=1"), b"");
    let told = gone.failure(410);
    assert!(
        told.contains("the restrictions of the token changed at or after the event 2")
            && told.ends_with("after the event 3"),
        "{told}"
    );
    assert_eq!(gone.code().0, 4140);
    let refused = Stream::open(&world.process, &one, "", Some(1)).map(drop).unwrap_err();
    assert_eq!(refused.code().0, 4140);
    // The stream that was opened before the change has ended.
    assert_eq!(stream.event(), None);
    // A client that had read all events also begins again: its filters select other cases now.
    let gone = world.client.call(&one, "GET", &format!("{EVENTS}?after=2"), b"");
    assert!(
        gone.failure(410).contains("the restrictions of the token changed at or after the event 3"),
        "{}",
        gone.text()
    );
    assert_eq!(world.events(&one, 3), (vec![], 3));
    // The filters have the new restrictions, without events for the cases that they select now.
    let start = Instant::now();
    loop {
        world.write(&["3 client01 x", "4 client03 x"]);
        world.operate("/deletions", r#"{"body":"{\"ids\":[\"3\",\"4\"]}","expected":2}"#);
        let from = world.last(&one);
        let answer =
            world.client.call(&one, "GET", &format!("{EVENTS}?after={}", from.saturating_sub(4)), b"");
        if answer.status == 200 {
            let (mut events, _) = self::told(&answer.good());
            if events.len() == 4 {
                events.sort();
                assert_eq!(events, ["client entered 4", "client left 4", "every entered 4", "every left 4"]);
                break;
            }
        }
        assert!(start.elapsed() < SOON, "the filters have the old restrictions");
        thread::sleep(Duration::from_millis(50));
    }
    // A filter on a field that is hidden now selects no case, until the field is visible again.
    let error = |client: &mut Client| {
        let shown = client.call(&key("tenant-one"), "GET", &format!("{STANDING}/client"), b"").good();
        shown["error"].as_str().map(str::to_owned)
    };
    world.change_token(
        "tenant-one",
        |entry| entry["fields"] = json!(["name", "tags"]),
        |client| error(client).is_some(),
    );
    let told = error(&mut world.client).unwrap();
    assert!(told.contains("found `clientId`"), "{told}");
    thread::sleep(Duration::from_secs(1));
    let from = world.last(&one);
    world.write(&["5 client03 x"]);
    assert_eq!(world.events(&one, from).0, ["every entered 5"]);
    world.change_token("tenant-one", |entry| entry["fields"] = Value::Null, |client| error(client).is_none());
    thread::sleep(Duration::from_secs(1));
    let from = world.last(&one);
    world.write(&["6 client03 x"]);
    let (mut events, _) = world.events(&one, from);
    events.sort();
    assert_eq!(events, ["client entered 6", "every entered 6"]);
    // A change while the service is stopped.
    let log = world.process.terminate();
    assert_eq!(log.matches("were stored with its new restrictions").count(), 3, "{log}");
    world.process = Process::run(casefilter(), &world.database, &[], None);
    world.client = world.process.client();
    let target = format!("{EVENTS}?after={from}");
    let start = Instant::now();
    let answer = loop {
        let answer = world.client.call(&one, "GET", &target, b"");
        if answer.status != 503 {
            break answer;
        }
        // The filters are stored anew beside the first requests.
        assert!(start.elapsed() < SOON, "{}", answer.text());
    };
    assert_eq!(answer.status, 410, "the test writes the first tokens again: {}", answer.text());
    let from = world.last(&one);
    world.write(&["7 client01 x", "8 client03 x"]);
    let (mut events, _) = world.events(&one, from);
    events.sort();
    assert_eq!(events, ["client entered 7", "every entered 7"]);
    world.process.terminate();
}

#[test]
fn a_filter_has_the_meaning_of_its_body_under_the_present_options() {
    let mut world = World::new(&["--extended"]);
    let all = key("all");
    let body = json!({"criteria": [{"field": "tags", "op": "$startsWith", "values": ["x"]}]});
    let put = world.put(&all, "x", &body);
    assert_eq!(put["replaced"], false);
    world.write(&["1 c xa"]);
    assert_eq!(world.events(&all, 0), (vec!["x entered 1".to_owned()], 1));
    // Without the option, the body does not compile, and the filter selects no case.
    world = world.restart(&[]);
    world.wait_for_change(&all, 1);
    let shown = world.client.call(&all, "GET", &format!("{STANDING}/x"), b"").good();
    assert!(shown["error"].is_string() && shown["body"] == body, "{shown}");
    let last = world.last(&all);
    world.write(&["2 c xb"]);
    assert_eq!(world.events(&all, last), (vec![], last));
    // A restart with the same options changes nothing.
    world = world.restart(&[]);
    assert_eq!(world.events(&all, last), (vec![], last));
    // With the option, it selects cases again.
    world = world.restart(&["--extended"]);
    world.wait_for_change(&all, last);
    let shown = world.client.call(&all, "GET", &format!("{STANDING}/x"), b"").good();
    assert!(shown.get("error").is_none(), "{shown}");
    assert_eq!(world.put(&all, "x", &body)["replaced"], true);
    let last = world.last(&all);
    world.write(&["3 c xc"]);
    assert_eq!(world.events(&all, last).0, ["x entered 3"]);
    world.process.terminate();
}

#[test]
fn a_changed_filter_of_a_token_marks_its_events_and_a_restart_does_not() {
    let mut world = World::new(&[]);
    let (one, narrow) = (key("tenant-one"), key("tenant-narrow"));
    let every = json!({"criteria": [{"field": "id", "op": "<>", "values": [""]}]});
    for token in [&one, &narrow] {
        world.put(token, "every", &every);
    }
    world.write(&["1 client01 x"]);
    let (_, last) = world.events(&one, 0);
    world.write(&["2 client01 x"]);
    world = world.restart(&[]);
    for token in [&one, &narrow] {
        assert_eq!(world.events(token, last).0, ["every entered 2"]);
    }
    // The filter of the token changes: it sees only cases of officers, and the written cases name no creator.
    world.change_token(
        "tenant-narrow",
        |entry| entry["filter"] = "createdByType = byOfficer".into(),
        |client| {
            client.call(&key("tenant-narrow"), "GET", &format!("{EVENTS}?after={last}"), b"").status == 410
        },
    );
    assert_eq!(world.events(&one, last).0, ["every entered 2"]);
    let from = world.last(&narrow);
    world.write(&["3 client01 x"]);
    assert_eq!(world.events(&narrow, from).0, [] as [String; 0]);
    let (seen, _) = world.events(&one, from);
    assert_eq!(seen, ["every entered 3"]);
    let log = world.process.terminate();
    assert_eq!(log.matches("were stored with its new restrictions").count(), 1, "{log}");
}

#[test]
fn a_client_gets_its_event_although_many_events_of_others_are_before_it() {
    let mut world = World::new(&[]);
    let (all, other) = (key("all"), key("manageFilters"));
    world.put(&all, "x", &tagged("x"));
    world.put(&other, "y", &tagged("y"));
    // More than one reading looks at.
    const OTHERS: usize = 10_500;
    let cases: Vec<String> = (0..OTHERS).map(|id| format!("{id} c y")).collect();
    world.write(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    world.write(&["own c x"]);
    let number = OTHERS as u64 + 1;
    let answer = world.client.call(&all, "GET", &format!("{EVENTS}?after=0&wait=20"), b"").good();
    assert_eq!(told(&answer), (vec!["x entered own".to_owned()], number));
    // Without waiting, a client comes nearer with each request.
    let (mut after, mut requests) = (0, 0);
    while after < number {
        let (events, last) = world.events(&all, after);
        assert!(last > after && (events.is_empty() || events == ["x entered own"]), "{events:?} {last}");
        (after, requests) = (last, requests + 1);
    }
    assert!(requests > 1, "one reading looks at all events");
    let mut stream = Stream::open(&world.process, &all, "?after=0", None).unwrap();
    assert_eq!(stream.event(), Some(("x entered own".to_owned(), number)));
    world.process.terminate();
}
