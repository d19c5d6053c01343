//! Parses the structure of a text: parentheses, `and`, `or`, `not`, `has` and `ids`.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::advice::{Fields, ForeignOperator, Holds};
use super::super::ast::{Body, Criterion, TextId};
use super::super::over_limit::over_limit;
use super::super::unsupported::Unsupported;
use super::lexer::{Lexer, Result, Token};
use crate::error::{Error, ErrorKind, push_error, quote};
use crate::limits::Limits;
use crate::operator::{Complex, Connective, Grammar, Language, Syntax};
use crate::value::{Clock, is_reserved_word};

/// A parsed text: criteria, or the constant `true` or `false`.
pub(crate) enum Parsed<'a> {
    Body(Body<'a>),
    Constant(bool),
}

/// Parses a text. Returns the valid criteria as a tree, and the errors that can be found without a catalogue.
///
/// If there are more than ten errors, returns at least the ten with the smallest offsets. The returned errors are in no particular
/// order. Their paths are empty, because a text has no paths. `fields` is used for the suggestions in errors, and for syntax that
/// depends on the field, such as relative times. The values of a timestamp field may be times such as `now - 7d`. Takes linear time
/// in the length of `text`.
pub(crate) fn parse<'a>(
    text: &'a str,
    clock: Clock,
    limits: &Limits,
    fields: Fields<'_>,
) -> (Parsed<'a>, Vec<Error>) {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        fields,
        holds: None,
        is_negated: false,
        last_word: None,
        limits,
        body: Body { syntax: Syntax::Text, grammar: Grammar::Extended, clock, ..Body::default() },
        offsets: Vec::new(),
        errors: Vec::new(),
        open: Vec::new(),
        arrays: Vec::new(),
        terms: Vec::new(),
        alternatives: Vec::new(),
        values: 0,
    };
    let constant = parser.filter().unwrap_or_else(|error| {
        parser.report(error);
        parser.abandon();
        None
    });
    parser.check_depth();
    (constant.map_or(Parsed::Body(parser.body), Parsed::Constant), parser.errors)
}

/// The index of a criterion in [`Body::nodes`].
type NodeId = usize;

/// An open parenthesis.
struct Group {
    /// The offset of the parenthesis, or of the path of the array before it.
    offset: usize,
    /// The array whose elements the criteria in the parentheses test.
    array: Option<Array>,
    /// The offsets of the words `not` before the parenthesis. The innermost `not` is last.
    nots: SmallVec<[usize; 1]>,
    /// The index in `terms` of the first finished term in the parentheses.
    terms: usize,
    /// The index in `alternatives` of the first finished alternative in the parentheses.
    alternatives: usize,
}

/// The path before `has (`; `None` if it is too long, which was reported.
type Array = Option<TextId>;

pub(super) struct Parser<'a, 'l> {
    pub(super) lexer: Lexer<'a>,
    pub(super) fields: Fields<'l>,
    /// The properties of the field of the current criterion; `None` for an unknown field.
    pub(super) holds: Option<Holds>,
    /// True if a `not` is directly before the current criterion.
    pub(super) is_negated: bool,
    /// The byte range of the last value in the text. `None` if that value was not a word.
    pub(super) last_word: Option<Range<usize>>,
    pub(super) limits: &'l Limits,
    pub(super) body: Body<'a>,
    /// The offset of each node of the body.
    offsets: Vec<usize>,
    pub(super) errors: Vec<Error>,
    /// The open parentheses around the next token, innermost last.
    open: Vec<Group>,
    /// The whole paths of the arrays before open parentheses, innermost last. For a path that is too long, the string is empty.
    arrays: Vec<String>,
    /// The terms of the current alternative of each group, to be joined by `and`. The terms of the innermost group are last.
    pub(super) terms: Vec<NodeId>,
    /// The finished alternatives of each group, to be joined by `or`. The alternatives of the innermost group are last.
    alternatives: Vec<NodeId>,
    /// The count of values that have been read so far, in all criteria.
    pub(super) values: usize,
}

