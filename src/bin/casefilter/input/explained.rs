//! The explanation of a request, created by this process or by a service.

use serde_json::value::RawValue;

use crate::output::failure::Failure;

/// The explanation of a request, as JSON and as a tree for people.
pub(crate) struct Explained {
    pub(crate) json: Box<RawValue>,
    pub(crate) text: String,
}

impl Explained {
    /// Adds the reason why files were loaded: as the member `loaded_because`, and as a line at the end.
    pub(crate) fn with_load_reason(self, reason: &str) -> Result<Self, Failure> {
        let quoted = serde_json::to_string(reason).map_err(|error| Failure::Failed(error.to_string()))?;
        let json = self.json_with("loaded_because", &quoted)?;
        Ok(Self {
            json,
            text: format!("{}Loaded: {reason}, so the files were loaded before the search.\n", self.text),
        })
    }

    /// Returns the JSON with another member. `value` is JSON.
    fn json_with(&self, name: &str, value: &str) -> Result<Box<RawValue>, Failure> {
        let own = self.json.get().strip_suffix('}').unwrap_or_default();
        let json = RawValue::from_string(format!("{own},\"{name}\":{value}}}"));
        json.map_err(|error| Failure::Failed(error.to_string()))
    }

    /// Adds the explanation of the counts by value: as the member `facets`, and as lines at the end.
    pub(crate) fn with_facets(self, facets: &Self) -> Result<Self, Failure> {
        let json = self.json_with("facets", facets.json.get())?;
        Ok(Self { json, text: self.text + &facets.text })
    }
}
