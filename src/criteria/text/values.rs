//! Parses the values of a criterion in the text syntax: one value, or a list in parentheses.

use std::borrow::Cow;
use std::ops::Range;

use super::super::advice::{Holds, for_several};
use super::super::ast::Text;
use super::super::unsupported::{Unsupported, is_relative_time};
use super::foreign_words::CURLY_QUOTES;
use super::lexer::{Result, Token};
use super::operands::{Join, Operands, ends_value, shifted};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, Found, quote, quote_whole};
use crate::operator::{Language, Operator, Syntax};
use crate::value::is_reserved_value;

impl<'a> Parser<'a, '_> {
    /// Reads the value after an operator that takes one value, or after an unknown operator.
    pub(super) fn operand(&mut self, operator: Option<Operator>) -> Result<Option<Range<usize>>> {
        if self.lexer.next == Token::Open {
            let offset = self.lexer.start;
            let mut count: usize = 0;
            self.list("", false, &mut |_, _| count = count.saturating_add(1))?;
            if let Some(operator) = operator.filter(|_| count > 0) {
                let suggestion = (operator == Operator::Equal).then(|| for_several(self.holds, Syntax::Text));
                self.report(
                    Error::new(ErrorKind::TooManyOperands, offset, "a list of values", {
                        let name = quote(operator.spelled(Syntax::Text));
                        format!("exactly one value for {name}, without parentheses")
                    })
                    .suggest(suggestion),
                );
            }
            return Ok(None);
        }
        let start = self.body.texts.len();
        let bare = matches!(self.lexer.next, Token::Word(_));
        self.last_word = bare.then_some(self.lexer.start..self.lexer.at);
        let Some(text) = self.value("")? else { return Ok(None) };
        if bare && self.is_phrase(&text)? {
            return Ok(None);
        }
        self.push_value(text);
        Ok(Some(start..self.body.texts.len()))
    }

    fn push_value(&mut self, text: Text<'a>) {
        self.values = self.values.saturating_add(1);
        if !self.over(ErrorKind::TooManyValues, self.values, self.limits.values, text.offset, "values") {
            self.body.texts.push(text);
        }
    }

    /// Reads the list of values after an operator that is written as `word`.
    pub(super) fn chosen(&mut self, word: &str) -> Result<Option<Range<usize>>> {
        let start = self.body.texts.len();
        let errors = self.errors.len();
        if self.list(word, false, &mut Self::push_value)? && errors == self.errors.len() {
            return Ok(Some(start..self.body.texts.len()));
        }
        Ok(None)
    }

    /// Reads `(value, …)`. Returns false if the list had an error, which was reported.
    pub(super) fn list(
        &mut self,
        word: &str,
        may_be_empty: bool,
        take: &mut dyn FnMut(&mut Self, Text<'a>),
    ) -> Result<bool> {
        if self.lexer.next != Token::Open {
            let error = self.unexpected(&format!("`(` after `{word}`"));
            // On a multi-valued field, `contains` tests whether the operand is one of the values. On a single string, it means a
            // search inside the string.
            let is_contains = word.trim_start_matches('$').eq_ignore_ascii_case("contains");
            let is_list = self.holds.is_some_and(|holds| holds.is_list);
            let Some(operands) = Operands::read(&self.lexer) else { return Err(error) };
            // On an unknown field, `contains` may mean a search inside a string.
            let is_meant = operands.is_whole
                && matches!(operands.join, None | Some(Join::Comma))
                && operands.unsupported().is_none()
                && !operands.has_keyword()
                && (!is_contains || is_list);
            let mut written = self.lexer.text.get(self.lexer.start..operands.stop).unwrap_or_default();
            if !is_meant {
                written = self.lexer.next_text();
            }
            let error = Error { found: Found::text(written), ..error };
            self.report(error.suggest(quote_whole(&format!("{word} ({written})")).filter(|_| is_meant)));
            if is_meant {
                self.lexer = operands.rest;
            } else {
                self.skip()?;
            }
            return Ok(false);
        }
        let open = self.lexer.start;
        self.skip()?;
        if self.lexer.next == Token::Close {
            if !may_be_empty {
                self.report(Error::new(ErrorKind::EmptyList, open, "an empty list", "at least one value"));
            }
            self.skip()?;
            return Ok(may_be_empty);
        }
        let mut valid = true;
        loop {
            match self.value("`)` or ")? {
                Some(text) => take(self, text),
                None => valid = false,
            }
            match self.lexer.next {
                Token::Comma => self.skip()?,
                Token::Close => break,
                _ => return Err(self.unexpected("`,` or `)`")),
            }
        }
        self.skip()?;
        Ok(valid)
    }

    /// Reads one value. Returns `None` if it has an error, which is reported.
    fn value(&mut self, or: &str) -> Result<Option<Text<'a>>> {
        match &self.lexer.next {
            Token::Word(word) if is_reserved_value(word) => {
                let error = self.unexpected("a value; this word belongs to the syntax, so put it in quotes");
                let is_followed = self.is_followed()?;
                let joins = self.lexer.next.connective().is_some() && is_followed;
                let is_string = self.holds.is_none_or(Holds::is_string);
                let is_value = is_string && !is_followed && !self.lexer.next.is_word("not");
                self.report(error.suggest(is_value.then(|| quote(&format!("\"{word}\"")))));
                if !joins {
                    self.skip()?;
                }
                Ok(None)
            }
            Token::Word(word) if self.lexer.is_call() => {
                let unsupported =
                    if is_relative_time(word) { Unsupported::RelativeTime } else { Unsupported::Function };
                Err(self.unexpected(&format!("{or}a value; {}", unsupported.note(Language::Text))))
            }
            Token::Word(_) if self.holds.is_some_and(Holds::is_timestamp) => match shifted(&self.lexer) {
                Some((stop, after)) => {
                    let start = self.lexer.start;
                    let time = self.lexer.text.get(start..stop).unwrap_or_default();
                    self.lexer = after;
                    Ok(self.short(Cow::Borrowed(time), start))
                }
                None => self.text(),
            },
            Token::Word(_) | Token::Quoted(_) => self.text(),
            Token::Other('*' | '%' | '?') => Err(self
                .unexpected(&format!("{or}a value; {}", self.unsupported_wildcard().note(Language::Text)))),
            Token::Other(mark) if CURLY_QUOTES.contains(mark) => self.curly(*mark),
            _ => Err(self.unexpected(&format!("{or}a value"))),
        }
    }

    /// Returns the unsupported test that the next token, a wildcard, expresses: [`Unsupported::Absence`] if the wildcard is the
    /// whole value, otherwise [`Unsupported::Inside`].
    pub(super) fn unsupported_wildcard(&self) -> Unsupported {
        let mut ahead = self.lexer.clone();
        let is_alone = ahead.bump().is_err() || ends_value(&ahead.next);
        if is_alone { Unsupported::Absence } else { Unsupported::Inside }
    }

    /// Returns true unless the next word is followed by the end of the text, `)`, a comma or a connective.
    fn is_followed(&self) -> Result<bool> {
        let mut ahead = self.lexer.clone();
        ahead.bump()?;
        let ends = matches!(ahead.next, Token::End | Token::Close | Token::Comma);
        Ok(!ends && ahead.next.connective().is_none())
    }
}
