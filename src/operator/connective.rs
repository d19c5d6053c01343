//! The connectives of complex criteria, and their spellings in JSON and in the text syntax.

/// A syntax in which clients write filters. Each syntax has its own spelling of operators and connectives.
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

    /// Returns the spelling in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::And => "$and",
            Self::Or => "$or",
        }
    }

    /// Returns the spelling in the text syntax, in lower case.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
        }
    }

    /// Returns the spelling in the given syntax.
    pub(crate) const fn spelled(self, syntax: Syntax) -> &'static str {
        match syntax {
            Syntax::Json => self.name(),
            Syntax::Text => self.word(),
        }
    }

    /// Returns the heading that plans and `why` print above the children.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::And => "all of",
            Self::Or => "any of",
        }
    }

    /// Returns the neutral element: true for `$and`, false for `$or`.
    ///
    /// A branch without children has this value, and a constant child of this value can be dropped.
    pub(crate) const fn neutral(self) -> bool {
        matches!(self, Self::And)
    }

    /// Returns the other connective, as De Morgan's laws exchange them.
    pub(crate) const fn dual(self) -> Self {
        match self {
            Self::And => Self::Or,
            Self::Or => Self::And,
        }
    }

    /// Finds the connective with this spelling in JSON.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|connective| connective.name() == name)
    }

    /// Finds the connective with this spelling in the text syntax; upper and lower case are equal.
    pub(crate) fn find_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|connective| connective.word().eq_ignore_ascii_case(word))
    }
}
