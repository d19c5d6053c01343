//! Tests of a log on a disk that does not answer, and of requests that wait for their records.

use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use super::state::{SLOW_SYNC, State};
use super::sync::Hanging;
use super::*;
use crate::service::{Service, ServiceOptions, TokenFile, Tokens};
use crate::{Catalog, Limits, Store, StoreOptions};

/// Makes the disk of a log hang like a real disk: at first only a sync does not end, and then no access ends.
fn hang(state: &State) {
    state.slot.gate.set(Hanging::Syncs);
    state.slot.note_write();
    let start = Instant::now();
    while !state.slot.is_late(SLOW_SYNC) {
        assert!(start.elapsed().as_secs() < 20, "no sync has begun");
        thread::sleep(Duration::from_millis(10));
    }
    state.slot.gate.set(Hanging::All);
}

#[test]
fn a_disk_that_does_not_answer_refuses_requests_in_time_and_the_log_goes_on_afterwards() {
    let world = World::new();
    let timeout = Duration::from_secs(2);
    for is_best_effort in [false, true] {
        let options = AuditOptions { is_best_effort, ..AuditOptions::default() };
        let log = AuditLog::with_timeout(world.path(), options, timeout).unwrap();
        assert!(record(&log, b"\"status\":200"));
        hang(&log.state());
        let start = Instant::now();
        assert_eq!(record(&log, b"\"status\":201"), is_best_effort);
        assert!(start.elapsed() >= timeout && log.is_failing());
        // Further requests do not wait at all.
        let start = Instant::now();
        assert_eq!(record(&log, b"\"status\":202"), is_best_effort);
        assert!(start.elapsed() < timeout / 2);
        log.state().slot.gate.set(Hanging::Nothing);
        let start = Instant::now();
        while log.is_failing() {
            assert!(start.elapsed().as_secs() < 20, "the log is never written again");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(record(&log, b"\"status\":203"));
        log.close().unwrap();
        assert!(world.verify().unwrap().is_closed);
    }
    let lines = world.lines();
    assert!(!lines.iter().any(|(_, line)| line.contains(":202")));
    let resumed: Vec<&String> =
        lines.iter().map(|(_, line)| line).filter(|line| line.contains("resumed")).collect();
    assert_eq!(resumed.len(), 2);
    // The records with the status 201, on which the log hung, are written in the end. So only the request after them has no record.
    assert_eq!(lines.iter().filter(|(_, line)| line.contains(":201")).count(), 2);
    assert!(
        resumed[0].contains("\"unrecorded\":0") && resumed[1].contains("\"unrecorded\":1"),
        "{resumed:?}"
    );
    // The call of `end` does not wait forever for the disk, either.
    let log = AuditLog::with_timeout(world.path(), AuditOptions::default(), timeout).unwrap();
    log.state().slot.gate.set(Hanging::All);
    assert!(log.end().is_err());
    log.state().slot.gate.set(Hanging::Nothing);
}

#[test]
fn a_request_that_gives_up_waiting_is_counted_only_if_its_record_is_missing() {
    for is_best_effort in [false, true] {
        let world = World::new();
        let options = AuditOptions { is_best_effort, ..AuditOptions::default() };
        let log = AuditLog::with_timeout(world.path(), options, Duration::from_millis(400)).unwrap();
        let (state, log) = (log.state(), Arc::new(log));
        state.slot.gate.set(Hanging::All);
        // The record of this request is taken and written by another request, which hangs.
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let mut waiting = Box::pin(log.record(b"\"number\":1".to_vec()));
        let mut is_pending =
            async || poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending())).await;
        assert!(runtime.block_on(is_pending()));
        let writer = Arc::clone(&log);
        let writing = thread::spawn(move || record(&writer, b"\"number\":2"));
        let start = Instant::now();
        while state.batch.size_bytes() > 0 {
            assert!(start.elapsed().as_secs() < 20, "no request writes");
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(runtime.block_on(waiting), is_best_effort);
        assert!(log.is_failing());
        // This request certainly has no record.
        assert_eq!(record(&log, b"\"number\":3"), is_best_effort);
        let counts = if is_best_effort { (1, 2) } else { (0, 0) };
        assert_eq!((log.counts().1, log.unmentioned()), counts);
        state.slot.gate.set(Hanging::Nothing);
        assert!(writing.join().unwrap());
        let start = Instant::now();
        while log.is_failing() {
            assert!(start.elapsed().as_secs() < 20, "the log is never written again");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!((log.counts().1, log.unmentioned()), (counts.0, 0));
        drop(state);
        Arc::into_inner(log).unwrap().close().unwrap();
        let lines = world.lines();
        let has = |text: &str| lines.iter().any(|(_, line)| line.contains(text));
        assert!(has("\"number\":1,") && has("\"number\":2,") && !has("\"number\":3,"));
        assert!(has(&format!("\"unrecorded\":{}", counts.0)), "{lines:?}");
        assert!(world.verify().unwrap().is_closed);
    }
}

#[test]
fn requests_that_give_up_in_the_queue_are_counted_once() {
    let world = World::new();
    let options = AuditOptions { is_best_effort: true, ..AuditOptions::default() };
    let log = AuditLog::with_timeout(world.path(), options, Duration::from_secs(1)).unwrap();
    let (state, log) = (log.state(), Arc::new(log));
    hang(&state);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    // The thread of the log hangs with some of these records, and has not begun with the others.
    runtime.block_on(async {
        let answers: Vec<_> = (0..5)
            .map(|number| {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(number * 30)).await;
                    log.record(format!("\"number\":{number}").into_bytes()).await
                })
            })
            .collect();
        for answer in answers {
            assert!(answer.await.unwrap());
        }
    });
    state.slot.gate.set(Hanging::Nothing);
    let start = Instant::now();
    while log.is_failing() {
        assert!(start.elapsed().as_secs() < 20, "the log is never written again");
        thread::sleep(Duration::from_millis(10));
    }
    drop(state);
    Arc::into_inner(log).unwrap().close().unwrap();
    let lines = world.lines();
    let written = lines.iter().filter(|(_, line)| line.contains("\"number\":")).count() as u64;
    // More than one record may mention requests without a record, so their numbers are added.
    let mentioned = lines.iter().filter_map(|(_, line)| line.split("\"unrecorded\":").nth(1));
    let missing: u64 = mentioned
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(written + missing, 5, "{lines:?}");
    assert!(written > 0 && missing > 0, "{written}");
}

