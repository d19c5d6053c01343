//! Notes on possible mistakes in imported documents: values and members that are valid but unusual.

use std::fmt;

use crate::batch::{Remark, Row};
use crate::catalog::Catalog;
use crate::error::{Found, escaped, quote};

/// The kind of a [`DocumentNote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DocumentNoteKind {
    /// A timestamp without an offset from UTC. It was read as UTC.
    #[cfg_attr(feature = "serde", serde(rename = "no_zone"))]
    MissingTimeZone,
    /// A number that a double cannot represent exactly. It was rounded to the nearest double.
    RoundedNumber,
    /// Unix milliseconds that look like a year, a date or seconds.
    #[cfg_attr(feature = "serde", serde(rename = "mistaken_millis"))]
    ImplausibleMillis,
    /// An unknown member whose name is similar to the name of a field. Searches ignore the member.
    UnknownMember,
}

/// A note on a possible mistake in the documents of an import. A note is not an error.
///
/// ```
/// use casefilter::{Catalog, Engine, DocumentNoteKind};
/// let report = Engine::new(Catalog::cases()).upsert_many(br#"{"id":"a","status":"open"}"#)?;
/// let note = &report.notes[0];
/// assert_eq!((note.kind, note.path.as_str(), note.count), (DocumentNoteKind::UnknownMember, "status", 1));
/// assert_eq!(note.similar_fields, ["caseReview.status"]);
/// # Ok::<(), casefilter::ImportError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct DocumentNote {
    /// The kind of the mistake.
    pub kind: DocumentNoteKind,
    /// The name of the field. For an unknown member: the keys of its path, joined by dots.
    pub path: String,
    /// The number of documents that have the possible mistake.
    pub count: u64,
    /// The [name](crate::engine::Import::begin_source) of the source that contains the first such document. Empty if the source has
    /// no name.
    pub source: String,
    /// The line in the source at which the first such document starts, or its row number, counted from 1.
    pub line: u64,
    /// The value in the first such document. `None` for an unknown member.
    #[cfg_attr(feature = "serde", serde(with = "displayed_or_empty"))]
    pub found: Option<Found>,
    /// For an unknown member: the names of one to three fields with similar names. Empty for a value.
    #[cfg_attr(feature = "serde", serde(rename = "meant"))]
    pub similar_fields: Vec<String>,
}

impl DocumentNote {
    /// The maximum number of notes of a report. Further notes are dropped. Only a catalogue with many fields can cause more notes.
    pub(crate) const MOST: usize = 256;

    /// Returns a sentence about the value or member.
    #[must_use]
    pub fn message(&self) -> String {
        let documents = if self.count == 1 { "document has" } else { "documents have" };
        match self.kind {
            DocumentNoteKind::MissingTimeZone => {
                format!("{} {documents} a timestamp without a time zone, which counts as UTC", self.count)
            }
            DocumentNoteKind::RoundedNumber => {
                format!("{} {documents} a number that a double cannot hold, which is rounded", self.count)
            }
            DocumentNoteKind::ImplausibleMillis => {
                format!(
                    "{} {documents} Unix milliseconds that look like a year, a date or seconds",
                    self.count
                )
            }
            DocumentNoteKind::UnknownMember => {
                let similar = self.similar_fields.iter().map(|name| quote(name).to_string());
                format!(
                    "{} {documents} this member, which is not a field and is not searched; did you mean {}?",
                    self.count,
                    similar.collect::<Vec<_>>().join(" or ")
                )
            }
        }
    }

