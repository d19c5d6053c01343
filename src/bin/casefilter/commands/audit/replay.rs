//! The command `audit replay`: answers a recorded request again, from the cases as they were, and compares the answers.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use casefilter::service::{audit_digest_of_ids, open_audit_files};
use casefilter::{AsOf, Catalog, FilterBuilder, Limits, Order, SearchRequest};
use serde::{Deserialize, Serialize};

use crate::commands::audit::lines::next_line;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::database::open_to_read;
use crate::input::loaded::LoadedCases;
use crate::input::served::Served;
use crate::input::syntax::unpaged;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::figures::thousands;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Answer a recorded request again, and say whether the answer is the same
///
/// Searches the cases as they were after the write that the record names (`lastWrite`), with the filter, the order and the page of
/// the record. The filter of the record includes the filter of the token. Compares the total, the number of cases and the digest of
/// their ids. For counts by value, compares only the total. The database needs a history that reaches back to that write: see
/// `serve --history`.
///
/// The exit status is 0 if the answer is the same. It is 5 if the answer differs, because the record or the database was changed,
/// or cases were erased. It is 6 if the request cannot be answered again, for example if it was refused, or if it is neither a
/// search nor a count by value. A page after a cursor cannot be answered again, because the log has only the hash of the cursor.
/// The same applies if the history does not go back to the write any more, or if the record has no `lastWrite`. A record has no
/// `lastWrite` if the service searched a source (`serve --source`) or a database of an earlier format version.
///
/// The command does not check the chain of the log: see `audit verify`.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter audit replay audit.ndjson 1204 --db cases.db")]
pub(super) struct Replay {
    /// The audit log
    file: PathBuf,

    /// The number of the record
    #[arg(value_name = "N")]
    number: u64,

    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// The members of a record that a replay needs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    n: u64,
    operation: Option<String>,
    /// The method and the path of a request on the admin socket, such as `POST /searches`.
    request: Option<String>,
    status: Option<u64>,
    filter: Option<String>,
    order: Option<String>,
    offset: u64,
    limit: Option<u64>,
    after: Option<String>,
    last_write: Option<u64>,
    total: Option<u64>,
    items: Option<u64>,
    ids: Option<String>,
}

/// The parts of an answer that the log records.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<String>,
}

/// The result, which is printed as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replayed {
    n: u64,
    same: bool,
    last_write: u64,
    recorded: Answer,
    replayed: Answer,
}

pub(super) fn run(args: &Replay) -> Result<Status, Failure> {
    check_database(&args.db, AS_IMPORTED)?;
    let record = find(&args.file, args.number)?;
    let catalog = stored(&args.db, &args.admin)?;
    let (request, last_write) = record.request(&catalog)?;
    let cases = match args.admin.open(&args.db, || open_to_read(&args.db, &catalog))? {
        Opened::Local(store) => LoadedCases::Database(Box::new(store)),
        Opened::Served(service) => LoadedCases::Service(Box::new(Served::new(service, &catalog, false)?)),
    };
    let cases = cases.at_moment(Some(AsOf::Write(last_write)));
    let cases = cases.map_err(|failure| of_moment(args.number, failure))?;
    let replayed =
        record.answer_again(&cases, &request).map_err(|failure| of_moment(args.number, failure))?;
    cases.close()?;
    let recorded = Answer { total: record.total, items: record.items, ids: record.ids };
    let same = recorded == replayed;
    print(args, &Replayed { n: args.number, same, last_write, recorded, replayed })?;
    Ok(if same { Status::Fine } else { Status::Different })
}

fn print(args: &Replay, replayed: &Replayed) -> Result<(), Failure> {
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(replayed)?,
        Format::Table => {
            let verdict = if replayed.same { "the same answer" } else { "another answer" };
            let (n, write) = (thousands(replayed.n), thousands(replayed.last_write));
            out.line(&format!("request {n} gives {verdict} as of write {write}"))?;
            let told =
                |name: &str, recorded: Option<String>, replayed: Option<String>| match (recorded, replayed) {
                    (None, None) => None,
                    (one, two) if one == two => one.map(|one| format!("{name}: {one}")),
                    (one, two) => {
                        let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
                        Some(format!("{name}: {} recorded, {} now", or_none(one), or_none(two)))
                    }
                };
            let number = |value: Option<u64>| value.map(thousands);
            let Replayed { recorded, replayed, .. } = replayed;
            let lines = [
                told("total", number(recorded.total), number(replayed.total)),
                told("cases on the page", number(recorded.items), number(replayed.items)),
                told("digest of their ids", recorded.ids.clone(), replayed.ids.clone()),
            ];
            for line in lines.into_iter().flatten() {
                out.line(&escape(&line))?;
            }
        }
    }
    out.finish()
}

