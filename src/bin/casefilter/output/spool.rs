//! Writes to standard output without waiting for its reader. Bytes that the reader has not read are kept in memory up to a limit,
//! and then in a file.
//!
//! Commands that read a database write through a [`Spool`]. So they can close the database as soon as they have read it, even if
//! the reader of the output is slow.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::output::unnamed::unnamed_beside;

/// The maximum number of bytes that wait in memory. Further bytes are written to a file.
const MEMORY_BYTES: usize = 16 << 20;

/// The maximum number of bytes per read from the file.
const PIECE_BYTES: usize = 256 << 10;

/// A writer that passes its bytes to a separate thread, which writes them to the output.
///
/// [`flush`](Write::flush) waits until all bytes have been written to the output.
pub(crate) struct Spool {
    shared: Arc<Shared>,
    /// The database in whose folder the file is created, if possible.
    beside: Option<PathBuf>,
    memory_bytes: usize,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<SpoolState>,
    /// Notified after every change of the state.
    changed: Condvar,
}

/// The bytes that have not been written to the output. Their order is: bytes that the thread has taken, pieces, then the file from
/// `read` to `written`.
#[derive(Default)]
struct SpoolState {
    pieces: VecDeque<Vec<u8>>,
    /// The total length of the pieces, in bytes.
    piece_bytes: usize,
    file: Option<File>,
    read: u64,
    written: u64,
    /// True if a file could not be created or written. From then on, the writer waits if more bytes would exceed the memory
    /// limit.
    is_without_file: bool,
    /// True while the thread is writing bytes to the output.
    is_busy: bool,
    /// True if no more bytes will be added.
    is_ended: bool,
    /// The error that stopped the thread.
    failure: Option<io::Error>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, SpoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, SpoolState>) -> MutexGuard<'s, SpoolState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpoolState {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.read == self.written
    }

    /// Returns the error of the thread. Each later call returns a copy of the error.
    fn check(&mut self) -> io::Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => {
                self.failure = Some(copied(&failure));
                Err(failure)
            }
        }
    }

    /// Appends bytes to the file.
    fn put(&mut self, bytes: &[u8], beside: Option<&Path>) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => unnamed_beside(beside)?,
        };
        // If everything in the file has been read, the file is reused from its start.
        if self.read == self.written {
            (self.read, self.written) = (0, 0);
        }
        file.seek(SeekFrom::Start(self.written))?;
        let done = file.write_all(bytes);
        self.file = Some(file);
        done?;
        self.written = self.written.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// Returns the bytes to write next. Returns `None` if no bytes are waiting.
    fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(piece) = self.pieces.pop_front() {
            self.piece_bytes = self.piece_bytes.saturating_sub(piece.len());
            return Ok(Some(piece));
        }
        let left = self.written.saturating_sub(self.read);
        let Some(file) = self.file.as_mut().filter(|_| left > 0) else { return Ok(None) };
        let len = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = vec![0; len];
        file.seek(SeekFrom::Start(self.read))?;
        file.read_exact(&mut piece)?;
        self.read = self.read.saturating_add(len as u64);
        Ok(Some(piece))
    }
}

