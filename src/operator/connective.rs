//! The connectives of complex criteria, and the syntaxes that spell them.

/// A syntax of filters; each has its own spelling of operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Syntax {
    #[default]
    Json,
    Text,
}

/// The connective that joins the children of a complex criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Connective {
    And,
    Or,
}

impl Connective {
    pub(super) const ALL: [Self; 2] = [Self::And, Self::Or];

    /// Returns the connective as JSON spells it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::And => "$and",
            Self::Or => "$or",
        }
    }

    /// Returns the connective as the text syntax spells it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
        }
    }

    /// Returns the connective as a syntax spells it.
    pub(crate) const fn spelled(self, syntax: Syntax) -> &'static str {
        match syntax {
            Syntax::Json => self.name(),
            Syntax::Text => self.word(),
        }
    }

    /// Returns the phrase that plans and `why` put before the children.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::And => "all of",
            Self::Or => "any of",
        }
    }

    /// Returns the truth of a branch without children, which as a child changes nothing.
    pub(crate) const fn neutral(self) -> bool {
        matches!(self, Self::And)
    }

    /// Returns the other connective.
    pub(crate) const fn dual(self) -> Self {
        match self {
            Self::And => Self::Or,
            Self::Or => Self::And,
        }
    }

    /// Finds the connective that JSON spells so.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|connective| connective.name() == name)
    }

    /// Finds the connective that the text syntax spells so, in any case.
    pub(crate) fn find_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|connective| connective.word().eq_ignore_ascii_case(word))
    }
}
