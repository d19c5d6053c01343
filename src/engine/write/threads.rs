//! Threads of an import, and the queue of what they do.
//!
//! A write holds the writer's lock. A thread of rayon's that waits for others does their work meanwhile, which may
//! be another write, and that would wait for the lock that its own thread holds. So these threads are none of rayon's.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, ScopedJoinHandle};
pub(crate) use std::thread::{Scope, scope};

/// The most threads of an import: each has a group in memory.
pub(crate) const MOST_WORKERS: usize = 8;

/// Returns the number of threads that an import should have: that of the current rayon pool, at most [`MOST_WORKERS`].
///
/// Without the feature `parallel` it is 1.
pub(crate) fn available_workers() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads.clamp(1, MOST_WORKERS)
}

/// Starts tasks on threads that end within `'s`.
pub(crate) trait Spawn<'s>: Copy {
    /// Starts a task on a thread of its own. Does it here if the system has no more threads to give.
    fn start<R: Send + 's>(self, work: impl FnOnce() -> R + Send + 's) -> Task<'s, R>;
}

/// Starts tasks on threads that may outlive the import.
#[derive(Clone, Copy)]
pub(crate) struct Detached;

impl Spawn<'static> for Detached {
    fn start<R: Send + 'static>(self, work: impl FnOnce() -> R + Send + 'static) -> Task<'static, R> {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn(move || take_and_do(&same));
        Task(thread.map_or_else(|_| State::Done(take_and_do(&work)), State::Detached))
    }
}

impl<'s> Spawn<'s> for &'s Scope<'s, '_> {
    fn start<R: Send + 's>(self, work: impl FnOnce() -> R + Send + 's) -> Task<'s, R> {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn_scoped(self, move || take_and_do(&same));
        Task(thread.map_or_else(|_| State::Done(take_and_do(&work)), State::Scoped))
    }
}

fn take_and_do<R>(work: &Mutex<Option<impl FnOnce() -> R>>) -> Option<R> {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.map(|work| work())
}

/// Work on another thread. If the task is dropped, the work goes on, and its result is dropped.
pub(crate) struct Task<'s, R>(State<'s, R>);

enum State<'s, R> {
    Detached(JoinHandle<Option<R>>),
    Scoped(ScopedJoinHandle<'s, Option<R>>),
    Done(Option<R>),
}

impl<R> Task<'_, R> {
    /// Waits for the result, which always comes.
    fn finish(self) -> Option<R> {
        match self.0 {
            State::Detached(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            State::Scoped(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            State::Done(outcome) => outcome,
        }
    }
}

/// Tasks whose results are taken in the order in which they were started.
///
/// At most [`workers`](Self::workers) of them work at once. The others wait on their threads.
pub(crate) struct Queue<'s, R> {
    tasks: VecDeque<Task<'s, std::thread::Result<R>>>,
    turns: Arc<Turns>,
    workers: usize,
}

impl<'s, R: Send + 's> Queue<'s, R> {
    /// Returns a queue without a task.
    pub(crate) fn new(workers: usize) -> Self {
        Self { tasks: VecDeque::new(), turns: Arc::new(Turns::new(workers)), workers }
    }

    /// Returns the number of tasks that work at once.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn start(&mut self, spawn: impl Spawn<'s>, work: impl FnOnce() -> R + Send + 's) {
        let turns = Arc::clone(&self.turns);
        let task = spawn.start(move || {
            let _turn = turns.take();
            // A panic of a task whose result is not taken is no panic of its scope.
            catch_unwind(AssertUnwindSafe(work))
        });
        self.tasks.push_back(task);
    }

    /// Waits for the oldest task if there are more than workers. To be called before the next is started.
    pub(crate) fn next_if_full(&mut self) -> Option<R> {
        if self.tasks.len() > self.workers { self.next() } else { None }
    }

    /// Waits for the oldest task, and continues its panic; `None` without a task.
    pub(crate) fn next(&mut self) -> Option<R> {
        let outcome = self.tasks.pop_front()?.finish()?;
        Some(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Returns the semaphore that lets tasks work.
    #[cfg(test)]
    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }
}

/// A semaphore: lets a number of threads work at once.
pub(crate) struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

/// The right to work, until it is dropped.
pub(crate) struct Turn<'s>(&'s Turns);

impl Turns {
    /// Returns a semaphore for this number of threads, at least one.
    pub(crate) fn new(threads: usize) -> Self {
        Self { left: Mutex::new(threads.max(1)), given_back: Condvar::new() }
    }

    /// Waits for a turn. A thread that has one must not ask for another.
    pub(crate) fn take(&self) -> Turn<'_> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left =
            self.given_back.wait_while(left, |left| *left == 0).unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left += 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let numbers: Vec<u64> = (0..20).collect();
        let expected: Vec<u64> = numbers.iter().map(|number| number * number).collect();
        // The first tasks take longest.
        let square = |number: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(20 - *number));
            number * number
        };
        let mut detached = Queue::new(3);
        for number in numbers.clone() {
            detached.start(Detached, move || square(&number));
        }
        assert_eq!(std::iter::from_fn(|| detached.next()).collect::<Vec<u64>>(), expected);
        assert!(detached.is_empty() && detached.next().is_none());
        let (squares, most) = scope(|scope| {
            let (mut queue, mut squares, mut most) = (Queue::new(3), Vec::new(), 0);
            for number in &numbers {
                queue.start(scope, move || square(number));
                most = most.max(queue.tasks.len());
                squares.extend(queue.next_if_full());
            }
            squares.extend(std::iter::from_fn(|| queue.next()));
            (squares, most)
        });
        assert_eq!((squares, most), (expected, 4));
    }

    #[test]
    fn a_panic_is_continued_when_the_turn_of_its_task_comes() {
        let mut queue = Queue::new(2);
        queue.start(Detached, || 1);
        queue.start(Detached, || panic!("of the second"));
        assert_eq!(queue.next(), Some(1));
        let next = catch_unwind(AssertUnwindSafe(|| queue.next()));
        assert_eq!(next.unwrap_err().downcast_ref(), Some(&"of the second"));
        scope(|scope| {
            let mut queue: Queue<'_, u8> = Queue::new(2);
            queue.start(scope, || panic!("of a task that is given up"));
        });
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
