//! The trait of all types that answer search requests: engines and stores.

use super::handle::Engine;
use super::search::SearchAnswer;
use super::search::explain::Explanation;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filter::{Filter, FilterBuilder, SearchRequest, Warning};
use crate::limits::Limits;

/// A searchable collection of documents: an [`Engine`] or a `Store`.
///
/// Both types also have these methods as inherent methods. The trait is for code that accepts either type. The trait is sealed:
/// only this library implements it, so a later release can add methods.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, Operator, SearchRequest, Searchable};
///
/// fn newest<S: Searchable>(documents: &S, client: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
///     let own = Filter::test(documents.catalog(), "clientId", Operator::Equal, [client])?;
///     Ok(documents.search(&SearchRequest::new(own).with_limit(20))?.ids().map(str::to_owned).collect())
/// }
///
/// let engine = Engine::new(Catalog::cases());
/// engine.upsert(br#"{"id":"a","clientId":"acme"}"#)?;
/// assert_eq!(newest(&engine, "acme")?, ["a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Searchable: sealed::Sealed + Send + Sync {
    /// The type of error that is returned if a request cannot be answered.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the catalogue of the documents.
    fn catalog(&self) -> &Catalog;

    /// Returns the limits for requests and documents.
    fn limits(&self) -> &Limits;

    /// Returns the number of documents.
    fn len(&self) -> usize;

    /// Returns true if there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the document with this id. Returns `None` if no document has the id. The text is empty if an engine does not keep
    /// documents.
    ///
    /// # Errors
    /// Returns an error if the file of a store cannot be read.
    fn get(&self, id: &str) -> Result<Option<String>, Self::Error>;

    /// Returns true if there is a document with this id.
    ///
    /// # Errors
    /// Returns an error if the file of a store cannot be read.
    fn contains(&self, id: &str) -> Result<bool, Self::Error>;

    /// Answers a request.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`Engine::search`], such as a filter with another catalogue or a passed
    /// deadline. Also returns an error if the file of a store cannot be read.
    fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Self::Error>;

    /// Returns the number of documents that the filter selects.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`Engine::count`]. Also returns an error if the file of a store cannot be
    /// read.
    fn count(&self, filter: &Filter) -> Result<u64, Self::Error>;

    /// Returns hints that explain why a filter may select nothing.
    fn hints(&self, filter: &Filter) -> Vec<Warning>;

    /// Returns an explanation of how the request would be answered.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`search`](Self::search).
    fn explain(&self, request: &SearchRequest) -> Result<Explanation, Self::Error>;
}

impl FilterBuilder {
    /// Returns a builder for filters on the documents of an engine or store, with its catalogue and its limits.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, FilterBuilder, Limits};
    /// let engine = Engine::builder(Catalog::cases()).limits(Limits::default().with_page(50)).build();
    /// let builder = FilterBuilder::for_engine(&engine);
    /// assert_eq!((builder.catalog(), builder.limits().page), (engine.catalog(), 50));
    /// ```
    #[must_use]
    pub fn for_engine(documents: &impl Searchable) -> Self {
        Self::new(documents.catalog()).with_limits(documents.limits().clone())
    }
}

/// The supertrait that prevents other crates from implementing [`Searchable`].
pub(crate) mod sealed {
    /// A type of this library that answers requests.
    pub trait Sealed {}
}

impl sealed::Sealed for Engine {}

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

    fn get(&self, id: &str) -> Result<Option<String>, Error> {
        Ok(self.get(id))
    }

    fn contains(&self, id: &str) -> Result<bool, Error> {
        Ok(self.contains(id))
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
