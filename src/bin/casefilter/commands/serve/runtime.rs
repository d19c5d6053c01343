//! The Tokio runtime of a service.

use std::io;

use casefilter::service::ServiceOptions;
use tokio::runtime::{Builder, Runtime};

/// The number of threads for blocking work other than client requests: DNS lookups, requests on the admin socket, temporary files
/// of bodies, and the write at shutdown.
const SPARE_THREADS: usize = 40;

/// Creates the runtime.
pub(super) fn runtime(options: &ServiceOptions) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(options.concurrency.saturating_add(SPARE_THREADS))
        .thread_name("casefilter")
        .build()
}
