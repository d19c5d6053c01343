//! Defines the errors in requests and documents, with their positions. Also finds the names that are most similar to a misspelt
//! name (`nearest`, `nearest_two`).

mod found;
mod quote;
#[cfg(feature = "serde")]
mod serialized;
mod suggestion;

use std::fmt;

use smallvec::{SmallVec, smallvec};

pub use self::found::Found;
pub(crate) use self::quote::{escaped, quote, quote_all, quote_whole};
pub use self::suggestion::Suggestion;

/// The kind of an [`Error`].
///
/// Its [`code`](ErrorKind::code) never changes, so programs can depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ErrorKind {
    /// The body is larger than [`Limits::body_bytes`](crate::Limits::body_bytes).
    BodyTooLarge,
    /// The input is not UTF-8.
    NotUtf8,
    /// The input does not follow the syntax of its format, such as JSON or the text syntax of filters.
    Syntax,
    /// A JSON value of an unexpected type.
    WrongType,
    /// A body that has neither `ids` nor `criteria`, an empty text filter, or an update without members.
    EmptyBody,
    /// An unknown key.
    UnknownKey,
    /// A key that occurs twice in its object.
    DuplicateKey,
    /// An object without a required key, such as a criterion without `op` or a facet without `field`.
    MissingKey,
    /// A criterion that has keys of both a complex criterion and a field criterion.
    MixedCriterion,
    /// An empty array where at least one element is required.
    EmptyList,
    /// An operator that does not exist, or that this kind of criterion does not support.
    UnknownOperator,
    /// A field that is not in the catalogue, or that the catalogue hides from requests.
    UnknownField,
    /// An operator that the type of the field does not support.
    OperatorNotForType,
    /// More than one value for an operator that takes exactly one.
    TooManyOperands,
    /// A value that is not a number.
    BadNumber,
    /// A value that is not a timestamp.
    BadTimestamp,
    /// A value that is not `true` or `false`.
    BadBoolean,
    /// An empty string where the operator needs text, or a string without a word where the operator needs a word.
    EmptyText,
    /// Criteria, or a document, nested too deeply.
    TooDeep,
    /// More criteria than the limit.
    TooManyCriteria,
    /// More values than the limit.
    TooManyValues,
    /// More ids than the limit.
    TooManyIds,
    /// A string longer than the limit.
    StringTooLong,
    /// An order by a multi-valued field.
    OrderByMany,
    /// An order by more fields than [`Order::MAX_FIELDS`](crate::Order::MAX_FIELDS).
    TooManySortFields,
    /// A field that occurs twice in an order.
    DuplicateSortField,
    /// A cursor that is not valid: it was altered, or it belongs to another order, another catalogue or another version of its
    /// format. [`SearchParams::parse`](crate::SearchParams::parse) returns this error for a cursor of a client. A search returns it
    /// only for a cursor from [`SearchRequest::with_after`](crate::SearchRequest::with_after).
    BadCursor,
    /// An `offset` or `limit` that is not a non-negative decimal integer.
    BadInteger,
    /// A `limit` greater than [`Limits::page`](crate::Limits::page), or a limit of a facet greater than
    /// [`Limits::facet_values`](crate::Limits::facet_values).
    PageTooLarge,
    /// More facets in a request than [`Limits::facets`](crate::Limits::facets).
    TooManyFacets,
    /// A histogram with more buckets than [`Limits::facet_buckets`](crate::Limits::facet_buckets). The number of buckets can depend
    /// on the documents, so [`Engine::facets`](crate::Engine::facets) can also return this error. The cause of the error is the
    /// request, not the host program.
    TooManyBuckets,
    /// A `countTotalItems` or a `pageCursor` that is not `true` or `false`.
    BadFlag,
    /// A document without a usable `id`.
    BadId,
    /// A document larger than the limit.
    #[cfg_attr(feature = "serde", serde(rename = "case_too_large"))]
    DocumentTooLarge,
    /// More batches in an engine than the limit.
    TooManyBatches,
    /// More standing filters than the limit of a [`FilterSet`](crate::FilterSet). In the service: more, or larger, standing filters
    /// than a token may have.
    TooManyFilters,
    /// A value that is not allowed, or that contradicts other values.
    BadValue,
    /// A file that has an unknown format or encoding, that is too large, or whose columns do not match the catalogue.
    BadFile,
    /// A filter, an order or a field that was built with a different catalogue. This is a bug in the host program, not in a
    /// request.
    CatalogMismatch,
    /// A filter with `$match` that cannot be translated to SQL, because the table has no folded column for the field. A folded
    /// column contains the strings without case and accents.
    NoFoldedColumn,
    /// A filter with criteria on the elements of an array (`$elem`). It cannot be translated to SQL, because the SQL table has no
    /// element columns for the array.
    NotInSql,
    /// A search that was stopped by its [`CancelToken`](crate::CancelToken).
    SearchCancelled,
    /// A search that was stopped at its [`Deadline`](crate::Deadline).
    DeadlineExceeded,
}

