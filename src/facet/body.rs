//! Parses the body of a client: the criteria of a search, and the list `facets`.
//!
//! The strict parser of [`criteria`](crate::criteria) does not know facets. So this parser first reads the list, and overwrites it
//! with spaces. Then the strict parser reads the result. The rest of the body keeps its offsets, so the errors of the strict parser
//! have the right offsets.

use std::borrow::Cow;

use super::definition::{DEFAULT_FACET_VALUES, Facet, FacetForm};
use super::interval::FacetInterval;
use super::parse::{bad_utc_offset, utc_offset};
use super::request::{FacetsRequest, too_many_facets};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Errors, nearest, quote, quote_all};
use crate::filter::{FilterBuilder, FilterCache, utf8};
use crate::json::{self, JsonType, Reader, Result};
use crate::limits::Limits;

impl FilterBuilder {
    /// Parses the body of a request for counts by value: the body of a search with a list `facets`.
    ///
    /// Each facet is an object with the name of a `field`. Without other keys, or with a `limit`, it counts by value. A histogram
    /// has an `interval`, `edges` (an array of numbers) or a `width` (a number). An `interval` can have a `utcOffset`, such as
    /// `"+01:00"`. `"stats": true` requests statistics. With `"ownCriteriaApart": true`, the counts ignore [the criteria that name
    /// only this field](Facet::with_own_criteria_apart).
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder};
    /// let catalog = Catalog::cases();
    /// let request = FilterBuilder::new(&catalog).facets(br#"{
    ///     "criteria": [{"field": "status", "op": "=", "values": ["open"]}],
    ///     "facets": [{"field": "tags", "limit": 20}, {"field": "createdAt", "interval": "month"},
    ///                {"field": "totalAmountInDefaultCurrency", "edges": [0, 100, 1000]},
    ///                {"field": "status", "ownCriteriaApart": true}]}"#)?;
    /// assert_eq!(request.facets.len(), 4);
    /// let errors = FilterBuilder::new(&catalog).facets(br#"{"ids": [], "facets": [{"field": "tag", "limits": 2}]}"#);
    /// assert_eq!(
    ///     errors.unwrap_err().to_string(),
    ///     "facets[0].field (byte 33): found `tag`, expected a field of the catalogue; did you mean `tags`?; \
    ///      facets[0].limits (byte 40): found the key `limits`, expected one of `field`, `limit`, `interval`, `utcOffset`, \
    ///      `edges`, `width`, `stats`, `ownCriteriaApart`; did you mean `limit`?"
    /// );
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns the first ten errors in the criteria and in the facets.
    pub fn facets(&self, body: &[u8]) -> std::result::Result<FacetsRequest, Errors> {
        let Ok(text) = utf8(body) else { return self.json(body).map(FacetsRequest::new) };
        if text.len() > self.limits().body_bytes {
            return self.json(body).map(FacetsRequest::new);
        }
        let mut parser = Parser { catalog: self.catalog(), limits: self.limits(), errors: Vec::new() };
        let List { blanked, facets } = match parser.list(text) {
            Ok(list) => list,
            // The syntax error is in the list of facets, which was not overwritten. So the strict parser must not read the body.
            Err(error) => {
                parser.errors.push(*error);
                return Err(errors(text, parser.errors));
            }
        };
        match self.json(blanked.as_bytes()) {
            Ok(filter) if parser.errors.is_empty() => Ok(FacetsRequest::new(filter).with_facets(facets)),
            Ok(_) => Err(errors(text, parser.errors)),
            Err(others) => {
                parser.errors.extend(others.into_iter().map(in_facets_body));
                Err(errors(text, parser.errors))
            }
        }
    }
}

impl FilterCache {
    /// Parses the body of a request for counts by value, as [`FilterBuilder::facets`] does. If
    /// [`FilterCache::within`](Self::within) has set a filter, the request is [within](FacetsRequest::within) that filter. The
    /// compiled filter of the body is not cached.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, FilterBuilder, FilterCache};
    /// let catalog = Catalog::cases();
    /// let own = Filter::compile_text(&catalog, "clientId = acme")?;
    /// let cache = FilterCache::new(FilterBuilder::new(&catalog), 1 << 20).within(&own)?;
    /// let request = cache.facets(br#"{"ids": ["a"], "facets": [{"field": "status"}]}"#)?;
    /// assert_eq!(request.within, Some(own));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`FilterBuilder::facets`].
    pub fn facets(&self, body: &[u8]) -> std::result::Result<FacetsRequest, Errors> {
        Ok(self.builder().facets(body)?.within(self.bound().cloned()))
    }
}

