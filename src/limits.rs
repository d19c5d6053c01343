//! Every bound on input, in one place.

/// Bounds on what a request or a case document may ask of the engine.
///
/// A value equal to a bound is accepted; one more is an error that names the bound
/// and what was sent. The defaults are those of the specification, section 2.
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
    /// Size of a request body, or of a text filter, in bytes.
    pub body_bytes: usize,
    /// Nesting depth of criteria; a top-level criterion has depth 1.
    pub depth: usize,
    /// Criteria in a body, complex ones counted too.
    pub criteria: usize,
    /// Values in all criteria of a body together.
    pub values: usize,
    /// Entries of `ids`.
    pub ids: usize,
    /// Length of one string in a body, in bytes of UTF-8 after unescaping.
    pub string_bytes: usize,
    /// Largest `limit` of a page, of a request that is parsed and of one that an engine answers.
    pub page: u64,
    /// Size of one case document, in bytes.
    pub case_bytes: usize,
    /// Nesting depth of a case document; the case itself has depth 1.
    pub case_depth: usize,
    /// Batches of an engine, of up to 65,536 cases each, and 65,536 of them at most.
    ///
    /// Small batches are merged, so that an engine holds about one for each 32,768 cases and some
    /// twenty more.
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
