//! The expected contents of a store, kept in plain lists.

use super::*;

/// The expected contents of a store: pairs of id and document in insertion order, records, and standing filters with their events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plain(
    pub(super) Vec<(String, String)>,
    pub(super) BTreeMap<String, String>,
    pub(super) Watched,
);

/// The expected standing filters and events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Watched {
    /// For each standing filter, by its key: the index of its text and field in [`FILTERS`].
    pub(super) filters: BTreeMap<String, usize>,
    /// Pairs of an id and an event.
    pub(super) events: Vec<(String, String)>,
    /// The maximum number of events that are kept. `None` if all events are kept.
    pub(super) kept: Option<usize>,
    /// The number of events that are forgotten.
    pub(super) forgotten: usize,
}

/// Filters, each with the field whose changes it reports.
pub(super) const FILTERS: &[(&str, Option<&str>)] = &[
    ("state = s1", None),
    ("amount > 500", Some("tags")),
    ("tags = t3", Some("state")),
    ("not state in (s2, s3)", Some("amount")),
    ("at >= 2026-01-05 or amount < 100", None),
];

/// Returns the standing filter with a key, which is its name if it has no owner.
pub(super) fn standing(key: &str, number: usize) -> StandingFilter {
    let catalog = catalog();
    let (text, field) = FILTERS[number];
    let field = field.map(|field| catalog.find(field).unwrap());
    StandingFilter::of_key(key, &Filter::compile_text(&catalog, text).unwrap()).with_fields(field)
}

/// Returns the JSON text of the value of a field in a document that `case` created.
pub(super) fn member<'d>(document: &'d str, field: &str) -> Option<&'d str> {
    let (_, rest) = document.split_once(&format!("\"{field}\":"))?;
    rest.split_inclusive(if rest.starts_with('[') { ']' } else { ',' }).next()
}

impl Watched {
    /// Adds an event, and forgets those that are not kept any more.
    pub(super) fn tell(&mut self, id: &str, told: String) {
        self.events.push((id.to_owned(), told));
        if let Some(kept) = self.kept {
            self.forgotten = self.forgotten.max(self.events.len().saturating_sub(kept));
        }
    }
}

impl Plain {
    /// Returns the expected contents of a new store that is opened with the options of this seed.
    pub(super) fn of(seed: u64) -> Self {
        Self(Vec::new(), BTreeMap::new(), Watched { kept: kept_events(seed), ..Watched::default() })
    }

    pub(super) fn upsert(&mut self, id: &str, document: &str) {
        self.write(&[(id.to_owned(), document.to_owned())]);
    }

    /// Stores several cases in one write.
    pub(super) fn write(&mut self, cases: &[(String, String)]) {
        let before: BTreeMap<String, String> = self.0.iter().cloned().collect();
        for (id, document) in cases {
            match self.0.iter_mut().find(|(other, _)| other == id) {
                Some((_, own)) => document.clone_into(own),
                None => self.0.push((id.clone(), document.clone())),
            }
        }
        for (at, (id, document)) in cases.iter().enumerate() {
            if !cases[at + 1..].iter().any(|(later, _)| later == id) {
                self.watch(id, before.get(id).map(String::as_str), Some(document));
            }
        }
    }

    pub(super) fn delete(&mut self, id: &str) {
        let before = self.0.iter().find(|(other, _)| other == id).map(|(_, document)| document.clone());
        self.0.retain(|(other, _)| other != id);
        self.watch(id, before.as_deref(), None);
    }

    /// Adds the events of a case. `before` and `after` are its documents before and after a write.
    fn watch(&mut self, id: &str, before: Option<&str>, after: Option<&str>) {
        for (key, number) in self.2.filters.clone() {
            let filter = standing(&key, number);
            let name = filter.name();
            let selects = |text: Option<&str>| {
                text.is_some_and(|text| reference::matches(filter.filter(), text).unwrap())
            };
            let told = match (selects(before), selects(after)) {
                (false, true) => format!("{name} entered"),
                (true, false) => format!("{name} left"),
                (false, false) => continue,
                (true, true) => match FILTERS[number].1 {
                    Some(field) if is_changed(field, before, after) => format!("{name} changed {field}"),
                    _ => continue,
                },
            };
            self.2.tell(id, told);
        }
    }

    /// Returns the events that are not forgotten, in groups of one case each. The events of a group are sorted.
    pub(super) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let kept = self.2.events.iter().skip(self.2.forgotten);
        by_case(kept.map(|(id, told)| (id.as_str(), told.clone())))
    }

    pub(super) fn documents(&self) -> Vec<String> {
        let records = self.1.iter().map(|(key, text)| format!("{key}: {text}"));
        let filters = self.2.filters.iter().map(|(key, number)| standing(key, *number));
        let standing = lines(filters, self.groups(), self.2.kept.is_none());
        self.0.iter().map(|(_, document)| document.clone()).chain(records).chain(standing).collect()
    }
}

pub(super) fn is_changed(field: &str, before: Option<&str>, after: Option<&str>) -> bool {
    let set = |document: Option<&str>| {
        let value = document.and_then(|document| member(document, field)).unwrap_or_default();
        let parts = value.trim_matches(['[', ']', ',', '}']).split(',').map(str::to_owned);
        parts.filter(|part| !part.is_empty()).collect::<std::collections::BTreeSet<String>>()
    };
    set(before) != set(after)
}

pub(super) fn case(dice: &mut Dice) -> (String, String) {
    let id = format!("c{}", dice.below(40));
    let filler = "x".repeat([0, 20, 900, 5000][dice.below(4) as usize]);
    let document = format!(
        "{{\"id\":\"{id}\",\"state\":\"s{}\",\"amount\":{},\"tags\":[\"t{}\",\"{}\"],\"at\":\"2026-01-0{} 00:00:00\",\"x\":\"{filler}\"}}",
        dice.below(5),
        dice.below(1000),
        dice.below(9),
        dice.below(3),
        dice.below(9) + 1,
    );
    (id, document)
}
