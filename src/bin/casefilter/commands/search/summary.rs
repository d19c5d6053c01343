//! The last line of a table of cases, and the note about cases that were not written.

use crate::output::failure::note;
use crate::output::figures::{counted, duration, thousands};
use crate::output::wrap::wrapped;

use std::time::Duration;

use casefilter::SearchRequest;

/// The time that an answer took.
#[derive(Clone, Copy)]
pub(super) enum Took {
    /// The time of the search, and the time of loading the cases before it.
    Search { searching: Duration, loading: Duration },
    /// The time of a search while the files were read.
    Scan(Duration),
}

/// Returns the last line of a table, for cases from files or from a database.
pub(super) fn summary_of(written: u64, total: u64, cases: u64, took: Took) -> String {
    let times = match took {
        Took::Search { searching, loading } => {
            format!("searched in {} · loaded in {}", duration(searching), duration(loading))
        }
        Took::Scan(took) => format!("read and searched in {}", duration(took)),
    };
    let (written, total, cases) = (thousands(written), thousands(total), counted(cases, "case"));
    wrapped(&format!("{written} of {total} selected, out of {cases} · {times}"), 0)
}

/// If the page is full and selected cases follow it, prints a note on standard error.
pub(super) fn note_cut(written: u64, request: &SearchRequest, total: u64) {
    let end = request.offset.saturating_add(written);
    if request.limit > 0 && written == request.limit && end < total {
        note(format!(
            "{} of {} written; --limit all writes them all, --offset {end} continues\n",
            thousands(written),
            counted_selected(total)
        ));
    }
}

fn counted_selected(total: u64) -> String {
    counted(total, "selected case")
}
