//! Standing filters of tokens, and their events.
//!
//! | task | file |
//! |---|---|
//! | knows for which tokens there are new events, and wakes the requests that wait for them | `hub` |
//! | reads the events of a token, and waits for them | `reader` |
//! | the JSON of an event | `line` |
//! | a response with server-sent events | `stream` |
//! | stores the filters of tokens anew when the restrictions of the tokens have changed | `restrict` |
//!
//! A token gets only events that were created under its present restrictions. Each standing filter is stored joined with the filter
//! of its token. The [owner](super::auth::standing_owner) of a standing filter and of its events contains a hash of the
//! restrictions.

pub(super) mod hub;
pub(super) mod line;
pub(super) mod reader;
pub(super) mod restrict;
pub(super) mod stream;
