//! `why`: the truth of every criterion for one case.

use casefilter::{Catalog, Filter, Mode, Request, reference};

use crate::Status;
use crate::admin::Admin;
use crate::args::Selection;
use crate::cases::{Cases, Documents, Loaded, tell_left_out};
use crate::escape::escape;
use crate::failure::Failure;
use crate::output::{Format, Output};
use crate::table::counted;

/// Show why a case is selected, or is not: the truth of every criterion
///
/// Criteria are shown as they were written, each with its place in the body, what it asks, and what the case
/// has in the field. In a pipe: {"id":…,"selected":…,"criteria":[{"path":…,"depth":…,"holds":…,"field":…,
/// "op":…,"values":[…]},…],"fields":{"<field>":{"values":[…],"absent":…},…},"faults":[…]}, each criterion
/// before its children; absent says that the document has no such value, and that values are what the field then
/// counts as.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter why cases.ndjson --id c-17 --where 'priority = medium and tags in (vip, cash)'
  casefilter why cases.db --id c-17 --body filter.json --format json")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// The id of the case
    #[arg(long, value_name = "ID")]
    id: String,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    selection: Selection,

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
    let request = args.selection.request(&catalog)?;
    let mode = if args.lenient { Mode::Lenient } else { Mode::Strict };
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Kept, &args.admin)?;
    let status = tell_left_out(&loaded.report);
    let found = loaded.held.search(&of_id(&catalog, &args.id)?)?;
    let Some(document) = found.documents().next() else {
        return Err(unknown(&args.id, &loaded)?);
    };
    // Others may write to the database while this is printed.
    drop(loaded);
    let why = reference::why(&request.filter, document)
        .map_err(|fault| Failure::Refused(escape(&fault.message()).into_owned()))?;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&why)?,
        Format::Table => {
            let verdict = if why.selected { "is selected" } else { "is not selected" };
            out.line(&format!("The case {} {verdict}.\n", escape(&why.id)))?;
            for line in why.to_string().lines() {
                out.line(&escape(line))?;
            }
        }
    }
    out.finish()?;
    Ok(status)
}

/// There is no such case.
fn unknown(id: &str, loaded: &Loaded) -> Result<Failure, Failure> {
    let quoted = |id: &str| format!("`{}`", escape(id));
    let near: Vec<String> = loaded.held.near_ids(id)?.iter().map(|id| quoted(id)).collect();
    let meant =
        if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    let among = counted(loaded.held.len(), "case");
    Ok(Failure::Failed(format!("no case has the id {}, among {among}{meant}", quoted(id))))
}

/// The request for the case of an id.
fn of_id(catalog: &Catalog, id: &str) -> Result<Request, Failure> {
    let body = serde_json::json!({ "ids": [id] }).to_string();
    let filter = Filter::compile(catalog, body.as_bytes());
    Ok(Request::new(filter.map_err(|errors| Failure::Usage(escape(&errors.to_string()).into_owned()))?))
}
