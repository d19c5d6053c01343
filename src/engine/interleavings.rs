//! Tests whole engines in every order of steps that `shuttle` chooses.
//!
//! The tests check three properties of a write. A search sees the write completely or not at all. If a search sees the write, so
//! does each later search. If a search starts after the write has returned, it sees the write. Merges must not change these
//! properties.
//!
//! The steps are those of [`SharedState`]: load a snapshot, publish a snapshot, wait for the writer lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

use super::handle::Engine;
use super::shared_state::SharedState;
use super::write::UpsertOutcome;
use crate::catalog::Catalog;
use crate::filter::{Filter, SearchRequest};

/// Runs `test` under each schedule.
fn check(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    // A search in a debug build needs more stack than the default of 60 KiB.
    config.stack_size = 1 << 20;
    Runner::new(scheduler, config).run(test);
}

/// Creates an engine with small heads, size classes and batches, so that few writes exercise all of them.
fn engine(batch_rows: usize) -> Arc<Engine> {
    Arc::new(Engine::builder(Catalog::cases()).batch_rows(batch_rows).build_on(SharedState::modelled))
}

fn pair(round: usize) -> String {
    format!("{{\"id\":\"a\",\"name\":\"{round}\"}}\n{{\"id\":\"b\",\"name\":\"{round}\"}}\n")
}

/// Runs a search. For each of the two cases of `pair`, returns the number of the round that stored the case. The case has this
/// number as its name. Also returns the number of other cases.
fn observe(engine: &Engine) -> (Vec<usize>, usize) {
    let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000).with_count(true);
    let answer = engine.search(&all).unwrap();
    let name = |text: &str| {
        let (_, name) = text.split_once("\"name\":\"")?;
        name.trim_end_matches("\"}").parse().ok()
    };
    let rounds: Vec<usize> = answer.documents().filter_map(name).collect();
    assert_eq!(answer.total(), Some(answer.len() as u64), "a page of one snapshot, a total of another");
    let others = answer.len() - rounds.len();
    (rounds, others)
}

/// The number of cases that are stored at first. They are enough for later writes to find batches to merge.
const BEFORE: usize = 28;

/// Runs one thread that replaces a pair of cases repeatedly, one thread that adds single cases, and readers that check what they
/// see.
fn pairs_beside_singles(batch_rows: usize, rounds: usize, singles: usize, merged: &AtomicUsize) {
    let engine = engine(batch_rows);
    engine.upsert_many(pair(0).as_bytes()).unwrap();
    for before in 0..BEFORE {
        engine.upsert(format!("{{\"id\":\"before {before}\"}}").as_bytes()).unwrap();
    }
    let first_batch = engine.current.write().next_batch;
    // The writers set these values after a call has returned. `shuttle` does not schedule these steps.
    let (done, added) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (engine, done, added) = (Arc::clone(&engine), Arc::clone(&done), Arc::clone(&added));
        threads.push(thread::spawn(move || {
            let (mut seen, mut most) = (0, 0);
            for _ in 0..4 {
                let (acknowledged, stored) = (done.load(Ordering::SeqCst), added.load(Ordering::SeqCst));
                let (found, others) = observe(&engine);
                assert!(matches!(found.as_slice(), [a, b] if a == b), "half a write: {found:?}");
                assert!(found[0] >= seen, "a write undone: {} after {seen}", found[0]);
                assert!(found[0] >= acknowledged, "an acknowledged write is not seen");
                assert!(others >= stored.max(most), "{others} cases where {stored} were acknowledged");
                assert!(engine.len() >= others + 2);
                (seen, most) = (found[0], others);
            }
        }));
    }
    {
        let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
        threads.push(thread::spawn(move || {
            for round in 1..=rounds {
                let report = engine.upsert_many(pair(round).as_bytes()).unwrap();
                assert_eq!((report.stored, report.replaced), (0, 2));
                done.store(round, Ordering::SeqCst);
            }
        }));
    }
    {
        let (engine, added) = (Arc::clone(&engine), Arc::clone(&added));
        threads.push(thread::spawn(move || {
            for single in 0..singles {
                let id = format!("{{\"id\":\"single {single}\"}}");
                assert_eq!(engine.upsert(id.as_bytes()), Ok(UpsertOutcome::Stored));
                added.store(BEFORE + 1 + single, Ordering::SeqCst);
            }
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    engine.validate().unwrap();
    assert_eq!(observe(&engine), (vec![rounds; 2], BEFORE + singles));
    // Each sealed head and each merged batch takes a batch id. If more ids were taken than there are batches, batches were merged.
    let batches = engine.current.load().base.slots().count() as u64;
    let made = engine.current.write().next_batch - first_batch;
    merged.fetch_add(usize::from(made > batches), Ordering::SeqCst);
}

#[test]
fn a_call_is_seen_whole_in_any_order_of_steps() {
    for batch_rows in [1, 64] {
        let merged = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&merged);
        check(RandomScheduler::new(200), move || pairs_beside_singles(batch_rows, 5, 6, &count));
        let count = Arc::clone(&merged);
        check(PctScheduler::new(3, 200), move || pairs_beside_singles(batch_rows, 5, 6, &count));
        assert_eq!(merged.load(Ordering::SeqCst) > 0, batch_rows == 64, "whether batches were merged");
    }
}

/// Runs `test` under every possible schedule, and returns the number of schedules.
fn check_all(test: impl Fn() + Send + Sync + 'static) -> usize {
    let schedules = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&schedules);
    check(DfsScheduler::new(None, false), move || {
        count.fetch_add(1, Ordering::SeqCst);
        test();
    });
    schedules.load(Ordering::SeqCst)
}

fn upsert(engine: &Arc<Engine>, id: &'static str) -> thread::JoinHandle<()> {
    let engine = Arc::clone(engine);
    thread::spawn(move || {
        assert_eq!(engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()), Ok(UpsertOutcome::Stored));
    })
}

#[test]
fn no_order_of_steps_loses_a_write() {
    let schedules = check_all(|| {
        let engine = engine(4);
        let other = upsert(&engine, "a");
        assert_eq!(engine.upsert(b"{\"id\":\"b\"}"), Ok(UpsertOutcome::Stored));
        other.join().unwrap();
        assert_eq!(engine.len(), 2, "a write was lost");
        engine.validate().unwrap();
    });
    assert!(schedules > 10, "{schedules} orders");
}

#[test]
fn no_order_of_steps_undoes_a_write() {
    let schedules = check_all(|| {
        let engine = engine(4);
        let writer = upsert(&engine, "a");
        let (before, after) = (engine.len(), engine.len());
        assert!(before <= after && after <= 1, "{after} cases after {before}");
        writer.join().unwrap();
        assert_eq!(engine.len(), 1, "an acknowledged write is not seen");
    });
    assert!(schedules > 3, "{schedules} orders");
}
