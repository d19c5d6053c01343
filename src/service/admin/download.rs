//! A file as the body of an answer.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// So much is read at once, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// How many pieces wait to be sent, at most.
const PIECES: usize = 2;

/// The bytes of a file, read by a thread that may wait, as they are sent. The file is closed when all is read, or this is dropped.
pub(super) struct FileBody(Receiver<io::Result<Bytes>>);

impl FileBody {
    /// Begins to read the file from its start.
    pub(super) fn new(file: File) -> Self {
        let (pieces, body) = channel(PIECES);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = send(file, &pieces) {
                // The answer breaks off there.
                let _ = pieces.blocking_send(Err(error));
            }
        });
        Self(body)
    }
}

fn send(mut file: File, pieces: &Sender<io::Result<Bytes>>) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let length = (&file).take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        if length == 0 || pieces.blocking_send(Ok(piece.into())).is_err() {
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
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| bytes.map(Frame::data)))
    }
}
