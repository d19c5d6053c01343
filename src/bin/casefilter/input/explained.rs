//! The explanation of a request, created by this process or by a service.

use serde_json::value::RawValue;

use crate::output::failure::Failure;

/// The explanation of a request, as JSON and as a tree for people.
pub(crate) struct Explained {
    pub(crate) json: Box<RawValue>,
    pub(crate) text: String,
}

impl Explained {
    /// Adds the explanation of the counts by value: as the member `facets`, and as lines at the end.
    pub(crate) fn with_facets(self, facets: &Self) -> Result<Self, Failure> {
        let own = self.json.get().strip_suffix('}').unwrap_or_default();
        let json = RawValue::from_string(format!("{own},\"facets\":{}}}", facets.json.get()));
        let json = json.map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Self { json, text: self.text + &facets.text })
    }
}
