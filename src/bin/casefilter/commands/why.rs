//! The command `why`: shows for one case which criteria of a filter are true.

use std::fmt;

use casefilter::reference::{self, Why};
use casefilter::{Catalog, FacetsRequest, Filter, ImportMode, ScanAnswer, SearchRequest};
use serde::Serialize;

use crate::commands::hints::{hint, print_hints, warn};
use crate::commands::scanned::scan;
use crate::input::admin::Admin;
use crate::input::as_of::AsOfArg;
use crate::input::cases::{Cases, Documents};
use crate::input::loaded::LoadedCases;
use crate::input::selection::Selection;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::figures::{counted, thousands};
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::tree::why_rows;
use crate::output::wrap::{line_width, wrapped};

/// Show why a case is selected or not: for each criterion, whether it is true
///
/// Each criterion is shown as it was written, with its truth value, the values of its field in the case, and its path in the body.
/// A selected case can still be missing from a page. The first line shows its position in the order, and whether a `search` with
/// the same --offset and --limit shows it.
///
/// If the output is not a terminal, prints JSON:
/// {"id":…,"selected":…,"page":{"position":…,"selected":…,"order":…,"offset":…,"limit":…,"shown":…},
/// "criteria":[{"path":…,"depth":…,"holds":…,"field":…,"op":…,"values":[…]},…],
/// "fields":{"<field>":{"values":[…],"absent":…},…},"faults":[…]}
///
/// Each criterion comes before its children. If `absent` is true, the document has no value in the field. Then `values` contains
/// the default value of the field, if it has one. The position is counted from 1. For a case that is not selected, `page` is null.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter why cases.ndjson --id c-17 --where 'priority = medium and tags in (vip, cash)'
  casefilter why cases.ndjson --id c-17 --where 'status = open' --order -createdAt --limit 10
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

    #[command(flatten)]
    as_of: AsOfArg,

    /// JSON, or a table with the criteria as a tree [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    #[arg(long)]
    lenient: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check_beside(&args.selection)?;
    let moment = args.as_of.of(&args.cases)?;
    let catalog = args.selection.catalog(args.cases.first_database(), &args.admin)?;
    let request = args.selection.request(&catalog)?;
    if request.after.is_some() {
        return Err(Failure::Usage(
            "`why` has no --after: it shows the position in the whole list".to_owned(),
        ));
    }
    warn(&request);
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    if let Some(status) = scan_case(args, (&catalog, mode), &request)? {
        return Ok(status);
    }
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Kept, &args.admin)?.at_moment(moment)?;
    let status = report_left_out(&loaded.report);
    hint(&loaded.cases, &request, &loaded.report, || matches!(loaded.cases.count(&request.filter), Ok(0)));
    let found = loaded.cases.search(&of_id(&catalog, &args.id)?)?;
    let Some(document) = found.documents().next() else {
        return Err(unknown(&args.id, loaded.cases.len(), nearest_ids(&loaded.cases, &args.id)?));
    };
    let why = why(&request, document)?;
    let page = if why.selected { Page::of(&loaded.cases, &why.id, &request)? } else { None };
    // Close the database before printing, so that other processes can write to it.
    let closed = loaded.cases.close();
    print(args, &why, page)?;
    closed?;
    Ok(status)
}

/// Does the same as [`run`], but finds the case while the files are read. If the case is selected, reads the files once more for
/// its position. If there is no such case, reads them once more for similar ids. Returns `None` if the files have to be loaded.
fn scan_case(
    args: &Args,
    (catalog, mode): (&Catalog, ImportMode),
    request: &SearchRequest,
) -> Result<Option<Status>, Failure> {
    let ids = |request: &SearchRequest| {
        let scanned = scan(&args.cases, (catalog, mode), request, None, Documents::Forgotten)?;
        Ok::<_, Failure>(scanned.answered().map(|scanned| scanned.answer.answer))
    };
    // A request for counts that names no field returns only the number of selected cases.
    let selected = FacetsRequest::new(request.filter.clone());
    let of_id = of_id(catalog, &args.id)?;
    let scanned = scan(&args.cases, (catalog, mode), &of_id, Some(&selected), Documents::Kept)?;
    let Some(scanned) = scanned.answered() else { return Ok(None) };
    let cases = scanned.answer.documents;
    let selected = scanned.answer.facets.as_ref().map_or(0, |counts| counts.total);
    let hints = scanned.hints(&args.cases, (catalog, mode), (request, selected), |narrow| {
        args.selection.request_again(narrow)
    });
    let ScanAnswer { answer: found, report, .. } = scanned.answer;
    let status = report_left_out(&report);
    print_hints(&report, request, &hints);
    let Some(document) = found.documents().next() else {
        let all = SearchRequest::new(Filter::all(catalog)).with_limit(u64::MAX);
        let Some(all) = ids(&all)? else { return Ok(None) };
        let mut nearest = Nearest::new(&args.id);
        all.ids().for_each(|id| nearest.take(id));
        return Err(unknown(&args.id, cases, nearest));
    };
    let why = why(request, document)?;
    let mut page = None;
    if why.selected {
        let Some(all) = ids(&whole_list(request))? else { return Ok(None) };
        let before = all.ids().position(|id| id == why.id);
        page = before.map(|before| Page::at((before as u64).saturating_add(1), selected, request));
    }
    print(args, &why, page)?;
    Ok(Some(status))
}

