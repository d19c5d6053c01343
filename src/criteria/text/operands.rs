//! Reads ahead over the values after an operator of another language, so that a suggestion can contain them.

use std::borrow::Cow;

use super::super::advice::{Advice, ForeignOperator};
use super::super::unsupported::{Unsupported, meant_by_value};
use super::lexer::{Lexer, Token};
use crate::operator::{Connective, Operator, Syntax};
use crate::value::{Timestamp, is_moment, is_reserved_value, is_shift, is_shiftable};

/// The separator between several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Comma,
    Connective(Connective),
    /// `nor`, after `neither`.
    Nor,
}

pub(super) struct Operand<'a> {
    /// The value with its quotes.
    pub(super) written: &'a str,
    pub(super) value: Cow<'a, str>,
    pub(super) is_bare: bool,
}

/// The values after an operator, in parentheses or not.
pub(super) struct Operands<'a> {
    /// At least one value.
    pub(super) values: Vec<Operand<'a>>,
    /// `None` for a single value.
    pub(super) join: Option<Join>,
    pub(super) has_parentheses: bool,
    /// True if the token after the values cannot belong to them. False for the value `Ann` in `Ann Lee`.
    pub(super) is_whole: bool,
    /// The lexer after the values.
    pub(super) rest: Lexer<'a>,
    /// The offset after the values.
    pub(super) stop: usize,
}

impl<'a> Operands<'a> {
    /// Reads the values that begin at the next token. Returns `None` if no value begins there, or if the list is not valid.
    pub(super) fn read(lexer: &Lexer<'a>) -> Option<Self> {
        let mut rest = lexer.clone();
        let has_parentheses = rest.next == Token::Open;
        if has_parentheses {
            rest.bump().ok()?;
        }
        let start = rest.start;
        let first = operand(&mut rest)?;
        let stop = start.saturating_add(first.written.len());
        let mut operands =
            Self { values: vec![first], join: None, has_parentheses, is_whole: false, rest, stop };
        loop {
            let mut ahead = operands.rest.clone();
            let join = match &ahead.next {
                Token::Comma => Join::Comma,
                token if token.is_word("nor") => Join::Nor,
                token => match token.connective() {
                    Some(connective) => Join::Connective(connective),
                    None => break,
                },
            };
            ahead.bump().ok()?;
            let start = ahead.start;
            let Some(next) = operand(&mut ahead) else { break };
            // Outside of parentheses, a word before an operator is a field.
            if !has_parentheses && !ends_value(&ahead.next) {
                break;
            }
            if operands.join.is_some_and(|before| before != join) {
                return None;
            }
            operands.join = Some(join);
            operands.stop = start.saturating_add(next.written.len());
            operands.values.push(next);
            operands.rest = ahead;
        }
        if has_parentheses {
            if operands.rest.next != Token::Close {
                return None;
            }
            operands.stop = operands.rest.at;
            operands.rest.bump().ok()?;
        }
        operands.is_whole = ends_value(&operands.rest.next) && operands.rest.next != Token::Comma;
        Some(operands)
    }

    /// Returns the unsupported test that one of the values expresses, if there is such a value.
    pub(super) fn unsupported(&self) -> Option<Unsupported> {
        self.values.iter().find_map(|value| meant_by_value(&value.value, value.is_bare))
    }

    /// Returns true if one of the values is probably a keyword of another language, such as `any`.
    pub(super) fn has_keyword(&self) -> bool {
        let is_keyword =
            |word: &str| ForeignOperator::find(word).is_some() || word.eq_ignore_ascii_case("of");
        self.values.iter().any(|value| value.is_bare && is_keyword(value.written))
    }

    fn joined(&self, separator: &str) -> String {
        self.values.iter().map(|value| value.written).collect::<Vec<_>>().join(separator)
    }

