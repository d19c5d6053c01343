//! All bounds on input.

/// Bounds on requests and documents.
///
/// A value equal to a bound is accepted. A larger one is an error that names the bound and the value. The doc of each bound
/// names its default. With the feature `serde`, missing bounds are read as their defaults.
///
/// ```
/// use casefilter::{Catalog, FilterBuilder, Limits};
///
/// let limits = Limits::default().with_criteria(1);
/// let body = br#"{"criteria":[
///     {"field":"name","op":"=","values":["a"]},
///     {"field":"name","op":"=","values":["b"]}]}"#;
/// let errors = FilterBuilder::new(&Catalog::cases()).with_limits(limits).json(body).unwrap_err();
/// assert!(errors.to_string().contains("at most 1 criteria"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Limits {
    /// The size of a request body or of a text filter, in bytes; 4 MiB.
    pub body_bytes: usize,
    /// The nesting depth of criteria, 1 for a top-level criterion; 32.
    pub depth: usize,
    /// The criteria in a body, complex ones included; 4,096.
    pub criteria: usize,
    /// The values of all criteria of a body together; 65,536.
    pub values: usize,
    /// The entries of `ids`; 65,536.
    pub ids: usize,
    /// The length of one string in a body, in bytes of UTF-8 after unescaping; 4,096.
    pub string_bytes: usize,
    /// The largest `limit` of a page, both of a request that is parsed and of one that an engine answers; 10,000.
    pub page: u64,
    /// The size of one document, in bytes; 16 MiB.
    pub document_bytes: usize,
    /// The nesting depth of a document, 1 for the document itself; 128.
    pub document_depth: usize,
    /// The batches of an engine, each of up to 65,536 documents; 65,536, which is also the largest allowed.
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
            document_bytes: 16 << 20,
            document_depth: 128,
            batches: 65_536,
        }
    }
}

impl Limits {
    /// Sets [`body_bytes`](Self::body_bytes).
    #[must_use]
    pub fn with_body_bytes(self, body_bytes: usize) -> Self {
        Self { body_bytes, ..self }
    }

    /// Sets [`depth`](Self::depth).
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Sets [`criteria`](Self::criteria).
    #[must_use]
    pub fn with_criteria(self, criteria: usize) -> Self {
        Self { criteria, ..self }
    }

    /// Sets [`values`](Self::values).
    #[must_use]
    pub fn with_values(self, values: usize) -> Self {
        Self { values, ..self }
    }

    /// Sets [`ids`](Self::ids).
    #[must_use]
    pub fn with_ids(self, ids: usize) -> Self {
        Self { ids, ..self }
    }

    /// Sets [`string_bytes`](Self::string_bytes).
    #[must_use]
    pub fn with_string_bytes(self, string_bytes: usize) -> Self {
        Self { string_bytes, ..self }
    }

    /// Sets [`page`](Self::page).
    #[must_use]
    pub fn with_page(self, page: u64) -> Self {
        Self { page, ..self }
    }

    /// Sets [`document_bytes`](Self::document_bytes).
    #[must_use]
    pub fn with_document_bytes(self, document_bytes: usize) -> Self {
        Self { document_bytes, ..self }
    }

    /// Sets [`document_depth`](Self::document_depth).
    #[must_use]
    pub fn with_document_depth(self, document_depth: usize) -> Self {
        Self { document_depth, ..self }
    }

    /// Sets [`batches`](Self::batches).
    #[must_use]
    pub fn with_batches(self, batches: usize) -> Self {
        Self { batches, ..self }
    }
}
