//! Creates new databases, with the tables of an empty store.

use std::fs;

use redb::Database;

use super::super::backend::{SyncFailed, Watched, WholePages};
use super::super::error::{Fault, guarded};
use super::super::tables::{
    BATCHES, CATALOGUE, DEFINITION, DICTIONARIES, DOCUMENTS, FORMAT, FORMAT_VERSION, LIVE, META, RELEASED,
    STATE, SUMMARIES, StoreCounters, definition_to_bytes, describe,
};
use super::origin::builder;
use crate::catalog::Catalog;

/// Creates a database in a new file.
pub(super) fn create_in(
    file: fs::File,
    catalog: &Catalog,
    cache_bytes: usize,
    sync_failed: &SyncFailed,
) -> Result<Database, Fault> {
    guarded(|| {
        let backend = Watched::new(WholePages::new(file)?, sync_failed);
        let database = builder(cache_bytes).create_with_backend(backend)?;
        initialize(&database, catalog)?;
        Ok(database)
    })
}

/// Writes the tables of an empty store.
pub(super) fn initialize(database: &Database, catalog: &Catalog) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, FORMAT_VERSION.to_le_bytes().as_slice())?;
        meta.insert(CATALOGUE, describe(catalog).as_bytes())?;
        meta.insert(DEFINITION, definition_to_bytes(catalog).as_slice())?;
        meta.insert(STATE, StoreCounters::default().to_bytes().as_slice())?;
        transaction.open_table(DOCUMENTS)?;
        transaction.open_table(RELEASED)?;
        transaction.open_table(BATCHES)?;
        transaction.open_table(LIVE)?;
        transaction.open_table(SUMMARIES)?;
        transaction.open_table(DICTIONARIES)?;
    }
    Ok(transaction.commit()?)
}
