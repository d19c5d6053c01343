//! Authentication and authorization: app tokens, signatures, replay detection, permissions and visible fields.

pub(super) mod permission;
pub(super) mod projection;
pub(super) mod replays;
pub(super) mod signature;
pub(super) mod tokens;

pub use permission::Permission;
pub use tokens::{TokenEntry, TokenError, TokenFile, Tokens};
