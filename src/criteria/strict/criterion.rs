//! Checks the keys of one criterion against each other.

use super::super::advice::{Advice, advise, for_several};
use super::super::ast::Criterion;
use super::open::{CRITERION_KEYS, OpenCriterion, Slot};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, quote};
use crate::operator::{Connective, Operator, Syntax};

impl<'a> Parser<'a, '_> {
    /// Returns the criterion of the keys that were read; `None` when it has none that lowering could go on with.
    pub(super) fn criterion(&mut self, open: OpenCriterion<'a>) -> Option<Criterion> {
        let connective = match &open.op {
            Slot::Given(op) => Connective::find(&op.text),
            _ => None,
        };
        let is_field = !open.field.is_absent() || !open.values.is_absent();
        if !open.children.is_absent() && is_field {
            self.report(Error::new(
                ErrorKind::MixedCriterion,
                open.offset,
                "both `children` and `field` or `values`",
                "a complex criterion (`op`, `children`) or a field criterion (`field`, `op`, `values`)",
            ));
            return None;
        }
        if !open.children.is_absent() || (connective.is_some() && !is_field) {
            self.complex(open, connective)
        } else {
            self.field(open)
        }
    }

    fn complex(&mut self, open: OpenCriterion<'a>, connective: Option<Connective>) -> Option<Criterion> {
        let mut valid = !open.broken;
        match &open.op {
            Slot::Given(op) if connective.is_none() => {
                let suggestion = match advise(&op.text, None) {
                    meant @ Advice::Connective(_) => meant.meant(Syntax::Json),
                    _ => None,
                };
                self.report(
                    Error::new(
                        ErrorKind::UnknownOperator,
                        op.offset,
                        quote(&op.text),
                        "`$and` or `$or` beside `children`",
                    )
                    .suggest(suggestion),
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
            Slot::Given(children) if valid => Some(Criterion::Complex { connective: connective?, children }),
            Slot::Absent => {
                self.missing(&open, "children");
                None
            }
            _ => None,
        }
    }

    fn field(&mut self, open: OpenCriterion<'a>) -> Option<Criterion> {
        if open.field.is_absent() && open.values.is_absent() && !matches!(open.op, Slot::Given(_)) {
            // Neither sort of criterion is meant more likely.
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
                let operator = Operator::find(&op.text);
                if operator.is_none() {
                    let names = Operator::ALL.map(|operator| quote(operator.name())).join(", ");
                    let (suggestion, note) = match advise(&op.text, holds) {
                        // They cannot be meant where there is a field.
                        Advice::Connective(_) => (None, None),
                        Advice::Cannot(note) => (None, Some(note)),
                        advice => (advice.meant(Syntax::Json), None),
                    };
                    let note = note.map(|note| format!("; {note}")).unwrap_or_default();
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
        // With an error in one part, the others may still have errors that only a catalogue shows.
        match open.field {
            Slot::Given(field) => Some(Criterion::Field { field, operator, values }),
            _ => None,
        }
    }

    fn missing(&mut self, open: &OpenCriterion<'a>, key: &str) {
        // A misspelt key was reported already; that its right spelling lacks is the same fault. And of a key that
        // came again, only the first time counted, and may have been `null`.
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
