//! The libraries, each with its filters compiled and its documents converted.

use std::sync::Arc;

use casefilter::{Catalog, Document, Filter, field};
use cel::{Context, Env, Program};
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::{Engine, Logic, ParsedData};
use serde_json::json;
use wirefilter::{ExecutionContext, Scheme};

use crate::data::{Rule, Ticket};

/// A library that can test each document against each filter.
pub trait Contender {
    fn name(&self) -> &'static str;

    /// Tests a document against every filter, and appends the truths.
    fn run(&mut self, document: usize, truths: &mut Vec<bool>);
}

struct Pairs<F> {
    name: &'static str,
    filters: usize,
    /// Takes the number of a document and that of a filter.
    test: F,
}

impl<F: FnMut(usize, usize) -> bool> Contender for Pairs<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, document: usize, truths: &mut Vec<bool>) {
        for filter in 0..self.filters {
            truths.push((self.test)(document, filter));
        }
    }
}

pub fn all<'d>(catalog: &Catalog, tickets: &'d [Ticket], rules: &'d [Rule]) -> Vec<Box<dyn Contender + 'd>> {
    let filters = rules.len();
    fn boxed<'d>(pairs: Pairs<impl FnMut(usize, usize) -> bool + 'd>) -> Box<dyn Contender + 'd> {
        Box::new(pairs)
    }

    let native = move |document: usize, filter: usize| rules[filter].selects(&tickets[document]);

    let own_documents: Vec<Document> =
        tickets.iter().map(|ticket| Document::of(catalog, ticket).expect("a ticket is a document")).collect();
    let own_filters: Vec<Filter> = rules.iter().map(|rule| own(catalog, rule)).collect();
    let own = move |document: usize, filter: usize| {
        own_filters[filter].selects(&own_documents[document]).expect("one catalogue")
    };

    // The filters of wirefilter borrow the scheme. The bench runs only once, so the scheme may be leaked.
    let scheme: &'static Scheme = Box::leak(Box::new(wirefilter::Scheme! {
        clientId: Bytes,
        status: Bytes,
        createdAt: Int,
        tags: Bytes,
        costCents: Int,
    }));
    let contexts: Vec<ExecutionContext<'static>> =
        tickets.iter().map(|ticket| wire_context(scheme, ticket)).collect();
    let wire_filters: Vec<wirefilter::Filter<'static>> = rules
        .iter()
        .map(|rule| scheme.parse(Box::leak(wire_text(rule).into_boxed_str())).expect("a filter").compile())
        .collect();
    let wire = move |document: usize, filter: usize| {
        wire_filters[filter].execute(&contexts[document]).expect("one scheme")
    };

    let engine = Engine::new();
    let parsed: Vec<ParsedData> = tickets
        .iter()
        .map(|ticket| ParsedData::from_json(&serde_json::to_string(ticket).expect("JSON")).expect("JSON"))
        .collect();
    let logics: Vec<Logic> =
        rules.iter().map(|rule| engine.compile(&*logic_text(rule)).expect("a rule")).collect();
    let mut arena = Bump::new();
    let datalogic = move |document: usize, filter: usize| {
        if filter == 0 {
            arena.reset();
        }
        let result = engine.evaluate(&logics[filter], &parsed[document], &arena).expect("a result");
        engine.truthy(result)
    };

    let env = Arc::new(Env::stdlib());
    let programs: Vec<Program> =
        rules.iter().map(|rule| env.compile(&cel_text(rule)).expect("a program")).collect();
    let cel_contexts: Vec<Context<'_, '_>> = tickets.iter().map(|ticket| cel_context(&env, ticket)).collect();
    let cel = move |document: usize, filter: usize| {
        programs[filter].execute(&cel_contexts[document]).expect("a value") == true.into()
    };

    vec![
        boxed(Pairs { name: "native closure", filters, test: native }),
        boxed(Pairs { name: "casefilter", filters, test: own }),
        boxed(Pairs { name: "wirefilter-engine 0.6.1", filters, test: wire }),
        boxed(Pairs { name: "datalogic-rs 5.4", filters, test: datalogic }),
        boxed(Pairs { name: "cel 0.15", filters, test: cel }),
    ]
}

pub fn own(catalog: &Catalog, rule: &Rule) -> Filter {
    let client = field("clientId");
    let client = if rule.is_negated { client.is_not(&rule.client) } else { client.is(&rule.client) };
    client
        .and(field("status").any_of(rule.states))
        .and(field("createdAt").at_least(rule.from))
        .and(field("tags").any_of(rule.tags).or(field("costCents").above(rule.cost)))
        .compile(catalog)
        .expect("a filter")
}

/// Wirefilter has no lists: the tags are one string.
pub fn wire_context<'s>(scheme: &'s Scheme, ticket: &Ticket) -> ExecutionContext<'s> {
    let mut context = ExecutionContext::new(scheme);
    let leaked = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let integer = |number: i64| i32::try_from(number).expect("fits");
    context.set_field_value("clientId", leaked(&ticket.client_id)).expect("bytes");
    context.set_field_value("status", ticket.status).expect("bytes");
    context.set_field_value("createdAt", integer(ticket.created_at)).expect("an integer");
    context.set_field_value("tags", leaked(&format!(",{},", ticket.tags.join(",")))).expect("bytes");
    context.set_field_value("costCents", integer(ticket.cost_cents)).expect("an integer");
    context
}

pub fn wire_text(rule: &Rule) -> String {
    let Rule { client, states: [a, b, c], from, tags: [one, two], cost, .. } = rule;
    let sign = if rule.is_negated { "!=" } else { "==" };
    format!(
        r#"clientId {sign} "{client}" && status in {{"{a}" "{b}" "{c}"}} && createdAt >= {from} && (tags contains ",{one}," || tags contains ",{two}," || costCents > {cost})"#
    )
}

pub fn logic_text(rule: &Rule) -> String {
    let sign = if rule.is_negated { "!=" } else { "==" };
    let has = |tag: &str| json!({"in": [tag, {"var": "tags"}]});
    json!({"and": [
        {sign: [{"var": "clientId"}, rule.client]},
        {"in": [{"var": "status"}, rule.states]},
        {">=": [{"var": "createdAt"}, rule.from]},
        {"or": [has(rule.tags[0]), has(rule.tags[1]), {">": [{"var": "costCents"}, rule.cost]}]},
    ]})
    .to_string()
}

pub fn cel_text(rule: &Rule) -> String {
    let Rule { client, states: [a, b, c], from, tags: [one, two], cost, .. } = rule;
    let sign = if rule.is_negated { "!=" } else { "==" };
    format!(
        r#"clientId {sign} "{client}" && status in ["{a}", "{b}", "{c}"] && createdAt >= {from} && ("{one}" in tags || "{two}" in tags || costCents > {cost})"#
    )
}

/// Returns five variables, which CEL finds faster than the members of one map.
pub fn cel_context(env: &Arc<Env>, ticket: &Ticket) -> Context<'static, 'static> {
    let mut context = Context::with_env(Arc::clone(env));
    context.add_variable_from_value("clientId", ticket.client_id.clone());
    context.add_variable_from_value("status", ticket.status);
    context.add_variable_from_value("createdAt", ticket.created_at);
    context.add_variable_from_value("tags", ticket.tags.clone());
    context.add_variable_from_value("costCents", ticket.cost_cents);
    context
}
