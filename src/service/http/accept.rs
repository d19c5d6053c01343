//! Accepts connections on the public port, within the limits of the service and of each peer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::closing::Closing;
use super::connection::Server;
use super::peers::{Client, ClientAddress, Peer};
use super::places::{Counted, NoPlace};

/// The maximum number of simultaneous connections that are over a limit and get a 503 response. Further connections stay in the
/// accept queue. But if a peer is over its own limit, its further connections are closed immediately.
const MAX_REJECTING: usize = 64;

/// Accepts connections. Serves each connection in a separate task. Runs until the future is dropped.
pub(super) async fn accept(server: &Arc<Server>, listener: &TcpListener, closing: &Closing) {
    let reject_slots = Arc::new(Semaphore::new(MAX_REJECTING));
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                if !is_connection_error(&error) {
                    // The process probably has no free file descriptor. A connection that ends frees a descriptor.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let peer = Peer::of(address.ip());
        let place = server.places.take(peer);
        let reject_slot = match &place {
            Ok(_) => None,
            Err(NoPlace::OfPeer) => match Arc::clone(&reject_slots).try_acquire_owned() {
                Ok(slot) => Some(slot),
                // The connection is closed immediately. A peer over its limit must not delay the connections of other peers.
                Err(_) => continue,
            },
            // The semaphore is never closed.
            Err(NoPlace::OfService { .. }) => Arc::clone(&reject_slots).acquire_owned().await.ok(),
        };
        let client =
            Client { peer, address: ClientAddress(address.ip().to_canonical()), is_admitted: place.is_ok() };
        let (server, open) = (Arc::clone(server), closing.connection());
        let counted = Counted::new(&server.shared);
        tokio::spawn(async move {
            let _places = (place, reject_slot, counted);
            server.serve(stream, client, open).await;
        });
    }
}

/// Returns true if an error of `accept` is about a single connection. Then the next call of `accept` may succeed immediately.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