impl ErrorKind {
    /// Returns the stable name of this kind, in snake case.
    ///
    /// ```
    /// assert_eq!(casefilter::ErrorKind::UnknownField.code(), "unknown_field");
    /// ```
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::BodyTooLarge => "body_too_large",
            Self::NotUtf8 => "not_utf8",
            Self::Syntax => "syntax",
            Self::WrongType => "wrong_type",
            Self::EmptyBody => "empty_body",
            Self::UnknownKey => "unknown_key",
            Self::DuplicateKey => "duplicate_key",
            Self::MissingKey => "missing_key",
            Self::MixedCriterion => "mixed_criterion",
            Self::EmptyList => "empty_list",
            Self::UnknownOperator => "unknown_operator",
            Self::UnknownField => "unknown_field",
            Self::OperatorNotForType => "operator_not_for_type",
            Self::TooManyOperands => "too_many_operands",
            Self::BadNumber => "bad_number",
            Self::BadTimestamp => "bad_timestamp",
            Self::BadBoolean => "bad_boolean",
            Self::EmptyText => "empty_text",
            Self::TooDeep => "too_deep",
            Self::TooManyCriteria => "too_many_criteria",
            Self::TooManyValues => "too_many_values",
            Self::TooManyIds => "too_many_ids",
            Self::StringTooLong => "string_too_long",
            Self::OrderByMany => "order_by_many",
            Self::TooManySortFields => "too_many_sort_fields",
            Self::DuplicateSortField => "duplicate_sort_field",
            Self::BadCursor => "bad_cursor",
            Self::BadInteger => "bad_integer",
            Self::PageTooLarge => "page_too_large",
            Self::TooManyFacets => "too_many_facets",
            Self::TooManyBuckets => "too_many_buckets",
            Self::BadFlag => "bad_flag",
            Self::BadId => "bad_id",
            Self::DocumentTooLarge => "case_too_large",
            Self::TooManyBatches => "too_many_batches",
            Self::TooManyFilters => "too_many_filters",
            Self::BadValue => "bad_value",
            Self::BadFile => "bad_file",
            Self::CatalogMismatch => "catalog_mismatch",
            Self::NoFoldedColumn => "no_folded_column",
            Self::NotInSql => "not_in_sql",
            Self::SearchCancelled => "search_cancelled",
            Self::DeadlineExceeded => "deadline_exceeded",
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ErrorKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// An error in a request or a document.
///
/// Displays as one line: the position, the input found, the input expected and, if there is one, a suggested correction. The
/// position is the path and the byte offset. Errors of the kinds `CatalogMismatch`, `NoFoldedColumn` and `NotInSql` are not about a
/// part of the input, so they show no byte offset. Without a path, they show no position. The error of a stopped search shows only
/// the reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Error {
    /// The kind, which programs can depend on.
    pub kind: ErrorKind,
    /// The position as a path, such as `criteria[0].children[2].op`. Empty if the error is about the whole input.
    pub path: String,
    /// The position in bytes from the start of the input.
    pub offset: usize,
    /// The part of the input that is wrong, or a description of it.
    pub found: Found,
    /// A description of the input that is allowed at this position.
    pub expected: String,
    /// A suggested correction.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub suggestion: Option<Suggestion>,
}

