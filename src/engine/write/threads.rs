//! The threads of an import, and the queue of their tasks.
//!
//! A write holds the writer lock. While a rayon thread waits, it may run other tasks of its pool. If such a task were another
//! write, it would wait for the lock that its own thread holds. So the threads of an import do not belong to a rayon pool.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
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

/// A type that starts threads that end within `'s`.
pub(crate) trait Spawn<'s>: Copy {
    /// Starts a thread. Returns false if the system has no more threads.
    fn start(self, work: impl FnOnce() + Send + 's) -> bool;
}

/// A type that starts threads that may outlive the import.
#[derive(Clone, Copy)]
pub(crate) struct Detached;

impl Spawn<'static> for Detached {
    fn start(self, work: impl FnOnce() + Send + 'static) -> bool {
        Builder::new().spawn(work).is_ok()
    }
}

impl<'s> Spawn<'s> for &'s Scope<'s, '_> {
    fn start(self, work: impl FnOnce() + Send + 's) -> bool {
        Builder::new().spawn_scoped(self, work).is_ok()
    }
}

/// A task, which sends its result itself.
type Job<'s> = Box<dyn FnOnce() + Send + 's>;

/// A queue of tasks for worker threads. It returns the results in the order in which the tasks were started.
///
/// Each of the first tasks also starts a worker, up to the maximum number. When the queue is dropped, the workers still run all
/// tasks that were started, and then end. The results of these tasks are dropped.
pub(crate) struct Queue<'s, R> {
    /// The results of the tasks, in the order of the tasks.
    results: VecDeque<Receiver<std::thread::Result<R>>>,
    jobs: Sender<Job<'s>>,
    waiting: Arc<Mutex<Receiver<Job<'s>>>>,
    /// The number of workers that were started.
    started: usize,
    workers: usize,
}

impl<'s, R: Send + 's> Queue<'s, R> {
    /// Creates an empty queue for at most `workers` threads.
    pub(crate) fn new(workers: usize) -> Self {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        Self { results: VecDeque::new(), jobs, waiting, started: 0, workers: workers.max(1) }
    }

    /// Returns the maximum number of tasks that run concurrently.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Adds a task, which the next idle worker runs. If no worker could be started, runs it on this thread.
    pub(crate) fn start(&mut self, spawn: impl Spawn<'s>, work: impl FnOnce() -> R + Send + 's) {
        let (result, receiver) = channel();
        self.results.push_back(receiver);
        self.run(spawn, move || {
            // There is no receiver if the queue was dropped.
            let _ = result.send(catch_unwind(AssertUnwindSafe(work)));
        });
    }

    fn run(&mut self, spawn: impl Spawn<'s>, job: impl FnOnce() + Send + 's) {
        if self.started < self.workers {
            let waiting = Arc::clone(&self.waiting);
            let has_started = spawn.start(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(job) = next() {
                    job();
                }
            });
            self.started += usize::from(has_started);
        }
        if self.started == 0 {
            return job();
        }
        // Cannot fail, because the queue has the receiver.
        let _ = self.jobs.send(Box::new(job));
    }

    /// If there are more tasks than workers, waits for the oldest task and returns its result. The caller must call this before it
    /// starts another task.
    pub(crate) fn next_if_full(&mut self) -> Option<R> {
        if self.results.len() > self.workers { self.next() } else { None }
    }

    /// Waits for the oldest task, and resumes its panic if it panicked. Returns `None` if there is no task.
    pub(crate) fn next(&mut self) -> Option<R> {
        // A task always sends its result.
        let result = self.results.pop_front()?.recv().ok()?;
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Makes all workers wait until the returned sender is dropped.
    #[cfg(test)]
    pub(crate) fn hold(&mut self, spawn: impl Spawn<'s>) -> Sender<()> {
        let (holding, until) = channel::<()>();
        let until = Arc::new(Mutex::new(until));
        for _ in 0..self.workers {
            let until = Arc::clone(&until);
            self.run(spawn, move || {
                // When the sender is dropped, `recv` returns an error.
                let _ = until.lock().unwrap_or_else(PoisonError::into_inner).recv();
            });
        }
        holding
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
                most = most.max(queue.results.len());
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
    fn no_more_tasks_run_than_there_are_workers() {
        let mut queue = Queue::new(2);
        let held = queue.hold(Detached);
        let (tell, told) = channel();
        for number in 0..3 {
            let tell = tell.clone();
            queue.start(Detached, move || tell.send(number).is_ok());
        }
        // All workers are busy.
        assert!(told.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        drop(held);
        assert!(std::iter::from_fn(|| queue.next()).eq([true; 3]));
        let mut numbers: Vec<u8> = told.try_iter().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn without_threads_tasks_run_on_the_thread_of_the_caller() {
        #[derive(Clone, Copy)]
        struct NoThreads;
        impl Spawn<'static> for NoThreads {
            fn start(self, _: impl FnOnce() + Send + 'static) -> bool {
                false
            }
        }
        let mut queue = Queue::new(2);
        let own = std::thread::current().id();
        queue.start(NoThreads, move || std::thread::current().id() == own);
        assert_eq!(queue.next(), Some(true));
    }
}
