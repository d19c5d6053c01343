//! Recognises the operators of other query languages, and chooses what an error message advises to write instead.
//!
//! A *foreign operator* is the spelling of an operator in another query language, such as `$nin` or `IS NOT NULL`. The table
//! [`FOREIGN_OPERATORS`] serves both JSON bodies and the text syntax. Plain synonyms of an [`Operator`], such as `eq` for `=`, are
//! not in this table, but in the table of operators (`operator/table.rs`). A row of `FOREIGN_OPERATORS` maps spellings to a
//! [`Meaning`]. [`ForeignOperator::advice`] turns the meaning into an equivalent operator, if the field allows this operator, or
//! into an [`Unsupported`] test. The advice never contains an operator that the request may not use.

use super::foreign_search::Search;
use super::unsupported::{Unsupported, is_no_value, is_relative_time};
use crate::error::{Suggestion, quote};
use crate::operator::{Complex, Connective, Language, Operator, Syntax};
use crate::value::{OrderedType, Timestamp, ValueClass, is_moment};

/// The properties of a field that decide which advice is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holds {
    /// True if a document may have several values in the field.
    pub(crate) is_list: bool,
    /// The class of the field's values.
    pub(crate) class: ValueClass,
    /// True if order comparisons compare the field's values by rank.
    pub(crate) is_ranked: bool,
}

impl Holds {
    pub(super) fn is_string(self) -> bool {
        self.class == ValueClass::Strings
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self.class, ValueClass::Ordered(OrderedType::Number | OrderedType::Decimal(_)))
    }

    pub(super) fn is_timestamp(self) -> bool {
        self.class == ValueClass::Ordered(OrderedType::Timestamp)
    }

    pub(super) fn is_boolean(self) -> bool {
        self.class == ValueClass::Booleans
    }

    fn is_ordered(self) -> bool {
        self.is_ranked || matches!(self.class, ValueClass::Ordered(_))
    }
}

/// A function that looks up a field by its name; it returns `None` for an unknown field.
pub(crate) type Fields<'c> = &'c dyn Fn(&str) -> Option<Holds>;

/// A lookup that finds no field, for callers that need no suggestions.
pub(crate) const NO_FIELDS: Fields<'static> = &|_| None;

/// The meaning of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// An operator.
    Operator(Operator),
    /// This operator if the field is multi-valued, otherwise a search inside a string.
    Inside(Operator),
    /// A range from one value to another. Both values belong to the range.
    Between,
    /// A test that the field has a value (`true`), or that it has no value (`false`).
    Presence(bool),
    /// A search inside a string.
    Search(Search),
    Connective(Connective),
    Unsupported(Unsupported),
}

/// Lists of spellings, each list with its meaning. Spaces separate the spellings of a list. Each spelling is in the form that
/// [`ForeignOperator::find`] looks up: in lower case, without a leading `$`, and without spaces, `_`, `-` and apostrophes inside.
/// For example, `starts with` is listed as `startswith`.
///
/// For a phrase that is not listed, [`ForeignOperator::find`] strips leading words of [`VERBS`] and [`NEGATIONS`]. It finds
/// `is not like` as the negation of `like`.
const FOREIGN_OPERATORS: &[(&str, Meaning)] = &[
    ("all allof every everyof eachof each", Meaning::Operator(Operator::All)),
    (
        "contains contain containing contians includes include including has have having",
        Meaning::Inside(Operator::Contains),
    ),
    ("and && &", Meaning::Connective(Connective::And)),
    ("or || |", Meaning::Connective(Connective::Or)),
    ("between inrange range", Meaning::Between),
    ("null nil undefined empty missing absent blank unset novalue nothing", Meaning::Presence(false)),
    (
        "set exists exist present defined avalue anyvalue value anything something filled populated specified \
         provided",
        Meaning::Presence(true),
    ),
    ("like glob wildcard ~~", Meaning::Search(Search::Like { is_folded: false })),
    ("ilike ~~*", Meaning::Search(Search::Like { is_folded: true })),
    (
        "rlike ~ ~= =~ regex regexp regexpmatch regexmatch pattern",
        Meaning::Search(Search::Regex { is_folded: false }),
    ),
    ("~*", Meaning::Search(Search::Regex { is_folded: true })),
    ("matches match matching matched", Meaning::Search(Search::Own(Operator::Match))),
    (
        "startswith startwith startingwith startsby starts beginswith beginwith beginningwith begins prefix",
        Meaning::Search(Search::Own(Operator::StartsWith)),
    ),
    (
        "substring containstext containssubstring containsstring",
        Meaning::Search(Search::Own(Operator::Substring)),
    ),
    ("icontains containsignorecase", Meaning::Search(Search::Folded)),
    ("endswith endwith endingwith ends iendswith suffix", Meaning::Search(Search::Ending)),
    (
        "istartswith text search fuzzy similar similarto soundslike containsword containsphrase matchphrase fulltext",
        Meaning::Search(Search::Other),
    ),
    (
        "only exactly just onlyin subsetof containedby containedin equalsset",
        Meaning::Unsupported(Unsupported::Only),
    ),
    ("size count length len", Meaning::Unsupported(Unsupported::Count)),
    (
        "last thelast inlast inthelast withinlast withinthelast past thepast inpast inthepast next \
         inthenext inlastdays ago",
        Meaning::Unsupported(Unsupported::RelativeTime),
    ),
    ("until till by upto through thru", Meaning::Unsupported(Unsupported::OpenBound)),
    ("xor nor nand unless except but butnot ^", Meaning::Unsupported(Unsupported::Connective)),
];

