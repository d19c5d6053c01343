//! A lock whose guard may move between threads.

use std::ops::{Deref, DerefMut};

use parking_lot::{Condvar, Mutex};

/// A value that one holder at a time has.
///
/// The guard of a [`Mutex`] has to be dropped by the thread that made it, so that nothing which holds one is `Send`. This lock hands
/// out the value itself, and its holder puts it back, from any thread. (`parking_lot` has such guards under its feature `send_guard`,
/// but then no program that links us may use its `deadlock_detection`.)
///
/// The mutex is that of `parking_lot`, since the thread sanitizer sees into it. The standard library that comes with the compiler is
/// not instrumented, and the sanitizer takes the handing on of a value by it for a race.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    /// Empty while a holder has the value.
    slot: Mutex<Option<T>>,
    put_back: Condvar,
}

/// The value of a [`Lock`], until this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Held<'l, T: Default> {
    lock: &'l Lock<T>,
    value: T,
}

impl<T: Default> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { slot: Mutex::new(Some(value)), put_back: Condvar::new() }
    }

    /// Waits until no other holder has the value.
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let mut slot = self.slot.lock();
        loop {
            if let Some(value) = slot.take() {
                return Held { lock: self, value };
            }
            self.put_back.wait(&mut slot);
        }
    }

    /// The value, if no other holder has it.
    #[cfg_attr(
        not(feature = "store"),
        expect(dead_code, reason = "the durable store tries to reopen its file")
    )]
    pub(crate) fn try_lock(&self) -> Option<Held<'_, T>> {
        let value = self.slot.lock().take()?;
        Some(Held { lock: self, value })
    }

    /// The value, since there is no other holder.
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
    fn one_holder_at_a_time_has_the_value() {
        let lock = Lock::new(0_u64);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 20_000);
    }

    #[test]
    fn a_value_is_put_back_by_another_thread_and_by_a_panic() {
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
