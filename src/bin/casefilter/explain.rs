//! `explain`: how a request is answered, and what that costs.

use casefilter::{Catalog, Mode};

use crate::Status;
use crate::admin::Admin;
use crate::args::Selection;
use crate::cases::{Cases, Documents, tell_left_out};
use crate::escape::escape;
use crate::failure::Failure;
use crate::held::Explained;
use crate::output::{Format, Output};

/// Show how a request is answered, and with --analyze what each step costs and keeps
///
/// Of every criterion: how many cases it is expected to select (~ when that is a guess), and what answers it,
/// in how many batches of up to 65,536 cases. With --analyze the request is answered once, and each criterion by
/// itself on all cases: kept is how many it selects, alone how long it takes. In a pipe: the members of
/// casefilter::explain::Explanation.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter explain cases.ndjson --where 'status = open and priority = high' --analyze
  casefilter explain cases.db --body filter.json --count --format json")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    selection: Selection,

    /// Answer the request, and tell what that took
    #[arg(long)]
    analyze: bool,

    /// JSON, or a tree to read [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    /// Leave out malformed cases, and count malformed fields as absent, instead of refusing the files
    #[arg(long)]
    lenient: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check_beside(&args.selection)?;
    let catalog = Catalog::cases();
    let (request, compiling) = args.selection.timed_request(&catalog)?;
    let mode = if args.lenient { Mode::Lenient } else { Mode::Strict };
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Forgotten, &args.admin)?;
    let status = tell_left_out(&loaded.report);
    let Explained { json, text } = loaded.held.explain(&request, args.analyze.then_some(compiling))?;
    // Others may write to the database while this is printed.
    drop(loaded);
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&json)?,
        Format::Table => {
            for line in text.lines() {
                out.line(&escape(line))?;
            }
        }
    }
    out.finish()?;
    Ok(status)
}
