//! The JSON of an event.

use chrono::{DateTime, SecondsFormat};
use serde::Serialize;

use crate::standing::{Event, EventKind};

/// The JSON of an event. Operators also see its owner.
#[derive(Serialize)]
pub(in crate::service) struct EventLine<'e> {
    number: u64,
    time: Option<String>,
    filter: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'e str>,
    id: &'e str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'e [String]>,
}

impl<'e> EventLine<'e> {
    /// Creates the JSON that the owner of the filter sees.
    pub(in crate::service) fn of_client(event: &'e Event) -> Self {
        let time = DateTime::from_timestamp_millis(event.time.as_millis());
        Self {
            number: event.number,
            time: time.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            filter: &event.filter,
            owner: None,
            id: &event.id,
            kind: event.kind.name(),
            fields: match &event.kind {
                EventKind::Changed(fields) => Some(fields),
                _ => None,
            },
        }
    }

    /// Creates the JSON that operators see.
    #[cfg(unix)]
    pub(in crate::service) fn of_operator(event: &'e Event) -> Self {
        Self { owner: event.owner.as_deref(), ..Self::of_client(event) }
    }

    /// Returns the JSON.
    pub(in crate::service) fn to_json(&self) -> String {
        // Serialising strings and numbers cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}
