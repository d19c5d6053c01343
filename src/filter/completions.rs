//! Completes a filter text: finds the fields, operators, values and connectives that can come next at the cursor.

use std::ops::Range;

use super::builder::holds;
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::criteria::text::{Expected, Place, place};
use crate::operator::{Complex, Connective, Grammar, Language, Operator};
use crate::predicate::json_string;
use crate::value::{ValueClass, is_bare_word};

/// The words that can come next at a cursor in a filter text, in the order in which they should be shown.
///
/// ```
/// use casefilter::{Catalog, CompletionKind, Completions};
/// let text = "status = open and prio";
/// let completions = Completions::new(&Catalog::cases(), text, text.len());
/// assert_eq!(completions.range, 18..22);
/// let first = &completions.candidates[0];
/// assert_eq!((first.text.as_str(), first.kind, first.detail.as_str()), ("priority", CompletionKind::Field, "string"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completions {
    /// The byte range of the text that a candidate replaces.
    pub range: Range<usize>,
    /// The candidates that begin with the part of the word before the cursor, in any letter case. The name of a field or array is
    /// also a candidate if the text after one of its dots begins with this part of the word.
    pub candidates: Vec<Completion>,
    /// The field whose values can come next at the cursor, and the part of the value before the cursor.
    pub(crate) wanted: Option<(FieldId, String)>,
}

/// A candidate for the word at a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The text to insert, quoted if the syntax needs it.
    pub text: String,
    /// The kind of the candidate.
    pub kind: CompletionKind,
    /// A short description, such as the type of a field. May be empty.
    pub detail: String,
}

/// The kind of a [`Completion`]: a field, an operator, a value, a connective or punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompletionKind {
    /// The name or an alias of a field.
    Field,
    /// An operator that fits the field.
    Operator,
    /// A known value of the field, or a value that a document has. Also one of the words `true`, `false`, `today` and `now`.
    Value,
    /// `and`, `or` or `not`.
    Connective,
    /// A parenthesis or a comma.
    Punctuation,
}