fn why(request: &SearchRequest, document: &str) -> Result<Why, Failure> {
    reference::why(&request.filter, document)
        .map_err(|fault| Failure::Refused(escape(&fault.message()).into_owned()))
}

/// Prints the criteria of a case, and its position if it is selected.
fn print(args: &Args, why: &Why, page: Option<Page>) -> Result<(), Failure> {
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Answer { page, why })?,
        Format::Table => {
            let verdict = match &page {
                Some(page) => page.to_string(),
                None if why.selected => "is selected".to_owned(),
                None => "is not selected".to_owned(),
            };
            out.line(&wrapped(&format!("The case {} {verdict}.", escape(&why.id)), 0))?;
            out.line("")?;
            out.escaped_lines(&why_rows(&why.to_string(), line_width()))?;
        }
    }
    out.finish()
}

/// The result in the form in which it is printed as JSON.
#[derive(Serialize)]
struct Answer<'w> {
    #[serde(flatten)]
    why: &'w Why,
    page: Option<Page>,
}

/// The position of a selected case.
#[derive(Serialize)]
struct Page {
    /// The position of the case in the order, counted from 1.
    position: u64,
    /// The number of selected cases.
    selected: u64,
    order: Option<String>,
    offset: u64,
    limit: u64,
    /// True if `search` with the same offset and limit shows the case.
    shown: bool,
}

impl Page {
    fn of(cases: &LoadedCases, id: &str, request: &SearchRequest) -> Result<Option<Self>, Failure> {
        let Some(position) = position_of(cases, id, request)? else { return Ok(None) };
        Ok(Some(Self::at(position, cases.count(&request.filter)?, request)))
    }

    /// Creates the position of a case. `selected` is the number of selected cases.
    fn at(position: u64, selected: u64, request: &SearchRequest) -> Self {
        let SearchRequest { offset, limit, .. } = *request;
        let order = request.order.as_ref().map(ToString::to_string);
        let shown = position > offset && position.saturating_sub(offset) <= limit;
        Self { position, selected, order, offset, limit, shown }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = ordinal(self.position);
        write!(f, "is selected, {position} of {}", thousands(self.selected))?;
        match &self.order {
            Some(order) => write!(f, " by {order}")?,
            None => f.write_str(" in stored order")?,
        }
        if self.shown {
            return Ok(());
        }
        match (self.limit, self.offset) {
            (0, _) => f.write_str(": --limit 0 shows none"),
            (limit, 0) => write!(f, ": not among the first {}", thousands(limit)),
            (limit, offset) => {
                let limit = thousands(limit);
                write!(f, ": not among the {limit} after the first {}", thousands(offset))
            }
        }
    }
}

/// Returns a number as an ordinal, such as `501st`.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", thousands(number))
}

/// Returns the failure for an id that no case has. `cases` is the number of cases.
fn unknown(id: &str, cases: u64, nearest: Nearest) -> Failure {
    let quoted = |id: &str| format!("`{}`", escape(id));
    let near: Vec<String> = nearest.found.iter().map(|(_, id)| quoted(id)).collect();
    let meant =
        if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    let among = counted(cases, "case");
    Failure::Failed(format!("no case has the id {}, among {among}{meant}", quoted(id)))
}

