//! The command `token rotate`: gives an app token a new secret.

use std::fs;
use std::path::PathBuf;

use chrono::TimeDelta;

use super::common::{change, end_of, lifetime, now, print};
use crate::input::duration;
use crate::output::dash::refuse_stdout;
use crate::output::ending::Contents;
use crate::output::escape::quote;
use crate::output::failure::{Failure, note};
use crate::output::status::Status;

/// Give a token a new secret; the old secret stays valid for a while
///
/// The command writes the token with its new secret. Until --overlap has passed, a running service accepts both secrets, so that
/// the client can change over without an outage. Everything else about the token stays, such as its permissions and clients. A
/// secret that was replaced by an earlier rotation becomes invalid at once. To make a leaked secret invalid, use --overlap 1s.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter token rotate --file tokens.json --name dashboard -o dashboard.json
  casefilter token rotate --file tokens.json --name dashboard --overlap 1s --expires 90d -o dashboard.json")]
pub(super) struct Rotate {
    /// The token file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// The name of the token, as `token list` shows it
    #[arg(long)]
    name: String,

    /// The time for which the old secret is also valid, such as 12h; a multiple of 1s
    #[arg(long, value_name = duration::VALUE, default_value = "7d", value_parser = lifetime)]
    overlap: TimeDelta,

    /// New lifetime of the token, such as 90d; a multiple of 1s [default: the expiry of the token does not change]
    #[arg(long, value_name = duration::VALUE, value_parser = lifetime)]
    expires: Option<TimeDelta>,

    /// A new file for the token and its new secret, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn rotate(args: &Rotate) -> Result<Status, Failure> {
    refuse_stdout(&args.file, "the command changes the token file")?;
    if let Some(output) = &args.output {
        refuse_stdout(output, "without --output the secret is printed")?;
        Contents::Tokens.check_output(output)?;
    }
    let until = end_of(args.overlap)?;
    let expires = args.expires.map(end_of).transpose()?;
    let mut has_output = false;
    let rotated = change(&args.file, &args.name, |tokens| {
        let Some(entry) = tokens.get_mut(&args.name) else { return Ok(None) };
        if expires.is_none() && entry.expires().is_some_and(|expires| expires <= now()) {
            note(format!("warning: the token {} has expired: use --expires\n", quote(&args.name)));
        }
        entry.rotate(until).map_err(|error| Failure::io("cannot make", "a secret", &error))?;
        if let Some(expires) = expires {
            *entry = entry.clone().with_expiry(expires);
        }
        let secret = format!("{}\n", serde_json::json!({ "token": entry.token(), "secret": entry.secret() }));
        // The secret is written first: if it were lost, only the old secret could be used.
        if args.output.is_some() {
            print(args.output.as_deref(), &secret)?;
            has_output = true;
        }
        Ok(Some(secret))
    });
    let secret = rotated.inspect_err(|_| {
        if let Some(output) = args.output.as_ref().filter(|_| has_output) {
            let _ = fs::remove_file(output);
        }
    })?;
    if args.output.is_none() {
        print(None, &secret)?;
    }
    Ok(Status::Fine)
}