impl Completions {
    /// Returns the completions at the byte offset `cursor` of a text: names of visible fields, operators, known values and
    /// connectives. [`Engine::completions`](crate::Engine::completions) also returns values of documents.
    ///
    /// Returns no candidates if the text before the cursor has an error. A cursor inside a character moves to the start of that
    /// character. A cursor after the text moves to the end of the text.
    ///
    /// ```
    /// use casefilter::{Catalog, Completions};
    /// let texts = |text: &str| {
    ///     let completions = Completions::new(&Catalog::cases(), text, text.len());
    ///     completions.candidates.into_iter().map(|candidate| candidate.text).collect::<Vec<_>>()
    /// };
    /// assert_eq!(texts("priority in (low, "), ["low", "medium", "high"]);
    /// assert_eq!(texts("name is "), ["is present", "is absent"]);
    /// assert_eq!(texts("(name = x "), ["and", "or", ")"]);
    /// ```
    ///
    /// # Complexity
    /// Linear in the length of the text before the cursor, and in the size of the catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog, text: &str, cursor: usize) -> Self {
        let Place { range, written, expected } =
            place(text, cursor, &|name| holds(catalog, Grammar::Extended, name));
        let mut completions = Self { range, candidates: Vec::new(), wanted: None };
        match expected {
            Expected::Criterion { is_first, array } => {
                completions.fields(catalog, array.as_deref(), &written);
                completions.add(&written, CompletionKind::Connective, Complex::Not.word());
                completions.add(&written, CompletionKind::Punctuation, "(");
                if is_first {
                    completions.add(&written, CompletionKind::Value, "true");
                    completions.add(&written, CompletionKind::Value, "false");
                }
            }
            Expected::Elements => completions.add(&written, CompletionKind::Punctuation, "("),
            Expected::Operator { field } if catalog.find_array(&field).is_some() => {
                completions.add(&written, CompletionKind::Operator, Complex::ELEM.word());
            }
            Expected::Operator { field } => {
                let field = catalog.find(&field).map(|id| catalog.field(id));
                completions.operators(field, &written);
            }
            Expected::Value { field, may_open, must_open } => {
                if may_open {
                    completions.add(&written, CompletionKind::Punctuation, "(");
                }
                // For `ids`, the name of the field is empty. The values of `ids` are values of the id.
                let id = Some(FieldId::ID).filter(|id| field.is_empty() && catalog.is_visible(*id));
                if let Some(id) = id.or_else(|| catalog.find(&field)).filter(|_| !must_open) {
                    completions.values(catalog.field(id), &written);
                    completions.wanted = Some((id, written));
                }
            }
            Expected::ListEnd => {
                completions.add(&written, CompletionKind::Punctuation, ",");
                completions.add(&written, CompletionKind::Punctuation, ")");
            }
            Expected::Connective { is_open } => {
                completions.add(&written, CompletionKind::Connective, Connective::And.word());
                completions.add(&written, CompletionKind::Connective, Connective::Or.word());
                if is_open {
                    completions.add(&written, CompletionKind::Punctuation, ")");
                }
            }
            Expected::Nothing => {}
        }
        completions
    }

    /// Adds a candidate if it begins with the written part.
    fn add(&mut self, written: &str, kind: CompletionKind, text: &str) {
        if begins_with(text, written) {
            self.candidates.push(Completion { text: text.to_owned(), kind, detail: String::new() });
        }
    }

    /// Adds a value, quoted if the syntax needs it, unless it is a candidate already.
    pub(crate) fn add_value(&mut self, value: &str) {
        let text = quoted(value);
        if !self.candidates.iter().any(|other| other.text == text) {
            self.candidates.push(Completion { text, kind: CompletionKind::Value, detail: String::new() });
        }
    }

    /// Adds the names of the fields and arrays that a criterion can begin with. Within an array, adds only the names below `array`,
    /// without the name of the array.
    fn fields(&mut self, catalog: &Catalog, array: Option<&str>, written: &str) {
        let within = |name: &str| match array {
            None => Some(name.to_owned()),
            Some(array) => name.strip_prefix(array)?.strip_prefix('.').map(str::to_owned),
        };
        let around = array.and_then(|array| catalog.find_array(array));
        let mut names: Vec<(bool, String, String)> = Vec::new();
        for (id, field) in catalog.visible_fields() {
            if array.is_some() && !around.is_some_and(|array| catalog.is_below(id, array)) {
                continue;
            }
            let kind = match (field.field_type().name(), field.is_many()) {
                (kind, true) => format!("{kind}, multi-valued"),
                (kind, false) => kind.to_owned(),
            };
            let name = within(field.name()).unwrap_or_else(|| field.name().to_owned());
            names.push((true, name, kind.clone()));
            for alias in field.aliases() {
                names.push((true, alias.to_owned(), format!("{kind}, the same as {}", field.name())));
            }
        }
        for name in catalog.array_names().filter_map(within) {
            names.push((true, name, "array of objects".to_owned()));
        }
        // A name also matches if a later part of it, after a dot, begins with the written part. Such names come last.
        for (begins, name, _) in &mut names {
            *begins = begins_with(name, written);
        }
        names.retain(|(begins, name, _)| {
            *begins || name.split('.').any(|part| !written.is_empty() && begins_with(part, written))
        });
        names.sort_by_key(|(begins, ..)| !begins);
        self.candidates.extend(names.into_iter().map(|(_, name, detail)| Completion {
            text: quoted(&name),
            kind: CompletionKind::Field,
            detail,
        }));
    }

    fn operators(&mut self, field: Option<&Field>, written: &str) {
        let class =
            |field: &Field| (ValueClass::of_field(field.field_type()), field.is_ranked(Grammar::Extended));
        for listed in Operator::listed(Language::Text, field.map(class)) {
            self.add(written, CompletionKind::Operator, listed.trim_matches('`'));
        }
        if field.is_some_and(|field| field.field_type() == FieldType::Timestamp) {
            self.add(written, CompletionKind::Operator, "on");
        }
    }

    fn values(&mut self, field: &Field, written: &str) {
        let words: &[&str] = match field.field_type() {
            FieldType::Boolean => &["true", "false"],
            FieldType::Timestamp => &["today", "now"],
            FieldType::String | FieldType::Number | FieldType::Integer | FieldType::Decimal { .. } => &[],
        };
        for word in words {
            self.add(written, CompletionKind::Value, word);
        }
        for known in field.known_values().filter(|known| begins_with(known, written)) {
            self.add_value(known);
        }
    }
}

/// Returns true if `text` begins with `start`. Ignores the case of ASCII letters.
pub(crate) fn begins_with(text: &str, start: &str) -> bool {
    let own = text.as_bytes().get(..start.len());
    own.is_some_and(|own| own.eq_ignore_ascii_case(start.as_bytes()))
}

