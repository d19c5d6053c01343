//! The configurable limits on requests and documents (`Limits`), and their defaults.
//!
//! Stored documents are read without the limits on documents, because a host may lower a limit later.
//! `Limits::for_stored_documents` lifts these limits. If you add a limit on documents, lift it there, too.
//! `grep -rn 'read_case(' src` finds the code that reads documents. If `ingest/template.rs` checks the new limit, also change
//! `ingest/segments.rs`. If you add a limit on bodies, add it to `no_limits` in `filter/limits.rs`. Also add it, with a value above
//! its default, to `limits` in `service/admin/search.rs`.
//!
//! A new kind of error needs a case in `tests/data/errors.txt`, or a line in `elsewhere` in `tests/errors.rs`.

/// Limits on requests and documents.
///
/// A size or number equal to a limit is accepted. A greater one causes an error that states the limit. With the feature `serde`,
/// limits that are missing in the input get their defaults.
///
/// ```
/// use casefilter::{Catalog, FilterBuilder, Limits};
///
/// let limits = Limits::default().with_criteria(1);
/// let body = br#"{"criteria":[
///     {"field":"name","op":"=","values":["a"]},
///     {"field":"name","op":"=","values":["b"]}]}"#;
/// let errors = FilterBuilder::new(&Catalog::cases()).with_limits(limits).json(body).unwrap_err();
/// assert!(errors.to_string().contains("too many criteria, expected at most 1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a request body or of a text filter, in bytes. Default: 4 MiB.
    pub body_bytes: usize,
    /// The maximum nesting depth of criteria. A top-level criterion has depth 1. Default: 32.
    pub depth: usize,
    /// The maximum number of criteria in a body, including those with `children`. Default: 4,096.
    pub criteria: usize,
    /// The maximum total number of values in all criteria of a body. Default: 65,536.
    pub values: usize,
    /// The maximum number of entries of `ids` in a body. Default: 65,536.
    pub ids: usize,
    /// The maximum length of a string in a body, in bytes of UTF-8 after unescaping. Default: 4,096.
    pub string_bytes: usize,
    /// The maximum `limit` of a page. It is checked when a request is parsed, and again when an engine runs it. Default:
    /// 10,000.
    pub page: u64,
    /// The maximum number of facets of a request. Default: 32.
    pub facets: usize,
    /// The maximum number of values that one facet lists. Default: 10,000.
    pub facet_values: u64,
    /// The maximum number of buckets of one histogram, including empty ones. Default: 10,000.
    pub facet_buckets: u64,
    /// The maximum size of a document, in bytes. Default: 16 MiB.
    pub document_bytes: usize,
    /// The maximum nesting depth of a document. The document itself has depth 1. Default: 128.
    pub document_depth: usize,
    /// The maximum number of batches of an engine. A batch has at most 65,536 documents. Default: 65,536. An engine treats a
    /// greater limit as 65,536.
    ///
    /// Small batches are merged, so an engine has about one batch for every 32,768 documents, plus about 20.
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
            facets: 32,
            facet_values: 10_000,
            facet_buckets: 10_000,
            document_bytes: 16 << 20,
            document_depth: 128,
            batches: 65_536,
        }
    }
}

impl Limits {
    /// Returns these limits without the limits on single documents. A stored document was within the limits when it was stored, and
    /// later limits do not apply to it.
    #[cfg(any(feature = "arrow", feature = "sql", feature = "store"))]
    pub(crate) fn for_stored_documents(self) -> Self {
        Self { document_bytes: usize::MAX, document_depth: usize::MAX, ..self }
    }

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

    /// Sets [`facets`](Self::facets).
    #[must_use]
    pub fn with_facets(self, facets: usize) -> Self {
        Self { facets, ..self }
    }

    /// Sets [`facet_values`](Self::facet_values).
    #[must_use]
    pub fn with_facet_values(self, facet_values: u64) -> Self {
        Self { facet_values, ..self }
    }

    /// Sets [`facet_buckets`](Self::facet_buckets).
    #[must_use]
    pub fn with_facet_buckets(self, facet_buckets: u64) -> Self {
        Self { facet_buckets, ..self }
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
