//! The command `check`: shows the meaning of a filter, or its errors.

use casefilter::{Errors, SearchRequest, Warning};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::input::selection::Selection;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::wrap::wrapped;

/// Compile a filter and show what it means, without any cases
///
/// Prints the normal form of the filter, and warnings about parts that its author may have meant differently. If the filter has
/// errors, prints every error with its position. If the output is not a terminal, prints JSON:
/// {"ok":true,"criteria":{…},"text":"…","warnings":[…]} or {"ok":false,"errors":[…]}.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter check --where 'status in (open, blocked) and createdAt >= \"2025-01-01 00:00:00\"'
  casefilter check --body filter.json --order -createdAt
  echo '{\"criteria\":[{\"field\":\"status\",\"op\":\"=\",\"values\":[\"open\"]}]}' | casefilter check --body -

Exit status: 0 the filter compiles; 2 it does not; 4 it has warnings, under --deny-warnings.")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Exit with status 4 if there are warnings, for scripts
    #[arg(long)]
    deny_warnings: bool,

    /// JSON, or `table` for a text that people read [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Valid<'a> {
    ok: bool,
    criteria: &'a RawValue,
    text: String,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct Invalid<'a> {
    ok: bool,
    errors: &'a Errors,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let compiled = args.selection.compile(&args.selection.catalog_alone()?)?;
    let mut out = Output::new();
    let status = match (compiled, Format::or_fitting(args.format)) {
        (Ok(request), Format::Json) => {
            let criteria = request.filter.to_json();
            let criteria =
                serde_json::from_str(&criteria).map_err(|error| Failure::Failed(error.to_string()))?;
            let (text, warnings) = (request.filter.to_text(), request.filter.warnings());
            let status = args.status(&warnings);
            out.json(&Valid { ok: true, criteria, text, warnings })?;
            status
        }
        (Ok(request), Format::Table) => {
            let warnings = request.filter.warnings();
            out.line(&explained(&request, &warnings))?;
            args.status(&warnings)
        }
        (Err(fault), Format::Json) => {
            out.json(&Invalid { ok: false, errors: &fault.errors })?;
            Status::BadFilter
        }
        (Err(fault), Format::Table) => return Err(Failure::BadFilter(fault.render())),
    };
    out.finish()?;
    Ok(status)
}

impl Args {
    /// Returns the exit status for a filter that has been compiled.
    fn status(&self, warnings: &[Warning]) -> Status {
        if self.deny_warnings && !warnings.is_empty() { Status::Warned } else { Status::Fine }
    }
}

/// The indentation of the second and later lines of a wrapped criterion, in characters.
const HANGING: usize = 4;

/// Returns the plan, the text form, the JSON form and the warnings of a filter, for people.
fn explained(request: &SearchRequest, warnings: &[Warning]) -> String {
    let filter = &request.filter;
    let mut text = String::from("The filter selects cases where\n\n");
    for line in filter.plan().lines() {
        text.push_str(&format!("{}\n", wrapped(&format!("  {}", escape(line)), HANGING)));
    }
    text.push_str(&format!(
        "\nAs text:  {}\nAs JSON:  {}\n",
        escape(&filter.to_text()),
        escape(&filter.to_json())
    ));
    for warning in warnings {
        text.push_str(&format!("\nwarning: {}", escape(&warning.to_string())));
    }
    text
}
