//! Imports sources that consist of rows: Parquet files and record batches.

use super::flow::Pipeline;
use super::group::{BuiltGroup, GroupBuilder, Settings, Text};
use super::store::CaseStore;
use crate::batch::{BatchBuilder, Row};
use crate::catalog::Catalog;
use crate::engine::write::report::ImportError;
use crate::engine::write::threads::{Queue, scope};
use crate::error::Error;
use crate::limits::Limits;

/// The destination of the rows of a group: the batch of a worker thread, or the transaction.
pub(crate) trait Cases {
    fn catalog(&self) -> &Catalog;

    /// Returns the limits of documents.
    fn limits(&self) -> &Limits;

    /// Adds the bytes of a row to the count for the [bound](RowBound) of its source.
    ///
    /// # Errors
    /// Returns an error if the rows counted so far exceed the bound.
    fn count(&mut self, line: u64, bytes: u64) -> Result<(), ImportError>;

    /// Adds the case of a complete row.
    ///
    /// # Errors
    /// Returns an error that ends the import.
    fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), ImportError>;

    /// Rejects a row that does not contain a valid case.
    ///
    /// # Errors
    /// Returns the error of the row, if it ends the import.
    fn refuse(&mut self, line: u64, error: Error) -> Result<(), ImportError>;

    /// Creates the error that ends the import because the rest of the source cannot be read.
    fn fail(&self, line: u64, error: Error) -> ImportError;
}

/// A group of rows that are read together.
pub(crate) struct RowGroup<G> {
    /// The number of rows.
    pub(crate) rows: usize,
    pub(crate) group: G,
}

/// The maximum number of bytes that may be [counted](Cases::count) for the rows of one source, and the error if the source exceeds
/// it.
#[derive(Clone, Copy)]
pub(crate) struct RowBound {
    pub(crate) bytes: u64,
    pub(crate) too_much: fn() -> Error,
}

impl RowBound {
    /// Subtracts the bytes of a row from the remaining bytes. Returns an error if the row has more bytes than remain.
    fn take(&mut self, source: &str, line: u64, bytes: u64) -> Result<(), ImportError> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes =
            left.ok_or_else(|| ImportError::new(source, line, (self.too_much)()).of_document(line))?;
        Ok(())
    }
}

impl Pipeline<'_> {
    /// Returns the minimum number of rows of a group: the size of a batch if worker threads are used, otherwise 1.
    pub(crate) fn rows_at_once(&self) -> usize {
        if self.workers() > 1 { self.engine().sizes.batch } else { 1 }
    }

    /// Reports an error about a column of the source. This error does not end the import. A column with an error is not read, with
    /// one exception: the name of the column is an alias of a field. The values of such a column are added to the documents, but
    /// they are not values of the field, so searches do not find them. Stores all remaining documents of earlier sources first.
    ///
    /// # Errors
    /// Returns the first error of the remaining documents that ends the import.
    pub(crate) fn leave_out(&mut self, column: Error) -> Result<(), Box<ImportError>> {
        self.drain()?;
        let refusal = ImportError::new(&self.store.source, 0, column);
        self.store.report.list(ImportError { kept: true, ..refusal });
        Ok(())
    }

    /// Imports all row groups of a source. Calls `read` for each group. The arguments of `read` are the group, the line of its
    /// first row, and the destination of its cases.
    ///
    /// A source with only one group is read on this thread, so that many small sources share a batch.
    ///
    /// # Errors
    /// Returns the first error, in the order of the source, that ends the import.
    pub(crate) fn push_rows<G: Send>(
        &mut self,
        mut groups: impl Iterator<Item = RowGroup<G>>,
        bound: RowBound,
        read: impl Fn(G, u64, &mut dyn Cases) -> Result<(), ImportError> + Sync,
    ) -> Result<(), ImportError> {
        self.drain().map_err(|refusal| *refusal)?;
        let first = groups.next();
        let second = if self.workers() > 1 { groups.next() } else { None };
        let (workers, has_workers) = (self.workers(), second.is_some());
        let numbered = first.into_iter().chain(second).chain(groups).scan(1_u64, |next, group| {
            let line = *next;
            *next = line + group.rows as u64;
            Some((line, group))
        });
        let store = &mut self.store;
        if !has_workers {
            let mut cases = StoredCases { store, bound };
            return numbered
                .into_iter()
                .try_for_each(|(line, RowGroup { group, .. })| read(group, line, &mut cases));
        }
        let (mut left, read) = (bound, &read);
        scope(|scope| {
            let mut queue = Queue::new(workers);
            for (line, RowGroup { rows, group }) in numbered {
                let mut cases = GroupCases::new(store, rows, line, left);
                queue.start(scope, move || {
                    let outcome = read(group, line, &mut cases);
                    cases.finish(outcome)
                });
                if let Some(built) = queue.next_if_full() {
                    store.push_rows(built, &mut left)?;
                }
            }
            while let Some(built) = queue.next() {
                store.push_rows(built, &mut left)?;
            }
            Ok(())
        })
    }
}