/// Returns a copy of an error, with the same kind and text.
fn copied(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl Spool {
    /// Creates a writer that passes its bytes to `out`. If a file is needed, it is created in the folder of `beside`, if possible.
    pub(crate) fn new(out: impl Write + Send + 'static, beside: Option<&Path>) -> io::Result<Self> {
        Self::with_memory(out, beside, MEMORY_BYTES)
    }

    fn with_memory(
        out: impl Write + Send + 'static,
        beside: Option<&Path>,
        memory_bytes: usize,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::new(SpoolState::default()), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let pass_on = move || {
            let result = pass_on(&own, out);
            let mut state = own.state();
            state.is_busy = false;
            state.failure = result.err();
            own.changed.notify_all();
        };
        let thread = thread::Builder::new().name("output".to_owned()).spawn(pass_on)?;
        Ok(Self { shared, beside: beside.map(Path::to_owned), memory_bytes, thread: Some(thread) })
    }
}

/// Writes waiting bytes to `out` until the [`Spool`] is dropped and no more bytes are waiting.
fn pass_on(shared: &Shared, mut out: impl Write) -> io::Result<()> {
    let mut state = shared.state();
    loop {
        match state.take()? {
            Some(piece) => {
                state.is_busy = true;
                drop(state);
                out.write_all(&piece)?;
                state = shared.state();
            }
            // While the thread waits for more bytes, no byte may stay in a buffer.
            None if state.is_busy => {
                drop(state);
                out.flush()?;
                state = shared.state();
                state.is_busy = !state.is_empty();
                shared.changed.notify_all();
            }
            None if state.is_ended => return Ok(()),
            None => state = shared.wait(state),
        }
        shared.changed.notify_all();
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut state = self.shared.state();
        loop {
            state.check()?;
            let is_in_memory = state.read == state.written;
            if is_in_memory
                && state.piece_bytes.saturating_add(bytes.len()) <= self.memory_bytes.max(bytes.len())
            {
                state.piece_bytes = state.piece_bytes.saturating_add(bytes.len());
                state.pieces.push_back(bytes.to_vec());
                break;
            }
            if !state.is_without_file {
                // If there is no space for a file, wait until the reader has read more bytes.
                match state.put(bytes, self.beside.as_deref()) {
                    Ok(()) => break,
                    Err(_) => state.is_without_file = true,
                }
                continue;
            }
            state = self.shared.wait(state);
        }
        self.shared.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.shared.state();
        loop {
            state.check()?;
            if state.is_empty() && !state.is_busy {
                return Ok(());
            }
            state = self.shared.wait(state);
        }
    }
}

/// Waits until all bytes have been written, or until an error stops the thread.
impl Drop for Spool {
    fn drop(&mut self) {
        self.shared.state().is_ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A slow reader. It reads a piece only when the test permits it.
    struct Slow {
        go: Receiver<()>,
        taken: SyncSender<Vec<u8>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            let _ = self.taken.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_writer_never_waits_for_the_reader_and_every_byte_arrives_in_order() {
        for memory_bytes in [1, 100, 10_000, MEMORY_BYTES] {
            let (go, may_go) = sync_channel(1 << 10);
            let (taken, pieces) = sync_channel(1 << 20);
            let mut spool = Spool::with_memory(Slow { go: may_go, taken }, None, memory_bytes).unwrap();
            let mut expected = Vec::new();
            for round in 0..3_u32 {
                for number in 0..500_u32 {
                    let line = format!("{round} {number} {}\n", "x".repeat(number as usize % 37));
                    spool.write_all(line.as_bytes()).unwrap();
                    expected.extend(line.into_bytes());
                }
                // The reader may read a part of the bytes before more bytes are written.
                (0..20).for_each(|_| go.send(()).unwrap());
            }
            let reader = thread::spawn(move || while go.send(()).is_ok() {});
            spool.flush().unwrap();
            drop(spool);
            reader.join().unwrap();
            assert!(pieces.iter().flatten().eq(expected), "{memory_bytes}");
        }
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_writing() {
        let (go, may_go) = sync_channel::<()>(0);
        let (taken, _pieces) = sync_channel(1 << 10);
        drop(go);
        let mut spool = Spool::with_memory(Slow { go: may_go, taken }, None, 100).unwrap();
        let failed =
            (0..10_000).find_map(|_| spool.write_all(b"0123456789").and_then(|()| spool.flush()).err());
        assert_eq!(failed.unwrap().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(spool.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn without_space_for_a_file_the_writer_waits_for_the_reader() {
        let (go, may_go) = sync_channel(0);
        let (taken, pieces) = sync_channel(1 << 10);
        let mut spool = Spool::with_memory(Slow { go: may_go, taken }, None, 100).unwrap();
        spool.shared.state().is_without_file = true;
        let reader = thread::spawn(move || while go.send(()).is_ok() {});
        (0..1000).for_each(|_| spool.write_all(b"0123456789").unwrap());
        assert!(spool.shared.state().piece_bytes <= 100);
        drop(spool);
        reader.join().unwrap();
        assert_eq!(pieces.iter().flatten().count(), 10_000);
    }
}
