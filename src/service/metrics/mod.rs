//! What the service counts.

mod process;
pub(super) mod text;
