//! The argument `--as-of`: searches a database as it was at an earlier moment.

use casefilter::AsOf;

use crate::input::cases::Cases;
use crate::output::failure::Failure;

/// The argument for an earlier moment. Searches find the cases as they were at this moment.
#[derive(clap::Args)]
pub(crate) struct AsOfArg {
    /// Search the cases as they were after a write (a number), or at a time, such as '2026-11-27 08:00:00' or 2026-11-27
    ///
    /// Needs a database with a history: `serve --history 90d` or `import --history 90d` begins it. A time is in UTC, or has an
    /// offset; a day means the end of that day. The audit log of a service has the numbers of writes (lastWrite). Hints on the
    /// filter are not printed.
    #[arg(long, value_name = "N|TIME")]
    as_of: Option<AsOf>,
}

impl AsOfArg {
    /// Returns the moment. Rejects cases from files, because files have no history.
    pub(crate) fn of(&self, cases: &Cases) -> Result<Option<AsOf>, Failure> {
        if self.as_of.is_some() && cases.database().is_none() {
            let message =
                "--as-of is for a database alone, because files have no history: expected `--db FILE`";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(self.as_of)
    }
}
