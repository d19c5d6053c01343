//! Tests of searches in a store that are stopped, in the engine or between two documents.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::error::ErrorKind;
use crate::stop::{CancelToken, Deadline};

/// Returns the request with a deadline. From its call with index `at` on, the deadline function returns true.
fn stopping_at(request: &SearchRequest, at: usize) -> SearchRequest {
    let checks = AtomicUsize::new(0);
    request.clone().with_deadline(Deadline::new(move || checks.fetch_add(1, Ordering::Relaxed) >= at))
}

#[test]
fn a_search_stops_at_each_check_also_between_documents() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    for number in 0..40 {
        let document = format!(r#"{{"id":"{number}","state":"x","amount":{number}}}"#);
        store.upsert(document.as_bytes(), Durability::Grouped).unwrap();
    }
    let filter = Filter::compile_text(store.catalog(), "amount > 4 and state = x").unwrap();
    let request = SearchRequest::new(filter).with_count(true);
    let expected = store.search(&request).unwrap().to_json();
    let ids = store.ids(&request).unwrap();
    assert_eq!(ids.len(), 35);
    let mut stops = 0;
    let found = loop {
        match store.search(&stopping_at(&request, stops)) {
            Ok(found) => break found,
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Request);
                assert_eq!(error.request_error().unwrap().kind, ErrorKind::DeadlineExceeded);
                assert_eq!(error.to_string(), "the search was stopped at its deadline");
            }
        }
        stops += 1;
    };
    assert!(stops > ids.len(), "{stops} checks for {} documents", ids.len());
    assert_eq!(found.to_json(), expected);
    // Stops the reading of a page that is read in parts.
    let token = CancelToken::new();
    let (page, first) = store
        .find_page(
            &request.clone().with_cancel(token.clone()),
            |_| Vec::new(),
            |texts, text| {
                texts.push(text.to_owned());
                texts.len() < 3
            },
        )
        .unwrap();
    assert_eq!((page.len(), first.len()), (35, 3));
    let read = |stop: &_| {
        store.read_page(
            &page,
            3,
            || 0,
            |count, _| {
                *count += 1;
                true
            },
            stop,
        )
    };
    assert_eq!(read(&request.stop).unwrap(), 32);
    token.cancel();
    let stopped = read(&request.clone().with_cancel(token.clone()).stop).unwrap_err();
    assert_eq!(stopped.request_error().unwrap().kind, ErrorKind::SearchCancelled);
    // All other searches return an error as well.
    let cancelled = request.with_cancel(token);
    let kinds = [
        store.ids(&cancelled).map(drop),
        store.documents(&cancelled).map(drop),
        store.each_id(&cancelled, |_| Ok::<_, StoreError>(())),
        store.explain(&cancelled).map(drop),
        store.analyze(&cancelled, &|| std::time::Duration::ZERO).map(drop),
        store.hints_for(&cancelled).map(drop),
    ];
    for result in kinds {
        assert_eq!(result.unwrap_err().request_error().unwrap().kind, ErrorKind::SearchCancelled);
    }
}
