//! A mutex whose guard may move to another thread. The locks in `engine/shared_state.rs` and `standing/shared.rs`, and the log of
//! `store/database.rs`, are such mutexes.

use std::ops::{Deref, DerefMut};

use parking_lot::{Condvar, Mutex};

/// A mutex with a `Send` guard.
///
/// The guard of a [`Mutex`] must be dropped by the thread that created it. So a type that contains a guard is not `Send`. In
/// contrast, this lock moves the value into the guard. When the guard is dropped, on any thread, it returns the value to the lock.
/// (`parking_lot` also has `Send` guards, with its feature `send_guard`. But then no program that links this crate could use
/// `deadlock_detection`.)
///
/// The lock uses the mutex of `parking_lot` because of the thread sanitizer. The standard library is compiled without the
/// instrumentation of the sanitizer. With the mutex of the standard library, the sanitizer would report a race when a value moves
/// to another thread.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    /// `None` while the value is in a guard.
    slot: Mutex<Option<T>>,
    put_back: Condvar,
}

/// The guard of a [`Lock`]. It holds the value. When the guard is dropped, even during a panic, it returns the value to the lock.
#[derive(Debug)]
pub(crate) struct Held<'l, T: Default> {
    lock: &'l Lock<T>,
    value: T,
}

impl<T: Default> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { slot: Mutex::new(Some(value)), put_back: Condvar::new() }
    }

    /// Waits until the value is not in a guard, and moves it into a new guard.
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let mut slot = self.slot.lock();
        loop {
            if let Some(value) = slot.take() {
                return Held { lock: self, value };
            }
            self.put_back.wait(&mut slot);
        }
    }

    /// Moves the value into a new guard. Returns `None` if the value is in another guard.
    pub(crate) fn try_lock(&self) -> Option<Held<'_, T>> {
        let value = self.slot.lock().take()?;
        Some(Held { lock: self, value })
    }

    /// Consumes the lock and returns the value. Since the caller owns the lock, no guard exists.
    #[cfg(feature = "store")]
    pub(crate) fn into_inner(self) -> T {
        self.slot.into_inner().unwrap_or_default()
    }
}

impl<T: Default> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Default> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Default> Drop for Held<'_, T> {
    fn drop(&mut self) {
        *self.lock.slot.lock() = Some(std::mem::take(&mut self.value));
        self.lock.put_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn only_one_guard_exists_at_a_time() {
        let lock = Lock::new(0_u64);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 20_000);
    }

    #[test]
    fn a_guard_puts_the_value_back_on_another_thread_and_after_a_panic() {
        let lock = Lock::new(vec![1]);
        let mut held = lock.lock();
        assert!(lock.try_lock().is_none());
        thread::scope(|scope| {
            scope.spawn(move || held.push(2));
        });
        assert_eq!(*lock.try_lock().unwrap(), [1, 2]);
        let panicked = thread::scope(|scope| {
            let panics = || {
                let mut held = lock.lock();
                held.push(3);
                panic!("on purpose");
            };
            scope.spawn(panics).join()
        });
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), [1, 2, 3]);
    }
}
