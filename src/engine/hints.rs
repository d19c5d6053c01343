//! Finds out why a filter has no results: its values are stored in another form, or its fields have no values.

#![expect(clippy::arithmetic_side_effects, reason = "counts of strings and rows that lie in memory")]

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::catalog::FieldId;
use crate::column::ColumnData;
use crate::engine::handle::Engine;
use crate::engine::snapshot::Slot;
use crate::error::{Error, quote};
use crate::filter::{Asked, Filter, SearchRequest, Warning, WarningKind};
use crate::stop::Pace;

/// The maximum number of values of one filter that are checked for hints. Further values get no hint.
const MOST_VALUES: usize = 20;

/// The difference between a stored string and a string of the filter. The first variants make the most useful hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Differs {
    InUnicode,
    InBlanks,
    InCase,
    /// The stored string contains the string of the filter.
    IsLonger,
}

impl Engine {
    /// Returns hints that explain why a filter may select no document. Checks the first 20 values of the filter.
    ///
    /// A hint names a value of the filter that no document has, and a similar value that documents have. The stored value differs
    /// by its Unicode normalisation form, by surrounding white space, or by upper and lower case. It can also be a longer string
    /// that contains the value. Other hints name fields of the filter that have no values.
    ///
    /// The hints depend on all documents of the engine. Do not show them to a client that may not see all documents. A host uses
    /// [`Filter::and`] to restrict a client to its own documents. So a filter that was joined or negated gets no hints.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, WarningKind};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert("{\"id\":\"a\",\"name\":\"jose\u{301} \"}".as_bytes())?;
    /// let hints = engine.hints(&Filter::compile_text(engine.catalog(), "name = José")?);
    /// assert_eq!(hints[0].kind, WarningKind::SimilarValue);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Complexity
    /// For each value of the filter, linear in the number of documents of the batches that contain the value. If no document has
    /// the value, also linear in the number of distinct strings of the field.
    #[must_use]
    pub fn hints(&self, filter: &Filter) -> Vec<Warning> {
        self.hints_at_pace(filter, &Pace::new(None))
    }

    /// Returns the [`hints`](Self::hints) for the filter of a request. The [token](SearchRequest::with_cancel) and the
    /// [deadline](SearchRequest::with_deadline) of the request can stop this method.
    ///
    /// ```
    /// use casefilter::{Catalog, Deadline, Engine, ErrorKind, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert(br#"{"id":"a","name":"Jose"}"#)?;
    /// let request = SearchRequest::new(Filter::compile_text(engine.catalog(), "name = jose")?);
    /// assert_eq!(engine.hints_for(&request)?.len(), 1);
    /// let late = request.with_deadline(Deadline::new(|| true));
    /// assert_eq!(engine.hints_for(&late).unwrap_err().kind, ErrorKind::DeadlineExceeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the token or the deadline stopped the search for hints.
    pub fn hints_for(&self, request: &SearchRequest) -> Result<Vec<Warning>, Error> {
        let Some(stop) = request.stop.check() else { return Ok(self.hints(&request.filter)) };
        let pace = Pace::new(Some(&stop));
        pace.is_stopped();
        let hints = self.hints_at_pace(&request.filter, &pace);
        stop.verdict()?;
        Ok(hints)
    }

    /// Returns the hints. If the search must stop, some hints may be missing or wrong.
    fn hints_at_pace(&self, filter: &Filter, pace: &Pace<'_>) -> Vec<Warning> {
        if !filter.catalog().is_within(&self.catalog) || self.is_empty() {
            return Vec::new();
        }
        let snapshot = self.current_snapshot();
        let slots: Vec<&Slot> = snapshot.view(&self.catalog, self.keep).slots().collect();
        let mut hints = Vec::new();
        let mut without: Vec<FieldId> = Vec::new();
        for Asked { field, path, value } in filter.asked().into_iter().take(MOST_VALUES) {
            if !has_values(&slots, field) {
                if !without.contains(&field) {
                    without.push(field);
                    let name = quote(self.catalog.field(field).name());
                    hints.push(Warning {
                        kind: WarningKind::NoValues,
                        path,
                        message: format!("no document has a value of {name}"),
                    });
                }
                continue;
            }
            if let Some((path, value)) = value
                && let Some(message) = self.stored_otherwise(&slots, field, &value, pace)
            {
                hints.push(Warning { kind: WarningKind::SimilarValue, path, message });
            }
        }
        hints
    }

