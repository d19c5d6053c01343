//! Explanations of requests, the results of [`Engine::explain`](crate::Engine::explain) and
//! [`Engine::analyze`](crate::Engine::analyze).

pub use super::explanation::{Analysis, Answered, Batches, Explanation, Node, Page, Phase, Total};
pub use super::strategy::{PageStrategy, TotalStrategy};
pub use crate::exec::{Means, Work};
