//! The command `token app`: creates an app token for a client of the service.

use std::fs;
use std::path::{Path, PathBuf};

use casefilter::service::{Permission, TokenEntry, TokenFile, Tokens};
use casefilter::{Catalog, CatalogError, Error, ErrorKind, Errors, FilterBuilder, Limits, Suggestion};
use chrono::TimeDelta;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::common::{end_of, lifetime, print};
use super::file::LockedTokens;
use crate::input::catalog::CatalogFile;
use crate::input::duration;
use crate::output::dash::refuse_stdout;
use crate::output::diagnostics::{Fault, Source};
use crate::output::ending::Contents;
use crate::output::escape::{escape, quote};
use crate::output::failure::{Failure, note};
use crate::output::status::Status;

/// Make an app token, for a client of the service
///
/// The secret has 256 random bits. With --file the token is added to that file. If the file is new, only its owner can read it; an
/// existing file keeps its mode. Without --file the command prints a token file that contains only this token. Names are unique
/// within a file. Several commands may change the same file at the same time. A running service applies a change of the file within
/// a second.
///
/// The output contains the secret. With --output the command writes the output to a new file that only the owner of the file can
/// read. The umask has no effect on this.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter token app --file tokens.json --name dashboard --allow viewCases,viewApplicants -o dashboard.json
  casefilter token app --file tokens.json --name acme --allow viewCases,viewApplicants --client acme -o acme.json
  casefilter token app --file tokens.json --allow viewCases --filter 'clientId = acme' --fields name,status,createdAt
  casefilter token app --file tokens.json --allow viewCases --catalog orders.db --filter 'total < 1000'")]
pub(super) struct App {
    /// The token file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Name of the token in logs, unique in the file [default: the number of the token]
    #[arg(long)]
    name: Option<String>,

    /// A new file for the token and its secret, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The permissions of the token
    #[arg(long, value_name = "PERMISSION,…", required = true, value_delimiter = ',', value_parser = permission())]
    allow: Vec<Permission>,

    /// The fields of cases that the token may read and name, in addition to their id [default: all]. This applies only to searches
    /// of cases. The presence of a field can reveal the value of another field: a case has createdByRule.title only if its
    /// createdByType is byRule
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// A filter in the text syntax: the token can find only the cases that this filter selects [default: all cases]. This does not
    /// apply to the permissions for applicants and AML cases
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// The clients that the token is bound to: it sees only the cases and applicants with these values of clientId, and all others
    /// do not exist for it [default: all clients]. An applicant without clientId is visible only to tokens without --client. The
    /// preview of a profile is not restricted: it needs only a share token
    #[arg(long = "client", value_name = "ID,…", value_delimiter = ',')]
    clients: Option<Vec<String>>,

    /// Lifetime of the token, such as 90d; a multiple of 1s [default: the token does not expire]
    #[arg(long, value_name = duration::VALUE, value_parser = lifetime)]
    expires: Option<TimeDelta>,

    #[command(flatten)]
    catalog: CatalogFile,
}

fn permission() -> impl TypedValueParser<Value = Permission> {
    let names = PossibleValuesParser::new(Permission::ALL.map(Permission::name));
    names.try_map(|name| name.parse::<Permission>())
}

