//! Executes a file of requests, one per line, and prints one answer per line.

use crate::commands::search::items::replace_items;
use crate::input::facets::Facets;
use crate::input::request::{Asked, Line, envelope, stopped_envelope};
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
    count: impl Fn(Facets) -> Result<String, Failure>,
    lines: &mut Lines,
) -> Result<u64, Failure> {
    let mut out = Output::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    while let Some(line) = lines.next()? {
        number = number.saturating_add(1);
        let line = Line::read(line);
        let answer = match line.and_then(|line| Ok((line.request(catalog, limits)?, line))) {
            Ok((Asked::Page(request), _)) => Ok(search(&request).map(|found| page_on_one_line(&found))),
            Ok((Asked::Counts(request), line)) => {
                Ok(count(Facets::of_body(request, line.facets().unwrap_or_default())))
            }
            Err(errors) => Err(errors),
        };
        match answer {
            Ok(Ok(answer)) => out.json_line(&answer)?,
            Ok(Err(Failure::Stopped(message))) => {
                bad = bad.saturating_add(1);
                out.json(&stopped_envelope(number, message))?;
            }
            Ok(Err(failure)) => return Err(failure),
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

/// Returns a page on one line. A document with line breaks is converted to one line. All other documents are unchanged.
fn page_on_one_line(found: &SearchAnswer) -> String {
    let answer = found.to_json();
    if !has_line_breaks(&answer) {
        return answer;
    }
    let mut one = String::new();
    replace_items(&answer, found.documents(), |document, line| {
        one.clear();
        one.push_str(document);
        one_line(&mut one);
        line.push_str(&one);
    })
}
