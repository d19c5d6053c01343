//! The operators of criteria.

use std::fmt;

/// How the children of a complex criterion combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Connective {
    And,
    Or,
}

/// The operator of a field criterion.
///
/// What it tests is the set V of the values that a case has in the field: one value, none, or many where the field lies in an
/// array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `=`: the value is in V.
    Equal,
    /// `<>`: the value is not in V.
    NotEqual,
    /// `>`: V has a greater value. For numbers and timestamps, as the next three are.
    Greater,
    /// `>=`: V has the value or a greater one.
    GreaterOrEqual,
    /// `<`: V has a smaller value.
    Less,
    /// `<=`: V has the value or a smaller one.
    LessOrEqual,
    /// `$contains`: any of the values is in V.
    Contains,
    /// `$all`: all of the values are in V.
    All,
}

impl Connective {
    /// The connective as criteria write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::And => "$and",
            Self::Or => "$or",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        match name {
            "$and" => Some(Self::And),
            "$or" => Some(Self::Or),
            _ => None,
        }
    }
}

impl Operator {
    pub(crate) const ALL: [Self; 8] = [
        Self::Equal,
        Self::NotEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Contains,
        Self::All,
    ];

    /// The operator as criteria write it.
    ///
    /// ```
    /// assert_eq!(casefilter::Operator::NotEqual.name(), "<>");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Contains => "$contains",
            Self::All => "$all",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        match name {
            "=" => Some(Self::Equal),
            "<>" => Some(Self::NotEqual),
            ">" => Some(Self::Greater),
            ">=" => Some(Self::GreaterOrEqual),
            "<" => Some(Self::Less),
            "<=" => Some(Self::LessOrEqual),
            "$contains" => Some(Self::Contains),
            "$all" => Some(Self::All),
            _ => None,
        }
    }

    /// True for the operators that need an order: `>`, `>=`, `<`, `<=`.
    pub(crate) fn is_range(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual)
    }

    /// True for the operators that take one value or more; the others take exactly one.
    pub(crate) fn takes_many(self) -> bool {
        matches!(self, Self::Contains | Self::All)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for operator in Operator::ALL {
            assert_eq!(Operator::find(operator.name()), Some(operator));
        }
        for connective in [Connective::And, Connective::Or] {
            assert_eq!(Connective::find(connective.name()), Some(connective));
        }
    }
}
