//! Recovers from values in the style of other tools, such as `field:value`, `10,000` and typographic quotes.
//!
//! The functions that read such a value report an error, with a suggestion if possible, and continue to read after the value. The
//! other functions only examine the text.

use super::super::advice::{ForeignOperator, Holds};
use super::super::ast::{Criterion, Text};
use super::super::unsupported::{Unsupported, is_no_value, is_relative_time, meant_by_value};
use super::lexer::{Lexer, Result, Token};
use super::operands::{Join, Operands, ends_value};
use super::parser::Parser;
use super::phrase::phrase;
use super::searches::{AfterColon, presence_words};
use crate::error::{Error, ErrorKind, quote, quote_whole};
use crate::operator::{Language, Operator};
use crate::value::{Number, Timestamp, is_moment, is_reserved_value, is_reserved_word};

/// Characters that are recognised as quotation marks, besides the straight ones. Word processors insert most of them.
pub(super) const CURLY_QUOTES: [char; 11] = ['“', '”', '„', '‟', '‘', '’', '‚', '«', '»', '`', '´'];

/// Returns true if a phrase contains a clause such as `order by`, which follows a condition in SQL. The clause cannot begin with
/// the first word of the phrase, because this word is the value of the condition.
fn has_clause(phrase: &str) -> bool {
    let words: Vec<String> = phrase.split_whitespace().skip(1).map(str::to_ascii_lowercase).collect();
    words.windows(2).any(|pair| match pair {
        [first, second] => match first.as_str() {
            "order" | "sort" | "group" => second == "by",
            "limit" | "offset" => second.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        },
        _ => false,
    })
}

/// Returns true if the next token begins a criterion, in parentheses or not.
pub(super) fn begins_criterion(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    match &ahead.next {
        Token::Open => true,
        token if token.is_word("not") => true,
        Token::Word(_) | Token::Quoted(_) => {
            ahead.bump().is_ok()
                && (matches!(ahead.next, Token::Symbol(_)) || matches!(phrase(&ahead), Ok(Some(_))))
        }
        _ => false,
    }
}

