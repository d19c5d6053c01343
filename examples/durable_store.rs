//! A durable store: cases in one file, a backup while it is open, and a restore.
//!
//! ```sh
//! cargo run --example durable_store --features store
//! ```

use std::fs;

use casefilter::{
    Catalog, Durability, Filter, ImportMode, SearchRequest, Store, StoreErrorKind, StoreOptions,
};

type AnyError = Box<dyn std::error::Error>;

/// Returns the ids of the open cases.
fn open_cases(store: &Store) -> Result<Vec<String>, AnyError> {
    let filter = Filter::compile_text(store.catalog(), "status = open")?;
    let answer = store.search(&SearchRequest::new(filter))?;
    Ok(answer.ids().map(str::to_owned).collect())
}

fn main() -> Result<(), AnyError> {
    let folder = tempfile::tempdir()?;
    let (path, backup) = (folder.path().join("cases.db"), folder.path().join("monday.db"));
    let (catalog, options) = (Catalog::cases(), StoreOptions::default());

    let store = Store::create(&path, catalog.clone(), options.clone())?;
    // A synced write is on disk when the call returns.
    let case = br#"{"id": "c-1", "name": "Cash below the threshold", "caseReview": {"status": "open"}}"#;
    store.upsert(case, Durability::Synced)?;
    // Grouped writes are visible at once. The next sync puts all of them on disk, which is faster than one sync for each write.
    for number in 2..=100 {
        let case = format!(r#"{{"id": "c-{number}", "caseReview": {{"status": "resolvedFalsePositive"}}}}"#);
        store.upsert(case.as_bytes(), Durability::Grouped)?;
    }
    store.sync()?;

    // An import of any size is one write. The second line of this import has a mistake, so nothing is stored.
    let mut import = store.import(ImportMode::Strict)?;
    let pushed = import.push(b"{\"id\": \"c-101\"}\n{\"id\": \"c-102\", \"tags\": \"cash\"}\n");
    let Err(error) = pushed.and_then(|()| import.commit()) else { return Err("`tags` is an array".into()) };
    println!("rejected: {error}");
    assert_eq!((error.kind(), store.len()), (StoreErrorKind::RejectedDocument, 100));

    // A backup is a complete database. Searches and writes continue while the backup is made.
    store.backup(&backup)?;
    let report = Store::verify(&backup, &catalog, &options)?;
    println!("backup: {} cases, each compared with its columns", report.documents);
    assert_eq!(report.documents, 100);

    // Only one store at a time can have a file open for writing.
    let Err(error) = Store::open(&path, catalog.clone(), options.clone()) else {
        return Err("the file is open already".into());
    };
    println!("in use: {error}");
    assert_eq!(error.kind(), StoreErrorKind::InUse);

    assert!(store.delete("c-1", Durability::Synced)?);
    store.close()?;
    let store = Store::open(&path, catalog.clone(), options.clone())?;
    println!("opened again: {} cases, open: {:?}", store.len(), open_cases(&store)?);
    assert!(open_cases(&store)?.is_empty());

    // To restore a backup, close the store and replace its file by the backup.
    store.close()?;
    fs::copy(&backup, &path)?;
    let store = Store::open(&path, catalog, options)?;
    println!("restored: {} cases, open: {:?}", store.len(), open_cases(&store)?);
    assert_eq!((store.len(), open_cases(&store)?), (100, vec!["c-1".to_owned()]));
    store.close()?;
    Ok(())
}
