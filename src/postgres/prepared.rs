//! Statements that a connection keeps prepared, not more than so many.

use tokio_postgres::{Client, Error, Statement};

/// Longer statements are rarely asked for again, and take much memory of the server.
const LONGEST_BYTES: usize = 4 << 10;

/// Prepared statements by their texts, the one that was used last in front.
///
/// Criteria make as many shapes of statements as clients want, so those beyond the bound are closed, here and on the
/// server.
pub(super) struct Prepared {
    kept: Vec<(String, Statement)>,
    most: usize,
}

impl Prepared {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    /// The prepared statement of a text, and whether it was kept.
    pub(super) async fn get(&mut self, client: &Client, text: String) -> Result<(Statement, bool), Error> {
        if let Some(at) = self.kept.iter().position(|(known, _)| *known == text)
            && let Some(known) = self.kept.get_mut(..=at)
        {
            known.rotate_right(1);
            if let Some((_, statement)) = known.first() {
                return Ok((statement.clone(), true));
            }
        }
        let statement = client.prepare(&text).await?;
        if text.len() <= LONGEST_BYTES {
            self.kept.insert(0, (text, statement.clone()));
            self.kept.truncate(self.most);
        }
        Ok((statement, false))
    }
}
