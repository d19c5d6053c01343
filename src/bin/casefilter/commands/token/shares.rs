//! The command `token shares`: lists the share tokens of a database, and the copies that were made with them.

use std::path::PathBuf;

use casefilter::domain::{ListedShareToken, share_tokens};
use serde::Deserialize;

use super::share::message;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::database::open_to_read;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::failure::{Failure, failed};
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{self, Column, Fit};

/// List the share tokens of a database, without their texts, and the copies that were made with them
///
/// If a client has copied a profile, but has not received the answer, an operator can find the copy in this list. For a used share
/// token, the list has the id of the copy, and the id of the client to which the copy belongs. Expired tokens are listed until they
/// are removed. They are removed when new tokens are made. A used token that a client has made is listed for at least a day. The
/// record of a copy keeps the id of the original applicant for ever, and `erase` prints the copies of an applicant.
///
/// A share token that a client has made is also invalid if the app token of this client was revoked. The list does not show that.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter token shares --db cases.db --applicant 6512f0
  casefilter token shares --db cases.db --format json | jq -r 'select(.copyId) | .copyId'")]
pub(super) struct Shares {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// Only the share tokens for this applicant
    #[arg(long, value_name = "ID")]
    applicant: Option<String>,

    #[command(flatten)]
    admin: Admin,

    /// JSON lines or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// The response of a service that lists its share tokens.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    share_tokens: Vec<ListedShareToken>,
}

pub(super) fn shares(args: &Shares) -> Result<Status, Failure> {
    check_database(&args.db, AS_IMPORTED)?;
    let catalog = stored(&args.db, &args.admin)?;
    let mut listed = match args.admin.open(&args.db, || open_to_read(&args.db, &catalog))? {
        Opened::Local(store) => {
            let listed = share_tokens(&store).map_err(|error| Failure::Failed(message(&error)))?;
            store.close().map_err(|error| failed(&error))?;
            listed
        }
        Opened::Served(mut service) => service.get::<List>("/share-tokens")?.share_tokens,
    };
    listed.retain(|share| args.applicant.as_ref().is_none_or(|id| *id == share.applicant_id));
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => listed.iter().try_for_each(|share| out.json(share))?,
        Format::Table => {
            let columns = ["applicant", "state", "expires", "for client", "copy", "client of the copy"];
            let rows: Vec<Vec<String>> = listed.iter().map(row).collect();
            out.escaped_lines(&table::render(&columns.map(Column::whole), &rows, Fit::LeaveOut))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn row(share: &ListedShareToken) -> Vec<String> {
    vec![
        share.applicant_id.clone(),
        if share.used { "used" } else { "unused" }.to_owned(),
        share.expires_at.clone(),
        share.for_client_id.clone().unwrap_or_default(),
        share.copy_id.clone().unwrap_or_default(),
        share.copy_client_id.clone().unwrap_or_default(),
    ]
}
