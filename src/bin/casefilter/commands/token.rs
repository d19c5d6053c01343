//! `token`: share tokens of profiles, and those who may call the service.

mod file;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use casefilter::domain::{DomainErrorKind, mint_share_token};
use casefilter::service::{Permission, TokenEntry, TokenFile, Tokens};
use casefilter::{Catalog, CatalogError, Error, ErrorKind, Errors, Filter, Limits, Store, StoreOptions};
use chrono::{DateTime, TimeDelta, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use crate::commands::token::file::LockedTokens;
use crate::input::admin::{Admin, Opened};
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

/// Make a share token, which opens the preview of a profile and is good for one copy of it
///
/// The token is printed once; the database has only its hash. A service that has the database open makes it, and knows it at once.
///
/// A shell makes the file of `> FILE` as the umask says, as a rule for all users to read. --output writes the token into a new file
/// that its owner alone can read.
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
    format!("How long the token is good: {}, of whole seconds, such as 20m or 7d", duration::FORM)
}

/// Make an app token, for a client of the service
///
/// The secret is random, 256 bits. With --file the token is added to that file, which is made when it is not there, readable
/// by its owner alone, and keeps its mode when it is; without, a file of one token is printed. Names are unique in a file. A service
/// that runs has to be started again to know the token.
///
/// What is printed has the secret: --output writes it into a new file that its owner alone can read, whatever the umask.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter token app --file tokens.json --name dashboard --allow viewCases,viewApplicants -o dashboard.json
  casefilter token app --file tokens.json --allow viewCases --filter 'clientId = acme' --fields name,status,createdAt")]
struct App {
    /// The file of tokens
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// What logs call it, unlike any other in the file [default: its number]
    #[arg(long)]
    name: Option<String>,

    /// A new file for the token and its secret, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What it may be used for
    #[arg(long, value_name = "PERMISSION,…", required = true, value_delimiter = ',', value_parser = permission())]
    allow: Vec<Permission>,

    /// The fields that it sees of cases, beside their id [default: all]. Only searches of cases are held to them. A
    /// field that only some cases have tells of others: createdByRule.title says that createdByType is byRule
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// The only cases that it sees, in the text syntax [default: all]. Permissions for applicants and AML cases are
    /// not held to it
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
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
    let App { file, name, output, allow, fields, filter } = args;
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
    check(fields.as_deref().unwrap_or_default(), filter.as_deref())?;
    let minted = TokenEntry::mint(allow.clone(), name.clone(), fields.clone(), filter.clone());
    let entry = minted.map_err(|error| Failure::io("cannot make", "a secret", &error))?;
    let Some(path) = file else {
        warn(&entry);
        print(output.as_deref(), &text_with(TokenFile::default(), entry)?)?;
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
    if let Err(failure) = add(path, &entry, name.as_deref(), before) {
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

/// Adds a token to a file, after `before` has succeeded: a token in the file whose secret is lost is of no use.
fn add(
    path: &Path,
    entry: &TokenEntry,
    name: Option<&str>,
    before: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut before = Some(before);
    loop {
        let mut locked = LockedTokens::read(path)?;
        let tokens = std::mem::take(&mut locked.tokens);
        // A token without a name is called by its number.
        let number = || tokens.names().count().saturating_add(1).to_string();
        let own_name = name.map_or_else(number, str::to_owned);
        if tokens.names().any(|other| other == own_name) {
            return Err(Failure::Usage(format!(
                "{} has a token named {} already: use that one, give another --name, or take its entry out of the file first",
                escape(&path.display().to_string()),
                quote(&own_name)
            )));
        }
        let text = text_with(tokens, entry.clone())?;
        before.take().map_or(Ok(()), |before| before())?;
        if locked.write(&text)? {
            return Ok(());
        }
    }
}

/// Returns the text of a file with one more token.
fn text_with(mut tokens: TokenFile, entry: TokenEntry) -> Result<String, Failure> {
    tokens.push(entry);
    Tokens::new(tokens.clone(), &Catalog::cases(), &Limits::default())
        .map_err(|error| Failure::Failed(escape(&error).into_owned()))?;
    Ok(format!("{}\n", tokens.to_json()))
}

/// Warns of what a token permits although its fields and its filter seem to forbid it.
fn warn(entry: &TokenEntry) {
    for caution in entry.cautions() {
        note(format!("warning: {}\n", escape(&caution)));
    }
}

/// Writes lines to a new file that only its owner can read, or to standard output.
fn print(output: Option<&Path>, lines: &str) -> Result<(), Failure> {
    if let Some(output) = output {
        return finish_private(output, create_private(output)?, lines);
    }
    let mut out = Output::new();
    out.lines(lines)?;
    out.finish()
}

/// Refuses a filter and fields that no token can have, as other commands refuse theirs.
fn check(fields: &[String], filter: Option<&str>) -> Result<(), Failure> {
    let catalog = Catalog::cases();
    let mut faults: Vec<(Errors, Source)> = Vec::new();
    if let Some(text) = filter
        && let Err(errors) = Filter::compile_text_with(&catalog, &Limits::default(), text)
    {
        faults.push((errors, Source::argument("--filter", text)));
    }
    let listed = Source::argument("--fields", &fields.join(","));
    let mut offset = 0_usize;
    for field in fields {
        if let Err(CatalogError::UnknownField(_, near)) = catalog.allow([field.as_str()]) {
            let error = Error {
                kind: ErrorKind::UnknownField,
                path: String::new(),
                offset,
                found: quote(field),
                expected: "a field of the catalogue".to_owned(),
                suggestion: near.as_deref().map(quote),
            };
            faults.push((error.into(), listed.clone()));
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
    // A file that cannot be made is no reason to make a token.
    let new = args.output.as_deref().map(create_private).transpose()?;
    let open = || Store::open(&args.db, Catalog::cases(), StoreOptions::default());
    let token = match args.admin.open(&args.db, open)? {
        Opened::Here(store) => mint(store, args)?,
        Opened::There(mut service) => {
            let asked = Asked { applicant_id: &args.applicant, lifetime_s: args.expires.num_seconds() };
            let minted: Minted = service.post("/share-tokens", &asked)?;
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

/// What a service is asked for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    applicant_id: &'a str,
    lifetime_s: i64,
}

/// What a service answers.
#[derive(Deserialize)]
struct Minted {
    token: String,
}

fn mint(store: Store, args: &Share) -> Result<String, Failure> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    let token = mint_share_token(&store, &args.applicant, args.expires, now).map_err(|error| {
        let cause = std::error::Error::source(&error).filter(|_| error.kind() == DomainErrorKind::Store);
        let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
        Failure::Failed(escape(&text).into_owned())
    })?;
    store.close().map_err(|error| failed(&error))?;
    Ok(token)
}

/// The longest lifetime of a share token.
const MOST_LIFETIME_DAYS: i64 = 1000;

/// Reads a lifetime in whole seconds, of a thousand days at most.
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
