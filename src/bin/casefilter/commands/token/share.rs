//! The command `token share`: creates a share token for the profile of an applicant.

use std::path::PathBuf;
use std::time::SystemTime;

use casefilter::domain::{DomainError, DomainErrorKind, create_share_token};
use casefilter::{Store, StoreOptions};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::common::lifetime;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::duration;
use crate::output::dash::refuse_stdout;
use crate::output::ending::{AS_IMPORTED, Contents, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed};
use crate::output::file::{create_private, finish_private};
use crate::output::status::Status;
use crate::output::stdout::Output;

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
pub(super) struct Share {
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
    format!("Lifetime of the token: {}, such as 20m or 7d; a multiple of 1s", duration::FORM)
}

pub(super) fn share(args: &Share) -> Result<Status, Failure> {
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
    let token = create_share_token(&store, &args.applicant, args.expires, now);
    let token = token.map_err(|error| Failure::Failed(message(&error)))?;
    store.close().map_err(|error| failed(&error))?;
    Ok(token)
}

/// Returns the message of an error. If an error of the database caused the error, returns the message of the database error.
pub(super) fn message(error: &DomainError) -> String {
    let cause = std::error::Error::source(error).filter(|_| error.kind() == DomainErrorKind::Store);
    escape(&cause.map_or_else(|| error.to_string(), ToString::to_string)).into_owned()
}
