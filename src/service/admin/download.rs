//! Streams a file as a response body.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The size of a chunk in bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// The maximum number of chunks that are read but not sent yet.
const QUEUED_CHUNKS: usize = 2;

/// A response body that reads a file on a blocking thread, no faster than the client receives it.
///
/// The file is closed after the last chunk, or when the body is dropped.
pub(super) struct FileBody(Receiver<io::Result<Bytes>>);

impl FileBody {
    /// Starts to read the file from its beginning.
    pub(super) fn new(file: File) -> Self {
        let (chunks, body) = channel(QUEUED_CHUNKS);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = send(file, &chunks) {
                // The error makes hyper close the connection, so the client sees that the response is incomplete.
                let _ = chunks.blocking_send(Err(error));
            }
        });
        Self(body)
    }
}

fn send(mut file: File, chunks: &Sender<io::Result<Bytes>>) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let length = (&file).take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
        if length == 0 || chunks.blocking_send(Ok(chunk.into())).is_err() {
            return Ok(());
        }
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|bytes| bytes.map(Frame::data)))
    }
}
