//! The tickets and the filters, made from a fixed seed.

use casefilter::{Catalog, CatalogError, Field, FieldType};
use serde::Serialize;

#[path = "../../../shared/draws.rs"]
mod draws;

use draws::Draws;

pub const STATES: [&str; 8] = ["new", "open", "waiting", "blocked", "review", "solved", "closed", "rejected"];
pub const TAGS: [&str; 20] = [
    "vip", "cash", "printer", "urgent", "network", "billing", "refund", "legal", "mobile", "desktop", "beta",
    "partner", "spam", "fraud", "import", "export", "login", "crash", "slow", "other",
];
const CLIENTS: u64 = 50;
const FIRST_DAY: i64 = 1_750_000_000;
const YEAR: u64 = 365 * 86_400;

/// A ticket of fifteen members, all of them fields of the catalogue.
#[derive(Serialize)]
pub struct Ticket {
    pub id: String,
    #[serde(rename = "clientId")]
    pub client_id: String,
    pub status: &'static str,
    /// Unix seconds.
    #[serde(rename = "createdAt")]
    pub created_at: i64,
    #[serde(rename = "updatedAt")]
    pub updated_at: i64,
    #[serde(rename = "costCents")]
    pub cost_cents: i64,
    pub tags: Vec<&'static str>,
    pub subject: String,
    pub priority: &'static str,
    pub assignee: Option<String>,
    pub channel: &'static str,
    pub language: &'static str,
    pub replies: u32,
    pub score: f64,
    pub escalated: bool,
}

/// The constants of one filter:
/// `clientId (= | <>) client and status in states and createdAt >= from and (tags in tags or costCents > cost)`.
pub struct Rule {
    /// True for `<>`, which most tickets pass.
    pub is_negated: bool,
    pub client: String,
    pub states: [&'static str; 3],
    pub from: i64,
    pub tags: [&'static str; 2],
    pub cost: i64,
}

impl Rule {
    /// The rule as a closure would test it, which is the yardstick.
    pub fn selects(&self, ticket: &Ticket) -> bool {
        (ticket.client_id == self.client) != self.is_negated
            && self.states.contains(&ticket.status)
            && ticket.created_at >= self.from
            && (ticket.tags.iter().any(|tag| self.tags.contains(tag)) || ticket.cost_cents > self.cost)
    }
}

pub fn catalog() -> Result<Catalog, CatalogError> {
    let text = |path: &str| Field::new(path, FieldType::String);
    let integer = |path: &str| Field::new(path, FieldType::Integer);
    Catalog::new([
        text("clientId"),
        text("status"),
        integer("createdAt"),
        integer("updatedAt"),
        integer("costCents"),
        text("tags[]"),
        text("subject"),
        text("priority"),
        text("assignee"),
        text("channel"),
        text("language"),
        integer("replies"),
        Field::new("score", FieldType::Number),
        Field::new("escalated", FieldType::Boolean),
    ])
}

fn one_of(draws: &mut Draws, texts: &[&'static str]) -> &'static str {
    texts[draws.below(texts.len() as u64) as usize]
}

pub fn tickets(number: u64) -> Vec<Ticket> {
    let mut draws = Draws(42);
    let ticket = |id: u64| {
        let created_at = FIRST_DAY + draws.below(YEAR) as i64;
        let mut tags: Vec<&'static str> = (0..draws.below(4)).map(|_| one_of(&mut draws, &TAGS)).collect();
        tags.dedup();
        Ticket {
            id: format!("ticket-{id:06}"),
            client_id: format!("client-{:04}", draws.below(CLIENTS)),
            status: one_of(&mut draws, &STATES),
            created_at,
            updated_at: created_at + draws.below(1_000_000) as i64,
            cost_cents: draws.below(100_000) as i64,
            tags,
            subject: format!("Ticket {id} about something with forty characters"),
            priority: one_of(&mut draws, &["low", "medium", "high"]),
            assignee: (draws.below(5) > 1).then(|| format!("officer-{}", draws.below(90))),
            channel: one_of(&mut draws, &["mail", "phone", "web"]),
            language: one_of(&mut draws, &["en", "de", "fr", "es"]),
            replies: draws.below(40) as u32,
            score: draws.below(10_000) as f64 / 100.0,
            escalated: draws.below(10) == 0,
        }
    };
    (0..number).map(ticket).collect()
}

pub fn rules(number: usize, is_negated: bool) -> Vec<Rule> {
    let mut draws = Draws(7);
    let rule = |_| {
        let state = draws.below(6) as usize;
        let tag = draws.below(19) as usize;
        Rule {
            is_negated,
            client: format!("client-{:04}", draws.below(CLIENTS)),
            states: [STATES[state], STATES[state + 1], STATES[state + 2]],
            from: FIRST_DAY + draws.below(YEAR) as i64,
            tags: [TAGS[tag], TAGS[tag + 1]],
            cost: draws.below(100_000) as i64,
        }
    };
    (0..number).map(rule).collect()
}