/// Spellings of negated operators that are one word, such as `nin` for `not in`. Each has the meaning of the operator without
/// negation.
const NEGATED_FOREIGN_OPERATORS: &[(&str, Meaning)] = &[
    ("nin none noneof neither neitherof outof <>all !=all <>in !=in", Meaning::Operator(Operator::Contains)),
    ("without lacks lacking excludes exclude excluding misses omits", Meaning::Inside(Operator::Contains)),
    ("outside", Meaning::Between),
];

/// Words before an operator that do not change its meaning.
const VERBS: [&str; 9] = ["is", "are", "was", "were", "does", "do", "has", "have", "in"];

/// Words before an operator that negate it.
const NEGATIONS: [&str; 10] =
    ["not", "!", "isnt", "arent", "wasnt", "doesnt", "dont", "hasnt", "havent", "never"];

/// Quantifiers that may follow a verb of membership, as in `contains any of`, with the meaning of the whole phrase.
const QUANTIFIERS: &[(&str, ForeignOperator)] = &[
    (
        "any anyof some someof oneof either eitherof",
        ForeignOperator { meaning: Meaning::Inside(Operator::Contains), is_negated: false },
    ),
    (
        "all allof every everyof each eachof both",
        ForeignOperator { meaning: Meaning::Inside(Operator::All), is_negated: false },
    ),
    (
        "none noneof no not neither",
        ForeignOperator { meaning: Meaning::Inside(Operator::Contains), is_negated: true },
    ),
    (
        "only exactly just",
        ForeignOperator { meaning: Meaning::Unsupported(Unsupported::Only), is_negated: false },
    ),
];

/// The spelling of an operator in another language, recognised where an operator is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ForeignOperator {
    meaning: Meaning,
    is_negated: bool,
}

impl ForeignOperator {
    /// Recognises the spelling of an operator in another language, such as `IS NOT NULL`, `$nin` or `doesNotContain`.
    pub(super) fn find(written: &str) -> Option<Self> {
        /// The maximum length in bytes of a text that is looked up. It limits the cost of the lookup, because each prefix that the
        /// lookup strips costs linear time.
        const LONGEST: usize = 48;
        if written.len() > LONGEST {
            return None;
        }
        let own = |own: &Operator| !own.is_extended() && own.name().eq_ignore_ascii_case(written);
        if let Some(own) = Operator::ALL.into_iter().find(own) {
            return Some(Self { meaning: Meaning::Operator(own), is_negated: false });
        }
        let is_filler = |c: &char| matches!(c, ' ' | '_' | '-' | '\'' | '’');
        let name: String = written
            .trim_start_matches('$')
            .chars()
            .filter(|c| !is_filler(c))
            .collect::<String>()
            .to_lowercase();
        Self::of_name(&name)
    }

