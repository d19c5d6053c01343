//! The schema types of records. Imports check records against schemas (`check`), and answers copy records by schemas (`copy`).
//!
//! A schema lists the members that this library knows, with their types. Other members are kept. An answer contains them only if
//! its `View` (in `copy`) includes them. Schemas are constants, so code that follows a schema recurses to a bounded depth.

/// The known members of an object.
pub(super) struct Schema {
    pub(super) members: &'static [Member],
}

/// A known member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
    pub(super) visibility: Visibility,
}

/// The consequence of a missing or invalid member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The member must be present. Otherwise, the object is invalid.
    Required,
    /// The member is optional, but its absence has a meaning of its own. So if its value is invalid, a lenient import rejects the
    /// whole object.
    Decisive,
    /// The member is optional. A lenient import treats an invalid value as absent.
    Optional,
}

/// The readers to whom answers show the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// All readers.
    Everyone,
    /// Readers who have the permission to view personal data.
    Personal,
    /// No readers. Only this library uses the member.
    Internal,
}

/// The type of a value. `null` is treated as absent.
pub(super) enum Kind {
    /// A string of 1 to 1,024 bytes without control characters. An integer is converted to a string.
    Id,
    /// An id that no record refers to: any string. An integer is converted to a string.
    LooseId,
    /// The [`Id`](Self::Id) of a step. The import notes steps that the interface document does not list.
    Step,
    Text,
    /// One of the strings in this list.
    OneOf(&'static [&'static str]),
    /// A code of ISO 3166-1 alpha-3, or of a machine-readable travel document. Germany's short code `D` is converted to `DEU`.
    Country,
    /// `yyyy-MM-dd`.
    Date,
    /// `yyyy-MM-dd` or `yyyy`.
    DateOrYear,
    /// A time `yyyy-MM-dd HH:mm:ss` in UTC. A time with an offset is converted to UTC.
    Moment,
    /// A time `yyyy-MM-dd HH:mm:ss` with an offset. A time without an offset is treated as UTC, and the report counts it.
    ZonedMoment,
    Boolean,
    /// A number without fraction or exponent, of at most 18 characters.
    Integer,
    /// An integer from 0 to 1,000.
    Count,
    Number,
    Object(&'static Schema),
    List(&'static Kind),
    /// An object with any keys. All values have this kind.
    Map(&'static Kind),
    Any,
}

impl Member {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, need: Need::Optional, visibility: Visibility::Everyone }
    }

    pub(super) const fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    pub(super) const fn decisive(self) -> Self {
        Self { need: Need::Decisive, ..self }
    }

    pub(super) const fn visible_to(self, visibility: Visibility) -> Self {
        Self { visibility, ..self }
    }
}

impl Schema {
    pub(super) fn member(&self, name: &str) -> Option<&'static Member> {
        self.members.iter().find(|member| member.name == name)
    }
}