/// Finds the ids of cases that are similar to `id`.
fn nearest_ids(cases: &LoadedCases, id: &str) -> Result<Nearest, Failure> {
    let request = SearchRequest::new(Filter::all(cases.catalog())).with_limit(u64::MAX);
    let mut nearest = Nearest::new(id);
    cases.each_id(&request, |other| {
        nearest.take(other);
        Ok(())
    })?;
    Ok(nearest)
}

/// At most three known ids that differ from the wanted id by few typing errors. The most similar id is first.
struct Nearest {
    wanted: String,
    /// The maximum number of typing errors by which a suggested id may differ.
    errors: usize,
    found: Vec<(usize, String)>,
}

impl Nearest {
    /// The maximum length of an id that is compared, in bytes. Computing a distance takes quadratic time, and users do not type
    /// longer ids.
    const LONGEST: usize = 64;
    /// The maximum number of suggested ids.
    const MOST: usize = 3;

    fn new(id: &str) -> Self {
        let wanted = id.trim().to_lowercase();
        let errors = (wanted.len() / 4).clamp(1, 2);
        Self { wanted, errors, found: Vec::new() }
    }

    fn take(&mut self, other: &str) {
        let Self { wanted, errors, found } = self;
        let is_long = other.len().max(wanted.len()) > Self::LONGEST;
        if is_long || other.len().abs_diff(wanted.len()) > errors.saturating_mul(4) {
            return;
        }
        let other_lower = other.to_lowercase();
        // Counting letters is much faster than computing the distance, and rules out nearly all ids.
        if letters_that_differ(wanted, &other_lower) > errors.saturating_mul(2) {
            return;
        }
        let distance = strsim::damerau_levenshtein(wanted, &other_lower);
        let is_nearer = found.len() < Self::MOST || found.iter().any(|(most, _)| distance < *most);
        if distance <= *errors && is_nearer {
            found.push((distance, other.to_owned()));
            found.sort_unstable();
            found.truncate(Self::MOST);
        }
    }
}

/// Counts each ASCII character in both texts, and returns the sum of the differences between the two counts. Other characters are
/// ignored. Each typing error adds at most two to the sum.
fn letters_that_differ(one: &str, other: &str) -> usize {
    let mut counts = [0_i8; 128];
    let mut count = |text: &str, step: i8| {
        for byte in text.bytes() {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count = count.saturating_add(step);
            }
        }
    };
    count(one, 1);
    count(other, -1);
    counts.iter().map(|count| usize::from(count.unsigned_abs())).sum()
}

/// Returns the position of an id among all cases that a request selects, in the order of the request, counted from 1.
fn position_of(cases: &LoadedCases, id: &str, request: &SearchRequest) -> Result<Option<u64>, Failure> {
    let all = whole_list(request);
    let (mut place, mut found) = (0_u64, None);
    cases.each_id(&all, |other| {
        place = place.saturating_add(1);
        if other == id {
            found = Some(place);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns a request for all cases that a request selects, in its order.
fn whole_list(request: &SearchRequest) -> SearchRequest {
    request.clone().with_offset(0).with_limit(u64::MAX).with_cursor(false)
}

/// Returns a request that selects the case with this id.
fn of_id(catalog: &Catalog, id: &str) -> Result<SearchRequest, Failure> {
    let body = serde_json::json!({ "ids": [id] }).to_string();
    let filter = Filter::compile(catalog, body.as_bytes());
    Ok(SearchRequest::new(filter.map_err(|errors| Failure::Usage(escape(&errors.to_string()).into_owned()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_changes_at_most_two_letters() {
        for (one, other, letters) in [
            ("case-17", "case-17", 0),
            ("case-17", "case-71", 0),
            ("case-17", "case-18", 2),
            ("case-17", "case-1", 1),
            ("fälle", "falle", 1),
            ("aab", "abb", 2),
        ] {
            assert_eq!(letters_that_differ(one, other), letters, "{one}, {other}");
            let distance = strsim::damerau_levenshtein(one, other);
            assert!(letters <= 2 * distance);
        }
        let mut nearest = Nearest::new("Case-17");
        ["case-18", "other", "CASE-71", "case-1799"].iter().for_each(|id| nearest.take(id));
        let found: Vec<&str> = nearest.found.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!(found, ["CASE-71", "case-18"]);
    }

    #[test]
    fn ordinals_end_as_they_are_spoken() {
        for (number, text) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (4, "4th"),
            (11, "11th"),
            (13, "13th"),
            (21, "21st"),
            (1112, "1,112th"),
        ] {
            assert_eq!(ordinal(number), text);
        }
    }
}
