//! Work of a write on several threads.
//!
//! A write holds the writer's lock. A thread of rayon's that waits for others does their work meanwhile, which may
//! be another write, and that would wait for the lock that its own thread holds. So these threads are none of rayon's.

use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, ScopedJoinHandle};
pub(crate) use std::thread::{Scope, scope};

/// Does the work on a thread of its own, or here when the system has no more threads to give.
#[cfg(feature = "arrow")]
pub(crate) fn spawn_or_do<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) {
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
pub(crate) struct Task<'s, R>(State<'s, R>);

enum State<'s, R> {
    Running(JoinHandle<Option<R>>),
    Scoped(ScopedJoinHandle<'s, Option<R>>),
    Done(Option<R>),
}

impl<R: Send + 'static> Task<'static, R> {
    /// Begins with the work on a thread of its own, or does it here when the system has no more threads to give.
    pub(crate) fn start(work: impl FnOnce() -> R + Send + 'static) -> Self {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn(move || take_and_do(&same));
        Self(thread.map_or_else(|_| State::Done(take_and_do(&work)), State::Running))
    }
}

impl<'s, R: Send + 's> Task<'s, R> {
    /// As [`start`](Task::start); the thread ends before the scope does.
    pub(crate) fn start_in(scope: &'s Scope<'s, '_>, work: impl FnOnce() -> R + Send + 's) -> Self {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn_scoped(scope, move || take_and_do(&same));
        Self(thread.map_or_else(|_| State::Done(take_and_do(&work)), State::Scoped))
    }

    /// The outcome, once it is there, which it always comes to be.
    pub(crate) fn finish(self) -> Option<R> {
        match self.0 {
            State::Running(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            State::Scoped(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            State::Done(outcome) => outcome,
        }
    }
}

/// Lets so many threads work at once; others wait for their turn.
pub(crate) struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

/// The right to work, until it is dropped.
pub(crate) struct Turn<'s>(&'s Turns);

impl Turns {
    /// For so many threads, at least one.
    pub(crate) fn new(threads: usize) -> Self {
        Self { left: Mutex::new(threads.max(1)), given_back: Condvar::new() }
    }

    /// Waits for a turn, which those who have one must not do.
    pub(crate) fn take(&self) -> Turn<'_> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left =
            self.given_back.wait_while(left, |left| *left == 0).unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_sub(1);
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(1);
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_meanwhile_comes_to_be() {
        assert_eq!(Task::start(|| 7).finish(), Some(7));
        let numbers: Vec<u32> = (0..20).collect();
        let squares = scope(|scope| {
            let square = |number: &'_ u32| number * number;
            let tasks: Vec<_> =
                numbers.iter().map(|number| Task::start_in(scope, move || square(number))).collect();
            tasks.into_iter().filter_map(Task::finish).collect::<Vec<u32>>()
        });
        assert_eq!(squares, numbers.iter().map(|number| number * number).collect::<Vec<u32>>());
    }

    #[test]
    fn no_more_work_at_once_than_there_are_turns() {
        let turns = Turns::new(2);
        let (first, second) = (turns.take(), turns.take());
        let (tell, told) = std::sync::mpsc::channel();
        let (turns, tell) = (&turns, &tell);
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let _turn = turns.take();
                    tell.send(()).unwrap();
                });
            }
            // Nobody has a turn to give.
            assert!(told.recv_timeout(std::time::Duration::from_millis(50)).is_err());
            drop((first, second));
            (0..3).for_each(|_| told.recv().unwrap());
        });
        assert_eq!(*turns.left.lock().unwrap(), 2);
    }
}