/// A group of rows that a worker thread has built.
struct BuiltRows {
    group: BuiltGroup<'static>,
    first_line: u64,
    /// The size in bytes of each row that was read.
    bytes: Vec<u64>,
}

impl CaseStore<'_> {
    /// Stores the cases of a group of rows. Checks the bound row by row, as an import on one thread does.
    fn push_rows(&mut self, built: BuiltRows, bound: &mut RowBound) -> Result<(), ImportError> {
        for (line, bytes) in (built.first_line..).zip(built.bytes) {
            bound.take(&self.source, line, bytes)?;
        }
        self.push_group(built.group).map(drop).map_err(|refusal| *refusal)
    }
}

/// A destination that stores rows immediately.
struct StoredCases<'p, 'e> {
    store: &'p mut CaseStore<'e>,
    bound: RowBound,
}

impl Cases for StoredCases<'_, '_> {
    fn catalog(&self) -> &Catalog {
        &self.store.txn.engine().catalog
    }

    fn limits(&self) -> &Limits {
        &self.store.txn.engine().limits
    }

    fn count(&mut self, line: u64, bytes: u64) -> Result<(), ImportError> {
        self.bound.take(&self.store.source, line, bytes)
    }

    fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), ImportError> {
        let (reader, store) = (self.store.reader(), &mut *self.store);
        let noted = reader.note_row(row, &store.source, line, &mut store.report);
        noted.and_then(|()| store.add((line, line), row, document)).map_err(|refusal| *refusal)
    }

    fn refuse(&mut self, line: u64, error: Error) -> Result<(), ImportError> {
        let refusal = self.fail(line, error);
        let refused = self.store.reader().refuse(refusal, &mut self.store.report);
        refused.map_err(|refusal| *refusal)
    }

    fn fail(&self, line: u64, error: Error) -> ImportError {
        ImportError::new(&self.store.source, line, error).of_document(line)
    }
}

/// A destination that adds rows to the batches of a worker thread.
struct GroupCases {
    builder: GroupBuilder<'static>,
    source: Box<str>,
    /// The documents, concatenated, if they are stored outside the engine.
    text: Vec<u8>,
    first_line: u64,
    bytes: Vec<u64>,
    /// The bound of the source at the time when the group was started. Only the rows of this group are subtracted from it.
    bound: RowBound,
}

impl GroupCases {
    /// Starts the next group of a source. It continues the batch that the transaction is filling.
    fn new(store: &mut CaseStore<'_>, rows: usize, first_line: u64, bound: RowBound) -> Self {
        let settings = Settings::new(store.txn.engine(), store.mode);
        let filling: Option<Box<BatchBuilder>> = store.txn.take_filling(0);
        let first_number = store.take_numbers(rows as u64);
        Self {
            builder: GroupBuilder::new(settings, filling, first_number, rows, 0),
            source: store.source.clone(),
            text: Vec::new(),
            first_line,
            bytes: Vec::with_capacity(rows),
            bound,
        }
    }

    fn finish(self, outcome: Result<(), ImportError>) -> BuiltRows {
        let group = self.builder.finish(self.text, outcome.err().map(Box::new));
        BuiltRows { group, first_line: self.first_line, bytes: self.bytes }
    }
}

impl Cases for GroupCases {
    fn catalog(&self) -> &Catalog {
        &self.builder.settings.catalog
    }

    fn limits(&self) -> &Limits {
        &self.builder.settings.limits
    }

    fn count(&mut self, line: u64, bytes: u64) -> Result<(), ImportError> {
        self.bytes.push(bytes);
        self.bound.take(&self.source, line, bytes)
    }

    fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), ImportError> {
        let Self { builder, source, text, .. } = self;
        let number = builder.take_number();
        let noted = builder.settings.reader().note_row(row, source, line, &mut builder.report);
        noted.map_err(|refusal| *refusal)?;
        builder.push(row, number, document, || {
            let start = text.len();
            text.extend_from_slice(document.as_bytes());
            Text::Copied(start..text.len())
        });
        Ok(())
    }

    fn refuse(&mut self, line: u64, error: Error) -> Result<(), ImportError> {
        self.builder.take_number();
        let refusal = self.fail(line, error);
        let GroupBuilder { settings, report, .. } = &mut self.builder;
        settings.reader().refuse(refusal, report).map_err(|refusal| *refusal)
    }

    fn fail(&self, line: u64, error: Error) -> ImportError {
        ImportError::new(&self.source, line, error).of_document(line)
    }
}
