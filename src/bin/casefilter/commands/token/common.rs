//! Code that the commands on tokens share: lifetimes, changes of a token file, and the output of secrets.

use std::path::Path;
use std::time::SystemTime;

use casefilter::service::TokenFile;
use chrono::{DateTime, TimeDelta, Utc};

use super::file::LockedTokens;
use crate::input::duration;
use crate::output::escape::{escape, quote};
use crate::output::failure::Failure;
use crate::output::file::{create_private, finish_private};
use crate::output::stdout::Output;

/// Writes lines to a new file that only its owner can read, or to standard output if `output` is `None`.
pub(super) fn print(output: Option<&Path>, lines: &str) -> Result<(), Failure> {
    if let Some(output) = output {
        return finish_private(output, create_private(output)?, lines);
    }
    let mut out = Output::new();
    out.lines(lines)?;
    out.finish()
}

/// Locks a token file that exists, changes it, and replaces it.
///
/// `change` gets all entries of the file, and changes the entry `name`. If no entry has this name, or several have it, `change`
/// returns `None`. Then the file stays unchanged, and this function returns an error.
pub(super) fn change<T>(
    path: &Path,
    name: &str,
    change: impl FnOnce(&mut TokenFile) -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let mut locked = LockedTokens::read_existing(path)?;
    let Some(changed) = change(&mut locked.tokens)? else {
        return Err(no_such_token(path, name, &locked.tokens));
    };
    let text = format!("{}\n", locked.tokens.to_json());
    locked.write(&text)?;
    Ok(changed)
}

/// Returns the error for a name that no token of the file has, or that several have.
fn no_such_token(path: &Path, name: &str, tokens: &TokenFile) -> Failure {
    let path = escape(&path.display().to_string()).into_owned();
    let names: Vec<String> = tokens.names().collect();
    if names.iter().any(|own| own == name) {
        return Failure::Failed(format!(
            "{path} has several tokens named {}: give them different names in the file first",
            quote(name)
        ));
    }
    let known = names.iter().map(|own| quote(own).to_string()).collect::<Vec<_>>().join(", ");
    let expected = if known.is_empty() { "it has no token".to_owned() } else { format!("it has {known}") };
    Failure::Failed(format!("{path} has no token named {}: {expected}", quote(name)))
}

/// Returns the time of the system clock, rounded down to a whole second.
pub(super) fn now() -> DateTime<Utc> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    DateTime::from_timestamp(now.timestamp(), 0).unwrap_or(now)
}

/// Returns the end of a lifetime that begins now. The end is rounded up to a whole second, so that the lifetime is not too short.
pub(super) fn end_of(lifetime: TimeDelta) -> Result<DateTime<Utc>, Failure> {
    let next = now().checked_add_signed(TimeDelta::seconds(1));
    let end = next.and_then(|next| next.checked_add_signed(lifetime));
    end.ok_or_else(|| {
        Failure::Failed("the clock of this machine shows a time that is out of range".to_owned())
    })
}

/// The maximum lifetime of a token, in days.
const MOST_LIFETIME_DAYS: i64 = 1000;

/// Parses a lifetime: a duration with a unit, such as `90d`. It must be a multiple of 1 second, from 1 second to 1,000 days.
pub(super) fn lifetime(text: &str) -> Result<TimeDelta, String> {
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
