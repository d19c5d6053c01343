//! The Tokio runtime of a service.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use casefilter::service::ServiceOptions;
use tokio::runtime::{Builder, Runtime};

/// The number of threads for blocking work other than client requests: DNS lookups, requests on the admin socket, temporary files
/// of bodies, and the write at shutdown.
const SPARE_THREADS: usize = 40;

/// Creates the runtime.
pub(super) fn runtime(options: &ServiceOptions) -> io::Result<Runtime> {
    let processors = available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(blocking_threads(options.concurrency, processors))
        .thread_name("casefilter")
        .build()
}

/// Returns the maximum number of blocking threads. The service uses at most `concurrency` threads to execute requests. To read
/// parts of large pages, it uses one thread for each processor, but at least two. To compress answers, it uses the same number of
/// further threads.
fn blocking_threads(concurrency: usize, processors: usize) -> usize {
    let of_answers = processors.max(2).saturating_mul(2);
    concurrency.saturating_add(of_answers).saturating_add(SPARE_THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_pages_and_compression_leave_the_spare_threads_free() {
        for (concurrency, processors, used) in [(128, 1, 132), (128, 2, 132), (0, 32, 64), (1, 32, 65)] {
            assert_eq!(blocking_threads(concurrency, processors) - used, SPARE_THREADS);
        }
        assert_eq!(blocking_threads(usize::MAX, 1), usize::MAX);
    }
}
