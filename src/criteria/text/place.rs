//! Finds what the syntax allows at a cursor in a filter text. Completions are based on this result.

use std::ops::Range;

use super::super::advice::{Fields, Holds};
use super::lexer::{Lexer, Token};
use crate::operator::{Arity, Complex, Operator};
use crate::value::{is_bare_char, is_shift};

/// The position of a cursor in the syntax of a filter text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The bytes of the text that a completion replaces: the word at the cursor, or the words of an operator such as
    /// `starts with`.
    pub(crate) range: Range<usize>,
    /// The part of `range` that is before the cursor, without quotes. The first word of an operator is in lower case.
    pub(crate) written: String,
    pub(crate) expected: Expected,
}

/// The part of the syntax that is allowed at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A criterion. `is_first` is true at the start of the text. `array` is the path of the array whose elements it tests.
    Criterion { is_first: bool, array: Option<String> },
    /// The operator of a field, or `has` after the path of an array.
    Operator { field: String },
    /// The parenthesis after `has`.
    Elements,
    /// A value of a field. `may_open` is true if a list in parentheses is allowed instead. `must_open` is true if only such a list
    /// is allowed.
    Value { field: String, may_open: bool, must_open: bool },
    /// A comma or the end of a list.
    ListEnd,
    /// A connective. `is_open` is true if a closing parenthesis is allowed, too.
    Connective { is_open: bool },
    /// Unknown, because of an error before the cursor.
    Nothing,
}

/// The part of a criterion that comes next.
enum NextPart {
    Criterion,
    /// The words of an operator that have been read, in lower case, and the offset of the first word.
    Operator {
        words: String,
        start: usize,
    },
    Value {
        operator: Operator,
        in_list: bool,
    },
    ListEnd,
    /// The opening parenthesis after `has`.
    Elements,
    Connective,
    Nothing,
}

/// Finds what the syntax allows at the byte offset `cursor` of a filter text. If the offset is inside a character, uses the start
/// of that character.
pub(crate) fn place(text: &str, cursor: usize, fields: Fields<'_>) -> Place {
    let most = cursor.min(text.len());
    let cursor = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(cursor);
    let mut lexer = Lexer::new(before);
    let mut reader = Reader {
        fields,
        state: NextPart::Criterion,
        field: String::new(),
        holds: None,
        open: Vec::new(),
        is_first: true,
    };
    let mut last: Option<(Token<'_>, usize)> = None;
    let mut quoted = None;
    // The first call reads the first token into `next`.
    let mut is_read = lexer.bump().is_ok();
    while is_read && lexer.next != Token::End {
        if let Some((token, start)) = last.take() {
            reader.step(&token, start);
        }
        last = Some((lexer.next.clone(), lexer.start));
        is_read = lexer.bump().is_ok();
    }
    if !is_read {
        // The text ends inside a string. White space before the string is not part of it.
        let start =
            before.len().saturating_sub(before.get(lexer.at..).unwrap_or_default().trim_start().len());
        quoted =
            before.get(start..).and_then(|rest| rest.strip_prefix(['"', '\''])).map(|rest| (start, rest));
    }
    let is_touched = before.ends_with(|c: char| !c.is_whitespace());
    let (start, written, end) = match (quoted, last) {
        (Some((start, written)), last) => {
            if let Some((token, start)) = last {
                reader.step(&token, start);
            }
            (start, written.to_owned(), cursor)
        }
        (None, Some((token @ (Token::Word(_) | Token::Symbol(_)), start))) if is_touched => {
            let word = match token {
                Token::Word(word) | Token::Symbol(word) => word,
                _ => "",
            };
            let rest = after.find(|c: char| !is_bare_char(c)).unwrap_or(after.len());
            let rest = if matches!(token, Token::Word(_)) { rest } else { 0 };
            (start, word.to_owned(), cursor.saturating_add(rest))
        }
        (None, last) => {
            if let Some((token, start)) = last {
                reader.step(&token, start);
            }
            (cursor, String::new(), cursor)
        }
    };
    let (start, written) = match &reader.state {
        NextPart::Operator { words, start } if !words.is_empty() => (*start, format!("{words} {written}")),
        _ => (start, written),
    };
    Place { range: start..end, written, expected: reader.expected() }
}

/// A reader of complete tokens, which keeps track of the syntax that can follow them.
struct Reader<'l> {
    fields: Fields<'l>,
    state: NextPart,
    field: String,
    /// The properties of `field`.
    holds: Option<Holds>,
    /// The open groups, innermost last. For a group that tests the elements of an array, the path of the array. `None` for any
    /// other group.
    open: Vec<Option<String>>,
    is_first: bool,
}

