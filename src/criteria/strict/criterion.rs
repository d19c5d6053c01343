//! Builds one criterion from the keys of its JSON object. Reports missing keys, keys that do not fit together, and unknown
//! operators.

use std::fmt::Write;

use super::super::advice::{Advice, ForeignOperator, Holds, for_several, meant_by_time};
use super::super::ast::{Criterion, Text};
use super::super::foreign_search::Search;
use super::super::unsupported::{Unsupported, is_no_value, meant_by_value};
use super::open::{CRITERION_KEYS, OpenCriterion, Slot};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, Suggestion, quote};
use crate::operator::{Arity, Complex, Grammar, Language, Operator, Syntax};

/// Returns the advice for an unknown operator with these values.
fn advice(written: &str, holds: Option<Holds>, values: &[Text<'_>], language: Language) -> Advice {
    // Missing or invalid values have been reported. They count as one value here.
    let Some(foreign) = ForeignOperator::find(written) else { return Advice::Nothing };
    let advice = foreign.advice(holds, values.len().max(1), language);
    if matches!(advice, Advice::Presence(_) | Advice::Search { .. }) {
        return advice;
    }
    let is_time = holds.is_some_and(Holds::is_timestamp);
    let unsupported =
        values.iter().filter(|_| is_time).find_map(|value| meant_by_time(advice, &value.text, language));
    if let Some(unsupported) = unsupported {
        return Advice::Cannot(unsupported);
    }
    if let ([value], Advice::Operator(operator @ (Operator::Equal | Operator::NotEqual))) = (values, advice)
        && language.is_extended()
        && is_no_value(&value.text)
    {
        return Advice::Presence(operator == Operator::NotEqual);
    }
    if !matches!(advice, Advice::Cannot(_) | Advice::Nothing)
        && let Some(unsupported) = values.iter().find_map(|value| meant_by_value(&value.text, true))
    {
        return Advice::Cannot(unsupported);
    }
    let is_one = |operator: Operator| operator.arity() == Arity::One;
    match (advice, values) {
        // The advice must fit the count of values.
        (Advice::Operator(Operator::Equal), [_, _, ..]) if holds.is_some_and(|holds| !holds.is_list) => {
            Advice::Operator(Operator::Contains)
        }
        (Advice::Operator(Operator::NotEqual), [_, _, ..]) if language.is_extended() => {
            Advice::Not(Operator::Contains)
        }
        (Advice::Operator(Operator::NotEqual), [_, _, ..]) => Advice::NoneOf,
        (Advice::Operator(operator) | Advice::Not(operator), [_, _, ..]) if is_one(operator) => {
            Advice::Nothing
        }
        (Advice::Between | Advice::NotBetween, values) if values.len() != 2 => Advice::Nothing,
        (advice, _) => advice,
    }
}

/// Returns the suggestion for an unknown operator with these values. If nothing can be suggested, returns the unsupported test
/// that the operator expresses, if there is such a test.
fn suggestion(
    written: &str,
    holds: Option<Holds>,
    values: &[Text<'_>],
    language: Language,
) -> (Option<Suggestion>, Option<Unsupported>) {
    match advice(written, holds, values, language) {
        // A criterion with a field cannot have a connective.
        Advice::Connective(_) | Advice::Cannot(Unsupported::Connective) => (None, None),
        Advice::Cannot(unsupported) => (None, Some(unsupported)),
        Advice::Presence(is_present) => match presence(written, is_present, values) {
            Some(meant) => (Some(meant), None),
            None => (None, Some(Unsupported::Absence)),
        },
        Advice::Search { search, is_negated } => match found(search, is_negated, values) {
            Ok(meant) => (Some(meant), None),
            Err(unsupported) => (None, Some(unsupported)),
        },
        advice => (advice.in_words(Syntax::Json), None),
    }
}

/// Suggests the test of presence that corresponds to an operator such as `$exist` or `isNull` with these values.
fn presence(written: &str, is_present: bool, values: &[Text<'_>]) -> Option<Suggestion> {
    let is_test = ForeignOperator::find(written).and_then(ForeignOperator::presence).is_some();
    let is_wanted = match values {
        [value] if is_test && matches!(&*value.text, "true" | "false") => {
            // `$exist` takes the same value as `$exists`.
            if is_present {
                return Some(quote(Operator::Exists.name()).into());
            }
            value.text == "false"
        }
        [] => is_present,
        [value] if value.text.is_empty() || is_no_value(&value.text) => is_present,
        _ => return None,
    };
    Advice::Presence(is_wanted).in_words(Syntax::Json)
}

/// Suggests the operator that is equivalent to a search inside a string. Also suggests new values if the values must change.
fn found(search: Search, is_negated: bool, values: &[Text<'_>]) -> Result<Suggestion, Unsupported> {
    let mut operators = Vec::new();
    let mut meant = Vec::new();
    for value in values {
        let (operator, operand) = search.meant(&value.text)?;
        operators.push(operator);
        meant.push(operand);
    }
    let Some(operator) = operators.first().copied() else { return Err(Unsupported::Inside) };
    if operators.iter().any(|other| *other != operator) || operator.arity().is_exceeded_by(values.len()) {
        return Err(Unsupported::Inside);
    }
    let is_changed = values.iter().zip(&meant).any(|(value, meant)| value.text != *meant);
    if !is_changed && !is_negated {
        return Ok(quote(operator.name()).into());
    }
    let mut explanation = quote(operator.name()).to_string();
    if is_changed {
        let shown: Vec<String> = meant.iter().map(|meant| quote(&format!("{meant:?}")).to_string()).collect();
        let what = if shown.len() == 1 { "the value" } else { "the values" };
        let _ = write!(explanation, " with {what} {}", shown.join(", "));
    }
    if is_negated {
        let _ = write!(explanation, " inside {}", quote(Complex::Not.name()));
    }
    Ok(Suggestion::explain(explanation))
}

impl<'a> Parser<'a, '_> {
    /// Builds a criterion from the keys that were read. A field criterion with errors keeps its valid parts, because a later stage
    /// compares them with the catalogue. Returns `None` if the criterion has no part that the later stage can check.
    pub(super) fn criterion(&mut self, open: OpenCriterion<'a>) -> Option<Criterion> {
        let operator = match &open.op {
            Slot::Given(op) => Complex::find(&op.text, self.grammar),
            _ => None,
        };
        if operator.is_some_and(Complex::takes_array) {
            return self.elements(open);
        }
        let is_field = !open.field.is_absent() || !open.values.is_absent();
        if !open.children.is_absent() && is_field {
            let mut expected =
                "a complex criterion (`op`, `children`) or a field criterion (`field`, `op`, `values`)"
                    .to_owned();
            let mut meant = None;
            if self.grammar == Grammar::Extended {
                let elem = quote(Complex::ELEM.name());
                let _ = write!(expected, "; {elem} has `op`, `field` and `children`");
                let is_meant = |op: &str| {
                    let word = op.to_ascii_lowercase().replace(['$', '_', '-'], "");
                    matches!(
                        word.as_str(),
                        "elem"
                            | "elemmatch"
                            | "element"
                            | "elements"
                            | "any"
                            | "some"
                            | "has"
                            | "nested"
                            | "exists"
                    )
                };
                meant = match &open.op {
                    Slot::Given(op) if open.values.is_absent() && is_meant(&op.text) => Some(elem),
                    _ => None,
                };
            }
            self.report(
                Error::new(
                    ErrorKind::MixedCriterion,
                    open.offset,
                    "both `children` and `field` or `values`",
                    expected,
                )
                .suggest(meant),
            );
            return None;
        }
        if !open.children.is_absent() || (operator.is_some() && !is_field) {
            self.complex(open, operator)
        } else {
            self.field(open)
        }
    }

    fn complex(&mut self, open: OpenCriterion<'a>, operator: Option<Complex>) -> Option<Criterion> {
        let mut valid = !open.broken;
        match &open.op {
            Slot::Given(op) if operator.is_none() => {
                let foreign = ForeignOperator::find(&op.text);
                let connective = foreign.and_then(ForeignOperator::connective);
                let is_negation = foreign.is_some_and(ForeignOperator::is_negation);
                let suggestion = match connective {
                    Some(connective) => Some(connective.name()),
                    None if is_negation && self.grammar == Grammar::Extended => Some(Complex::Not.name()),
                    None => None,
                };
                let note = match suggestion {
                    None if is_negation => "; `<>` is the only negation",
                    _ => "",
                };
                // An operator with an array has a `field` beside its children.
                let listed = Complex::allowed(self.grammar).filter(|operator| !operator.takes_array());
                let names = listed.map(|operator| quote(operator.name()).to_string());
                let names = names.collect::<Vec<_>>().join(" or ");
                self.report(
                    Error::new(
                        ErrorKind::UnknownOperator,
                        op.offset,
                        quote(&op.text),
                        format!("{names} beside `children`{note}"),
                    )
                    .suggest(suggestion.map(quote)),
                );
                valid = false;
            }
            Slot::Absent => {
                self.missing(&open, "op");
                valid = false;
            }
            _ => {}
        }
        match open.children {
            Slot::Given(0) => {
                self.report(Error::new(
                    ErrorKind::EmptyList,
                    open.children_offset,
                    "an empty array",
                    "at least one child",
                ));
                None
            }
            Slot::Given(children) if valid => {
                let operator = operator?;
                if operator.takes_one_child() && children > 1 {
                    self.report(Error::new(
                        ErrorKind::TooManyOperands,
                        open.children_offset,
                        format!("{children} children"),
                        format!("exactly one child for {}", quote(operator.name())),
                    ));
                    return None;
                }
                Some(Criterion::Complex { operator, array: None, children })
            }
            Slot::Absent => {
                self.missing(&open, "children");
                None
            }
            _ => None,
        }
    }

    /// Builds a criterion with the operator `$elem`, which tests the elements of an array.
    fn elements(&mut self, open: OpenCriterion<'a>) -> Option<Criterion> {
        let mut valid = true;
        for (absent, key) in [(open.field.is_absent(), "field"), (open.children.is_absent(), "children")] {
            if absent {
                self.missing(&open, key);
                valid = false;
            }
        }
        if !open.values.is_absent() {
            self.report(Error::new(
                ErrorKind::MixedCriterion,
                open.values_offset,
                format!("`values` beside {}", quote(Complex::ELEM.name())),
                "`field`, the path of an array of objects, `op` and `children`",
            ));
            valid = false;
        }
        if matches!(open.children, Slot::Given(0)) {
            self.report(Error::new(
                ErrorKind::EmptyList,
                open.children_offset,
                "an empty array",
                "at least one child",
            ));
        }
        match (open.field, open.children) {
            (Slot::Given(array), Slot::Given(children)) if valid && children > 0 && !open.broken => {
                Some(Criterion::Complex { operator: Complex::ELEM, array: Some(array), children })
            }
            _ => None,
        }
    }

    fn field(&mut self, open: OpenCriterion<'a>) -> Option<Criterion> {
        if open.field.is_absent() && open.values.is_absent() && !matches!(open.op, Slot::Given(_)) {
            // No key shows which kind of criterion the client meant.
            if !open.broken {
                self.report(Error::new(
                    ErrorKind::MissingKey,
                    open.offset,
                    "an empty criterion",
                    "`field`, `op` and `values`, or `op` and `children`",
                ));
            }
            return None;
        }
        for (absent, key) in [
            (open.field.is_absent(), "field"),
            (open.op.is_absent(), "op"),
            (open.values.is_absent(), "values"),
        ] {
            if absent {
                self.missing(&open, key);
            }
        }
        let holds = match &open.field {
            Slot::Given(field) => self.body.text(*field).and_then(|name| (self.fields)(&name.text)),
            _ => None,
        };
        let operator = match &open.op {
            Slot::Given(op) => {
                let operator = Operator::find_allowed(&op.text, self.grammar);
                if operator.is_none() {
                    let names = Operator::listed(self.language(), None).join(", ");
                    let values = match &open.values {
                        Slot::Given(values) => self.body.texts(values),
                        _ => &[],
                    };
                    let language = self.language();
                    let (suggestion, unsupported) = suggestion(&op.text, holds, values, language);
                    let note = unsupported.map(|unsupported| format!("; {}", unsupported.note(language)));
                    let note = note.unwrap_or_default();
                    self.report(
                        Error::new(
                            ErrorKind::UnknownOperator,
                            op.offset,
                            quote(&op.text),
                            format!("one of {names} beside `field`{note}"),
                        )
                        .suggest(suggestion),
                    );
                }
                operator.map(|operator| (operator, op.offset))
            }
            _ => None,
        };
        let values = match &open.values {
            Slot::Given(values) => values.clone(),
            _ => 0..0,
        };
        if matches!(open.values, Slot::Given(_)) && values.is_empty() {
            self.report(Error::new(
                ErrorKind::EmptyList,
                open.values_offset,
                "an empty array",
                "at least one value",
            ));
        }
        if let Some((operator, _)) = operator
            && operator.arity().is_exceeded_by(values.len())
        {
            let suggestion = (operator == Operator::Equal).then(|| for_several(holds, Syntax::Json));
            self.report(
                Error::new(
                    ErrorKind::TooManyOperands,
                    open.values_offset,
                    format!("{} values", values.len()),
                    format!("exactly one value for {}", quote(operator.name())),
                )
                .suggest(suggestion),
            );
        }
        // Keep the criterion even if one of its parts has an error, because the next stage (lowering) may find errors in the other
        // parts.
        match open.field {
            Slot::Given(field) => Some(Criterion::Field { field, operator, values }),
            _ => None,
        }
    }

    fn missing(&mut self, open: &OpenCriterion<'a>, key: &str) {
        // Report nothing after an unknown key: it has been reported, and may be this key, misspelt. Report nothing for a repeated
        // key either: it has been reported, and its first value may have been `null`.
        let is_repeated = CRITERION_KEYS
            .iter()
            .zip(0..)
            .any(|(name, bit)| *name == key && open.seen.repeated >> bit & 1 == 1);
        if is_repeated || !open.seen.others.is_empty() {
            return;
        }
        self.report(Error::new(
            ErrorKind::MissingKey,
            open.offset,
            format!("no {}", quote(key)),
            format!("the key {}", quote(key)),
        ));
    }
}