impl<'a> Parser<'a, '_> {
    /// Returns the field of a word of the form `field:value`, which people type in search boxes. Returns `None` if the whole word
    /// is the name of a field, or if no name of a field is before the colon.
    pub(super) fn name_before_colon(&self, word: &'a str) -> Option<&'a str> {
        let (name, _) = word.split_once(':')?;
        (self.field(word).is_none() && self.field(name).is_some()).then_some(name)
    }

    /// Returns a value after a colon, spelled as in the text syntax. Returns `None` if the author probably did not mean `=`.
    pub(super) fn value_after_colon(&self, value: &str) -> Option<String> {
        let is_number = self.holds.is_some_and(Holds::is_number);
        let is_other = ForeignOperator::find(value).is_some_and(|foreign| foreign.connective().is_none())
            || self.unsupported_after_colon(value).is_some()
            // A whole minute is a range, so `=` is not equivalent.
            || Timestamp::respell(value).is_some() && !is_moment(value)
            || is_number && Number::parse(value).is_none() && Number::respell(value).is_none()
            || !ends_value(&self.lexer.next) || self.lexer.next == Token::Comma;
        (!is_other).then(|| match self.holds {
            _ if is_reserved_value(value) => format!("\"{value}\""),
            Some(holds) if holds.is_boolean() => value.to_ascii_lowercase(),
            _ => value.to_owned(),
        })
    }

    /// Returns the test for absence if the value after a colon is a word for a missing value, such as `null`.
    pub(super) fn absence_after_colon(&self, value: &str) -> Option<&'static str> {
        (is_no_value(value) && ends_value(&self.lexer.next)).then(|| presence_words(false))
    }

    /// Returns the unsupported test that a value after a colon expresses, if it expresses such a test.
    pub(super) fn unsupported_after_colon(&self, value: &str) -> Option<Unsupported> {
        let is_cut = matches!(self.lexer.next, Token::Other('*' | '?' | '%'));
        let is_time =
            self.holds.is_some_and(Holds::is_timestamp) && is_relative_time(value) && !is_moment(value);
        meant_by_value(value, true)
            .or(is_cut.then_some(Unsupported::Inside))
            .or(is_time.then_some(Unsupported::RelativeTime))
    }

    /// Reports an error for `field:value`, which starts at the next token, and skips it. `expected` is the part of the message
    /// after "expected".
    pub(super) fn colon(&mut self, name: &str, expected: &str) -> Result<()> {
        let offset = self.lexer.start;
        let after_colon = offset.saturating_add(name.len()).saturating_add(1);
        if let Some(AfterColon { meant, rest, stop }) = self.pattern_after_colon(name, after_colon) {
            let written = self.lexer.text.get(offset..stop).unwrap_or_default();
            let (expected, meant) = match meant {
                Ok(meant) => (expected.to_owned(), quote_whole(&meant)),
                Err(unsupported) => (format!("{expected}; {}", unsupported.note(Language::Text)), None),
            };
            self.report(Error::new(ErrorKind::Syntax, offset, quote(written), expected).suggest(meant));
            self.lexer = rest;
            let node = self.push(Criterion::Broken, offset);
            self.terms.push(node);
            return Ok(());
        }
        let word_end = self.lexer.at;
        let value = self.lexer.text.get(offset..word_end).and_then(|word| word.get(name.len()..));
        let value = value.and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
        self.skip()?;
        let mut end = word_end;
        let mut unsupported = None;
        let meant = match &self.lexer.next {
            _ if !value.is_empty() => {
                if let Some(test) = self.absence_after_colon(value) {
                    Some(format!("{name} {test}"))
                } else {
                    unsupported = self.unsupported_after_colon(value);
                    self.value_after_colon(value).map(|value| format!("{name} = {value}"))
                }
            }
            Token::Word(_) | Token::Quoted(_) => {
                let operands = Operands::read(&self.lexer).filter(|operands| operands.is_whole);
                end = self.lexer.at;
                unsupported = operands.as_ref().and_then(Operands::unsupported);
                let is_value = |operands: &Operands<'_>| {
                    let is_other_time =
                        |value: &str| Timestamp::respell(value).is_some() && !is_moment(value);
                    let is_day = operands.values.iter().any(|one| is_other_time(&one.value));
                    operands.join.is_none() && unsupported.is_none() && !operands.has_keyword() && !is_day
                };
                operands.filter(is_value).map(|_| format!("{name} = {}", self.lexer.next_text()))
            }
            Token::Open => {
                let operands = Operands::read(&self.lexer).filter(|operands| operands.is_whole);
                unsupported = operands.as_ref().and_then(Operands::unsupported);
                let is_list = operands.filter(|operands| {
                    matches!(operands.join, None | Some(Join::Comma))
                        && unsupported.is_none()
                        && !operands.has_keyword()
                });
                is_list.map(|_| format!("{name} in"))
            }
            Token::Symbol(symbol) => Operator::find_word(symbol).map(|_| name.to_owned()),
            Token::Other('*' | '%' | '?') => {
                unsupported = Some(self.unsupported_wildcard());
                None
            }
            _ => None,
        };
        let note = unsupported.map(|unsupported| format!("; {}", unsupported.note(Language::Text)));
        let expected = format!("{expected}{}", note.unwrap_or_default());
        let written = self.lexer.text.get(offset..end).unwrap_or_default();
        let error = Error::new(ErrorKind::Syntax, offset, quote(written), expected);
        let error = error.suggest(meant.and_then(|meant| quote_whole(&meant)));
        if let Token::Other(_) = self.lexer.next {
            return Err(error);
        }
        self.report(error);
        if let Token::Symbol(_) = self.lexer.next {
            self.skip()?;
        }
        if end > word_end {
            self.skip()?;
        } else if value.is_empty() || self.lexer.next == Token::Open {
            self.operand(None)?;
        }
        let node = self.push(Criterion::Broken, offset);
        self.terms.push(node);
        Ok(())
    }

    /// Returns true if the next token, a comma, belongs to a number such as `10,000`. If it does, reports an error for the number,
    /// and skips it.
    pub(super) fn is_number_with_marks(&mut self) -> Result<bool> {
        let is_number = self.holds.is_some_and(Holds::is_number);
        let Some(value) = self.last_word.clone().filter(|value| is_number && value.end == self.lexer.start)
        else {
            return Ok(false);
        };
        let rest = self.lexer.text.get(value.start..).unwrap_or_default();
        let length = rest
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | '.' | ','))
            .unwrap_or(rest.len());
        let written = rest.get(..length).unwrap_or_default();
        let Some(meant) = Number::respell(written) else { return Ok(false) };
        self.report(
            Error::new(ErrorKind::BadNumber, value.start, quote(written), "a number without commas")
                .suggest(quote_whole(&meant)),
        );
        let end = value.start.saturating_add(length);
        while self.lexer.start < end && self.lexer.next != Token::End {
            self.skip()?;
        }
        Ok(true)
    }

    /// Returns true if more words follow an unquoted value, as in a timestamp without quotes. If they do, reports an error for the
    /// value with these words, and skips the words.
    pub(super) fn is_phrase(&mut self, first: &Text<'a>) -> Result<bool> {
        let mut end = None;
        let mut ahead = self.lexer.clone();
        // True if one of the words may be an operator or a connective of another language.
        let mut has_keyword = false;
        while matches!(ahead.next, Token::Word(word) if !is_reserved_word(word)) {
            let after = ahead.at;
            let before = ahead.clone();
            ahead.bump()?;
            let is_connective = ForeignOperator::find(before.next_text())
                .and_then(ForeignOperator::unsupported)
                == Some(Unsupported::Connective);
            // A word before an operator is a field.
            if matches!(ahead.next, Token::Symbol(_)) || ahead.next.word_operator().is_some() {
                ahead = before;
                has_keyword = true;
                break;
            }
            if is_connective && begins_criterion(&ahead) {
                ahead = before;
                break;
            }
            has_keyword |= is_connective;
            end = Some(after);
        }
        let Some(end) = end else { return Ok(false) };
        has_keyword |= ForeignOperator::find(&first.text).is_some();
        let phrase = self.lexer.text.get(first.offset..end).unwrap_or_default();
        let is = |property: fn(Holds) -> bool| self.holds.is_some_and(property);
        let is_time = || Timestamp::parse(phrase).is_ok() || Timestamp::respell(phrase).is_some();
        let (expected, meant) = if is(Holds::is_number) {
            ("one number".to_owned(), Number::respell(phrase))
        } else if has_clause(phrase) {
            ("a value; the order and the page are not part of a filter".to_owned(), None)
        } else if is(Holds::is_timestamp) && !is_time() {
            let note = is_relative_time(phrase)
                .then(|| format!("; {}", Unsupported::RelativeTime.note(Language::Text)));
            (format!("one timestamp{}", note.unwrap_or_default()), None)
        } else {
            let quoted = (!has_keyword && !is(Holds::is_boolean)).then(|| format!("\"{phrase}\""));
            ("a value with spaces in double quotes".to_owned(), quoted)
        };
        let suggestion = meant.and_then(|meant| quote_whole(&meant));
        self.report(Error::new(ErrorKind::Syntax, first.offset, quote(phrase), expected).suggest(suggestion));
        self.lexer = ahead;
        Ok(true)
    }

    /// Reports an error for a value in typographic quotes, and skips the value. `mark` is the opening quote, which is the next
    /// token.
    pub(super) fn curly(&mut self, mark: char) -> Result<Option<Text<'a>>> {
        let offset = self.lexer.start;
        let rest = self.lexer.text.get(self.lexer.at..).unwrap_or_default();
        let error = |found: &str| {
            Error::new(
                ErrorKind::Syntax,
                offset,
                quote(found),
                "a value in straight quotes, such as `\"open\"`",
            )
        };
        let Some((inner, rest)) = rest.split_once(CURLY_QUOTES) else {
            return Err(error(&mark.to_string()));
        };
        let end = self.lexer.text.len().saturating_sub(rest.len());
        let straight = serde_json::to_string(inner).ok().and_then(|straight| quote_whole(&straight));
        self.report(error(self.lexer.text.get(offset..end).unwrap_or_default()).suggest(straight));
        self.lexer.at = end;
        self.skip()?;
        Ok(None)
    }
}
