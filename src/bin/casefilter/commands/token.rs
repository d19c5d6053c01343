//! The command `token`: creates share tokens for profiles, and app tokens for clients of the service.

mod file;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use casefilter::domain::{DomainErrorKind, create_share_token};
use casefilter::service::{Permission, TokenEntry, TokenFile, Tokens};
use casefilter::{
    Catalog, CatalogError, Error, ErrorKind, Errors, FilterBuilder, Limits, Store, StoreOptions, Suggestion,
};
use chrono::{DateTime, TimeDelta, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use crate::commands::token::file::LockedTokens;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::{CatalogFile, stored};
use crate::input::duration;
use crate::output::dash::refuse_stdout;
use crate::output::diagnostics::{Fault, Source};
use crate::output::ending::{AS_IMPORTED, Contents, check_database};
use crate::output::escape::{escape, quote};
use crate::output::failure::{Failure, failed, note};
use crate::output::file::{create_private, finish_private};
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Make tokens
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    token: Token,
}

#[derive(clap::Subcommand)]
enum Token {
    Share(Share),
    App(App),
}

/// Make a share token, which permits the preview of a profile and one copy of it
///
/// The token is printed once. The database stores only its hash. If a service has the database open, the service makes the token,
/// which is then valid at once.
///
/// With `> FILE` the shell creates a file that other users can usually read. With --output the command writes the token to a new
/// file that only its owner can read.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter token share --db cases.db --applicant 6512f0 --expires 20m
  casefilter token share --db cases.db --applicant 6512f0 -o share.txt")]
struct Share {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The id of the applicant
    #[arg(long, value_name = "ID")]
    applicant: String,

    #[arg(long, value_name = duration::VALUE, help = expires_help(), default_value = "1h", value_parser = lifetime)]
    expires: TimeDelta,

    /// A new file for the token, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    admin: Admin,
}

fn expires_help() -> String {
    format!("Lifetime of the token: {}, such as 20m or 7d; in whole seconds", duration::FORM)
}

/// Make an app token, for a client of the service
///
/// The secret has 256 random bits. With --file the token is added to that file. If the file is new, only its owner can read it; an
/// existing file keeps its mode. Without --file the command prints a token file that contains only this token. Names are unique
/// within a file. Several commands may add tokens to the same file at the same time. Restart a running service to make the token
/// known to it.
///
/// The output contains the secret. With --output the command writes it to a new file that only its owner can read. The umask has no
/// effect on this.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter token app --file tokens.json --name dashboard --allow viewCases,viewApplicants -o dashboard.json
  casefilter token app --file tokens.json --allow viewCases --filter 'clientId = acme' --fields name,status,createdAt
  casefilter token app --file tokens.json --allow viewCases --catalog orders.db --filter 'total < 1000'")]
struct App {
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
    /// of cases. If only some cases have a field, the field reveals other fields: createdByRule.title reveals that createdByType is
    /// byRule
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// A filter in the text syntax: the token can find only cases that it selects [default: all cases]. This does not apply to the
    /// permissions for applicants and AML cases
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    #[command(flatten)]
    catalog: CatalogFile,
}

fn permission() -> impl TypedValueParser<Value = Permission> {
    let names = PossibleValuesParser::new(Permission::ALL.map(Permission::name));
    names.try_map(|name| {
        Permission::ALL.into_iter().find(|own| own.name() == name).ok_or("no such permission")
    })
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    match &args.token {
        Token::Share(args) => share(args),
        Token::App(args) => app(args),
    }
}

