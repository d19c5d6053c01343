//! The cases and standing filters of the benches of filter sets, made from fixed seeds.

use std::fmt::Write;

use casefilter::{Catalog, Field, FieldType};

#[path = "draws.rs"]
mod draws;

use draws::Draws;

pub(crate) fn catalog() -> Catalog {
    let text = |path: &str| Field::new(path, FieldType::String);
    let integer = |path: &str| Field::new(path, FieldType::Integer);
    let fields = ["clientId", "assignee", "status", "channel", "country", "tags[]"].map(text);
    Catalog::new(fields.into_iter().chain(["createdAt", "costCents"].map(integer))).unwrap()
}

/// The numbers of values of the attributes. They decide how many filters select a case.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) name: &'static str,
    clients: u64,
    assignees: u64,
    countries: u64,
    tags: u64,
}

/// About 1 filter in 10,000 selects a case.
pub(crate) const RARE: Data =
    Data { name: "1 in 10,000", clients: 6_000, assignees: 700, countries: 300, tags: 250 };
/// About 1 filter in 100 selects a case.
pub(crate) const FREQUENT: Data =
    Data { name: "1 in 100", clients: 25, assignees: 10, countries: 5, tags: 8 };

const STATES: u64 = 8;
const CHANNELS: u64 = 3;
const SECONDS: u64 = 31_536_000;
const CENTS: u64 = 100_000;

/// A case of eight attributes. In the JSON, each text is a short prefix and the number in the member of this struct. The id has no
/// prefix.
pub(crate) struct Case {
    pub(crate) id: u64,
    pub(crate) client: u64,
    pub(crate) assignee: u64,
    pub(crate) status: u64,
    pub(crate) channel: u64,
    pub(crate) country: u64,
    pub(crate) tags: [u64; 2],
    pub(crate) created_at: u64,
    pub(crate) cost_cents: u64,
}

impl Case {
    pub(crate) fn json(&self) -> String {
        let Self { id, client, assignee, status, channel, country, tags, created_at, cost_cents } = self;
        format!(
            r#"{{"id":"{id}","clientId":"client-{client}","assignee":"officer-{assignee}","status":"s{status}","channel":"ch{channel}","country":"c{country}","tags":["t{}","t{}"],"createdAt":{created_at},"costCents":{cost_cents}}}"#,
            tags[0], tags[1]
        )
    }
}

/// A criterion of a filter.
pub(crate) enum Test {
    /// The text is one of these values. In a list, at least one element is one of them.
    In(&'static str, Vec<String>),
    /// The text is not this value.
    Not(&'static str, String),
    /// The number is not less than this one.
    From(&'static str, u64),
    /// The number is less than this one.
    Below(&'static str, u64),
}

/// Returns the filter that has all criteria, as a text of casefilter.
pub(crate) fn text_of(tests: &[Test]) -> String {
    let mut text = String::new();
    for test in tests {
        let and = if text.is_empty() { "" } else { " and " };
        match test {
            Test::In(field, values) => write!(text, "{and}{field} in ({})", values.join(", ")),
            Test::Not(field, value) => write!(text, "{and}{field} <> {value}"),
            Test::From(field, value) => write!(text, "{and}{field} >= {value}"),
            Test::Below(field, value) => write!(text, "{and}{field} < {value}"),
        }
        .unwrap();
    }
    text
}

impl Data {
    pub(crate) fn cases(self, number: u64, seed: u64) -> Vec<Case> {
        let mut draws = Draws(seed);
        let case = |id| Case {
            id,
            client: draws.below(self.clients),
            assignee: draws.below(self.assignees),
            status: draws.below(STATES),
            channel: draws.below(CHANNELS),
            country: draws.below(self.countries),
            tags: [draws.below(self.tags), draws.below(self.tags)],
            created_at: draws.below(SECONDS),
            cost_cents: draws.below(CENTS),
        };
        (0..number).map(case).collect()
    }

    /// Returns filters of 2 to 5 criteria on different attributes. An attribute with many values is among them, as in most saved
    /// filters.
    pub(crate) fn filters(self, number: usize) -> Vec<Vec<Test>> {
        let mut draws = Draws(7);
        (0..number).map(|_| self.filter(&mut draws)).collect()
    }

    fn filter(self, draws: &mut Draws) -> Vec<Test> {
        let first = [0, 0, 1, 4][draws.below(4) as usize];
        let mut attributes = vec![first];
        let criteria = 2 + draws.below(4) as usize;
        while attributes.len() < criteria {
            let next = draws.below(8);
            if !attributes.contains(&next) {
                attributes.push(next);
            }
        }
        let mut tests = Vec::new();
        for attribute in attributes {
            let test = match attribute {
                0 => Test::In("clientId", vec![format!("client-{}", draws.below(self.clients))]),
                1 => Test::In("assignee", vec![format!("officer-{}", draws.below(self.assignees))]),
                2 if draws.below(2) == 0 => {
                    let state = draws.below(STATES - 2);
                    Test::In("status", (state..state + 3).map(|state| format!("s{state}")).collect())
                }
                2 => Test::Not("status", format!("s{}", draws.below(STATES))),
                3 => Test::In("channel", vec![format!("ch{}", draws.below(CHANNELS))]),
                4 => Test::In("country", vec![format!("c{}", draws.below(self.countries))]),
                5 => Test::In("tags", (0..2).map(|_| format!("t{}", draws.below(self.tags))).collect()),
                6 => Test::From("createdAt", draws.below(SECONDS)),
                _ if draws.below(2) == 0 => Test::From("costCents", draws.below(CENTS) + 1),
                _ => {
                    let from = draws.below(CENTS);
                    tests.push(Test::From("costCents", from));
                    Test::Below("costCents", from + CENTS / 20)
                }
            };
            tests.push(test);
        }
        tests
    }
}
