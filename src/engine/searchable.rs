//! The trait of types that answer requests.

use super::handle::Engine;
use super::search::SearchAnswer;
use super::search::explain::Explanation;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filter::{Filter, SearchRequest, Warning};
use crate::limits::Limits;

/// A searchable collection of documents: an [`Engine`] or a `Store`.
///
/// Both types also have these methods as inherent methods. The trait is for code that accepts either type.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, SearchRequest, Searchable};
///
/// fn newest<S: Searchable>(documents: &S, client: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
///     let own = format!("clientId = {}", Filter::quote(client));
///     let filter = Filter::compile_text(documents.catalog(), &own)?;
///     Ok(documents.search(&SearchRequest::new(filter).with_limit(20))?.ids().map(str::to_owned).collect())
/// }
///
/// let engine = Engine::new(Catalog::cases());
/// engine.upsert(br#"{"id":"a","clientId":"acme"}"#)?;
/// assert_eq!(newest(&engine, "acme")?, ["a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Searchable: Send + Sync {
    /// The error of a request that cannot be answered.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the catalogue of the documents.
    fn catalog(&self) -> &Catalog;

    /// Returns the limits of requests and documents.
    fn limits(&self) -> &Limits;

    /// Returns the number of documents.
    fn len(&self) -> usize;

    /// Returns true if there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Answers a request.
    ///
    /// # Errors
    /// Returns an error if the request is for another catalogue or exceeds the limits, or if the file of a store cannot be read.
    fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Self::Error>;

    /// Returns the number of documents that the filter selects.
    ///
    /// # Errors
    /// Returns an error if the filter is for another catalogue.
    fn count(&self, filter: &Filter) -> Result<u64, Self::Error>;

    /// Returns hints about why a filter may select nothing.
    fn hints(&self, filter: &Filter) -> Vec<Warning>;

    /// Explains how a request would be answered.
    ///
    /// # Errors
    /// Returns an error if the request is for another catalogue or exceeds the limits.
    fn explain(&self, request: &SearchRequest) -> Result<Explanation, Self::Error>;
}

impl Searchable for Engine {
    type Error = Error;

    fn catalog(&self) -> &Catalog {
        self.catalog()
    }

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Error> {
        self.search(request)
    }

    fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.count(filter)
    }

    fn hints(&self, filter: &Filter) -> Vec<Warning> {
        self.hints(filter)
    }

    fn explain(&self, request: &SearchRequest) -> Result<Explanation, Error> {
        self.explain(request)
    }
}
