//! Tests sets of filters under every order of steps that `shuttle` chooses. A match sees a write completely or not at all. After
//! one match has seen the write, or the write has returned, every new match sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

use super::filter_set::FilterSet;
use super::shared::Shared;
use super::standing_filter::StandingFilter;
use crate::catalog::Catalog;
use crate::filter::{Document, Filter};

fn check(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(scheduler, config).run(test);
}

/// Returns a standing filter that is called `name`. It selects the cases whose name (the field "name" of the case) is `value`.
fn named(name: &str, value: &str) -> StandingFilter {
    let cases = Catalog::cases();
    StandingFilter::new(
        name,
        &Filter::test(&cases, "name", crate::operator::Operator::Equal, [value]).unwrap(),
    )
}

fn matching(set: &FilterSet, case: &str) -> Vec<String> {
    let document = Document::parse(set.catalog(), format!("{{\"id\":\"1\",\"name\":\"{case}\"}}").as_bytes());
    let matches = set.matching(&document.unwrap()).unwrap();
    matches.sorted().into_iter().map(str::to_owned).collect()
}

fn segments(set: &FilterSet) -> usize {
    set.shared.load().layers.len()
}

/// Replaces a pair of filters together while other filters are inserted, removed and moved to a segment, and readers match. The
/// new segment is merged with three others of its size.
fn pairs_beside_singles() {
    let set = Arc::new(FilterSet::on(&Catalog::cases(), Shared::modelled));
    // 32 filters that are inserted at once become a segment.
    for segment in 0..3 {
        set.insert_many((0..32).map(|number| named(&format!("before {segment} {number}"), "other"))).unwrap();
    }
    set.insert_many([named("a", "x"), named("b", "x")]).unwrap();
    for number in 0..28 {
        set.insert(named(&format!("recent {number}"), "other")).unwrap();
    }
    assert_eq!(segments(&set), 3);
    let mut threads = Vec::new();
    {
        let set = Arc::clone(&set);
        threads.push(thread::spawn(move || {
            for _ in 0..3 {
                let found = matching(&set, "x");
                assert!(found.is_empty() || found == ["a", "b"], "half a write: {found:?}");
            }
        }));
    }
    {
        let set = Arc::clone(&set);
        threads.push(thread::spawn(move || {
            for round in 1..=3 {
                let value = if round % 2 == 0 { "x" } else { "y" };
                assert_eq!(set.insert_many([named("a", value), named("b", value)]), Ok(2));
                assert_eq!(matching(&set, value), ["a", "b"], "a write that is not seen");
            }
        }));
    }
    {
        let set = Arc::clone(&set);
        threads.push(thread::spawn(move || {
            for number in 0..4 {
                set.insert(named(&format!("single {number}"), "z")).unwrap();
                assert_eq!(matching(&set, "z").len(), number + 1);
            }
            assert!(set.remove("single 0") && !set.remove("single 0"));
            assert_eq!(matching(&set, "z").len(), 3);
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((matching(&set, "x"), matching(&set, "y").len()), (Vec::new(), 2));
    assert_eq!(set.len(), 3 * 32 + 2 + 28 + 3);
    assert_eq!(segments(&set), 1, "the segments were not merged");
}

#[test]
fn a_write_is_seen_whole_in_any_order_of_steps() {
    check(RandomScheduler::new(100), pairs_beside_singles);
    check(PctScheduler::new(3, 100), pairs_beside_singles);
}

#[test]
fn no_order_of_steps_loses_a_write() {
    let schedules = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&schedules);
    check(DfsScheduler::new(None, false), move || {
        count.fetch_add(1, Ordering::SeqCst);
        let set = Arc::new(FilterSet::on(&Catalog::cases(), Shared::modelled));
        let other = Arc::clone(&set);
        let thread = thread::spawn(move || other.insert(named("a", "x")).unwrap());
        set.insert(named("b", "x")).unwrap();
        thread.join().unwrap();
        assert_eq!(matching(&set, "x"), ["a", "b"]);
    });
    assert!(schedules.load(Ordering::SeqCst) > 5);
}