#[test]
fn the_end_does_not_wait_for_a_rotation_that_hangs() {
    let world = World::new();
    let timeout = Duration::from_millis(500);
    let log = AuditLog::with_timeout(world.path(), AuditOptions::default(), timeout).unwrap();
    let state = log.state();
    let (begun, has_begun) = std::sync::mpsc::channel::<()>();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let rotating = thread::spawn(move || {
        let replaced = state.slot.replace(|| {
            begun.send(()).unwrap();
            let _ = released.recv();
            Err(io::Error::other("the disk does not answer"))
        });
        assert!(replaced.is_err());
    });
    has_begun.recv().unwrap();
    let (ended, has_ended) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        drop(log);
        let _ = ended.send(());
    });
    let is_ended = has_ended.recv_timeout(Duration::from_secs(10)).is_ok();
    drop(release);
    rotating.join().unwrap();
    assert!(is_ended, "the end waits for the disk");
}

#[test]
fn a_slow_disk_delays_requests_and_refuses_none() {
    let world = World::new();
    let log = world.open(u64::MAX);
    hang(&log.state());
    let state = log.state();
    let answering = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        state.slot.gate.set(Hanging::Nothing);
    });
    let start = Instant::now();
    assert!(record(&log, b"\"status\":200"));
    assert!(start.elapsed() > Duration::from_millis(500) && !log.is_failing());
    answering.join().unwrap();
    log.close().unwrap();
    assert!(world.verify().unwrap().is_closed);
}

