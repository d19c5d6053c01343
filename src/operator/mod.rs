//! The operators of criteria, in one table.
//!
//! # Model
//!
//! A field criterion compares *V*, the set of the values that a case has in a field, with the *operands*: the values of the
//! criterion, at least one, all of the field's type. V may be empty. Each operator is one row of the table
//! ([`table`]), and the row is all that the rest of the crate knows about the operator:
//!
//! | column | read by |
//! |---|---|
//! | [`name`](Operator::name), as JSON spells it | both parsers of JSON bodies, the printers, `why`, messages |
//! | [`words`](Operator::words), as the text syntax spells it | the parser of texts; the printers take the first one |
//! | [`synonyms`](Operator::meant_by), as other languages spell it | suggestions for a misspelt operator |
//! | [`arity`](Operator::arity) | the parsers |
//! | [`types`](Operator::applies_to) | lowering |
//! | [`shape`](Operator::shape): a [`Quantifier`] and a [`Pattern`] | lowering, lint, hints, the printers, suggestions for spans of time |
//! | [`holds`](Operator::holds), the truth for operands and V | the reference evaluator and `why` |
//! | [`sql`](Operator::sql), the comparison sign of SQL | SQL conditions |
//!
//! # Shape
//!
//! The operands and the pattern make a set S of values; the quantifier says how V has to lie to S. Lowering turns that into a
//! [`Test`](crate::predicate::Test) on a [`Set`](crate::predicate::Set), and from there on no stage knows operators: the
//! optimiser, the engine and SQL see a quantifier and a set. So an operator whose shape consists of a known quantifier and a
//! known pattern is one row. One that makes a new kind of set, such as all strings with a prefix, is a row, a pattern, and that
//! kind of set wherever sets are evaluated.
//!
//! # Invariants
//!
//! - `holds` and `shape` agree for every operand and every V; they are written twice on purpose, because the first is the
//!   oracle for what the second compiles to. `tests` holds them equal.
//! - No two rows share a name or a word.
//! - Rows stand in the order in which messages list them.
//! - Every operator with [`Arity::One`] has one operand only in a criterion without errors.

mod table;
#[cfg(test)]
mod tests;
mod value_set;

use std::fmt;

use self::table::Row;
pub(crate) use self::value_set::ValueSet;
use crate::catalog::FieldType;
use crate::value::Value;

/// How the children of a complex criterion combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Connective {
    And,
    Or,
}

/// The operator of a field criterion.
///
/// It tests the set V of the values that a case has in the field: one value, none, or many where the field lies in an
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

/// A syntax of filters; each has its own spelling of operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Syntax {
    #[default]
    Json,
    Text,
}

/// The number of operands that an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    One,
    OneOrMore,
}

/// The field types that an operator applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    All,
    /// Those whose values have an order: numbers and timestamps.
    Ordered,
}

/// The test that an operator stands for: V compared with the set S of values that the pattern makes of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) quantifier: Quantifier,
    pub(crate) pattern: Pattern,
}

/// How V has to lie to S.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    /// Some member of V is in S.
    Any,
    /// No member of V is in S.
    None,
    /// Every member of S is in V.
    All,
}

/// The set S that the operands stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The operands themselves.
    Points,
    /// All values on one side of the only operand.
    Ray(Ray),
}

/// A half-line of an ordered type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ray {
    pub(crate) side: Side,
    /// True when the end belongs to it.
    pub(crate) inclusive: bool,
}

/// The side of its end on which a ray lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Above,
    Below,
}

impl Connective {
    const ALL: [Self; 2] = [Self::And, Self::Or];

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

impl Operator {
    /// Returns the operator as JSON spells it.
    ///
    /// ```
    /// assert_eq!(casefilter::Operator::NotEqual.name(), "<>");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the spellings of the text syntax, the one that printers use first.
    pub(crate) fn words(self) -> &'static [&'static str] {
        self.row().words
    }

    /// Returns the operator as a syntax spells it.
    pub(crate) fn spelled(self, syntax: Syntax) -> &'static str {
        match syntax {
            Syntax::Json => self.name(),
            Syntax::Text => self.words().first().copied().unwrap_or_default(),
        }
    }

    /// Finds the operator that JSON spells so.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// Finds the operator that the text syntax spells so, in any case.
    pub(crate) fn find_word(word: &str) -> Option<Self> {
        let is_spelled = |operator: &Self| operator.words().iter().any(|own| own.eq_ignore_ascii_case(word));
        Self::ALL.into_iter().find(is_spelled)
    }

    /// Finds the operator that other languages spell so, in lower case.
    pub(crate) fn meant_by(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.row().synonyms.contains(&word))
    }

    /// Returns the number of operands that the operator takes.
    pub(crate) fn arity(self) -> Arity {
        self.row().arity
    }

    /// True when criteria may have the operator on fields of this type.
    pub(crate) fn applies_to(self, kind: FieldType) -> bool {
        match self.row().types {
            Types::All => true,
            Types::Ordered => kind.is_ordered(),
        }
    }

    /// Returns the test that the operator stands for.
    pub(crate) fn shape(self) -> Shape {
        self.row().shape
    }

    /// Returns the operator that compares with a ray.
    pub(crate) const fn of_ray(ray: Ray) -> Self {
        match ray {
            Ray { side: Side::Above, inclusive: false } => Self::Greater,
            Ray { side: Side::Above, inclusive: true } => Self::GreaterOrEqual,
            Ray { side: Side::Below, inclusive: false } => Self::Less,
            Ray { side: Side::Below, inclusive: true } => Self::LessOrEqual,
        }
    }

    /// Returns the ray that the operator compares with; `None` for an operator without one.
    pub(crate) fn ray(self) -> Option<Ray> {
        match self.shape().pattern {
            Pattern::Points => None,
            Pattern::Ray(ray) => Some(ray),
        }
    }

    /// Returns the truth of a criterion with these operands for a case with the value set `set`.
    ///
    /// This is the table of the specification, section 2, word for word. It takes logarithmic time for each operand.
    pub(crate) fn holds(self, operands: &[Value<'_>], set: &ValueSet<'_>) -> bool {
        (self.row().holds)(operands, set)
    }

    /// Returns the sign with which SQL compares a column with the only operand.
    #[cfg(feature = "sql")]
    pub(crate) fn sql(self) -> &'static str {
        self.row().sql
    }

    fn row(self) -> &'static Row {
        table::row(self)
    }
}

impl Arity {
    /// True when this many operands are too many.
    pub(crate) const fn is_exceeded_by(self, operands: usize) -> bool {
        matches!(self, Self::One) && operands > 1
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