    fn of_name(name: &str) -> Option<Self> {
        let row = |rows: &[(&str, Meaning)], is_negated| {
            let row = rows.iter().find(|(spellings, _)| has_word(spellings, name))?;
            Some(Self { meaning: row.1, is_negated })
        };
        let synonym = || {
            let meaning = match Operator::meant_by(name)? {
                Operator::Exists => Meaning::Presence(true),
                operator if operator.is_extended() => Meaning::Search(Search::Own(operator)),
                operator => Meaning::Operator(operator),
            };
            Some(Self { meaning, is_negated: false })
        };
        row(FOREIGN_OPERATORS, false)
            .or_else(|| row(NEGATED_FOREIGN_OPERATORS, true))
            .or_else(synonym)
            .or_else(|| Self::of_null(name))
            .or_else(|| Self::of_quantifier(name))
            .or_else(|| Self::of_name(after_verb(name)?))
            .or_else(|| {
                let rest = after_negation(name)?;
                let foreign = match rest {
                    "" => Self { meaning: Meaning::Operator(Operator::Equal), is_negated: false },
                    _ => Self::of_name(rest)?,
                };
                // A double negation is probably a mistake, so it is not recognised.
                (!foreign.is_negated).then_some(Self { is_negated: true, ..foreign })
            })
    }

    /// Recognises a comparison with `null` or a similar word, such as `!= null`.
    fn of_null(name: &str) -> Option<Self> {
        let operand = name.trim_start_matches(['=', '!', '<', '>']);
        let sign = name.strip_suffix(operand).filter(|sign| !sign.is_empty() && is_no_value(operand))?;
        let meaning = match sign {
            "=" | "==" | "===" => Meaning::Presence(false),
            "!=" | "!==" | "<>" => Meaning::Presence(true),
            _ => Meaning::Unsupported(Unsupported::Absence),
        };
        Some(Self { meaning, is_negated: false })
    }

    /// Recognises a verb that tests for list elements and is followed by a quantifier, such as `contains any of`.
    fn of_quantifier(name: &str) -> Option<Self> {
        let verbs = FOREIGN_OPERATORS.iter().find(|(_, meaning)| matches!(meaning, Meaning::Inside(_)))?.0;
        verbs.split(' ').find_map(|verb| {
            let rest = name.strip_prefix(verb)?;
            QUANTIFIERS.iter().find(|(words, _)| has_word(words, rest)).map(|(_, foreign)| *foreign)
        })
    }

    /// Returns the connective that the spelling means. Returns `None` if the spelling means something else.
    pub(super) const fn connective(self) -> Option<Connective> {
        match self.meaning {
            Meaning::Connective(connective) => Some(connective),
            _ => None,
        }
    }

    /// Returns the test that the spelling expresses, if at least one [`Language`] does not support it.
    ///
    /// Returns `None` for any other spelling, and if the test depends on the field.
    pub(super) const fn unsupported(self) -> Option<Unsupported> {
        match self.meaning {
            Meaning::Unsupported(unsupported) => Some(unsupported),
            Meaning::Presence(_) => Some(Unsupported::Absence),
            Meaning::Search(_) => Some(Unsupported::Inside),
            _ => None,
        }
    }

    /// Returns true for a test that the field has a value, and false for a test that it has no value. Returns `None` for any
    /// other spelling.
    pub(super) fn presence(self) -> Option<bool> {
        match self.meaning {
            Meaning::Presence(is_present) => Some(is_present != self.is_negated),
            _ => None,
        }
    }

    /// Returns the search inside a string that the spelling means on a single-valued field. Returns `None` for a negated
    /// spelling, and for a spelling with another meaning.
    pub(super) const fn search(self) -> Option<Search> {
        match self.meaning {
            Meaning::Search(search) if !self.is_negated => Some(search),
            Meaning::Inside(Operator::Contains) if !self.is_negated => Some(Search::Own(Operator::Substring)),
            _ => None,
        }
    }

    /// Returns true if the spelling means `not` or `<>`, such as `$not`, `!=` or `not equal`.
    pub(super) fn is_negation(self) -> bool {
        matches!(
            (self.meaning, self.is_negated),
            (Meaning::Operator(Operator::NotEqual), false) | (Meaning::Operator(Operator::Equal), true)
        )
    }

