//! Defines the types of the columns of the operator table: arity, field types, operands, quantifier and pattern.

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
    /// The types of ordered values: numbers, integers, decimals and timestamps. Also strings, if their field compares by the rank
    /// of its known values.
    Ordered,
    /// Strings only.
    Strings,
}

/// The kind of operands that an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Values of the field's type.
    OfField,
    /// `true` or `false`, for a field of any type.
    Truth,
    /// Strings that are not empty.
    NotEmpty,
    /// A string with at least one word.
    Words,
}

/// The meaning of an operator: a relation (the quantifier) between two sets. V is the set of the values of a case. S is the set
/// that the pattern creates from the operands.
///
/// `amount > 5` has the quantifier [`Any`](Quantifier::Any) and the pattern [`Ray`](Pattern::Ray). It is true if at least one
/// value of the case is in the set of all numbers above 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) quantifier: Quantifier,
    pub(crate) pattern: Pattern,
}

/// A relation between two sets: V, the values of a case in a field, and S, the set of the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    /// At least one member of V is in S. False for an empty V. All operators except `<>` and `$all` have this quantifier.
    Any,
    /// No member of V is in S: `<>`. True for an empty V.
    None,
    /// Every member of S is in V: `$all`.
    All,
}

/// The rule that turns the operands of a criterion into the set S.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// S contains exactly the operands: `$contains (a, b)` gives `{a, b}`.
    Points,
    /// S contains all values on one side of the only operand: `>= 5` gives 5 and all greater numbers.
    Ray(Ray),
    /// S contains all values of the field's type. The operand `true` requires that V is not empty. The operand `false` requires
    /// that V is empty.
    Present,
    /// S is the set of all strings that start with at least one of the operands.
    Prefixes,
    /// S is the set of all strings that contain at least one of the operands.
    Substrings,
    /// S is the set of all strings that contain every word of the operand. The string and the operand are folded before the
    /// comparison, so case and accents do not matter.
    Words,
}

/// A ray: all values of an ordered type on one side of an end point, such as all numbers above 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ray {
    pub(crate) side: Side,
    /// True if the end point belongs to the ray.
    pub(crate) inclusive: bool,
}

/// The side of the end point on which the values of a ray lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Above,
    Below,
}

impl Arity {
    /// Returns true if this number of operands is too large.
    pub(crate) const fn is_exceeded_by(self, operands: usize) -> bool {
        matches!(self, Self::One) && operands > 1
    }
}
