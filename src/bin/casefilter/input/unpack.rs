//! Decompresses input files. The first bytes of a file determine its compression.

use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    No,
    Gzip,
    Zstd,
}

/// The number of bytes at the start of a file that identify its compression.
const MAGIC_BYTES: usize = 4;

/// Returns a reader of the decompressed text. If the first bytes do not identify the compression, `by_name` is used.
pub(crate) fn unpacked<'r>(
    mut packed: impl Read + 'r,
    by_name: Packed,
    chunk_bytes: usize,
) -> io::Result<Box<dyn Read + 'r>> {
    let mut start = Vec::with_capacity(MAGIC_BYTES);
    packed.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut start)?;
    let how = match start.as_slice() {
        [0x1f, 0x8b, ..] => Packed::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] => Packed::Zstd,
        // Some programs compress an empty text to an empty file.
        [] => Packed::No,
        _ => by_name,
    };
    let whole = Cursor::new(start).chain(packed);
    Ok(match how {
        Packed::No => Box::new(whole),
        Packed::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(chunk_bytes, whole))),
        Packed::Zstd => Box::new(zstd::Decoder::new(whole)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn read(packed: &[u8], by_name: Packed) -> io::Result<String> {
        let mut text = String::new();
        unpacked(packed, by_name, 1 << 16)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn the_first_bytes_decide_the_compression_not_the_name() {
        let text = "{\"id\":\"a\"}\n";
        let twice = [gzip(text.as_bytes()), gzip(text.as_bytes())].concat();
        let zst = zstd::encode_all(text.as_bytes(), 0).unwrap();
        for by_name in [Packed::No, Packed::Gzip, Packed::Zstd] {
            assert_eq!(read(&gzip(text.as_bytes()), by_name).unwrap(), text);
            assert_eq!(read(&twice, by_name).unwrap(), text.repeat(2));
            assert_eq!(read(&zst, by_name).unwrap(), text);
        }
        assert_eq!(read(text.as_bytes(), Packed::No).unwrap(), text);
        assert!(read(text.as_bytes(), Packed::Gzip).is_err());
        for text in ["", "a", "abc", "abcd"] {
            assert_eq!(read(text.as_bytes(), Packed::No).unwrap(), text);
        }
    }
}
