//! Parses one criterion: a field, an operator and its values.

use std::borrow::Cow;

use super::super::ast::{Criterion, Text};
use super::lexer::{Result, Token};
use super::operator::{Reading, operators};
use super::parser::Parser;
use crate::error::{Error, ErrorKind};
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
                    "ids" => ("a criterion; `ids (…)` stands at the start", Some("`id in (…)`".to_owned())),
                    _ => (A_CRITERION, None),
                };
                return Err(self.unexpected(expected).suggest(suggestion));
            }
            Token::Word(word) => {
                if let Some(name) = self.name_before_colon(word) {
                    self.holds = (self.fields)(name);
                    let expected = format!("a field and, after a space, {}", operators(self.holds));
                    return self.colon(name, &expected);
                }
                if self.test_before_field(word)? {
                    return Ok(());
                }
            }
            Token::Quoted(_) => {}
            _ => return Err(self.unexpected(A_CRITERION)),
        }
        let field = self.text()?;
        let field_text = self.lexer.text.get(offset..self.lexer.start).unwrap_or_default().trim_end();
        self.holds = field.as_ref().and_then(|field| (self.fields)(&field.text));
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
