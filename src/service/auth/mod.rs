//! Authentication and authorization: app tokens, signatures, replay detection, permissions and visible fields.

pub(super) mod in_flight;
pub(super) mod permission;
pub(super) mod projection;
pub(super) mod rate;
pub(super) mod replays;
pub(super) mod secret_mark;
pub(super) mod signature;
pub(super) mod standing_owner;
mod token_file;
pub(super) mod tokens;

pub use permission::Permission;
pub use signature::sign;
pub use token_file::{TokenEntry, TokenFile};
pub use tokens::{TokenError, TokenUpdater, Tokens};