impl Error {
    /// Creates an error at a byte offset of the input. Host programs can use it for their own checks. If `found` is a string, it is
    /// shown unchanged, as a [description](Found::Description). To quote a part of the input, pass [`Found::text`].
    ///
    /// ```
    /// use casefilter::{Error, ErrorKind, Found, Suggestion};
    /// let error = Error::new(ErrorKind::BadValue, 0, Found::text("Erth"), "a planet with clients")
    ///     .at("planet")
    ///     .suggest(Some(Suggestion::replace_by("Earth")));
    /// assert_eq!(
    ///     error.to_string(),
    ///     "planet (byte 0): found `Erth`, expected a planet with clients; did you mean `Earth`?"
    /// );
    /// ```
    #[must_use]
    pub fn new(kind: ErrorKind, offset: usize, found: impl Into<Found>, expected: impl Into<String>) -> Self {
        Self {
            kind,
            path: String::new(),
            offset,
            found: found.into(),
            expected: expected.into(),
            suggestion: None,
        }
    }

    /// Sets the path.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: Option<impl Into<Suggestion>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    /// Returns true if the error reports a search that was stopped by its [`CancelToken`](crate::CancelToken) or at its
    /// [`Deadline`](crate::Deadline).
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self.kind, ErrorKind::SearchCancelled | ErrorKind::DeadlineExceeded)
    }

    /// Returns the message without the position: the input found, the input expected and the suggestion.
    #[must_use]
    pub fn message(&self) -> String {
        if self.is_stop() {
            // A stopped search is not an error in an input.
            return self.found.to_string();
        }
        let mut message = format!("found {}, expected {}", self.found, self.expected);
        if let Some(suggestion) = &self.suggestion {
            message.push_str(&format!("; did you mean {suggestion}?"));
        }
        message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_stop() {
            return f.write_str(&self.message());
        }
        // These errors are not about a part of the input, so no byte offset is shown.
        let has_offset = !matches!(
            self.kind,
            ErrorKind::CatalogMismatch | ErrorKind::NoFoldedColumn | ErrorKind::NotInSql
        );
        match (self.path.is_empty(), has_offset) {
            (true, true) => write!(f, "(byte {}): ", self.offset)?,
            (false, true) => write!(f, "{} (byte {}): ", self.path, self.offset)?,
            (false, false) => write!(f, "{}: ", self.path)?,
            (true, false) => {}
        }
        f.write_str(&self.message())
    }
}

impl std::error::Error for Error {}

impl From<Box<Error>> for Error {
    fn from(error: Box<Error>) -> Self {
        *error
    }
}

/// The maximum number of errors that one request reports. Further errors are dropped.
pub(crate) const REPORTED_ERRORS: usize = 10;

/// Appends an error to a list that needs only the first ten errors by position. If the list has become long, sorts it, keeps the
/// first ten errors, and returns true. So the list never has more than 80 errors, and the caller can append errors in any order.
pub(crate) fn push_error(errors: &mut Vec<Error>, error: Error) -> bool {
    errors.push(error);
    let is_long = errors.len() > 8 * REPORTED_ERRORS;
    if is_long {
        errors.sort_by_key(|error| error.offset);
        errors.truncate(REPORTED_ERRORS);
    }
    is_long
}

/// Returns true if an error at this offset cannot be among the first ten errors, because the list already has ten at or before it.
pub(crate) fn is_dropped(errors: &[Error], offset: usize) -> bool {
    errors.len() >= REPORTED_ERRORS
        && errors.iter().filter(|error| error.offset <= offset).count() >= REPORTED_ERRORS
}

/// The errors of one request or document, in the order of their positions. There is at least one error, and at most ten.
///
/// The type `Errors` does not say whether the client or the host program made the mistake: see [the
/// guide](crate::guide::embedding#errors-for-your-own-clients).
///
/// With the feature `serde`, it serialises as an array of objects. Their members are `kind` (the [code](ErrorKind::code)), `path`,
/// `offset`, `found`, `expected` and, if there is one, `suggestion`. The strings `found` and `suggestion` are the same as in the
/// message. Text that a client can copy is in backquotes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Errors(Vec<Error>);

