//! Schemas of records, by which imports check them (`check`) and answers copy them (`copy`).
//!
//! A schema names the members that this library knows, with their types. Other members are kept and served in their spelling. Schemas
//! are constants, so code that follows them recurses to a bounded depth.

/// The members of an object.
pub(super) struct Schema {
    pub(super) members: &'static [Member],
}

/// A member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
    pub(super) visibility: Visibility,
}

/// The consequence of an absent member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The member must be present; otherwise the object is invalid.
    Required,
    /// The member is optional, but its absence has a meaning of its own. So a lenient import rejects the object if the value is invalid.
    Decisive,
    /// The member is optional. A lenient import counts an invalid value as absent.
    Optional,
}

/// The readers to whom answers show a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// All readers.
    Everyone,
    /// Readers with permission to view personal data.
    Personal,
    /// No readers: only this library uses the member.
    Internal,
}

/// The type of a value. `null` counts as absent.
pub(super) enum Kind {
    /// A string of 1 to 1,024 bytes without control characters. An integer becomes a string.
    Id,
    /// An id that no record refers to: any string. An integer becomes a string.
    LooseId,
    /// The [`Id`](Self::Id) of a step. Steps that the interface document does not list are noted.
    Step,
    Text,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A code of ISO 3166-1 alpha-3, or of a machine-readable travel document. Germany's short code becomes `DEU`.
    Country,
    /// `yyyy-MM-dd`.
    Date,
    /// `yyyy-MM-dd` or `yyyy`.
    DateOrYear,
    /// `yyyy-MM-dd HH:mm:ss` in UTC. A time with an offset is converted.
    Moment,
    /// `yyyy-MM-dd HH:mm:ss` and an offset. A time without an offset counts as UTC, and is counted.
    ZonedMoment,
    Boolean,
    /// A number without fraction or exponent, of at most eighteen characters.
    Integer,
    /// An integer from 0 to 1,000.
    Count,
    Number,
    Object(&'static Schema),
    List(&'static Kind),
    /// An object with any keys, whose values have one kind.
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
