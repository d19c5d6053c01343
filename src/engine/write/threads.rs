//! The threads of an import, and the queue of their tasks.
//!
//! A write holds the writer lock. While a rayon thread waits, it may run other tasks of its pool. If such a task were another
//! write, it would wait for the lock that its own thread holds. So the threads of an import do not belong to a rayon pool.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, ScopedJoinHandle};
pub(crate) use std::thread::{Scope, scope};

/// The maximum number of threads of an import. Each thread has one group of documents in memory.
pub(crate) const MOST_WORKERS: usize = 8;

/// Returns the number of worker threads: the size of the current rayon pool, but at most [`MOST_WORKERS`].
///
/// Without the feature `parallel`, the number is 1.
pub(crate) fn available_workers() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads.clamp(1, MOST_WORKERS)
}

/// A type that starts tasks on threads that end within `'s`.
pub(crate) trait Spawn<'s>: Copy {
    /// Starts a task on a new thread. If the system has no more threads, runs the task on this thread.
    fn start<R: Send + 's>(self, work: impl FnOnce() -> R + Send + 's) -> Task<'s, R>;
}

/// A type that starts tasks on threads that may outlive the import.
#[derive(Clone, Copy)]
pub(crate) struct Detached;

impl Spawn<'static> for Detached {
    fn start<R: Send + 'static>(self, work: impl FnOnce() -> R + Send + 'static) -> Task<'static, R> {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn(move || run_once(&same));
        Task(thread.map_or_else(|_| TaskState::Done(run_once(&work)), TaskState::Detached))
    }
}

impl<'s> Spawn<'s> for &'s Scope<'s, '_> {
    fn start<R: Send + 's>(self, work: impl FnOnce() -> R + Send + 's) -> Task<'s, R> {
        let work = Arc::new(Mutex::new(Some(work)));
        let same = Arc::clone(&work);
        let thread = Builder::new().spawn_scoped(self, move || run_once(&same));
        Task(thread.map_or_else(|_| TaskState::Done(run_once(&work)), TaskState::Scoped))
    }
}

fn run_once<R>(work: &Mutex<Option<impl FnOnce() -> R>>) -> Option<R> {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.map(|work| work())
}

/// A task on another thread. If the handle is dropped, the task continues, and its result is dropped.
pub(crate) struct Task<'s, R>(TaskState<'s, R>);

enum TaskState<'s, R> {
    Detached(JoinHandle<Option<R>>),
    Scoped(ScopedJoinHandle<'s, Option<R>>),
    Done(Option<R>),
}

impl<R> Task<'_, R> {
    /// Waits for the result, which is always `Some`. If the task panicked, resumes its panic.
    fn finish(self) -> Option<R> {
        match self.0 {
            TaskState::Detached(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            TaskState::Scoped(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            TaskState::Done(outcome) => outcome,
        }
    }
}

/// A queue of tasks, which returns results in the order in which the tasks were started.
///
/// At most [`workers`](Self::workers) tasks run concurrently. Other tasks wait on their threads for a permit.
pub(crate) struct Queue<'s, R> {
    tasks: VecDeque<Task<'s, std::thread::Result<R>>>,
    semaphore: Arc<Semaphore>,
    workers: usize,
}

impl<'s, R: Send + 's> Queue<'s, R> {
    /// Creates an empty queue.
    pub(crate) fn new(workers: usize) -> Self {
        Self { tasks: VecDeque::new(), semaphore: Arc::new(Semaphore::new(workers)), workers }
    }

    /// Returns the number of tasks that run concurrently.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn start(&mut self, spawn: impl Spawn<'s>, work: impl FnOnce() -> R + Send + 's) {
        let semaphore = Arc::clone(&self.semaphore);
        let task = spawn.start(move || {
            let _permit = semaphore.take();
            // If a task panics and its result is not needed, its scope must not panic.
            catch_unwind(AssertUnwindSafe(work))
        });
        self.tasks.push_back(task);
    }

    /// If there are more tasks than workers, waits for the oldest task and returns its result. The caller must call this before it
    /// starts another task.
    pub(crate) fn next_if_full(&mut self) -> Option<R> {
        if self.tasks.len() > self.workers { self.next() } else { None }
    }

    /// Waits for the oldest task, and resumes its panic if it panicked. Returns `None` if there is no task.
    pub(crate) fn next(&mut self) -> Option<R> {
        let outcome = self.tasks.pop_front()?.finish()?;
        Some(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Returns the semaphore of the tasks.
    #[cfg(all(test, feature = "parallel"))]
    pub(crate) fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

/// A semaphore that limits the number of threads that work at the same time.
pub(crate) struct Semaphore {
    left: Mutex<usize>,
    released: Condvar,
}

/// A permit of a [`Semaphore`]. Dropping it returns it to the semaphore.
pub(crate) struct Permit<'s>(&'s Semaphore);

impl Semaphore {
    /// Creates a semaphore with `threads` permits, but at least one permit.
    pub(crate) fn new(threads: usize) -> Self {
        Self { left: Mutex::new(threads.max(1)), released: Condvar::new() }
    }

    /// Waits for a permit. A thread must not hold two permits.
    pub(crate) fn take(&self) -> Permit<'_> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left =
            self.released.wait_while(left, |left| *left == 0).unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left += 1;
        self.0.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let numbers: Vec<u64> = (0..20).collect();
        let expected: Vec<u64> = numbers.iter().map(|number| number * number).collect();
        // The first tasks take the longest.
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
    fn a_panic_is_resumed_when_its_result_is_taken() {
        let mut queue = Queue::new(2);
        queue.start(Detached, || 1);
        queue.start(Detached, || panic!("of the second"));
        assert_eq!(queue.next(), Some(1));
        let next = catch_unwind(AssertUnwindSafe(|| queue.next()));
        assert_eq!(next.unwrap_err().downcast_ref(), Some(&"of the second"));
        scope(|scope| {
            let mut queue: Queue<'_, u8> = Queue::new(2);
            queue.start(scope, || panic!("of a dropped task"));
        });
    }

    #[test]
    fn no_more_threads_work_than_there_are_permits() {
        let semaphore = Semaphore::new(2);
        let (first, second) = (semaphore.take(), semaphore.take());
        let (tell, told) = std::sync::mpsc::channel();
        let (semaphore, tell) = (&semaphore, &tell);
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let _permit = semaphore.take();
                    tell.send(()).unwrap();
                });
            }
            // All permits are taken.
            assert!(told.recv_timeout(std::time::Duration::from_millis(50)).is_err());
            drop((first, second));
            (0..3).for_each(|_| told.recv().unwrap());
        });
        assert_eq!(*semaphore.left.lock().unwrap(), 2);
    }
}