impl Errors {
    /// Creates a list of the first ten errors by position. Returns `None` if `errors` is empty.
    pub(crate) fn from_unsorted(mut errors: Vec<Error>) -> Option<Self> {
        errors.sort_by_key(|error| error.offset);
        Self::in_order(errors)
    }

    /// Creates a list of the first ten errors of `errors`, which must be sorted by position. Returns `None` if `errors` is empty.
    pub(crate) fn in_order(mut errors: Vec<Error>) -> Option<Self> {
        errors.truncate(REPORTED_ERRORS);
        (!errors.is_empty()).then_some(Self(errors))
    }

    /// Sets the path of each error to the path with the same index in `paths`.
    pub(crate) fn zip_paths(mut self, paths: Vec<String>) -> Self {
        for (error, path) in self.0.iter_mut().zip(paths) {
            error.path = path;
        }
        self
    }

    /// Replaces each error by the result of `reword`.
    pub(crate) fn map(self, reword: impl FnMut(Error) -> Error) -> Self {
        Self(self.0.into_iter().map(reword).collect())
    }

    /// Returns the errors in document order.
    #[must_use]
    pub fn as_slice(&self) -> &[Error] {
        &self.0
    }

    /// Returns the first error. Every list has a first error.
    pub(crate) fn into_first(self) -> Error {
        let none = || Error::new(ErrorKind::Syntax, 0, "no error", "an error");
        self.0.into_iter().next().unwrap_or_else(none)
    }

    /// Returns an iterator over the errors in document order.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }

