//! Finds the standing filters that contain an id. An erasure does not change these filters.

use super::database::Store;
use super::error::StoreError;
use super::standing_bytes::{Fields, stored_filter};
use super::standing_tables::open;
use super::tables::STANDING;
use crate::standing::{StandingFilter, split_key};

/// An id as it is written in names, in texts of filters, and in JSON.
struct Id<'i> {
    plain: &'i str,
    /// The id as a string of JSON, without the quotes.
    escaped: String,
}

impl<'i> Id<'i> {
    fn new(plain: &'i str) -> Self {
        let quoted = serde_json::Value::from(plain).to_string();
        Self { plain, escaped: quoted.trim_matches('"').to_owned() }
    }

    fn is_in(&self, text: &str) -> bool {
        text.contains(self.plain) || text.contains(&self.escaped)
    }
}

impl Store {
    /// Returns the standing filters that contain one of these ids: in their name, in their text, or in the request body that a
    /// client of a service has sent for the filter. The id may also be a part of a longer word. Empty ids are ignored. An
    /// [erasure](Self::erase) does not change these filters. The filters are sorted by owner, then by name. Filters without an
    /// owner come first.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, StandingFilter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let own = Filter::compile_text(store.catalog(), "applicantReference.applicantId = anna")?;
    /// store.insert_standing([StandingFilter::new("mine", &own)])?;
    /// assert_eq!(store.standing_filters_naming(["anna", "bob"])?[0].name(), "mine");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a filter is damaged.
    ///
    /// # Complexity
    /// Linear in the size of the filters, for each id.
    pub fn standing_filters_naming<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i str>,
    ) -> Result<Vec<StandingFilter>, StoreError> {
        let ids: Vec<Id<'_>> = ids.into_iter().filter(|id| !id.is_empty()).map(Id::new).collect();
        let is_named = |text: &str| ids.iter().any(|id| id.is_in(text));
        let read = || {
            let mut keys: Vec<String> = Vec::new();
            let Some(table) = open(&self.file.read()?, STANDING)? else { return Ok(keys) };
            let fields = Fields::of(self.catalog());
            let mut last: Option<String> = None;
            for entry in table.range::<&str>(..)? {
                let (key, bytes) = entry?;
                // The pages of a damaged file may form a cycle, so the keys must ascend.
                if last.as_deref().is_some_and(|last| key.value() <= last) {
                    break;
                }
                last = Some(key.value().to_owned());
                let stored = stored_filter(key.value(), bytes.value(), &fields)?;
                let body =
                    serde_json::from_str::<serde_json::Value>(stored.body).map(|body| body.to_string());
                let body = body.as_deref().unwrap_or(stored.body);
                if [split_key(key.value()).1, stored.text, body].into_iter().any(is_named) {
                    keys.push(key.value().to_owned());
                }
            }
            Ok(keys)
        };
        let keys = self.reading(self.file.generation(), read, read)?;
        let mut found: Vec<StandingFilter> = keys.iter().filter_map(|key| self.filters.get(key)).collect();
        found.sort_by(|one, next| (one.owner(), one.name()).cmp(&(next.owner(), next.name())));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::filter::Filter;
    use crate::store::StoreOptions;

    fn store(folder: &tempfile::TempDir) -> Store {
        let path = folder.path().join("c.db");
        Store::create(path, Catalog::cases(), StoreOptions::default()).unwrap()
    }

    fn naming(store: &Store, id: &str) -> Vec<String> {
        let found = store.standing_filters_naming([id]).unwrap();
        found
            .iter()
            .map(|filter| format!("{}{}", filter.owner().unwrap_or_default(), filter.name()))
            .collect()
    }

    #[test]
    fn ids_are_found_in_names_and_in_escaped_texts() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let filter = |name: &str, text: &str| {
            StandingFilter::new(name, &Filter::compile_text(store.catalog(), text).unwrap())
        };
        let escaped = "id = \"q\\\"x\"";
        store
            .insert_standing([filter("anna", "id = z"), filter("e", escaped), filter("z", "id = anna")])
            .unwrap();
        assert_eq!(naming(&store, "anna"), ["anna", "z"]);
        assert_eq!(naming(&store, "q\"x"), ["e"]);
        assert_eq!(naming(&store, "bob"), [""; 0]);
        assert_eq!(naming(&store, ""), [""; 0]);
    }

    #[cfg(feature = "service")]
    #[test]
    fn ids_are_found_in_the_bodies_of_clients() {
        use crate::store::{Exchange, NewOwnedFilter};
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let owned = |name: &str, body: &str| NewOwnedFilter {
            filter: StandingFilter::owned("t:", name, &Filter::none(store.catalog())),
            body: body.to_owned(),
        };
        let body = r#"{"criteria":[{"field":"name","op":"=","values":["\u0061nna"]}]}"#;
        let inserted = vec![owned("hidden", body), owned("other", "{}")];
        store.exchange_owned(Exchange { removed: &[], inserted, changed: None }).unwrap();
        assert_eq!(naming(&store, "anna"), ["t:hidden"]);
    }
}
