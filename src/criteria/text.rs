//! The text syntax that people type instead of JSON.
//!
//! ```text
//! filter     = "true" | "false" | ids [ "or" expression ] | expression
//! ids        = "ids" "(" [ value *( "," value ) ] ")"
//! expression = conjuncts *( "or" conjuncts )
//! conjuncts  = term *( "and" term )
//! term       = "(" expression ")" | field compare value | field choose list
//! compare    = "=" | "<>" | ">" | ">=" | "<" | "<="
//! choose     = "in" | "contains" | "$contains" | "all" | "$all"   ("contains" for fields with many values only)
//! list       = "(" value *( "," value ) ")"
//! field, value = word | string
//! ```
//!
//! A *word* is a run of letters, digits and `_ . @ : + - $ / #`. A *string* stands in double
//! quotes, with the escapes of JSON, or in single quotes, a quote within doubled. The words `and`,
//! `or`, `in`, `all`, `not`, `true`, `false` and `ids`, in any case, need quotes as names or values,
//! but for `true` and `false` as values. White space parts words and means nothing else.
//!
//! `and` at the top makes the body's list of criteria; anything else is one criterion. Parentheses
//! may be open as deep as criteria may nest, whether they are needed or not.

mod lexer;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use self::lexer::{Lexer, Result, Token};
use super::names::{Advice, Fields, Holds, NO_ABSENCE, NO_FIELDS, NO_SEARCH_INSIDE, advise, is_no_value};
use super::{Body, Criterion, NodeId, Text, over_limit};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS, quote, quote_whole};
use crate::limits::Limits;
use crate::operator::{Connective, Operator};
use crate::value::{Number, Timestamp, is_reserved_word};

/// What a text says.
pub(crate) enum Parsed<'a> {
    Body(Body<'a>),
    Constant(bool),
}

/// Reads a text. The tree holds what was sound; the errors are the first ten of this stage.
///
/// The paths of the errors stay empty: a text has none. Linear in the length of `text`.
pub(crate) fn parse<'a>(text: &'a str, limits: &Limits) -> (Parsed<'a>, Vec<Error>) {
    parse_of(text, limits, NO_FIELDS)
}

/// As [`parse`], with advice that fits the fields.
pub(crate) fn parse_of<'a>(text: &'a str, limits: &Limits, fields: Fields<'_>) -> (Parsed<'a>, Vec<Error>) {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        fields,
        holds: None,
        behind_value: None,
        limits,
        body: Body::default(),
        offsets: Vec::new(),
        errors: Vec::new(),
        open: Vec::new(),
        terms: Vec::new(),
        alternatives: Vec::new(),
        values: 0,
    };
    let constant = parser.filter().unwrap_or_else(|error| {
        parser.report(error);
        None
    });
    parser.check_depth();
    (constant.map_or(Parsed::Body(parser.body), Parsed::Constant), parser.errors)
}

/// An error of fields and values, which names operators as JSON does, in the words of a text.
pub(crate) fn in_words(mut error: Error) -> Error {
    if error.kind == ErrorKind::OperatorNotForType {
        error.expected = error.expected.replace("`$contains`", "`in`").replace("`$all`", "`all`");
    }
    error
}

/// An open parenthesis, or the text itself.
struct Group {
    offset: usize,
    /// Where its own finished terms start among `terms`.
    terms: usize,
    /// Where its own finished alternatives start among `alternatives`.
    alternatives: usize,
}

struct Parser<'a, 'l> {
    lexer: Lexer<'a>,
    fields: Fields<'l>,
    /// What the field of the criterion holds that is read.
    holds: Option<Holds>,
    /// Where the value starts and ends that was read last, if it was a word.
    behind_value: Option<Range<usize>>,
    limits: &'l Limits,
    body: Body<'a>,
    /// Where each node of the body starts.
    offsets: Vec<usize>,
    errors: Vec<Error>,
    /// The open parentheses around the text that is read.
    open: Vec<Group>,
    /// The terms, joined by `and`, of the innermost alternatives of all groups, innermost last.
    terms: Vec<NodeId>,
    /// The alternatives, joined by `or`, of all groups, innermost last.
    alternatives: Vec<NodeId>,
    /// Values read so far, in all criteria.
    values: usize,
}

