//! Spools the body of an import to a temporary file, until the body is complete.
//!
//! An import of records blocks all other writes, and an import of cases blocks all other imports of cases. So an import starts only
//! when its body is complete, and does not wait for a slow client. The temporary file is unnamed, in the folder of the database.
//! The system deletes it when it is closed or the process ends.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;

use crate::service::http::errors::Failure;
use crate::store::unnamed_in;

/// The content type of a body that has several sources, in frames.
///
/// A frame consists of its type (1 byte), the length of its content (4 bytes, big-endian), and its content.
pub(super) const SOURCES_TYPE: &str = "application/vnd.casefilter.sources";

/// The type of a frame that contains the name of a text source. The data of the source follows in [`DATA`] frames.
const TEXT: u8 = b'T';
/// The type of a frame that contains the name of a Parquet file. The data of the file follows in [`DATA`] frames.
const PARQUET: u8 = b'P';
/// The type of a frame that contains data of the current source.
const DATA: u8 = b'D';

const FRAME_HEAD_BYTES: usize = 5;

/// The maximum length of the name of a source, in bytes. A body with a longer name is rejected.
const NAME_BYTES: u32 = 1 << 14;

/// The maximum number of sources in a body. A body with more sources is rejected.
const MAX_SOURCES: usize = 1 << 16;

/// The maximum total length of the names of all sources, in bytes. The names are in memory until the end of the import.
const ALL_NAMES_BYTES: usize = 1 << 24;

/// The approximate size of each write to the file, in bytes.
const WRITE_BYTES: usize = 1 << 20;

/// A complete body that is stored in a temporary file.
pub(super) struct Spool {
    pub(super) file: File,
    pub(super) sources: Vec<Source>,
}

/// A source of an import: its name, its format, and its range in the temporary file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) is_parquet: bool,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// An incremental parser that splits a body into its sources.
pub(super) struct SourceParser {
    sources: Vec<Source>,
    /// The number of data bytes that have been parsed so far.
    len: u64,
    /// The length of all names so far, in bytes.
    names_len: usize,
    state: FrameState,
}

enum FrameState {
    /// The body is a single source without frames.
    Unframed,
    /// The parser is in the head of a frame. The value is the part of the head that has been read.
    Head(Vec<u8>),
    /// The parser is in the name of a source. `name` is the part that has been read, and `left` is the number of bytes that are
    /// missing.
    Name { name: Vec<u8>, left: usize, is_parquet: bool },
    /// The parser is in a data frame. The value is the number of bytes that are missing.
    Data(usize),
}

impl SourceParser {
    /// Creates a parser for a body that is one source without frames.
    pub(super) fn unframed(name: String, is_parquet: bool) -> Self {
        Self {
            sources: vec![Source { name, is_parquet, start: 0, len: 0 }],
            len: 0,
            names_len: 0,
            state: FrameState::Unframed,
        }
    }

    /// Creates a parser for a body that consists of frames.
    pub(super) fn framed() -> Self {
        Self { sources: Vec::new(), len: 0, names_len: 0, state: FrameState::Head(Vec::new()) }
    }

