//! Executes a file of requests, one per line, and prints one answer per line.

<<<<<<< HEAD
use crate::input::facets::Facets;
use crate::input::request::{Asked, Line, envelope, stopped_envelope};
=======
use crate::commands::search::items::replace_items;
use crate::input::request::{Line, envelope, stopped_envelope};
>>>>>>> e
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
<<<<<<< HEAD
        let line = Line::read(line);
        let answer = match line.and_then(|line| Ok((line.request(catalog, limits)?, line))) {
            Ok((Asked::Page(request), _)) => Ok(search(&request).map(|found| page_on_one_line(&found))),
            Ok((Asked::Counts(request), line)) => {
                Ok(count(Facets::of_body(request, line.facets().unwrap_or_default())))
=======
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
>>>>>>> e
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
<<<<<<< HEAD

/// Returns a page on one line.
fn page_on_one_line(found: &SearchAnswer) -> String {
    let answer = found.to_json();
    if has_line_breaks(&answer) { on_one_line(&answer, found.documents()) } else { answer }
}

/// Returns an answer on one line. `documents` must be all documents of the answer. A document with line breaks is converted to one
/// line. All other documents are unchanged.
fn on_one_line<'d>(answer: &str, documents: impl Iterator<Item = &'d str>) -> String {
    let items = answer.find('[').map_or(0, |bracket| bracket.saturating_add(1));
    let (front, mut rest) = answer.split_at_checked(items).unwrap_or_default();
    let mut line = front.to_owned();
    let mut of_one = String::new();
    for (number, document) in documents.enumerate() {
        if number > 0 {
            line.push(',');
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = rest.strip_prefix(document).unwrap_or(rest);
        of_one.clear();
        of_one.push_str(document);
        one_line(&mut of_one);
        line.push_str(&of_one);
    }
    line.push_str(rest);
    line
}
=======
>>>>>>> e