/// Quotes that word processors put in the place of straight ones.
const CURLY_QUOTES: [char; 11] = ['“', '”', '„', '‟', '‘', '’', '‚', '«', '»', '`', '´'];

/// Whether words are followed by what SQL has behind a condition.
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

const A_CRITERION: &str = "a criterion such as `status = open`, or `(`";
const OPERATORS: &str = "one of `=`, `<>`, `>`, `>=`, `<`, `<=`, `in`, `all`";

impl<'a> Parser<'a, '_> {
    fn report(&mut self, error: Error) {
        self.errors.push(error);
        // A criterion too many or too deep is seen behind what it holds, but stands before it.
        if self.errors.len() > 8 * REPORTED_ERRORS {
            self.errors.sort_by_key(|error| error.offset);
            self.errors.truncate(REPORTED_ERRORS);
        }
    }

    /// The error for the token that stands next.
    fn unexpected(&self, expected: &str) -> Error {
        Error::new(ErrorKind::Syntax, self.lexer.start, self.lexer.found(), expected)
    }

    /// Steps over a token that was looked at.
    fn skip(&mut self) -> Result<()> {
        self.lexer.bump().map(drop)
    }

    /// The whole text; the truth of one that is a constant.
    fn filter(&mut self) -> Result<Option<bool>> {
        self.skip()?;
        match &self.lexer.next {
            Token::End => {
                let expected = "a criterion such as `status = open`, or `true` for every case";
                return Err(Error::new(ErrorKind::EmptyBody, 0, "an empty text", expected));
            }
            Token::Other('{' | '[') => {
                return Err(self.unexpected("a criterion such as `status = open`, not a JSON body"));
            }
            token if token.is_word("ids") => {
                let goes_on = self.ids()?;
                return if goes_on { self.expression().map(|()| None) } else { Ok(None) };
            }
            token if token.is_word("true") || token.is_word("false") => {
                let truth = token.is_word("true");
                let mut ahead = self.lexer.clone();
                ahead.bump()?;
                if ahead.next == Token::End {
                    return Ok(Some(truth));
                }
            }
            _ => {}
        }
        self.expression()?;
        Ok(None)
    }

    /// Reads `ids (…)`; true when an expression follows.
    fn ids(&mut self) -> Result<bool> {
        self.skip()?;
        let start = self.body.texts.len();
        let mut count: usize = 0;
        let limit = self.limits.ids;
        self.list("ids", true, &mut |parser, text| {
            count = count.saturating_add(1);
            if !parser.over(ErrorKind::TooManyIds, count, limit, text.offset, "ids") {
                parser.body.texts.push(text);
            }
        })?;
        self.body.ids = Some(start..self.body.texts.len());
        match self.lexer.next.connective() {
            Some(Connective::Or) => {
                self.skip()?;
                Ok(true)
            }
            Some(Connective::And) => {
                Err(self.unexpected("`or` behind `ids (…)`").suggest(Some(quote("id in (…) and"))))
            }
            None if self.lexer.next == Token::End => Ok(false),
            None => Err(self.unexpected("`or` or the end of the text")),
        }
    }

    /// Reads to the end of the text, and makes the body's criteria of it.
    fn expression(&mut self) -> Result<()> {
        loop {
            self.term()?;
            while self.lexer.next == Token::Close && !self.open.is_empty() {
                self.close()?;
            }
            match self.connective()? {
                Some(Connective::And) => {}
                Some(Connective::Or) => self.end_alternative(),
                None => break,
            }
        }
        if self.alternatives.is_empty() {
            let terms = std::mem::take(&mut self.terms);
            self.body.criteria = Some(self.body.push_children(terms));
        } else {
            self.end_alternative();
            let alternatives = std::mem::take(&mut self.alternatives);
            let node = self.branch(Connective::Or, alternatives);
            self.body.criteria = Some(self.body.push_children([node]));
        }
        Ok(())
    }

    /// Reads opening parentheses and one criterion.
    fn term(&mut self) -> Result<()> {
        while self.lexer.next == Token::Open {
            let depth = self.open.len().saturating_add(1);
            let limit = self.limits.depth;
            if depth > limit {
                return Err(Error::new(
                    ErrorKind::TooDeep,
                    self.lexer.start,
                    format!("parentheses at depth {depth}"),
                    format!("criteria nested at most {limit} deep"),
                ));
            }
            let group = Group {
                offset: self.lexer.start,
                terms: self.terms.len(),
                alternatives: self.alternatives.len(),
            };
            self.open.push(group);
            self.skip()?;
        }
        self.criterion()
    }

    /// Makes one alternative of the terms of the innermost group.
    fn end_alternative(&mut self) {
        let start = self.open.last().map_or(0, |group| group.terms);
        let terms = self.terms.split_off(start);
        let node = self.branch(Connective::And, terms);
        self.alternatives.push(node);
    }

    /// Closes the innermost group, which becomes a term of the one around it.
    fn close(&mut self) -> Result<()> {
        self.skip()?;
        self.end_alternative();
        if let Some(group) = self.open.pop() {
            let alternatives = self.alternatives.split_off(group.alternatives);
            let node = self.branch(Connective::Or, alternatives);
            // The group's parenthesis is its first character, unless it holds a single criterion.
            if let Some(offset) = self.offsets.get_mut(node) {
                *offset = group.offset.min(*offset);
            }
            self.terms.push(node);
        }
        Ok(())
    }

    /// Several nodes joined; a single one alone.
    fn branch(&mut self, connective: Connective, nodes: Vec<NodeId>) -> NodeId {
        match nodes.as_slice() {
            [only] => *only,
            [first, ..] => {
                let offset = self.offsets.get(*first).copied().unwrap_or(0);
                let children = self.body.push_children(nodes);
                self.push(Criterion::Complex { connective, children }, offset)
            }
            [] => self.push(Criterion::Broken, 0),
        }
    }

    fn push(&mut self, criterion: Criterion<'a>, offset: usize) -> NodeId {
        let count = self.body.nodes.len().saturating_add(1);
        let over = self.over(ErrorKind::TooManyCriteria, count, self.limits.criteria, offset, "criteria");
        self.offsets.push(offset);
        self.body.push(if over { Criterion::Broken } else { criterion })
    }

    /// True when `count` is over `limit`, which is reported once, at the first one over it.
    fn over(&mut self, kind: ErrorKind, count: usize, limit: usize, offset: usize, what: &str) -> bool {
        if let Some(error) = over_limit(kind, count, limit, offset, what) {
            self.report(error);
        }
        count > limit
    }

    /// What joins the criterion that was read to the next; `None` at the end of the text.
    fn connective(&mut self) -> Result<Option<Connective>> {
        if let Some(connective) = self.lexer.next.connective() {
            self.skip()?;
            return Ok(Some(connective));
        }
        if self.lexer.next == Token::Comma && self.is_number_with_marks()? {
            return self.connective();
        }
        let expected =
            if self.open.is_empty() { "`and`, `or` or the end of the text" } else { "`and`, `or` or `)`" };
        let error = self.unexpected(expected);
        match &self.lexer.next {
            Token::End if self.open.is_empty() => return Ok(None),
            Token::Symbol(symbol @ ("&&" | "&" | "||" | "|")) => {
                let (word, connective) =
                    if symbol.starts_with('&') { ("and", Connective::And) } else { ("or", Connective::Or) };
                self.report(error.suggest(Some(quote(word))));
                self.skip()?;
                return Ok(Some(connective));
            }
            // Two criteria side by side; what follows is read as if they were joined.
            Token::Word(_) | Token::Quoted(_) => {
                let mut ahead = self.lexer.clone();
                ahead.bump()?;
                if matches!(ahead.next, Token::Symbol(_)) || ahead.next.chooser().is_some() {
                    self.report(error);
                    return Ok(Some(Connective::And));
                }
            }
            _ => {}
        }
        Err(error)
    }

    /// Reads `field operator values`.
    fn criterion(&mut self) -> Result<()> {
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
                    return self.colon(name);
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
        let written = self.next_text();
        let Some((operator, operator_offset)) = self.operator(field_text)? else {
            let node = self.push(Criterion::Broken, offset);
            self.terms.push(node);
            return Ok(());
        };
        let values = match operator {
            Some(operator) if operator.takes_many() => self.chosen(written)?,
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

    /// The field of `field:value`, as search boxes have it; `None` for a word that is a field itself, or does not begin with one.
    fn name_before_colon(&self, word: &'a str) -> Option<&'a str> {
        let (name, _) = word.split_once(':')?;
        ((self.fields)(word).is_none() && (self.fields)(name).is_some()).then_some(name)
    }

    /// Reads over `field:value`, which stands next, and reports it.
    fn colon(&mut self, name: &str) -> Result<()> {
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
        let expected = format!("a field and, after a space, {OPERATORS}");
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

    /// The word or string that stands next; `None` when it is too long, which was reported.
    fn text(&mut self) -> Result<Option<Text<'a>>> {
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
    fn next_text(&self) -> &'a str {
        self.lexer.text.get(self.lexer.start..self.lexer.at).unwrap_or_default()
    }

    /// Reads an operator; in the pair, `None` when it is none of ours, which was reported. `None` when the criterion ends with it.
    fn operator(&mut self, field: &str) -> Result<Option<(Option<Operator>, usize)>> {
        let offset = self.lexer.start;
        // Of a string, `contains` asks for a part.
        let is_search = self.lexer.next.is_word("contains") && self.holds.is_some_and(|holds| !holds.is_list);
        let operator = match &self.lexer.next {
            Token::Symbol(symbol) => Operator::find(symbol),
            _ if is_search => None,
            token => token.chooser(),
        };
        if operator.is_some() {
            self.skip()?;
            return Ok(Some((operator, offset)));
        }
        if let Token::Word(word) = self.lexer.next
            && let Some(value) = word.strip_prefix(':').filter(|value| !value.is_empty())
        {
            let error = Error::new(ErrorKind::UnknownOperator, offset, quote(word), OPERATORS);
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
                return Err(self.unexpected(&format!("{OPERATORS}; {note}")));
            }
            _ => return Err(self.unexpected(OPERATORS)),
        };
        let advice = advise(&written.replace(' ', ""), self.holds);
        let error =
            |expected: String| Error::new(ErrorKind::UnknownOperator, offset, quote(&written), expected);
        match advice {
            Advice::Write(_) if written.eq_ignore_ascii_case("between") => {
                self.skip()?;
                let range = self.range_between(field)?;
                let ends_here = range.is_some();
                let meant = range.unwrap_or_else(|| "`>=` and `<=` joined by `and`".to_owned());
                self.report(error(OPERATORS.to_owned()).suggest(Some(meant)));
                return Ok((!ends_here).then_some((None, offset)));
            }
            Advice::Write(meant) => {
                let meant = meant.replace("$contains", "in").replace('$', "");
                self.report(error(OPERATORS.to_owned()).suggest(Some(meant)));
            }
            Advice::Cannot(note) => {
                self.report(error(format!("{OPERATORS}; {note}")));
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
                return Err(error(OPERATORS.to_owned()));
            }
            Advice::Nothing => self.report(error(OPERATORS.to_owned())),
        }
        self.skip()?;
        Ok(Some((None, offset)))
    }

    /// The words that make an operator of another language, such as `is not null`, of which `first` stands next. Afterwards the
    /// last of them stands next.
    fn operator_words(&mut self, first: &str) -> Result<String> {
        let mut words = first.to_owned();
        let may_follow = |words: &str, next: &str| match words.to_ascii_lowercase().as_str() {
            "is" => is_no_value(next) || next.eq_ignore_ascii_case("not"),
            "is not" => is_no_value(next),
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

    /// The two criteria that `between LEAST and GREATEST` stands for, with both read over; `None` when something else stands there.
    fn range_between(&mut self, field: &str) -> Result<Option<String>> {
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

    /// The criterion that says the same as a negated one behind `not` or `!`, which stands next; `None` when there is none.
    fn negated(&self) -> Option<String> {
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

    /// True when the comma that stands next belongs to a number, as in `10,000`, which is reported and read over.
    fn is_number_with_marks(&mut self) -> Result<bool> {
        let is_number = self.holds.is_some_and(|holds| holds.is_number);
        let Some(value) =
            self.behind_value.clone().filter(|value| is_number && value.end == self.lexer.start)
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

    /// The value behind an operator that takes one, or what stands behind an unknown operator.
    fn operand(&mut self, operator: Option<Operator>) -> Result<Option<Range<usize>>> {
        if self.lexer.next == Token::Open {
            let offset = self.lexer.start;
            let mut count: usize = 0;
            self.list("", false, &mut |_, _| count = count.saturating_add(1))?;
            if let Some(operator) = operator {
                let suggestion = (operator == Operator::Equal).then(|| match self.holds {
                    Some(holds) if holds.is_list => {
                        "`in` for any of them, or `all` for all of them".to_owned()
                    }
                    _ => quote("in"),
                });
                self.report(
                    Error::new(
                        ErrorKind::TooManyOperands,
                        offset,
                        "a list of values",
                        format!("exactly one value for {}, without parentheses", quote(operator.name())),
                    )
                    .suggest(suggestion),
                );
            }
            return Ok(None);
        }
        let start = self.body.texts.len();
        let bare = matches!(self.lexer.next, Token::Word(_));
        self.behind_value = bare.then_some(self.lexer.start..self.lexer.at);
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

    /// True when more words follow a bare value, as in a timestamp without quotes; reports and skips them.
    fn is_phrase(&mut self, first: &Text<'a>) -> Result<bool> {
        let mut end = None;
        let mut ahead = self.lexer.clone();
        while matches!(ahead.next, Token::Word(word) if !is_reserved_word(word)) {
            let behind = ahead.at;
            let before = ahead.clone();
            ahead.bump()?;
            // A word before an operator is a field.
            if matches!(ahead.next, Token::Symbol(_)) || ahead.next.chooser().is_some() {
                ahead = before;
                break;
            }
            end = Some(behind);
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

    /// The values behind an operator with a list, which was written so.
    fn chosen(&mut self, word: &str) -> Result<Option<Range<usize>>> {
        let start = self.body.texts.len();
        let errors = self.errors.len();
        if self.list(word, false, &mut Self::push_value)? && errors == self.errors.len() {
            return Ok(Some(start..self.body.texts.len()));
        }
        Ok(None)
    }

    /// Reads `(value, …)`; false when there was something wrong with it, which was reported.
    fn list(
        &mut self,
        word: &str,
        may_be_empty: bool,
        take: &mut dyn FnMut(&mut Self, Text<'a>),
    ) -> Result<bool> {
        if self.lexer.next != Token::Open {
            let error = self.unexpected(&format!("`(` behind `{word}`"));
            // A list may contain a value. Of a string, it is a part that is looked for.
            let is_contains = word.trim_start_matches('$').eq_ignore_ascii_case("contains");
            let is_list = self.holds.is_some_and(|holds| holds.is_list);
            let error = match self.holds {
                Some(_) if is_contains && !is_list => {
                    self.unexpected(&format!("`=` and the whole value: {NO_SEARCH_INSIDE}"))
                }
                _ => error,
            };
            let one = match &self.lexer.next {
                Token::Word(text) if !is_reserved_word(text) => (*text).to_owned(),
                Token::Quoted(_) => {
                    self.lexer.text.get(self.lexer.start..self.lexer.at).unwrap_or_default().to_owned()
                }
                _ => return Err(error),
            };
            let is_meant = !is_contains || is_list;
            self.report(error.suggest(quote_whole(&format!("{word} ({one})")).filter(|_| is_meant)));
            self.skip()?;
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
        let mut sound = true;
        loop {
            match self.value("`)` or ")? {
                Some(text) => take(self, text),
                None => sound = false,
            }
            match self.lexer.next {
                Token::Comma => self.skip()?,
                Token::Close => break,
                _ => return Err(self.unexpected("`,` or `)`")),
            }
        }
        self.skip()?;
        Ok(sound)
    }

    /// Reads one value; `None` when there is none or an unsound one, which was reported.
    fn value(&mut self, or: &str) -> Result<Option<Text<'a>>> {
        match &self.lexer.next {
            Token::Word(word)
                if is_reserved_word(word)
                    && !matches!(word.to_ascii_lowercase().as_str(), "true" | "false") =>
            {
                let error = self.unexpected("a value; this word of the syntax needs quotes to be one");
                let joins = self.lexer.next.connective().is_some() && self.is_followed()?;
                self.report(error.suggest((!joins).then(|| quote(&format!("\"{word}\"")))));
                if !joins {
                    self.skip()?;
                }
                Ok(None)
            }
            Token::Word(_) | Token::Quoted(_) => self.text(),
            Token::Other(mark) if CURLY_QUOTES.contains(mark) => self.curly(*mark),
            _ => Err(self.unexpected(&format!("{or}a value"))),
        }
    }

    /// Reads over a value in quotes of print, the first of which stands next, and reports it.
    fn curly(&mut self, mark: char) -> Result<Option<Text<'a>>> {
        let offset = self.lexer.start;
        let behind = self.lexer.text.get(self.lexer.at..).unwrap_or_default();
        let error = |found: &str| {
            Error::new(
                ErrorKind::Syntax,
                offset,
                quote(found),
                "a value in straight quotes, such as `\"open\"`",
            )
        };
        let Some((inner, rest)) = behind.split_once(CURLY_QUOTES) else {
            return Err(error(&mark.to_string()));
        };
        let end = self.lexer.text.len().saturating_sub(rest.len());
        let straight = serde_json::to_string(inner).ok().and_then(|straight| quote_whole(&straight));
        self.report(error(self.lexer.text.get(offset..end).unwrap_or_default()).suggest(straight));
        self.lexer.at = end;
        self.skip()?;
        Ok(None)
    }

    /// Whether a criterion may stand behind the word that is next.
    fn is_followed(&self) -> Result<bool> {
        let mut ahead = self.lexer.clone();
        ahead.bump()?;
        let ends = matches!(ahead.next, Token::End | Token::Close | Token::Comma);
        Ok(!ends && ahead.next.connective().is_none())
    }

    /// Reports the criteria that lie too deep, though no parentheses do.
    fn check_depth(&mut self) {
        let limit = self.limits.depth;
        let mut depths = vec![0_usize; self.body.nodes.len()];
        let roots = self.body.criteria.clone().unwrap_or_default();
        for root in self.body.children(&roots) {
            if let Some(depth) = depths.get_mut(*root) {
                *depth = 1;
            }
        }
        let mut too_deep = Vec::new();
        // Children have smaller numbers, so every parent comes before them here.
        for (id, node) in self.body.nodes.iter().enumerate().rev() {
            let depth = depths.get(id).copied().unwrap_or(0);
            if depth == limit.saturating_add(1) {
                too_deep.extend(self.offsets.get(id).copied());
            }
            if let Criterion::Complex { children, .. } = node {
                for child in self.body.children(children) {
                    if let Some(slot) = depths.get_mut(*child) {
                        *slot = depth.saturating_add(1);
                    }
                }
            }
        }
        let depth = limit.saturating_add(1);
        for offset in too_deep.into_iter().rev() {
            self.report(Error::new(
                ErrorKind::TooDeep,
                offset,
                format!("a criterion at depth {depth}"),
                format!("criteria nested at most {limit} deep"),
            ));
        }
    }
}
