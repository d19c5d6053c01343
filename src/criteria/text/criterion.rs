//! Parses one criterion of the text syntax: a field, an operator and its values.

use std::borrow::Cow;
use std::ops::Range;

use super::super::advice::Holds;
use super::super::ast::{Criterion, Text, TextId};
use super::lexer::{Result, Token};
use super::parser::Parser;
use super::phrase::{Reading, operators};
use crate::error::{Error, ErrorKind, quote};
use crate::operator::{Arity, Connective, Operator};
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
                    self.holds = self.field(name);
                    let expected = format!("a field and, after a space, {}", operators(self.holds));
                    return self.colon(name, &expected);
                }
                if self.test_before_field(word)? {
                    return Ok(());
                }
            }
            Token::Quoted(_) => {}
            _ => {
                return Err(match self.around().filter(|array| !array.is_empty()) {
                    Some(array) => {
                        let expected = format!("a criterion on a field below {}, or `(`", quote(array));
                        self.unexpected(&expected)
                    }
                    None => self.unexpected(A_CRITERION),
                });
            }
        }
        let field = self.text()?;
        let field_text = self.lexer.text.get(offset..self.lexer.start).unwrap_or_default().trim_end();
        self.holds = field.as_ref().and_then(|field| self.field(&field.text));
        let field = field.map(|field| self.body.push_text(field));
        let written = self.lexer.next_text();
        let (operator, values) = match self.operator(field_text, offset)? {
            Reading::Operator(operator, operator_offset)
                if self.wildcards(
                    operator,
                    operator_offset,
                    true,
                    &self.lexer.clone(),
                    field_text,
                    offset,
                ) =>
            {
                (None, None)
            }
            Reading::Operator(operator, operator_offset) => {
                let values = match operator.arity() {
                    // A single value of an extended operator needs no parentheses.
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
        if let (Some(field), Some((Operator::All, operator_offset)), Some(values)) =
            (field, operator, &values)
            && self.has_span(values)
        {
            self.each_span(field, operator_offset, values.clone(), offset);
            return Ok(());
        }
        let criterion = match field {
            Some(field) => Criterion::Field { field, operator, values: values.unwrap_or_default() },
            None => Criterion::Broken,
        };
        let node = self.push(criterion, offset);
        self.terms.push(node);
        Ok(())
    }

    /// Returns true if one of the values of a timestamp field is a span of time, such as a whole day.
    fn has_span(&self, values: &Range<usize>) -> bool {
        let is_span =
            |value: &Text<'_>| self.body.clock.parse(&value.text).is_ok_and(|(first, last)| first != last);
        self.holds.is_some_and(Holds::is_timestamp) && self.body.texts(values).iter().any(is_span)
    }

    /// Adds criteria that require a value within each span of `values`: one `=` for each span, joined by `and`. For example,
    /// `visits all (2025-12-01, 2025-12-02)` requires a value of the field `visits` within each of the two days.
    fn each_span(&mut self, field: TextId, operator_offset: usize, values: Range<usize>, offset: usize) {
        let count = values.len();
        let mut node = 0;
        for value in values {
            let operator = Some((Operator::Equal, operator_offset));
            let values = value..value.saturating_add(1);
            node = self.push(Criterion::Field { field, operator, values }, offset);
        }
        if count > 1 {
            let operator = Connective::And.into();
            node = self.push(Criterion::Complex { operator, array: None, children: count }, offset);
        }
        self.terms.push(node);
    }

    /// Reads the next token. Returns `None` if it is neither a word nor a string, or if it is too long. Reports an error for a text
    /// that is too long.
    pub(super) fn text(&mut self) -> Result<Option<Text<'a>>> {
        let (token, offset) = self.lexer.bump()?;
        let text = match token {
            Token::Word(word) => Cow::Borrowed(word),
            Token::Quoted(text) => text,
            _ => return Ok(None),
        };
        Ok(self.short(text, offset))
    }

    pub(super) fn short(&mut self, text: Cow<'a, str>, offset: usize) -> Option<Text<'a>> {
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
