//! The operators and their rows. A row has everything that differs from operator to operator.

use super::shape::{Arity, Operands, Pattern, Quantifier, Ray, Shape, Side, Types};
use super::value_set::ValueSet;
use crate::value::{Operand, Value, fold, words};

/// The operator of a field criterion.
///
/// It tests V, the set of the values that a document has in the field. V has one value, none, or many if the field is in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `=`: the value is in V.
    Equal,
    /// `<>`: the value is not in V.
    NotEqual,
    /// `>`: V has a greater value. Only for numbers and timestamps, like `>=`, `<` and `<=`.
    Greater,
    /// `>=`: V has the value or a greater value.
    GreaterOrEqual,
    /// `<`: V has a smaller value.
    Less,
    /// `<=`: V has the value or a smaller value.
    LessOrEqual,
    /// `$contains`: any of the values is in V.
    Contains,
    /// `$all`: all of the values are in V.
    All,
    /// `$exists`: V is not empty (`true`), or V is empty (`false`). An [extended](crate::Catalog::extended) operator, like those
    /// below.
    Exists,
    /// `$startsWith`: a string in V starts with any of the values.
    StartsWith,
    /// `$substring`: a string in V contains any of the values.
    Substring,
    /// `$match`: a string in V contains every word of the value; both are folded, so that case and accents do not count.
    Match,
}

/// One row of the table. The docs of the module `operator` describe its columns and list the readers of each.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    /// Names in other languages, in lower case, without blanks, `_` and `-`. Names whose meaning depends on the field are in
    /// `criteria::advice`.
    pub(super) synonyms: &'static [&'static str],
    pub(super) arity: Arity,
    pub(super) types: Types,
    pub(super) operands: Operands,
    /// True for an operator that the interface document lacks, and that bodies may use only if the catalogue is extended.
    pub(super) is_extended: bool,
    pub(super) shape: Shape,
    pub(super) holds: fn(&[Operand<'_>], &ValueSet<'_>) -> bool,
    /// The operator in SQL. Empty for operators that take a list.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only SQL reads it"))]
    pub(super) sql: &'static str,
}

/// Generates the list of operators and the conversions from and to names. A `match` on names is faster than a loop over rows.
macro_rules! names {
    ($($operator:ident: $name:literal,)+) => {
        impl Operator {
            /// All operators, in the order in which messages list them.
            pub(crate) const ALL: [Self; [$($name),+].len()] = [$(Self::$operator),+];

            /// Finds the operator with this spelling in JSON.
            pub(crate) fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$operator),)+
                    _ => None,
                }
            }

            /// Returns the spelling in JSON.
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
    Exists: "$exists",
    StartsWith: "$startsWith",
    Substring: "$substring",
    Match: "$match",
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
                    operands: Operands::OfField,
                    is_extended: false,
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
                    operands: Operands::OfField,
                    is_extended: false,
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
                    operands: Operands::OfField,
                    is_extended: false,
                    shape: ray(Side::Above, false),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.greatest().is_some_and(|greatest| greatest > operand.last()))
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
                    operands: Operands::OfField,
                    is_extended: false,
                    shape: ray(Side::Above, true),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.greatest().is_some_and(|greatest| greatest >= operand.first()))
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
                    operands: Operands::OfField,
                    is_extended: false,
                    shape: ray(Side::Below, false),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.least().is_some_and(|least| least < operand.first()))
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
                    operands: Operands::OfField,
                    is_extended: false,
                    shape: ray(Side::Below, true),
                    holds: |operands, set| {
                        operands
                            .iter()
                            .all(|operand| set.least().is_some_and(|least| least <= operand.last()))
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
                    operands: Operands::OfField,
                    is_extended: false,
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
                    // The meaning of words such as `allof` depends on the field; see `criteria::advice`.
                    synonyms: &[],
                    arity: Arity::OneOrMore,
                    types: Types::All,
                    operands: Operands::OfField,
                    is_extended: false,
                    shape: points(Quantifier::All),
                    holds: |operands, set| operands.iter().all(|operand| set.contains(operand)),
                    sql: "",
                }
            }
        }
        Operator::Exists => {
            const {
                &Row {
                    words: &["is present"],
                    synonyms: &[
                        "exists",
                        "present",
                        "ispresent",
                        "hasvalue",
                        "has",
                        "isset",
                        "set",
                        "notnull",
                        "isnotnull",
                        "notempty",
                        "isnotempty",
                        "nonempty",
                        "notblank",
                        "isnotblank",
                        "known",
                        "filled",
                        "any value",
                    ],
                    arity: Arity::One,
                    types: Types::All,
                    operands: Operands::Truth,
                    is_extended: true,
                    shape: Shape { quantifier: Quantifier::Any, pattern: Pattern::Present },
                    holds: |operands, set| {
                        operands.iter().all(
                            |operand| matches!(operand.first(), Value::Boolean(wanted) if *wanted != set.is_empty()),
                        )
                    },
                    sql: "",
                }
            }
        }
        Operator::StartsWith => {
            const {
                &Row {
                    words: &["starts with"],
                    synonyms: &[
                        "startswith",
                        "startwith",
                        "starts",
                        "beginswith",
                        "beginwith",
                        "begins",
                        "prefix",
                        "hasprefix",
                        "prefixedby",
                        "istartswith",
                        "startingwith",
                        "beginningwith",
                    ],
                    arity: Arity::OneOrMore,
                    types: Types::Strings,
                    operands: Operands::NotEmpty,
                    is_extended: true,
                    shape: Shape { quantifier: Quantifier::Any, pattern: Pattern::Prefixes },
                    holds: |operands, set| {
                        set.strings().any(|text| strings(operands).any(|operand| text.starts_with(operand)))
                    },
                    sql: "",
                }
            }
        }
        Operator::Substring => {
            const {
                &Row {
                    words: &["includes"],
                    synonyms: &[
                        "substring",
                        "includes",
                        "include",
                        "including",
                        "hassubstring",
                        "containing",
                        "containstext",
                        "containsstring",
                        "instr",
                        "position",
                        "strpos",
                        "charindex",
                    ],
                    arity: Arity::OneOrMore,
                    types: Types::Strings,
                    operands: Operands::NotEmpty,
                    is_extended: true,
                    shape: Shape { quantifier: Quantifier::Any, pattern: Pattern::Substrings },
                    holds: |operands, set| {
                        set.strings().any(|text| strings(operands).any(|operand| text.contains(operand)))
                    },
                    sql: "",
                }
            }
        }
        Operator::Match => {
            const {
                &Row {
                    words: &["matches"],
                    synonyms: &[
                        "match",
                        "matches",
                        "matching",
                        "matchphrase",
                        "fulltext",
                        "search",
                        "text",
                        "fuzzy",
                        "similarto",
                        "icontains",
                        "containsignorecase",
                    ],
                    arity: Arity::One,
                    types: Types::Strings,
                    operands: Operands::Words,
                    is_extended: true,
                    shape: Shape { quantifier: Quantifier::Any, pattern: Pattern::Words },
                    holds: |operands, set| {
                        set.strings().any(|text| {
                            let folded = fold(text);
                            strings(operands).flat_map(words).all(|word| folded.contains(&*word))
                        })
                    },
                    sql: "",
                }
            }
        }
    }
}

/// Returns the operands that are strings.
fn strings<'v>(operands: &'v [Operand<'_>]) -> impl Iterator<Item = &'v str> {
    operands.iter().filter_map(|operand| match operand.first() {
        Value::String(text) => Some(&**text),
        _ => None,
    })
}
