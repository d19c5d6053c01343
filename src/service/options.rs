//! The options of the service: all limits and timeouts.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::Limits;

/// The limits and timeouts of a [`Service`](super::Service). They protect against overload and untrusted clients.
///
/// ```
/// use casefilter::service::ServiceOptions;
/// let mut options = ServiceOptions::default();
/// options.connections = 10_000;
/// options.reject_replays = true;
/// assert_eq!(options.clock_window.as_secs(), 60);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// The limits on request bodies and on pages.
    pub limits: Limits,
    /// The maximum difference between the timestamp of a request and the service's clock.
    pub clock_window: Duration,
    /// True if each signature is accepted only once.
    pub reject_replays: bool,
    /// The maximum number of signatures that are remembered for each token. Each signature takes about 70 bytes. Further requests
    /// get 503.
    pub remembered_signatures: usize,
    /// True if clients may choose HTTP/2 on connections with TLS. Otherwise, all connections use HTTP/1.1.
    pub http2: bool,
    /// The maximum number of simultaneous connections. Further connections get 503.
    ///
    /// While a request runs on an HTTP/2 connection, each further request on it counts as a further connection. Over the limit,
    /// such a request gets 503, but its connection stays open.
    pub connections: usize,
    /// The maximum number of simultaneous connections from one IPv4 address or IPv6 /64 network. Further connections get 503.
    ///
    /// If the service is behind a reverse proxy, all connections have the address of the proxy. Then set this to the value of
    /// `connections`.
    pub connections_per_peer: usize,
    /// The maximum number of requests that use a blocking thread at the same time, for searches or for the file. Further requests
    /// get 503.
    ///
    /// The same number of updates may additionally wait for other writes. If there are several tokens, each token gets at most half
    /// of this number for its running and waiting requests together.
    pub concurrency: usize,
    /// The maximum number of requests with a valid signature per second and token. Further requests get 429. Zero means no limit.
    ///
    /// A token that has sent no request for a second may send this number of requests at once.
    pub requests_per_second: u32,
    /// The maximum number of bytes in flight for each token: the bodies of its requests, and the responses that are being sent to
    /// it. Further requests get 429. Zero means no limit.
    ///
    /// The first bytes of each body and of each response do not count, as in [`buffered_bytes`](Self::buffered_bytes) and
    /// [`outgoing_bytes`](Self::outgoing_bytes). The body and the response of a request may exceed the limit while the token has no
    /// other request in flight.
    pub bytes_in_flight: usize,
    /// The memory for request bodies, in bytes. Requests whose body does not fit get 503.
    ///
    /// One half is divided equally among the connections. If a larger body has a verified signature, its remaining bytes are in the
    /// second half. A token gets at most half of the second half. So the largest body fits if `buffered_bytes` is at least four
    /// times its size.
    pub buffered_bytes: usize,
    /// The size of all temporary files for large bodies whose signature is not verified yet, in bytes. Requests that do not fit
    /// get 503.
    ///
    /// The requests of one token from one IPv4 address or IPv6 /64 network get at most half of it. So the largest body fits if this
    /// is at least twice its size.
    pub spooled_bytes: usize,
    /// The folder of the temporary files for large bodies ([`spooled_bytes`](Self::spooled_bytes)). It should be on a disk. On some
    /// systems, `/tmp` is in memory.
    ///
    /// The default is the folder of the database, or the temporary folder of the system if the folder of the database cannot be
    /// written.
    pub spool_folder: Option<PathBuf>,
    /// The maximum size of a response with cases, in bytes. For a larger page, the client gets 400, and the error names a `limit`
    /// that fits. A page of one case is always sent.
    pub max_response_bytes: usize,
    /// The memory for responses that are being sent, in bytes. Requests whose response does not fit get 503.
    ///
    /// The first 32 KiB of each response do not count. A page of more than 256 KiB is streamed. It counts as 512 KiB, or as twice
    /// its largest document if that is more. A token gets at most half of the memory. So a page fits if this is at least four times
    /// its largest document. A page from PostgreSQL is buffered completely. With PostgreSQL, this must be at least twice
    /// [`max_response_bytes`](Self::max_response_bytes).
    pub outgoing_bytes: usize,
    /// The maximum time to receive a request head, the maximum time to receive a request body, and the maximum time between two
    /// requests.
    pub read_timeout: Duration,
    /// The maximum time in which a client must receive a whole response, independent of its length.
    pub write_timeout: Duration,
    /// The maximum time that an update waits for other writes, such as commits of imports and other updates. After this time, it
    /// gets 503.
    pub write_queue_timeout: Duration,
    /// The maximum time of a search, from the end of its request to the start of its response. After this time, it gets 503. Zero
    /// means no limit.
    ///
    /// The default is far above the time of any usual search of ten million cases. It stops searches with thousands of criteria,
    /// which would otherwise keep a processor from other requests.
    pub search_timeout: Duration,
    /// The maximum number of standing filters of each token. A request to store more filters gets 400.
    pub standing_filters: usize,
    /// The maximum size of all standing filters of each token, in bytes, as they are stored. Each filter is stored as its body, and
    /// as the body joined with the restrictions of the token. A request to store more filters gets 400.
    pub standing_bytes: usize,
    /// The maximum number of requests that read events at the same time: those that wait, and streams. Further requests get 503.
    pub event_listeners: usize,
    /// The maximum number of requests of each token that read events at the same time. Further requests get 429.
    pub event_listeners_per_token: usize,
    /// The time between the start of a shutdown and the closing of the port. `/readyz` becomes 503 at the start.
    ///
    /// In this time, load balancers can notice the shutdown. The default is 0, for a service without a load balancer.
    pub shutdown_delay: Duration,
    /// The maximum time for running requests to finish on shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            clock_window: Duration::from_secs(60),
            reject_replays: false,
            http2: true,
            remembered_signatures: 1 << 20,
            connections: 1024,
            connections_per_peer: 256,
            concurrency: 128,
            requests_per_second: 0,
            bytes_in_flight: 0,
            buffered_bytes: 64 << 20,
            spooled_bytes: 1 << 30,
            spool_folder: None,
            max_response_bytes: 64 << 20,
            outgoing_bytes: 128 << 20,
            read_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(30),
            write_queue_timeout: Duration::from_secs(10),
            search_timeout: Duration::from_secs(10),
            standing_filters: 1_000,
            standing_bytes: 16 << 20,
            event_listeners: 256,
            event_listeners_per_token: 16,
            shutdown_delay: Duration::ZERO,
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}
