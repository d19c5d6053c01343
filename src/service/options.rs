//! The options of the service: all limits and timeouts.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::Limits;

/// Limits and timeouts of a [`Service`](super::Service), against overload and untrusted clients.
///
/// ```
/// use casefilter::service::ServiceOptions;
/// let options = ServiceOptions { connections: 10_000, reject_replays: true, ..ServiceOptions::default() };
/// assert_eq!(options.clock_window.as_secs(), 60);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// The limits on request bodies and on pages.
    pub limits: Limits,
    /// The maximum difference between the timestamp of a request and the service's clock.
    pub clock_window: Duration,
    /// True to accept each signature only once.
    pub reject_replays: bool,
    /// The maximum number of remembered signatures for each token, of about 70 bytes each. Further requests get 503.
    pub remembered_signatures: usize,
    /// The maximum number of simultaneous connections. Further connections get 503.
    pub connections: usize,
    /// The maximum number of simultaneous connections from one IPv4 address or IPv6 /64 network. Further connections get 503.
    ///
    /// If the service runs after a reverse proxy, all connections have the proxy's address: set this to `connections`.
    pub connections_per_peer: usize,
    /// The maximum number of requests that wait for the file or search on blocking threads at a time. Further requests get 503.
    ///
    /// As many updates again may wait for other writes. If there are several tokens, each gets at most half.
    pub concurrency: usize,
    /// The memory for request bodies, in bytes. Requests that do not fit get 503.
    ///
    /// One half is divided equally among the connections. The other half is for the rest of larger bodies whose signature is verified; a
    /// token gets at most half of it. So the largest body fits if this is at least four times its size.
    pub buffered_bytes: usize,
    /// The size of all temporary files for large bodies whose signature is not verified yet, in bytes. Requests that do not fit get 503.
    ///
    /// A token at one peer gets at most half. So the largest body fits if this is at least twice its size.
    pub spooled_bytes: usize,
    /// The folder of these temporary files. It should not be in memory, as `/tmp` may be.
    ///
    /// The default is the folder of the database, or the temporary folder of the system if the former cannot be written.
    pub spool_folder: Option<PathBuf>,
    /// The largest response with cases, in bytes. A larger page gets 400 and a `limit` that fits. A page of one case is
    /// always sent.
    pub max_response_bytes: usize,
    /// The memory for responses that are being sent, in bytes. Requests that do not fit get 503.
    ///
    /// The first 32 KiB of each response do not count. A page of more than 256 KiB is streamed, and counts as twice its
    /// largest document or 512 KiB, whichever is more. A token gets at most half, so a page fits if this is at least
    /// four times its largest document. A page from PostgreSQL is buffered whole: then this must be at least twice
    /// [`max_response_bytes`](Self::max_response_bytes).
    pub outgoing_bytes: usize,
    /// The time that a client may take to send a head, to send a body, and between two requests.
    pub read_timeout: Duration,
    /// The time that a client may take to receive a whole response, regardless of its length.
    pub write_timeout: Duration,
    /// The time that an update waits for commits of imports and for other updates. After that it gets 503.
    pub write_queue_timeout: Duration,
    /// The time that a search may take, from its whole request to the start of its response. After that it gets 503. Zero is no limit.
    ///
    /// The default is far above the time of any usual search of ten million cases. It stops searches whose filter has thousands of
    /// criteria, before they keep a processor from the others.
    pub search_timeout: Duration,
    /// The time between the start of a shutdown, when `/readyz` becomes 503, and the closing of the port.
    ///
    /// It lets load balancers notice the shutdown. The default is 0, for a service without a load balancer.
    pub shutdown_delay: Duration,
    /// The time that running requests get to finish on shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            clock_window: Duration::from_secs(60),
            reject_replays: false,
            remembered_signatures: 1 << 20,
            connections: 1024,
            connections_per_peer: 256,
            concurrency: 128,
            buffered_bytes: 64 << 20,
            spooled_bytes: 1 << 30,
            spool_folder: None,
            max_response_bytes: 64 << 20,
            outgoing_bytes: 128 << 20,
            read_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(30),
            write_queue_timeout: Duration::from_secs(10),
            search_timeout: Duration::from_secs(10),
            shutdown_delay: Duration::ZERO,
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}
