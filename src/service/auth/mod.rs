//! Who may call, and how the service knows.

pub(super) mod projection;
pub(super) mod signature;
pub(super) mod tokens;

pub use tokens::{Permission, TokenEntry, TokenFile, Tokens};