    /// Returns a message that names the most similar stored string. Returns `None` if a document has the string itself, or if no
    /// stored string is similar.
    fn stored_otherwise(
        &self,
        slots: &[&Slot],
        field: FieldId,
        value: &str,
        pace: &Pace<'_>,
    ) -> Option<String> {
        if cases_with(slots, field, value, pace) > 0 {
            return None;
        }
        let wanted = Wanted::new(value);
        let mut best: Option<(Differs, &str)> = None;
        let mut longer = 0_usize;
        for slot in slots {
            let Some(ColumnData::Strings { dictionary, .. }) =
                slot.batch.column(field).map(|column| &column.data)
            else {
                continue;
            };
            for code in 0..dictionary.len() {
                let stored = dictionary.get(code);
                if pace.spend(work_of_comparing(stored)) {
                    return None;
                }
                let Some(differs) = wanted.compare(stored) else { continue };
                longer += usize::from(differs == Differs::IsLonger);
                if best.is_none_or(|(least, _)| differs < least) && cases_with(slots, field, stored, pace) > 0
                {
                    best = Some((differs, stored));
                }
            }
        }
        let (differs, stored) = best?;
        let name = quote(self.catalog.field(field).name());
        let none = format!("no document has {} in {name}", quote(value));
        let count = cases_with(slots, field, stored, pace);
        let documents =
            if count == 1 { "1 document has".to_owned() } else { format!("{count} documents have") };
        let stored = quote(&format!("\"{stored}\""));
        Some(match differs {
            Differs::InUnicode => {
                format!("{none}, but {documents} it in another form of Unicode, which is another string")
            }
            Differs::InBlanks => {
                format!("{none}, but {documents} {stored}, which differs in the spaces around it")
            }
            Differs::InCase => {
                format!("{none}, but {documents} {stored}, which differs in upper and lower case")
            }
            Differs::IsLonger => format!(
                "{none}: strings are compared whole, and the value is a part of {longer} longer {}, such as {stored}",
                if longer == 1 { "string" } else { "strings" }
            ),
        })
    }
}

/// A string operand of the filter, in all forms that are compared with stored strings.
struct Wanted<'v> {
    value: &'v str,
    composed: String,
    folded: String,
}

impl<'v> Wanted<'v> {
    /// The minimum length, in bytes, of a string that is searched for inside longer strings.
    const SHORTEST_PART: usize = 3;

    fn new(value: &'v str) -> Self {
        let composed: String = value.nfc().collect();
        let folded = folded(&composed);
        Self { value, composed, folded }
    }

    /// Returns the difference between a stored string and this string. Returns `None` if they are equal or unrelated.
    fn compare(&self, stored: &str) -> Option<Differs> {
        // A stored string that is less than a third as long as the folded string of the filter is not compared. The reason is that
        // folding rarely changes the length of a string by a factor of three.
        if stored == self.value || stored.len() * 3 < self.folded.len() || self.folded.is_empty() {
            return None;
        }
        let mut composed = std::borrow::Cow::Borrowed(stored);
        if !stored.is_ascii() && !is_nfc(stored) {
            composed = stored.nfc().collect::<String>().into();
        }
        if composed == self.composed {
            return Some(Differs::InUnicode);
        }
        if composed.trim() == self.composed.trim() {
            return Some(Differs::InBlanks);
        }
        let folded = folded(&composed);
        if folded == self.folded {
            return Some(Differs::InCase);
        }
        let is_part = self.folded.len() >= Self::SHORTEST_PART && folded.contains(&self.folded);
        is_part.then_some(Differs::IsLonger)
    }
}

/// Returns the estimated work to compare a stored string in all forms, in units of [`Pace::spend`]. It is about 100 ns, and 5 ns
/// for each byte.
fn work_of_comparing(stored: &str) -> usize {
    stored.len().saturating_mul(20).saturating_add(400)
}

/// Returns the string in lower case, without surrounding white space.
fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Returns true if a document may have a value of the field.
fn has_values(slots: &[&Slot], field: FieldId) -> bool {
    slots.iter().any(|slot| slot.batch.column(field).is_none_or(|column| column.values_len() > 0))
}

