//! Habits from other languages: recognised, reported with what to write instead, and read over.

use std::borrow::Cow;

use super::super::ast::{Criterion, Text};
use super::lexer::{Lexer, Result, Token};
use super::parser::Parser;
use crate::error::{Error, ErrorKind, quote, quote_whole};
use crate::value::{Number, Timestamp, is_reserved_word};

/// Quotes that word processors put in place of straight ones.
pub(super) const CURLY_QUOTES: [char; 11] = ['“', '”', '„', '‟', '‘', '’', '‚', '«', '»', '`', '´'];

/// True when words are followed by a clause that SQL has after a condition.
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

impl<'a> Parser<'a, '_> {
    /// The two criteria that `between LEAST and GREATEST` stands for, with both read over; `None` when something else stands there.
    pub(super) fn range_between(&mut self, field: &str) -> Result<Option<String>> {
        let mut ahead = self.lexer.clone();
        let mut bounds = Vec::new();
        loop {
            let (Token::Word(_) | Token::Quoted(_)) = ahead.next else { return Ok(None) };
            let (start, end) = (ahead.start, ahead.at);
            let (token, _) = ahead.bump()?;
            let value = match token {
                Token::Word(word) => Cow::Borrowed(word),
                Token::Quoted(text) => text,
                _ => return Ok(None),
            };
            bounds.push((ahead.text.get(start..end).unwrap_or_default(), value));
            match bounds.as_slice() {
                [_] if ahead.next.is_word("and") => ahead.bump().map(drop)?,
                [least, greatest] => {
                    let at_least = |(written, value): &(&str, Cow<'_, str>)| match Timestamp::respell(value) {
                        Some(span) => format!("{:?}", span.start),
                        None => (*written).to_owned(),
                    };
                    let at_most = match Timestamp::respell(&greatest.1) {
                        Some(span) if span.end.is_some() => format!("< {:?}", span.end.unwrap_or_default()),
                        _ => format!("<= {}", at_least(greatest)),
                    };
                    let meant = quote_whole(&format!(">= {} and {field} {at_most}", at_least(least)));
                    self.lexer = ahead;
                    return Ok(Some(meant.unwrap_or_else(|| "`>=` and `<=` joined by `and`".to_owned())));
                }
                _ => return Ok(None),
            }
        }
    }

    /// Returns the criterion that means the same as a negated one after `not` or `!`, which stands next; `None` when there is none.
    pub(super) fn negated(&self) -> Option<String> {
        let mut ahead = self.lexer.clone();
        ahead.bump().ok()?;
        let is_open = ahead.next == Token::Open;
        if is_open {
            ahead.bump().ok()?;
        }
        let text = |lexer: &Lexer<'a>| lexer.text.get(lexer.start..lexer.at).unwrap_or_default();
        let is_text = |token: &Token<'_>| {
            matches!(token, Token::Quoted(_)) || matches!(token, Token::Word(word) if !is_reserved_word(word))
        };
        let field = is_text(&ahead.next).then(|| text(&ahead))?;
        ahead.bump().ok()?;
        let Token::Symbol("=" | "==") = ahead.next else { return None };
        ahead.bump().ok()?;
        let value = is_text(&ahead.next).then(|| text(&ahead))?;
        ahead.bump().ok()?;
        let ends = match &ahead.next {
            Token::Close => true,
            Token::End => !is_open,
            token => !is_open && token.connective().is_some(),
        };
        quote_whole(&format!("{field} <> {value}")).filter(|_| ends)
    }

    /// The field of `field:value`, as search boxes have it; `None` for a word that is a field itself, or does not begin with one.
    pub(super) fn name_before_colon(&self, word: &'a str) -> Option<&'a str> {
        let (name, _) = word.split_once(':')?;
        ((self.fields)(word).is_none() && (self.fields)(name).is_some()).then_some(name)
    }

    /// Reads over `field:value`, which stands next, and reports it; `expected` is what may stand there.
    pub(super) fn colon(&mut self, name: &str, expected: &str) -> Result<()> {
        let offset = self.lexer.start;
        let word_end = self.lexer.at;
        let value = self.lexer.text.get(offset..word_end).and_then(|word| word.get(name.len()..));
        let value = value.and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
        self.skip()?;
        let mut end = word_end;
        let meant = match &self.lexer.next {
            // A day is no point in time that `=` could compare with.
            _ if Timestamp::respell(value).is_some() => None,
            _ if !value.is_empty() => {
                let is_bare = !is_reserved_word(value) || matches!(value, "true" | "false");
                Some(format!("{name} = {}", if is_bare { value.to_owned() } else { format!("\"{value}\"") }))
            }
            Token::Word(next) if is_reserved_word(next) => None,
            Token::Word(_) | Token::Quoted(_) => {
                end = self.lexer.at;
                let one = self.next_text();
                Timestamp::respell(one.trim_matches('"')).is_none().then(|| format!("{name} = {one}"))
            }
            Token::Open => Some(format!("{name} in")),
            Token::Symbol(_) => Some(name.to_owned()),
            _ => None,
        };
        let written = self.lexer.text.get(offset..end).unwrap_or_default();
        let error = Error::new(ErrorKind::Syntax, offset, quote(written), expected);
        self.report(error.suggest(meant.and_then(|meant| quote_whole(&meant))));
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

    /// True when the comma that stands next belongs to a number, as in `10,000`, which is reported and read over.
    pub(super) fn is_number_with_marks(&mut self) -> Result<bool> {
        let is_number = self.holds.is_some_and(|holds| holds.is_number);
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
            Error::new(
                ErrorKind::BadNumber,
                value.start,
                quote(written),
                "a number without marks between its digits",
            )
            .suggest(quote_whole(&meant)),
        );
        let end = value.start.saturating_add(length);
        while self.lexer.start < end && self.lexer.next != Token::End {
            self.skip()?;
        }
        Ok(true)
    }

    /// True when more words follow a bare value, as in a timestamp without quotes; reports and skips them.
    pub(super) fn is_phrase(&mut self, first: &Text<'a>) -> Result<bool> {
        let mut end = None;
        let mut ahead = self.lexer.clone();
        while matches!(ahead.next, Token::Word(word) if !is_reserved_word(word)) {
            let after = ahead.at;
            let before = ahead.clone();
            ahead.bump()?;
            // A word before an operator is a field.
            if matches!(ahead.next, Token::Symbol(_)) || ahead.next.word_operator().is_some() {
                ahead = before;
                break;
            }
            end = Some(after);
        }
        let Some(end) = end else { return Ok(false) };
        let phrase = self.lexer.text.get(first.offset..end).unwrap_or_default();
        let is_number = self.holds.is_some_and(|holds| holds.is_number);
        let (expected, meant) = if is_number {
            ("one number", Number::respell(phrase))
        } else if has_clause(phrase) {
            ("a value; the order and the page are no part of a filter", None)
        } else {
            ("a value with spaces in double quotes", Some(format!("\"{phrase}\"")))
        };
        let suggestion = meant.and_then(|meant| quote_whole(&meant));
        self.report(Error::new(ErrorKind::Syntax, first.offset, quote(phrase), expected).suggest(suggestion));
        self.lexer = ahead;
        Ok(true)
    }

    /// Reads over a value in quotes of print, the first of which stands next, and reports it.
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
