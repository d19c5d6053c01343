//! Intervals of the calendar: the number of the interval that holds an instant, and the first instant of an interval.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "instants of 64 bits, offsets of less than a day and numbers of their intervals, computed in 128 bits"
)]

use std::fmt;
use std::str::FromStr;

use crate::catalog::ParseNameError;

/// An interval of the calendar, for histograms of timestamps.
///
/// Weeks are those of ISO 8601, which start on Monday. Quarters start in January, April, July and October.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FacetInterval {
    /// 60 minutes, from the full hour.
    Hour,
    /// 24 hours, from midnight.
    Day,
    /// Seven days, from Monday.
    Week,
    /// A calendar month.
    Month,
    /// Three calendar months.
    Quarter,
    /// A calendar year.
    Year,
}

const MS_PER_HOUR: i128 = 3_600_000;
const MS_PER_DAY: i128 = 24 * MS_PER_HOUR;
/// The number of days from a Monday to 1970-01-01, which was a Thursday.
const DAYS_FROM_MONDAY: i128 = 3;
/// The number of days from 0000-03-01 to 1970-01-01, in the proleptic Gregorian calendar.
const DAYS_FROM_MARCH_OF_0: i128 = 719_468;
/// The number of days in 400 years.
const DAYS_OF_ERA: i128 = 146_097;

impl FacetInterval {
    /// All intervals, the shortest first.
    pub const ALL: [Self; 6] = [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// Returns the name in request bodies and texts, such as `month`.
    ///
    /// ```
    /// use casefilter::FacetInterval;
    /// assert_eq!(FacetInterval::ALL.map(FacetInterval::name).join(" "), "hour day week month quarter year");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }

    /// Returns the interval with this [name](Self::name).
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interval| interval.name() == name)
    }

    /// Returns the number of the interval that holds an instant. Consecutive intervals have consecutive numbers. `offset_ms` is the
    /// offset of the local time from UTC.
    pub(super) fn number(self, instant_ms: i64, offset_ms: i64) -> i64 {
        let local_ms = i128::from(instant_ms) + i128::from(offset_ms);
        let days = local_ms.div_euclid(MS_PER_DAY);
        let number = match self {
            Self::Hour => local_ms.div_euclid(MS_PER_HOUR),
            Self::Day => days,
            Self::Week => (days + DAYS_FROM_MONDAY).div_euclid(7),
            Self::Month => months(days),
            Self::Quarter => months(days).div_euclid(3),
            Self::Year => months(days).div_euclid(12),
        };
        // An instant has 64 bits, and each interval is longer than one millisecond. So the number fits.
        i64::try_from(number).unwrap_or(0)
    }

    /// Returns the first instant of the interval with this [number](Self::number). Returns `None` if it does not fit into 64 bits.
    pub(super) fn start(self, number: i64, offset_ms: i64) -> Option<i64> {
        let number = i128::from(number);
        let local_ms = match self {
            Self::Hour => number * MS_PER_HOUR,
            Self::Day => number * MS_PER_DAY,
            Self::Week => (number * 7 - DAYS_FROM_MONDAY) * MS_PER_DAY,
            Self::Month => first_day(number) * MS_PER_DAY,
            Self::Quarter => first_day(number * 3) * MS_PER_DAY,
            Self::Year => first_day(number * 12) * MS_PER_DAY,
        };
        i64::try_from(local_ms - i128::from(offset_ms)).ok()
    }
}

impl FromStr for FacetInterval {
    type Err = ParseNameError;

    /// Parses a [name](FacetInterval::name).
    ///
    /// ```
    /// use casefilter::FacetInterval;
    /// assert_eq!("week".parse(), Ok(FacetInterval::Week));
    /// assert!("Week".parse::<FacetInterval>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        ParseNameError::find(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for FacetInterval {
    /// Prints the [name](Self::name).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the number of months from January 1970 to the month of a day. The day is a number of days after 1970-01-01.
///
/// Uses H. Hinnant's algorithm `civil_from_days`. Its years start in March, so a leap day is the last day of its year.
fn months(day: i128) -> i128 {
    let day = day + DAYS_FROM_MARCH_OF_0;
    let era = day.div_euclid(DAYS_OF_ERA);
    let day = day.rem_euclid(DAYS_OF_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    // March of the year 0 is month 2 of that year.
    (era * 400 + year - 1970) * 12 + from_march + 2
}

/// Returns the first day of a month, as a number of days after 1970-01-01. The month is a number of months after January 1970.
fn first_day(month: i128) -> i128 {
    let from_march = month + 1970 * 12 - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day = (153 * month + 2) / 5 + 365 * year + year / 4 - year / 100;
    era * DAYS_OF_ERA + day - DAYS_FROM_MARCH_OF_0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Timestamp;

    #[test]
    fn intervals_start_where_the_calendar_says() {
        let ms = |text: &str| Timestamp::parse(text).unwrap().as_millis();
        let starts = |text: &str, offset_min: i64| {
            FacetInterval::ALL.map(|interval| {
                let offset_ms = offset_min * 60_000;
                let number = interval.number(ms(text), offset_ms);
                Timestamp::from_millis(interval.start(number, offset_ms).unwrap()).to_string()
            })
        };
        let expected = ["2024-02-29 13:00:00", "2024-02-29 00:00:00", "2024-02-26 00:00:00"];
        let longer = ["2024-02-01 00:00:00", "2024-01-01 00:00:00", "2024-01-01 00:00:00"];
        assert_eq!(starts("2024-02-29 13:59:59", 0), [expected, longer].concat().as_slice());
        // 2024-12-31 23:30 UTC is 2025-01-01 05:00 at +05:30, a Wednesday.
        let expected = ["2024-12-31 23:30:00", "2024-12-31 18:30:00", "2024-12-29 18:30:00"];
        let longer = ["2024-12-31 18:30:00"; 3];
        assert_eq!(starts("2024-12-31 23:30:00", 330), [expected, longer].concat().as_slice());
        // Mondays before the epoch and before the year 1.
        assert_eq!(starts("1969-12-31 00:00:00", 0)[2], "1969-12-29 00:00:00");
        assert_eq!(starts("0000-01-02 00:00:00", 0)[3], "0000-01-01 00:00:00");
    }

    #[test]
    fn each_instant_is_in_the_interval_of_its_number() {
        let mut state = 7_u64;
        let spread = (0..2_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state as i64) >> (state % 40)
        });
        for instant in spread.chain([i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]) {
            for interval in FacetInterval::ALL {
                for offset_ms in [0, 5_400_000, -64_800_000] {
                    let number = interval.number(instant, offset_ms);
                    assert!(interval.start(number, offset_ms).is_none_or(|start| start <= instant));
                    assert!(interval.start(number + 1, offset_ms).is_none_or(|end| instant < end));
                    if let Some(start) = interval.start(number, offset_ms) {
                        assert_eq!(interval.number(start, offset_ms), number);
                        assert!(start == i64::MIN || interval.number(start - 1, offset_ms) == number - 1);
                    }
                }
            }
        }
    }
}
