//! Parses the operator of a criterion. Also recognises operators of other query languages, to suggest the equivalent operator.

use super::super::advice::{Advice, Holds, WITHOUT_A_VALUE, for_several, is_quantifier, meant_by_time};
use super::super::unsupported::is_no_value;
use super::lexer::{Lexer, Result, Token};
use super::operands::{Join, Operand, Operands, ends_value};
use super::parser::Parser;
use super::phrase::{Phrase, Reading, operators, phrase};
use super::searches::TextSearch;
use crate::error::{Error, ErrorKind, Found, Suggestion, quote, quote_whole};
use crate::operator::{Language, Operator, Syntax};
use crate::value::is_reserved_word;

impl<'a> Parser<'a, '_> {
    /// Reads an operator. For an operator of another language, reports an error and skips it. `field` is the field as written.
    pub(super) fn operator(&mut self, field: &'a str, field_start: usize) -> Result<Reading> {
        let offset = self.lexer.start;
        if let Some(reading) = self.two_words()? {
            return Ok(reading);
        }
        let own = match &self.lexer.next {
            Token::Symbol(symbol) => Operator::find_word(symbol),
            // Only timestamp fields accept `on`.
            token if token.is_word("on") && self.holds.is_some_and(Holds::is_timestamp) => {
                Some(Operator::Equal)
            }
            token => token.word_operator(),
        };
        // On a single-valued field, `contains` means a search inside a string.
        let is_search = self.lexer.next.is_word("contains") && self.holds.is_some_and(|holds| !holds.is_list);
        if let Some(operator) = own.filter(|_| !is_search) {
            let before = self.lexer.clone();
            self.skip()?;
            let Some(phrase) = self.foreign_operator_at(&before)? else {
                return Ok(Reading::Operator(operator, offset));
            };
            self.lexer = before;
            return self.foreign(&phrase, field, field_start);
        }
        if self.colon_before_value()? {
            return Ok(Reading::Whole);
        }
        if self.lexer.next.connective().is_none()
            && let Some(phrase) = phrase(&self.lexer)?
        {
            return self.foreign(&phrase, field, field_start);
        }
        match &self.lexer.next {
            Token::Symbol(symbol) => {
                self.report(Error::new(
                    ErrorKind::UnknownOperator,
                    offset,
                    quote(symbol),
                    operators(self.holds),
                ));
                self.skip()?;
                Ok(Reading::Unknown)
            }
            // The parser cannot know what an unknown word and the text after it mean, so it stops here.
            Token::Word(word) if self.lexer.next.connective().is_none() => {
                Err(Error::new(ErrorKind::UnknownOperator, offset, quote(word), operators(self.holds)))
            }
            Token::Open => {
                let note = "in double quotes, a shell replaces `$contains` and `$all` as its variables: \
                            write `in` or `all`";
                Err(self.unexpected(&format!("{}; {note}", operators(self.holds))))
            }
            _ => Err(self.unexpected(&operators(self.holds))),
        }
    }

    /// Reads an operator of two words, if it is next: `is present`, `is absent` or `starts with`.
    fn two_words(&mut self) -> Result<Option<Reading>> {
        let offset = self.lexer.start;
        let is_first = |first: &str| self.lexer.next.is_word(first);
        if !is_first("is") && !is_first("starts") {
            return Ok(None);
        }
        let mut ahead = self.lexer.clone();
        ahead.bump()?;
        let reading = match &ahead.next {
            second if is_first("is") && second.is_word("present") => Reading::Presence(true, offset),
            second if is_first("is") && second.is_word("absent") => Reading::Presence(false, offset),
            second if is_first("starts") && second.is_word("with") => {
                Reading::Operator(Operator::StartsWith, offset)
            }
            _ => return Ok(None),
        };
        ahead.bump()?;
        self.lexer = ahead;
        Ok(Some(reading))
    }

    /// Returns the phrase of another language that begins with a valid operator, such as `= not` or `contains any`. The operator is
    /// the next token of `before`.
    ///
    /// Returns `None` if the operator stands by itself.
    fn foreign_operator_at(&self, before: &Lexer<'a>) -> Result<Option<Phrase<'a>>> {
        let may_be_value = match &self.lexer.next {
            Token::Word(word) if matches!(before.next, Token::Symbol(_)) => {
                // Other words are values.
                if !is_reserved_word(word) && !is_quantifier(word) {
                    return Ok(None);
                }
                !is_reserved_word(word)
            }
            Token::Symbol(_) | Token::Word(_) => false,
            _ => return Ok(None),
        };
        let found =
            phrase(before)?.filter(|phrase| phrase.tokens > 1 && phrase.foreign.connective().is_none());
        Ok(found.filter(|phrase| match &phrase.rest.next {
            Token::Open => true,
            _ if phrase.foreign.unsupported().is_some() => !may_be_value,
            Token::Word(_) | Token::Quoted(_) => !may_be_value && phrase.rest.next.connective().is_none(),
            _ => false,
        }))
    }

    /// Returns the advice for an operator of another language before these values. `operands` is `None` if no values can be read.
    fn advice(&self, phrase: &Phrase<'a>, operands: Option<&Operands<'a>>) -> Advice {
        let Some(operands) = operands else {
            // Values that cannot be read count as one value.
            let count = usize::from(!ends_value(&phrase.rest.next));
            return phrase.foreign.advice(self.holds, count, Language::Text);
        };
        let advice = phrase.foreign.advice(self.holds, operands.values.len(), Language::Text);
        if matches!(advice, Advice::Cannot(_) | Advice::Nothing | Advice::Presence(_) | Advice::Search { .. })
        {
            return advice;
        }
        let is_timestamp = self.holds.is_some_and(Holds::is_timestamp);
        let by_time = || {
            operands.values.iter().find_map(|operand| meant_by_time(advice, &operand.value, Language::Text))
        };
        let unsupported = operands.unsupported().or_else(|| if is_timestamp { by_time() } else { None });
        match (unsupported, advice) {
            (Some(unsupported), _) => Advice::Cannot(unsupported),
            (None, Advice::Operator(Operator::NotEqual)) if operands.join == Some(Join::Comma) => {
                Advice::Not(Operator::Contains)
            }
            (None, advice) => advice,
        }
    }

    /// Adds an error for an operator of another language, which begins at the next token. Then skips the operator. Also skips its
    /// values, unless the caller must still read them ([`Reading::Unknown`]).
    fn foreign(&mut self, phrase: &Phrase<'a>, field: &'a str, field_start: usize) -> Result<Reading> {
        let text = self.lexer.text;
        if let Advice::Operator(operator) = phrase.foreign.advice(self.holds, 1, Language::Text)
            && self.wildcards(operator, phrase.start, false, &phrase.rest, field, field_start)
        {
            return Ok(Reading::Whole);
        }
        let operands = Operands::read(&phrase.rest);
        let advice = self.advice(phrase, operands.as_ref());
        match advice {
            Advice::Presence(is_present) => return self.presence(phrase, is_present, operands.as_ref()),
            Advice::Search { search, is_negated } => {
                let search = TextSearch { search, is_negated, field, field_start };
                return self.search(phrase, search, operands.as_ref());
            }
            _ => {}
        }
        // In `tags has vip and checked`, the last word may be the field of a new criterion.
        let has_field = operands.as_ref().is_some_and(|operands| {
            let is_field = |value: &Operand<'_>| value.is_bare && self.field(&value.value).is_some();
            operands.join != Some(Join::Comma) && operands.values.iter().skip(1).any(is_field)
        });
        let has_keyword = has_field || operands.as_ref().is_some_and(Operands::has_keyword);
        let whole = operands.as_ref().filter(|operands| operands.is_whole && !has_keyword);
        let is_list = self.holds.is_some_and(|holds| holds.is_list);
        // True if the suggestion replaces only the operator and keeps the values.
        let is_operator_alone = match (advice, &operands) {
            _ if has_keyword => false,
            (Advice::Operator(Operator::Contains | Operator::All), Some(operands)) => {
                matches!(operands.join, None | Some(Join::Comma))
            }
            (Advice::Operator(_), Some(operands)) => operands.values.len() == 1 && !operands.has_parentheses,
            (Advice::Operator(_), None) => ends_value(&phrase.rest.next),
            _ => false,
        };
        let written = |start: usize, stop: usize| Found::text(text.get(start..stop).unwrap_or_default());
        let alone = written(phrase.start, phrase.stop);
        let error = |start: usize, found: Found, expected: String| {
            Error::new(ErrorKind::UnknownOperator, start, found, expected)
        };
        if let Advice::Cannot(unsupported) = advice {
            return self.unsupported(phrase, unsupported, operands.as_ref());
        }
        if is_operator_alone {
            self.report(
                error(phrase.start, alone, operators(self.holds)).suggest(advice.in_words(Syntax::Text)),
            );
            self.lexer = phrase.rest.clone();
            return Ok(Reading::Unknown);
        }
        let meant = whole.and_then(|whole| Some((whole, whole.after_field(advice, field, is_list)?)));
        if let Some((whole, meant)) = meant {
            let (start, meant) = match advice {
                Advice::Not(_) => (field_start, format!("not {field} {meant}")),
                Advice::NotBetween => (field_start, format!("not ({field} {meant})")),
                // A `not` before the field would negate only the first of the two criteria.
                Advice::Between if self.is_negated => (field_start, format!("({field} {meant})")),
                _ => (phrase.start, meant),
            };
            let is_negated_order = match advice {
                Advice::Not(operator) => operator.ray().is_some(),
                advice => advice == Advice::NotBetween,
            };
            let meant = quote_whole(&meant).map(Suggestion::from).map(|meant| match is_negated_order {
                true => meant.with_explanation(WITHOUT_A_VALUE),
                false => meant,
            });
            self.report(error(start, written(start, whole.stop), operators(self.holds)).suggest(meant));
            self.lexer = whole.rest.clone();
            return Ok(Reading::Whole);
        }
        let suggestion = match &operands {
            Some(operands)
                if is_list
                    && advice == Advice::Operator(Operator::Equal)
                    && operands.join == Some(Join::Comma)
                    && !has_keyword =>
            {
                Some(for_several(self.holds, Syntax::Text))
            }
            _ => None,
        };
        let is_word = matches!(phrase.last.next, Token::Word(_));
        let error = error(phrase.start, alone, operators(self.holds)).suggest(suggestion);
        if is_word && advice == Advice::Nothing {
            return Err(error);
        }
        self.report(error);
        match operands {
            Some(operands) if operands.is_whole => {
                self.lexer = operands.rest;
                Ok(Reading::Whole)
            }
            _ => {
                self.lexer = phrase.rest.clone();
                Ok(Reading::Unknown)
            }
        }
    }

    /// Reports an error for the `:value` of `field :value`, and skips it. Returns false if the next token is not such a `:value`.
    fn colon_before_value(&mut self) -> Result<bool> {
        let Token::Word(word) = self.lexer.next else { return Ok(false) };
        let Some(value) = word.strip_prefix(':').filter(|value| !value.is_empty()) else { return Ok(false) };
        let offset = self.lexer.start;
        let unsupported = self.unsupported_after_colon(value);
        let unsupported = unsupported.filter(|_| !is_no_value(value));
        let note = unsupported.map(|unsupported| format!("; {}", unsupported.note(Language::Text)));
        let expected = format!("{}{}", operators(self.holds), note.unwrap_or_default());
        self.skip()?;
        let meant = match self.absence_after_colon(value) {
            Some(test) => Some(test.to_owned()),
            None => self.value_after_colon(value).map(|value| format!("= {value}")),
        };
        let error = Error::new(ErrorKind::UnknownOperator, offset, quote(word), expected);
        self.report(error.suggest(meant.and_then(|meant| quote_whole(&meant))));
        Ok(true)
    }
}
