//! Splits a filter text into tokens: words, strings, symbols and punctuation.

use std::borrow::Cow;

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_while1};
use nom::character::complete::{anychar, char, multispace0};
use nom::combinator::{map, recognize, value};
use nom::multi::many0_count;
use nom::sequence::delimited;
use nom::{IResult, Parser as _};

use crate::error::{Error, ErrorKind, Found};
use crate::json::Reader;
use crate::operator::{Connective, Operator};
use crate::value::is_bare_char;

pub(super) type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    Comma,
    /// A sequence of characters that occur in operators such as `>=`. The sequence is not always a known operator.
    Symbol(&'a str),
    Word(&'a str),
    Quoted(Cow<'a, str>),
    Other(char),
    End,
}

impl Token<'_> {
    pub(super) fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Returns the operator that this token spells as a word. Returns `None` for any other token.
    pub(super) fn word_operator(&self) -> Option<Operator> {
        match self {
            Self::Word(word) => Operator::find_word(word),
            _ => None,
        }
    }

    pub(super) fn connective(&self) -> Option<Connective> {
        match self {
            Self::Word(word) => Connective::find_word(word),
            _ => None,
        }
    }
}

fn is_symbol_char(c: char) -> bool {
    matches!(c, '=' | '<' | '>' | '!' | '~' | '&' | '|' | '≠' | '≥' | '≤')
}

/// Reads one token of a text that does not start with white space or a double quote.
fn token(input: &str) -> IResult<&str, Token<'_>> {
    let quoted = delimited(char('\''), recognize(many0_count(alt((is_not("'"), tag("''"))))), char('\''));
    alt((
        value(Token::Open, char('(')),
        value(Token::Close, char(')')),
        value(Token::Comma, char(',')),
        map(take_while1(is_bare_char), Token::Word),
        map(take_while1(is_symbol_char), Token::Symbol),
        map(quoted, |inner: &str| {
            Token::Quoted(if inner.contains('\'') {
                Cow::Owned(inner.replace("''", "'"))
            } else {
                Cow::Borrowed(inner)
            })
        }),
        map(anychar, Token::Other),
    ))
    .parse(input)
}

/// A lexer that reads one token ahead.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// The offset just after `next`.
    pub(super) at: usize,
    pub(super) next: Token<'a>,
    /// The offset of `next`.
    pub(super) start: usize,
}

impl<'a> Lexer<'a> {
    /// Returns a lexer that has read nothing: the first [`bump`](Self::bump) reads the first token, and the second returns it.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, next: Token::End, start: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the token in `next` with its offset, and reads the following token into `next`.
    pub(super) fn bump(&mut self) -> Result<(Token<'a>, usize)> {
        let space: IResult<&str, &str> = multispace0(self.rest());
        if let Ok((rest, _)) = space {
            self.at = self.text.len().saturating_sub(rest.len());
        }
        let start = self.at;
        let next = if self.rest().starts_with('"') {
            let mut reader = Reader::starting_at(self.text, start);
            let text = reader.string()?;
            self.at = reader.offset();
            Token::Quoted(text)
        } else {
            match token(self.rest()) {
                Err(_) => Token::End,
                Ok((_, Token::Other('\''))) => {
                    return Err(Error::new(
                        ErrorKind::Syntax,
                        self.text.len(),
                        "the end of the text",
                        "`'` at the end of the string",
                    ));
                }
                Ok((rest, token)) => {
                    self.at = self.text.len().saturating_sub(rest.len());
                    token
                }
            }
        };
        let offset = std::mem::replace(&mut self.start, start);
        Ok((std::mem::replace(&mut self.next, next), offset))
    }

    /// Returns true if the next token is a word with an opening parenthesis directly after it.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.next, Token::Word(_)) && self.rest().starts_with('(')
    }

    /// Extends `next` to a contraction such as `isn't`, if an apostrophe and `t` follow it.
    pub(super) fn extend_contraction(&mut self) {
        let is_cut = matches!(self.next, Token::Word(word) if word.ends_with(['n', 'N']));
        let rest = self.rest();
        if let Some(after) = rest.strip_prefix(['\'', '’']).and_then(|rest| rest.strip_prefix(['t', 'T']))
            && is_cut
            && !after.starts_with(is_bare_char)
        {
            self.at = self.text.len().saturating_sub(after.len());
        }
    }

    /// Returns the text of `next`.
    pub(super) fn next_text(&self) -> &'a str {
        self.text.get(self.start..self.at).unwrap_or_default()
    }

    /// Returns the text of `next`, for a message.
    pub(super) fn found(&self) -> Found {
        match &self.next {
            Token::End => "the end of the text".into(),
            Token::Other('\u{feff}') => "a byte-order mark".into(),
            _ => Found::text(self.next_text()),
        }
    }
}
