//! A simulated disk in memory, with faults and crashes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::super::bell::Bell;

/// A pseudo-random number generator.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound.max(1)
    }

    pub(super) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A fault of the disk. The number in a variant is the index of the operation at which the fault occurs or begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// The machine stops. This operation and all later operations fail.
    Crash(u64),
    /// This operation fails. All later operations succeed again.
    Once(u64),
    /// From this operation on, the disk is full.
    Full(u64),
    /// The file cannot grow. Its bytes can still be read and overwritten.
    NoRoom,
    /// From this operation on, nothing can be read.
    Unreadable(u64),
}

#[derive(Debug)]
struct DiskState {
    /// The contents that the system shows to readers.
    now: Vec<u8>,
    /// The contents that are certainly on disk. The writes in `pending` are possibly not on disk.
    synced: Vec<u8>,
    pending: Vec<Pending>,
    /// True if syncs report success without doing anything.
    lying: bool,
    machine: Arc<Mutex<Machine>>,
}

/// A machine with one or more disks. It counts the operations of the disks, and lets some of them fail, as `trouble` says.
#[derive(Debug)]
struct Machine {
    trouble: Trouble,
    operations: u64,
    /// The bell of a store, if a test watches the events. Before each operation, the machine asks the bell for the last event that
    /// readers may see.
    bell: Option<Arc<Bell>>,
    /// The greatest event number that the bell has returned.
    shown: u64,
}

#[derive(Clone, Debug)]
enum Pending {
    Write(u64, Vec<u8>),
    Length(u64),
}

/// A simulated disk. Clones share the same contents.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<DiskState>>);

impl Disk {
    pub(super) fn new(contents: Vec<u8>, trouble: Trouble, lying: bool) -> Self {
        let synced = contents.clone();
        let machine = Arc::new(Mutex::new(Machine { trouble, operations: 0, bell: None, shown: 0 }));
        let state = DiskState { now: contents, synced, pending: Vec::new(), lying, machine };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Creates an empty disk in the same machine.
    pub(super) fn beside(&self) -> Self {
        let other = Self::new(Vec::new(), Trouble::None, false);
        other.state().machine = Arc::clone(&self.state().machine);
        other
    }

    /// Counts an operation of the machine that is neither a read nor a write of a disk. Returns an error if it fails.
    pub(super) fn step(&self) -> io::Result<()> {
        self.state().machine().step(false)
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, trouble: Trouble) {
        self.state().machine().trouble = trouble;
    }

    pub(super) fn operations(&self) -> u64 {
        self.state().machine().operations
    }

    /// From now on, records the last event that readers may see, before each operation and until the machine crashes.
    pub(super) fn watch(&self, bell: &Arc<Bell>) {
        self.state().machine().bell = Some(Arc::clone(bell));
    }

    /// Returns the greatest number of an event that readers were allowed to see.
    pub(super) fn shown(&self) -> u64 {
        self.state().machine().shown
    }

    /// Returns the contents that the system shows to readers.
    pub(super) fn contents(&self) -> Vec<u8> {
        self.state().now.clone()
    }

    /// Returns the contents after a crash: the synced bytes, and a random part of the pending writes.
    pub(super) fn after_crash(&self, dice: &mut Dice) -> Vec<u8> {
        let state = self.state();
        let mut found = state.synced.clone();
        let fate_number = dice.below(4);
        for pending in &state.pending {
            let fate = match fate_number {
                0 => 0,
                1 => 1,
                _ => dice.below(3),
            };
            match (pending, fate) {
                (_, 0) => {}
                (Pending::Length(length), _) => found.resize(*length as usize, 0),
                (Pending::Write(offset, bytes), 1) => put(&mut found, *offset, bytes),
                (Pending::Write(offset, bytes), _) => {
                    // Each sector may reach the disk or not, independently of the others.
                    for (sector, bytes) in (0_u64..).zip(bytes.chunks(512)) {
                        if dice.one_in(2) {
                            put(&mut found, offset + sector * 512, bytes);
                        }
                    }
                }
            }
        }
        found
    }
}

fn put(contents: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + bytes.len());
    if contents.len() < end {
        contents.resize(end, 0);
    }
    contents[start..end].copy_from_slice(bytes);
}

impl DiskState {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine {
    /// Counts an operation. Returns an error if the fault of the disk affects this operation.
    fn step(&mut self, reads: bool) -> io::Result<()> {
        let own = self.operations;
        self.operations += 1;
        if let Some(bell) = &self.bell
            && !matches!(self.trouble, Trouble::Crash(at) if own > at)
        {
            self.shown = self.shown.max(bell.last());
        }
        let fails = match self.trouble {
            Trouble::None | Trouble::NoRoom => false,
            Trouble::Crash(at) => own >= at,
            Trouble::Once(at) => own == at,
            Trouble::Full(at) => own >= at && !reads,
            Trouble::Unreadable(at) => own >= at && reads,
        };
        let kind = if let Trouble::Full(_) = self.trouble {
            io::ErrorKind::StorageFull
        } else {
            io::ErrorKind::Other
        };
        if fails { Err(io::Error::new(kind, "trouble")) } else { Ok(()) }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        state.machine().step(true)?;
        let found = state.now.get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state();
        state.machine().step(false)?;
        let is_full = state.machine().trouble == Trouble::NoRoom;
        if is_full && length as usize > state.now.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.now.resize(length as usize, 0);
        state.pending.push(Pending::Length(length));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        let stepped = state.machine().step(false);
        if let Err(error) = stepped {
            let Machine { operations, trouble, .. } = *state.machine();
            // The system may drop the data that it could not write, still show the data, and report no further error.
            if operations.is_multiple_of(2) && !matches!(trouble, Trouble::Crash(_)) {
                state.pending.clear();
            }
            return Err(error);
        }
        if !state.lying {
            let state = &mut *state;
            for pending in state.pending.drain(..) {
                match pending {
                    Pending::Length(length) => state.synced.resize(length as usize, 0),
                    Pending::Write(offset, bytes) => put(&mut state.synced, offset, &bytes),
                }
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let stepped = state.machine().step(false);
        if let Err(error) = stepped {
            let Machine { operations, trouble, .. } = *state.machine();
            // A failed write may have written a part of its bytes.
            let part = bytes[..bytes.len() / 2].to_vec();
            if !matches!(trouble, Trouble::Crash(at) if operations > at + 1) {
                put(&mut state.now, offset, &part);
                state.pending.push(Pending::Write(offset, part));
            }
            return Err(error);
        }
        put(&mut state.now, offset, bytes);
        state.pending.push(Pending::Write(offset, bytes.to_vec()));
        Ok(())
    }
}
