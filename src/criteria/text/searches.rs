//! Suggests criteria for tests in the syntax of other languages. These are tests of presence such as `is null`, and searches inside
//! strings such as `like "%x%"` and `= x*`.

use super::super::advice::ForeignOperator;
use super::super::ast::Criterion;
use super::super::foreign_search::{Search, is_any, is_wildcard};
use super::super::unsupported::{Unsupported, is_no_value};
use super::lexer::{Lexer, Result, Token};
use super::operands::{Join, Operands, ends_value};
use super::parser::Parser;
use super::phrase::{Phrase, Reading, operators};
use crate::error::{Error, ErrorKind, quote, quote_whole};
use crate::operator::{Connective, Language, Operator, Syntax};
use crate::value::{is_bare_word, is_reserved_word};

/// A search inside a string, with the field before it.
#[derive(Clone, Copy)]
pub(super) struct TextSearch<'a> {
    pub(super) search: Search,
    pub(super) is_negated: bool,
    /// The field as written, and its offset.
    pub(super) field: &'a str,
    pub(super) field_start: usize,
}

/// An unquoted value with wildcards, such as `*x*`.
struct Pattern<'a> {
    text: &'a str,
    /// The lexer after the pattern.
    rest: Lexer<'a>,
    /// The offset after the pattern.
    stop: usize,
}

/// Returns the spelling of a test of presence or absence in the text syntax.
pub(super) fn presence_words(is_present: bool) -> &'static str {
    if is_present { "is present" } else { "is absent" }
}

/// Quotes a value if the syntax needs it.
fn word(value: &str) -> String {
    // Serialising a string cannot fail.
    if is_bare_word(value) { value.to_owned() } else { serde_json::to_string(value).unwrap_or_default() }
}

/// Returns true for a regular expression such as `/x/i`.
fn is_regex(text: &str) -> bool {
    let flags = text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    flags.is_some_and(|(body, flags)| {
        !body.is_empty() && flags.chars().all(|flag| matches!(flag, 'g' | 'i' | 'm' | 's' | 'u'))
    })
}

/// Reads the unquoted value with wildcards, or the regular expression, that begins at the next token.
fn pattern<'a>(lexer: &Lexer<'a>) -> Option<Pattern<'a>> {
    if !matches!(lexer.next, Token::Word(_) | Token::Other(_)) {
        return None;
    }
    let rest = lexer.text.get(lexer.start..)?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '"' | '\'');
    let text = rest.get(..rest.find(is_end).unwrap_or(rest.len()))?;
    if !text.contains(is_wildcard) && !is_regex(text) {
        return None;
    }
    let stop = lexer.start.saturating_add(text.len());
    let mut rest = lexer.clone();
    rest.at = stop;
    rest.bump().ok()?;
    ends_value(&rest.next).then_some(Pattern { text, rest, stop })
}