    /// Returns both values if both results succeeded. Otherwise returns the errors of `first`, then the errors of `second`, at most
    /// ten.
    ///
    /// # Errors
    /// Returns the errors of the results that failed.
    pub fn both<A, B>(first: Result<A, Self>, second: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, second) {
            (Ok(first), Ok(second)) => Ok((first, second)),
            (Ok(_), Err(errors)) | (Err(errors), Ok(_)) => Err(errors),
            (Err(first), Err(second)) => Err(first.followed_by(second)),
        }
    }

    /// Appends the errors of a later part of the same request. Keeps at most ten errors.
    #[must_use]
    pub fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.0.truncate(REPORTED_ERRORS);
        self
    }

    /// Returns the `description` of the error envelope: `Invalid parameters: `, then all errors.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let errors = Filter::compile(&Catalog::cases(), b"[]").unwrap_err();
    /// assert_eq!(
    ///     errors.message(),
    ///     "Invalid parameters: (byte 0): found an array, expected an object with `ids`, `criteria` or both"
    /// );
    /// ```
    #[must_use]
    pub fn message(&self) -> String {
        format!("Invalid parameters: {self}")
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Errors {
    /// Reads a list of errors. An empty list is an error.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let none = || serde::de::Error::custom("expected at least one error");
        let errors = <Vec<Error> as serde::Deserialize>::deserialize(deserializer)?;
        Self::in_order(errors).ok_or_else(none)
    }
}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    /// Returns the errors in document order.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let errors = Filter::compile_text(&Catalog::cases(), "x = 1 and y = 2").unwrap_err();
    /// let offsets: Vec<usize> = (&errors).into_iter().map(|error| error.offset).collect();
    /// assert_eq!(offsets, [0, 10]);
    /// assert_eq!(errors.into_iter().next().unwrap().found.as_text(), Some("x"));
    /// ```
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'e> IntoIterator for &'e Errors {
    type Item = &'e Error;
    type IntoIter = std::slice::Iter<'e, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl AsRef<[Error]> for Errors {
    fn as_ref(&self) -> &[Error] {
        &self.0
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// Returns the candidate most similar to `word`, if one is similar enough. The first choice is a candidate that differs only in
/// case. The second choice is a candidate whose last path segment is `word`, ignoring case. The third choice is the candidate with
/// the smallest edit distance.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    nearest_two(word, candidates).first().copied()
}

/// Returns at most two candidates: the [`nearest`] candidate, and the second nearest if its edit distance is at most one greater.
pub(crate) fn nearest_two<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> SmallVec<[&'a str; 2]> {
    // A longer word is probably not a misspelt name. The limit also bounds the time for the edit distance, which is quadratic in
    // the length.
    const LONGEST: usize = 64;
    if word.is_empty() || word.len() > LONGEST {
        return SmallVec::new();
    }
    let leaf = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    if let Some(same) = candidates.clone().find(|name| name.eq_ignore_ascii_case(word)) {
        return smallvec![same];
    }
    if let Some(same) = candidates.clone().find(|name| leaf(name).eq_ignore_ascii_case(word)) {
        return smallvec![same];
    }
    let lower = word.to_lowercase();
    let mut near: Vec<(usize, &str)> = candidates
        .map(|name| {
            let whole = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
            let last = strsim::damerau_levenshtein(&lower, &leaf(name).to_lowercase());
            (whole.min(last.saturating_add(1)), name)
        })
        .filter(|(distance, name)| {
            let shorter = word.chars().count().min(name.chars().count());
            *distance <= (shorter / 3).clamp(1, 4)
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    let furthest = near.first().map_or(0, |(distance, _)| distance.saturating_add(1));
    near.into_iter().take_while(|(distance, _)| *distance <= furthest).map(|(_, name)| name).take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typing_errors_case_and_leaves() {
        let names = ["caseReview.status", "createdAt", "applicantInfo.country", "tags"];
        let near = |word| nearest(word, names.iter().copied());
        assert_eq!(near("CreatedAt"), Some("createdAt"));
        assert_eq!(near("creatdAt"), Some("createdAt"));
        assert_eq!(near("country"), Some("applicantInfo.country"));
        assert_eq!(near("caseReview.state"), Some("caseReview.status"));
        assert_eq!(near("tag"), Some("tags"));
        assert_eq!(near("somethingElse"), None);
        let names =
            ["caseReview.stage", "caseReview.status", "caseReview.startDate", "createdAt", "updatedAt"];
        let two = |word| nearest_two(word, names.iter().copied()).to_vec();
        assert_eq!(two("caseReview.state"), ["caseReview.stage", "caseReview.status"]);
        assert_eq!(two("creatdAt"), ["createdAt"]);
        assert_eq!(near(&"x".repeat(5000)), None);
    }

    #[test]
    fn a_message_begins_with_the_place_if_there_is_one() {
        let text = |kind, path: &str| Error::new(kind, 7, "x", "y").at(path).to_string();
        assert_eq!(text(ErrorKind::Syntax, "a"), "a (byte 7): found x, expected y");
        assert_eq!(text(ErrorKind::Syntax, ""), "(byte 7): found x, expected y");
        for kind in [ErrorKind::CatalogMismatch, ErrorKind::NoFoldedColumn, ErrorKind::NotInSql] {
            assert_eq!(text(kind, "a"), "a: found x, expected y");
            assert_eq!(text(kind, ""), "found x, expected y");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn errors_are_read_back_as_they_were_serialised() {
        let error = Error::new(ErrorKind::DocumentTooLarge, 7, Found::text("a\u{1b}"), "less")
            .at("criteria[0]")
            .suggest(Some(Suggestion::replace_by("b").with_explanation("which is c")));
        let errors = Errors::from(error);
        let json = serde_json::to_string(&errors).unwrap();
        let expected = r#"[{"kind":"case_too_large","path":"criteria[0]","offset":7,"found":"`a\\u{1b}`","expected":"less","suggestion":"`b`, which is c"}]"#;
        assert_eq!(json, expected);
        let read: Errors = serde_json::from_str(&json).unwrap();
        assert_eq!(read.to_string(), errors.to_string());
        assert!(serde_json::from_str::<Errors>("[]").is_err());
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_kind_is_read_by_its_code() {
        // The error for an unknown code lists all known codes.
        let error = serde_json::from_str::<ErrorKind>("\"\"").unwrap_err().to_string();
        let names: Vec<&str> = error.split('`').skip(1).step_by(2).skip(1).collect();
        assert!(names.len() > 30, "{error}");
        for name in names {
            let kind: ErrorKind = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(kind.code(), name);
        }
    }
}
