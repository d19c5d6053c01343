//! What records look like: checked when they come in (`check`), and copied by when they go out (`copy`).
//!
//! A schema names the members that this library knows, with their types. Members that it does not know are
//! kept and served as they came. Nothing recurses deeper than the schemas do, which are constants.

/// The members of an object.
pub(super) struct Schema {
    pub(super) members: &'static [Member],
}

/// A member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
    pub(super) sight: Sight,
}

/// What an object is without a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// An object without it is refused.
    Required,
    /// It may be absent, and that decides something: a value at fault does not count as absent, not even in a lenient import.
    Decisive,
    Optional,
}

/// Who gets to see a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Everyone,
    /// Those who may view personal data.
    Personal,
    /// Nobody: it is for this library alone.
    Internal,
}

/// What a value may be. `null` counts as absent.
pub(super) enum Kind {
    /// A string of 1 to 1,024 bytes without control characters, or an integer, which becomes one.
    Id,
    /// An id that nothing refers to: any string, or an integer, which becomes one.
    LooseId,
    /// An [`Id`](Self::Id) that names a step; others than the known ones are noted.
    Step,
    Text,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A code of ISO 3166-1 alpha-3, or of a machine-readable travel document; Germany's short code becomes `DEU`.
    Country,
    /// `yyyy-MM-dd`.
    Date,
    /// `yyyy-MM-dd` or `yyyy`.
    DateOrYear,
    /// `yyyy-MM-dd HH:mm:ss`, in UTC; one with an offset becomes that.
    Moment,
    /// `yyyy-MM-dd HH:mm:ss` and an offset; UTC without one, which is counted.
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
        Self { name, kind, need: Need::Optional, sight: Sight::Everyone }
    }

    pub(super) const fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    pub(super) const fn decisive(self) -> Self {
        Self { need: Need::Decisive, ..self }
    }

    pub(super) const fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }
}

impl Schema {
    pub(super) fn member(&self, name: &str) -> Option<&'static Member> {
        self.members.iter().find(|member| member.name == name)
    }
}
