//! Notes of an import: values and members that are valid, but possibly mistakes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::batch::{Remark, Row};
use crate::catalog::Catalog;
use crate::error::quote;

/// The kind of a [`DocumentNote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentNoteKind {
    /// A timestamp without an offset from UTC, which counts as UTC.
    NoZone,
    /// A number that is not a double. It was rounded to the nearest double.
    RoundedNumber,
    /// Unix milliseconds that look like a year, a date or seconds.
    MistakenMillis,
    /// An unknown member whose name is similar to the name of a field. It is not searched.
    UnknownMember,
}

/// A possible mistake in the cases of an import. It is not an error.
///
/// ```
/// use casefilter::{Catalog, Engine, DocumentNoteKind};
/// let report = Engine::new(Catalog::cases()).upsert_many(br#"{"id":"a","status":"open"}"#)?;
/// let note = &report.notes[0];
/// assert_eq!((note.kind, note.path.as_str(), note.count), (DocumentNoteKind::UnknownMember, "status", 1));
/// assert_eq!(note.meant, ["caseReview.status"]);
/// # Ok::<(), casefilter::ImportError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DocumentNote {
    /// The kind.
    pub kind: DocumentNoteKind,
    /// The name of the field, or the keys of the member joined by dots.
    pub path: String,
    /// The number of documents that have the possible mistake.
    pub count: u64,
    /// The [name](crate::engine::Import::begin_source) of the source of the first such document. Empty if it has none.
    pub source: String,
    /// The line in the source at which the first such document starts, or its row number, counted from 1.
    pub line: u64,
    /// The value in the first such document, clipped, with control characters escaped. Empty for a member.
    pub found: String,
    /// The names of one to three fields with similar names. Empty for a value.
    pub meant: Vec<String>,
}

/// The maximum number of notes of a report. A catalogue with many fields may cause more.
const MOST_NOTES: usize = 256;

impl DocumentNote {
    /// Returns a sentence about the value or member.
    #[must_use]
    pub fn message(&self) -> String {
        let cases = if self.count == 1 { "case has" } else { "cases have" };
        match self.kind {
            DocumentNoteKind::NoZone => {
                format!("{} {cases} a timestamp without a time zone, which counts as UTC", self.count)
            }
            DocumentNoteKind::RoundedNumber => {
                format!("{} {cases} a number that a double cannot hold, which is rounded", self.count)
            }
            DocumentNoteKind::MistakenMillis => {
                format!("{} {cases} Unix milliseconds that look like a year, a date or seconds", self.count)
            }
            DocumentNoteKind::UnknownMember => {
                let meant: Vec<String> = self.meant.iter().map(|name| quote(name)).collect();
                format!(
                    "{} {cases} this member, which is not a field and is not searched; did you mean {}?",
                    self.count,
                    meant.join(" or ")
                )
            }
        }
    }

    /// Counts the remarks on one case.
    #[inline(never)]
    pub(crate) fn add_all(notes: &mut Vec<Self>, row: &Row<'_>, source: &str, line: u64, catalog: &Catalog) {
        // Cases of one source are alike, so the next remark usually belongs to the next note.
        let mut likely = 0;
        for remark in row.remarks() {
            let (kind, path) = match remark {
                Remark::NoZone(field, _) => (DocumentNoteKind::NoZone, catalog.field(*field).name()),
                Remark::Rounded(field, _) => (DocumentNoteKind::RoundedNumber, catalog.field(*field).name()),
                Remark::Mistaken(field, _) => {
                    (DocumentNoteKind::MistakenMillis, catalog.field(*field).name())
                }
                Remark::Stray(stray) => {
                    // Some sources have both members, one of which is for other programs.
                    if stray.fields.iter().any(|field| row.has_own(*field)) {
                        continue;
                    }
                    (DocumentNoteKind::UnknownMember, &*stray.path)
                }
            };
            let is_it = |note: &Self| note.kind == kind && note.path == path;
            let known = match notes.get(likely) {
                Some(note) if is_it(note) => Some(likely),
                _ => notes.iter().position(is_it),
            };
            if let Some(at) = known {
                likely = at + 1;
                if let Some(note) = notes.get_mut(at) {
                    note.count += 1;
                }
            } else if notes.len() < MOST_NOTES {
                let (found, meant) = match remark {
                    Remark::NoZone(_, text) | Remark::Rounded(_, text) | Remark::Mistaken(_, text) => {
                        (quote(text), Vec::new())
                    }
                    Remark::Stray(stray) => {
                        let names = stray.fields.iter().map(|field| catalog.field(*field).name().to_owned());
                        (String::new(), names.collect())
                    }
                };
                let (path, source) = (path.to_owned(), source.to_owned());
                notes.push(Self { kind, path, count: 1, source, line, found, meant });
            }
        }
    }

    /// Adds the notes on later documents.
    pub(crate) fn append(notes: &mut Vec<Self>, later: Vec<Self>) {
        for note in later {
            let known = notes.iter_mut().find(|own| own.kind == note.kind && own.path == note.path);
            if let Some(own) = known {
                own.count += note.count;
            } else if notes.len() < MOST_NOTES {
                notes.push(note);
            }
        }
    }
}

