//! The public module `explain`: only re-exports of the types that [`Engine::explain`](crate::Engine::explain) and
//! [`Engine::analyze`](crate::Engine::analyze) return. They are defined in `explanation` and `strategy`.

pub use super::explanation::{Analysis, Answered, Batches, Explanation, Node, Page, Phase, Total};
pub use super::strategy::{PageStrategy, TotalStrategy};
pub use crate::exec::{Means, Work};