#[test]
fn records_have_the_order_in_which_their_requests_came() {
    let world = World::new();
    let log = world.open(2000);
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let log = Arc::new(log);
        let tasks: Vec<_> = (0..300)
            .map(|number| {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    assert!(log.record(format!("\"number\":{number}").into_bytes()).await);
                    assert!(log.record(format!("\"number\":{}", number + 1000).into_bytes()).await);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert!(world.verify().is_ok());
    let lines = world.lines();
    let place =
        |number: usize| lines.iter().position(|(_, line)| line.contains(&format!("\"number\":{number},")));
    for number in 0..300 {
        assert!(place(number).unwrap() < place(number + 1000).unwrap());
    }
}

#[test]
fn the_record_of_a_request_that_was_dropped_is_left_out() {
    let world = World::new();
    let log = world.open(u64::MAX);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut dropped = Box::pin(log.record(b"\"number\":1".to_vec()));
        // The record waits for those of other requests that are ready.
        let first_poll = poll_fn(|context| Poll::Ready(dropped.as_mut().poll(context).is_pending()));
        assert!(first_poll.await);
        assert!(log.state().batch.size_bytes() > 0);
        drop(dropped);
        // The record was removed from the batch, so it takes no memory even while nothing can be written.
        assert_eq!(log.state().batch.size_bytes(), 0);
        assert!(log.record(b"\"number\":2".to_vec()).await);
    });
    log.close().unwrap();
    assert!(world.verify().unwrap().is_closed);
    let lines = world.lines();
    let has = |number: &str| lines.iter().any(|(_, line)| line.contains(number));
    assert!(has("\"number\":2,") && !has("\"number\":1,"));
}

#[test]
fn records_of_many_requests_are_written_together() {
    let world = World::new();
    let log = Arc::new(world.open(u64::MAX));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let calls = log.state().slot.gate.count();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let log = Arc::clone(&log);
                tokio::spawn(async move { log.record(format!("\"number\":{number}").into_bytes()).await })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap());
        }
    });
    // The thread that syncs may have made some of these accesses.
    assert!(log.state().slot.gate.count() - calls < 10);
    drop(log);
    assert_eq!(world.lines().iter().filter(|(_, line)| line.contains("\"number\":")).count(), 100);
}

/// Sends a request without a signature, and returns the first line of the response.
fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_service_whose_log_hangs_still_tells_its_health() {
    let world = World::new();
    let store = Store::create(world.folder.path().join("c.db"), Catalog::cases(), StoreOptions::default());
    let store = store.unwrap();
    let tokens = Tokens::new(TokenFile::default(), store.catalog(), &Limits::default()).unwrap();
    let log = AuditLog::with_timeout(world.path(), AuditOptions::default(), Duration::from_secs(3)).unwrap();
    let state = log.state();
    let service = Service::new(store, tokens, ServiceOptions::default()).with_audit(log);
    // One thread runs all requests: a request that blocks it would stop the service.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = runtime.spawn(service.serve(listener, async { drop(stopped.await) }));
    let recorded = "/resources/api/caseManagement/v2/cases/filters";
    assert!(ask(address, recorded).unwrap().contains("401"));
    hang(&state);
    let waiting: Vec<_> = (0..20).map(|_| thread::spawn(move || ask(address, recorded).unwrap())).collect();
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    assert!(ask(address, "/healthz").unwrap().contains("200"));
    assert!(ask(address, "/readyz").unwrap().contains("200"));
    assert!(start.elapsed().as_secs() < 2 && !waiting.iter().any(thread::JoinHandle::is_finished));
    for request in waiting {
        assert!(request.join().unwrap().contains("503"));
    }
    assert!(ask(address, "/readyz").unwrap().contains("503"));
    assert!(ask(address, "/healthz").unwrap().contains("200"));
    state.slot.gate.set(Hanging::Nothing);
    let start = Instant::now();
    while !ask(address, recorded).unwrap().contains("401") {
        assert!(start.elapsed().as_secs() < 20, "the log is never written again");
        thread::sleep(Duration::from_millis(50));
    }
    stop.send(()).unwrap();
    runtime.block_on(serving).unwrap().unwrap();
    assert!(world.verify().unwrap().is_closed);
}