impl<'a> Parser<'a, '_> {
    pub(super) fn report(&mut self, error: Error) {
        // A criterion beyond a limit is found after its children, but its offset is before their offsets. So errors are not found
        // in the order of the text.
        push_error(&mut self.errors, error);
    }

    /// Returns the syntax error for the next token.
    pub(super) fn unexpected(&self, expected: &str) -> Error {
        Error::new(ErrorKind::Syntax, self.lexer.start, self.lexer.found(), expected)
    }

    /// Skips the next token.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.lexer.bump().map(drop)
    }

    /// Parses the whole text. Returns the value of a constant, and `None` for criteria.
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

    /// Reads `ids (…)` and the `or` after it, if there is one. Returns true if an expression follows.
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
                Err(self.unexpected("`or` after `ids (…)`").suggest(Some(quote("id in (…) and"))))
            }
            None if self.lexer.next == Token::End => Ok(false),
            None => Err(self.unexpected("`or` or the end of the text")),
        }
    }

    /// Parses the rest of the text into the body's criteria.
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
            self.body.criteria = Some(terms.len());
        } else {
            self.end_alternative();
            let alternatives = std::mem::take(&mut self.alternatives);
            self.branch(Connective::Or, alternatives);
            self.body.criteria = Some(1);
        }
        Ok(())
    }

    /// Reads opening parentheses, if there are any, and then one criterion. The word `not` may stand once or repeatedly before each
    /// parenthesis and before the criterion.
    fn term(&mut self) -> Result<()> {
        loop {
            if self.field_after_not()? {
                return Ok(());
            }
            let nots = self.nots()?;
            let start = self.lexer.start;
            let array = self.array()?;
            if array.is_none() && self.lexer.next != Token::Open {
                self.is_negated = !nots.is_empty();
                self.criterion()?;
                self.negate(&nots);
                return Ok(());
            }
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
            let array = array.map(|(array, path)| {
                self.arrays.push(path);
                array
            });
            let group = Group {
                offset: start,
                array,
                nots,
                terms: self.terms.len(),
                alternatives: self.alternatives.len(),
            };
            self.open.push(group);
            self.skip()?;
        }
    }

    /// Reads the path and the `has` of `path has (…)`. Returns `None` if something else is next, such as `tags has (vip)`. In this
    /// example, `has` is an operator of another language, because a list of values follows it.
    ///
    /// Also returns the whole path, or an empty string if the path is too long. Does not check that the path is that of an array.
    fn array(&mut self) -> Result<Option<(Array, String)>> {
        let is_path = match &self.lexer.next {
            Token::Word(word) => !is_reserved_word(word),
            token => matches!(token, Token::Quoted(_)),
        };
        if !is_path || !has_criteria(&self.lexer) {
            return Ok(None);
        }
        let text = self.text()?;
        // `has`
        self.skip()?;
        let path = match (&text, self.arrays.last()) {
            (None, _) => String::new(),
            (Some(text), Some(around)) if !is_below(&text.text, around) => format!("{around}.{}", text.text),
            (Some(text), _) => text.text.to_string(),
        };
        // No array has such a long path. Each lookup of a name in the parentheses would copy the path.
        let path = if path.len() > self.limits.string_bytes { String::new() } else { path };
        let text = text.map(|text| self.body.push_text(text));
        Ok(Some((text, path)))
    }

    /// Returns the path of the array around the next token, or `None` outside of all `has (…)` groups. The path is an empty string
    /// if it is too long.
    pub(super) fn around(&self) -> Option<&str> {
        self.arrays.last().map(String::as_str)
    }

    /// Looks up a field by its name. In the parentheses after `has`, the name may omit the path of the array.
    pub(super) fn field(&self, name: &str) -> Option<Holds> {
        let within = self.arrays.last().and_then(|array| (self.fields)(&format!("{array}.{name}")));
        within.or_else(|| (self.fields)(name))
    }

    /// Reads the words `not` before a criterion, and returns their offsets. Reports an error for each `!`, and then treats it as
    /// `not`.
    fn nots(&mut self) -> Result<SmallVec<[usize; 1]>> {
        let mut nots = SmallVec::new();
        loop {
            let start = self.lexer.start;
            if self.lexer.next.is_word(Complex::Not.word()) {
                self.skip()?;
            } else if self.lexer.next == Token::Symbol("!") {
                self.exclamation()?;
            } else {
                return Ok(nots);
            }
            // More negations would exceed the limit of depth in any case.
            if nots.len() <= self.limits.depth {
                nots.push(start);
            }
        }
    }

    /// Negates the last term once for each of these offsets. The last offset becomes the innermost negation.
    fn negate(&mut self, nots: &[usize]) {
        for offset in nots.iter().rev() {
            if self.terms.pop().is_some() {
                let negation = Criterion::Complex { operator: Complex::Not, array: None, children: 1 };
                let node = self.push(negation, *offset);
                self.terms.push(node);
            }
        }
    }

    /// Joins the terms of the innermost group into one alternative.
    fn end_alternative(&mut self) {
        let start = self.open.last().map_or(0, |group| group.terms);
        let terms = self.terms.split_off(start);
        let node = self.branch(Connective::And, terms);
        self.alternatives.push(node);
    }

    /// Closes groups that an error left open. Begins with the innermost group, and stops after the outermost `has (…)` group. The
    /// criteria in each `has (…)` group thereby become children of an `$elem` criterion. Without this parent, the names in the
    /// group would later be looked up as names of the whole document, not as names below the array.
    fn abandon(&mut self) {
        while !self.arrays.is_empty() && !self.open.is_empty() {
            self.close_group();
        }
    }

    /// Closes the innermost group, which becomes a term of the group around it.
    fn close(&mut self) -> Result<()> {
        self.skip()?;
        self.close_group();
        Ok(())
    }

    fn close_group(&mut self) {
        if let Some(group) = self.open.last()
            && let Some(array) = group.array
        {
            let offset = group.offset;
            let has_alternatives = self.alternatives.len() > group.alternatives;
            return self.close_elements(offset, array, has_alternatives);
        }
        self.end_alternative();
        if let Some(group) = self.open.pop() {
            let alternatives = self.alternatives.split_off(group.alternatives);
            let node = self.branch(Connective::Or, alternatives);
            // A criterion in parentheses begins at its opening parenthesis.
            if let Some(offset) = self.offsets.get_mut(node) {
                *offset = group.offset.min(*offset);
            }
            self.terms.push(node);
            self.negate(&group.nots);
        }
    }

    /// Closes the innermost group, a `has (…)` group, which becomes an `$elem` criterion. `has_alternatives` is true if the group
    /// contains an `or`.
    fn close_elements(&mut self, offset: usize, array: Array, has_alternatives: bool) {
        if has_alternatives {
            self.end_alternative();
        }
        let Some(group) = self.open.pop() else { return };
        self.arrays.pop();
        let children = match self.alternatives.split_off(group.alternatives) {
            alternatives if has_alternatives => {
                self.branch(Connective::Or, alternatives);
                1
            }
            _ => self.terms.split_off(group.terms).len(),
        };
        let criterion = match array {
            Some(_) => Criterion::Complex { operator: Complex::ELEM, array, children },
            None => Criterion::Broken,
        };
        let node = self.push(criterion, offset);
        self.terms.push(node);
        self.negate(&group.nots);
    }

    /// Joins `nodes` by a connective. Their subtrees must be the last subtrees of the body. A single node stays unchanged.
    fn branch(&mut self, connective: Connective, nodes: Vec<NodeId>) -> NodeId {
        match nodes.as_slice() {
            [only] => *only,
            [first, ..] => {
                let offset = self.offsets.get(*first).copied().unwrap_or(0);
                let (operator, children) = (connective.into(), nodes.len());
                self.push(Criterion::Complex { operator, array: None, children }, offset)
            }
            [] => self.push(Criterion::Broken, 0),
        }
    }

    pub(super) fn push(&mut self, criterion: Criterion, offset: usize) -> NodeId {
        let count = self.body.nodes.len().saturating_add(1);
        let over = self.over(ErrorKind::TooManyCriteria, count, self.limits.criteria, offset, "criteria");
        self.offsets.push(offset);
        self.body.nodes.push(if over { Criterion::Broken } else { criterion });
        count.saturating_sub(1)
    }

    /// Returns true if `count` exceeds `limit`. Reports only the first item beyond the limit.
    pub(super) fn over(
        &mut self,
        kind: ErrorKind,
        count: usize,
        limit: usize,
        offset: usize,
        what: &str,
    ) -> bool {
        if let Some(error) = over_limit(kind, count, limit, offset, what) {
            self.report(error);
        }
        count > limit
    }

    /// Reads the connective between two criteria. Returns `None` at the end of the text.
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
            Token::Other('*' | '%' | '?') => {
                return Err(
                    self.unexpected(&format!("{expected}; {}", Unsupported::Inside.note(Language::Text)))
                );
            }
            Token::Word(word)
                if ForeignOperator::find(word).and_then(ForeignOperator::unsupported)
                    == Some(Unsupported::Connective) =>
            {
                return Err(
                    self.unexpected(&format!("{expected}; {}", Unsupported::Connective.note(Language::Text)))
                );
            }
            Token::Other('^') => {
                return Err(
                    self.unexpected(&format!("{expected}; {}", Unsupported::Connective.note(Language::Text)))
                );
            }
            Token::Symbol(symbol @ ("&&" | "&" | "||" | "|")) => {
                let connective = if symbol.starts_with('&') { Connective::And } else { Connective::Or };
                self.report(error.suggest(Some(quote(connective.word()))));
                self.skip()?;
                return Ok(Some(connective));
            }
            // Two criteria without a connective: report this, and continue as if `and` joined them.
            Token::Word(_) | Token::Quoted(_) => {
                let mut ahead = self.lexer.clone();
                ahead.bump()?;
                if matches!(ahead.next, Token::Symbol(_)) || ahead.next.word_operator().is_some() {
                    self.report(error);
                    return Ok(Some(Connective::And));
                }
            }
            _ => {}
        }
        Err(error)
    }

    /// Reports an error for criteria that are nested too deeply, even if the parentheses are not. For example, an `and` inside an
    /// `or` adds a level without parentheses.
    fn check_depth(&mut self) {
        let limit = self.limits.depth;
        if self.body.criteria.is_none() {
            return;
        }
        let mut too_deep = Vec::new();
        // The loop runs in reverse order, so it reaches a parent before its children. `open` has, for each open parent, the count
        // of children that the loop has not reached yet.
        let mut open: Vec<usize> = Vec::new();
        for (id, node) in self.body.nodes.iter().enumerate().rev() {
            while open.pop_if(|children| *children == 0).is_some() {}
            if let Some(children) = open.last_mut() {
                *children = children.saturating_sub(1);
            }
            if open.len() == limit {
                too_deep.extend(self.offsets.get(id).copied());
            }
            if let Criterion::Complex { children, .. } = node {
                open.push(*children);
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

/// Returns true if `has (` and a criterion follow the next token.
pub(super) fn has_criteria(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    let mut is_next = |wanted: &dyn Fn(&Token<'_>) -> bool| ahead.bump().is_ok() && wanted(&ahead.next);
    if !is_next(&|token| token.is_word(Complex::ELEM.word())) || !is_next(&|token| *token == Token::Open) {
        return false;
    }
    // Empty parentheses are an error, as criteria and as a list of values. The error for criteria says what is missing.
    if is_next(&|token| {
        matches!(token, Token::Open | Token::Close | Token::End | Token::Symbol("!"))
            || token.is_word(Complex::Not.word())
    }) {
        return true;
    }
    // In a list, a value is followed by a comma, a connective or the closing parenthesis.
    matches!(ahead.next, Token::Word(_) | Token::Quoted(_))
        && ahead.bump().is_ok()
        && !matches!(ahead.next, Token::Comma | Token::Close | Token::End)
        && ahead.next.connective().is_none()
}

/// Returns true if `path` lies below the array path `around`.
fn is_below(path: &str, around: &str) -> bool {
    path.strip_prefix(around).is_some_and(|rest| rest.starts_with('.'))
}