impl Reader<'_> {
    fn step(&mut self, token: &Token<'_>, start: usize) {
        let is_first = std::mem::take(&mut self.is_first);
        self.state = match (&self.state, token) {
            (NextPart::Criterion, token)
                if token.is_word(Complex::Not.word()) || *token == Token::Symbol("!") =>
            {
                NextPart::Criterion
            }
            (NextPart::Criterion, Token::Open) => {
                let around = self.array().map(str::to_owned);
                self.open.push(around);
                NextPart::Criterion
            }
            (NextPart::Elements, Token::Open) => {
                let path = std::mem::take(&mut self.field);
                self.open.push(Some(path).filter(|_| self.open.len() < MOST_GROUPS));
                NextPart::Criterion
            }
            (NextPart::Criterion, token) if is_first && token.is_word("ids") => {
                self.field.clear();
                NextPart::Value { operator: Operator::Contains, in_list: false }
            }
            (NextPart::Criterion, Token::Word(name)) => self.of_field(name, start),
            (NextPart::Criterion, Token::Quoted(name)) => self.of_field(name, start),
            (NextPart::Operator { words, .. }, Token::Symbol(symbol)) if words.is_empty() => {
                match Operator::find_word(symbol) {
                    Some(operator) => NextPart::Value { operator, in_list: false },
                    None => NextPart::Nothing,
                }
            }
            (NextPart::Operator { words, start: first }, Token::Word(word)) => {
                let (words, first) = match words.as_str() {
                    "" => (word.to_lowercase(), start),
                    words => (format!("{words} {}", word.to_lowercase()), *first),
                };
                self.after_words(words, first)
            }
            (NextPart::Value { operator, in_list: false }, Token::Open)
                if operator.arity() == Arity::OneOrMore =>
            {
                NextPart::Value { operator: *operator, in_list: true }
            }
            (NextPart::Value { in_list, .. }, Token::Word(_) | Token::Quoted(_)) => {
                if *in_list {
                    NextPart::ListEnd
                } else {
                    NextPart::Connective
                }
            }
            (NextPart::ListEnd, Token::Comma) => {
                NextPart::Value { operator: Operator::Contains, in_list: true }
            }
            (NextPart::ListEnd, Token::Close) => NextPart::Connective,
            (NextPart::ListEnd, token) if is_shifted(token) => NextPart::ListEnd,
            (NextPart::Connective, Token::Close) if !self.open.is_empty() => {
                self.open.pop();
                NextPart::Connective
            }
            (NextPart::Connective, token) if token.connective().is_some() => NextPart::Criterion,
            (NextPart::Connective, token) if is_shifted(token) => NextPart::Connective,
            _ => NextPart::Nothing,
        };
    }

    /// Returns the path of the array whose elements the current criterion tests.
    fn array(&self) -> Option<&str> {
        self.open.last().and_then(|array| array.as_deref())
    }

    fn of_field(&mut self, name: &str, start: usize) -> NextPart {
        let is_full = |array: &str| name.strip_prefix(array).is_some_and(|rest| rest.starts_with('.'));
        self.field = match self.array() {
            Some(array) if array.len() <= MOST_BYTES && !is_full(array) => format!("{array}.{name}"),
            _ => name.to_owned(),
        };
        self.holds = (self.fields)(&self.field);
        NextPart::Operator { words: String::new(), start }
    }

    /// Returns the state after these words of an operator.
    fn after_words(&self, words: String, start: usize) -> NextPart {
        if matches!(words.as_str(), "is present" | "is absent") {
            return NextPart::Connective;
        }
        if words == Complex::ELEM.word() && self.holds.is_none() {
            return NextPart::Elements;
        }
        let is_on = words == "on" && self.holds.is_some_and(Holds::is_timestamp);
        if let Some(operator) = Operator::find_word(&words).or(is_on.then_some(Operator::Equal)) {
            return NextPart::Value { operator, in_list: false };
        }
        let is_begun = matches!(words.as_str(), "is" | "starts");
        if is_begun { NextPart::Operator { words, start } } else { NextPart::Nothing }
    }

    fn expected(self) -> Expected {
        match self.state {
            NextPart::Criterion => {
                Expected::Criterion { is_first: self.is_first, array: self.open.last().cloned().flatten() }
            }
            NextPart::Elements => Expected::Elements,
            NextPart::Operator { .. } => Expected::Operator { field: self.field },
            NextPart::Value { operator, in_list } => Expected::Value {
                field: self.field,
                may_open: !in_list && operator.arity() == Arity::OneOrMore,
                must_open: !in_list && operator.arity() == Arity::OneOrMore && !operator.is_extended(),
            },
            NextPart::ListEnd => Expected::ListEnd,
            NextPart::Connective => Expected::Connective { is_open: !self.open.is_empty() },
            NextPart::Nothing => Expected::Nothing,
        }
    }
}

/// The maximum number of open groups for which the paths of arrays are kept. A deeper `has (…)` group has no path.
const MOST_GROUPS: usize = 64;

/// The maximum length in bytes of an array path that is put before the names in the array. After a longer path, a name is
/// looked up as it is written.
const MOST_BYTES: usize = 1 << 12;

/// Returns true for a token of the shift after a time, such as `-` or `7d` in `now - 7d`.
fn is_shifted(token: &Token<'_>) -> bool {
    match token {
        Token::Word("+" | "-") => true,
        Token::Word(word) => is_shift(word) || is_shift(&format!("+{word}")),
        _ => false,
    }
}
