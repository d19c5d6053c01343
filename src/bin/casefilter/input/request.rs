//! Parses one line of a file of requests.

use casefilter::envelope::Envelope;
use casefilter::{
    Catalog, Error, ErrorKind, Errors, FacetsRequest, Filter, FilterBuilder, FilterCache, Limits,
    SearchParams, SearchRequest, Suggestion,
};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::output::escape::quote;

/// The maximum length of a line, in bytes. The rest of a longer line is dropped. A body of the maximum size fits, even if every
/// byte is written as `\u0000`.
pub(super) const MOST_LINE_BYTES: u64 = 32 << 20;

/// The maximum number of errors that are reported for one line.
const MOST_FAULTS: usize = 10;

/// The keys of a request line.
const KEYS: [&str; 8] =
    ["body", "facets", "offset", "limit", "order", "countTotalItems", "pageCursor", "after"];

/// A request of a line: for a page, or for counts by value.
pub(crate) enum Asked {
    Page(SearchRequest),
    Counts(FacetsRequest),
}

impl Asked {
    /// Returns the filter of the request.
    pub(crate) fn filter(&self) -> &Filter {
        match self {
            Self::Page(request) => &request.filter,
            Self::Counts(request) => &request.filter,
        }
    }
}

/// The members of a request line. The value of each member is text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// The body. `None` if the line has `facets`, or no valid body; in the second case `faults` contains an error.
    body: Option<Vec<u8>>,
    /// The body of a request for counts by value, which a line can have in place of `body`.
    facets: Option<Vec<u8>>,
    offset: Option<String>,
    limit: Option<String>,
    order: Option<String>,
    count: Option<String>,
    cursor: Option<String>,
    after: Option<String>,
    /// The errors of the line itself, in the order of the members.
    faults: Vec<Error>,
}

impl Line {
    /// Splits a line into its members. Does not parse the body and the parameters. Errors of members are reported by
    /// [`request`](Self::request), together with the errors of the body.
    ///
    /// # Errors
    /// Returns an error if the line is too long, is not UTF-8, or is not a JSON object.
    pub(crate) fn read(line: &[u8]) -> Result<Self, Errors> {
        let text = utf8(line)?;
        let members = members(text)?;
        let mut read = Self::default();
        let mut errors: Vec<Error> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in members.0 {
            // At most this number of errors is reported, so further errors are dropped.
            errors.truncate(MOST_FAULTS);
            let at = offset_in(text, key.get());
            let name: String = match serde_json::from_str(key.get()) {
                Ok(name) => name,
                Err(error) => {
                    errors.push(Error::new(
                        ErrorKind::Syntax,
                        at,
                        error.to_string(),
                        "a key of Unicode text",
                    ));
                    continue;
                }
            };
            if !KEYS.contains(&name.as_str()) {
                let expected = "`body` or `facets`, `offset`, `limit`, `order`, `countTotalItems`, `pageCursor` or `after`";
                let error = Error::new(ErrorKind::UnknownKey, at, quote(&name), expected);
                errors.push(error.suggest(near_key(&name).map(Suggestion::replace_by)));
                continue;
            }
            if seen.contains(&name) {
                let found = format!("{} again", quote(&name));
                errors.push(Error::new(ErrorKind::DuplicateKey, at, found, "each key at most once"));
                continue;
            }
            match text_of(value, text) {
                Err(error) => errors.push(error.at(name.as_str())),
                Ok(None) => {}
                Ok(Some(text)) => match name.as_str() {
                    "body" => read.body = Some(text.into_bytes()),
                    "facets" => read.facets = Some(text.into_bytes()),
                    "offset" => read.offset = Some(text),
                    "limit" => read.limit = Some(text),
                    "order" if !value.get().starts_with('"') => {
                        let expected = "a string, the name of a field";
                        errors.push(
                            Error::new(ErrorKind::WrongType, 0, quote(&text), expected).at(name.as_str()),
                        );
                    }
                    "order" => read.order = Some(text),
                    "after" => read.after = Some(text),
                    "pageCursor" => read.cursor = Some(text),
                    _ => read.count = Some(text),
                },
            }
            seen.push(name);
        }
        if let (Some(_), Some(other)) = (&read.facets, seen.iter().find(|key| *key != "facets")) {
            let found = format!("{} beside `facets`", quote(other));
            errors.push(Error::new(
                ErrorKind::UnknownKey,
                0,
                found,
                "`facets` alone, without the keys of a page",
            ));
        }
        let is_wrong = |error: &Error| matches!(&*error.path, "body" | "facets");
        if read.body.is_none() && read.facets.is_none() && !errors.iter().any(is_wrong) {
            let found = "no `body`".to_owned();
            errors.push(Error::new(ErrorKind::MissingKey, 0, found, "a request with a `body`"));
        }
        read.faults = errors;
        Ok(read)
    }

