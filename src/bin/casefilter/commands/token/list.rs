//! The command `token list`: lists the tokens of a token file, without their secrets.

use std::path::PathBuf;

use casefilter::service::{Permission, TokenEntry, TokenFile};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use super::common::now;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{self, Column, Fit};

/// List the tokens of a file, without their secrets
///
/// The metric casefilter_token_last_use_timestamp_seconds of a running service has the time at which each token was last used.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter token list --file tokens.json
  casefilter token list --file tokens.json --format json | jq -r '.[] | select(.state == \"expired\") | .name'")]
pub(super) struct List {
    /// The token file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// JSON or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// A token of the file, as the command prints it: without its secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'f> {
    name: String,
    token: &'f str,
    state: &'static str,
    permissions: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'f [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'f [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// The time until which the previous secret is valid, if that is in the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_secret_until: Option<String>,
}

impl<'f> Listed<'f> {
    fn new(name: String, entry: &'f TokenEntry, now: DateTime<Utc>) -> Self {
        let previous = entry.rotates_until().filter(|until| *until > now);
        let state = match entry.expires() {
            Some(expires) if expires <= now => "expired",
            _ if previous.is_some() => "rotating",
            _ => "valid",
        };
        Self {
            name,
            token: entry.token(),
            state,
            permissions: entry.permissions().iter().copied().map(Permission::name).collect(),
            fields: entry.fields(),
            filter: entry.filter(),
            clients: entry.clients(),
            expires: entry.expires().map(text_of),
            previous_secret_until: previous.map(text_of),
        }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.state.to_owned(),
            self.expires.clone().unwrap_or_default(),
            self.permissions.join(","),
            self.fields.map(|fields| fields.join(",")).unwrap_or_default(),
            self.filter.unwrap_or_default().to_owned(),
            self.clients.map(|clients| clients.join(",")).unwrap_or_default(),
        ]
    }
}

fn text_of(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

pub(super) fn list(args: &List) -> Result<Status, Failure> {
    let file = TokenFile::read(&args.file)
        .map_err(|error| Failure::io("cannot read", &args.file.display().to_string(), &error))?;
    let now = now();
    let entries = file.entries().iter().zip(file.names());
    let listed: Vec<Listed<'_>> = entries.map(|(entry, name)| Listed::new(name, entry, now)).collect();
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&listed)?,
        Format::Table => {
            let columns = ["name", "state", "expires", "permissions", "fields", "filter", "clients"];
            let columns = columns.map(Column::whole);
            let rows: Vec<Vec<String>> = listed.iter().map(Listed::row).collect();
            out.escaped_lines(&table::render(&columns, &rows, Fit::LeaveOut))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
