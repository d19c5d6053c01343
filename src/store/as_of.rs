//! The earlier moment whose documents a search reads, and the error for a moment whose documents are not known.

use std::fmt;
use std::str::FromStr;

use crate::value::{Clock, Timestamp};

/// A moment whose documents can be searched later; see [`Store::as_of`](crate::Store::as_of).
///
/// Its text is the number of a write (such as `1204`), a time, or a day. A time has the form `2026-11-27 08:00:00` (in UTC, or with
/// an offset) or the form of RFC 3339. A day, such as `2026-11-27`, is in UTC, and stands for its last moment.
///
/// ```
/// use casefilter::{AsOf, Timestamp};
/// assert_eq!("1204".parse(), Ok(AsOf::Write(1204)));
/// let noon = Timestamp::parse("2026-11-27 12:00:00")?;
/// assert_eq!("2026-11-27 12:00:00".parse(), Ok(AsOf::Time(noon)));
/// assert_eq!("2026-11-27T13:00:00+01:00".parse(), Ok(AsOf::Time(noon)));
/// assert!("2026-11-27".parse::<AsOf>()? > AsOf::Time(noon));
/// assert!("yesterday".parse::<AsOf>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AsOf {
    /// The moment after the write with this number. 0 is the moment before the first write.
    Write(u64),
    /// The moment directly after the last write at or before this time.
    Time(Timestamp),
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(write) => write!(f, "{write}"),
            Self::Time(time) => f.write_str(&text_of(*time)),
        }
    }
}

/// Returns a time, including its milliseconds, as text that [`AsOf`] can parse.
fn text_of(time: Timestamp) -> String {
    time.to_rfc3339().unwrap_or_else(|| time.to_string())
}

impl FromStr for AsOf {
    type Err = ParseAsOfError;

    fn from_str(text: &str) -> Result<Self, ParseAsOfError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Write).map_err(|_| ParseAsOfError);
        }
        // A text with a `/` is an interval, which is not a moment.
        let moment = Clock::default().parse(text).ok().filter(|_| !text.contains('/'));
        moment.map(|(_, last)| Self::Time(last)).ok_or(ParseAsOfError)
    }
}

/// The error for a text that is not a moment.
///
/// ```
/// let error = "now".parse::<casefilter::AsOf>().unwrap_err();
/// assert!(error.to_string().starts_with("expected the number of a write, or a time"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseAsOfError;

impl fmt::Display for ParseAsOfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected the number of a write, or a time such as `2026-11-27 08:00:00`, `2026-11-27T08:00:00Z` or `2026-11-27`",
        )
    }
}

impl std::error::Error for ParseAsOfError {}

/// The error for a moment for which the documents are not known. It names the moments for which they are known.
///
/// ```
/// use casefilter::{AsOf, Catalog, Store, StoreErrorKind, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// store.upsert_many(br#"[{"id":"a"}]"#)?;
/// let error = store.as_of(AsOf::Write(0)).unwrap_err();
/// assert_eq!(error.kind(), StoreErrorKind::HistoryGone);
/// assert_eq!(error.history_gone().map(|gone| (gone.oldest, gone.last)), Some((None, 1)));
/// assert!(error.to_string().contains("keeps no history"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryGoneError {
    /// The moment that was asked for.
    pub asked: AsOf,
    /// The number and the time of the oldest write after which the documents are known. `None` if the store keeps no history: then
    /// only the current documents are known.
    pub oldest: Option<(u64, Timestamp)>,
    /// The number of the last write.
    pub last: u64,
    /// True if the moment is in the future.
    pub is_future: bool,
}

impl fmt::Display for HistoryGoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, oldest, last, is_future } = self;
        let asked = match asked {
            AsOf::Write(_) => format!("write {asked}"),
            AsOf::Time(_) => format!("the time {asked}"),
        };
        match oldest {
            _ if *is_future => write!(f, "{asked} has not come yet; the last write is {last}"),
            Some((write, time)) => {
                let time = text_of(*time);
                write!(
                    f,
                    "the cases as of {asked} are not kept; the oldest moment kept is write {write}, of {time}"
                )
            }
            None => write!(
                f,
                "the cases as of {asked} are not known, because the database keeps no history; the last write is {last}"
            ),
        }
    }
}

impl std::error::Error for HistoryGoneError {}