pub(super) fn app(args: &App) -> Result<Status, Failure> {
    let App { file, name, output, allow, fields, filter, clients, expires, catalog } = args;
    let catalog = catalog.or_cases()?;
    if let Some(file) = file {
        refuse_stdout(file, "without --file the token is printed")?;
        if !file.exists() {
            Contents::Tokens.check_output(file)?;
        }
    }
    if let Some(output) = output {
        refuse_stdout(output, "without --output the secret is printed")?;
        Contents::Tokens.check_output(output)?;
    }
    check(&catalog, fields.as_deref().unwrap_or_default(), filter.as_deref())?;
    let entry = TokenEntry::generate(allow.iter().copied());
    let mut entry = entry.map_err(|error| Failure::io("cannot make", "a secret", &error))?;
    if let Some(name) = name {
        entry = entry.with_name(name);
    }
    if let Some(fields) = fields {
        entry = entry.with_fields(fields);
    }
    if let Some(filter) = filter {
        entry = entry.with_filter(filter);
    }
    if let Some(clients) = clients {
        entry = entry.with_clients(clients);
    }
    if let Some(lifetime) = expires {
        entry = entry.with_expiry(end_of(*lifetime)?);
    }
    let Some(path) = file else {
        warn(&entry);
        print(output.as_deref(), &text_with(TokenFile::default(), entry, &catalog)?)?;
        return Ok(Status::Fine);
    };
    let secret = serde_json::json!({ "token": entry.token(), "secret": entry.secret() });
    let secret = format!("{secret}\n");
    let mut has_output = false;
    let before = || {
        warn(&entry);
        if output.is_some() {
            print(output.as_deref(), &secret)?;
            has_output = true;
        }
        Ok(())
    };
    if let Err(failure) = add((path, &catalog), &entry, name.as_deref(), before) {
        if let Some(output) = output.as_ref().filter(|_| has_output) {
            let _ = fs::remove_file(output);
        }
        return Err(failure);
    }
    if output.is_none() {
        print(None, &secret)?;
    }
    Ok(Status::Fine)
}

/// Adds a token to a token file. Before the token file is written, calls `before`, which prints warnings. If --output is given,
/// `before` also writes the secret to the output file. The secret is written first, because a stored token is useless if its secret
/// is lost.
fn add(
    (path, catalog): (&Path, &Catalog),
    entry: &TokenEntry,
    name: Option<&str>,
    before: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut before = Some(before);
    loop {
        let mut locked = LockedTokens::read(path)?;
        let tokens = std::mem::take(&mut locked.tokens);
        // The default name of a token is its number, or the next one that is free.
        let names: Vec<String> = tokens.names().collect();
        let number = names.len().saturating_add(1);
        let free = || (number..).map(|number| number.to_string()).find(|number| !names.contains(number));
        let own_name = name.map(str::to_owned).or_else(free).unwrap_or_default();
        let mut entry = entry.clone();
        if own_name != number.to_string() {
            entry = entry.with_name(&own_name);
        }
        if tokens.names().any(|other| other == own_name) {
            return Err(Failure::Usage(format!(
                "{} has a token named {} already: use that one, give another --name, or take its entry out of the file first",
                escape(&path.display().to_string()),
                quote(&own_name)
            )));
        }
        let text = text_with(tokens, entry, catalog)?;
        before.take().map_or(Ok(()), |before| before())?;
        if locked.write(&text)? {
            return Ok(());
        }
    }
}

/// Returns the text of a token file with one more token.
fn text_with(mut tokens: TokenFile, entry: TokenEntry, catalog: &Catalog) -> Result<String, Failure> {
    tokens.push(entry);
    Tokens::new(tokens.clone(), catalog, &Limits::default())
        .map_err(|error| Failure::Failed(escape(&error.to_string()).into_owned()))?;
    Ok(format!("{}\n", tokens.to_json()))
}

/// Warns of permissions to which the filter and the fields of the token do not apply.
fn warn(entry: &TokenEntry) {
    for warning in entry.warnings() {
        note(format!("warning: {}\n", escape(&warning)));
    }
}

/// Rejects a filter or fields that do not compile. The errors have the same form as those of other commands.
fn check(catalog: &Catalog, fields: &[String], filter: Option<&str>) -> Result<(), Failure> {
    let mut faults: Vec<(Errors, Source)> = Vec::new();
    if let Some(text) = filter
        && let Err(errors) = FilterBuilder::new(catalog).text(text)
    {
        faults.push((errors, Source::argument("--filter", text)));
    }
    let listed = Source::argument("--fields", &fields.join(","));
    let mut offset = 0_usize;
    for field in fields {
        if let Err(CatalogError::UnknownField(_, near)) = catalog.allow([field.as_str()]) {
            let error = Error::new(ErrorKind::UnknownField, offset, quote(field), "a field of the catalogue");
            faults.push((error.suggest(near.map(Suggestion::replace_by)).into(), listed.clone()));
        }
        offset = offset.saturating_add(field.len()).saturating_add(1);
    }
    Fault::of(faults).map_or(Ok(()), |fault| Err(Failure::BadFilter(fault.render())))
}
