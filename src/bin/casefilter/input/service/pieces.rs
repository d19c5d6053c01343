//! Request bodies that are sent in pieces, such as the files of an import.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::Receiver;

/// The maximum number of pieces of a body that wait to be sent.
pub(super) const PIECES: usize = 4;

/// A piece of a body.
pub(super) enum Piece {
    Data(Bytes),
    End,
}

/// A body that is sent in pieces. If its sender is dropped before the end of the body, the request is aborted.
pub(super) struct Pieces(pub(super) Receiver<Piece>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(match ready!(self.0.poll_recv(context)) {
            Some(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => None,
            None => Some(Err(io::ErrorKind::Interrupted.into())),
        })
    }
}