    /// Returns the advice for this operator. `values` is the number of values after the operator. `holds` has the properties of the
    /// field, and is `None` for an unknown field.
    pub(super) fn advice(self, holds: Option<Holds>, values: usize, language: Language) -> Advice {
        let is_list = holds.map(|holds| holds.is_list);
        let operator = match self.meaning {
            Meaning::Unsupported(unsupported) => return Advice::Cannot(unsupported),
            Meaning::Connective(connective) => return Advice::Connective(connective),
            Meaning::Presence(is_present) => {
                return Advice::presence(is_present != self.is_negated, language);
            }
            Meaning::Search(search) => return self.found(search, holds, language),
            Meaning::Between if self.is_negated && !language.is_extended() => {
                return Advice::Cannot(Unsupported::NegatedOrder);
            }
            // In a multi-valued field, two different values may satisfy the two bounds, so there is no advice.
            Meaning::Between if is_list == Some(true) || !holds.is_none_or(Holds::is_ordered) => {
                return Advice::Nothing;
            }
            Meaning::Between if self.is_negated => return Advice::NotBetween,
            Meaning::Between => return Advice::Between,
            Meaning::Inside(Operator::Contains) if is_list == Some(false) => {
                return self.found(Search::Own(Operator::Substring), holds, language);
            }
            Meaning::Inside(_) if is_list == Some(false) => return Advice::Cannot(Unsupported::Inside),
            Meaning::Inside(_) if is_list.is_none() => return Advice::Nothing,
            Meaning::Inside(operator) | Meaning::Operator(operator) => operator,
        };
        match operator {
            // Without values, `any` means that the field has a value, and `none` that it has no value.
            Operator::Contains if values == 0 => Advice::presence(!self.is_negated, language),
            operator if operator.ray().is_some() && !holds.is_none_or(Holds::is_ordered) => Advice::Nothing,
            operator if !self.is_negated => Advice::Operator(operator),
            Operator::Equal => Advice::Operator(Operator::NotEqual),
            Operator::NotEqual => Advice::Operator(Operator::Equal),
            Operator::Contains | Operator::All if values == 1 => Advice::Operator(Operator::NotEqual),
            operator if language.is_extended() => Advice::Not(operator),
            Operator::Contains => Advice::NoneOf,
            Operator::All => Advice::NotAllOf,
            _ => Advice::Cannot(Unsupported::NegatedOrder),
        }
    }

    /// Returns the advice for a search inside a string. If the language or the field does not allow the search, the advice is the
    /// reason.
    fn found(self, search: Search, holds: Option<Holds>, language: Language) -> Advice {
        match search {
            _ if !language.is_extended() => Advice::Cannot(Unsupported::Inside),
            _ if !holds.is_none_or(Holds::is_string) => Advice::Cannot(Unsupported::NotAString),
            Search::Ending => Advice::Cannot(Unsupported::Ending),
            Search::Other => Advice::Cannot(Unsupported::Inside),
            search => Advice::Search { search, is_negated: self.is_negated },
        }
    }
}

/// The advice for an operator of another query language: the operator to write instead, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// The equivalent operator.
    Operator(Operator),
    /// `<>` for each of several values, joined by `and`. Only for a language without `not`.
    NoneOf,
    /// `<>` for each of several values, joined by `or`. Only for a language without `not`.
    NotAllOf,
    /// `not` before a criterion with this operator.
    Not(Operator),
    /// `>=` and `<=`, joined by `and`.
    Between,
    /// The negation of a range: `not (field >= a and field <= b)`.
    NotBetween,
    /// A test that the field has a value (`true`), or that it has no value (`false`).
    Presence(bool),
    /// A search inside a string. Its operator depends on its value.
    Search { search: Search, is_negated: bool },
    /// The equivalent connective.
    Connective(Connective),
    /// No criterion is equivalent: the language does not support the test.
    Cannot(Unsupported),
    /// No advice.
    Nothing,
}

impl Advice {
    fn presence(is_present: bool, language: Language) -> Self {
        if language.is_extended() { Self::Presence(is_present) } else { Self::Cannot(Unsupported::Absence) }
    }

