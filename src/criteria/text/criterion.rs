//! One criterion: a field, an operator and its values.

use std::borrow::Cow;

use super::super::advice::{Advice, NO_ABSENCE, advise, is_no_value};
use super::super::ast::{Criterion, Text};
use super::lexer::{Result, Token};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, quote, quote_whole};
use crate::operator::{Arity, Operator, Syntax};
use crate::value::{Timestamp, is_reserved_word};

const A_CRITERION: &str = "a criterion such as `status = open`, or `(`";

/// Returns the expectation that lists all operators.
fn operators() -> String {
    let all = Operator::ALL.map(|operator| quote(operator.spelled(Syntax::Text)));
    format!("one of {}", all.join(", "))
}

impl<'a> Parser<'a, '_> {
    /// Reads `field operator values`.
    pub(super) fn criterion(&mut self) -> Result<()> {
        let offset = self.lexer.start;
        match &self.lexer.next {
            Token::Word(word) if is_reserved_word(word) => {
                let (expected, suggestion) = match word.to_ascii_lowercase().as_str() {
                    "not" => ("a criterion; `<>` is the only negation", self.negated()),
                    "true" | "false" => ("a criterion; `true` and `false` stand alone", None),
                    "ids" => ("a criterion; `ids (…)` stands at the start", Some("`id in (…)`".to_owned())),
                    _ => (A_CRITERION, None),
                };
                return Err(self.unexpected(expected).suggest(suggestion));
            }
            Token::Word(word) => {
                if let Some(name) = self.name_before_colon(word) {
                    return self.colon(name, &format!("a field and, after a space, {}", operators()));
                }
            }
            Token::Quoted(_) => {}
            Token::Symbol(symbol) if symbol.starts_with('!') => {
                let negated = self.negated();
                return Err(self.unexpected("a criterion; `<>` is the only negation").suggest(negated));
            }
            _ => return Err(self.unexpected(A_CRITERION)),
        }
        let field = self.text()?;
        let field_text = self.lexer.text.get(offset..self.lexer.start).unwrap_or_default().trim_end();
        self.holds = field.as_ref().and_then(|field| (self.fields)(&field.text));
        let field = field.map(|field| self.body.push_text(field));
        let written = self.next_text();
        let Some((operator, operator_offset)) = self.operator(field_text)? else {
            let node = self.push(Criterion::Broken, offset);
            self.terms.push(node);
            return Ok(());
        };
        let values = match operator {
            Some(operator) if operator.arity() == Arity::OneOrMore => self.chosen(written)?,
            _ => self.operand(operator)?,
        };
        let criterion = match field {
            Some(field) => Criterion::Field {
                field,
                operator: operator.map(|operator| (operator, operator_offset)),
                values: values.unwrap_or_default(),
            },
            None => Criterion::Broken,
        };
        let node = self.push(criterion, offset);
        self.terms.push(node);
        Ok(())
    }

    /// The word or string that stands next; `None` when it is too long, which was reported.
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

    /// The text of the token that stands next.
    pub(super) fn next_text(&self) -> &'a str {
        self.lexer.text.get(self.lexer.start..self.lexer.at).unwrap_or_default()
    }

    /// Reads an operator; in the pair, `None` when it is none of ours, which was reported. `None` when the criterion ends with it.
    fn operator(&mut self, field: &str) -> Result<Option<(Option<Operator>, usize)>> {
        let offset = self.lexer.start;
        // Of a string, `contains` asks for a part.
        let is_search = self.lexer.next.is_word("contains") && self.holds.is_some_and(|holds| !holds.is_list);
        let operator = match &self.lexer.next {
            Token::Symbol(symbol) => Operator::find_word(symbol),
            _ if is_search => None,
            token => token.word_operator(),
        };
        if operator.is_some() {
            self.skip()?;
            return Ok(Some((operator, offset)));
        }
        if let Token::Word(word) = self.lexer.next
            && let Some(value) = word.strip_prefix(':').filter(|value| !value.is_empty())
        {
            let error = Error::new(ErrorKind::UnknownOperator, offset, quote(word), operators());
            let is_value = !is_reserved_word(value) && Timestamp::respell(value).is_none();
            self.report(error.suggest(quote_whole(&format!("= {value}")).filter(|_| is_value)));
            self.skip()?;
            return Ok(None);
        }
        let written = match &self.lexer.next {
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::Word(word) if self.lexer.next.connective().is_none() => self.operator_words(word)?,
            Token::Open => {
                let note = "in double quotes a shell takes `$contains` and `$all` away: write `in` or `all`";
                return Err(self.unexpected(&format!("{}; {note}", operators())));
            }
            _ => return Err(self.unexpected(&operators())),
        };
        let advice = advise(&written.replace(' ', ""), self.holds);
        let error =
            |expected: String| Error::new(ErrorKind::UnknownOperator, offset, quote(&written), expected);
        match advice {
            Advice::Joined(_) if written.eq_ignore_ascii_case("between") => {
                self.skip()?;
                let range = self.range_between(field)?;
                let ends_here = range.is_some();
                let meant = range.unwrap_or_else(|| "`>=` and `<=` joined by `and`".to_owned());
                self.report(error(operators()).suggest(Some(meant)));
                return Ok((!ends_here).then_some((None, offset)));
            }
            Advice::Operator(_) | Advice::Connective(_) | Advice::Joined(_) => {
                self.report(error(operators()).suggest(advice.meant(Syntax::Text)));
            }
            Advice::Cannot(note) => {
                self.report(error(format!("{}; {note}", operators())));
                if note == NO_ABSENCE {
                    self.skip()?;
                    // Some take whether they are to hold.
                    if self.lexer.next.is_word("true") || self.lexer.next.is_word("false") {
                        self.skip()?;
                    }
                    return Ok(None);
                }
            }
            // A word that is like no operator may be anything; what follows it then, too.
            Advice::Nothing if matches!(self.lexer.next, Token::Word(_)) => {
                return Err(error(operators()));
            }
            Advice::Nothing => self.report(error(operators())),
        }
        self.skip()?;
        Ok(Some((None, offset)))
    }

    /// The words that make an operator of another language, such as `is not null`, of which `first` stands next. Afterwards the
    /// last of them stands next.
    fn operator_words(&mut self, first: &str) -> Result<String> {
        let mut words = first.to_owned();
        let is_operator = |next: &str| {
            matches!(advise(next, None), Advice::Cannot(_))
                || ["in", "between"].iter().any(|word| word.eq_ignore_ascii_case(next))
        };
        let may_follow = |words: &str, next: &str| match words.to_ascii_lowercase().as_str() {
            "is" => is_no_value(next) || is_operator(next) || next.eq_ignore_ascii_case("not"),
            "is not" => is_no_value(next) || is_operator(next),
            "has" => matches!(advise(next, None), Advice::Cannot(_)),
            "not" => {
                matches!(advise(next, None), Advice::Cannot(_))
                    || ["in", "between", "contains", "includes", "has"]
                        .iter()
                        .any(|word| word.eq_ignore_ascii_case(next))
            }
            "starts" | "begins" | "ends" => next.eq_ignore_ascii_case("with"),
            _ => false,
        };
        loop {
            let mut ahead = self.lexer.clone();
            ahead.bump()?;
            match ahead.next {
                Token::Word(next) if may_follow(&words, next) => {
                    self.skip()?;
                    words.push(' ');
                    words.push_str(next);
                }
                _ => break,
            }
        }
        Ok(words)
    }
}
