//! The forms in which documents have timestamps.

/// The form in which documents have the values of a timestamp field.
///
/// The form affects documents only. In criteria, timestamps are always in the form of the interface, `yyyy-MM-dd HH:mm:ss` with an offset
/// or without.
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
    /// The form of the interface document: a string `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset.
    #[default]
    Interface,
    /// RFC 3339, such as `2025-12-01T10:00:00Z`, with up to milliseconds. Finer fractions are errors.
    Rfc3339,
    /// Either of the two forms above.
    InterfaceOrRfc3339,
    /// A date `yyyy-MM-dd`, which is midnight UTC at its start.
    Date,
    /// Seconds since 1970-01-01 00:00:00 UTC, an integer or a string of one.
    UnixSeconds,
    /// Milliseconds since 1970-01-01 00:00:00 UTC, an integer or a string of one.
    UnixMillis,
}

impl TimestampForm {
    /// All forms.
    pub(super) const ALL: [Self; 6] = [
        Self::Interface,
        Self::Rfc3339,
        Self::InterfaceOrRfc3339,
        Self::Date,
        Self::UnixSeconds,
        Self::UnixMillis,
    ];

    /// Returns the name in catalogue files and in the description of a database, in snake case.
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

    /// Returns the description of a valid value, for errors.
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
            Self::UnixSeconds => "Unix seconds, an integer or a string of one",
            Self::UnixMillis => "Unix milliseconds, an integer or a string of one",
        }
    }

    /// Returns true if every value is a JSON string of a date and, except in dates alone, a time.
    pub(crate) const fn is_text(self) -> bool {
        !matches!(self, Self::UnixSeconds | Self::UnixMillis)
    }

    /// Returns true if values can have fractions of a second.
    pub(crate) const fn has_millis(self) -> bool {
        matches!(self, Self::Rfc3339 | Self::InterfaceOrRfc3339 | Self::UnixMillis)
    }
}
