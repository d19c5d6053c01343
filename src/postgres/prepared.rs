//! A bounded cache of the prepared statements of one connection.

use tokio_postgres::{Client, Error, Statement};

/// The maximum length of a cached statement in bytes. Longer statements are rarely repeated and use much memory of the server.
const MAX_BYTES: usize = 4 << 10;

/// A cache of prepared statements by their texts, with least-recently-used eviction.
///
/// Clients can cause any number of different statements, so the cache is bounded. Evicted statements are also closed on the
/// server.
pub(super) struct Prepared {
    /// The statements, the most recently used statement first.
    cached: Vec<(String, Statement)>,
    capacity: usize,
}

impl Prepared {
    pub(super) fn new(capacity: usize) -> Self {
        Self { cached: Vec::new(), capacity }
    }

    /// Returns the prepared statement of a text, and true if it was in the cache.
    pub(super) async fn get(&mut self, client: &Client, text: String) -> Result<(Statement, bool), Error> {
        if let Some(at) = self.cached.iter().position(|(known, _)| *known == text)
            && let Some(known) = self.cached.get_mut(..=at)
        {
            known.rotate_right(1);
            if let Some((_, statement)) = known.first() {
                return Ok((statement.clone(), true));
            }
        }
        let statement = client.prepare(&text).await?;
        if text.len() <= MAX_BYTES {
            self.cached.insert(0, (text, statement.clone()));
            self.cached.truncate(self.capacity);
        }
        Ok((statement, false))
    }
}
