//! `token`: share tokens of profiles.

use std::path::PathBuf;
use std::time::SystemTime;

use casefilter::domain::{DomainErrorKind, mint_share_token};
use casefilter::{Catalog, Store, StoreOptions};
use chrono::{DateTime, TimeDelta, Utc};

use crate::Status;
use crate::escape::escape;
use crate::failure::Failure;
use crate::held::failed;
use crate::output::Output;

/// Make tokens
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    token: Token,
}

#[derive(clap::Subcommand)]
enum Token {
    Share(Share),
}

/// Make a share token, which opens the preview of a profile and is good for one copy of it
///
/// The token is printed once; the database has only its hash.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter token share --db cases.db --applicant 6512f0 --expires 20m")]
struct Share {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The id of the applicant
    #[arg(long, value_name = "ID")]
    applicant: String,

    /// How long the token is good: a number and s, m, h or d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
    expires: TimeDelta,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let Token::Share(args) = &args.token;
    let store = Store::open(&args.db, Catalog::cases(), StoreOptions::default());
    let store = store.map_err(|error| failed(&error))?;
    let now = DateTime::<Utc>::from(SystemTime::now());
    let token = mint_share_token(&store, &args.applicant, args.expires, now).map_err(|error| {
        let cause = std::error::Error::source(&error).filter(|_| error.kind() == DomainErrorKind::Store);
        let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
        Failure::Failed(escape(&text).into_owned())
    })?;
    store.close().map_err(|error| failed(&error))?;
    let mut out = Output::new();
    out.line(&token)?;
    out.finish()?;
    Ok(Status::Fine)
}

/// Reads a time such as `90s`, `20m`, `1h` or `7d`, of a thousand days at most.
fn lifetime(text: &str) -> Result<TimeDelta, String> {
    let most = TimeDelta::days(1000);
    let parsed = text.char_indices().last().and_then(|(at, unit)| {
        let count: i64 = text.get(..at)?.parse().ok()?;
        match unit {
            's' => TimeDelta::try_seconds(count),
            'm' => TimeDelta::try_minutes(count),
            'h' => TimeDelta::try_hours(count),
            'd' => TimeDelta::try_days(count),
            _ => None,
        }
    });
    parsed
        .filter(|time| (TimeDelta::seconds(1)..=most).contains(time))
        .ok_or_else(|| "expected a number and s, m, h or d, such as 20m, of at most 1000d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_and_a_unit() {
        assert_eq!(lifetime("90s"), Ok(TimeDelta::seconds(90)));
        assert_eq!(lifetime("7d"), Ok(TimeDelta::days(7)));
        for text in ["", "h", "1", "1w", "0s", "-1h", "1001d", "9223372036854775807d", "1 h", "é"] {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
