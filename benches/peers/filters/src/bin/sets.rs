//! A case against many filters at once: a set of casefilter beside a-tree, and beside the filters one by one, in one run.
//!
//! Usage: `cargo run --release --bin sets [-- --test]`. Prints tables in Markdown. All contenders have to find the same filters.

#[path = "../../../../shared/standing.rs"]
mod standing;

use std::hint::black_box;
use std::time::{Duration, Instant};

use a_tree::{ATree, AttributeDefinition, Event};
use casefilter::{Document, Filter, FilterMatches, FilterSet, StandingFilter};
use peak_alloc::PeakAlloc;
use standing::{Case, FREQUENT, RARE, Test, catalog, text_of};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const CASES: u64 = 200;
const ROUNDS: usize = 5;

fn main() {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (sizes, cases, rounds) =
        if is_test { (&[100][..], 20, 1) } else { (&[1_000, 10_000, 100_000][..], CASES, ROUNDS) };
    println!("{cases} cases of eight attributes, least of {rounds} rounds, one thread");
    for data in [RARE, FREQUENT] {
        println!("\nAbout {} selects a case:\n", data.name);
        println!("| filters | 1 selects in | | µs for a case | | ms to make it | bytes a filter |");
        println!("|-:|-:|-|-:|-:|-:|-:|");
        let cases = data.cases(cases, 42);
        for size in sizes {
            compare(&data.filters(*size), &cases, rounds);
        }
    }
}

/// A way to find the filters that select a case.
trait Contender {
    /// Appends the numbers of the filters that select a case, in any order.
    fn find(&mut self, case: usize, found: &mut Vec<usize>);
}

impl<F: FnMut(usize, &mut Vec<usize>)> Contender for F {
    fn find(&mut self, case: usize, found: &mut Vec<usize>) {
        self(case, found);
    }
}

/// A contender, with the time and the memory that making it took.
struct Made<'c> {
    name: &'static str,
    contender: Box<dyn Contender + 'c>,
    time: Duration,
    bytes: usize,
    /// For each case, the least time.
    least: Vec<Duration>,
}

/// Makes a contender, and measures the time and the memory. The time includes compiling the filters.
fn made<'c>(name: &'static str, cases: usize, make: impl FnOnce() -> Box<dyn Contender + 'c>) -> Made<'c> {
    let (before, start) = (ALLOCATOR.current_usage(), Instant::now());
    let contender = make();
    let time = start.elapsed();
    let bytes = ALLOCATOR.current_usage().saturating_sub(before);
    Made { name, contender, time, bytes, least: vec![Duration::MAX; cases] }
}