fn app(args: &App) -> Result<Status, Failure> {
    let App { file, name, output, allow, fields, filter, catalog } = args;
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

/// Adds a token to a file. Before that, calls `before`, which prints warnings and writes the secret to the file of --output, if
/// given. A stored token is useless if its secret is lost.
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
        // The default name of a token is its number.
        let number = || tokens.names().count().saturating_add(1).to_string();
        let own_name = name.map_or_else(number, str::to_owned);
        if tokens.names().any(|other| other == own_name) {
            return Err(Failure::Usage(format!(
                "{} has a token named {} already: use that one, give another --name, or take its entry out of the file first",
                escape(&path.display().to_string()),
                quote(&own_name)
            )));
        }
        let text = text_with(tokens, entry.clone(), catalog)?;
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

/// Writes lines to a new file that only its owner can read, or to standard output if `output` is `None`.
fn print(output: Option<&Path>, lines: &str) -> Result<(), Failure> {
    if let Some(output) = output {
        return finish_private(output, create_private(output)?, lines);
    }
    let mut out = Output::new();
    out.lines(lines)?;
    out.finish()
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

fn share(args: &Share) -> Result<Status, Failure> {
    check_database(&args.db, AS_IMPORTED)?;
    if let Some(output) = &args.output {
        refuse_stdout(output, "without --output the token is printed")?;
        Contents::ShareToken.check_output(output)?;
    }
    // The file is created first. If this fails, no token is created.
    let new = args.output.as_deref().map(create_private).transpose()?;
    let catalog = stored(&args.db, &args.admin)?;
    let open = || Store::open(&args.db, catalog.clone(), StoreOptions::default());
    let token = match args.admin.open(&args.db, open)? {
        Opened::Local(store) => mint(store, args)?,
        Opened::Served(mut service) => {
            let request = NewToken { applicant_id: &args.applicant, lifetime_s: args.expires.num_seconds() };
            let minted: Minted = service.post("/share-tokens", &request)?;
            minted.token
        }
    };
    if let (Some(path), Some(new)) = (&args.output, new) {
        finish_private(path, new, &format!("{token}\n"))?;
        return Ok(Status::Fine);
    }
    let mut out = Output::new();
    out.line(&token)?;
    out.finish()?;
    Ok(Status::Fine)
}

/// The body of the request to a service that creates a share token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewToken<'a> {
    applicant_id: &'a str,
    lifetime_s: i64,
}

/// The response of a service that created a share token.
#[derive(Deserialize)]
struct Minted {
    token: String,
}

fn mint(store: Store, args: &Share) -> Result<String, Failure> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    let token = create_share_token(&store, &args.applicant, args.expires, now).map_err(|error| {
        let cause = std::error::Error::source(&error).filter(|_| error.kind() == DomainErrorKind::Store);
        let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
        Failure::Failed(escape(&text).into_owned())
    })?;
    store.close().map_err(|error| failed(&error))?;
    Ok(token)
}

/// The maximum lifetime of a share token, in days.
const MOST_LIFETIME_DAYS: i64 = 1000;

/// Parses a lifetime. It must be a number of whole seconds, from 1 second to 1,000 days.
fn lifetime(text: &str) -> Result<TimeDelta, String> {
    let duration = duration::with_unit(text)?;
    let lifetime = TimeDelta::from_std(duration).ok().filter(|lifetime| lifetime.subsec_nanos() == 0);
    lifetime
        .filter(|time| (TimeDelta::seconds(1)..=TimeDelta::days(MOST_LIFETIME_DAYS)).contains(time))
        .ok_or_else(|| format!("expected whole seconds, from 1s to {MOST_LIFETIME_DAYS}d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_duration_of_whole_seconds_within_bounds() {
        assert_eq!(lifetime("90s"), Ok(TimeDelta::seconds(90)));
        assert_eq!(lifetime("2000ms"), Ok(TimeDelta::seconds(2)));
        assert_eq!(lifetime("1000d"), Ok(TimeDelta::days(1000)));
        assert_eq!(lifetime("7d"), Ok(TimeDelta::days(7)));
        for text in
            ["", "h", "1", "1w", "0s", "500ms", "1500ms", "-1h", "1001d", "9223372036854775807d", "1 h", "é"]
        {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
