//! The public types of explanations, which [`Engine::explain`](crate::Engine::explain) and
//! [`Engine::analyze`](crate::Engine::analyze) return.

pub use super::explanation::{Analysis, Answered, Batches, Explanation, Node, Page, Phase, Total};
pub use super::strategy::{PageStrategy, TotalStrategy};
pub use crate::exec::{Means, Work};