    /// Parses the next bytes of the body, and appends the data in them to `out`.
    fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        while !bytes.is_empty() {
            let wanted = match &self.state {
                FrameState::Unframed => bytes.len(),
                FrameState::Head(head) => FRAME_HEAD_BYTES.saturating_sub(head.len()),
                FrameState::Name { left, .. } | FrameState::Data(left) => *left,
            };
            let (now, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            match &mut self.state {
                FrameState::Unframed => self.data(now, out),
                FrameState::Data(left) => {
                    *left = left.saturating_sub(now.len());
                    self.data(now, out);
                }
                FrameState::Head(head) => head.extend_from_slice(now),
                FrameState::Name { name, left, .. } => {
                    *left = left.saturating_sub(now.len());
                    name.extend_from_slice(now);
                }
            }
            self.advance()?;
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

    /// Changes to the next state, if the current part of the frame is complete.
    fn advance(&mut self) -> Result<(), String> {
        if let FrameState::Head(head) = &self.state
            && let &[frame_type, a, b, c, d] = head.as_slice()
        {
            let length = u32::from_be_bytes([a, b, c, d]);
            let left = usize::try_from(length).unwrap_or(usize::MAX);
            self.state = match frame_type {
                TEXT | PARQUET if length > NAME_BYTES => {
                    return Err(format!("found a name of {length} bytes, expected at most {NAME_BYTES}"));
                }
                TEXT | PARQUET => {
                    FrameState::Name { name: Vec::new(), left, is_parquet: frame_type == PARQUET }
                }
                DATA if self.sources.is_empty() => {
                    return Err("found data before the name of a source".to_owned());
                }
                DATA => FrameState::Data(left),
                other => return Err(format!("found a frame of type {other}, expected 68, 80 or 84")),
            };
        }
        match &mut self.state {
            FrameState::Name { name, left: 0, is_parquet } => {
                if self.sources.len() >= MAX_SOURCES {
                    return Err(format!("found more than {MAX_SOURCES} sources"));
                }
                self.names_len = self.names_len.saturating_add(name.len());
                if self.names_len > ALL_NAMES_BYTES {
                    return Err(format!(
                        "found names of sources of more than {ALL_NAMES_BYTES} bytes together"
                    ));
                }
                let name = String::from_utf8_lossy(name).into_owned();
                self.sources.push(Source { name, is_parquet: *is_parquet, start: self.len, len: 0 });
                self.state = FrameState::Head(Vec::new());
            }
            FrameState::Data(0) => self.state = FrameState::Head(Vec::new()),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Source>, String> {
        match self.state {
            FrameState::Unframed => Ok(self.sources),
            FrameState::Head(head) if head.is_empty() => Ok(self.sources),
            _ => Err("the body ends inside a frame".to_owned()),
        }
    }
}

/// Writes a body to a temporary file in `folder`.
///
/// # Errors
/// Returns an error with status 400 if the body ends early or has invalid frames. The status is 408 if no byte arrives for
/// `idle_timeout`, and 507 if the file cannot be written.
pub(super) async fn spool(
    mut body: Body,
    mut sources: SourceParser,
    folder: &Path,
    idle_timeout: Duration,
) -> Result<Spool, Failure> {
    let mut file = unnamed_in(folder).map_err(|error| no_room(&error));
    let mut unwritten = Vec::new();
    let mut failed = None;
    loop {
        let frame = match tokio::time::timeout(idle_timeout, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                let description = "the body of the request ends early; nothing was stored";
                return Err(Failure::new(StatusCode::BAD_REQUEST, description).closing());
            }
            Err(_) => {
                let description = "the body of the request did not arrive in time; nothing was stored";
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, description).closing());
            }
        };
        let Ok(bytes) = frame.into_data() else { continue };
        if failed.is_some() {
            // The rest of the body is still read, because a client that is still sending may not see the response.
            continue;
        }
        if let Err(error) = sources.push(&bytes, &mut unwritten) {
            failed = Some(Failure::new(StatusCode::BAD_REQUEST, error));
        } else if unwritten.len() >= WRITE_BYTES {
            match write(file, std::mem::take(&mut unwritten)).await {
                Ok(again) => file = Ok(again),
                Err(error) => {
                    file = Err(error.clone());
                    failed = Some(error);
                }
            }
        }
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    let file = write(file, unwritten).await?;
    let sources = sources.finish().map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error))?;
    Ok(Spool { file, sources })
}

/// Writes to the file on a blocking thread. Returns the file for the next write.
async fn write(file: Result<File, Failure>, bytes: Vec<u8>) -> Result<File, Failure> {
    let mut file = file?;
    let write = move || file.write_all(&bytes).map(|()| file);
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(|error| Failure::internal(error.to_string()))?.map_err(|error| no_room(&error))
}

fn no_room(error: &io::Error) -> Failure {
    let description = format!("cannot spool the body of the request to a file beside the database: {error}");
    Failure::new(StatusCode::INSUFFICIENT_STORAGE, description).typed("io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(frame_type: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![frame_type];
        frame.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(bytes);
        frame
    }

    fn read(body: &[u8], chunk_len: usize) -> Result<(Vec<Source>, Vec<u8>), String> {
        let (mut sources, mut out) = (SourceParser::framed(), Vec::new());
        for bytes in body.chunks(chunk_len) {
            sources.push(bytes, &mut out)?;
        }
        Ok((sources.finish()?, out))
    }

    #[test]
    fn sources_are_the_same_however_the_body_is_chunked() {
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
        for chunk_len in 1..body.len() {
            let (sources, out) = read(&body, chunk_len).unwrap();
            assert_eq!((sources.as_slice(), out.as_slice()), (&expected[..], &b"{}\n{}\nPAR1"[..]));
        }
        assert!(read(&[], 1).unwrap().0.is_empty());
        let (mut one, mut out) = (SourceParser::unframed("-".to_owned(), false), Vec::new());
        one.push(&body, &mut out).unwrap();
        assert_eq!((one.finish().unwrap()[0].len, out), (body.len() as u64, body));
    }

    #[test]
    fn the_names_of_all_sources_are_limited_together() {
        let source = frame(TEXT, &[b'n'; NAME_BYTES as usize]);
        let (mut sources, mut out) = (SourceParser::framed(), Vec::new());
        for _ in 0..ALL_NAMES_BYTES / NAME_BYTES as usize {
            sources.push(&source, &mut out).unwrap();
        }
        let error = sources.push(&source, &mut out).unwrap_err();
        assert!(error.contains("names of sources of more than 16777216 bytes"), "{error}");
    }

    #[test]
    fn invalid_frames_are_rejected() {
        for (body, expected) in [
            (frame(DATA, b"{}"), "before the name"),
            (frame(b'X', b""), "of type 88"),
            (frame(TEXT, b"name")[..7].to_vec(), "inside a frame"),
            ([frame(TEXT, b"n"), vec![DATA]].concat(), "inside a frame"),
            (vec![TEXT, 255, 255, 255, 255], "a name of 4294967295 bytes"),
        ] {
            let error = read(&body, 3).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
