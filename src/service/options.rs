//! Every bound of the service, in one place.

use std::time::Duration;

use crate::limits::Limits;

/// How a [`Service`](super::Service) is to behave under load and towards clients that it cannot trust.
///
/// ```
/// use casefilter::service::ServiceOptions;
/// let options = ServiceOptions { connections: 10_000, refuses_replays: true, ..ServiceOptions::default() };
/// assert_eq!(options.clock_window.as_secs(), 60);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Bounds on bodies of requests, and on pages.
    pub limits: Limits,
    /// How far the timestamp of a request may be from the clock here.
    pub clock_window: Duration,
    /// Whether a signature is good only once.
    pub refuses_replays: bool,
    /// How many signatures of one token are remembered for that, some 70 bytes each; a request beyond gets 503.
    pub remembered_signatures: usize,
    /// Connections at a time; more are told to come again.
    pub connections: usize,
    /// Connections at a time from one IPv4 address, or from one IPv6 network of 64 bits; more are told to come again. Behind a
    /// proxy all connections have its address, so that this has to be as many as `connections`.
    pub connections_per_peer: usize,
    /// Requests at a time that wait for the file, or for a search that may take long; more get 503. Of several tokens each gets at
    /// most half of them, and of the as many updates that may wait for their turn.
    pub concurrency: usize,
    /// Memory for the bodies of requests that are on their way in, in bytes; a request beyond gets 503.
    ///
    /// One half is divided equally among the connections; the other is for bodies larger than such a part. A token at one peer gets
    /// at most half of that other half, so that the largest body fits when this is four times its size.
    pub buffered_bytes: usize,
    /// The largest answer with cases, in bytes. A page that would be larger gets 400, with the `limit` that fits; a page of one case is
    /// answered in any case.
    pub answer_bytes: usize,
    /// Memory for answers on their way out, in bytes; a request beyond gets 503.
    ///
    /// Answers of up to 32 KiB, one at a time on each connection, are not counted. A larger one counts as it is, a page of more than
    /// 256 KiB as twice its largest document, at least twice 256 KiB: it is sent while it is read. A token gets at most
    /// half, so that a page fits when this is four times its largest document. A page from PostgreSQL is in memory whole, so that
    /// this has to be twice [`answer_bytes`](Self::answer_bytes) there.
    pub outgoing_bytes: usize,
    /// How long a client may take to send a head, to send a body, and to send nothing between two requests.
    pub read_timeout: Duration,
    /// How long a client may take to receive an answer, however long that is.
    pub write_timeout: Duration,
    /// How long an update waits for commits of imports and for other updates; one that waits longer gets 503.
    pub turn_timeout: Duration,
    /// How long connections are still taken and served once the service is asked to stop, with `/readyz` 503, so that load
    /// balancers notice before the port is closed; 0, the default, for a service that has none before it.
    pub drain: Duration,
    /// How long requests in flight are waited for on shutdown.
    pub grace: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            clock_window: Duration::from_secs(60),
            refuses_replays: false,
            remembered_signatures: 1 << 20,
            connections: 1024,
            connections_per_peer: 256,
            concurrency: 128,
            buffered_bytes: 64 << 20,
            answer_bytes: 64 << 20,
            outgoing_bytes: 128 << 20,
            read_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(30),
            turn_timeout: Duration::from_secs(10),
            drain: Duration::ZERO,
            grace: Duration::from_secs(30),
        }
    }
}
