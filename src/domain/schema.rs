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
    /// An object without it is a fault.
    Required,
    /// It may be absent, but that changes the meaning. So even a lenient import does not count a faulty value as absent.
    Decisive,
    /// It may be absent, and a lenient import counts a faulty value as absent.
    Optional,
}

/// The readers to whom answers show a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// All readers.
    Everyone,
    /// Readers with permission to view personal data.
    Personal,
    /// None: only this library uses it.
    Internal,
}

/// The type of a value. `null` counts as absent.
pub(super) enum Kind {
    /// A string of 1 to 1,024 bytes without control characters, or an integer, which becomes one.
    Id,
    /// An id that nothing refers to: any string, or an integer, which becomes one.
    LooseId,
    /// An [`Id`](Self::Id) of a step. Steps that the interface document does not list are noted.
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
    /// Any keys, with values of one kind.
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