fn compare(filters: &[Vec<Test>], cases: &[Case], rounds: usize) {
    let catalog = catalog();
    let documents: Vec<Document> =
        cases.iter().map(|case| Document::parse(&catalog, case.json().as_bytes()).expect("a case")).collect();
    let texts: Vec<String> = filters.iter().map(|tests| text_of(tests)).collect();
    let tree_texts: Vec<String> = filters.iter().map(|tests| tree_text(tests)).collect();
    let compiled = || texts.iter().map(|text| Filter::compile_text(&catalog, text).expect("a filter"));

    let set = made("casefilter, `FilterSet`", cases.len(), || {
        let set = FilterSet::new(&catalog);
        let named = compiled().enumerate().map(|(at, filter)| StandingFilter::new(&at.to_string(), &filter));
        set.insert_many(named).expect("a set without limits");
        let mut matches = FilterMatches::new();
        let documents = &documents;
        Box::new(move |case: usize, found: &mut Vec<usize>| {
            set.matching_into(&documents[case], &mut matches).expect("one catalogue");
            found.extend(matches.iter().map(|name| name.parse::<usize>().expect("a number")));
        })
    });
    let tree = made("a-tree 0.6.1", cases.len(), || {
        let mut tree = ATree::<usize>::new(&attributes()).expect("attributes");
        for (at, text) in tree_texts.iter().enumerate() {
            tree.insert(&at, text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        }
        let events: Vec<Event> = cases.iter().map(|case| event(&tree, case)).collect();
        Box::new(move |case: usize, found: &mut Vec<usize>| {
            let report = tree.search(&events[case]).expect("an event");
            found.extend(report.matches().iter().map(|number| **number));
        })
    });
    let one_by_one = made("casefilter, one by one", cases.len(), || {
        let filters: Vec<Filter> = compiled().collect();
        let documents = &documents;
        Box::new(move |case: usize, found: &mut Vec<usize>| {
            let selects = |filter: &Filter| filter.selects(&documents[case]).expect("one catalogue");
            found.extend(filters.iter().enumerate().filter(|(_, filter)| selects(filter)).map(|(at, _)| at));
        })
    });

    let mut all = [set, tree, one_by_one];
    let mut found = Vec::new();
    let mut expected: Vec<Vec<usize>> = Vec::new();
    for round in 0..rounds {
        for (number, Made { name, contender, least, .. }) in all.iter_mut().enumerate() {
            for (case, least) in least.iter_mut().enumerate() {
                found.clear();
                let start = Instant::now();
                contender.find(case, black_box(&mut found));
                *least = start.elapsed().min(*least);
                if round > 0 {
                    continue;
                }
                found.sort_unstable();
                if number == 0 {
                    expected.push(found.clone());
                }
                assert_eq!(found, expected[case], "{name}: case {case}");
            }
        }
    }
    let selected: usize = expected.iter().map(Vec::len).sum();
    let rate = (filters.len() * cases.len()) as f64 / selected as f64;
    let micros =
        |made: &Made<'_>| made.least.iter().sum::<Duration>().as_secs_f64() * 1e6 / cases.len() as f64;
    let own = micros(&all[0]);
    for made in &all {
        println!(
            "| {} | {rate:.0} | {} | {:.1} | {:.1} | {:.0} | {} |",
            filters.len(),
            made.name,
            micros(made),
            micros(made) / own,
            made.time.as_secs_f64() * 1e3,
            made.bytes / filters.len()
        );
    }
}

fn attributes() -> [AttributeDefinition; 8] {
    [
        AttributeDefinition::string("clientId"),
        AttributeDefinition::string("assignee"),
        AttributeDefinition::string("status"),
        AttributeDefinition::string("channel"),
        AttributeDefinition::string("country"),
        AttributeDefinition::string_list("tags"),
        AttributeDefinition::integer("createdAt"),
        AttributeDefinition::integer("costCents"),
    ]
}

fn event(tree: &ATree<usize>, case: &Case) -> Event {
    let mut event = tree.make_event();
    let texts = [
        ("clientId", format!("client-{}", case.client)),
        ("assignee", format!("officer-{}", case.assignee)),
        ("status", format!("s{}", case.status)),
        ("channel", format!("ch{}", case.channel)),
        ("country", format!("c{}", case.country)),
    ];
    for (name, text) in &texts {
        event.with_string(name, text).expect("an attribute");
    }
    let tags = case.tags.map(|tag| format!("t{tag}"));
    event.with_string_list("tags", &[&tags[0], &tags[1]]).expect("an attribute");
    for (name, number) in [("createdAt", case.created_at), ("costCents", case.cost_cents)] {
        event.with_integer(name, number as i64).expect("an attribute");
    }
    event.build().expect("an event")
}

/// Returns the filter as an expression of a-tree.
fn tree_text(tests: &[Test]) -> String {
    let text = |test: &Test| match test {
        Test::In("tags", values) => format!("tags one of [\"{}\"]", values.join("\", \"")),
        Test::In(field, values) => match &values[..] {
            [value] => format!("{field} = \"{value}\""),
            _ => format!("{field} in [\"{}\"]", values.join("\", \"")),
        },
        Test::Not(field, value) => format!("{field} <> \"{value}\""),
        Test::From(field, value) => format!("{field} >= {value}"),
        Test::Below(field, value) => format!("{field} < {value}"),
    };
    tests.iter().map(text).collect::<Vec<_>>().join(" and ")
}