    /// Returns the request of this line.
    ///
    /// # Errors
    /// Returns at most ten errors: first those of the line, then those of the body, then those of the parameters.
    pub(crate) fn request(&self, catalog: &Catalog, limits: &Limits) -> Result<Asked, Errors> {
        let builder = || FilterBuilder::new(catalog).with_limits(limits.clone());
        match &self.facets {
            Some(facets) => self.with_facets(builder().facets(facets)),
            None => {
                let filter = self.body.as_deref().map(|body| builder().json(body));
                self.with_filter(catalog, limits, filter).map(Asked::Page)
            }
        }
    }

    /// Returns the text of the body of a request for counts by value.
    pub(crate) fn facets(&self) -> Option<&str> {
        std::str::from_utf8(self.facets.as_deref()?).ok()
    }

    fn with_facets(&self, request: Result<FacetsRequest, Errors>) -> Result<Asked, Errors> {
        self.with_faults(request).map(Asked::Counts)
    }

    /// Returns the request of this line. Takes the compiled filter from the cache if the cache contains it.
    pub(crate) fn request_cached(&self, cache: &FilterCache) -> Result<Asked, Errors> {
        if let Some(facets) = &self.facets {
            return self.with_facets(cache.facets(facets));
        }
        let filter = self.body.as_deref().map(|body| cache.compile(body));
        self.with_filter(cache.catalog(), cache.limits(), filter).map(Asked::Page)
    }

    fn with_filter(
        &self,
        catalog: &Catalog,
        limits: &Limits,
        filter: Option<Result<Filter, Errors>>,
    ) -> Result<SearchRequest, Errors> {
        // A line without a body is an error. The parameters are checked nevertheless, with a filter that selects all cases.
        let filter = filter.unwrap_or_else(|| Ok(Filter::all(catalog)));
        let paging = self.params().parse(catalog, limits);
        let request = Errors::both(filter, paging)
            .map(|(filter, paging)| SearchRequest::new(filter).with_paging(paging));
        self.with_faults(request)
    }

    /// Returns the request, or the errors: first those of the members of the line, then those of `request`.
    fn with_faults<R>(&self, request: Result<R, Errors>) -> Result<R, Errors> {
        let faults = self.faults.iter().cloned().map(Errors::from).reduce(Errors::followed_by);
        match (faults, request) {
            (None, request) => request,
            (Some(faults), Ok(_)) => Err(faults),
            (Some(faults), Err(errors)) => Err(faults.followed_by(errors)),
        }
    }

    fn params(&self) -> SearchParams<'_> {
        SearchParams::new()
            .offset(self.offset.as_deref())
            .limit(self.limit.as_deref())
            .order(self.order.as_deref())
            .count(self.count.as_deref())
            .cursor(self.cursor.as_deref())
            .after(self.after.as_deref())
    }
}

/// Returns the key that an unknown member was probably meant to be. The names may differ in at most two typing errors, and in upper
/// and lower case.
fn near_key(name: &str) -> Option<&'static str> {
    /// The maximum length of a compared name, in bytes. Computing the distance takes quadratic time, and a longer name is not a
    /// typing error.
    const LONGEST: usize = 64;
    /// The maximum edit distance to a key that is suggested.
    const MOST_ERRORS: usize = 2;
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |key: &str| strsim::damerau_levenshtein(&name, &key.to_lowercase());
    let (errors, key) = KEYS.into_iter().map(|key| (distance(key), key)).min()?;
    (errors <= MOST_ERRORS).then_some(key)
}

fn utf8(line: &[u8]) -> Result<&str, Errors> {
    if u64::try_from(line.len()).unwrap_or(u64::MAX) > MOST_LINE_BYTES {
        let found = format!("a line of more than {MOST_LINE_BYTES} bytes");
        return Err(Error::new(ErrorKind::BodyTooLarge, 0, found, "a shorter line").into());
    }
    std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        let byte = line.get(at).copied().unwrap_or_default();
        Error::new(ErrorKind::NotUtf8, at, format!("the byte 0x{byte:02X}"), "UTF-8").into()
    })
}

