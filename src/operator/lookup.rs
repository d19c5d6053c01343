//! Lookups in the table: the columns of an operator, and the operator of a spelling or a ray.

use std::fmt;

use super::connective::Syntax;
use super::shape::{Arity, Pattern, Ray, Shape, Side, Types};
use super::table::{self, Operator, Row};
use super::value_set::ValueSet;
use crate::catalog::FieldType;
use crate::value::Value;

impl Operator {
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

    pub(super) fn row(self) -> &'static Row {
        table::row(self)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
