//! Finds members of stored documents that are not fields, but have names similar to a field of a filter.
//!
//! The store does not keep counts of such members. To update such counts, each replaced or deleted document would have to be read
//! again. Instead, the store reads a sample of its documents. So it may miss a member that only few documents have. If the store is
//! small, it reads all documents. This works for files of every version.

use super::database::Store;
use super::documents::Documents;
use super::error::guarded;
use crate::batch::Row;
use crate::engine::{DocumentNote, DocumentNoteKind, ImportReport};
use crate::error::quote;
use crate::filter::{Filter, Warning, WarningKind};
use crate::ingest::{DocumentTemplate, read_by_template};
use crate::limits::Limits;

/// The approximate minimum number of documents in a sample. A sample has less than twice this number.
const SAMPLE_CASES: usize = 1000;

/// A sample ends when the total size of its documents reaches this number of bytes.
const SAMPLE_BYTES: usize = 16 << 20;

impl Store {
    /// Returns hints about members of stored documents that cannot be searched because they are not fields. Only members whose
    /// names are similar to a field of the filter get a hint.
    ///
    /// Reads a sample of 1,000 to 2,000 documents, but at most about 16 MiB. The sample consists of evenly distributed runs of 32
    /// documents. A hint says how many documents of the sample have the member. Returns no hints if the file cannot be read. Also
    /// returns no hints for a [joined](Filter::and) filter, because the author of one part may not be the reader of the hint. An
    /// import [notes](crate::ImportReport::notes) all such members, with exact counts.
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
    ///     "1 of 1 cases has the member `status`, which is not a field and is not searched; did you mean `caseReview.status`?"
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
        let of_what = if is_sample { " examined cases" } else { " cases" };
        let mut hints = Vec::new();
        for DocumentNote { kind, path: member, count, similar_fields, .. } in notes {
            let is_meant = |(field, _): &&(_, String)| {
                let name = self.catalog().field(*field).name();
                similar_fields.iter().any(|similar| similar == name)
            };
            let Some((_, path)) =
                named.iter().find(is_meant).filter(|_| kind == DocumentNoteKind::UnknownMember)
            else {
                continue;
            };
            let have = if count == 1 { "has" } else { "have" };
            let similar: Vec<String> = similar_fields.iter().map(|name| quote(name).to_string()).collect();
            let message = format!(
                "{count} of {cases}{of_what} {have} the member {}, which is not a field and is not searched; did you mean {}?",
                quote(&member),
                similar.join(" or ")
            );
            hints.push(Warning { kind: WarningKind::UnknownMember, path: path.clone(), message });
        }
        hints
    }

    /// Reads a sample of the documents. Returns the number of documents that were read, and the notes on them.
    fn notes_on_sample(&self) -> (u64, Vec<DocumentNote>) {
        let (numbers, attachment) = self.engine.sample(SAMPLE_CASES);
        let Some(documents) = attachment.as_deref().and_then(|own| own.downcast_ref::<Documents>()) else {
            return (0, Vec::new());
        };
        let limits = Limits::default().for_stored_documents();
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
