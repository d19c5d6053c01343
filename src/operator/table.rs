//! The operators and their rows: all that is particular to an operator stands here.

use super::shape::{Arity, Pattern, Quantifier, Ray, Shape, Side, Types};
use super::value_set::ValueSet;
use crate::value::Value;

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

/// One row; the docs of the module say what its columns mean and which code reads them.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    /// In lower case, without blanks, `_` and `-`. Words that mean another operator on some fields are in `criteria::advice`.
    pub(super) synonyms: &'static [&'static str],
    pub(super) arity: Arity,
    pub(super) types: Types,
    pub(super) shape: Shape,
    pub(super) holds: fn(&[Value<'_>], &ValueSet<'_>) -> bool,
    /// Empty for an operator whose operands are a list.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "SQL alone reads it"))]
    pub(super) sql: &'static str,
}

/// Writes the list of operators and both directions of their names: a `match` on names is faster than a walk over rows.
macro_rules! names {
    ($($operator:ident: $name:literal,)+) => {
        impl Operator {
            /// All operators, in the order in which messages list them.
            pub(crate) const ALL: [Self; [$($name),+].len()] = [$(Self::$operator),+];

            /// Finds the operator that JSON spells so.
            pub(crate) fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$operator),)+
                    _ => None,
                }
            }

            /// Returns the operator as JSON spells it.
            ///
            /// ```
            /// assert_eq!(casefilter::Operator::NotEqual.name(), "<>");
            /// ```
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$operator => $name,)+
                }
            }
        }
    };
}

names! {
    Equal: "=",
    NotEqual: "<>",
    Greater: ">",
    GreaterOrEqual: ">=",
    Less: "<",
    LessOrEqual: "<=",
    Contains: "$contains",
    All: "$all",
}

const fn points(quantifier: Quantifier) -> Shape {
    Shape { quantifier, pattern: Pattern::Points }
}

const fn ray(side: Side, inclusive: bool) -> Shape {
    Shape { quantifier: Quantifier::Any, pattern: Pattern::Ray(Ray { side, inclusive }) }
}

/// Returns the row of an operator.
pub(super) const fn row(operator: Operator) -> &'static Row {
    match operator {
        Operator::Equal => {
            const {
                &Row {
                    words: &["="],
                    synonyms: &[
                        "==", "===", "=", "<=>", ":", "eq", "equals", "equal", "equalto", "equalsto", "is",
                        "are", "was", "were", "sameas", "on",
                    ],
                    arity: Arity::One,
                    types: Types::All,
                    shape: points(Quantifier::Any),
                    holds: |operands, set| operands.iter().all(|operand| set.contains(operand)),
                    sql: "=",
                }
            }
        }
        Operator::NotEqual => {
            const {
                &Row {
                    words: &["<>"],
                    synonyms: &[
                        "!=",
                        "!==",
                        "<>",
                        "≠",
                        "ne",
                        "neq",
                        "not",
                        "isnot",
                        "notequal",
                        "notequals",
                        "unequal",
                        "unequalto",
                        "otherthan",
                        "differsfrom",
                        "differentfrom",
                        "distinctfrom",
                    ],
                    arity: Arity::One,
                    types: Types::All,
                    shape: points(Quantifier::None),
                    holds: |operands, set| operands.iter().all(|operand| !set.contains(operand)),
                    sql: "<>",
                }
            }
        }
        Operator::Greater => {
            const {
                &Row {
                    words: &[">"],
                    synonyms: &[
                        "gt",
                        ">",
                        "after",
                        "greater",
                        "greaterthan",
                        "more",
                        "morethan",
                        "over",
                        "above",
                        "exceeds",
                        "higherthan",
                        "largerthan",
                        "biggerthan",
                        "later",
                        "laterthan",
                        "newerthan",
                    ],
                    arity: Arity::One,
                    types: Types::Ordered,
                    shape: ray(Side::Above, false),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.greatest().is_some_and(|greatest| greatest > operand))
                    },
                    sql: ">",
                }
            }
        }
        Operator::GreaterOrEqual => {
            const {
                &Row {
                    words: &[">="],
                    synonyms: &[
                        "gte",
                        "ge",
                        "=>",
                        ">=",
                        "≥",
                        "from",
                        "since",
                        "atleast",
                        "greaterorequal",
                        "greaterorequalto",
                        "greaterthanorequal",
                        "greaterthanorequalto",
                        "nolessthan",
                        "nofewerthan",
                        "noearlierthan",
                        "onorafter",
                    ],
                    arity: Arity::One,
                    types: Types::Ordered,
                    shape: ray(Side::Above, true),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.greatest().is_some_and(|greatest| greatest >= operand))
                    },
                    sql: ">=",
                }
            }
        }
        Operator::Less => {
            const {
                &Row {
                    words: &["<"],
                    synonyms: &[
                        "lt",
                        "<",
                        "before",
                        "less",
                        "lessthan",
                        "fewerthan",
                        "under",
                        "below",
                        "lowerthan",
                        "smallerthan",
                        "earlier",
                        "earlierthan",
                        "olderthan",
                        "priorto",
                    ],
                    arity: Arity::One,
                    types: Types::Ordered,
                    shape: ray(Side::Below, false),
                    holds: |operands, set| {
                        operands.iter().all(|operand| set.least().is_some_and(|least| least < operand))
                    },
                    sql: "<",
                }
            }
        }
        Operator::LessOrEqual => {
            const {
                &Row {
                    words: &["<="],
                    synonyms: &[
                        "lte",
                        "le",
                        "=<",
                        "<=",
                        "≤",
                        "atmost",
                        "lessorequal",
                        "lessorequalto",
                        "lessthanorequal",
                        "lessthanorequalto",
                        "nomorethan",
                        "nogreaterthan",
                        "nolaterthan",
                        "onorbefore",
                    ],
                    arity: Arity::One,
                    types: Types::Ordered,
                    shape: ray(Side::Below, true),
                    holds: |operands, set| {
                        operands.iter().all(|operand| set.least().is_some_and(|least| least <= operand))
                    },
                    sql: "<=",
                }
            }
        }
        Operator::Contains => {
            const {
                &Row {
                    words: &["in", "contains", "$contains"],
                    synonyms: &[
                        "in", "any", "anyof", "some", "someof", "oneof", "either", "eitherof", "inlist",
                        "inset", "among", "memberof",
                    ],
                    arity: Arity::OneOrMore,
                    types: Types::All,
                    shape: points(Quantifier::Any),
                    holds: |operands, set| operands.iter().any(|operand| set.contains(operand)),
                    sql: "",
                }
            }
        }
        Operator::All => {
            const {
                &Row {
                    words: &["all", "$all"],
                    // On a field with one value, none of these is meant.
                    synonyms: &[],
                    arity: Arity::OneOrMore,
                    types: Types::All,
                    shape: points(Quantifier::All),
                    holds: |operands, set| operands.iter().all(|operand| set.contains(operand)),
                    sql: "",
                }
            }
        }
    }
}
