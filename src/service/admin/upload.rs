//! Bodies of imports, put aside in a file until they are whole.
//!
//! An import of records keeps all other writes waiting, and one of cases all other imports, so neither may wait for a client that
//! sends slowly, or never ends. A body is in a file without a name, beside the database, whose space is free when it is closed, or when
//! the process dies.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;

use crate::service::http::errors::Failure;

/// The content type of a body of several sources, as frames: a byte that says of what sort, the length of what follows, four bytes,
/// the most significant first, and so many bytes.
pub(super) const SOURCES: &str = "application/vnd.casefilter.sources";

/// A frame with the name of a source of text, whose bytes follow in frames of data.
const TEXT: u8 = b'T';
/// A frame with the name of a source that is a Parquet file.
const PARQUET: u8 = b'P';
/// A frame of bytes of the source.
const DATA: u8 = b'D';

const FRAME_HEAD_BYTES: usize = 5;

/// The longest name of a source, in bytes.
const NAME_BYTES: u32 = 1 << 14;

/// The most sources of a body.
const SOURCE_COUNT: usize = 1 << 16;

/// So much is written to the file at once, about.
const WRITE_BYTES: usize = 1 << 20;

/// A body that is whole.
pub(super) struct Spool {
    pub(super) file: File,
    pub(super) sources: Vec<Source>,
}

/// Where a source lies in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) is_parquet: bool,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// Tells the sources of a body apart, as it comes in.
pub(super) struct Sources {
    sources: Vec<Source>,
    len: u64,
    state: State,
}

enum State {
    /// All that comes is of the only source.
    One,
    /// So much of the head of a frame.
    Head(Vec<u8>),
    /// So much of a name, and how much is missing.
    Name { name: Vec<u8>, left: usize, is_parquet: bool },
    /// How much of a frame of data is missing.
    Data(usize),
}

impl Sources {
    /// A body that is one source.
    pub(super) fn one(name: String, is_parquet: bool) -> Self {
        Self { sources: vec![Source { name, is_parquet, start: 0, len: 0 }], len: 0, state: State::One }
    }

    /// A body of frames.
    pub(super) fn framed() -> Self {
        Self { sources: Vec::new(), len: 0, state: State::Head(Vec::new()) }
    }

    /// Takes the next bytes of the body, and adds those of its sources to `out`.
    fn take(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        while !bytes.is_empty() {
            let wanted = match &self.state {
                State::One => bytes.len(),
                State::Head(head) => FRAME_HEAD_BYTES.saturating_sub(head.len()),
                State::Name { left, .. } | State::Data(left) => *left,
            };
            let (now, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            match &mut self.state {
                State::One => self.data(now, out),
                State::Data(left) => {
                    *left = left.saturating_sub(now.len());
                    self.data(now, out);
                }
                State::Head(head) => head.extend_from_slice(now),
                State::Name { name, left, .. } => {
                    *left = left.saturating_sub(now.len());
                    name.extend_from_slice(now);
                }
            }
            self.settle()?;
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let more = bytes.len() as u64;
        self.len = self.len.saturating_add(more);
        if let Some(source) = self.sources.last_mut() {
            source.len = source.len.saturating_add(more);
        }
        out.extend_from_slice(bytes);
    }

    /// Goes on to the next state, if this one has all its bytes.
    fn settle(&mut self) -> Result<(), String> {
        if let State::Head(head) = &self.state
            && let &[sort, a, b, c, d] = head.as_slice()
        {
            let length = u32::from_be_bytes([a, b, c, d]);
            let left = usize::try_from(length).unwrap_or(usize::MAX);
            self.state = match sort {
                TEXT | PARQUET if length > NAME_BYTES => {
                    return Err(format!("found a name of {length} bytes, expected at most {NAME_BYTES}"));
                }
                TEXT | PARQUET => State::Name { name: Vec::new(), left, is_parquet: sort == PARQUET },
                DATA if self.sources.is_empty() => {
                    return Err("found data before the name of a source".to_owned());
                }
                DATA => State::Data(left),
                other => return Err(format!("found a frame of the sort {other}, expected 68, 80 or 84")),
            };
        }
        match &mut self.state {
            State::Name { name, left: 0, is_parquet } => {
                if self.sources.len() >= SOURCE_COUNT {
                    return Err(format!("found more than {SOURCE_COUNT} sources"));
                }
                let name = String::from_utf8_lossy(name).into_owned();
                self.sources.push(Source { name, is_parquet: *is_parquet, start: self.len, len: 0 });
                self.state = State::Head(Vec::new());
            }
            State::Data(0) => self.state = State::Head(Vec::new()),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Source>, String> {
        match self.state {
            State::One => Ok(self.sources),
            State::Head(head) if head.is_empty() => Ok(self.sources),
            _ => Err("the body ends within a frame".to_owned()),
        }
    }
}

/// Puts a body aside, in a file in this folder.
///
/// # Errors
/// 400 when the client breaks off, or what it sends is not well framed; 408 when nothing comes for so long; 507 when the
/// file cannot be written.
pub(super) async fn spool(
    mut body: Body,
    mut sources: Sources,
    folder: &Path,
    patience: Duration,
) -> Result<Spool, Failure> {
    let mut file = tempfile::tempfile_in(folder).map_err(|error| no_room(&error));
    let mut waiting = Vec::new();
    let mut fault = None;
    loop {
        let frame = match tokio::time::timeout(patience, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                let description = "the body of the request breaks off; nothing was stored";
                return Err(Failure::new(StatusCode::BAD_REQUEST, description).closing());
            }
            Err(_) => {
                let description = "nothing more of the body arrives; nothing was stored";
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, description).closing());
            }
        };
        let Ok(bytes) = frame.into_data() else { continue };
        if fault.is_some() {
            // A client that is still sending may never see an answer: it is let through to its end.
            continue;
        }
        if let Err(error) = sources.take(&bytes, &mut waiting) {
            fault = Some(Failure::new(StatusCode::BAD_REQUEST, error));
        } else if waiting.len() >= WRITE_BYTES {
            match put(file, std::mem::take(&mut waiting)).await {
                Ok(again) => file = Ok(again),
                Err(error) => {
                    file = Err(error.clone());
                    fault = Some(error);
                }
            }
        }
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    let file = put(file, waiting).await?;
    let sources = sources.finish().map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error))?;
    Ok(Spool { file, sources })
}

