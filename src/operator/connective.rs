//! The operators of complex criteria (`$and`, `$or`, `$not` and `$elem`), with their spellings in JSON and in the text syntax. Also
//! the syntaxes and languages of requests.

use crate::catalog::{ElementArray, FieldId, Grammar};

/// A syntax in which clients write filters. Each syntax has its own spelling of operators and connectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Syntax {
    #[default]
    Json,
    Text,
}

/// The language of a request: its syntax and the operators that it may use. The wording of messages depends on the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// JSON with the operators of the interface document, which specifies the service.
    Interface,
    /// JSON with the [extended](crate::Catalog::extended) operators in addition.
    Extended,
    /// The text syntax, which has all operators.
    Text,
}

impl Language {
    /// Returns the language of requests in this syntax. For JSON, `grammar` determines which operators the language has. The text
    /// syntax always has all operators.
    pub(crate) const fn new(syntax: Syntax, grammar: Grammar) -> Self {
        match (syntax, grammar) {
            (Syntax::Text, _) => Self::Text,
            (Syntax::Json, Grammar::Interface) => Self::Interface,
            (Syntax::Json, Grammar::Extended) => Self::Extended,
        }
    }

    pub(crate) const fn syntax(self) -> Syntax {
        match self {
            Self::Interface | Self::Extended => Syntax::Json,
            Self::Text => Syntax::Text,
        }
    }

    pub(crate) const fn grammar(self) -> Grammar {
        match self {
            Self::Interface => Grammar::Interface,
            Self::Extended | Self::Text => Grammar::Extended,
        }
    }

    /// Returns true if requests may use extended operators.
    pub(crate) const fn is_extended(self) -> bool {
        !matches!(self, Self::Interface)
    }
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

    /// Returns the other connective. De Morgan's laws exchange `$and` and `$or` when they move a negation inwards.
    pub(crate) const fn dual(self) -> Self {
        match self {
            Self::And => Self::Or,
            Self::Or => Self::And,
        }
    }

    /// Finds the connective with this spelling in the text syntax. Ignores letter case.
    pub(crate) fn find_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|connective| connective.word().eq_ignore_ascii_case(word))
    }
}

/// The operator of a complex criterion, which joins its children, negates its only child, or tests single elements of an array.
///
/// Negations occur only in the tree of the criteria as the client wrote them. The conversion to the normal form pushes each
/// negation down to the tests. In the normal form, a test of elements is a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Complex {
    Join(Connective),
    /// `$not`: true if its only child is false. An [extended](crate::Catalog::extended) operator.
    Not,
    /// `$elem`: true if the array has an element for which all children of the operator are true. The children test only the values
    /// of that element. An [extended](crate::Catalog::extended) operator.
    Elem(ElementArray),
}

impl Complex {
    /// `$elem` before its array has been looked up. The array in this constant is a placeholder.
    pub(crate) const ELEM: Self = Self::Elem(ElementArray { field: FieldId::ID, level: 0 });

    pub(super) const ALL: [Self; 4] =
        [Self::Join(Connective::And), Self::Join(Connective::Or), Self::Not, Self::ELEM];

    /// Returns the operators that JSON bodies of this grammar may use.
    pub(crate) fn allowed(grammar: Grammar) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |operator| grammar.allows(operator.is_extended()))
    }

    /// Returns the spelling in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Join(connective) => connective.name(),
            Self::Not => "$not",
            Self::Elem(_) => "$elem",
        }
    }

    /// Returns the spelling in the text syntax, in lower case.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Join(connective) => connective.word(),
            Self::Not => "not",
            Self::Elem(_) => "has",
        }
    }

    /// Returns the heading that plans and `why` print above the children.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::Join(connective) => connective.phrase(),
            Self::Not => "not",
            Self::Elem(_) => "an element with all of",
        }
    }

    /// Returns true if the operator is extended. JSON bodies may use such an operator only with an extended catalogue.
    pub(crate) const fn is_extended(self) -> bool {
        matches!(self, Self::Not | Self::Elem(_))
    }

    /// Returns true if the operator takes the path of an array.
    pub(crate) const fn takes_array(self) -> bool {
        matches!(self, Self::Elem(_))
    }

    /// Returns true if the operator takes exactly one child.
    pub(crate) const fn takes_one_child(self) -> bool {
        matches!(self, Self::Not)
    }

    /// Evaluates the operator. `children` contains the results of its children. For `$elem`, all results must be for the same
    /// element.
    pub(crate) fn evaluate(self, mut children: impl Iterator<Item = bool>) -> bool {
        match self {
            Self::Join(Connective::And) | Self::Elem(_) => children.all(|truth| truth),
            Self::Join(Connective::Or) => children.any(|truth| truth),
            Self::Not => !children.any(|truth| truth),
        }
    }

    /// Finds the operator with this spelling in JSON, if the grammar allows it.
    pub(crate) fn find(name: &str, grammar: Grammar) -> Option<Self> {
        Self::allowed(grammar).find(|operator| operator.name() == name)
    }
}

impl From<Connective> for Complex {
    fn from(connective: Connective) -> Self {
        Self::Join(connective)
    }
}
