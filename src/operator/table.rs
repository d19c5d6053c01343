//! The operators of field criteria, and the row of each operator: its spellings, arity, types, meaning and evaluation.

use super::shape::{Arity, Operands, Pattern, Quantifier, Ray, Shape, Side, Types};
use super::value_set::ValueSet;
use crate::value::{Operand, Value, fold, words};

/// The operator of a field criterion.
///
/// It compares its operands with V, the set of the values that a document has in the field. V is empty, has one value, or has
/// several values if the field is in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `=`: the operand is in V.
    Equal,
    /// `<>`: the operand is not in V.
    NotEqual,
    /// `>`: V contains a value greater than the operand. `>`, `>=`, `<` and `<=` are only for numbers, integers, decimals,
    /// timestamps, and strings of fields with known values.
    Greater,
    /// `>=`: V contains the operand or a greater value.
    GreaterOrEqual,
    /// `<`: V contains a value smaller than the operand.
    Less,
    /// `<=`: V contains the operand or a smaller value.
    LessOrEqual,
    /// `$contains`: at least one operand is in V.
    Contains,
    /// `$all`: every operand is in V.
    All,
    /// `$exists`: V is not empty (operand `true`), or V is empty (operand `false`). This operator and the operators below are
    /// [extended](crate::Catalog::extended).
    Exists,
    /// `$startsWith`: a string in V starts with at least one operand.
    StartsWith,
    /// `$substring`: a string in V contains at least one operand.
    Substring,
    /// `$match`: a string in V contains every word of the operand. Both are folded first, so case and accents do not matter.
    Match,
}

/// One row of the table. The docs of the module `operator` describe the columns and list the readers of each column.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    /// Names in other query languages, in lower case. Spaces, `_`, `-`, apostrophes and a leading `$` are removed. Names whose
    /// meaning depends on the field are in `criteria::advice`.
    pub(super) synonyms: &'static [&'static str],
    pub(super) arity: Arity,
    pub(super) types: Types,
    pub(super) operands: Operands,
    /// True for an operator that the interface document does not have. JSON bodies may use it only with an extended catalogue.
    pub(super) is_extended: bool,
    pub(super) shape: Shape,
    pub(super) holds: fn(&[Operand<'_>], &ValueSet<'_>) -> bool,
    /// The comparison sign in SQL. Empty for operators other than `=`, `<>` and the order comparisons.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only SQL reads it"))]
    pub(super) sql: &'static str,
}

/// Generates the list of operators and the conversions between operators and JSON names. A `match` on the name is faster than
/// a loop over the rows.
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
                        "anyvalue",
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