/// Writes on a thread that may wait.
async fn put(file: Result<File, Failure>, bytes: Vec<u8>) -> Result<File, Failure> {
    let mut file = file?;
    let write = move || file.write_all(&bytes).map(|()| file);
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(|error| Failure::internal(error.to_string()))?.map_err(|error| no_room(&error))
}

fn no_room(error: &io::Error) -> Failure {
    let description = format!("the body of the request cannot be put aside beside the database: {error}");
    Failure::new(StatusCode::INSUFFICIENT_STORAGE, description).typed("io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sort: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![sort];
        frame.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(bytes);
        frame
    }

    fn read(body: &[u8], piece: usize) -> Result<(Vec<Source>, Vec<u8>), String> {
        let (mut sources, mut out) = (Sources::framed(), Vec::new());
        for bytes in body.chunks(piece) {
            sources.take(bytes, &mut out)?;
        }
        Ok((sources.finish()?, out))
    }

    #[test]
    fn sources_are_told_apart_however_the_body_is_parted() {
        let body = [
            frame(TEXT, b"a.ndjson"),
            frame(DATA, b"{}\n{}"),
            frame(DATA, b""),
            frame(DATA, b"\n"),
            frame(PARQUET, "ü".as_bytes()),
            frame(DATA, b"PAR1"),
            frame(TEXT, b""),
        ]
        .concat();
        let source =
            |name: &str, is_parquet, start, len| Source { name: name.to_owned(), is_parquet, start, len };
        let expected = [source("a.ndjson", false, 0, 6), source("ü", true, 6, 4), source("", false, 10, 0)];
        for piece in 1..body.len() {
            let (sources, out) = read(&body, piece).unwrap();
            assert_eq!((sources.as_slice(), out.as_slice()), (&expected[..], &b"{}\n{}\nPAR1"[..]));
        }
        assert!(read(&[], 1).unwrap().0.is_empty());
        let (mut one, mut out) = (Sources::one("-".to_owned(), false), Vec::new());
        one.take(&body, &mut out).unwrap();
        assert_eq!((one.finish().unwrap()[0].len, out), (body.len() as u64, body));
    }

    #[test]
    fn what_is_not_well_framed_is_refused() {
        for (body, expected) in [
            (frame(DATA, b"{}"), "before the name"),
            (frame(b'X', b""), "of the sort 88"),
            (frame(TEXT, b"name")[..7].to_vec(), "within a frame"),
            ([frame(TEXT, b"n"), vec![DATA]].concat(), "within a frame"),
            (vec![TEXT, 255, 255, 255, 255], "a name of 4294967295 bytes"),
        ] {
            let error = read(&body, 3).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