/// Converts a failure of a search. If the history no longer contains the state at the time of the request, the failure has an exit
/// status of its own.
fn of_moment(number: u64, failure: Failure) -> Failure {
    match failure {
        Failure::MomentGone(message) => unreplayable(number, &message),
        failure => failure,
    }
}

fn unreplayable(number: u64, why: &str) -> Failure {
    Failure::Unreplayable(format!("request {number} cannot be answered again: {why}"))
}

/// Returns the record with this number from the files of a log.
fn find(log: &Path, number: u64) -> Result<Record, Failure> {
    let unreadable =
        |path: &Path, error: &std::io::Error| Failure::io("cannot read", &path.display().to_string(), error);
    for (path, file) in open_audit_files(log).map_err(|error| unreadable(log, &error))? {
        let mut file = BufReader::new(file.map_err(|error| unreadable(&path, &error))?);
        let mut line = Vec::new();
        while next_line(&mut file, &mut line).map_err(|error| unreadable(&path, &error))? {
            // A line that is only a part of a record is not valid JSON, and is skipped.
            match serde_json::from_slice::<Record>(&line) {
                Ok(record) if record.n == number => return Ok(record),
                _ => line.clear(),
            }
        }
    }
    let name = escape(&log.display().to_string()).into_owned();
    Err(Failure::Failed(format!("{name} has no record {number}")))
}

/// Returns the limits on recorded filters: eight times the defaults, as for requests on the admin socket. The length of the text is
/// not limited. The record contains the normal form of a filter, which can be larger than the filter in the request.
fn limits() -> Limits {
    const FACTOR: usize = 8;
    let default = unpaged();
    default
        .clone()
        .with_body_bytes(usize::MAX)
        .with_depth(default.depth.saturating_mul(FACTOR))
        .with_criteria(default.criteria.saturating_mul(FACTOR))
        .with_values(default.values.saturating_mul(FACTOR))
        .with_ids(default.ids.saturating_mul(FACTOR))
        .with_string_bytes(default.string_bytes.saturating_mul(FACTOR))
}

impl Record {
    /// Returns the request of the record, and the number of the write after which it was answered.
    fn request(&self, catalog: &Catalog) -> Result<(SearchRequest, u64), Failure> {
        let fail = |why: &str| Err(unreplayable(self.n, why));
        let is_page = match (self.operation.as_deref(), self.request.as_deref()) {
            (Some("casesByFilter"), _) | (None, Some("POST /searches")) => true,
            (Some("caseFacets"), _) | (None, Some("POST /facets")) => false,
            _ => return fail("it is neither a search nor a count by value"),
        };
        if self.status != Some(200) {
            return fail("it was refused");
        }
        if self.after.is_some() {
            return fail("its page begins after a cursor, of which the log has only the hash");
        }
        let (Some(filter), Some(last_write)) = (&self.filter, self.last_write) else {
            return fail("the log does not say which state of the cases was searched");
        };
        if self.total.is_none() && self.items.is_none() && self.ids.is_none() {
            return fail("the record has no answer");
        }
        let extended = catalog.extended();
        let filter = FilterBuilder::new(&extended).with_limits(limits()).text(filter);
        let filter = filter.map_err(|errors| unreplayable(self.n, &escape(&errors.to_string())))?;
        let order = self.order.as_deref().map(|order| Order::parse(&extended, order)).transpose();
        let order = order.map_err(|error| unreplayable(self.n, &escape(&error.to_string())))?.flatten();
        let limit = if is_page { self.limit.unwrap_or(0) } else { 0 };
        let request = SearchRequest::new(filter).with_order(order).with_offset(self.offset).with_limit(limit);
        Ok((request.with_count(self.total.is_some()), last_write))
    }

    fn answer_again(&self, cases: &LoadedCases, request: &SearchRequest) -> Result<Answer, Failure> {
        let total = match request.count {
            true => Some(cases.total(request)?),
            false => None,
        };
        if self.items.is_none() && self.ids.is_none() {
            return Ok(Answer { total, items: None, ids: None });
        }
        let mut ids = Vec::new();
        cases.each_id(request, |id| {
            ids.push(id.to_owned());
            Ok(())
        })?;
        let digest = audit_digest_of_ids(ids.iter().map(String::as_str));
        Ok(Answer { total, items: Some(ids.len() as u64), ids: Some(digest) })
    }
}