impl fmt::Display for DocumentNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", quote(&self.path).trim_matches('`'), self.message())?;
        let source = if self.source.is_empty() { "line " } else { &self.source };
        let colon = if self.source.is_empty() { "" } else { ":" };
        match (self.found.is_empty(), self.count) {
            (true, 1) => write!(f, " (in {source}{colon}{})", self.line),
            (true, _) => write!(f, " (first in {source}{colon}{})", self.line),
            (false, 1) => write!(f, " ({} in {source}{colon}{})", self.found, self.line),
            (false, _) => write!(f, " (such as {} in {source}{colon}{})", self.found, self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::engine::{Engine, ImportMode};

    fn notes(mode: ImportMode, text: &str) -> Vec<String> {
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(mode);
        import.begin_source("a.ndjson").unwrap();
        import.push(text.as_bytes()).unwrap();
        import.commit().unwrap().notes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn possible_mistakes_are_counted_with_their_first_line() {
        let text = r#"{"id":"a","createdAt":"2024-01-01 00:00:00","status":"open"}
{"id":"b","createdAt":"2024-01-01 00:00:00+0000","createdByRule":{"revision":9007199254740993}}
{"id":"c","createdAt":"2024-01-02 00:00:00","applicantInfo":{"dob":"1980"},"status":"open"}
{"id":"d","status":"open","caseReview":{"status":"open"},"updatedAt":"2024-01-02 00:00:00",
"#
        .replace(",\n", "}\n");
        let expected = [
            "createdAt: 2 cases have a timestamp without a time zone, which counts as UTC (such as `2024-01-01 00:00:00` in \
             a.ndjson:1)",
            "status: 2 cases have this member, which is not a field and is not searched; did you mean `caseReview.status`? \
             (first in a.ndjson:1)",
            "createdByRule.revision: 1 case has a number that a double cannot hold, which is rounded (`9007199254740993` in \
             a.ndjson:2)",
            "applicantInfo.dob: 1 case has Unix milliseconds that look like a year, a date or seconds (`1980` in a.ndjson:3)",
            "updatedAt: 1 case has a timestamp without a time zone, which counts as UTC (`2024-01-02 00:00:00` in a.ndjson:4)",
        ];
        for mode in [ImportMode::Strict, ImportMode::Lenient] {
            assert_eq!(notes(mode, &text), expected);
        }
    }

    #[test]
    fn the_fast_path_and_the_parser_make_the_same_notes() {
        let plain: String = (0..50)
            .map(|n| {
                format!(
                    "{{\"id\":\"{n}\",\"Status\":\"x\",\"applicantInfo\":{{\"dob\":{n},\"Country\":null}},\
                     \"updatedAt\":\"2024-01-01 00:00:00\",\"totalAmountInDefaultCurrency\":0.10000000000000001}}\n"
                )
            })
            .collect();
        // The fast path does not read an escape in a timestamp.
        let escaped = plain.replace("2024-", "202\\u0034-");
        // Members are noted in document order, or after the values.
        let sorted = |text: &str| {
            let mut notes = notes(ImportMode::Strict, text);
            notes.sort();
            notes
        };
        let notes_of_plain = sorted(&plain);
        assert_eq!(notes_of_plain, sorted(&escaped));
        assert_eq!(notes_of_plain.len(), 4, "{notes_of_plain:#?}");
        assert!(notes_of_plain.iter().any(|note| note.starts_with("Status: 50 cases")), "{notes_of_plain:?}");
        assert!(notes_of_plain.iter().any(|note| note.starts_with("applicantInfo.dob: 49 cases")));
    }

    #[test]
    fn notes_of_a_parallel_import_are_those_of_the_whole() {
        let engine = Engine::builder(Catalog::cases()).batch_rows(100).build();
        let text: String = (0..5000)
            .map(|n| {
                format!(
                    "{{\"id\":\"{n}\",\"status\":\"open\"{}}}\n",
                    if n % 5 == 4 { ",\"Name\":1" } else { "" }
                )
            })
            .collect();
        for is_whole in [true, false] {
            let report = if is_whole {
                engine.upsert_many(text.as_bytes()).unwrap()
            } else {
                let mut import = engine.import(ImportMode::Strict);
                text.as_bytes().chunks(1000).for_each(|chunk| import.push(chunk).unwrap());
                import.commit().unwrap()
            };
            let notes: Vec<(&str, u64, u64)> =
                report.notes.iter().map(|note| (note.path.as_str(), note.count, note.line)).collect();
            assert_eq!(notes, [("status", 5000, 1), ("Name", 1000, 5)]);
        }
    }

    #[test]
    fn correct_cases_get_no_note() {
        let text = r#"{"id":"a","createdAt":"2024-01-01 00:00:00+0000","caseReview":{"status":"open"},"email":"x",
            "applicantInfo":{"dob":"320630400000"},"createdByRule":{"revision":9007199254740992}}"#;
        assert_eq!(notes(ImportMode::Strict, &text.replace('\n', " ")), [""; 0]);
    }

    #[test]
    fn hostile_names_take_bounded_memory() {
        let members: String = (0..5000).map(|n| format!(",\"status{n}\":1,\"statu{n}\":2")).collect();
        assert!(notes(ImportMode::Strict, &format!("{{\"id\":\"a\"{members}}}")).len() <= super::MOST_NOTES);
    }
}