/// Quotes a name or a value if the syntax needs it.
fn quoted(word: &str) -> String {
    if is_bare_word(word) {
        return word.to_owned();
    }
    let mut quoted = String::new();
    json_string(word, &mut quoted);
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the completions for a text whose cursor is marked by `|`.
    fn at(marked: &str) -> Completions {
        let cursor = marked.find('|').unwrap();
        Completions::new(&Catalog::cases(), &marked.replacen('|', "", 1), cursor)
    }

    #[track_caller]
    fn gives(marked: &str, replaced: &str, expected: &[&str]) {
        let completions = at(marked);
        let texts: Vec<&str> =
            completions.candidates.iter().map(|candidate| candidate.text.as_str()).collect();
        assert_eq!(texts, expected, "{marked}");
        assert_eq!(&marked.replacen('|', "", 1)[completions.range.clone()], replaced, "{marked}");
    }

    #[test]
    fn elements_of_arrays_have_their_candidates() {
        const LIST: &str = "caseReview.checklistState.checklist";
        gives("checklist|", "checklist", &[&format!("{LIST}.name"), &format!("{LIST}.checked"), LIST]);
        gives(&format!("{LIST} |"), "", &["has"]);
        gives(&format!("{LIST} h|"), "h", &["has"]);
        gives(&format!("{LIST} has |"), "", &["("]);
        gives(&format!("{LIST} has (|"), "", &["name", "checked", "not", "("]);
        gives(&format!("{LIST} has (not (ch|"), "ch", &["checked"]);
        gives(&format!("{LIST} has (checked = |"), "", &["true", "false"]);
        gives(&format!("{LIST} has ({LIST}.checked = |"), "", &["true", "false"]);
        gives(&format!("{LIST} has (checked = true |"), "", &["and", "or", ")"]);
        gives(&format!("{LIST} has (checked = true) and prio|"), "prio", &["priority"]);
        gives("amlCases has (|", "", &["amlCaseId", "not", "("]);
        gives("tags has |", "", &[]);
    }

    #[test]
    fn each_place_has_its_candidates() {
        gives("prio|", "prio", &["priority"]);
        gives("name = x and prio|rity = low", "priority", &["priority"]);
        gives("assig|", "assig", &["caseReview.assignee"]);
        gives("no|", "no", &["not"]);
        gives(
            "name |",
            "",
            &["=", "<>", "in", "all", "is present", "is absent", "starts with", "includes", "matches"],
        );
        gives("createdAt o|", "o", &["on"]);
        gives("createdAt <|", "<", &["<>", "<", "<="]);
        gives("name s|", "s", &["starts with"]);
        gives("name is |", "is ", &["is present", "is absent"]);
        gives("name is ab|", "is ab", &["is absent"]);
        gives("name starts w|", "starts w", &["starts with"]);
        gives("priority = |", "", &["low", "medium", "high"]);
        gives("priority = \"h|", "\"h", &["high"]);
        gives("priority in |", "", &["("]);
        gives("priority in (|", "", &["low", "medium", "high"]);
        gives("priority in (low, m|", "m", &["medium"]);
        gives("priority in (low |", "", &[",", ")"]);
        gives("name includes |", "", &["("]);
        gives("createdAt >= |", "", &["today", "now"]);
        gives("createdAt >= now - 7d |", "", &["and", "or"]);
        gives("caseReview.checklistState.checklist.checked = T|", "T", &["true"]);
        gives("name = x |", "", &["and", "or"]);
        gives("name = x a|", "a", &["and"]);
        gives("name is absent |", "", &["and", "or"]);
        gives("not (name = x |", "", &["and", "or", ")"]);
        gives("(name = x) |", "", &["and", "or"]);
        gives("ids |", "", &["("]);
        gives("name ?? |", "", &[]);
        gives("name = 'x' y |", "", &[]);
    }

    #[test]
    fn the_start_of_a_text_has_all_fields() {
        let completions = at("|");
        let count = |kind| completions.candidates.iter().filter(|candidate| candidate.kind == kind).count();
        let catalog = Catalog::cases();
        assert_eq!(
            count(CompletionKind::Field),
            catalog.visible_fields().map(|(_, field)| 1 + field.aliases().count()).sum::<usize>()
                + catalog.array_names().count()
        );
        assert_eq!(count(CompletionKind::Value), 2);
        let status = completions.candidates.iter().find(|candidate| candidate.text == "status").unwrap();
        assert_eq!(status.detail, "string, the same as caseReview.status");
    }

    #[test]
    fn no_cursor_panics() {
        for text in
            ["näme = \"é\" and 'x", "\u{301}(((", "name = \"\\u12", "\u{feff}!not ids (", "a in (b,, c)) or"]
        {
            for cursor in 0..text.len() + 3 {
                let completions = Completions::new(&Catalog::cases(), text, cursor);
                assert!(text.get(completions.range).is_some(), "{text} {cursor}");
            }
        }
    }
}