    /// Adds the remarks on one document to the notes.
    #[inline(never)]
    pub(crate) fn add_all(notes: &mut Vec<Self>, row: &Row<'_>, source: &str, line: u64, catalog: &Catalog) {
        // A remark is a possible mistake in one document. A note counts equal remarks on several documents. Documents of one source
        // are similar, so their remarks usually come in the order of the notes.
        let mut likely = 0;
        for remark in row.remarks() {
            let (kind, path) = match remark {
                Remark::NoZone(field, _) => (DocumentNoteKind::MissingTimeZone, catalog.field(*field).name()),
                Remark::Rounded(field, _) => (DocumentNoteKind::RoundedNumber, catalog.field(*field).name()),
                Remark::Mistaken(field, _) => {
                    (DocumentNoteKind::ImplausibleMillis, catalog.field(*field).name())
                }
                Remark::Stray(stray) => {
                    // If the document has a value of the similar field, the other member is not a mistake. Some sources write a
                    // second member for other programs.
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
            } else if notes.len() < Self::MOST {
                let (found, similar_fields) = match remark {
                    Remark::NoZone(_, text) | Remark::Rounded(_, text) | Remark::Mistaken(_, text) => {
                        (Some(Found::text(&**text)), Vec::new())
                    }
                    Remark::Stray(stray) => {
                        let names = stray.fields.iter().map(|field| catalog.field(*field).name().to_owned());
                        (None, names.collect())
                    }
                };
                let (path, source) = (path.to_owned(), source.to_owned());
                notes.push(Self { kind, path, count: 1, source, line, found, similar_fields });
            }
        }
    }

    /// Adds the notes on later documents to `notes`.
    pub(crate) fn append(notes: &mut Vec<Self>, later: Vec<Self>) {
        for note in later {
            let known = notes.iter_mut().find(|own| own.kind == note.kind && own.path == note.path);
            if let Some(own) = known {
                own.count += note.count;
            } else if notes.len() < Self::MOST {
                notes.push(note);
            }
        }
    }
}

impl fmt::Display for DocumentNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escaped(&self.path), self.message())?;
        let source = if self.source.is_empty() { "line " } else { &self.source };
        let colon = if self.source.is_empty() { "" } else { ":" };
        match (&self.found, self.count) {
            (None, 1) => write!(f, " (in {source}{colon}{})", self.line),
            (None, _) => write!(f, " (first in {source}{colon}{})", self.line),
            (Some(found), 1) => write!(f, " ({found} in {source}{colon}{})", self.line),
            (Some(found), _) => write!(f, " (such as {found} in {source}{colon}{})", self.line),
        }
    }
}

/// Serialises [`DocumentNote::found`] in its displayed form, and `None` as an empty string.
#[cfg(feature = "serde")]
mod displayed_or_empty {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::error::Found;

    pub(super) fn serialize<S: Serializer>(found: &Option<Found>, serializer: S) -> Result<S::Ok, S::Error> {
        match found {
            Some(found) => serializer.collect_str(found),
            None => serializer.serialize_str(""),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Found>, D::Error> {
        let shown = String::deserialize(deserializer)?;
        Ok((!shown.is_empty()).then(|| Found::from_displayed(shown)))
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
            "createdAt: 2 documents have a timestamp without a time zone, which counts as UTC (such as `2024-01-01 00:00:00` in \
             a.ndjson:1)",
            "status: 2 documents have this member, which is not a field and is not searched; did you mean `caseReview.status`? \
             (first in a.ndjson:1)",
            "createdByRule.revision: 1 document has a number that a double cannot hold, which is rounded (`9007199254740993` in \
             a.ndjson:2)",
            "applicantInfo.dob: 1 document has Unix milliseconds that look like a year, a date or seconds (`1980` in a.ndjson:3)",
            "updatedAt: 1 document has a timestamp without a time zone, which counts as UTC (`2024-01-02 00:00:00` in a.ndjson:4)",
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
        // The two parsers note members at different times: in document order, or after all values.
        let sorted = |text: &str| {
            let mut notes = notes(ImportMode::Strict, text);
            notes.sort();
            notes
        };
        let notes_of_plain = sorted(&plain);
        assert_eq!(notes_of_plain, sorted(&escaped));
        assert_eq!(notes_of_plain.len(), 4, "{notes_of_plain:#?}");
        assert!(
            notes_of_plain.iter().any(|note| note.starts_with("Status: 50 documents")),
            "{notes_of_plain:?}"
        );
        assert!(notes_of_plain.iter().any(|note| note.starts_with("applicantInfo.dob: 49 documents")));
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
        assert!(
            notes(ImportMode::Strict, &format!("{{\"id\":\"a\"{members}}}")).len()
                <= super::DocumentNote::MOST
        );
    }
}
