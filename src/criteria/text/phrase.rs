//! Finds an operator of another language in a filter text, even if it has several tokens, such as `is not null`.

use super::super::advice::{ForeignOperator, Holds};
use super::lexer::{Lexer, Result, Token};
use crate::operator::{Language, Operator};

/// The result of reading an operator.
pub(super) enum Reading {
    /// An operator and its offset.
    Operator(Operator, usize),
    /// A test of presence: true for `is present`, false for `is absent`. Also its offset.
    Presence(bool, usize),
    /// A text that is not a valid operator. Its error was reported, and it was skipped. A value may follow.
    Unknown,
    /// A text that is not a valid operator. Its error was reported, and it was skipped together with its values.
    Whole,
}

/// Returns the part of a message that lists the operators for a field. Lists all operators for an unknown field.
pub(super) fn operators(holds: Option<Holds>) -> String {
    let listed = Operator::listed(Language::Text, holds.map(|holds| (holds.class, holds.is_ranked)));
    format!("one of {}", listed.join(", "))
}

/// An operator of another language in a text: one or more tokens.
#[derive(Clone)]
pub(super) struct Phrase<'a> {
    pub(super) foreign: ForeignOperator,
    /// The offset of the first token of the phrase.
    pub(super) start: usize,
    /// The offset after the last token of the phrase.
    pub(super) stop: usize,
    /// The count of tokens.
    pub(super) tokens: usize,
    /// The lexer whose next token is the last token of the phrase.
    pub(super) last: Lexer<'a>,
    /// The lexer after the phrase.
    pub(super) rest: Lexer<'a>,
}

/// Finds the longest operator of another language that begins at the next token.
pub(super) fn phrase<'a>(lexer: &Lexer<'a>) -> Result<Option<Phrase<'a>>> {
    /// The maximum count of tokens in a phrase. `is not greater than or equal to` has seven.
    const MOST_TOKENS: usize = 7;
    let start = lexer.start;
    let mut longest = None;
    let mut ahead = lexer.clone();
    for tokens in 1..=MOST_TOKENS {
        if !matches!(ahead.next, Token::Word(_) | Token::Symbol(_)) {
            break;
        }
        ahead.extend_contraction();
        let (last, stop) = (ahead.clone(), ahead.at);
        // An incomplete token after the phrase is reported when the parser reaches it.
        if ahead.bump().is_err() {
            break;
        }
        let written = lexer.text.get(start..stop).unwrap_or_default();
        // Spellings are compared without spaces. Without this test, `in x or` would be found as `in xor`.
        let is_cut = tokens > 1 && last.next.connective().is_some();
        if !is_cut && let Some(foreign) = ForeignOperator::find(written) {
            longest = Some(Phrase { foreign, start, stop, tokens, last, rest: ahead.clone() });
        }
    }
    Ok(longest)
}
