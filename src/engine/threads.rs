//! Work of a write on several threads.
//!
//! A write holds the writer's lock. A thread of rayon's that waits for others does their work meanwhile, which may
//! be another write, and that would wait for the lock that its own thread holds. So these threads are none of rayon's.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "arrow")]
pub(super) use std::thread::scope;
use std::thread::{self, Builder, JoinHandle, Scope};

/// Does the work of each item on a thread of its own, that of the first on this one; the outcomes are in the order
/// of the items.
pub(super) fn on_threads<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let done: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let work = |item, done: &Mutex<Option<R>>| {
        let outcome = work(item);
        *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    };
    thread::scope(|scope| {
        let mut tasks = items.into_iter().zip(&done);
        let first = tasks.next();
        for (item, done) in tasks {
            let work = &work;
            spawn_or_do(scope, move || work(item, done));
        }
        if let Some((item, done)) = first {
            work(item, done);
        }
    });
    done.into_iter().filter_map(|done| done.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Does the work on a thread of its own, or here when the system has no more threads to give.
pub(super) fn spawn_or_do<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) {
    let work = Arc::new(Mutex::new(Some(work)));
    let same = Arc::clone(&work);
    if Builder::new().spawn_scoped(scope, move || take_and_do(&same).unwrap_or_default()).is_err() {
        take_and_do(&work).unwrap_or_default();
    }
}

fn take_and_do<R>(work: &Mutex<Option<impl FnOnce() -> R>>) -> Option<R> {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.map(|work| work())
}

/// Work that is done meanwhile; dropped, it is done for nobody.
pub(super) struct Task<R>(State<R>);

enum State<R> {
    Running(JoinHandle<Option<R>>),
    Done(Option<R>),
}

impl<R: Send + 'static> Task<R> {
    /// Begins with the work on a thread of its own, or does it here when the system has no more threads to give.
    pub(super) fn start(work: impl FnOnce() -> R + Send + 'static) -> Self {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn(move || take_and_do(&same));
        Self(thread.map_or_else(|_| State::Done(take_and_do(&work)), State::Running))
    }

    /// The outcome, once it is there, which it always comes to be.
    pub(super) fn finish(self) -> Option<R> {
        match self.0 {
            State::Running(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            State::Done(outcome) => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_in_the_order_of_the_items() {
        assert!(on_threads(Vec::new(), |item: u8| item).is_empty());
        let squares: Vec<u32> = (0..20).map(|n| n * n).collect();
        assert_eq!(Task::start(|| 7).finish(), Some(7));
        assert_eq!(on_threads((0..20).collect(), |item: u32| item * item), squares);
    }
}
