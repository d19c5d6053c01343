//! The end of connections at a shutdown: asks them to close, and waits until they have closed.

use tokio::sync::watch;

/// The side of the service: it knows all open connections.
pub(in crate::service) struct Closing(watch::Sender<bool>);

/// The side of a connection. The connection counts as open until all clones of this value have been dropped.
#[derive(Clone)]
pub(in crate::service) struct OpenConnection(watch::Receiver<bool>);

impl Closing {
    pub(in crate::service) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Adds a connection.
    pub(in crate::service) fn connection(&self) -> OpenConnection {
        OpenConnection(self.0.subscribe())
    }

    /// Asks all connections to close after their running requests, and waits until they have closed.
    pub(in crate::service) async fn close(&self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl OpenConnection {
    /// Waits until the connection is asked to close. Also returns if the service has been dropped.
    pub(in crate::service) async fn asked_to_close(&mut self) {
        let _ = self.0.wait_for(|is_asked| *is_asked).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    /// Polls a future once, and returns true if it has ended.
    async fn has_ended(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        let mut future = future;
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn closing_waits_until_all_connections_have_ended() {
        let closing = Closing::new();
        let mut first = closing.connection();
        assert!(!has_ended(pin!(first.asked_to_close())).await);
        let mut close = pin!(closing.close());
        assert!(!has_ended(close.as_mut()).await);
        assert!(has_ended(pin!(first.asked_to_close())).await);
        // A connection that was accepted just before is asked, too.
        let mut second = first.clone();
        drop(first);
        assert!(has_ended(pin!(second.asked_to_close())).await);
        assert!(!has_ended(close.as_mut()).await);
        drop(second);
        assert!(has_ended(close.as_mut()).await);
    }

    #[tokio::test]
    async fn a_service_that_was_dropped_has_asked_to_close() {
        let mut open = Closing::new().connection();
        assert!(has_ended(pin!(open.asked_to_close())).await);
    }
}