/// Sorts errors by their offsets, and sets their paths.
fn errors(text: &str, found: Vec<Error>) -> Errors {
    let none = || Error::new(ErrorKind::Syntax, 0, "no error", "an error").into();
    let errors = Errors::from_unsorted(found).unwrap_or_else(none);
    let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
    errors.zip_paths(json::paths_at(text, &offsets))
}

/// The keys of a body.
const BODY_KEYS: [&str; 3] = ["ids", "criteria", LIST];
const LIST: &str = "facets";

/// Rewrites an error of the strict parser, which does not know facets.
fn in_facets_body(error: Error) -> Error {
    let is_of_body = error.kind == ErrorKind::UnknownKey && !error.path.contains(['.', '[']);
    if !is_of_body {
        return error;
    }
    // The first list was overwritten, so this key is a duplicate.
    if error.path == LIST {
        return Error::new(ErrorKind::DuplicateKey, error.offset, quote(LIST), "each key at most once");
    }
    let expected = format!("one of {}", quote_all(BODY_KEYS));
    let suggestion = nearest(&error.path, BODY_KEYS.into_iter()).map(|near| quote(near).into());
    Error { expected, suggestion: suggestion.or(error.suggestion), ..error }
}

/// The list of facets of a body, and the body with spaces in place of the list.
struct List<'a> {
    blanked: Cow<'a, str>,
    facets: Vec<Facet>,
}

/// The parser of the list of facets. The paths of its errors are empty.
struct Parser<'c> {
    catalog: &'c Catalog,
    limits: &'c Limits,
    errors: Vec<Error>,
}

const KEYS: [&str; 8] =
    ["field", "limit", "interval", "utcOffset", "edges", "width", "stats", "ownCriteriaApart"];

