//! Walks the JSON text of a body, reports errors, and builds a tree of the criteria without errors.

use super::super::advice::Fields;
use super::super::ast::{Body, Criterion, Text};
use super::super::keys::suggest_key;
use super::super::over_limit::over_limit;
use super::super::unsupported::Unsupported;
use super::open::{CRITERION_KEYS, OpenCriterion, Seen, Slot};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS, push_error, quote, quote_all};
use crate::json::{JsonType, Reader, Result};
use crate::limits::Limits;
use crate::operator::{Grammar, Language, Syntax};

/// Parses a body. Returns the valid criteria as a tree, and the errors that can be found without a catalogue.
///
/// If there are more than ten errors, returns at least the ten with the smallest offsets. The returned errors are in no particular
/// order, and their paths are empty. `fields` is used only for the suggestions in errors. Takes linear time in the length of
/// `text`.
pub(crate) fn parse<'a>(
    text: &'a str,
    grammar: Grammar,
    limits: &Limits,
    fields: Fields<'_>,
) -> (Body<'a>, Vec<Error>) {
    let mut parser = Parser {
        reader: Reader::new(text),
        grammar,
        fields,
        limits,
        body: Body { grammar, ..Body::default() },
        errors: Vec::new(),
        cutoff: usize::MAX,
        faults: 0,
        frames: Vec::new(),
        values: 0,
    };
    // A syntax error ends the walk. It is reported after the errors that were found before it.
    if let Err(error) = parser.body() {
        parser.report(*error);
    }
    (parser.body, parser.errors)
}

pub(super) struct Parser<'a, 'l> {
    reader: Reader<'a>,
    pub(super) grammar: Grammar,
    pub(super) fields: Fields<'l>,
    limits: &'l Limits,
    pub(super) body: Body<'a>,
    /// The errors found so far. [`report`](Self::report) removes errors that cannot be among the first ten.
    errors: Vec<Error>,
    /// An offset: at least ten errors are at or before it. `usize::MAX` until the list of errors is first shortened.
    cutoff: usize,
    /// The count of errors found so far, including removed errors.
    faults: usize,
    frames: Vec<Frame<'a>>,
    /// The count of values that have been read so far, in all criteria.
    values: usize,
}

enum Frame<'a> {
    /// An array of criteria: the array of the body, or the `children` of the criterion below it on the stack.
    Array {
        /// The count of criteria of the array that have been read so far, including the criterion that is being read.
        count: usize,
    },
    /// A criterion whose keys are being read.
    Criterion(Box<OpenCriterion<'a>>),
}

const BODY_KEYS: [&str; 2] = ["ids", "criteria"];

