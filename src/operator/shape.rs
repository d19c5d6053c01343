//! The terms in which the table describes operators.

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
    /// The types whose values have an order: numbers and timestamps.
    Ordered,
}

/// The test that an operator stands for: V compared with the set S of values that the pattern makes of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) quantifier: Quantifier,
    pub(crate) pattern: Pattern,
}

/// The relation between V and S.
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

impl Arity {
    /// True when this many operands are too many.
    pub(crate) const fn is_exceeded_by(self, operands: usize) -> bool {
        matches!(self, Self::One) && operands > 1
    }
}