    /// Returns the operator and values to write after `field`. Returns `None` if no criterion is equivalent.
    ///
    /// If one criterion is not enough, the returned text continues with further criteria on the field. If the advice is a negation,
    /// the caller adds `not` before the field.
    pub(super) fn after_field(&self, advice: Advice, field: &str, is_list: bool) -> Option<String> {
        let is_or = matches!(self.join, None | Some(Join::Comma | Join::Connective(Connective::Or)));
        let is_and = matches!(self.join, None | Some(Join::Comma | Join::Connective(Connective::And)));
        let is_one = self.values.len() == 1;
        let list = |operator: Operator| format!("{} ({})", operator.spelled(Syntax::Text), self.joined(", "));
        match advice {
            Advice::Operator(Operator::Contains) if is_or => Some(list(Operator::Contains)),
            Advice::Operator(Operator::Contains | Operator::All) if is_and && is_list => {
                Some(list(Operator::All))
            }
            Advice::Operator(Operator::Contains) => None,
            Advice::Operator(Operator::All) => is_and.then(|| list(Operator::All)),
            Advice::Operator(operator) if is_one => {
                Some(format!("{} {}", operator.spelled(Syntax::Text), self.joined("")))
            }
            Advice::Operator(Operator::Equal) if !is_list && is_or => Some(list(Operator::Contains)),
            Advice::Not(Operator::Contains) if is_or || self.join == Some(Join::Nor) => {
                Some(list(Operator::Contains))
            }
            Advice::Not(Operator::All) if is_and => Some(list(Operator::All)),
            Advice::Not(operator) if is_one && operator.ray().is_some() => {
                Some(format!("{} {}", operator.spelled(Syntax::Text), self.joined("")))
            }
            Advice::Between | Advice::NotBetween if is_and => self.between(field),
            _ => None,
        }
    }

    /// Returns the two criteria of a range as text, without the field of the first criterion. If both bounds are valid times of the
    /// text syntax, they stay as written.
    ///
    /// If not, a bound that is a time in another notation is replaced. A lower bound is replaced by its first instant. An upper
    /// bound that is a whole day or minute is replaced by the first instant after it. Returns `None` if a bound has a fraction of a
    /// second other than zero.
    fn between(&self, field: &str) -> Option<String> {
        let [least, greatest] = self.values.as_slice() else { return None };
        if is_moment(&least.value) && is_moment(&greatest.value) {
            return Some(format!(">= {} and {field} <= {}", least.written, greatest.written));
        }
        let is_within =
            |operand: &Operand<'_>| Timestamp::respell(&operand.value).is_some_and(|span| span.is_within);
        if is_within(least) || is_within(greatest) {
            return None;
        }
        let least = match Timestamp::respell(&least.value) {
            Some(span) => format!("{:?}", span.start),
            None => least.written.to_owned(),
        };
        let at_most = match Timestamp::respell(&greatest.value) {
            Some(span) => match span.end {
                Some(end) => format!("< {end:?}"),
                None => format!("<= {:?}", span.start),
            },
            None => format!("<= {}", greatest.written),
        };
        Some(format!(">= {least} and {field} {at_most}"))
    }
}

/// Reads ahead over a time with a shift, such as `now - 7d`, which begins at the next token. Returns the offset after the time,
/// and the lexer at that offset.
pub(super) fn shifted<'a>(lexer: &Lexer<'a>) -> Option<(usize, Lexer<'a>)> {
    if !matches!(lexer.next, Token::Word(word) if is_shiftable(word)) {
        return None;
    }
    let mut ahead = lexer.clone();
    ahead.bump().ok()?;
    let Token::Word(shift) = ahead.next else { return None };
    if matches!(shift, "+" | "-") {
        ahead.bump().ok()?;
        let amount = ahead.next_text();
        if !is_shift(&format!("{shift}{amount}")) {
            return None;
        }
    } else if !is_shift(shift) {
        return None;
    }
    let stop = ahead.at;
    ahead.bump().ok()?;
    Some((stop, ahead))
}

/// Reads one value. Returns `None` if the next token is not a value.
fn operand<'a>(lexer: &mut Lexer<'a>) -> Option<Operand<'a>> {
    if let Some((stop, after)) = shifted(lexer) {
        let written = lexer.text.get(lexer.start..stop)?;
        *lexer = after;
        return Some(Operand { written, value: Cow::Borrowed(written), is_bare: true });
    }
    let written = lexer.text.get(lexer.start..lexer.at)?;
    let (value, is_bare) = match &lexer.next {
        Token::Word(word) if !is_reserved_value(word) => (Cow::Borrowed(*word), true),
        Token::Quoted(text) => (text.clone(), false),
        _ => return None,
    };
    lexer.bump().ok()?;
    // A word before an opening parenthesis is a function or a keyword such as `any`, not a value.
    (!is_bare || lexer.next != Token::Open).then_some(Operand { written, value, is_bare })
}

/// Returns true for a token that may follow the value of a criterion.
pub(super) fn ends_value(token: &Token<'_>) -> bool {
    matches!(token, Token::End | Token::Close | Token::Comma)
        || token.connective().is_some()
        || token.is_word("nor")
}