fn members(text: &str) -> Result<Members<'_>, Errors> {
    serde_json::from_str(text).map_err(|error| {
        let kind = if error.is_data() { ErrorKind::WrongType } else { ErrorKind::Syntax };
        let expected = "a request, which is an object such as `{\"body\": …, \"limit\": 10}`";
        let begins = text.len().saturating_sub(text.trim_start().len());
        // Text that is not JSON is described by the parser of bodies, so that lines and bodies have the same errors.
        let limits = Limits::default().with_body_bytes(usize::MAX);
        let as_body = FilterBuilder::new(&Catalog::cases()).with_limits(limits).json(text.as_bytes()).err();
        let as_body = as_body.iter().flat_map(Errors::as_slice).find(|found| found.kind == kind);
        match as_body {
            Some(told) if told.offset > begins => told.clone().into(),
            Some(told) => Error::new(kind, told.offset, told.found.clone(), expected).into(),
            None => {
                let found = if error.is_data() { "another JSON value" } else { "text that is not JSON" };
                Error::new(kind, error.column().saturating_sub(1), found.to_owned(), expected).into()
            }
        }
    })
}

/// Returns the value of a member as text, or `None` for `null`. For a string, this is its contents. Any other value is returned in
/// its JSON spelling.
fn text_of(value: &RawValue, line: &str) -> Result<Option<String>, Error> {
    match value.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => serde_json::from_str(text).map(Some).map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
            Error::new(ErrorKind::Syntax, offset_in(line, text), message, "a string of Unicode text")
        }),
        text => Ok(Some(text.to_owned())),
    }
}

/// Returns the offset of `part` in `text`. `part` must be a slice of `text`.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// The members of an object in their order, including repeated keys.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Returns the error envelope of the service for a request. `number` is the position of the request in the input, counted from 1.
pub(crate) fn envelope(number: u64, errors: &Errors) -> Envelope {
    Envelope::invalid(format!("request-{number}"), errors)
}

