//! Administration of a running service over a Unix socket next to the database.
//!
//! | task | file |
//! |---|---|
//! | create and remove the socket; accept connections | `socket`; `server` |
//! | the routes and most handlers | `routes`, with the state in `context` |
//! | searches, counts by value, deletions and erasures that commands send | `search`, `facets`, `delete`, `erase` |
//! | imports: receive the body, and then run the import | `upload`; `import` |
//! | send a file | `download` |

mod context;
mod delete;
mod download;
mod erase;
mod facets;
mod import;
mod routes;
mod search;
pub(super) mod server;
mod socket;
mod standing;
mod upload;

pub use socket::AdminSocket;
