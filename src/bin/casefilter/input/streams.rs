//! Copies standard input and other streams while they are read, so that a command can read them again.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::output::dash::is_stdin;
use crate::output::unnamed::unnamed_beside;

/// The streams among the files of a command.
///
/// After a call of [`keep`](Self::keep), the first reading of a stream copies its bytes to an unnamed temporary file. Later
/// readings read the copy.
#[derive(Default)]
pub(crate) struct Streams {
    copies: RefCell<Vec<(PathBuf, StreamCopy)>>,
}

/// The copy of a stream.
struct StreamCopy {
    file: File,
    /// True if a reading has reached the end of the stream.
    is_whole: Cell<bool>,
}

impl Streams {
    /// Ensures that the stream with this path is copied when it is read for the first time. Returns false if no temporary file can
    /// be created.
    pub(super) fn keep(&self, path: &Path) -> bool {
        let mut copies = self.copies.borrow_mut();
        if copies.iter().any(|(own, _)| own == path) {
            return true;
        }
        let Ok(file) = unnamed_beside(None) else { return false };
        copies.push((path.to_owned(), StreamCopy { file, is_whole: Cell::new(false) }));
        true
    }

    /// Returns a reader of a stream. For a stream that is [kept](Self::keep), the reader copies what it reads. When a reading
    /// has reached the end of such a stream, later readers read the copy. `open` opens the stream.
    pub(super) fn open<'s>(
        &'s self,
        path: &Path,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 's>>,
    ) -> io::Result<Box<dyn Read + 's>> {
        let copies = self.copies.borrow();
        let Some((place, (_, copy))) = copies.iter().enumerate().find(|(_, (own, _))| own == path) else {
            return open();
        };
        let mut file = copy.file.try_clone()?;
        if copy.is_whole.get() {
            // The clone shares its position with the file, and no other reading is in progress.
            file.rewind()?;
            return Ok(Box::new(file));
        }
        Ok(Box::new(Copied { stream: open()?, file, streams: self, place }))
    }
}

/// Returns true if a file cannot be read twice: standard input, a pipe or a device.
pub(super) fn is_stream(path: &Path) -> bool {
    is_stdin(path) || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A reader that copies what it reads.
struct Copied<'s> {
    stream: Box<dyn Read + 's>,
    file: File,
    streams: &'s Streams,
    /// The index of the copy.
    place: usize,
}

impl Read for Copied<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        let read = buffer.get(..length).unwrap_or_default();
        self.file.write_all(read).map_err(|error| {
            let folder = std::env::temp_dir();
            io::Error::new(error.kind(), format!("it is copied to {}: {error}", folder.display()))
        })?;
        if length == 0
            && !buffer.is_empty()
            && let Some((_, copy)) = self.streams.copies.borrow().get(self.place)
        {
            copy.is_whole.set(true);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(streams: &Streams, text: &'static str) -> String {
        let mut found = String::new();
        let open = || Ok(Box::new(text.as_bytes()) as Box<dyn Read>);
        streams.open(Path::new("-"), open).unwrap().read_to_string(&mut found).unwrap();
        found
    }

    #[test]
    fn a_stream_that_is_kept_can_be_read_again() {
        let streams = Streams::default();
        assert_eq!((read(&streams, "one"), read(&streams, "two")), ("one".to_owned(), "two".to_owned()));
        assert!(streams.keep(Path::new("-")) && streams.keep(Path::new("-")));
        let again = [read(&streams, "three"), read(&streams, "four"), read(&streams, "five")];
        assert_eq!(again, ["three", "three", "three"]);
    }

    #[test]
    fn standard_input_and_devices_are_streams() {
        assert!(is_stream(Path::new("-")));
        assert!(!is_stream(Path::new("Cargo.toml")) && !is_stream(Path::new(".")));
        #[cfg(unix)]
        assert!(is_stream(Path::new("/dev/null")));
    }
}
