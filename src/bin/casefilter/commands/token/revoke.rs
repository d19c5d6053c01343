//! The command `token revoke`: removes app tokens from a token file.

use std::path::PathBuf;

use super::common::change;
use crate::output::dash::refuse_stdout;
use crate::output::escape::quote;
use crate::output::failure::{Failure, note};
use crate::output::status::Status;

/// Remove a token from a file
///
/// A running service applies the change within a second. It then rejects new requests with the token. Requests that have already
/// begun are still answered. All other tokens keep their names.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter token revoke --file tokens.json --name dashboard")]
pub(super) struct Revoke {
    /// The token file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// The name of the token, as `token list` shows it
    #[arg(long)]
    name: String,
}

pub(super) fn revoke(args: &Revoke) -> Result<Status, Failure> {
    refuse_stdout(&args.file, "the command changes the token file")?;
    change(&args.file, &args.name, |tokens| Ok(tokens.remove(&args.name)))?;
    note(format!("the token {} is no longer in the file\n", quote(&args.name)));
    Ok(Status::Fine)
}
