//! Parses one criterion: a field, an operator and its values.

use std::borrow::Cow;

use super::super::advice::Habit;
use super::super::ast::{Criterion, Text};
use super::super::unsupported::Unsupported;
use super::lexer::{Result, Token};
use super::operator::{Reading, operators};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, Found, quote, quote_whole};
use crate::operator::{Arity, Operator};
use crate::value::is_reserved_word;

const A_CRITERION: &str = "a criterion such as `status = open`, or `(`";

impl<'a> Parser<'a, '_> {
    /// Reads `field operator values`.
    pub(super) fn criterion(&mut self) -> Result<()> {
        let offset = self.lexer.start;
        match &self.lexer.next {
            Token::Word(word) if is_reserved_word(word) => {
                let (expected, suggestion) = match word.to_ascii_lowercase().as_str() {
                    "true" | "false" => ("a criterion; `true` and `false` stand alone", None),
                    "ids" => ("a criterion; `ids (…)` stands at the start", Some(quote("id in (…)"))),
                    _ => (A_CRITERION, None),
                };
                return Err(self.unexpected(expected).suggest(suggestion));
            }
            Token::Word(word) => {
                if let Some(name) = self.name_before_colon(word) {
                    return self.colon(name, &format!("a field and, after a space, {}", operators()));
                }
                if let Some(unsupported) = self.function_before_field(word) {
                    return Err(self.unexpected(&format!("a field by itself; {}", unsupported.note())));
                }
            }
            Token::Quoted(_) => {}
            Token::Symbol("!") => return Err(self.not()),
            _ => return Err(self.unexpected(A_CRITERION)),
        }
        let field = self.text()?;
        let field_text = self.lexer.text.get(offset..self.lexer.start).unwrap_or_default().trim_end();
        self.holds = field.as_ref().and_then(|field| (self.fields)(&field.text));
        let field = field.map(|field| self.body.push_text(field));
        let written = self.lexer.next_text();
        let (operator, values) = match self.operator(field_text, offset)? {
            Reading::Operator(operator, operator_offset) => {
                let values = match operator.arity() {
                    // A single value needs no parentheses.
                    Arity::OneOrMore if operator.is_extended() && self.lexer.next != Token::Open => {
                        self.operand(Some(operator))?
                    }
                    Arity::OneOrMore => self.chosen(written)?,
                    Arity::One => self.operand(Some(operator))?,
                };
                (Some((operator, operator_offset)), values)
            }
            Reading::Presence(is_present, operator_offset) => {
                let text = Cow::Borrowed(if is_present { "true" } else { "false" });
                let value = self.body.push_text(Text { text, offset: operator_offset });
                (Some((Operator::Exists, operator_offset)), Some(value..value.saturating_add(1)))
            }
            Reading::Unknown => (None, self.operand(None)?),
            Reading::Whole => (None, None),
        };
        let criterion = match field {
            Some(field) => Criterion::Field { field, operator, values: values.unwrap_or_default() },
            None => Criterion::Broken,
        };
        let node = self.push(criterion, offset);
        self.terms.push(node);
        Ok(())
    }

    /// Returns the error for `not` or `!`, which is the next token.
    fn not(&self) -> Error {
        let (meant, unsupported) = self.negated();
        let note = unsupported.map(|unsupported| format!("; {}", unsupported.note()));
        let error =
            self.unexpected(&format!("a criterion; `<>` is the only negation{}", note.unwrap_or_default()));
        match meant {
            Some((stop, meant)) => {
                let found = self.lexer.text.get(self.lexer.start..stop).unwrap_or_default();
                Error { found: Found::text(found), ..error }.suggest(quote_whole(&meant))
            }
            None => error,
        }
    }

    /// Returns the unsupported test of `exists(field)`, `exists field`, `_exists_:field` or `lower(field)`; `None` for anything else.
    ///
    /// `word` is the next token. A word that is a field is not such a test.
    fn function_before_field(&self, word: &str) -> Option<Unsupported> {
        if (self.fields)(word).is_some() {
            return None;
        }
        if let Some((name, _)) = word.split_once(':') {
            let habit = Habit::find(name).and_then(Habit::unsupported);
            return habit.filter(|unsupported| *unsupported == Unsupported::Absence);
        }
        let mut ahead = self.lexer.clone();
        let is_function = ahead.is_call();
        ahead.bump().ok()?;
        let habit = Habit::find(word).and_then(Habit::unsupported);
        let is_before_field = matches!(&ahead.next, Token::Open)
            || matches!(&ahead.next, Token::Word(next) if (self.fields)(next).is_some());
        habit.filter(|_| is_before_field).or(is_function.then_some(Unsupported::Function))
    }

    /// Reads the next token, a word or string; `None` if it is too long, which is reported.
    pub(super) fn text(&mut self) -> Result<Option<Text<'a>>> {
        let (token, offset) = self.lexer.bump()?;
        let text = match token {
            Token::Word(word) => Cow::Borrowed(word),
            Token::Quoted(text) => text,
            _ => return Ok(None),
        };
        Ok(self.short(text, offset))
    }

    fn short(&mut self, text: Cow<'a, str>, offset: usize) -> Option<Text<'a>> {
        let limit = self.limits.string_bytes;
        if text.len() > limit {
            let found = format!("a string of {} bytes", text.len());
            self.report(Error::new(
                ErrorKind::StringTooLong,
                offset,
                found,
                format!("at most {limit} bytes in a string"),
            ));
            return None;
        }
        Some(Text { text, offset })
    }
}