impl<'a> Parser<'a, '_> {
    pub(super) fn report(&mut self, error: Error) {
        self.faults = self.faults.saturating_add(1);
        // An error of a whole criterion is found at the end of the criterion, but has the offset of its start. So the first ten
        // errors that are found are not always the first ten errors in document order.
        if push_error(&mut self.errors, error) {
            self.cutoff = self.errors.last().map_or(usize::MAX, |error| error.offset);
        }
    }

    fn body(&mut self) -> Result<()> {
        let kind = self.reader.peek()?;
        let offset = self.reader.offset();
        if kind != JsonType::Object {
            self.wrong_type(kind, "an object with `ids`, `criteria` or both")?;
            return self.reader.end();
        }
        self.reader.open();
        let mut seen = Seen::default();
        let mut first = true;
        while let Some((key, at)) = self.reader.next_key(first)? {
            first = false;
            match self.known_key(&mut seen, &key, at, &BODY_KEYS)? {
                Some(0) => self.ids()?,
                Some(_) => self.criteria()?,
                None => {}
            }
        }
        if self.faults == 0 && self.body.ids.is_none() && self.body.criteria.is_none() {
            let found = if seen.known == 0 { "neither" } else { "only `null`" };
            let error =
                Error::new(ErrorKind::EmptyBody, offset, found, "an object with `ids`, `criteria` or both");
            self.report(error);
        }
        self.reader.end()
    }

    /// Returns the language of the body.
    pub(super) fn language(&self) -> Language {
        Language::new(Syntax::Json, self.grammar)
    }

    /// Returns the index of `key` in `known`. If the key is unknown or repeated, reports it, skips its value, and returns `None`.
    fn known_key(&mut self, seen: &mut Seen, key: &str, at: usize, known: &[&str]) -> Result<Option<usize>> {
        if let Some(number) = known.iter().position(|name| *name == key) {
            let bit = 1_u8.checked_shl(u32::try_from(number).unwrap_or(7)).unwrap_or(0);
            if seen.known & bit == 0 {
                seen.known |= bit;
                return Ok(Some(number));
            }
            seen.repeated |= bit;
            self.report(Error::new(ErrorKind::DuplicateKey, at, quote(key), "each key at most once"));
        } else if seen.others.iter().any(|other| other == key) {
            self.report(Error::new(ErrorKind::DuplicateKey, at, quote(key), "each key at most once"));
        } else if seen.others.len() < REPORTED_ERRORS {
            // After the tenth unknown key of an object, no further unknown key of it can be among the first ten errors.
            seen.others.push(key.to_owned());
            // Errors after the tenth are not shown, so do not spend time on their suggestions.
            if at > self.cutoff {
                self.faults = self.faults.saturating_add(1);
            } else {
                let allowed = quote_all(known.iter().copied());
                let found = format!("the key {}", quote(key));
                let error = Error::new(ErrorKind::UnknownKey, at, found, format!("one of {allowed}"))
                    .suggest(suggest_key(key, known).map(quote));
                self.report(error);
            }
        }
        self.reader.skip_value()?;
        Ok(None)
    }

    /// Reports that the next value has the wrong type, and skips it.
    fn wrong_type(&mut self, kind: JsonType, expected: &str) -> Result<()> {
        let at = self.reader.offset();
        self.report(Error::new(ErrorKind::WrongType, at, kind.name(), expected));
        self.reader.skip_value()
    }

    /// Reads a string. If the value has another type or the string is too long, reports it and returns `None`.
    fn text(&mut self, expected: &str) -> Result<Option<Text<'a>>> {
        let kind = self.reader.peek()?;
        let offset = self.reader.offset();
        if kind != JsonType::String {
            self.wrong_type(kind, expected)?;
            return Ok(None);
        }
        let text = self.reader.string()?;
        let limit = self.limits.string_bytes;
        if text.len() > limit {
            self.report(Error::new(
                ErrorKind::StringTooLong,
                offset,
                format!("a string of {} bytes", text.len()),
                format!("at most {limit} bytes in a string"),
            ));
            return Ok(None);
        }
        Ok(Some(Text { text, offset }))
    }

    fn ids(&mut self) -> Result<()> {
        match self.reader.peek()? {
            JsonType::Null => return self.reader.null(),
            JsonType::Array => self.reader.open(),
            kind => return self.wrong_type(kind, "an array of strings"),
        }
        let start = self.body.texts.len();
        let mut count: usize = 0;
        while self.reader.next_element(count == 0)? {
            count = count.saturating_add(1);
            self.reader.peek()?;
            let offset = self.reader.offset();
            if let Some(text) = self.text("a string")?
                && !self.over(ErrorKind::TooManyIds, count, self.limits.ids, offset, "ids")
            {
                self.body.texts.push(text);
            }
        }
        self.body.ids = Some(start..self.body.texts.len());
        Ok(())
    }

    /// Returns true if `count` exceeds `limit`. Reports only the first item beyond the limit.
    fn over(&mut self, kind: ErrorKind, count: usize, limit: usize, offset: usize, what: &str) -> bool {
        if let Some(error) = over_limit(kind, count, limit, offset, what) {
            self.report(error);
        }
        count > limit
    }

    /// Reads the array of criteria of the body, with all nested criteria.
    fn criteria(&mut self) -> Result<()> {
        match self.reader.peek()? {
            JsonType::Null => return self.reader.null(),
            JsonType::Array => self.open_array(),
            kind => return self.wrong_type(kind, "an array of criteria"),
        }
        loop {
            let done = match self.frames.last_mut() {
                None => return Ok(()),
                Some(Frame::Array { .. }) => self.array_step()?,
                Some(Frame::Criterion(_)) => self.criterion_step()?,
            };
            if let Some(children) = done {
                match self.frames.last_mut() {
                    Some(Frame::Criterion(open)) => open.children = Slot::Given(children),
                    _ => self.body.criteria = Some(children),
                }
            }
        }
    }

    fn open_array(&mut self) {
        self.reader.open();
        self.frames.push(Frame::Array { count: 0 });
    }

    /// Reads the start of the next criterion of an array. At the end of the array, returns the count of its criteria.
    fn array_step(&mut self) -> Result<Option<usize>> {
        let Some(Frame::Array { count }) = self.frames.last_mut() else { return Ok(None) };
        let before = *count;
        if !self.reader.next_element(before == 0)? {
            self.frames.pop();
            return Ok(Some(before));
        }
        *count = before.saturating_add(1);
        let kind = self.reader.peek()?;
        let offset = self.reader.offset();
        // Arrays and criteria alternate, so half of the frames, rounded up, are arrays.
        let depth = self.frames.len().div_ceil(2);
        if kind != JsonType::Object {
            self.wrong_type(kind, "a criterion, which is an object")?;
            self.broken();
        } else if depth > self.limits.depth {
            let limit = self.limits.depth;
            self.report(Error::new(
                ErrorKind::TooDeep,
                offset,
                format!("a criterion at depth {depth}"),
                format!("criteria nested at most {limit} deep"),
            ));
            self.reader.skip_value()?;
            self.broken();
        } else {
            self.reader.open();
            self.frames.push(Frame::Criterion(Box::new(OpenCriterion::at(offset))));
        }
        Ok(None)
    }

    fn broken(&mut self) {
        self.body.nodes.push(Criterion::Broken);
    }

    /// Reads the next key of a criterion with its value, or reads the end of the criterion.
    fn criterion_step(&mut self) -> Result<Option<usize>> {
        let Some(Frame::Criterion(mut open)) = self.frames.pop() else { return Ok(None) };
        let Some((key, at)) = self.reader.next_key(std::mem::take(&mut open.first))? else {
            self.finish(*open);
            return Ok(None);
        };
        let faults = self.faults;
        let mut nested = false;
        match self.known_key(&mut open.seen, &key, at, &CRITERION_KEYS)? {
            Some(number) => match (number, self.reader.peek()?) {
                (_, JsonType::Null) => self.reader.null()?,
                (0, _) => open.op = self.text_slot("a string")?,
                (1, JsonType::Array) => {
                    open.children_offset = self.reader.offset();
                    open.children = Slot::Broken;
                    nested = true;
                }
                (1, kind) => {
                    open.children = Slot::Broken;
                    self.wrong_type(kind, "an array of criteria")?;
                }
                (2, _) => {
                    let name = self.text("the name of a field, which is a string")?;
                    open.field = name.map_or(Slot::Broken, |name| Slot::Given(self.body.push_text(name)));
                }
                (_, kind) => self.values(&mut open, kind)?,
            },
            None => open.broken = true,
        }
        open.broken |= self.faults > faults;
        self.frames.push(Frame::Criterion(open));
        if nested {
            self.open_array();
        }
        Ok(None)
    }

    fn text_slot(&mut self, expected: &str) -> Result<Slot<Text<'a>>> {
        Ok(self.text(expected)?.map_or(Slot::Broken, Slot::Given))
    }

    fn values(&mut self, open: &mut OpenCriterion<'a>, kind: JsonType) -> Result<()> {
        open.values = Slot::Broken;
        open.values_offset = self.reader.offset();
        if kind != JsonType::Array {
            return self.wrong_type(kind, "an array of strings, such as `[\"open\"]`");
        }
        self.reader.open();
        let start = self.body.texts.len();
        let mut first = true;
        let mut valid = true;
        while self.reader.next_element(std::mem::take(&mut first))? {
            self.values = self.values.saturating_add(1);
            let kind = self.reader.peek()?;
            let offset = self.reader.offset();
            let expected = match kind {
                JsonType::Number | JsonType::Boolean => {
                    let mut ahead = self.reader.clone();
                    ahead.skip_scalar()?;
                    format!("a string: write `\"{}\"`", self.reader.between(offset, ahead.offset()))
                }
                JsonType::Null => format!("a string; {}", Unsupported::Absence.note(self.language())),
                _ => "a string".to_owned(),
            };
            match self.text(&expected)? {
                Some(text) => {
                    if self.over(ErrorKind::TooManyValues, self.values, self.limits.values, offset, "values")
                    {
                        valid = false;
                    } else {
                        self.body.texts.push(text);
                    }
                }
                None => valid = false,
            }
        }
        if valid {
            open.values = Slot::Given(start..self.body.texts.len());
        }
        Ok(())
    }

    /// Builds a criterion from the keys that were read, and appends it. If the keys have errors, reports them and appends a broken
    /// criterion.
    fn finish(&mut self, open: OpenCriterion<'a>) {
        let count = self.body.nodes.len().saturating_add(1);
        let over =
            self.over(ErrorKind::TooManyCriteria, count, self.limits.criteria, open.offset, "criteria");
        let criterion = if over { None } else { self.criterion(open) };
        self.body.nodes.push(criterion.unwrap_or(Criterion::Broken));
    }
}