/// Returns the number of live documents that have the string.
fn cases_with(slots: &[&Slot], field: FieldId, text: &str, pace: &Pace<'_>) -> usize {
    let mut count = 0_usize;
    for slot in slots {
        if pace.is_stopped() {
            break;
        }
        let Some(column) = slot.batch.column(field) else { continue };
        let ColumnData::Strings { dictionary, codes, .. } = &column.data else { continue };
        let Some(code) = dictionary.find_all(&[text]).first().map(|code| *code as usize) else { continue };
        let has = |row: usize| slot.live.contains(row) && column.places(row).any(|at| codes.get(at) == code);
        count += (0..slot.batch.rows()).filter(|row| has(*row)).count();
    }
    count
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::engine::handle::Engine;
    use crate::filter::Filter;

    fn engine() -> Engine {
        let engine = Engine::new(Catalog::cases());
        let cases = [
            "{\"id\":\"C-1\",\"name\":\"Jose\u{301}\",\"caseReview\":{\"status\":\"open\"},\"tags\":[\"Vip \"]}",
            "{\"id\":\"C-2\",\"name\":\"Maria Garcia\",\"caseReview\":{\"status\":\"open\"}}",
            "{\"id\":\"C-3\",\"name\":\"Ana Garcia\"}",
            "{\"id\":\"C-4\",\"name\":\"gone\"}",
        ];
        engine.upsert_many(cases.join("\n").as_bytes()).unwrap();
        engine.delete("C-4");
        engine
    }

    #[track_caller]
    fn hints(text: &str, expected: &[&str]) {
        let engine = engine();
        let filter = Filter::compile_text(engine.catalog(), text).unwrap();
        let hints: Vec<String> = engine.hints(&filter).iter().map(ToString::to_string).collect();
        assert_eq!(hints, expected, "{text}");
    }

    #[test]
    fn values_stored_in_another_form_get_a_hint() {
        hints(
            "status = Open",
            &[
                "criteria[0].values[0]: no document has `Open` in `caseReview.status`, but 2 documents have `\"open\"`, which differs in upper and lower case",
            ],
        );
        hints(
            "name = Jos\u{e9}",
            &[
                "criteria[0].values[0]: no document has `Jos\u{e9}` in `name`, but 1 document has it in another form of Unicode, which is another \
             string",
            ],
        );
        hints(
            "priority = high and tags in (x, Vip)",
            &[
                "criteria[1].values[1]: no document has `Vip` in `tags`, but 1 document has `\"Vip \"`, which differs in the spaces around it",
            ],
        );
        hints(
            "name in (garcia)",
            &[
                "criteria[0].values[0]: no document has `garcia` in `name`: strings are compared whole, and the value is a part of 2 longer strings, \
             such as `\"Ana Garcia\"`",
            ],
        );
        hints(
            "id = c-1",
            &[
                "criteria[0].values[0]: no document has `c-1` in `id`, but 1 document has `\"C-1\"`, which differs in upper and lower case",
            ],
        );
        hints(
            "ids (c-1)",
            &[
                "ids[0]: no document has `c-1` in `id`, but 1 document has `\"C-1\"`, which differs in upper and lower case",
            ],
        );
    }

    #[test]
    fn fields_without_values_get_a_hint() {
        hints(
            "clientId = x and updatedAt > \"2024-01-01 00:00:00\" and clientId <> y",
            &[
                "criteria[0]: no document has a value of `clientId`",
                "criteria[1]: no document has a value of `updatedAt`",
            ],
        );
    }

    #[test]
    fn stored_and_deleted_values_get_no_hint() {
        hints("status = open", &[]);
        hints("name = GONE", &[]);
        hints("name <> garcia", &[]);
        hints("name = unheard", &[]);
        hints("true", &[]);
        assert_eq!(Engine::new(Catalog::cases()).hints(&Filter::all(&Catalog::cases())), []);
    }

    #[test]
    fn a_filter_made_by_and_gets_no_hint() {
        let engine = engine();
        let compile = |text: &str| Filter::compile_text(engine.catalog(), text).unwrap();
        assert_eq!(engine.hints(&compile("status = Open").and(&compile("clientId = own")).unwrap()), []);
    }
}
