//! The command `demo`: demonstrates casefilter with sample cases in memory.

use std::time::{Duration, Instant};

use casefilter::{Catalog, Engine, Filter, ImportMode, Order, SearchRequest, sample};

use crate::output::case_table::CaseTable;
use crate::output::failure::Failure;
use crate::output::figures::{counted, duration, thousands};
use crate::output::status::Status;
use crate::output::stdout::Output;
use crate::output::tree::explanation;
use crate::output::wrap::{line_width, wrapped};

/// Show what casefilter does, on sample cases in memory
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter demo
  casefilter demo --cases 1000000")]
pub(crate) struct Args {
    /// Number of sample cases
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=20_000_000))]
    cases: u64,
}

/// The request that the demonstration explains at its end.
const EXPLAINED: (&str, &str, &str) = REQUESTS[1];

/// The requests. Each has its purpose, its filter and its order.
const REQUESTS: [(&str, &str, &str); 4] = [
    (
        "The work of today: urgent open cases, newest first",
        "status in (open, awaitingUser) and priority = high",
        "-createdAt",
    ),
    (
        "Large payments into crypto or by shell companies that were no false alarm, largest first",
        "totalAmountInDefaultCurrency >= 50000 and status <> resolvedFalsePositive \
         and (tags in (crypto, mixer, shell-company) or blueprintReference.name = \"Travel rule\")",
        "-totalAmountInDefaultCurrency",
    ),
    (
        "Both tags at once, in one month",
        "tags all (cash, cross-border) and createdAt >= \"2024-03-01 00:00:00\" and createdAt < \"2024-04-01 00:00:00\"",
        "createdAt",
    ),
    (
        "The same question asked clumsily: the normal form is what was meant",
        "(status = open or status = open or (status = blocked and status in (blocked, open))) \
         and updatedAt > \"2025-01-01 00:00:00\" and updatedAt > \"2025-06-01 00:00:00+0200\"",
        "",
    ),
];

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let catalog = Catalog::cases();
    let engine = Engine::new(catalog.clone());
    let mut out = Output::new();
    out.line(&format!(
        "Making {} of about 900 bytes each in memory, and reading them.",
        counted(args.cases, "sample case")
    ))?;
    out.flush()?;
    load(&engine, args.cases, &mut out)?;
    for (number, (about, text, order)) in (1_u8..).zip(REQUESTS) {
        out.line(&format!("\n{number}. {about}\n"))?;
        show(&engine, text, order, &mut out)?;
        out.flush()?;
    }
    let (_, text, order) = EXPLAINED;
    out.line("\nHow the second of them is answered, and what each criterion costs by itself:\n")?;
    let (request, compiled) = compile(&engine, text, order)?;
    let start = Instant::now();
    let analyzed = engine.analyze(&request, &|| start.elapsed())?;
    let text = analyzed.with_compile_time(compiled).to_string();
    for line in explanation(&text, line_width().saturating_sub(INDENT.len())).lines() {
        out.line(format!("{INDENT}{line}").trim_end())?;
    }
    out.line("\nTry it on a file:\n  casefilter generate --cases 100000 -o cases.ndjson")?;
    out.line("  casefilter search cases.ndjson --where 'status = open and tags in (vip, crypto)' --order -createdAt")?;
    out.finish()?;
    Ok(Status::Fine)
}

/// The indentation of the lines below a heading.
const INDENT: &str = "   ";

/// The additional indentation of the second and later lines of wrapped text, in characters.
const HANGING: usize = 4;

fn load(engine: &Engine, count: u64, out: &mut Output) -> Result<(), Failure> {
    let start = Instant::now();
    let failed =
        |refusal: casefilter::ImportError| Failure::Failed(format!("a sample case was rejected: {refusal}"));
    let mut import = engine.import(ImportMode::Strict);
    let mut cases = sample::Cases::new(count, 1);
    let mut chunk = Vec::new();
    let mut bytes = 0_usize;
    while cases.write_next(&mut chunk) {
        chunk.push(b'\n');
        if chunk.len() >= 1 << 20 {
            bytes = bytes.saturating_add(chunk.len());
            import.push(&chunk).map_err(failed)?;
            chunk.clear();
        }
    }
    bytes = bytes.saturating_add(chunk.len());
    import.push(&chunk).map_err(failed)?;
    import.commit().map_err(failed)?;
    let took = start.elapsed();
    let megabytes = bytes / 1_000_000;
    let memory = engine.memory();
    out.line(&format!(
        "Done in {}: {megabytes} MB of JSON; columns and index take {:.0} bytes per case.",
        duration(took),
        memory.bytes_per_document()
    ))
}

/// Returns a request of the demonstration, and the time that compiling its filter took.
fn compile(engine: &Engine, text: &str, order: &str) -> Result<(SearchRequest, Duration), Failure> {
    const SHOWN: u64 = 5;
    let bug =
        |error: &dyn std::error::Error| Failure::Failed(format!("the demonstration has a bug: {error}"));
    let catalog = engine.catalog();
    let start = Instant::now();
    let filter = Filter::compile_text(catalog, text).map_err(|error| bug(&error))?;
    let took = start.elapsed();
    let order = Order::parse(catalog, order).map_err(|error| bug(&error))?;
    Ok((SearchRequest::new(filter).with_order(order).with_limit(SHOWN).with_count(true), took))
}

fn show(engine: &Engine, text: &str, order: &str, out: &mut Output) -> Result<(), Failure> {
    let (request, compiled) = compile(engine, text, order)?;
    let start = Instant::now();
    let answer = engine.search(&request)?;
    let searched = start.elapsed();

    out.line(&wrapped(&format!("   as text  {text}"), HANGING))?;
    out.line(&wrapped(&format!("   as JSON  {}", request.filter.to_json()), HANGING))?;
    out.line("")?;
    out.line("   which means")?;
    for line in request.filter.plan().lines() {
        out.line(&wrapped(&format!("     {line}"), HANGING))?;
    }
    out.line("")?;
    if !answer.is_empty() {
        out.escaped_lines(&CaseTable::new(engine.catalog()).render(answer.ids().zip(answer.documents())))?;
        out.line("")?;
    }
    let summary = format!(
        "   {} of {}, compiled in {}, searched and counted in {}",
        thousands(answer.total().unwrap_or_default()),
        counted(u64::try_from(engine.len()).unwrap_or(u64::MAX), "case"),
        duration(compiled),
        duration(searched)
    );
    out.line(&wrapped(&summary, 0))
}
