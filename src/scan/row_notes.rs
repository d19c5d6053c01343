//! The notes that an import would make on the rows of a scan.

use crate::catalog::{Catalog, FieldId};
use crate::engine::{DocumentNote, DocumentNoteKind};

/// The subject of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoteSubject {
    /// The values of a field. The type and the form of the field determine the kind of the note.
    Field(FieldId),
    /// An unknown member that looks like a field: its path.
    Member(Box<str>),
}

/// The notes on consecutive rows, one for each subject.
///
/// A scan reads only some columns, and counts the rows of each note. At the end, it reads the first row of each note completely, and
/// takes the text of the note from that row.
#[derive(Debug, Default)]
pub(crate) struct RowNotes(Vec<RowNote>);

#[derive(Debug)]
struct RowNote {
    subject: NoteSubject,
    /// The number of rows to which the note applies. At least 1.
    count: u64,
    /// The number of the first row to which the note applies. Rows are numbered from 0.
    first: u64,
}

impl RowNotes {
    /// Adds `count` rows to the note on a subject. `first` is the number of the first of these rows. If `count` is 0, adds nothing.
    pub(crate) fn add(&mut self, subject: NoteSubject, count: u64, first: u64) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|note| note.subject == subject) {
            Some(note) => {
                note.count = note.count.saturating_add(count);
                note.first = note.first.min(first);
            }
            None => self.0.push(RowNote { subject, count, first }),
        }
    }

    /// Adds the notes on later rows. `rows` is the number of all rows before them.
    pub(super) fn append(&mut self, later: Self, rows: u64) {
        for RowNote { subject, count, first } in later.0 {
            self.add(subject, count, first.saturating_add(rows));
        }
    }

    /// Returns the number of the first row of each note, in ascending order and without duplicates.
    pub(super) fn first_rows(&self) -> Vec<u64> {
        let mut rows: Vec<u64> = self.0.iter().map(|note| note.first).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Sets the count of each of `notes` to the count of the row note on the same subject. Returns `None` if `notes` and the row
    /// notes have different subjects, or if there are too many notes for a report.
    pub(super) fn complete(
        &self,
        mut notes: Vec<DocumentNote>,
        catalog: &Catalog,
    ) -> Option<Vec<DocumentNote>> {
        if notes.len() != self.0.len() || notes.len() > DocumentNote::MOST {
            return None;
        }
        for note in &mut notes {
            let is_member = note.kind == DocumentNoteKind::UnknownMember;
            let is_subject = |own: &&RowNote| match &own.subject {
                NoteSubject::Field(field) => !is_member && catalog.field(*field).name() == note.path,
                NoteSubject::Member(path) => is_member && **path == *note.path,
            };
            note.count = self.0.iter().find(is_subject)?.count;
        }
        Some(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;

    #[test]
    fn notes_count_the_rows_of_all_parts() {
        let catalog = Catalog::cases();
        let created = NoteSubject::Field(catalog.find("createdAt").unwrap());
        let status = NoteSubject::Member("status".into());
        let (mut first, mut second) = (RowNotes::default(), RowNotes::default());
        first.add(created.clone(), 3, 5);
        first.add(status.clone(), 0, 1);
        second.add(status, 2, 7);
        second.add(created, 4, 0);
        let mut notes = RowNotes::default();
        notes.append(first, 0);
        notes.append(second, 10);
        assert_eq!(notes.first_rows(), [5, 17]);

        let rows = br#"{"id":"a","createdAt":"2024-01-01 00:00:00"}
{"id":"b","status":"open"}"#;
        let report = Engine::new(catalog.clone()).upsert_many(rows).unwrap();
        let of = |notes: Option<Vec<DocumentNote>>| {
            notes.map(|notes| notes.into_iter().map(|note| (note.path, note.count)).collect::<Vec<_>>())
        };
        let expected = vec![("createdAt".to_owned(), 7), ("status".to_owned(), 2)];
        assert_eq!(of(notes.complete(report.notes.clone(), &catalog)), Some(expected));
        assert_eq!(of(notes.complete(report.notes[..1].to_vec(), &catalog)), None);
        assert_eq!(of(RowNotes::default().complete(report.notes, &catalog)), None);
    }
}
