//! Executes a file of requests, one per line, and prints one answer per line.

use crate::commands::search::items::replace_items;
use crate::input::request::{Line, envelope, stopped_envelope};
use crate::input::request_lines::Lines;
use crate::output::escape::{has_line_breaks, one_line};
use crate::output::failure::Failure;
use crate::output::stdout::Output;

use casefilter::{Catalog, Limits, SearchAnswer, SearchRequest};

/// Prints a line for each request: the answer or the error envelope. Returns the number of requests that were bad or were stopped.
pub(super) fn answer_all(
    catalog: &Catalog,
    limits: &Limits,
    search: impl Fn(&SearchRequest) -> Result<SearchAnswer, Failure>,
    lines: &mut Lines,
) -> Result<u64, Failure> {
    let mut out = Output::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    while let Some(line) = lines.next()? {
        number = number.saturating_add(1);
        let request = Line::read(line).and_then(|line| line.request(catalog, limits));
        match request {
            Ok(request) => {
                let found = match search(&request) {
                    Ok(found) => found,
                    Err(Failure::Stopped(message)) => {
                        bad = bad.saturating_add(1);
                        out.json(&stopped_envelope(number, message))?;
                        continue;
                    }
                    Err(failure) => return Err(failure),
                };
                let mut answer = found.to_json();
                if has_line_breaks(&answer) {
                    let mut one = String::new();
                    answer = replace_items(&answer, found.documents(), |document, line| {
                        one.clear();
                        one.push_str(document);
                        one_line(&mut one);
                        line.push_str(&one);
                    });
                }
                out.json_line(&answer)?;
            }
            Err(errors) => {
                bad = bad.saturating_add(1);
                out.json(&envelope(number, &errors))?;
            }
        }
        if lines.may_wait() {
            out.flush()?;
        }
    }
    out.finish()?;
    Ok(bad)
}
