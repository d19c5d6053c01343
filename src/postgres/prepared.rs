//! A bounded cache of the prepared statements of one connection.

use tokio_postgres::{Client, Error, Statement};

/// The maximum length of a cached statement in bytes. Longer statements are not cached, because they are rarely repeated and use
/// much memory on the server.
const MAX_BYTES: usize = 4 << 10;

/// A cache of prepared statements, by their SQL text. It evicts the least recently used statement.
///
/// Clients can cause an unlimited number of different statements, so the size of the cache is bounded. An evicted statement is also
/// closed on the server.
pub(super) struct Prepared {
    /// The statements. The most recently used statement is first.
    cached: Vec<(String, Statement)>,
    capacity: usize,
}

impl Prepared {
    pub(super) fn new(capacity: usize) -> Self {
        Self { cached: Vec::new(), capacity }
    }

    /// Returns the prepared statement for an SQL text, and true if the statement was in the cache.
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
