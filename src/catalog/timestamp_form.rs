//! The forms in which documents may contain timestamps, such as RFC 3339 or Unix seconds.

/// The form in which documents contain the values of a timestamp field.
///
/// The form affects only documents. In JSON bodies, timestamps are always in the form of the interface document: `yyyy-MM-dd
/// HH:mm:ss`, with or without an offset. Filters in the text syntax also accept RFC 3339, days, and times such as `now - 7d`. In
/// both, the accepted forms are the same for every timestamp field.
///
/// ```
/// use casefilter::{Catalog, Field, FieldType, Filter, TimestampForm};
/// let at = Field::new("at", FieldType::Timestamp).with_form(TimestampForm::Rfc3339);
/// let filter = Filter::compile_text(&Catalog::new([at])?, "at >= '2025-12-01 10:00:00'")?;
/// assert!(filter.matches(br#"{"id":"1","at":"2025-12-01T10:00:00.250Z"}"#)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimestampForm {
    /// The form of the interface document: a string `yyyy-MM-dd HH:mm:ss`, optionally with an offset. Without an offset, the time
    /// is in UTC.
    #[default]
    Interface,
    /// RFC 3339, such as `2025-12-01T10:00:00Z`, with at most three digits of a fraction. More digits are an error, unless they are
    /// zeros.
    Rfc3339,
    /// Either of the two forms above.
    InterfaceOrRfc3339,
    /// A date `yyyy-MM-dd`. Its value is the start of the day in UTC.
    Date,
    /// Seconds since 1970-01-01 00:00:00 UTC, as a JSON integer or as a string that contains an integer.
    UnixSeconds,
    /// Milliseconds since 1970-01-01 00:00:00 UTC, as a JSON integer or as a string that contains an integer.
    UnixMillis,
}

impl TimestampForm {
    /// All forms.
    pub(crate) const ALL: [Self; 6] = [
        Self::Interface,
        Self::Rfc3339,
        Self::InterfaceOrRfc3339,
        Self::Date,
        Self::UnixSeconds,
        Self::UnixMillis,
    ];

    /// Returns the name of the form in catalogue files and in the description of a database, in snake case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interface => "interface",
            Self::Rfc3339 => "rfc3339",
            Self::InterfaceOrRfc3339 => "interface_or_rfc3339",
            Self::Date => "date",
            Self::UnixSeconds => "unix_seconds",
            Self::UnixMillis => "unix_millis",
        }
    }

    /// Returns a description of the valid values, for error messages.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::Interface => "a string `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset",
            Self::Rfc3339 => {
                "a string as in RFC 3339 with at most milliseconds, such as `2025-12-01T10:00:00Z`"
            }
            Self::InterfaceOrRfc3339 => {
                "a string `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset, or one as in RFC 3339 with at most milliseconds"
            }
            Self::Date => "a date, a string `yyyy-MM-dd`",
            Self::UnixSeconds => "Unix seconds, an integer or a string that contains an integer",
            Self::UnixMillis => "Unix milliseconds, an integer or a string that contains an integer",
        }
    }

    /// Returns true if every value is a JSON string that contains a date, and also a time unless the form is `Date`.
    pub(crate) const fn is_text(self) -> bool {
        !matches!(self, Self::UnixSeconds | Self::UnixMillis)
    }

    /// Returns true if values can have fractions of a second.
    pub(crate) const fn has_millis(self) -> bool {
        matches!(self, Self::Rfc3339 | Self::InterfaceOrRfc3339 | Self::UnixMillis)
    }
}
