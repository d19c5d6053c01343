//! Members of stored cases that are not fields, but look like a field of a filter.
//!
//! The store keeps no counts of such members: to update them, each replaced or deleted case would have to be read again. Instead, a sample
//! of the stored cases is read, or all cases of a small store. So a member that few cases have may be missed. This works for files of every
//! version.

use super::database::Store;
use super::documents::Documents;
use super::error::guarded;
use crate::batch::Row;
use crate::engine::{DocumentNote, DocumentNoteKind, ImportReport};
use crate::error::quote;
use crate::filter::{Filter, Warning, WarningKind};
use crate::ingest::{DocumentTemplate, read_by_template};
use crate::limits::Limits;

/// The approximate minimum number of cases in a sample. A sample has fewer than twice as many.
const SAMPLE_CASES: usize = 1000;

/// A sample ends when the total size of its documents reaches this number of bytes.
const SAMPLE_BYTES: usize = 16 << 20;

impl Store {
    /// Returns hints about members of stored cases that are not searched, because they are not fields, but look like a field of the filter.
    ///
    /// Reads a sample of 1,000 to 2,000 evenly distributed cases, but at most about 16 MiB. A hint says how many cases of the sample have
    /// the member. There are no hints if the file cannot be read, or for a [joined](Filter::and) filter: the author of a part may not be
    /// the reader of the hint. An import [notes](crate::ImportReport::notes) all such members with exact counts.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, Store, StoreOptions, WarningKind};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","status":"open"}"#, Durability::Synced)?;
    /// let filter = Filter::compile_text(store.catalog(), "caseReview.status = open")?;
    /// let hint = &store.unknown_members(&filter)[0];
    /// assert_eq!(hint.kind, WarningKind::UnknownMember);
    /// assert_eq!(
    ///     hint.message,
    ///     "1 of 1 cases has the member `status`, which is no field and is not searched; did you mean `caseReview.status`?"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unknown_members(&self, filter: &Filter) -> Vec<Warning> {
        let named = filter.named();
        if named.is_empty() || !filter.catalog().is_within(self.catalog()) {
            return Vec::new();
        }
        let (cases, notes) = self.notes_on_sample();
        let is_sample = cases < self.len() as u64;
        let of_what = if is_sample { " cases that were looked at" } else { " cases" };
        let mut hints = Vec::new();
        for DocumentNote { kind, path: member, count, meant, .. } in notes {
            let is_meant = |(field, _): &&(_, String)| {
                let name = self.catalog().field(*field).name();
                meant.iter().any(|meant| meant == name)
            };
            let Some((_, path)) =
                named.iter().find(is_meant).filter(|_| kind == DocumentNoteKind::UnknownMember)
            else {
                continue;
            };
            let have = if count == 1 { "has" } else { "have" };
            let meant: Vec<String> = meant.iter().map(|name| quote(name)).collect();
            let message = format!(
                "{count} of {cases}{of_what} {have} the member {}, which is no field and is not searched; did you mean {}?",
                quote(&member),
                meant.join(" or ")
            );
            hints.push(Warning { kind: WarningKind::UnknownMember, path: path.clone(), message });
        }
        hints
    }

    /// Reads a sample of the cases. Returns the number of cases and the notes on them.
    fn notes_on_sample(&self) -> (u64, Vec<DocumentNote>) {
        let (numbers, attachment) = self.engine.sample(SAMPLE_CASES);
        let Some(documents) = attachment.as_deref().and_then(|own| own.downcast_ref::<Documents>()) else {
            return (0, Vec::new());
        };
        let limits = Limits { document_bytes: usize::MAX, document_depth: usize::MAX, ..Limits::default() };
        let mut template = DocumentTemplate::default();
        let mut report = ImportReport::default();
        let (mut cases, mut bytes): (u64, usize) = (0, 0);
        for number in numbers {
            let take = |text: &str| {
                let mut row = Row::default();
                if read_by_template(text, self.catalog(), &limits, &mut template, &mut row).is_ok() {
                    report.note(&row, "", 0, self.catalog());
                    cases = cases.saturating_add(1);
                    bytes = bytes.saturating_add(text.len());
                }
            };
            let read = guarded(|| documents.read(Some(number), take));
            if read.is_err() || bytes >= SAMPLE_BYTES {
                break;
            }
        }
        (cases, report.notes)
    }
}