    /// Returns the suggestion for the message. Returns `None` if no operator is equivalent, or if the suggestion must also contain
    /// the field or the values.
    pub(super) fn in_words(self, syntax: Syntax) -> Option<Suggestion> {
        let each = |connective: Connective| {
            format!("one `<>` for each value, joined by {}", quote(connective.spelled(syntax)))
        };
        let between = || format!("`>=` and `<=` joined by {}", quote(Connective::And.spelled(syntax)));
        let inside_not = |what: String| format!("{what} inside {}", quote(Complex::Not.name()));
        let explanation = match (self, syntax) {
            (Self::Operator(operator), _) => return Some(Suggestion::replace_by(operator.spelled(syntax))),
            (Self::Connective(connective), _) => {
                return Some(Suggestion::replace_by(connective.spelled(syntax)));
            }
            (Self::NoneOf, _) => each(Connective::And),
            (Self::NotAllOf, _) => each(Connective::Or),
            (Self::Between, _) => between(),
            (Self::Not(operator), Syntax::Json) => {
                let meant = inside_not(quote(operator.name()).to_string());
                if operator.ray().is_some() { format!("{meant}, {WITHOUT_A_VALUE}") } else { meant }
            }
            (Self::NotBetween, Syntax::Json) => format!("{}, {WITHOUT_A_VALUE}", inside_not(between())),
            (Self::Presence(is_present), Syntax::Json) => {
                let value = quote(&format!("\"{is_present}\"")).to_string();
                format!("{} with the value {value}", quote(Operator::Exists.name()))
            }
            (
                Self::Not(_)
                | Self::NotBetween
                | Self::Presence(_)
                | Self::Search { .. }
                | Self::Cannot(_)
                | Self::Nothing,
                _,
            ) => return None,
        };
        Some(Suggestion::explain(explanation))
    }
}

/// The end of a suggestion that negates an order comparison. `not amount > 5` differs from `amount <= 5`: it also selects cases
/// without a value.
pub(super) const WITHOUT_A_VALUE: &str = "which also selects cases without a value";

/// Returns the suggestion for `=` with several values: the operators to write instead.
pub(super) fn for_several(holds: Option<Holds>, syntax: Syntax) -> Suggestion {
    let [any, all] = [Operator::Contains, Operator::All].map(|operator| operator.spelled(syntax));
    match holds {
        Some(Holds { is_list: true, .. }) => {
            Suggestion::explain(format!("{} for any of them, or {} for all of them", quote(any), quote(all)))
        }
        _ => Suggestion::replace_by(any),
    }
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

fn after_verb(name: &str) -> Option<&str> {
    if let Some(rest) = name.strip_prefix('=') {
        return Some(rest.trim_start_matches('='));
    }
    let (verb, rest) = VERBS.iter().find_map(|verb| Some((*verb, name.strip_prefix(verb)?)))?;
    // `is not` is complete by itself, but `does not` and `has not` need another verb after them.
    let is_copula = matches!(verb, "is" | "are" | "was" | "were");
    (!rest.is_empty() && (rest != "not" || is_copula)).then_some(rest)
}

fn after_negation(name: &str) -> Option<&str> {
    let rest = NEGATIONS.iter().find_map(|negation| name.strip_prefix(negation))?;
    // `!= any` is ambiguous, so it is not recognised.
    (!(name.starts_with('!') && rest.starts_with('='))).then_some(rest)
}

/// Returns true for a word that begins a phrase such as `any of`, but that may also be a value.
pub(super) fn is_quantifier(word: &str) -> bool {
    ["any", "some", "one", "either", "each", "every", "both", "none", "neither", "only", "exactly"]
        .iter()
        .any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns the unsupported test that `value` expresses after an operator of another language. The field is a timestamp field, and
/// `advice` is the advice for the operator. A relative time expresses [`Unsupported::RelativeTime`]. A whole day expresses
/// [`Unsupported::Day`] if the equivalent operator takes only instants. Returns `None` in all other cases, such as for a value that
/// the language supports.
pub(super) fn meant_by_time(advice: Advice, value: &str, language: Language) -> Option<Unsupported> {
    if language == Language::Text && is_moment(value) {
        return None;
    }
    let is_day = || Timestamp::respell(value).is_some_and(|span| span.end.is_some());
    let (is_relative, is_day) = match advice {
        Advice::Cannot(_)
        | Advice::Connective(_)
        | Advice::Nothing
        | Advice::Presence(_)
        | Advice::Search { .. } => (false, false),
        // The value is kept and gets its own error later. If it is a day, that error suggests the bound of the day that the
        // operator needs.
        Advice::Operator(operator) => {
            (false, operator.ray().is_none() && operator != Operator::Equal && is_day())
        }
        Advice::Between | Advice::NotBetween => (is_relative_time(value), false),
        Advice::Not(operator) if operator.ray().is_some() => (is_relative_time(value), is_day()),
        Advice::Not(_) | Advice::NoneOf | Advice::NotAllOf => (is_relative_time(value), is_day()),
    };
    if is_relative { Some(Unsupported::RelativeTime) } else { is_day.then_some(Unsupported::Day) }
}