/// The values of a facet that have been read so far, each with its offset. If a value has an error, it is absent, and `broken` is
/// true.
#[derive(Default)]
struct OpenFacet<'a> {
    offset: usize,
    /// A bit for each key of [`KEYS`] that was read.
    seen: u16,
    broken: bool,
    field: Option<(Cow<'a, str>, usize)>,
    limit: Option<(u64, usize)>,
    interval: Option<(FacetInterval, usize)>,
    utc_offset: Option<(chrono::FixedOffset, usize)>,
    edges: Option<(Vec<(&'a str, usize)>, usize)>,
    width: Option<(&'a str, usize)>,
    stats: Option<usize>,
    apart: bool,
}

impl Parser<'_> {
    fn report(
        &mut self,
        kind: ErrorKind,
        offset: usize,
        found: impl Into<crate::error::Found>,
        expected: impl Into<String>,
    ) {
        self.errors.push(Error::new(kind, offset, found, expected));
    }

    /// Reads the list of facets of a body. Returns a syntax error only if it is in the list. The strict parser reports the other
    /// errors of the body.
    fn list<'a>(&mut self, text: &'a str) -> Result<List<'a>> {
        let none = || List { blanked: Cow::Borrowed(text), facets: Vec::new() };
        let mut reader = Reader::new(text);
        if !matches!(reader.peek(), Ok(JsonType::Object)) {
            return Ok(none());
        }
        let start = reader.offset();
        reader.open();
        let mut first = true;
        loop {
            let before = reader.offset();
            let (key, at) = match reader.next_key(first) {
                Ok(Some(member)) => member,
                Ok(None) => {
                    let expected = "the key `facets` with a list of facets";
                    self.report(ErrorKind::MissingKey, start, "no `facets`", expected);
                    return Ok(none());
                }
                Err(_) => return Ok(none()),
            };
            if key == LIST {
                let facets = self.facets(&mut reader)?;
                let mut end = reader.offset();
                if first {
                    let rest = text.get(end..).unwrap_or_default();
                    let behind = json::trim_start(rest.as_bytes());
                    if behind.first() == Some(&b',') {
                        end = text.len().saturating_sub(behind.len()).saturating_add(1);
                    }
                }
                let blank = if first { at..end } else { before..end };
                let spaces = text.get(blank.clone()).unwrap_or_default();
                // One space for each byte, so that offsets stay the same.
                let mut blanked = String::with_capacity(text.len());
                blanked.push_str(text.get(..blank.start).unwrap_or_default());
                blanked.extend(std::iter::repeat_n(' ', spaces.len()));
                blanked.push_str(text.get(blank.end..).unwrap_or_default());
                return Ok(List { blanked: Cow::Owned(blanked), facets });
            }
            first = false;
            if reader.skip_value().is_err() {
                return Ok(none());
            }
        }
    }

    /// Reads the value of `facets`.
    fn facets(&mut self, reader: &mut Reader<'_>) -> Result<Vec<Facet>> {
        let expected = "an array of facets, such as `[{\"field\": \"status\"}]`";
        let kind = reader.peek()?;
        let offset = reader.offset();
        if kind != JsonType::Array {
            self.report(ErrorKind::WrongType, offset, kind.name(), expected);
            reader.skip_value()?;
            return Ok(Vec::new());
        }
        reader.open();
        let (mut facets, mut count) = (Vec::new(), 0_usize);
        while reader.next_element(count == 0)? {
            count = count.saturating_add(1);
            let kind = reader.peek()?;
            let offset = reader.offset();
            if count > self.limits.facets {
                if count == self.limits.facets.saturating_add(1) {
                    self.errors.push(too_many_facets(count, self.limits, offset));
                }
                reader.skip_value()?;
            } else if kind == JsonType::Object {
                facets.extend(self.facet(reader)?);
            } else {
                self.report(
                    ErrorKind::WrongType,
                    offset,
                    kind.name(),
                    "a facet, which is an object with a `field`",
                );
                reader.skip_value()?;
            }
        }
        if count == 0 {
            self.report(ErrorKind::EmptyList, offset, "an empty array", "at least one facet");
        }
        Ok(facets)
    }

    /// Reads a facet. Returns `None` if it has an error, which is reported.
    fn facet(&mut self, reader: &mut Reader<'_>) -> Result<Option<Facet>> {
        let mut open = OpenFacet { offset: reader.offset(), ..OpenFacet::default() };
        reader.open();
        let mut others: Vec<String> = Vec::new();
        let mut first = true;
        while let Some((key, at)) = reader.next_key(first)? {
            first = false;
            let errors = self.errors.len();
            match KEYS.iter().position(|known| *known == key) {
                Some(number) if open.seen >> number & 1 == 0 => {
                    open.seen |= 1 << number;
                    self.value(reader, &mut open, number)?;
                }
                None if !others.iter().any(|other| *other == key) => {
                    let found = format!("the key {}", quote(&key));
                    let error =
                        Error::new(ErrorKind::UnknownKey, at, found, format!("one of {}", quote_all(KEYS)));
                    // Later errors of one facet cannot be among the first ten.
                    if others.len() < crate::error::REPORTED_ERRORS {
                        self.errors.push(error.suggest(nearest(&key, KEYS.into_iter()).map(quote)));
                        others.push(key.into_owned());
                    }
                    reader.skip_value()?;
                }
                _ => {
                    self.report(ErrorKind::DuplicateKey, at, quote(&key), "each key at most once");
                    reader.skip_value()?;
                }
            }
            open.broken |= self.errors.len() > errors;
        }
        let errors = self.errors.len();
        let facet = self.finish(&open).unwrap_or_else(|error| {
            self.errors.push(error);
            None
        });
        Ok(facet.filter(|_| !open.broken && self.errors.len() == errors))
    }

    /// Reads the value of the key with this index in [`KEYS`].
    fn value<'a>(&mut self, reader: &mut Reader<'a>, open: &mut OpenFacet<'a>, number: usize) -> Result<()> {
        let kind = reader.peek()?;
        let offset = reader.offset();
        let (wanted, expected) = match number {
            _ if kind == JsonType::Null => return reader.null(),
            0 => (JsonType::String, "the name of a field, which is a string"),
            1 => (JsonType::Number, "a non-negative integer"),
            2 => (JsonType::String, "the name of an interval, such as `\"month\"`"),
            3 => (JsonType::String, "an offset from UTC, such as `\"+01:00\"`"),
            4 => (JsonType::Array, "an array of numbers, such as `[0, 100, 1000]`"),
            5 => (JsonType::Number, "a number greater than 0"),
            _ => (JsonType::Boolean, "`true` or `false`"),
        };
        if kind != wanted {
            self.report(ErrorKind::WrongType, offset, kind.name(), expected);
            return reader.skip_value();
        }
        match number {
            0 => open.field = Some((reader.string()?, offset)),
            1 => {
                let limit = scalar(reader)?;
                let is_integer = limit.bytes().all(|byte| byte.is_ascii_digit());
                match limit.parse().ok().filter(|_| is_integer) {
                    Some(limit) => open.limit = Some((limit, offset)),
                    None => {
                        self.report(ErrorKind::BadInteger, offset, quote(limit), "a non-negative integer");
                    }
                }
            }
            2 => {
                let name = reader.string()?;
                match FacetInterval::from_name(&name) {
                    Some(interval) => open.interval = Some((interval, offset)),
                    None => {
                        let names = FacetInterval::ALL.map(FacetInterval::name);
                        let expected = format!("one of {}", quote_all(names));
                        let error = Error::new(ErrorKind::BadValue, offset, quote(&name), expected);
                        self.errors.push(error.suggest(nearest(&name, names.into_iter()).map(quote)));
                    }
                }
            }
            3 => {
                let text = reader.string()?;
                match utc_offset(&text) {
                    Some(own) => open.utc_offset = Some((own, offset)),
                    None => self.errors.push(bad_utc_offset(&text, offset)),
                }
            }
            4 => {
                reader.open();
                let mut edges = Vec::new();
                let mut first = true;
                while reader.next_element(std::mem::take(&mut first))? {
                    let kind = reader.peek()?;
                    let offset = reader.offset();
                    if kind == JsonType::Number {
                        edges.push((scalar(reader)?, offset));
                    } else {
                        self.report(ErrorKind::WrongType, offset, kind.name(), "a number");
                        reader.skip_value()?;
                    }
                }
                open.edges = Some((edges, offset));
            }
            5 => open.width = Some((scalar(reader)?, offset)),
            _ => match (scalar(reader)? == "true", number) {
                (is_wanted, 6) => open.stats = is_wanted.then_some(offset),
                (is_wanted, _) => open.apart = is_wanted,
            },
        }
        Ok(())
    }

    /// Builds a facet from its values.
    fn finish(&mut self, open: &OpenFacet<'_>) -> std::result::Result<Option<Facet>, Error> {
        let Some((name, name_offset)) = &open.field else {
            if !open.broken {
                let expected = "the key `field` with the name of a field";
                self.report(ErrorKind::MissingKey, open.offset, "no `field`", expected);
            }
            return Ok(None);
        };
        let field = self.catalog.resolve(name, *name_offset)?;
        let forms = [
            open.limit.map(|(_, offset)| ("limit", offset)),
            open.interval.map(|(_, offset)| ("interval", offset)),
            open.edges.as_ref().map(|(_, offset)| ("edges", *offset)),
            open.width.map(|(_, offset)| ("width", offset)),
            open.stats.map(|offset| ("stats", offset)),
        ];
        let mut forms: Vec<(&str, usize)> = forms.into_iter().flatten().collect();
        forms.sort_by_key(|(_, offset)| *offset);
        if let [(one, _), (other, offset), ..] = forms.as_slice() {
            let found = format!("{} and {} in one facet", quote(one), quote(other));
            let expected = "one of `limit`, `interval`, `edges`, `width` and `stats`";
            return Err(Error::new(ErrorKind::BadValue, *offset, found, expected));
        }
        if let (Some((_, offset)), None, false) = (open.utc_offset, open.interval, open.broken) {
            let found = "`utcOffset` in a facet without an interval";
            return Err(Error::new(ErrorKind::BadValue, offset, found, "an `interval` in the same facet"));
        }
        // The errors about a whole facet have the offset of the value that does not fit.
        let offset = forms.first().map_or(open.offset, |(_, offset)| *offset);
        let name = self.catalog.field(field).name();
        let facet = if let Some((interval, _)) = open.interval {
            let zone = open.utc_offset.map(|(zone, _)| zone);
            Facet::histogram(self.catalog, name, interval)
                .map(|facet| zone.map_or(facet.clone(), |zone| facet.with_utc_offset(zone)))
        } else if let Some((edges, _)) = &open.edges {
            Facet::of_edges(self.catalog, field, edges.iter().copied())
        } else if let Some((width, own)) = open.width {
            Facet::of_width(self.catalog, field, width, own)
        } else if open.stats.is_some() {
            Facet::stats(self.catalog, name)
        } else {
            let limit =
                open.limit.map_or(DEFAULT_FACET_VALUES.min(self.limits.facet_values), |(limit, _)| limit);
            Ok(Facet::of(self.catalog, field, FacetForm::Values(limit)))
        };
        let facet = facet.map_err(|error| Error { offset: error.offset.max(offset), ..error })?;
        facet.check_limits(self.limits, offset)?;
        Ok(Some(facet.with_own_criteria_apart(open.apart)))
    }
}

/// Reads a number or a boolean, and returns its text.
fn scalar<'a>(reader: &mut Reader<'a>) -> Result<&'a str> {
    let start = reader.offset();
    reader.skip_scalar()?;
    Ok(reader.between(start, reader.offset()))
}
