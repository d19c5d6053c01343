//! A Parquet file that reports the progress of reading it.

use std::fs::File;
use std::io::BufReader;

use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};

use crate::output::progress::{Bar, Progress};

/// A file with random access that reports the number of bytes read from it.
pub(crate) struct WatchedFile {
    file: File,
    bar: Bar,
}

impl WatchedFile {
    pub(crate) fn new(file: File, progress: &Progress) -> Self {
        Self { file, bar: progress.bar() }
    }
}

impl Length for WatchedFile {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl ChunkReader for WatchedFile {
    type T = BufReader<File>;

    // The Parquet reader uses this method only to read the few bytes before each page, so these bytes are not reported.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.file.get_bytes(start, length)?;
        self.bar.advance(u64::try_from(length).unwrap_or_default());
        Ok(bytes)
    }
}
