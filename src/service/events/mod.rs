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
//! A token is told only of events that were found under its present restrictions. Each filter is stored with the filter of its
//! token joined to it, under an [owner](super::auth::standing_owner) that has a hash of these restrictions. So each event has this
//! hash, too.

pub(super) mod hub;
pub(super) mod line;
pub(super) mod reader;
pub(super) mod restrict;
pub(super) mod stream;
