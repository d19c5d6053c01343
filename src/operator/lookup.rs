//! Looks up the properties of an operator in the table. Finds an operator by its spelling, or by its *ray*: all values on one side
//! of an end point, such as `> 5`.

use std::fmt;
use std::str::FromStr;

use super::connective::{Language, Syntax};
use super::shape::{Arity, Operands, Pattern, Ray, Shape, Side, Types};
use super::table::{self, Operator, Row};
use super::value_set::ValueSet;
use crate::catalog::{Field, Grammar, ParseNameError};
use crate::value::{Operand, ValueClass};

impl Operator {
    /// Returns the spellings in the text syntax. The printer writes the first spelling.
    pub(crate) fn words(self) -> &'static [&'static str] {
        self.row().words
    }

    /// Returns the spelling in the given syntax.
    pub(crate) fn spelled(self, syntax: Syntax) -> &'static str {
        match syntax {
            Syntax::Json => self.name(),
            Syntax::Text => self.words().first().copied().unwrap_or_default(),
        }
    }

    /// Finds the operator with this spelling in the text syntax. Ignores letter case.
    pub(crate) fn find_word(word: &str) -> Option<Self> {
        let is_spelled = |operator: &Self| operator.words().iter().any(|own| own.eq_ignore_ascii_case(word));
        Self::ALL.into_iter().find(is_spelled)
    }

    /// Finds the operator that has this name in other query languages, for a suggestion. `word` must be in the form of
    /// [`Row::synonyms`].
    pub(crate) fn meant_by(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.row().synonyms.contains(&word))
    }

    /// Returns the number of operands that the operator takes.
    pub(crate) fn arity(self) -> Arity {
        self.row().arity
    }

    /// Returns true if the operator applies to the values of a field. Does not check that `grammar` allows the operator: `grammar`
    /// only determines whether the field [compares by rank](Field::is_ranked).
    pub(crate) fn applies_to(self, field: &Field, grammar: Grammar) -> bool {
        self.fits(ValueClass::of_field(field.field_type()), field.is_ranked(grammar))
    }

    /// Returns true if criteria may use the operator on fields with values of this class. `is_ranked` is true for
    /// [fields that compare by rank](Field::is_ranked).
    pub(crate) fn fits(self, class: ValueClass, is_ranked: bool) -> bool {
        match self.row().types {
            Types::All => true,
            Types::Ordered => is_ranked || matches!(class, ValueClass::Ordered(_)),
            Types::Strings => class == ValueClass::Strings,
        }
    }

    /// Returns the spellings, in backquotes, of the operators that requests in this language may use on a field. `class` is a pair:
    /// the class of the field's values, and true if they [compare by rank](Field::is_ranked). If `class` is `None`, returns all
    /// operators of the language.
    pub(crate) fn listed(language: Language, class: Option<(ValueClass, bool)>) -> Vec<String> {
        let mut listed = Vec::new();
        for operator in Self::allowed(language.grammar()) {
            if class.is_none_or(|(class, is_ranked)| operator.fits(class, is_ranked)) {
                listed.push(format!("`{}`", operator.spelled(language.syntax())));
                if operator == Self::Exists && language == Language::Text {
                    listed.push("`is absent`".to_owned());
                }
            }
        }
        listed
    }

    /// Returns the kind of operands that the operator takes.
    pub(crate) fn operands(self) -> Operands {
        self.row().operands
    }

    /// Returns true if the operator is extended. JSON bodies may use such an operator only with an
    /// [extended catalogue](crate::Catalog::extended). The text syntax has all operators.
    #[must_use]
    pub fn is_extended(self) -> bool {
        self.row().is_extended
    }

    /// Finds the operator with this spelling in JSON, if the grammar allows it.
    pub(crate) fn find_allowed(name: &str, grammar: Grammar) -> Option<Self> {
        Self::find(name).filter(|operator| grammar.allows(operator.is_extended()))
    }

    /// Returns the operators that JSON bodies of this grammar may use.
    pub(crate) fn allowed(grammar: Grammar) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |operator| grammar.allows(operator.is_extended()))
    }

    /// Returns the meaning of the operator: a quantifier and a pattern.
    pub(crate) fn shape(self) -> Shape {
        self.row().shape
    }

    /// Returns the operator whose pattern is this ray. For example, the pattern of `>` is the ray of all values above the end
    /// point. This ray does not include the end point.
    pub(crate) const fn of_ray(ray: Ray) -> Self {
        match ray {
            Ray { side: Side::Above, inclusive: false } => Self::Greater,
            Ray { side: Side::Above, inclusive: true } => Self::GreaterOrEqual,
            Ray { side: Side::Below, inclusive: false } => Self::Less,
            Ray { side: Side::Below, inclusive: true } => Self::LessOrEqual,
        }
    }

    /// Returns the ray of an order comparison such as `>`. The ray says on which side of the operand the selected values lie, and
    /// whether the operand itself is included. Returns `None` for any other operator.
    pub(crate) fn ray(self) -> Option<Ray> {
        match self.shape().pattern {
            Pattern::Ray(ray) => Some(ray),
            _ => None,
        }
    }

    /// Evaluates a criterion with these operands on a case whose values in the field are `set`.
    ///
    /// For the operators of the interface document, the evaluation literally follows the table in section 2 of that document. It
    /// never uses the [shape](Self::shape).
    pub(crate) fn holds(self, operands: &[Operand<'_>], set: &ValueSet<'_>) -> bool {
        (self.row().holds)(operands, set)
    }

    /// Returns the comparison sign in SQL. Empty for operators other than `=`, `<>` and the order comparisons.
    #[cfg(feature = "sql")]
    pub(crate) fn sql(self) -> &'static str {
        self.row().sql
    }

    pub(super) fn row(self) -> &'static Row {
        table::row(self)
    }
}

impl FromStr for Operator {
    type Err = ParseNameError;

    /// Parses a [name](Operator::name), as in JSON bodies.
    ///
    /// ```
    /// use casefilter::Operator;
    /// assert_eq!("<>".parse(), Ok(Operator::NotEqual));
    /// assert!("starts with".parse::<Operator>().is_err()); // A word of the text syntax.
    /// ```
    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        ParseNameError::find(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