/// Returns the error envelope of the service for a request whose search was stopped because of its timeout. `number` is the
/// position of the request in the input, counted from 1.
pub(crate) fn stopped_envelope(number: u64, message: String) -> Envelope {
    let error = Error::new(ErrorKind::DeadlineExceeded, 0, message, String::new());
    Envelope::stopped(format!("request-{number}"), &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(line: &[u8]) -> Vec<&'static str> {
        let request = Line::read(line).and_then(|line| line.request(&Catalog::cases(), &Limits::default()));
        request.map_or_else(
            |errors| errors.as_slice().iter().map(|error| error.kind.code()).collect(),
            |_| Vec::new(),
        )
    }

    #[test]
    fn a_body_is_any_value_or_a_string_of_its_text() {
        let body = |line| Line::read(line).unwrap().body.unwrap();
        assert_eq!(body(br#"{"body": {"ids" :[]} }"#), br#"{"ids" :[]}"#);
        assert_eq!(body(br#"{"body":"{\"ids\":[]}"}"#), br#"{"ids":[]}"#);
        assert_eq!(kinds(br#"{"body":3}"#), ["wrong_type"]);
        assert_eq!(kinds(br#"{"body":{"ids":[],"ids":[]}}"#), ["duplicate_key"]);
        let deep = format!("{{\"body\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(kinds(deep.as_bytes()), ["wrong_type"]);
    }

    #[test]
    fn parameters_are_passed_on_as_text() {
        let line =
            Line::read(br#"{"body":{"ids":[]},"offset":5,"limit":"7","order":"-id","countTotalItems":true}"#);
        let line = line.unwrap();
        assert_eq!(line.offset.as_deref(), Some("5"));
        assert_eq!(line.limit.as_deref(), Some("7"));
        assert_eq!(line.order.as_deref(), Some("-id"));
        assert_eq!(line.count.as_deref(), Some("true"));
        assert_eq!(
            kinds(br#"{"body":{"ids":[]},"offset":null,"limit":null,"order":null,"countTotalItems":null}"#),
            [""; 0]
        );
        assert_eq!(kinds(br#"{"body":{"ids":[]},"offset":1.5,"limit":-1}"#), ["bad_integer", "bad_integer"]);
        assert_eq!(kinds(br#"{"body":{"ids":[]},"countTotalItems":1}"#), ["bad_flag"]);
        assert_eq!(kinds(br#"{"body":{"ids":[]},"order":5}"#), ["wrong_type"]);
        assert_eq!(kinds(br#"{"body":{"ids":[]},"countTotalItems":"false"}"#), [""; 0]);
    }

    #[test]
    fn a_line_may_ask_for_counts_by_value() {
        let line = br#"{"facets":{"criteria":[{"field":"tags","op":"=","values":["a"]}],"facets":[{"field":"status"}]}}"#;
        let asked = Line::read(line).and_then(|line| line.request(&Catalog::cases(), &Limits::default()));
        assert!(matches!(asked, Ok(Asked::Counts(request)) if request.facets.len() == 1));
        let page = br#"{"facets":{"ids":[],"facets":[{"field":"status"}]},"limit":1}"#;
        assert_eq!(kinds(page), ["unknown_key"]);
        let both = br#"{"body":{"ids":[]},"facets":{"ids":[],"facets":[{"field":"nope"}]}}"#;
        assert_eq!(kinds(both), ["unknown_key", "unknown_field"]);
        assert_eq!(kinds(br#"{"facets":null}"#), ["missing_key"]);
    }

    #[test]
    fn a_line_that_is_not_a_request_is_an_error() {
        assert_eq!(kinds(b"{}"), ["missing_key"]);
        assert_eq!(kinds(br#"{"body":null}"#), ["missing_key"]);
        assert_eq!(kinds(b"[]"), ["wrong_type"]);
        assert_eq!(kinds(b"{"), ["syntax"]);
        assert_eq!(kinds(b"{\"body\":\"\xff\"}"), ["not_utf8"]);
        assert_eq!(kinds(br#"{"body":{"ids":[]},"size":1}"#), ["unknown_key"]);
        assert_eq!(kinds(br#"{"body":{"ids":[]},"limit":1,"limit":1}"#), ["duplicate_key"]);
        assert_eq!(kinds(br#"{"body":"\ud800"}"#), ["syntax"]);
        assert_eq!(kinds(br#"{"\ud800":1,"body":{"ids":[]}}"#), ["syntax"]);
        assert_eq!(Line::read(br#"{"body":{}, "x":1}"#).unwrap().faults[0].offset, 12);
    }

    #[test]
    fn a_misspelt_member_gets_a_suggestion() {
        let told = |name: &str| {
            let line = format!("{{\"body\":{{\"ids\":[]}},\"{name}\":1}}");
            let line = Line::read(line.as_bytes()).unwrap();
            line.faults[0].suggestion.as_ref().map(ToString::to_string)
        };
        for (name, meant) in [
            ("oder", Some("`order`")),
            ("Limit", Some("`limit`")),
            ("offSet", Some("`offset`")),
            ("bdy", Some("`body`")),
            ("countTotalItem", Some("`countTotalItems`")),
            ("page", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(told(name).as_deref(), meant, "{name}");
        }
        assert_eq!(told(&"o".repeat(100_000)), None);
    }

    #[test]
    fn text_that_is_not_json_gets_the_errors_of_a_body() {
        let told = |line: &str| Line::read(line.as_bytes()).unwrap_err().to_string();
        let request = "expected a request, which is an object such as `{\"body\": …, \"limit\": 10}`";
        assert_eq!(told("not json"), format!("(byte 0): found `not`, {request}"));
        assert_eq!(told(" [1]"), format!("(byte 1): found an array, {request}"));
        assert_eq!(told("{\"body\": nope}"), "body (byte 9): found `nope`, expected a JSON value");
        assert_eq!(told("{\"body\":{},}"), "(byte 11): found `}`, expected a key in double quotes");
        assert_eq!(told("{\"body\":{}} x"), "(byte 12): found `x`, expected nothing after the value");
        let lost = format!("{{{}nope}}", "\"x\":1,".repeat(20));
        assert_eq!(told(&lost), format!("(byte 121): found text that is not JSON, {request}"));
    }

    #[test]
    fn all_errors_of_a_line_are_reported_together() {
        let wrong = br#"{"body":{"criteria":[{"field":"nope","op":"=","values":["a"]}]},"limit":-1,"order":5,"size":1}"#;
        assert_eq!(kinds(wrong), ["wrong_type", "unknown_key", "unknown_field", "bad_integer"]);
        assert_eq!(kinds(br#"{"offset":"x","body":null}"#), ["missing_key", "bad_integer"]);
        assert_eq!(kinds(br#"{"offset":"x","body":"\ud800"}"#), ["syntax", "bad_integer"]);
    }
}
