//! One document against many filters: casefilter beside other filter libraries, in one run.
//!
//! Usage: `cargo run --release [-- --test]`. Prints a table in Markdown. Every library has to select the same pairs.

mod contenders;
mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use casefilter::{Document, Filter};
use contenders::Contender;
use data::{Rule, Ticket};

const TICKETS: u64 = 200;
const RULES: usize = 1_000;
const ROUNDS: usize = 25;

/// The number of conversions that are timed at once, since reading the clock takes tens of nanoseconds.
const REPEATED: u32 = 20;

/// The name of the row whose time divides the others.
const OWN: &str = "casefilter";

fn main() {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (tickets, rules, rounds) = if is_test { (20, 50, 1) } else { (TICKETS, RULES, ROUNDS) };
    let tickets = data::tickets(tickets);
    println!(
        "{} documents of 15 members, {rules} filters, least of {rounds} rounds, one thread\n",
        tickets.len()
    );

    println!("| ns for a pair | first test selective | | not selective | |");
    println!("|-|-:|-:|-:|-:|");
    let catalog = data::catalog().expect("a catalogue");
    let [selective, broad] = [false, true].map(|is_negated| data::rules(rules, is_negated));
    let columns = [&selective, &broad].map(|rules| {
        let mut all = contenders::all(&catalog, &tickets, rules);
        timed(&mut all, &tickets, rules, rounds)
    });
    for ((name, first), (_, second)) in columns[0].iter().zip(&columns[1]) {
        let ratio = |column: &[(&'static str, f64)], time: f64| {
            let own = column.iter().find(|(name, _)| *name == OWN).map_or(f64::NAN, |(_, own)| *own);
            format!("{:.2}", time / own)
        };
        println!(
            "| {name} | {first:.1} | {} | {second:.1} | {} |",
            ratio(&columns[0], *first),
            ratio(&columns[1], *second)
        );
    }

    println!("\n| ns | for one | |");
    println!("|-|-:|-:|");
    conversions(&catalog, &tickets, &selective, rounds);
}

/// Times all contenders in turn, round by round. Returns the nanoseconds for a pair.
///
/// The time of a document is its least time: all rounds do the same, and other processes can only add to it. Testing a document
/// against all filters takes less time than a time slice of the scheduler.
fn timed<'d>(
    all: &mut [Box<dyn Contender + 'd>],
    tickets: &[Ticket],
    rules: &[Rule],
    rounds: usize,
) -> Vec<(&'static str, f64)> {
    let mut least = vec![vec![Duration::MAX; tickets.len()]; all.len()];
    let mut truths = Vec::with_capacity(rules.len());
    for round in 0..rounds {
        for (contender, least) in all.iter_mut().zip(&mut least) {
            for (document, (ticket, least)) in tickets.iter().zip(least).enumerate() {
                truths.clear();
                let start = Instant::now();
                contender.run(document, black_box(&mut truths));
                *least = start.elapsed().min(*least);
                if round == 0 {
                    let expected: Vec<bool> = rules.iter().map(|rule| rule.selects(ticket)).collect();
                    assert_eq!(truths, expected, "{}: {}", contender.name(), ticket.id);
                }
            }
        }
    }
    let pairs = (tickets.len() * rules.len()) as f64;
    let of_a_pair = |least: Vec<Duration>| least.into_iter().sum::<Duration>().as_nanos() as f64 / pairs;
    all.iter().zip(least).map(|(contender, least)| (contender.name(), of_a_pair(least))).collect()
}

/// Times the conversion of a document, and compiling a filter.
fn conversions(catalog: &casefilter::Catalog, tickets: &[Ticket], rules: &[Rule], rounds: usize) {
    let texts: Vec<String> =
        tickets.iter().map(|ticket| serde_json::to_string(ticket).expect("JSON")).collect();
    let engine = datalogic_rs::Engine::new();
    let env = std::sync::Arc::new(cel::Env::stdlib());
    let scheme: &'static wirefilter::Scheme = Box::leak(Box::new(wirefilter::Scheme! {
        clientId: Bytes, status: Bytes, createdAt: Int, tags: Bytes, costCents: Int,
    }));
    let bodies: Vec<String> = rules.iter().map(|rule| contenders::own(catalog, rule).to_json()).collect();
    let wire_texts: Vec<String> = rules.iter().map(contenders::wire_text).collect();
    let logic_texts: Vec<String> = rules.iter().map(contenders::logic_text).collect();
    let cel_texts: Vec<String> = rules.iter().map(contenders::cel_text).collect();
    type Step<'s> = (&'static str, usize, Box<dyn FnMut(usize) + 's>);
    let mut steps: Vec<Step<'_>> = vec![
        (
            "document: casefilter, of the struct",
            tickets.len(),
            Box::new(|at| {
                black_box(Document::of(catalog, &tickets[at]).expect("a document"));
            }),
        ),
        (
            "document: casefilter, of its JSON",
            tickets.len(),
            Box::new(|at| {
                black_box(Document::parse(catalog, texts[at].as_bytes()).expect("a document"));
            }),
        ),
        (
            "document: `serde_json::Value` of the struct",
            tickets.len(),
            Box::new(|at| {
                black_box(serde_json::to_value(&tickets[at]).expect("a value"));
            }),
        ),
        (
            "document: datalogic-rs, of its JSON",
            tickets.len(),
            Box::new(|at| {
                black_box(datalogic_rs::ParsedData::from_json(&texts[at]).expect("data"));
            }),
        ),
        (
            "document: cel, five variables",
            tickets.len(),
            Box::new(|at| {
                black_box(contenders::cel_context(&env, &tickets[at]));
            }),
        ),
        (
            "filter: casefilter",
            rules.len(),
            Box::new(|at| {
                black_box(Filter::compile(catalog, bodies[at].as_bytes()).expect("a filter"));
            }),
        ),
        (
            "filter: wirefilter-engine",
            rules.len(),
            Box::new(|at| {
                black_box(scheme.parse(&wire_texts[at]).expect("a filter").compile());
            }),
        ),
        (
            "filter: datalogic-rs",
            rules.len(),
            Box::new(|at| {
                black_box(engine.compile(&*logic_texts[at]).expect("a rule"));
            }),
        ),
        (
            "filter: cel",
            rules.len(),
            Box::new(|at| {
                black_box(env.compile(&cel_texts[at]).expect("a program"));
            }),
        ),
    ];
    let mut least: Vec<Vec<Duration>> =
        steps.iter().map(|(_, number, _)| vec![Duration::MAX; *number]).collect();
    for _ in 0..rounds {
        for ((_, _, step), least) in steps.iter_mut().zip(&mut least) {
            for (at, least) in least.iter_mut().enumerate() {
                let start = Instant::now();
                (0..REPEATED).for_each(|_| step(at));
                *least = (start.elapsed() / REPEATED).min(*least);
            }
        }
    }
    let mean = |times: &Vec<Duration>| times.iter().sum::<Duration>().as_nanos() as f64 / times.len() as f64;
    let means: Vec<f64> = least.iter().map(mean).collect();
    for ((name, ..), time) in steps.iter().zip(&means) {
        let own = if name.starts_with("document") { means[0] } else { means[5] };
        println!("| {name} | {time:.0} | {:.2} |", time / own);
    }
}
