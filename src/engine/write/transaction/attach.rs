//! Attaches a transaction: takes the writer lock, and finds the stored cases that the transaction replaces.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::buffer::{Buffer, SealedBatch};
use super::txn::{Attached, WriteTxn};
use crate::engine::snapshot::{Snapshot, StoredAddr, View};
use crate::error::Error;

impl WriteTxn<'_> {
    /// Takes the writer lock, and finds the stored cases that the transaction replaces. Returns the number of cases that the
    /// transaction has counted as new, although they replace a stored case.
    ///
    /// Looks up the ids before it waits for the lock. Looks them up again only if another write has replaced the base in the
    /// meantime.
    ///
    /// # Errors
    /// Returns an error if the engine cannot hold all batches of the transaction.
    pub(crate) fn attach(&mut self) -> Result<u64, Box<Error>> {
        if self.attached.is_some() {
            return Ok(0);
        }
        self.prepare();
        let attached = Attached::new(self.engine);
        self.look_up(&attached.snapshot.base);
        let replaced = self.resolve(&attached);
        self.check_all_batches(&attached.snapshot)?;
        self.attached = Some(attached);
        Ok(replaced)
    }

    /// Seals the last batch, and looks up the ids of all sealed batches in the current base. If the caller does not call this,
    /// [`attach`](Self::attach) does the work. No case may be added afterwards.
    pub(crate) fn prepare(&mut self) {
        if let Buffer::Batches(sealed, filling) = &mut self.buffer
            && filling.rows() > 0
        {
            sealed.push(filling.seal().into());
        }
        let base = Arc::clone(&self.engine.current.load().base);
        self.look_up(&base);
    }

    /// Adds `by` to each document number. The transaction must be [prepared](Self::prepare), and must not be attached.
    #[cfg(feature = "store")]
    pub(crate) fn shift_document_numbers(&mut self, by: u64) {
        debug_assert!(self.attached.is_none(), "the numbers of replaced documents are not shifted");
        match &mut self.buffer {
            Buffer::Rows(rows) => {
                let rows = rows.iter_mut().filter_map(Arc::get_mut);
                rows.for_each(|row| row.shift_document_number(by));
            }
            Buffer::Batches(sealed, _) => {
                sealed.iter_mut().for_each(|sealed| sealed.batch.shift_document_numbers(by));
            }
        }
        self.released.iter_mut().for_each(|number| *number = number.saturating_add(by));
    }

    /// Returns the document number and the insertion-order number of each document, in the order in which the cases were stored.
    /// Includes cases that the transaction itself replaced. The transaction must be [prepared](Self::prepare).
    #[cfg(feature = "store")]
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u64, u64)> {
        let (rows, sealed) = match &self.buffer {
            Buffer::Rows(rows) => (rows.as_slice(), [].as_slice()),
            Buffer::Batches(sealed, _) => ([].as_slice(), sealed.as_slice()),
        };
        let rows = rows.iter().filter_map(|row| Some((row.document_number()?, row.place)));
        rows.chain(sealed.iter().flat_map(|SealedBatch { batch, .. }| {
            (0..batch.rows()).filter_map(move |row| Some((batch.document_number(row)?, batch.place(row))))
        }))
    }

    /// Looks up the ids of sealed batches in a base.
    fn look_up(&mut self, base: &Arc<View>) {
        if let Buffer::Batches(sealed, _) = &mut self.buffer {
            sealed.iter_mut().for_each(|sealed| sealed.covered.update(&sealed.batch, base));
        }
    }

    /// Checks that the engine can hold all batches of the transaction. All batches must be sealed.
    fn check_all_batches(&self, snapshot: &Snapshot) -> Result<(), Box<Error>> {
        match &self.buffer {
            Buffer::Rows(rows) if rows.is_empty() => Ok(()),
            Buffer::Rows(rows) => self.check_batches(snapshot, rows.len()),
            Buffer::Batches(sealed, _) => self.check_added(snapshot, sealed.len()),
        }
    }

    /// Gives the cases their final insertion-order numbers. A case that replaces a stored case gets the number of that case. The
    /// numbers of the other cases follow the numbers of the stored cases. Records the stored cases that are replaced, and returns
    /// their number.
    fn resolve(&mut self, attached: &Attached<'_>) -> u64 {
        let Self { hasher, buffer, deleted, released, .. } = self;
        let Attached { writer, snapshot } = attached;
        if snapshot.cases() == 0 && writer.next_place == 0 {
            return 0;
        }
        let is_searched = snapshot.cases() > 0;
        let mut next_place = writer.next_place;
        let mut replaced = 0;
        // The final insertion-order numbers, indexed by the number within the transaction. The numbers within the transaction
        // ascend from 0, with one exception. A case that replaces another case of the transaction has the number of that case.
        let mut places: Vec<u64> = Vec::with_capacity(usize::try_from(self.next_place).unwrap_or(0));
        let mut place_of = |own_place: u64, id: &str, covered: Option<StoredAddr>| {
            let at = usize::try_from(own_place).unwrap_or(usize::MAX);
            if let Some(place) = places.get(at) {
                return *place;
            }
            debug_assert_eq!(at, places.len(), "places are given in order");
            let hash = hasher.hash_one(id);
            let found = if is_searched { writer.find_known(snapshot, hash, &|| id, covered) } else { None };
            let place = match found {
                Some(at) => {
                    deleted.insert(at, hash);
                    replaced += 1;
                    let (place, number) = writer.describe(snapshot, at);
                    released.extend(number);
                    place
                }
                None => {
                    next_place += 1;
                    next_place - 1
                }
            };
            places.push(place);
            place
        };
        match buffer {
            Buffer::Rows(rows) => {
                for row in rows {
                    let covered = snapshot.base.find_covered(hasher.hash_one(row.id()), row.id()).next();
                    let place = place_of(row.place, row.id(), covered);
                    // No search can see the row yet.
                    if let Some(row) = Arc::get_mut(row) {
                        row.place = place;
                    }
                }
            }
            Buffer::Batches(sealed, _) => {
                for SealedBatch { batch, covered, .. } in sealed {
                    let mut found = std::mem::take(covered).into_rows().into_iter().peekable();
                    let rows = (0..batch.rows()).map(|row| {
                        let covered = found.next_if(|(at, _)| *at == row).map(|(_, at)| at);
                        place_of(batch.place(row), batch.id(row), covered)
                    });
                    let places = rows.collect();
                    batch.set_places(places);
                }
            }
        }
        self.next_place = next_place;
        replaced
    }
}