impl<'a> Parser<'a, '_> {
    /// Reports an error for a test of presence in another language's syntax, such as `is null` or `exists true`. Then skips the
    /// test.
    pub(super) fn presence(
        &mut self,
        phrase: &Phrase<'a>,
        is_present: bool,
        operands: Option<&Operands<'a>>,
    ) -> Result<Reading> {
        let flag =
            operands.filter(|operands| operands.is_whole && operands.join.is_none()).and_then(|operands| {
                let flag = match &*operands.values.first()?.value {
                    "true" => true,
                    "false" => false,
                    _ => return None,
                };
                Some((flag, operands.stop, operands.rest.clone()))
            });
        let (is_present, stop, rest) = match flag {
            Some((flag, stop, rest)) => (is_present == flag, stop, rest),
            None if ends_value(&phrase.rest.next) => (is_present, phrase.stop, phrase.rest.clone()),
            None => return self.unsupported(phrase, Unsupported::Absence, operands),
        };
        let written = self.lexer.text.get(phrase.start..stop).unwrap_or_default();
        let error =
            Error::new(ErrorKind::UnknownOperator, phrase.start, quote(written), operators(self.holds));
        self.report(error.suggest(Some(quote(presence_words(is_present)))));
        self.lexer = rest;
        Ok(Reading::Whole)
    }

    /// Adds an error for a substring test in another language's syntax, such as `like "%x%"`. Then skips the test and its values.
    pub(super) fn search(
        &mut self,
        phrase: &Phrase<'a>,
        search: TextSearch<'a>,
        operands: Option<&Operands<'a>>,
    ) -> Result<Reading> {
        if let Some(Pattern { text, rest, stop }) = pattern(&phrase.rest) {
            let meant = search.search.meant(text).map(|(operator, operand)| (operator, word(operand)));
            return Ok(self.searched(search, phrase.start, stop, rest, meant));
        }
        let is_one_of = |operands: &&Operands<'a>| {
            let is_nor = search.is_negated && operands.join == Some(Join::Nor);
            let is_or = matches!(operands.join, None | Some(Join::Comma | Join::Connective(Connective::Or)));
            operands.is_whole && !operands.has_keyword() && (is_or || is_nor)
        };
        let Some(operands) = operands.filter(is_one_of) else {
            return self.unsupported(phrase, Unsupported::Inside, operands);
        };
        let meant = self.search_of(search.search, operands);
        let rest = operands.rest.clone();
        Ok(self.searched(search, phrase.start, operands.stop, rest, meant))
    }

    /// Returns the operator that is equivalent to a search for any of the values of `operands`, with its values in the text syntax.
    fn search_of(&self, search: Search, operands: &Operands<'a>) -> Found {
        let mut common = None;
        let mut written = Vec::new();
        for value in &operands.values {
            if value.is_bare && is_no_value(&value.value) {
                return Err(Unsupported::Absence);
            }
            let (operator, operand) = search.meant(&value.value)?;
            if common.is_some_and(|common| common != operator) {
                return Err(Unsupported::Inside);
            }
            common = Some(operator);
            written.push(if operand == value.value { value.written.to_owned() } else { word(operand) });
        }
        match (common, written.as_slice()) {
            (Some(operator), [only]) => Ok((operator, only.clone())),
            (Some(operator), [_, _, ..]) if !operator.arity().is_exceeded_by(written.len()) => {
                Ok((operator, format!("({})", written.join(", "))))
            }
            _ => Err(Unsupported::Inside),
        }
    }

    /// Adds an error for the substring test between the offsets `start` and `stop`, and skips the test. If `meant` has an operator,
    /// the error suggests this operator with its values.
    fn searched(
        &mut self,
        search: TextSearch<'a>,
        start: usize,
        stop: usize,
        rest: Lexer<'a>,
        meant: Found,
    ) -> Reading {
        let (start, meant, note) = match meant {
            Ok((operator, values)) => {
                let operator = operator.spelled(Syntax::Text);
                let (start, meant) = if search.is_negated {
                    (search.field_start, format!("not {} {operator} {values}", search.field))
                } else {
                    (start, format!("{operator} {values}"))
                };
                (start, quote_whole(&meant), String::new())
            }
            Err(unsupported) => (start, None, format!("; {}", unsupported.note(Language::Text))),
        };
        let written = self.lexer.text.get(start..stop).unwrap_or_default();
        let expected = format!("{}{note}", operators(self.holds));
        self.report(Error::new(ErrorKind::UnknownOperator, start, quote(written), expected).suggest(meant));
        self.lexer = rest;
        Reading::Whole
    }

    /// Reports an error for a value with wildcards after `=` or `<>`, and skips the value. Does the same for a regular expression
    /// after an operator of another language, such as `== /x/`. Returns false if no such value is next in `lexer`.
    pub(super) fn wildcards(
        &mut self,
        operator: Operator,
        operator_start: usize,
        operator_is_own: bool,
        lexer: &Lexer<'a>,
        field: &'a str,
        field_start: usize,
    ) -> bool {
        let is_negated = operator == Operator::NotEqual;
        if !is_negated && operator != Operator::Equal {
            return false;
        }
        let Some(Pattern { text, rest, stop }) = pattern(lexer) else { return false };
        // `= /x/` is valid and compares with the string `/x/`. `==` belongs to another language, so `/x/` after it is probably a
        // regular expression of that language.
        if !text.contains(is_wildcard) && operator_is_own {
            return false;
        }
        if is_any(text) {
            let written = self.lexer.text.get(operator_start..stop).unwrap_or_default();
            let error =
                Error::new(ErrorKind::UnknownOperator, operator_start, quote(written), operators(self.holds));
            self.report(error.suggest(Some(quote(presence_words(!is_negated)))));
            self.lexer = rest;
            return true;
        }
        let search = TextSearch { search: Search::Like { is_folded: false }, is_negated, field, field_start };
        let meant = match self.holds {
            Some(holds) if !holds.is_string() => Err(Unsupported::NotAString),
            _ => search.search.meant(text).map(|(operator, operand)| (operator, word(operand))),
        };
        self.searched(search, operator_start, stop, rest, meant);
        true
    }

    /// Returns the criterion that is equivalent to `field:pattern`, or the unsupported test, with the lexer and the offset after
    /// the pattern. `start` is the offset after the colon. Returns `None` if no pattern is there.
    pub(super) fn pattern_after_colon(&self, name: &str, start: usize) -> Option<AfterColon<'a>> {
        let mut lexer = self.lexer.clone();
        lexer.at = start;
        // The first call reads the token at `start` into `next`.
        lexer.bump().ok()?;
        if lexer.start != start {
            return None;
        }
        let Pattern { text, rest, stop } = pattern(&lexer)?;
        let meant = if is_any(text) {
            Ok(format!("{name} {}", presence_words(true)))
        } else if self.holds.is_some_and(|holds| !holds.is_string()) {
            Err(Unsupported::NotAString)
        } else if text.starts_with('/') {
            Err(Unsupported::Inside)
        } else {
            let meant = Search::Like { is_folded: false }.meant(text);
            meant.map(|(operator, operand)| {
                format!("{name} {} {}", operator.spelled(Syntax::Text), word(operand))
            })
        };
        Some(AfterColon { meant, rest, stop })
    }

    /// Reports an error for a test before its field, such as `exists(name)`, `startsWith(name, x)` or `_exists_:name`, and skips
    /// it. Returns false if the next token, `written`, does not begin such a test.
    ///
    /// # Errors
    /// Returns an error if the text has a test or a function, such as `f(name)`, that has no equivalent criterion. A word that is
    /// the name of a field is never taken for a function.
    pub(super) fn test_before_field(&mut self, written: &'a str) -> Result<bool> {
        if self.field(written).is_some() {
            return Ok(false);
        }
        let start = self.lexer.start;
        let refuse = |parser: &Self, unsupported: Unsupported| {
            let note = unsupported.note(Language::Text);
            Err(parser.unexpected(&format!("a field by itself; {note}")))
        };
        if let Some((name, field)) = written.split_once(':') {
            let Some(is_present) = ForeignOperator::find(name).and_then(ForeignOperator::presence) else {
                return Ok(false);
            };
            if self.field(field).is_none() {
                return refuse(self, Unsupported::Absence);
            }
            let stop = self.lexer.at;
            self.skip()?;
            self.before_field(start, stop, &format!("{field} {}", presence_words(is_present)));
            return Ok(true);
        }
        let foreign = ForeignOperator::find(written);
        let mut ahead = self.lexer.clone();
        let is_call = ahead.is_call();
        if ahead.bump().is_err() {
            return Ok(false);
        }
        let is_open = ahead.next == Token::Open;
        let is_field = matches!(&ahead.next, Token::Word(next) if self.field(next).is_some());
        if let Some(foreign) = foreign.filter(|foreign| foreign.unsupported().is_some() || is_call)
            && (is_open || is_field)
            && let Some((meant, stop, rest)) = self.call(foreign, ahead)
        {
            self.before_field(start, stop, &meant);
            self.lexer = rest;
            return Ok(true);
        }
        match foreign.and_then(ForeignOperator::unsupported) {
            Some(unsupported) if is_open || is_field => refuse(self, unsupported),
            _ if is_call => refuse(self, Unsupported::Function),
            _ => Ok(false),
        }
    }

    /// Reads `(field)`, `field` or `(field, value)` after the name of a test, such as `exists`. Returns the equivalent criterion,
    /// and the offset and the lexer after the text that was read.
    fn call(&self, foreign: ForeignOperator, mut ahead: Lexer<'a>) -> Option<(String, usize, Lexer<'a>)> {
        let is_open = ahead.next == Token::Open;
        if is_open {
            ahead.bump().ok()?;
        }
        let Token::Word(field) = ahead.next else { return None };
        let holds = self.field(field)?;
        let mut stop = ahead.at;
        ahead.bump().ok()?;
        let meant = if is_open && ahead.next == Token::Comma {
            ahead.bump().ok()?;
            let operands = Operands::read(&ahead).filter(|operands| operands.join.is_none())?;
            let search = foreign.search().filter(|_| holds.is_string() && !holds.is_list)?;
            let (operator, values) = self.search_of(search, &operands).ok()?;
            ahead = operands.rest;
            format!("{field} {} {values}", operator.spelled(Syntax::Text))
        } else {
            format!("{field} {}", presence_words(foreign.presence()?))
        };
        if is_open {
            if ahead.next != Token::Close {
                return None;
            }
            stop = ahead.at;
            ahead.bump().ok()?;
        }
        ends_value(&ahead.next).then_some((meant, stop, ahead))
    }

    /// Reports an error for the text between the offsets `start` and `stop`, suggests the criterion `meant`, and adds a broken
    /// criterion.
    fn before_field(&mut self, start: usize, stop: usize, meant: &str) {
        let written = self.lexer.text.get(start..stop).unwrap_or_default();
        let error = Error::new(ErrorKind::Syntax, start, quote(written), "a field before its test");
        self.report(error.suggest(quote_whole(meant)));
        let node = self.push(Criterion::Broken, start);
        self.terms.push(node);
    }

    /// Reports an error for `not field` or `!field` without an operator, and skips it. Returns false if the text continues in
    /// another way.
    pub(super) fn field_after_not(&mut self) -> Result<bool> {
        if !self.lexer.next.is_word("not") && self.lexer.next != Token::Symbol("!") {
            return Ok(false);
        }
        let start = self.lexer.start;
        let mut ahead = self.lexer.clone();
        ahead.bump()?;
        let is_open = ahead.next == Token::Open;
        if is_open {
            ahead.bump()?;
        }
        let name = match &ahead.next {
            Token::Word(word) if !is_reserved_word(word) => (*word).to_owned(),
            Token::Quoted(text) => text.to_string(),
            _ => return Ok(false),
        };
        let Some(holds) = self.field(&name) else { return Ok(false) };
        let field = ahead.next_text();
        let mut stop = ahead.at;
        ahead.bump()?;
        if is_open {
            if ahead.next != Token::Close {
                return Ok(false);
            }
            stop = ahead.at;
            ahead.bump()?;
        }
        if !matches!(ahead.next, Token::End | Token::Close) && ahead.next.connective().is_none() {
            return Ok(false);
        }
        // A boolean field without an operator probably means that its value is true. Any other field probably means that it has a
        // value.
        let meant = if holds.is_boolean() {
            format!("{field} {} true", Operator::NotEqual.spelled(Syntax::Text))
        } else {
            format!("{field} {}", presence_words(false))
        };
        let written = self.lexer.text.get(start..stop).unwrap_or_default();
        let expected = format!("a field and {}", operators(Some(holds)));
        self.report(
            Error::new(ErrorKind::Syntax, start, quote(written), expected).suggest(quote_whole(&meant)),
        );
        self.lexer = ahead;
        let node = self.push(Criterion::Broken, start);
        self.terms.push(node);
        Ok(true)
    }

    /// Reports an error for the next token, a `!` before a criterion, and skips the token.
    pub(super) fn exclamation(&mut self) -> Result<()> {
        let start = self.lexer.start;
        let after_mark = self.lexer.at;
        self.skip()?;
        let is_adjacent = self.lexer.start == after_mark;
        let next = self.lexer.next_text();
        let is_begin = matches!(self.lexer.next, Token::Open | Token::Word(_) | Token::Quoted(_));
        let (stop, meant) = match is_adjacent && is_begin {
            true => (self.lexer.at, format!("not {next}")),
            false => (after_mark, "not".to_owned()),
        };
        let written = self.lexer.text.get(start..stop).unwrap_or_default();
        let error = Error::new(ErrorKind::Syntax, start, quote(written), "a criterion, or `not` before one");
        self.report(error.suggest(quote_whole(&meant)));
        Ok(())
    }

    /// Reports an error for an operator of another language that has no equivalent, and skips the operator and its values. For some
    /// tests, such as counts, returns the error instead, which ends the parsing.
    pub(super) fn unsupported(
        &mut self,
        phrase: &Phrase<'a>,
        unsupported: Unsupported,
        operands: Option<&Operands<'a>>,
    ) -> Result<Reading> {
        let written = self.lexer.text.get(phrase.start..phrase.stop).unwrap_or_default();
        let expected = format!("{}; {}", operators(self.holds), unsupported.note(Language::Text));
        let error = Error::new(ErrorKind::UnknownOperator, phrase.start, quote(written), expected);
        if matches!(unsupported, Unsupported::RelativeTime | Unsupported::Connective | Unsupported::Count) {
            return Err(error);
        }
        self.report(error);
        self.lexer = phrase.rest.clone();
        self.after_unsupported(unsupported, operands)
    }

    /// Skips the values after an unsupported test, which has been reported.
    fn after_unsupported(
        &mut self,
        unsupported: Unsupported,
        operands: Option<&Operands<'a>>,
    ) -> Result<Reading> {
        let is_flag = self.lexer.next.is_word("true") || self.lexer.next.is_word("false");
        match operands {
            // Some tests, such as `$exists`, take `true` or `false`.
            Some(operands) if unsupported == Unsupported::Absence => {
                let is_empty = operands.values.iter().all(|value| value.value.is_empty());
                if is_flag || is_empty {
                    self.lexer = operands.rest.clone();
                }
                Ok(Reading::Whole)
            }
            Some(operands)
                if operands.is_whole
                    && (operands.join.is_some()
                        || matches!(unsupported, Unsupported::Day | Unsupported::NotAString)) =>
            {
                self.lexer = operands.rest.clone();
                Ok(Reading::Whole)
            }
            None if ends_value(&self.lexer.next) => Ok(Reading::Whole),
            _ => Ok(Reading::Unknown),
        }
    }
}

/// The operator that is equivalent to a search, with its values in the text syntax; or the unsupported test.
type Found = std::result::Result<(Operator, String), Unsupported>;

/// A value with wildcards after a colon.
pub(super) struct AfterColon<'a> {
    /// The equivalent criterion, or the unsupported test.
    pub(super) meant: std::result::Result<String, Unsupported>,
    /// The lexer after the value.
    pub(super) rest: Lexer<'a>,
    /// The offset after the value.
    pub(super) stop: usize,
}
