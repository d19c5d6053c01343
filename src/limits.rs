//! All bounds on input.

/// Bounds on requests and case documents.
///
/// A value equal to a bound is accepted. A larger one is an error that names the bound and the value. The defaults are those of
/// the specification, section 2.
///
/// ```
/// use casefilter::{Catalog, Filter, Limits};
///
/// let limits = Limits { criteria: 1, ..Limits::default() };
/// let body = br#"{"criteria":[
///     {"field":"name","op":"=","values":["a"]},
///     {"field":"name","op":"=","values":["b"]}]}"#;
/// let errors = Filter::compile_with(&Catalog::cases(), &limits, body).unwrap_err();
/// assert!(errors.to_string().contains("at most 1 criteria"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest request body or text filter, in bytes.
    pub body_bytes: usize,
    /// The deepest nesting of criteria. A top-level criterion has depth 1.
    pub depth: usize,
    /// The most criteria in a body, complex ones included.
    pub criteria: usize,
    /// The most values in all criteria of a body together.
    pub values: usize,
    /// The most entries of `ids`.
    pub ids: usize,
    /// The longest string in a body, in bytes of UTF-8 after unescaping.
    pub string_bytes: usize,
    /// The largest `limit` of a page, checked when a request is parsed and when an engine answers it.
    pub page: u64,
    /// The largest case document, in bytes.
    pub case_bytes: usize,
    /// The deepest nesting of a case document. The case itself has depth 1.
    pub case_depth: usize,
    /// The most batches of an engine, at most 65,536. A batch has up to 65,536 cases.
    ///
    /// Small batches are merged, so an engine has about one batch for each 32,768 cases, plus about 20.
    pub batches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            depth: 32,
            criteria: 4096,
            values: 65_536,
            ids: 65_536,
            string_bytes: 4096,
            page: 10_000,
            case_bytes: 16 << 20,
            case_depth: 128,
            batches: 65_536,
        }
    }
}
